"""Fills a site with the demo: people, cases, corpus, rubric, policy, systems and two experiments."""

from __future__ import annotations

import uuid
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from experiments.demo.handbook import DATA, HANDBOOK_FILE
from experiments.demo.service import EARLIER
from experiments.evaluation import Rubric as RubricValue
from experiments.evaluation import SettleMode, plural
from experiments.models import Corpus, Experiment, JudgeModel, Policy, Role, Rubric, Run, Suite, Target, User
from experiments.services.authoring import publish_policy, publish_rubric
from experiments.services.configuring import save_experiment, save_judge, save_target
from experiments.services.edits import NEW, edition_of
from experiments.services.runs import RunRefused, start_run
from experiments.services.users import save_user
from experiments.transfer.imports import import_corpus, import_suite

PEOPLE = (("ana", Role.OPERATOR), ("bram", Role.AUTHOR), ("chen", Role.REVIEWER), ("dara", Role.VIEWER))
SUITE = "refund-desk"
CORPUS = "desk-handbook"
RUBRIC = "desk-judge"
POLICY = "desk-assistant"
POLICIES = ("policy-1.md", "policy-2.md")
TARGET = "demo-desk"
JUDGE = "demo-judge"
EXPERIMENTS = {SUITE: SettleMode.both, "refund-desk-sources": SettleMode.criteria}

JUDGE_KEY = "env:DEMO_KEY"
"""What the demo's judge is asked with; the endpoint takes any value, so `make run` sets one."""


class Command(BaseCommand):
    help = (
        "Load the demo. What is there already stays as it is, but for the addresses of the demo's target and "
        "judge, which become the ones given. Starts runs only when asked to."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--service-url", default="http://127.0.0.1:8801", help="where the demo service listens"
        )
        parser.add_argument(
            "--messages-url", default="http://127.0.0.1:8802", help="where the demo judge listens"
        )
        parser.add_argument(
            "--addresses-only",
            action="store_true",
            help="create nothing, only correct the addresses of a demo that was loaded before",
        )

        parser.add_argument(
            "--runs",
            action="store_true",
            help="also start three runs of the first experiment: two releases under one policy, then another "
            "policy; the demo service must be listening",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        target = {
            "adapter": "contract_http",
            "url": options["service_url"].rstrip("/"),
            "total_seconds": 30.0,
        }
        judge = {
            "model": "scripted-demo-judge",
            "base_url": options["messages_url"].rstrip("/"),
            "api_key": JUDGE_KEY,
        }
        try:
            with transaction.atomic():
                done = load(target, judge, create=not options["addresses_only"], runs=options["runs"])
            if options["runs"]:
                done += start_runs(target["url"])
        except ValueError as refused:
            raise CommandError(f"The demo cannot be loaded: {refused}") from None
        except RunRefused as refused:
            raise CommandError(f"The demo's runs cannot start: {refused}") from None
        if options["verbosity"]:
            self.stdout.write(done)


def load(target: dict[str, Any], judge: dict[str, Any], *, create: bool, runs: bool = False) -> str:
    """Makes what is missing when `create`, points target and judge at their addresses; says what it did."""
    made: list[str] = []
    if create:
        made += _people()
        # The first run is under the first version; each run publishes the one it needs.
        made += _texts(POLICIES[:1] if runs else POLICIES)
    made += _systems(target, judge, create=create)
    if create:
        made += _experiments()
    return f"Demo: {', '.join(made)}." if made else "Demo: everything is there already."


def _people() -> list[str]:
    """People without a password: they sign in by a link, or once an admin gives them one."""
    missing = [(name, role) for name, role in PEOPLE if not User.objects.filter(username=name).exists()]
    for name, role in missing:
        save_user(
            None, user=None, username=name, email="", role=role, is_active=True, password="", edition=NEW
        )
    return [f"user {name} ({role.label})" for name, role in missing]


def _texts(policies: tuple[str, ...]) -> list[str]:
    """Suite, corpus, rubric and these versions of the policy, each only where there is none of its name."""
    made = []
    if not Suite.objects.filter(name=SUITE).exists():
        cases = import_suite(None, DATA / "suite.yaml")[0].created
        made.append(f"suite {SUITE} ({len(cases)} cases)")
    if not Corpus.objects.filter(name=CORPUS).exists():
        units = import_corpus(None, CORPUS, HANDBOOK_FILE).created
        made.append(f"corpus {CORPUS} ({len(units)} units)")
    if not Rubric.objects.filter(name=RUBRIC).exists():
        publish_rubric(None, RubricValue(name=RUBRIC, template=_read("rubric.txt")))
        made.append(f"rubric {RUBRIC}")
    if not Policy.objects.filter(name=POLICY).exists():
        for name in policies:
            publish_policy(None, POLICY, _read(name))
        made.append(f"policy {POLICY} ({plural(len(policies), 'version')})")
    return made


def _systems(target: dict[str, Any], judge: dict[str, Any], *, create: bool) -> list[str]:
    """Target and judge at these addresses; of one that is there only the address changes."""
    made = []
    asked = Target.objects.filter(name=TARGET).first()
    if asked is None and create:
        save_target(None, target=None, name=TARGET, config=target, edition=NEW)
        made.append(f"target {TARGET}")
    elif asked is not None and asked.config.get("url") != target["url"]:
        config = {**asked.config, "url": target["url"]}
        save_target(None, target=asked, name=TARGET, config=config, edition=edition_of(asked))
        made.append(f"target {TARGET} now at {target['url']}")
    grading = JudgeModel.objects.filter(name=JUDGE).first()
    if grading is None and create:
        save_judge(None, judge=None, name=JUDGE, config=judge, edition=NEW)
        made.append(f"judge {JUDGE}")
    elif grading is not None and grading.config.get("base_url") != judge["base_url"]:
        config = {**grading.config, "base_url": judge["base_url"]}
        save_judge(None, judge=grading, name=JUDGE, config=config, edition=edition_of(grading))
        made.append(f"judge {JUDGE} now at {judge['base_url']}")
    return made


def _experiments() -> list[str]:
    missing = [name for name in EXPERIMENTS if not Experiment.objects.filter(name=name).exists()]
    for name in missing:
        mode = EXPERIMENTS[name]
        fields = {
            "name": name,
            "suite": Suite.objects.get(name=SUITE),
            "target": Target.objects.get(name=TARGET),
            "policy": Policy.objects.get(name=POLICY),
            "rubric": Rubric.objects.get(name=RUBRIC),
            "judge": None if mode is SettleMode.criteria else JudgeModel.objects.get(name=JUDGE),
            "corpus": Corpus.objects.get(name=CORPUS),
            "settle_mode": mode.value,
            "lanes": 8,
            "repeats": 5,
        }
        save_experiment(None, experiment=None, fields=fields, edition=NEW)
    return [f"experiment {name}" for name in missing]


def start_runs(url: str) -> str:
    """Three runs of the first experiment, for real: the earlier release, this one, and this one under the
    second policy. Each once, whatever was started of them before."""
    started = []
    for number, (address, policy) in enumerate(((url + EARLIER, 0), (url, 0), (url, 1)), start=1):
        token = uuid.uuid5(uuid.NAMESPACE_URL, f"evalsite demo run {number}")
        if Run.objects.filter(token=token).exists():
            continue
        target = Target.objects.get(name=TARGET)
        config = {**target.config, "url": address}
        save_target(None, target=target, name=TARGET, config=config, edition=edition_of(target))
        publish_policy(None, POLICY, _read(POLICIES[policy]))
        started.append(start_run(None, Experiment.objects.get(name=SUITE), token))
    return f" Started {', '.join(f'run {run.number}' for run in started)}." if started else ""


def _read(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")
