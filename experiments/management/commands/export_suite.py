"""``manage.py export_suite NAME``: a suite as the file a repository keeps."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from pydantic import ValidationError

from experiments.evaluation.text import printable
from experiments.management.files import write_whole
from experiments.models import Suite
from experiments.transfer.imports import suite_document
from experiments.transfer.problems import path_text
from experiments.transfer.suite_file import shape_sentence, suite_json, suite_yaml


class Command(BaseCommand):
    """Writes YAML (or JSON) whose import changes nothing."""

    help = "Export a suite as YAML or JSON; archived cases are left out."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--json", action="store_true", help="JSON instead of YAML")
        parser.add_argument("--out", type=Path, help="write here instead of to standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        suite = Suite.objects.select_related("current").filter(name=options["name"]).first()
        if suite is None:
            raise CommandError(f"there is no suite {printable(options['name'], 100)}")
        try:
            document = suite_document(suite)
        except ValidationError as refused:
            first = refused.errors(include_url=False)[0]
            said = f"{path_text(tuple(first['loc']))}: {shape_sentence(first)}"
            raise CommandError(f"{suite} cannot be a file yet: {printable(said, 500)}") from refused
        text = suite_json(document) if options["json"] else suite_yaml(document)
        if options["out"] is None:
            self.stdout.write(text, ending="")
            return
        try:
            write_whole(options["out"], text)
        except OSError as broken:
            raise CommandError(f"{options['out']}: cannot be written: {broken.strerror}") from broken
