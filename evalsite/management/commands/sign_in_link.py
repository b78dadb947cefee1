"""A fresh sign-in link without a restart, for whoever let the printed one grow old."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from evalsite.serving import StartError
from evalsite.serving.state import OWNER, sign_in_link


class Command(BaseCommand):
    help = "Print a link that signs a user in: once, within ten minutes, in a browser on this machine."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", nargs="?", default=OWNER, help="the owner of the site by default")

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            self.stdout.write(sign_in_link(options["username"]))
        except StartError as reason:
            raise CommandError(str(reason)) from None
