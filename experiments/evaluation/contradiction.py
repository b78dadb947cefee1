"""Whether a case asks for what its own expected outcome forbids."""

import re

from experiments.evaluation.comparison import phrase_key

_NEGATION = re.compile(
    r"\b(?:(?:does|do|did|must|should|shall|may|will|can|could|would)(?: not|n't|n’t)|cannot|never)\b"
)
_BREAK = re.compile(r"[.;:!?]|\b(?:but|instead|however|rather)\b")
_SUBJECT_OR_MODAL = r"it|the|must|should|shall|may|will|can|does|is|has"
_NEW_STATEMENT = re.compile(
    rf"(?:\b(?:and|or)\s+(?:{_SUBJECT_OR_MODAL}|\w+s)|,\s+(?:and\s+|or\s+)?(?:{_SUBJECT_OR_MODAL}))\s"
)
_REACH = 400  # characters of the text before a phrase that may hold its negation
_TWICE_NEGATED = re.compile(r"^\s*(?:only|just|merely|omit|fail|forget|skip|leave|miss|hesitate)\b")


def forbids(expected: str, phrase: str) -> bool:
    """Whether every mention of `phrase` in the expected outcome stands under a negation.

    Under one: "not <phrase>", or "does not", "must not" and their like earlier in the same clause. A clause
    ends at punctuation, at "but", and where an "and" or a comma begins a new statement; "does not omit"
    forbids nothing. A rule of thumb for English: it refuses what is plainly contradictory, and lets through
    what it cannot tell.
    """
    text, wanted = phrase_key(expected), phrase_key(phrase)
    if not wanted:
        return False
    mentions = [
        found.start()
        for found in re.finditer(re.escape(wanted), text)
        if _stands_alone(text, found.start(), found.end())
    ]
    return bool(mentions) and all(_negated(text[max(0, start - _REACH) : start]) for start in mentions)


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether no letter or digit goes on across the edges: "age" is not mentioned by "wages"."""
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (before.isalnum() and text[start].isalnum()) and not (
        after.isalnum() and text[end - 1].isalnum()
    )


def _negated(before: str) -> bool:
    """Whether a phrase that follows this text stands under a negation."""
    if re.search(r"\bnot\s+[\"'“‘«]?$", before):
        return True
    clause = before[max((found.end() for found in _BREAK.finditer(before)), default=0) :]
    scope = clause[max((found.start() for found in _NEW_STATEMENT.finditer(clause)), default=0) :]
    last = next(reversed(list(_NEGATION.finditer(scope))), None)
    return last is not None and not _TWICE_NEGATED.match(scope[last.end() :])


def asks_what_it_expects(turn: str, expected: str) -> bool:
    """Whether the graded turn is the expected outcome itself, letter case and whitespace aside."""
    return bool(phrase_key(expected)) and phrase_key(turn) == phrase_key(expected)


def case_contradictions(turn: str, expected: str, phrases: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Every contradiction within one case as (field, sentence); the same for authors and for pre-flight."""
    found = []
    if asks_what_it_expects(turn, expected):
        found.append(("turn", "the graded turn is equal to the expected outcome"))
    for index, phrase in enumerate(phrases):
        if forbids(expected, phrase):
            found.append(
                (
                    f"required_phrases[{index}]",
                    f"the required phrase “{phrase}” is what the expected outcome forbids",
                )
            )
    return tuple(found)
