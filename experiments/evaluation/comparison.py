"""Expectations that are settled by comparing: spec node, required phrases, end state."""

from collections.abc import Iterable, Mapping
from typing import Any

from experiments.evaluation.evidence import Evidence
from experiments.evaluation.outcome import EvaluationResult, SettledBy
from experiments.evaluation.text import is_blank, squeeze, to_json


def node_satisfies(expected: str, actual: str) -> bool:
    """Whether the reported spec node is the expected one or finer.

    Both are trimmed and casefolded. Finer: it starts with the expected one and goes on with a character
    that is neither letter nor digit, so `A-1.3` satisfies `A-1` and `A-12` does not.
    """
    wanted, found = expected.strip().casefold(), actual.strip().casefold()
    if not found.startswith(wanted):
        return False
    return len(found) == len(wanted) or not found[len(wanted)].isalnum()


def compare_spec_node(expected: str, evidence: Evidence) -> EvaluationResult:
    """Passed iff the node the target reported satisfies `expected`; INCONCLUSIVE when it reported none."""
    actual = evidence.node
    if actual is None or is_blank(actual):
        return EvaluationResult.inconclusive(
            f"expected {expected}, no spec node reported",
            evaluator="spec-node",
            settled_by=SettledBy.spec_node,
        )
    build = EvaluationResult.passed if node_satisfies(expected, actual) else EvaluationResult.failed
    return build(
        f"expected {expected}, found {actual}", evaluator="spec-node", settled_by=SettledBy.spec_node
    )


def phrase_key(text: str) -> str:
    """`text` as phrases are compared: casefolded, whitespace collapsed."""
    return squeeze(text).casefold()


def contains_all(phrases: Iterable[str], evidence: Evidence) -> EvaluationResult:
    """Passed iff every phrase occurs in the final reply; the reason names the first one missing."""
    if evidence.reply is None:
        return EvaluationResult.inconclusive(
            "no reply to read", evaluator="contains-all", settled_by=SettledBy.contains_all
        )
    reply = phrase_key(evidence.reply)
    wanted = list(phrases)
    missing = next((phrase for phrase in wanted if phrase_key(phrase) not in reply), None)
    if missing is not None:
        return EvaluationResult.failed(
            f"missing phrase: {squeeze(missing)}", evaluator="contains-all", settled_by=SettledBy.contains_all
        )
    found = "the required phrase occurs" if len(wanted) == 1 else f"all {len(wanted)} required phrases occur"
    return EvaluationResult.passed(found, evaluator="contains-all", settled_by=SettledBy.contains_all)


def compare_end_state(expected: Mapping[str, Any], evidence: Evidence) -> EvaluationResult:
    """Passed iff every named key holds the expected value; other keys do not count.

    INCONCLUSIVE when the target reported no end state at all.
    """
    state = evidence.end_state
    if state is None:
        return EvaluationResult.inconclusive(
            "no end state reported", evaluator="end-state", settled_by=SettledBy.end_state
        )
    for key, value in expected.items():
        if key not in state or not _same(value, state[key]):
            found = _shown(state[key]) if key in state else "nothing"
            return EvaluationResult.failed(
                f"{key}: expected {_shown(value)}, found {found}",
                evaluator="end-state",
                settled_by=SettledBy.end_state,
            )
    return EvaluationResult.passed(
        f"{', '.join(expected)} as expected", evaluator="end-state", settled_by=SettledBy.end_state
    )


def _same(expected: Any, found: Any) -> bool:
    """Equality of JSON values: 1 is 1.0, but true is not 1."""
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    if isinstance(expected, dict) and isinstance(found, dict):
        return expected.keys() == found.keys() and all(_same(expected[key], found[key]) for key in expected)
    if isinstance(expected, list | tuple) and isinstance(found, list | tuple):
        return len(expected) == len(found) and all(map(_same, expected, found))
    return bool(expected == found)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value)
