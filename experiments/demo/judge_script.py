"""What the demo judge answers. Nothing here reads an answer as a model would, and every reason says so.

A few expected outcomes have written grades, so that the demo holds every way a judge can behave: sure,
wavering, undecided, declining, unreadable. Everything else is graded by the words it shares with the expected
outcome.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from experiments.demo.handbook import words

LABEL = "Scripted demo judge, not a model:"

DECLINE = "decline"
UNREADABLE = "unreadable"

_OUTPUT = re.compile(r"<<<system_output (\w+)>>>\n(.*?)\n<<<end system_output \1>>>", re.DOTALL)
_DATA = re.compile(r"<<<(\w+) (\w+)>>>\n.*?\n<<<end \1 \2>>>", re.DOTALL)
_EXPECTED = re.compile(r"^EXPECTED OUTCOME:\s*(.+?)\s*$", re.MULTILINE)
_SMALL = frozenset(words("reply says say states state names name answer answers gives"))


@dataclass(frozen=True, slots=True)
class Script:
    """Written grades for the expected outcome that holds `cue`; the n-th question gets the n-th, in turn."""

    cue: str
    grades: tuple[int | str, ...]
    why: str


SCRIPTS = (
    Script("no interest is owed on a deposit", (2,), "the answer promises interest, the handbook owes none."),
    Script(
        "a late objection is heard when the delay is excusable",
        (9, 9, 3, 9, 2),
        "the written grades waver here, to show a judge that disagrees with itself.",
    ),
    Script(
        "goodwill is for the head of the desk",
        (5, 6),
        "the rule is there, what the person should do next is not.",
    ),
    Script(
        "instalments without an inquiry into income",
        (9, 8, DECLINE, 9, UNREADABLE),
        "the number of instalments and the absence of an inquiry are both there.",
    ),
)


@dataclass(frozen=True, slots=True)
class Graded:
    """One answer of the judge as it is sent; `declined` makes the stop reason a refusal."""

    text: str
    declined: bool = False


class ScriptedJudge:
    """Answers grade rubrics and label questions. The same questions in the same order get the same answers.

    It only keeps how often each written script was asked, which is how a wavering judge is shown at all.
    """

    def __init__(self, scripts: Sequence[Script] = SCRIPTS) -> None:
        self._scripts = tuple(scripts)
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()

    def grade(self, prompt: str) -> Graded:
        """The answer to a filled grade rubric."""
        # What was recorded from the system is data: only the rubric's own words can pick a script.
        asked = _DATA.sub("", prompt)
        for script in self._scripts:
            if script.cue in asked:
                with self._lock:
                    turn = self._asked[script.cue]
                    self._asked[script.cue] += 1
                return _written(script.grades[turn % len(script.grades)], script.why, prompt)
        return _by_shared_words(prompt, asked)

    def label(self, question: str, labels: Sequence[str]) -> tuple[str, str]:
        """One of `labels` (not empty) for a label question, and the reason."""
        lowered = question.lower()
        if "refuse" in labels and "i do not give" in lowered:
            chosen = "refuse"
        elif "abstain" in labels and "does not answer this question" in lowered:
            chosen = "abstain"
        else:
            chosen = labels[0]
        return chosen, f"{LABEL} {chosen} by its written rule; where it has none, the first label."


def _written(grade: int | str, why: str, prompt: str) -> Graded:
    if grade == DECLINE:
        return Graded(f"{LABEL} it declines to grade this answer.", declined=True)
    if grade == UNREADABLE:
        return Graded(f"{LABEL} on a scale of 1 to 10, this is an 8.")
    return Graded(_laid_out(grade, why, prompt))


def _by_shared_words(prompt: str, asked: str) -> Graded:
    output = _OUTPUT.search(prompt)
    expected = _EXPECTED.search(asked)
    if output is None or expected is None:
        return Graded(f"{LABEL} it found no answer or no expected outcome to compare.")
    wanted = set(words(expected[1])) - _SMALL
    if not wanted:
        return Graded(_laid_out(5, "the expected outcome holds no word to compare.", prompt))
    found = wanted & set(words(output[2][:20_000]))
    share = len(found) / len(wanted)
    grade = 9 if share >= 0.75 else 8 if share >= 0.6 else 5 if share >= 0.35 else 2
    missing = ", ".join(sorted(wanted - found)[:5])
    seen = "every" if not missing else "most" if share >= 0.6 else "some" if found else "no"
    without = f"; not {missing}" if missing else ""
    why = f"{seen} word stem of the expected outcome occurs in the answer{without}."
    return Graded(_laid_out(grade, why, prompt))


def _laid_out(grade: int | str, why: str, prompt: str) -> str:
    """The answer in the form the rubric asks for: labelled lines, or the bare number first."""
    if "SCORE:" in prompt:
        return f"SCORE: {grade}\nREASON: {LABEL} {why}"
    # A bare rubric reads every number it finds, so the words beside it must hold none.
    return f"{grade}\n{LABEL} {re.sub(r'[0-9]+', '', why)}"
