"""What the assistant did with the question: behaviour.expected, behaviour.message, refusal.code."""

from collections.abc import Iterable

from experiments.evaluation.case import Behaviour, EvalCase
from experiments.evaluation.criteria.asking import final_turn, question
from experiments.evaluation.criteria.base import (
    Builtin,
    CriterionKind,
    NoParams,
    error,
    judge_label,
    missing_reply,
    not_applicable,
    outcome,
)
from experiments.evaluation.criteria.normal import phrase
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.outcome import Verdict
from experiments.evaluation.ports import CriterionContext
from experiments.evaluation.text import is_blank, printable

_REASON_SHOWN = 500
_CODE_SHOWN = 100
_REFUSALS = (Behaviour.refuse, Behaviour.abstain)

_INSTRUCTION = (
    "Say what the assistant's reply does with the question. "
    "answer: it gives what was asked for, wholly or in part, even if wrongly. "
    "refuse: it says that it will not, or may not, give what was asked for. "
    "abstain: it says that it cannot tell or does not know, for instance because its sources do not say. "
    "A reply that points elsewhere without giving what was asked for is not an answer."
)


async def expected(case: EvalCase, evidence: Evidence, *, params: NoParams, ctx: CriterionContext) -> Verdict:
    """Passes when a judge labels the reply with the behaviour the case expects."""
    if case.behaviour is None:
        return not_applicable("the case expects no behaviour")
    if evidence.reply is None:
        return missing_reply()
    answer = await judge_label(question(_INSTRUCTION, final_turn(evidence), Behaviour), ctx)
    if isinstance(answer, Verdict):
        return answer
    why = f": {printable(answer.reason, _REASON_SHOWN)}" if answer.reason else ""
    return outcome(
        passed=answer.label == case.behaviour,
        detail=f"{case.behaviour} expected, judged {answer.label}{why}",
        data={"expected": case.behaviour.value, "label": answer.label},
    )


async def message(case: EvalCase, evidence: Evidence, *, params: NoParams, ctx: CriterionContext) -> Verdict:
    """Passes when the reply holds the text of the project message the case expects.

    Compared in NFKC, with case and white space ignored.
    """
    if case.message is None:
        return not_applicable("the case expects no project message")
    if evidence.reply is None:
        return missing_reply()
    code = printable(case.message, _CODE_SHOWN)
    wanted = phrase(case.message_text or "")
    if not wanted:
        return error(f"the suite holds no text for the message {code}")
    held = wanted in phrase(evidence.reply)
    return outcome(
        passed=held,
        detail=f"the reply {'holds' if held else 'lacks'} the message {code}",
        data={"message": case.message},
    )


async def refusal_code(
    case: EvalCase, evidence: Evidence, *, params: NoParams, ctx: CriterionContext
) -> Verdict:
    """Passes when the code detected is the one expected: the message of a case that refuses or abstains,
    and none for any other case.

    Detected is what the target reported, else what the refusal detector says of the reply, else none.
    """
    wanted = case.message if case.behaviour in _REFUSALS else None
    if case.behaviour in _REFUSALS and wanted is None:
        return not_applicable("the case names no message to refuse or abstain with")
    detected = evidence.refusal_code
    if is_blank(detected):
        detected = None
        if ctx.refusal_detector is not None:
            if evidence.reply is None:
                return missing_reply()
            detected = ctx.refusal_detector.detect(evidence.reply)
    return outcome(
        passed=detected == wanted,
        detail=f"{_named(wanted)} expected, {_named(detected)} detected",
        data={"expected": wanted, "detected": detected},
    )


def _named(code: str | None) -> str:
    return "no refusal" if code is None else f"refusal {printable(code, _CODE_SHOWN)}"


def kinds() -> Iterable[CriterionKind]:
    """The kinds of this family."""
    return (
        Builtin("behaviour.expected", NoParams, expected, needs=frozenset({"judge"})),
        Builtin("behaviour.message", NoParams, message),
        Builtin("refusal.code", NoParams, refusal_code),
    )
