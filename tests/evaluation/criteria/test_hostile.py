"""Whatever a system under test replies, every kind answers, and in time."""

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.detect.languages import LinguaDetector
from experiments.evaluation.case import Behaviour, EvalCase, Nugget, SourceRoles
from experiments.evaluation.criteria import builtin_registry
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.outcome import CriterionStatus, Verdict
from experiments.evaluation.ports import CriterionContext
from experiments.evaluation.text import to_json
from tests.evaluation.criteria.helpers import LabellingJudge, TextCorpus, replied
from tests.evaluation.strategies import EVIDENCE, HOSTILE

REGISTRY = builtin_registry()
EVERY_PERSONAL_KIND = [
    "bsn", "iban", "email", "nl_phone", "postcode", "birthdate", "id_number", "license_plate",
]  # fmt: skip
PARAMS: dict[str, dict[str, Any]] = {
    "reply.contains": {"substrings": ["straße"], "regex": [r"\bart\. \d+"]},
    "reply.not_contains": {"substrings": ["x"], "regex": ["y+"]},
    "reply.max_length": {"max": 10},
    "reply.language": {"language": "nl"},
    "privacy.none": {"kinds": EVERY_PERSONAL_KIND},
    "rubric.judge": {"rubric": "?", "labels": ["answer", "no"], "pass_labels": ["answer"]},
    "usage.max_tokens": {"max": 10},
    "usage.max_seconds": {"max": 10.0},
}
CASE = EvalCase(
    id="c",
    turn="?",
    behaviour=Behaviour.refuse,
    message="m",
    message_text="Ik geef geen advies.",
    nuggets=(Nugget(text="x"),),
    sources=SourceRoles(required=(("a",),), forbidden=("b",)),
)
LAW = TextCorpus({"avg": "", "avg/art:6": "De verwerking is rechtmatig.", "avg/art:6/lid:1": ""}, "AVG")


class OwnRefusals:
    def detect(self, reply: str) -> str | None:
        return reply[:3] or None


def context(variants: dict[str, Evidence | None]) -> CriterionContext:
    return CriterionContext(
        judge=LabellingJudge("answer"),
        detector=LinguaDetector(),
        corpus=LAW,
        refusal_detector=OwnRefusals(),
        variants=variants,
    )


async def evaluated(kind: str, evidence: Evidence, ctx: CriterionContext) -> Verdict:
    """The kind's own answer: nothing it raises is caught here."""
    return await REGISTRY.get(kind).evaluate(CASE, evidence, params=PARAMS.get(kind, {}), ctx=ctx)


# Pieces that the parsers of quotes, mentions and personal data care about, in any order.
PIECES = st.lists(
    st.sampled_from(
        [
            "artikel ", "art. ", "Article ", "6", "17", "(1)", "(f)", " lid 1", ", onder a", " en ", ", ",
            " jo. ", " t/m ", "-", "–", " AVG", " van de ", "EVRM", '"', "“", "”", "„", "«", "»", "+31 6 ",
            "0612345678", "111222333", "NL91ABNA0417164300", "NL91 ", "12-03-1985", "geboren ", "jan@",
            "example.org", "1012 AB", "\n", " ", "\x00", "\ud800", "\u202e", "\u0301", "٣", "𝟙", "ﬁ",
            "e\u0301", ".", "```", "[1]", "http://",
        ]
    ),
    max_size=25,
).map("".join)  # fmt: skip
REPLIES = st.one_of(HOSTILE, PIECES).map(replied)


@settings(max_examples=150)
@given(st.one_of(EVIDENCE, REPLIES), st.one_of(st.none(), EVIDENCE, REPLIES))
def test_no_kind_raises_for_any_evidence_and_what_it_says_can_be_stored(
    evidence: Evidence, variant: Evidence | None
) -> None:
    async def every_kind() -> None:
        for kind in REGISTRY:
            found = await evaluated(kind, evidence, context({"v": variant}))
            assert found.status in CriterionStatus
            to_json(found.data).encode()

    asyncio.run(every_kind())


MEGABYTE = 1_000_000
DRAW = random.Random(7)


def repeated(make: Callable[[], str]) -> str:
    pieces, length = [], 0
    while length < MEGABYTE:
        pieces.append(make())
        length += len(pieces[-1])
    return "".join(pieces)[:MEGABYTE]


def number(digits: int) -> str:
    return f"{DRAW.randrange(10**digits):0{digits}d}"


BIG: dict[str, Callable[[], str]] = {
    "one letter": lambda: "a" * MEGABYTE,
    "prose": lambda: repeated(lambda: "De verwerking is rechtmatig wanneer dit zo is. "),
    "digits": lambda: "1" * MEGABYTE,
    "numbers": lambda: repeated(lambda: f"{number(9)}, of "),
    "bare numbers": lambda: repeated(lambda: f"{number(9)} "),
    "phones": lambda: repeated(lambda: f"06{number(8)}, "),
    "one phone": lambda: "06 12345678 " * 84_000,
    "dates": lambda: repeated(lambda: f"{DRAW.randrange(1, 29)}-{DRAW.randrange(1, 13)}-19{number(2)}; "),
    "births": lambda: "geboren op 12-03-1985 " * 46_000,
    "ibans": lambda: repeated(lambda: f"NL12ABNA{number(10)} "),
    "iban starts": lambda: "NL12 " * 200_000,
    "addresses": lambda: repeated(lambda: f"a..{number(8)}@b.nl "),
    "at signs": lambda: "a@b." * 250_000,
    "slashes": lambda: "0/" * 500_000,
    "plus signs": lambda: "+(" * 500_000,
    "straight quotes": lambda: '"a' * 500_000,
    "opening quotes": lambda: "“a " * 333_333,
    "short quotes": lambda: repeated(lambda: f"“{number(4)} {number(4)} x” "),
    "mentions": lambda: repeated(lambda: f"artikel {number(3)}, lid {number(1)}, onder a, AVG; "),
    "good mentions": lambda: "artikel 6 lid 1 AVG, " * 48_000,
    "one long mention": lambda: "artikel 6" + ", 6" * 333_000,
    "laws": lambda: "artikel 6 EVRM jo. " * 53_000,
    "marks": lambda: "a" + "\u0315\u0300" * 500_000,
    "ligatures": lambda: "ﷺ" * 333_333,
    "nothing": lambda: "\x00" * MEGABYTE,
    "surrogates": lambda: "\ud800" * MEGABYTE,
    "bidi": lambda: "\u202e1" * 500_000,
    "brackets": lambda: "[" * MEGABYTE,
    "backticks": lambda: "`" * MEGABYTE,
    "line breaks": lambda: "\n" * MEGABYTE,
    "full stops": lambda: "a. " * 333_333,
    "codes": lambda: "AB12CD345 1012 AB 12-GBB-3 " * 37_000,
}  # fmt: skip

SECONDS = 5.0
"""For a megabyte in each deterministic kind. The bar is one second; this holds on a busy machine too."""

DETERMINISTIC = [kind for kind in REGISTRY if "judge" not in REGISTRY.needs(kind)]


@pytest.mark.slow
@pytest.mark.parametrize("name", BIG)
def test_a_megabyte_of_anything_is_answered_in_time(name: str) -> None:
    evidence = replied(BIG[name](), ["a"], prompt_tokens=1, completion_tokens=1, seconds=1.0)
    ctx = context({"v": evidence})
    if ctx.detector is not None:
        ctx.detector.detect("De modellen worden eerst gelezen, dat telt niet mee.")

    async def timed() -> dict[str, float]:
        taken = {}
        for kind in DETERMINISTIC:
            started = time.process_time()
            await evaluated(kind, evidence, ctx)
            taken[kind] = time.process_time() - started
        return taken

    taken = asyncio.run(timed())
    assert {kind: seconds for kind, seconds in taken.items() if seconds > SECONDS} == {}
