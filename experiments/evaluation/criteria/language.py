"""reply.language: the share of the reply's sentences that are in one language."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.case import EvalCase
from experiments.evaluation.criteria.base import (
    Builtin,
    CriterionKind,
    error,
    missing_reply,
    not_applicable,
    outcome,
)
from experiments.evaluation.criteria.matching import distinct
from experiments.evaluation.criteria.sentences import sentences
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.outcome import Verdict, reaches
from experiments.evaluation.ports import CriterionContext, LanguageDetector
from experiments.evaluation.text import printable

READ = 20_000
"""Characters of a reply that are read."""

FEWEST_LETTERS = 4
"""A sentence with fewer letters is in no language."""

_MOST_IDS = 1_000
_SHOWN_CHARACTERS = 80

_CODES = """
aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de
dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id
ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu
lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu
rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr
ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""
ISO_639_1 = frozenset(_CODES.split())


def _require_code(value: str) -> str:
    if value not in ISO_639_1:
        raise ValueError(f"{printable(value, 40)!r} is no ISO 639-1 code (two small letters: nl, en, ...)")
    return value


class LanguageParams(FrozenModel):
    """``language``: ISO 639-1. ``min_share``: the least share of sentences in it, 0 to 1, inclusive."""

    model_config = ConfigDict(hide_input_in_errors=True)

    language: Annotated[str, AfterValidator(_require_code)]
    min_share: float = Field(default=1.0, ge=0.0, le=1.0, strict=True, allow_inf_nan=False)


_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_LINK = re.compile(r"\[([^\[\]\n]*)\]\([^()\s]*\)")
_URL = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
# [1], [2, 3], [gdpr/art:17], 【1†source】; words in brackets stay.
_MARKER = re.compile(r"\[[^\[\]\n]*\d[^\[\]\n]*\]|\[[^\[\]\s]*\]|【[^【】\n]*】")


def readable(reply: str, cited: Iterable[str]) -> str:
    """The running text of a reply: without code, addresses, citation marks and the ids it cites."""
    text = _CODE.sub(" ", reply)
    text = _URL.sub(" ", _LINK.sub(r"\1", text))
    for one in distinct(cited)[:_MOST_IDS]:
        # A short or wordlike id would take words out of the text.
        if len(one) > 2 and not one.isalpha():
            text = text.replace(one, " ")
    return _MARKER.sub(" ", text)


def _told(sentence: str, asked: str, detector: LanguageDetector) -> str | None:
    """The sentence's language, or None when it cannot be told."""
    if _letters(sentence) < FEWEST_LETTERS:
        return None
    found = detector.detect(sentence)
    if found in (None, asked):
        return found
    # Foreign names can outweigh the few words around them; those words then have the last say.
    first, *others = sentence.split() or [""]
    rest = " ".join([first, *(word for word in others if not word[0].isupper())])
    is_asked = _letters(rest) >= FEWEST_LETTERS and detector.detect(rest) == asked
    return asked if is_asked else found


def _letters(sentence: str) -> int:
    return sum(map(str.isalpha, sentence))


async def language(
    case: EvalCase, evidence: Evidence, *, params: LanguageParams, ctx: CriterionContext
) -> Verdict:
    """Passes when at least ``min_share`` of the sentences whose language can be told are in ``language``."""
    if evidence.reply is None:
        return missing_reply()
    if ctx.detector is None:
        return error("no language detector configured")
    detector = _detector_for(params.language, ctx.detector)
    if detector is None:
        return error(f"the language detector does not know the language {params.language}")
    text = readable(evidence.reply[:READ], (citation.id for citation in evidence.citations))
    spoken: Counter[str] = Counter()
    others: list[str] = []
    for sentence in sentences(text):
        found = _told(sentence, params.language, detector)
        if found is None:
            continue
        spoken[found] += 1
        if found != params.language:
            others.append(f"{found}: {printable(' '.join(sentence.split()), _SHOWN_CHARACTERS)}")
    return _judged(spoken, others, params, cut=len(evidence.reply) > READ)


def _detector_for(code: str, detector: LanguageDetector) -> LanguageDetector | None:
    asked_for = getattr(detector, "asked_for", None)
    if asked_for is None:
        return detector
    narrowed: LanguageDetector | None = asked_for(code)
    return narrowed


def _judged(spoken: Counter[str], others: list[str], params: LanguageParams, *, cut: bool) -> Verdict:
    total = spoken.total()
    read = f" (of the first {READ:,} characters)" if cut else ""
    if not total:
        return not_applicable(f"no sentence whose language can be told{read}")
    inside = spoken[params.language]
    detail = f"{inside} of {total} sentences in {params.language}{read}"
    if others:
        detail += f"; {others[0]}"
    return outcome(
        passed=reaches(inside / total, params.min_share),
        detail=detail,
        data={"share": inside / total, "sentences": dict(sorted(spoken.items())), "others": others[:5]},
    )


def kinds() -> Iterable[CriterionKind]:
    """The kinds of this family."""
    return (Builtin("reply.language", LanguageParams, language, needs=frozenset({"detector"})),)
