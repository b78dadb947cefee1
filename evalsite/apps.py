"""The wiring as a Django application: its system checks and the `serve` command."""

from django.apps import AppConfig


class EvalsiteConfig(AppConfig):
    name = "evalsite"
    verbose_name = "evalsite wiring"

    def ready(self) -> None:
        from django.core.checks import register

        from evalsite import checks

        for check in checks.ALL:
            register(check)
