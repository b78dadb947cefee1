"""`token-f1`: the word overlap of reply and reference, as SQuAD measures it.

Source: the SQuAD v1.1 evaluation script (lower case, punctuation and the English articles dropped, bag of
words).
"""

import re
import string
from collections import Counter

from experiments.evaluation.case import EvalCase
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.metrics.registry import Metric, Missing, NoMetricParams, Score
from experiments.evaluation.ports import CriterionContext
from experiments.evaluation.text import is_blank

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def squad_words(text: str) -> list[str]:
    """The words SQuAD compares, in order."""
    return _ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()


def f1(reply: str, reference: str) -> float:
    """Harmonic mean of word precision and recall; two texts without any word are equal, one is not."""
    found, wanted = squad_words(reply), squad_words(reference)
    if not found or not wanted:
        return float(found == wanted)
    shared = (Counter(found) & Counter(wanted)).total()
    return 2.0 * shared / (len(found) + len(wanted))


async def token_f1(
    case: EvalCase, evidence: Evidence, *, params: NoMetricParams, ctx: CriterionContext
) -> Score | Missing:
    """F1 of the final reply against the case's reference answer."""
    if case.reference is None or is_blank(case.reference):
        return Missing("the case has no reference answer")
    if evidence.reply is None:
        return Missing("no reply to read")
    value = f1(evidence.reply, case.reference)
    return Score(value, f"F1 {value:.2f} against the reference answer")


TOKEN_F1 = Metric("token-f1", 1, 0.5, token_f1)
