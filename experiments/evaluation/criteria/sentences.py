"""Sentences of a reply, with the abbreviations of Dutch legal text kept whole.

sentencex knows most Dutch abbreviations and still splits at "jo.", "drs." and "d.d.", so the dots of ours are
hidden from it.
"""

import regex

from experiments.evaluation.text import printable

_HIDDEN = "\ue000"  # for private use: sentencex sees no mark and no letter in it

_ANYWHERE = (
    "a.u.b", "afd", "art", "artt", "bijv", "blz", "c.q", "ca", "d.d", "d.i", "d.m.v", "d.w.z", "dhr", "dr",
    "drs", "e.a", "e.d", "e.v", "enz", "evt", "excl", "i.c", "i.h.b", "i.p.v", "i.v.m", "incl", "ir", "jl",
    "jo", "jto", "mevr", "mr", "mw", "n.a.v", "nr", "nrs", "o.a", "o.b.v", "o.g.v", "o.m", "p.m", "pag",
    "prof", "q.q", "resp", "s.v.p", "t.a.v", "t.b.v", "t.g.v", "t.n.v", "t.o.v", "v.a", "vgl", "z.g", "z.s.m",
    "zgn",
)  # fmt: skip
_MONTHS = ("jan", "feb", "febr", "mrt", "apr", "jun", "jul", "aug", "sep", "sept", "okt", "nov", "dec")
# A word of its own besides: only beside a number it is a month, or a paragraph.
_BESIDE_NUMBER = ("lid", "max", "min", "onder", "par", "sub", *_MONTHS)


def _either(words: tuple[str, ...]) -> str:
    return "|".join(regex.escape(word) for word in sorted(words, key=len, reverse=True))


_ABBREVIATION = regex.compile(
    rf"(?<![\w.])(?:(?:{_either(_ANYWHERE)})\."
    rf"|(?<=\d\s)(?:{_either(_MONTHS)})\.|(?:{_either(_BESIDE_NUMBER)})\.(?=\s*\d))",
    regex.IGNORECASE,
)


def sentences(text: str) -> list[str]:
    """The sentences of `text` in order, as they stand there; broken characters are U+FFFD."""
    from sentencex import segment

    clean = printable(text)
    hidden = _ABBREVIATION.sub(lambda found: found[0].replace(".", _HIDDEN), clean)
    found, start = [], 0
    for piece in segment("nl", hidden):
        # A hidden dot is one character too, so lengths still fit the text.
        found.append(clean[start : start + len(piece)])
        start += len(piece)
    return [sentence for sentence in found if sentence.strip()]
