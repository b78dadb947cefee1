"""`manage.py run_experiment` as a process: what it prints, writes and ends with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from experiments import models as m
from experiments.execution.recovery import sweep
from tests.execution.workers import until
from tests.execution.world import Desk, experiment_for, open_desk
from tests.sites import ROOT

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def desk() -> object:
    with open_desk() as desk:
        yield desk


def start(environment: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "manage.py", "run_experiment", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def run(environment: dict[str, str], *arguments: str) -> tuple[int, str, str]:
    process = start(environment, *arguments)
    said, complained = process.communicate(timeout=90)
    return process.returncode, said, complained


def test_a_run_that_passes_ends_with_0_and_writes_its_record(
    desk: Desk, child_environment: dict[str, str], tmp_path: Path
) -> None:
    experiment = experiment_for(desk.url, ["yes", "yes"], repeats=2, lanes=2)
    out = tmp_path / "record.json"
    code, said, complained = run(child_environment, experiment.name, "--local", "--json", str(out))
    assert (code, complained) == (0, "")
    assert "4 attempts, 2 lanes, driven in this process" in said
    assert "4 of 4 attempts; finished." in said
    record = json.loads(out.read_text())
    assert (record["format"], record["report"]["passed"], record["report"]["total"]) == (
        ("evalsite/record@1", 4, 4)
    )
    assert m.Run.objects.get().state == "finished"


@pytest.mark.parametrize(
    ("turns", "told"),
    [(["yes", "no"], "a case failed or varied"), (["silent"], "nothing was judged")],
)
def test_a_gate_that_fails_ends_with_100(
    turns: list[str], told: str, desk: Desk, child_environment: dict[str, str]
) -> None:
    experiment = experiment_for(desk.url, turns, repeats=1, lanes=2)
    code, _, complained = run(child_environment, experiment.name, "--local")
    assert code == 100
    assert told in complained


def test_every_refusal_is_listed_and_ends_with_1(child_environment: dict[str, str]) -> None:
    experiment = experiment_for("http://127.0.0.1:9", ["yes"], repeats=1, lanes=2)
    experiment.rubric = experiment.policy = None
    experiment.save()
    code, said, complained = run(child_environment, experiment.name)
    assert (code, said) == (1, "")
    assert len(complained.splitlines()) == 3
    assert not m.Run.objects.exists()
    assert run(child_environment, "no-such-thing")[0] == 1


def test_ctrl_c_stops_the_run_cleanly(child_environment: dict[str, str]) -> None:
    with open_desk(seconds=0.1) as desk:
        experiment = experiment_for(desk.url, ["yes"] * 20, repeats=20, lanes=2)
        process = start(child_environment, experiment.name, "--local")
        until(lambda: m.Attempt.objects.filter(state="done").count() > 2, 60)
        os.kill(process.pid, signal.SIGINT)
        said, complained = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Stopping: attempts in flight finish" in complained
    assert "stopped" in said
    states = set(m.Attempt.objects.values_list("state", flat=True))
    assert (m.Run.objects.get().state, states) == ("stopped", {"done", "cancelled"})


def test_a_second_ctrl_c_leaves_at_once_and_the_run_can_go_on(child_environment: dict[str, str]) -> None:
    with open_desk(hold=threading.Event()) as desk:
        experiment = experiment_for(desk.url, ["yes"] * 4, repeats=1, lanes=2)
        process = start(child_environment, experiment.name, "--local")
        until(lambda: desk.now == 2, 60)
        os.kill(process.pid, signal.SIGINT)
        until(lambda: m.Run.objects.get().state == "stopping", 30)
        os.kill(process.pid, signal.SIGINT)
        _, complained = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "is left as it is" in complained
    sweep()
    states = set(m.Attempt.objects.values_list("state", flat=True))
    assert (m.Run.objects.get().state, states) == ("stopped", {"cancelled"})
