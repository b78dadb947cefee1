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
from experiments.evaluation.criteria.mentions import MOST as MOST_MENTIONS
from experiments.evaluation.criteria.mentions import TooManyMentionsError, find_mentions, resolves
from experiments.evaluation.criteria.quoting import MOST_MARKS, count_marks, find_quotes
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.outcome import Verdict
from experiments.evaluation.ports import CriterionContext
from experiments.evaluation.text import printable, squeeze

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
    mentioned, unresolved, all_read = _looked_up(evidence.reply, index)
    if not mentioned:
        return not_applicable("the reply mentions no article")
    if ctx.corpus is None:
        return error("no corpus configured")
    if not unresolved and not all_read:
        return error(f"the reply mentions more than {MOST_MENTIONS:,} articles, paragraphs and points")
    failing = f"not in the corpus: {_shown(unresolved)}"
    return outcome(
        passed=not unresolved,
        detail=failing if unresolved else f"{mentioned} mentioned, all in the corpus",
        data={"mentions": mentioned, "unresolved": unresolved},
    )


def _looked_up(reply: str, index: CorpusIndex) -> tuple[int, list[str], bool]:
    """How many different mentions were read, those that do not resolve, and whether none was left unread."""
    mentioned: set[str] = set()
    unresolved: dict[str, None] = {}
    known: dict[tuple[object, ...], bool] = {}
    all_read = True
    try:
        for mention in find_mentions(reply, index):
            text = squeeze(reply[mention.start : mention.end])
            mentioned.add(text)
            if mention.key not in known:
                known[mention.key] = resolves(mention, index)
            if not known[mention.key]:
                unresolved[printable(text, _LISTED_CHARACTERS)] = None
                if len(unresolved) >= MOST_FAILING:
                    break
    except TooManyMentionsError:
        all_read = False
    return max(len(mentioned), int(not all_read)), list(unresolved), all_read


def kinds() -> Iterable[CriterionKind]:
    """The kinds of this family."""
    corpus = frozenset({"corpus"})
    return (
        Builtin("citations.quotes_verbatim", NoParams, quotes_verbatim, needs=corpus),
        Builtin("citations.mentions_in_corpus", NoParams, mentions_in_corpus, needs=corpus),
    )
