"""``manage.py grade``: no database, no network, three exit codes."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

ROOT = Path(__file__).parents[2]
SUITE = """\
format: evalsite/suite@1
suite: refunds
criteria:
  - {kind: reply.contains, substrings: [refund]}
  - {kind: citations.in_corpus}
  - {kind: citations.unseen}
cases:
  - {id: a, turn: when}
  - {id: b, turn: why}
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "suite.yaml").write_text(SUITE)
    write_evidence(tmp_path, attempt("a", 1, "your refund"), attempt("b", 1, "a refund"))
    (tmp_path / "corpus.jsonl").write_text('{"id": "law", "parent": null}\n')
    return tmp_path


def attempt(case: str, number: int, reply: str, *cited: str) -> dict[str, Any]:
    citations = [{"id": one} for one in cited]
    return {"case": case, "attempt": number, "turns": [{"reply": reply, "citations": citations}]}


def write_evidence(folder: Path, *attempts: dict[str, Any]) -> None:
    (folder / "evidence.jsonl").write_text("\n".join(json.dumps(one) for one in attempts))


def command(folder: Path, *arguments: str) -> list[str]:
    files = [str(folder / "suite.yaml"), str(folder / "evidence.jsonl")]
    return [sys.executable, str(ROOT / "manage.py"), "grade", *files, *arguments]


def environment(folder: Path, **extra: str) -> dict[str, str]:
    nowhere = {
        "DATABASE_URL": "postgres://nobody@127.0.0.1:9/none",
        "BROKER_URL": "redis://127.0.0.1:9/0",
        "EVALSITE_VAR": str(folder / "var"),
    }
    return {**os.environ, "DJANGO_SETTINGS_MODULE": "evalsite.settings", **nowhere, **extra}


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


def grade(folder: Path, *arguments: str) -> Done:
    """The command in this process, where pytest-django refuses any use of the database."""
    out, err, code = StringIO(), StringIO(), 0
    try:
        call_command("grade", *command(folder)[3:], *arguments, stdout=out, stderr=err)
    except SystemExit as left:
        code = int(left.code or 0)
    return Done(code, out.getvalue(), err.getvalue())


def grade_apart(folder: Path, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, with database and broker at closed ports."""
    return subprocess.run(
        command(folder, *arguments),
        env=environment(folder, **extra),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def test_all_held_exits_0_with_the_record_on_standard_output(files: Path) -> None:
    done = grade_apart(files, LC_ALL="C", PYTHONIOENCODING="ascii:backslashreplace")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["format"] == "evalsite/record@1"
    assert [case["verdict"] for case in record["cases"]] == ["PASSED", "PASSED"]
    assert "2 of 2 passed; 2 of 2 counted" in done.stderr


def test_a_failed_case_exits_100_and_the_report_goes_to_standard_output(files: Path) -> None:
    write_evidence(files, attempt("a", 1, "your refund"), attempt("a", 2, "no"))
    done = grade(files, "--json", str(files / "out.json"))
    assert done.returncode == 100
    assert "VARIED    ●○ 1 of 2  a" in done.stdout
    assert "Cases of the suite without evidence (1): b" in done.stderr
    assert "Gate: a case failed or varied." in done.stderr
    assert json.loads((files / "out.json").read_text(encoding="utf-8"))["report"]["failed"] == 1


def test_nothing_judged_exits_100(files: Path) -> None:
    write_evidence(files, attempt("a", 1, " "), attempt("z", 1, "refund"))
    done = grade(files)
    assert done.returncode == 100
    assert "nothing was judged" in done.stderr
    assert "Evidence of no case in the suite, not graded (1): z" in done.stderr


def test_a_corpus_decides_what_may_be_cited(files: Path) -> None:
    write_evidence(files, attempt("a", 1, "refund", "law"), attempt("b", 1, "refund", "gossip"))
    done = grade(files, "--corpus", str(files / "corpus.jsonl"))
    assert done.returncode == 100
    record = json.loads(done.stdout)
    assert [case["verdict"] for case in record["cases"]] == ["PASSED", "FAILED"]
    unseen = record["cases"][1]["attempts"][0]["verdicts"][2]
    assert (unseen["kind"], unseen["weight"], unseen["data"]) == (
        "citations.unseen",
        0.0,
        {"unseen": ["gossip"]},
    )


def test_the_problems_of_all_files_come_together_and_exit_1(files: Path) -> None:
    (files / "suite.yaml").write_text(SUITE.replace("substrings", "sustrings"))
    write_evidence(files, attempt("a", 0, "x"))
    (files / "corpus.jsonl").write_text("nonsense")
    done = grade(files, "--corpus", str(files / "corpus.jsonl"), "--json", str(files / "out.json"))
    assert done.returncode == 1
    assert "criteria[0].sustrings: unknown field" in done.stderr
    assert "evidence.jsonl:1: attempt: should be greater than or equal to 1" in done.stderr
    assert "corpus.jsonl:1: the line is not JSON" in done.stderr
    assert done.stdout == ""
    assert not (files / "out.json").exists()


def test_a_hooks_module_adds_a_kind(files: Path) -> None:
    (files / "team_hooks.py").write_text(
        "from experiments.evaluation.criteria import Builtin, NoParams, outcome\n"
        "async def shout(case, evidence, *, params, ctx):\n"
        "    return outcome(passed=(evidence.reply or '').isupper())\n"
        "CRITERIA = [Builtin('custom.shout', NoParams, shout)]\n"
    )
    (files / "suite.yaml").write_text(SUITE.replace("citations.in_corpus", "custom.shout"))
    done = grade_apart(files, PYTHONPATH=str(files), EVALSITE_HOOKS="team_hooks")
    assert done.returncode == 100, done.stderr
    verdicts = json.loads(done.stdout)["cases"][0]["attempts"][0]["verdicts"]
    assert [(one["kind"], one["status"]) for one in verdicts[:2]] == [
        ("reply.contains", "pass"),
        ("custom.shout", "fail"),
    ]
    broken = grade_apart(files, EVALSITE_HOOKS="no_such_module")
    assert broken.returncode == 1
    assert "EVALSITE_HOOKS=no_such_module" in broken.stderr
    assert "Traceback" not in broken.stderr


def test_an_out_file_that_cannot_be_written_exits_1_in_one_sentence(files: Path) -> None:
    done = grade(files, "--json", str(files / "nowhere" / "out.json"))
    assert done.returncode == 1
    assert "out.json: cannot be written: No such file or directory" in done.stderr


def test_ctrl_c_stops_with_one_sentence_and_writes_nothing(files: Path) -> None:
    os.mkfifo(files / "slow.jsonl")
    arguments = [*command(files)[:-1], str(files / "slow.jsonl"), "--json", str(files / "out.json")]
    process = subprocess.Popen(
        arguments, env=environment(files), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        # Opening the other end returns once the command waits for its evidence.
        with (files / "slow.jsonl").open("w") as pipe:
            pipe.write(json.dumps(attempt("a", 1, "refund")) + "\n")
            pipe.flush()
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 1
    assert said == "Stopped; nothing was written.\n"
    assert not (files / "out.json").exists()


def test_an_out_file_is_replaced_whole_and_readable(files: Path) -> None:
    out = files / "out.json"
    out.write_text("old " * 100_000)
    assert grade(files, "--json", str(out)).returncode == 0
    assert json.loads(out.read_text(encoding="utf-8"))["report"]["passed"] == 2
    assert sorted(path.name for path in files.iterdir() if path.name.startswith(".")) == []
    assert out.stat().st_mode & 0o044 == 0o644 & 0o044 & ~current_umask()


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
