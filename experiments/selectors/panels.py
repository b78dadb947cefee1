"""The report's panels in words and bars, from a report whose figures are stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from experiments.evaluation import CaseVerdict, ExperimentReport, plural
from experiments.selectors.figures import CaseCounts
from experiments.selectors.words import VERDICTS, duration

FOUND = {
    CaseVerdict.PASSED: "passed every settled attempt",
    CaseVerdict.FAILED: "failed every settled attempt",
    CaseVerdict.VARIED: "varied",
    CaseVerdict.UNDECIDED: "undecided",
    CaseVerdict.NO_RESULT: "no result",
}
FOUND_LIVE = {
    **FOUND,
    CaseVerdict.PASSED: "passed so far",
    CaseVerdict.FAILED: "failed so far",
}
CONFIDENCE = ("clean sweep", "sweep by chance")
"""Flags that explain the pass rate and stand beside it; the cost panel has its own; the rest are limits."""
COST = ("token floor", "judge token floor", "lanes saturated", "lanes not saturated")


@dataclass(frozen=True, slots=True)
class Bar:
    """One line of a bar chart. `verdict` is the filter it leads to, "" for none."""

    label: str
    count: int
    css: str
    verdict: str = ""


@dataclass(frozen=True, slots=True)
class Limit:
    """Something a run cannot tell: a flag ("!") or a count of what has no say ("–")."""

    sign: str
    lead: str
    text: str


@dataclass(frozen=True, slots=True)
class Tokens:
    who: str
    prompt: int
    completion: int


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens of the system and of the judge apart; `latency` counts attempts by their seconds."""

    tokens: tuple[Tokens, ...]
    notes: tuple[str, ...]
    latency: tuple[Bar, ...]

    @property
    def most(self) -> int:
        return max((bar.count for bar in self.latency), default=0)


def found(counts: CaseCounts, *, live: bool) -> tuple[Bar, ...]:
    """Panel 1: how many cases ended how, zeros too."""
    labels = FOUND_LIVE if live else FOUND
    return tuple(
        Bar(labels[part.verdict], part.count, VERDICTS[part.verdict].css, part.verdict.value)
        for part in counts.by_verdict
    )


def confidence(report: ExperimentReport) -> tuple[str, ...]:
    """Beside the rate: what a clean sweep of the repeats can and cannot show."""
    return tuple(flag.sentence for flag in report.flags if flag.name in CONFIDENCE)


def limits(report: ExperimentReport) -> tuple[Limit, ...]:
    """Panel 6: every flag about what was measured, then every kind of attempt that says nothing."""
    flags = [Limit("!", "", flag.sentence) for flag in report.flags if flag.name not in CONFIDENCE + COST]
    return (*flags, *_silent(report), *_reach(report))


def _silent(report: ExperimentReport) -> Iterator[Limit]:
    """One line on all attempts that say nothing about the system, by kind."""
    if not report.without_evidence:
        return
    silent = report.counts.judge_silent
    kinds = (
        (report.setup_failed, "setup failed"),
        (report.no_reply, "no reply"),
        (silent, "the judge declined or was unreadable"),
        (report.inconclusive - silent, "nothing to read"),
        (report.evaluator_failed, "the evaluator broke"),
    )
    listed = ", ".join(f"{text} ({count:,})" for count, text in kinds if count)
    yield Limit(
        "–", f"{report.without_evidence:,} of {plural(report.total, 'attempt')}", f"say nothing: {listed}"
    )


def _reach(report: ExperimentReport) -> Iterator[Limit]:
    if report.judged and report.walked:
        seeded = f", {report.seeded:,} began from a seeded state" if report.seeded else ""
        text = f"of {plural(report.judged, 'judged attempt')} walked a path before the graded turn{seeded}"
        yield Limit("–", f"{report.walked:,}", text)


def cost(report: ExperimentReport, deadline: int) -> Cost:
    """Panel 7: tokens in and out, system and judge apart, and how long attempts took of their deadline."""
    counts = report.counts
    tokens = [Tokens("system", counts.prompt_tokens, counts.completion_tokens)]
    if counts.judge_calls:
        who = f"judge, {plural(counts.judge_calls, 'call')}"
        tokens.append(Tokens(who, counts.judge_prompt_tokens, counts.judge_completion_tokens))
    edges = [duration(deadline * share) for share in (1 / 9, 1 / 3, 2 / 3, 1)]
    labels = [*(f"up to {edge}" for edge in edges), "longer"]
    notes = [flag.sentence for flag in report.flags if flag.name in COST]
    return Cost(
        tokens=tuple(tokens),
        notes=(*notes, "No price set."),
        latency=tuple(
            Bar(label, count, "is-accent")
            for label, count in zip(labels, counts.latency, strict=True)
            if count
        ),
    )
