"""A fresh sign-in link without a restart, for whoever let the printed one grow old."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from evalsite.serving.state import sign_in_link


class Command(BaseCommand):
    help = "Print a link that signs the owner in: once, within ten minutes, in a browser on this machine."

    def handle(self, *_: Any, **__: Any) -> None:
        self.stdout.write(sign_in_link())
