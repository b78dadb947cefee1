"""Unicode normal forms of text that may be hostile.

Putting a long run of combining marks in order takes time that grows with its square, so a run longer than any
script uses is cut first (Unicode's "stream-safe" text format allows 30).
"""

import unicodedata
from typing import Literal

import regex

from experiments.evaluation.text import squeeze

_MARKS = regex.compile(r"(\p{M}{30})\p{M}+")


def normal(text: str, form: Literal["NFC", "NFKC"]) -> str:
    """`text` in this normal form; of more than 30 combining marks in a row only 30 are kept."""
    if text.isascii():
        return text
    return unicodedata.normalize(form, _MARKS.sub(r"\1", text))


def phrase(text: str) -> str:
    """`text` as project messages are compared: NFKC, casefolded, each run of white space as one space."""
    return squeeze(normal(normal(text, "NFKC").casefold(), "NFKC"))
