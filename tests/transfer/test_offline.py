"""Grading what already happened."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from experiments.evaluation.collapse import CaseVerdict
from experiments.evaluation.criteria import Builtin, NoParams, builtin_registry, outcome
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.ports import CriterionContext
from experiments.evaluation.settle import SettleMode
from experiments.hooks import Hooks, read_hooks
from experiments.transfer.jsonl import read_corpus, read_evidence
from experiments.transfer.offline import OfflineGrading, grade_evidence, ruler_for
from experiments.transfer.suite_file import parse_suite
from experiments.wire.corpus import MemoryCorpus

HOOKS = read_hooks("")
SHARED = Path(__file__).parents[3] / "shared" / "data"


def graded(
    folder: Path,
    suite: dict[str, Any],
    lines: list[dict[str, Any]],
    *,
    hooks: Hooks = HOOKS,
    mode: SettleMode | None = None,
    corpus: MemoryCorpus | None = None,
) -> OfflineGrading:
    evidence = folder / "e.jsonl"
    evidence.write_text("\n".join(json.dumps(line) for line in lines))
    text = json.dumps({"format": "evalsite/suite@1", "suite": "s", **suite})
    document = parse_suite(text, "s.json", hooks.criteria, hooks.metrics).document
    return asyncio.run(
        grade_evidence(document, read_evidence(evidence), ruler_for(document, hooks, mode), corpus)
    )


def line(case: str, attempt: int, reply: str | None, **rest: Any) -> dict[str, Any]:
    return {"case": case, "attempt": attempt, "turns": [{"prompt": "?", "reply": reply, **rest}]}


CONTAINS = {
    "criteria": [{"kind": "reply.contains", "substrings": ["refund"]}],
    "cases": [{"id": name, "turn": "?"} for name in "abcd"],
}


def test_each_case_gets_its_verdict_and_the_report_counts_attempts(tmp_path: Path) -> None:
    found = graded(
        tmp_path,
        CONTAINS,
        [
            line("a", 1, "refund"),
            line("a", 2, "no"),
            line("b", 1, "a refund"),
            line("b", 2, None),
            line("c", 1, "  "),
        ],
    )
    assert {case.id: case.verdict for case in found.record.cases} == {
        "a": CaseVerdict.VARIED,
        "b": CaseVerdict.PASSED,
        "c": CaseVerdict.NO_RESULT,
    }
    report = found.record.report
    assert (report.passed, report.failed, report.no_reply) == (2, 1, 2)
    assert (report.judged, report.total, report.by_criteria) == (3, 5, 3)
    assert found.without_evidence == ("d",)
    assert not found.gate_holds


def test_evidence_of_a_case_the_suite_lacks_is_named_and_counts_nowhere(tmp_path: Path) -> None:
    found = graded(tmp_path, CONTAINS, [line("a", 1, "refund"), line("z", 1, "no"), line("z", 2, "no")])
    assert found.unknown_cases == ("z",)
    assert found.record.report.total == 1
    assert found.gate_holds


def test_nothing_judged_never_holds_the_gate(tmp_path: Path) -> None:
    found = graded(tmp_path, CONTAINS, [line("a", 1, None)])
    assert found.record.report.pass_rate is None
    assert not found.gate_holds


def test_attempts_stand_by_number_whatever_the_order_of_the_lines(tmp_path: Path) -> None:
    found = graded(tmp_path, CONTAINS, [line("a", n, "refund") for n in (3, 1, 2)])
    assert [attempt.number for attempt in found.record.cases[0].attempts] == [1, 2, 3]


def test_the_mode_follows_the_suite_and_can_be_chosen(tmp_path: Path) -> None:
    both = {
        "criteria": [{"kind": "reply.max_length", "max": 3}],
        "cases": [{"id": "a", "turn": "?", "spec_node": "N-1"}],
    }
    lines = [{**line("a", 1, "too long"), "node": "N-1.2"}]
    outcomes = {
        mode: graded(tmp_path, both, lines, mode=mode).record.cases[0].verdict for mode in (None, *SettleMode)
    }
    assert outcomes == {
        None: CaseVerdict.FAILED,
        SettleMode.criteria: CaseVerdict.FAILED,
        SettleMode.expectation: CaseVerdict.PASSED,
        SettleMode.both: CaseVerdict.FAILED,
    }


def test_a_kind_over_variants_reads_the_attempt_of_the_same_number(tmp_path: Path) -> None:
    seen: list[dict[str, str | None]] = []

    async def spy(case: Any, evidence: Evidence, *, params: Any, ctx: CriterionContext) -> Any:
        seen.append({name: found.reply if found else None for name, found in ctx.variants.items()})
        return outcome(passed=True)

    registry = builtin_registry()
    registry.register(Builtin("custom.spy", NoParams, spy))
    graded(
        tmp_path,
        {
            "cases": [
                {"id": "a", "turn": "?", "criteria": [{"kind": "custom.spy"}]},
                {"id": "b", "turn": "?", "variant_of": "a", "criteria": [{"kind": "run.no_failure"}]},
            ]
        },
        [line("a", 1, "x"), line("a", 2, "x"), line("b", 1, "one"), line("b", 2, " ")],
        hooks=Hooks(criteria=registry, metrics=HOOKS.metrics),
    )
    assert seen == [{"b": "one"}, {"b": None}]


def test_the_same_files_give_the_same_record(tmp_path: Path) -> None:
    lines = [line("a", 1, "refund\x00\ud800"), line("b", 1, "no")]
    first, second = (graded(tmp_path, CONTAINS, lines).record.json_text() for _ in range(2))
    assert first == second


# -- real input ---------------------------------------------------------------------------------------------


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data are not beside the repository")
def test_eight_hundred_real_replies_are_graded_with_every_figure_adding_up(tmp_path: Path) -> None:
    rows = [
        json.loads(text) for text in (SHARED / "alce-replies.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    numbers: dict[str, int] = {}
    lines = []
    for row in rows:
        case = f"{row['dataset']}/{row['id']}"
        numbers[case] = numbers.get(case, 0) + 1
        lines.append({**line(case, numbers[case], row["reply"]), "model": row["model"]})
    suite = {
        "pass_score": 0.5,
        "criteria": [
            {"kind": "reply.max_length", "max": 600},
            {"kind": "reply.contains", "regex": [r"\[\d+\]"]},
            {"kind": "usage.max_tokens", "max": 10, "weight": 0},
        ],
        "cases": [{"id": case, "turn": "?"} for case in numbers],
    }
    found = graded(tmp_path, suite, lines)
    report = found.record.report
    blank = sum(not row["reply"].strip() for row in rows)
    passed = sum(
        bool(row["reply"].strip())
        and (len(row["reply"]) <= 600 or any(f"[{n}]" in row["reply"] for n in range(100)))
        for row in rows
    )
    assert (report.total, report.no_reply, report.passed) == (len(rows), blank, passed)
    assert report.failed == len(rows) - blank - passed
    assert len(found.record.cases) == len(numbers)
    assert found.without_evidence == found.unknown_cases == ()


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data are not beside the repository")
@pytest.mark.parametrize(("name", "count"), [("gdpr-en", 853), ("gdpr-nl", 827)])
def test_a_real_regulation_is_read_as_a_corpus(name: str, count: int) -> None:
    corpus = MemoryCorpus(read_corpus(SHARED / f"{name}.jsonl"))
    assert len(corpus) == count
    assert "gdpr/art:17/par:1/pt:a" in corpus
    assert "gdpr/art:17/par:1/pt:zz" not in corpus
