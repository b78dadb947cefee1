"""``manage.py import_suite FILE``: publish a suite file, all or nothing."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import PermissionDenied
from django.core.management.base import BaseCommand, CommandError

from experiments.management.importing import importer, outcome_lines
from experiments.transfer.imports import import_suite
from experiments.transfer.problems import FileRefusedError


class Command(BaseCommand):
    """Exit codes: 0 imported (or nothing to change), 1 refused: every problem is listed, nothing written."""

    help = "Import a suite file (YAML or JSON): all or nothing, every problem at once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--user", help="in whose name; by default the product's own")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            found, warnings = import_suite(importer(options["user"]), options["file"])
        except FileRefusedError as refused:
            self.stderr.write(str(refused), style_func=str)
            self.stderr.write("Refused; nothing was written.", style_func=str)
            sys.exit(1)
        except PermissionDenied as denied:
            raise CommandError(str(denied)) from denied
        for warning in warnings:
            self.stderr.write(str(warning), style_func=str)
        for line in outcome_lines(found, "case"):
            self.stdout.write(line)
