"""What the text of a reply takes from the corpus: citations.quotes_verbatim, citations.mentions_in_corpus."""

from collections.abc import Iterable

from experiments.evaluation.case import EvalCase
from experiments.evaluation.criteria.base import (
    Builtin,
    CriterionKind,
    NoParams,
    error,
    missing_reply,
    not_applicable,
    outcome,
)
from experiments.evaluation.criteria.corpora import CorpusIndex, index_of, quotable
from experiments.evaluation.criteria.matching import distinct
from experiments.evaluation.criteria.mentions import find_mentions, resolves
from experiments.evaluation.criteria.quoting import MOST_MARKS, count_marks, find_quotes
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.outcome import Verdict
from experiments.evaluation.ports import CriterionContext
from experiments.evaluation.text import printable, squeeze

MOST_MENTIONS = 20_000
"""Mentions read of one reply."""

MOST_FAILING = 100
"""Failing quotes or mentions that are listed; after them nothing more is looked up."""

_SHOWN = 3
_SHOWN_CHARACTERS = 120
_LISTED_CHARACTERS = 500
_UNCLOSED_LISTED = 50


async def quotes_verbatim(
    case: EvalCase, evidence: Evidence, *, params: NoParams, ctx: CriterionContext
) -> Verdict:
    """Passes when each double-quoted span of the reply stands as it is in one unit of the corpus."""
    if evidence.reply is None:
        return missing_reply()
    if count_marks(evidence.reply) > MOST_MARKS:
        return error(f"the reply holds more than {MOST_MARKS:,} quotation marks")
    found = find_quotes(evidence.reply)
    spans = [span for span in distinct(map(quotable, found.spans)) if span]
    if not spans:
        return not_applicable("the reply quotes nothing")
    if ctx.corpus is None:
        return error("no corpus configured")
    index = index_of(ctx.corpus)
    altered: list[str] = []
    for span in spans:
        if not index.holds(span):
            altered.append(printable(span, _LISTED_CHARACTERS))
            if len(altered) >= MOST_FAILING:
                break
    detail = (
        f"not in the corpus as quoted: {_shown(altered)}" if altered else f"{len(spans)} quotes, all verbatim"
    )
    unclosed = [_around(evidence.reply, at) for at in found.unclosed[:_UNCLOSED_LISTED]]
    return outcome(
        passed=not altered,
        detail=detail,
        data={"quotes": len(spans), "altered": altered, "unclosed": unclosed},
    )


def _around(reply: str, at: int) -> str:
    return printable(squeeze(reply[at : at + 60]))


def _shown(texts: list[str]) -> str:
    shown = ", ".join(f"“{printable(text, _SHOWN_CHARACTERS)}”" for text in texts[:_SHOWN])
    return shown if len(texts) <= _SHOWN else f"{shown} and {len(texts) - _SHOWN} more"


async def mentions_in_corpus(
    case: EvalCase, evidence: Evidence, *, params: NoParams, ctx: CriterionContext
) -> Verdict:
    """Passes when each article the reply mentions, with paragraph and point, is a unit of the corpus."""
    if evidence.reply is None:
        return missing_reply()
    index = CorpusIndex(()) if ctx.corpus is None else index_of(ctx.corpus)
    mentioned: set[str] = set()
    unresolved: dict[str, None] = {}
    known: dict[tuple[object, ...], bool] = {}
    for mention in find_mentions(evidence.reply, index):
        if ctx.corpus is None:
            return error("no corpus configured")
        if mention.key not in known:
            known[mention.key] = resolves(mention, index)
        text = squeeze(evidence.reply[mention.start : mention.end])
        mentioned.add(text)
        if not known[mention.key]:
            unresolved[printable(text, _LISTED_CHARACTERS)] = None
        if len(unresolved) >= MOST_FAILING:
            break
        if len(mentioned) >= MOST_MENTIONS:
            return error(f"the reply mentions more than {MOST_MENTIONS:,} articles")
    if not mentioned:
        return not_applicable("the reply mentions no article")
    failing = list(unresolved)
    detail = (
        f"not in the corpus: {_shown(failing)}"
        if failing
        else f"{len(mentioned)} mentioned, all in the corpus"
    )
    return outcome(
        passed=not failing, detail=detail, data={"mentions": len(mentioned), "unresolved": failing}
    )


def kinds() -> Iterable[CriterionKind]:
    """The kinds of this family."""
    corpus = frozenset({"corpus"})
    return (
        Builtin("citations.quotes_verbatim", NoParams, quotes_verbatim, needs=corpus),
        Builtin("citations.mentions_in_corpus", NoParams, mentions_in_corpus, needs=corpus),
    )
