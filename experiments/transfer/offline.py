"""Grading what already happened: a suite and an evidence file to results, without database or network."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from experiments.evaluation.case import EvalCase
from experiments.evaluation.collapse import CaseVerdict
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.outcome import AttemptMark, EvaluationResult
from experiments.evaluation.ports import Corpus, CriterionContext
from experiments.evaluation.report import AttemptCounts, ExperimentReport, count_attempt
from experiments.evaluation.results import AttemptResult, EvalCaseResults
from experiments.evaluation.settle import Ruler, SettleMode, default_settle_mode, evaluate_attempt
from experiments.hooks import Hooks
from experiments.transfer.jsonl import EvidenceFile, RecordedAttempt
from experiments.wire.record import NamedVersion, Record, RunFacts, build_record
from experiments.wire.suite import SuiteDocument, suite_criteria, to_cases

RECORDED = "recorded"
"""The name of the target of evidence that was not asked for here."""


@dataclass(frozen=True)
class OfflineGrading:
    """The record, and what the two files did not share: cases without evidence, lines without a case."""

    # asyncio.run asks for the repr of what it returns, and that of a whole record takes seconds.
    record: Record = field(repr=False)
    without_evidence: tuple[str, ...]
    unknown_cases: tuple[str, ...]
    settle_mode: SettleMode

    @property
    def gate_holds(self) -> bool:
        """The default gate: something was judged, and no case FAILED or VARIED."""
        bad = (CaseVerdict.FAILED, CaseVerdict.VARIED)
        return self.record.report.judged > 0 and all(case.verdict not in bad for case in self.record.cases)


def ruler_for(document: SuiteDocument, hooks: Hooks, mode: SettleMode | None = None) -> Ruler:
    """What the suite's attempts are graded by; without a mode, by criteria when there are any."""
    criteria = suite_criteria(document)
    has_criteria = bool(criteria) or any(case.criteria for case in document.cases)
    return Ruler(
        registry=hooks.criteria,
        metrics=hooks.metrics,
        criteria=criteria,
        pass_score=document.pass_score,
        settle_mode=mode or default_settle_mode(has_criteria=has_criteria),
    )


async def grade_evidence(
    document: SuiteDocument,
    evidence: EvidenceFile,
    ruler: Ruler,
    corpus: Corpus | None = None,
    services: CriterionContext | None = None,
) -> OfflineGrading:
    """Every attempt of the file whose case the suite has, graded; the same files give the same record.

    `corpus` is used rather than that of the `services`.
    """
    services = services or CriterionContext()
    if corpus is not None:
        services = replace(services, corpus=corpus)
    by_case: dict[str, list[RecordedAttempt]] = defaultdict(list)
    for attempt in evidence.attempts:
        by_case[attempt.case].append(attempt)
    cases = to_cases(document)
    variants = _variants(cases, by_case)
    counts, graded = AttemptCounts(), list[EvalCaseResults]()
    for case in cases:
        finished = []
        for attempt in by_case.get(case.id, ()):
            beside = {name: found.get(attempt.number) for name, found in variants.get(case.id, {}).items()}
            context = replace(services, variants=beside)
            result = None
            if attempt.failure is None:
                result = await evaluate_attempt(case, attempt.evidence, ruler, context)
            counts += count_attempt(case, attempt.evidence, result, attempt.failure)
            finished.append(_finished(attempt, result))
        if finished:
            graded.append(EvalCaseResults(case=case, attempts=tuple(finished)))
    known = {case.id for case in cases}
    return OfflineGrading(
        record=_record(document.suite, counts, graded),
        without_evidence=tuple(case.id for case in cases if case.id not in by_case),
        unknown_cases=tuple(name for name in by_case if name not in known),
        settle_mode=ruler.settle_mode,
    )


def _variants(
    cases: tuple[EvalCase, ...], by_case: Mapping[str, list[RecordedAttempt]]
) -> dict[str, dict[str, dict[int, Evidence]]]:
    """Base case -> its variants -> attempt number -> evidence, without attempts that were not reached."""
    found: dict[str, dict[str, dict[int, Evidence]]] = defaultdict(dict)
    for case in cases:
        if case.variant_of is not None:
            found[case.variant_of][case.id] = {
                one.number: one.evidence for one in by_case.get(case.id, ()) if one.failure is None
            }
    return found


def _finished(attempt: RecordedAttempt, result: EvaluationResult | None) -> AttemptResult:
    return AttemptResult(
        number=attempt.number, evidence=attempt.evidence, result=result, failure=attempt.failure
    )


def _record(suite: str, counts: AttemptCounts, graded: list[EvalCaseResults]) -> Record:
    repeats = max((len(case.attempts) for case in graded), default=0)
    sweeps = sum(len(case.marks) == repeats and set(case.marks) == {AttemptMark.passed} for case in graded)
    report = ExperimentReport.build(counts, repeats=repeats or None, clean_sweeps=sweeps)
    run = RunFacts(target=NamedVersion(name=RECORDED), repeats=repeats)
    return build_record(suite, run, report, graded)
