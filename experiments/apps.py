"""The one Django app of evalsite."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


def _install_guards(using: str, **_: Any) -> None:
    from django.db import connections

    from experiments.models.protection import install_guards

    install_guards(connections[using])


class ExperimentsConfig(AppConfig):
    name = "experiments"
    verbose_name = "evalsite"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.core.checks import register

        from experiments.execution import checks

        for check in checks.ALL:
            register(check)
        post_migrate.connect(_install_guards, sender=self, dispatch_uid="experiments.guards")
