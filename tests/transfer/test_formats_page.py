"""docs/formats.md holds files that are read as they stand."""

import json
import re
from pathlib import Path
from typing import Any

from experiments.evaluation.report import ExperimentReport
from experiments.hooks import read_hooks
from experiments.transfer.jsonl import read_corpus, read_evidence
from experiments.transfer.suite_file import parse_suite
from experiments.wire.evidence import EvidenceLine, TurnLine
from experiments.wire.record import Record, RecordAttempt, RecordCase, RecordVerdict, RunFacts
from experiments.wire.suite import CaseEntry, SuiteDocument

PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
SUITE, EVIDENCE, CORPUS, RECORD = re.findall(r"```(?:yaml|json)\n(.*?)```", PAGE, re.DOTALL)


def test_the_suite_is_read_and_uses_every_field() -> None:
    hooks = read_hooks("")
    suite = parse_suite(SUITE, "s.yaml", hooks.criteria, hooks.metrics)
    assert suite.warnings == ()
    for field in (*SuiteDocument.model_fields, *CaseEntry.model_fields):
        assert re.search(rf"\b{field}:", SUITE), field


def test_the_evidence_is_read_and_uses_every_field(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_text(EVIDENCE, encoding="utf-8")
    read = read_evidence(path)
    assert len(read.attempts) == 3
    assert read.left_out == {}
    for field in (*EvidenceLine.model_fields, *TurnLine.model_fields):
        assert f'"{field}":' in EVIDENCE, field


def test_the_corpus_is_read(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(CORPUS, encoding="utf-8")
    assert [unit.id for unit in read_corpus(path)] == ["gdpr", "gdpr/art:17"]


def test_the_record_has_exactly_the_fields_of_the_document() -> None:
    record: dict[str, Any] = json.loads(RECORD)
    case = record["cases"][0]
    attempt = case["attempts"][0]
    report = {name for name, field in ExperimentReport.model_fields.items() if not field.exclude}
    for found, model in (
        (record, Record),
        (record["run"], RunFacts),
        (case, RecordCase),
        (attempt, RecordAttempt),
        (attempt["verdicts"][0], RecordVerdict),
    ):
        assert set(found) == set(model.model_fields)
    assert set(record["report"]) == report
