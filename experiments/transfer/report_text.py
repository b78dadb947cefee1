"""A record as plain text, 80 columns wide: what a terminal and a log show."""

from collections import Counter
from collections.abc import Iterator
from textwrap import wrap

from experiments.evaluation.collapse import CaseVerdict
from experiments.evaluation.outcome import AttemptMark, EvaluationOutcome
from experiments.evaluation.text import plural, printable
from experiments.wire.record import Record, RecordAttempt, RecordCase

WIDTH = 80
MAX_CASES = 200
"""Cases listed one by one; the worst come first, the rest is a count."""

MARKS = {
    AttemptMark.passed: "●",
    AttemptMark.failed: "○",
    AttemptMark.undecided: "◐",
    AttemptMark.inconclusive: "?",
    AttemptMark.evaluator_failed: "✕",
    AttemptMark.not_reached: "–",
}
_WORST_FIRST = (
    CaseVerdict.FAILED,
    CaseVerdict.VARIED,
    CaseVerdict.UNDECIDED,
    CaseVerdict.NO_RESULT,
    CaseVerdict.PASSED,
)
_STRIP = 40
_OUTCOMES = {
    EvaluationOutcome.UNDECIDED: AttemptMark.undecided,
    EvaluationOutcome.INCONCLUSIVE: AttemptMark.inconclusive,
    EvaluationOutcome.FAILED: AttemptMark.evaluator_failed,
}


def report_text(record: Record) -> str:
    """The whole report, every line at most 80 characters, ended by a line end."""
    lines = [*_head(record), "", *_figures(record), "", *_cases(record)]
    return "\n".join(lines) + "\n"


def mark_of_attempt(attempt: RecordAttempt) -> AttemptMark:
    """How an attempt of a record ended."""
    if attempt.outcome is None:
        return AttemptMark.not_reached
    if attempt.outcome is EvaluationOutcome.VERDICT:
        return AttemptMark.passed if attempt.passed else AttemptMark.failed
    return _OUTCOMES[attempt.outcome]


def _plain(text: str) -> str:
    """One line that no control character, bidi mark or line break in a text can bend."""
    kept = "".join(character if character.isprintable() else " " for character in printable(text, 2_000))
    return " ".join(kept.split())


def _wrapped(text: str, indent: str = "", hang: str | None = None) -> list[str]:
    lines = wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent if hang is None else hang)
    return lines or [indent.rstrip()]


def _head(record: Record) -> list[str]:
    run = record.run
    number = f" run {run.number}" if run.number is not None else ""
    target = record.run.target
    version = f" {_plain(str(target.version))}" if target.version is not None else ""
    lines = _wrapped(f"{_plain(record.experiment)}{number}, target {_plain(target.name)}{version}")
    report = record.report
    lines += _wrapped(f"{report.rate_text}: {report.coverage}" if report.judged else report.coverage)
    trust = "These figures can be trusted as far as the flags say."
    if not report.is_trustworthy:
        trust = "These figures cannot be trusted; the flags say why."
    return [*lines, trust]


def _figures(record: Record) -> Iterator[str]:
    report = record.report
    counts = (
        ("passed", report.passed),
        ("failed", report.failed),
        ("undecided", report.undecided),
        ("inconclusive", report.inconclusive),
        ("evaluator failed", report.evaluator_failed),
        ("not reached", report.not_reached),
    )
    yield "Attempts"
    for (name, count), mark in zip(counts, MARKS.values(), strict=True):
        beside = ""
        if name == "not reached" and count:
            beside = f"  ({report.setup_failed:,} setup failed, {report.no_reply:,} no reply)"
        yield f"  {mark} {name:<17}{count:>9,}{beside}"
    yield f"    {'total':<17}{report.total:>9,}"
    settled = (
        (report.asserted, "asserted"),
        (report.measured, "measured"),
        (report.scored, "scored by a judge"),
        (report.by_criteria, "by criteria"),
    )
    named = ", ".join(f"{count:,} {name}" for count, name in settled if count)
    if named:
        yield from _wrapped(f"Settled: {named}")
    for flag in report.flags:
        yield from _wrapped(f"! {flag.sentence}", hang="  ")


def _cases(record: Record) -> Iterator[str]:
    tally = Counter(case.verdict for case in record.cases)
    named = ", ".join(f"{tally[verdict]:,} {verdict}" for verdict in _WORST_FIRST if tally[verdict])
    yield f"Cases: {named or 'none'}"
    ordered = sorted(record.cases, key=lambda case: _WORST_FIRST.index(case.verdict))
    for case in ordered[:MAX_CASES]:
        yield from _case(case)
    if len(ordered) > MAX_CASES:
        yield f"  and {plural(len(ordered) - MAX_CASES, 'more case')}"


def _case(case: RecordCase) -> Iterator[str]:
    marks = [mark_of_attempt(attempt) for attempt in case.attempts]
    strip = "".join(MARKS[mark] for mark in marks[:_STRIP]) + ("…" if len(marks) > _STRIP else "")
    passes = f"{case.passes} of {len(marks)}"
    yield from _wrapped(f"  {case.verdict:<9} {strip} {passes}  {_plain(case.id)}", hang=" " * 12)
    if case.verdict is CaseVerdict.PASSED:
        return
    first = next(
        (
            attempt
            for attempt, mark in zip(case.attempts, marks, strict=True)
            if mark is not AttemptMark.passed
        )
    )
    said = first.reason or (first.failure.detail if first.failure else "")
    cause = f"{first.failure.cause}: " if first.failure else ""
    yield from _wrapped(f"attempt {first.number}: {cause}{_plain(said)[:300]}", indent=" " * 12)
