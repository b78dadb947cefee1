"""The words by which Dutch and English texts mention an article of a law, as patterns.

Every pattern is matched where the reader stands (`mentions.Reader`); white space before it is skipped there.
"""

import re

_ORDINALS = (
    ("eerste", "first"), ("tweede", "second"), ("derde", "third"), ("vierde", "fourth"), ("vijfde", "fifth"),
    ("zesde", "sixth"), ("zevende", "seventh"), ("achtste", "eighth"), ("negende", "ninth"),
    ("tiende", "tenth"),
)  # fmt: skip
ORDINAL_NUMBER = {name: str(number) for number, names in enumerate(_ORDINALS, start=1) for name in names}
_ORDINAL = rf"(?:{'|'.join(ORDINAL_NUMBER)}|\d{{1,3}}(?:e|de|ste|st|nd|rd|th))"


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


KEYWORD = _words(
    r"(?<![\w@])(?:artikelen|artikel|articles|article|artt|arts|art)(?:\.\s{0,3}|\s{1,3})(?=\d)"
    # "state of the art 5G" is no article 5g.
    r"(?!(?<=art\s)\d{1,4}(?-i:[A-Z]))"
)
PLURAL = _words(r"artikelen|articles|artt|arts")
SPACE = re.compile(r"[^\S\n]*\n?[^\S\n]*")
COMMA = re.compile(",")
AND = _words(r"(?:en/of|and/or|en|and|&|of|or|alsmede)(?!\w)")
RANGE = _words(r"(?:t/m|tot en met|tot|to|through|t\.e\.m\.)(?!\w)|[-–—](?=\d|\()")
SPACED_DASH = _words(r"[-–—]\s?(?=\d)")
JO = _words(r"(?:juncto|iuncto|jo|jto|j°|jº)\.?(?!\w)")

NUMBER = _words(r"\d{1,4}(?:[:.]\d{1,4})*(?:bis|ter|quater|[a-z]{1,2})?(?![\w°])(?!/\d)")
# What a number counts when it is no article: "artikel 17 en 30 dagen", "artikel 5 en 25 mei".
UNIT = _words(
    r"(?:dag|dagen|weken|week|maand|maanden|jaar|jaren|uur|uren|minuten|euro|eur|procent|personen|keer|maal"
    r"|days?|weeks?|months?|years?|hours?|minutes?|percent|people|times|januari|februari|maart|april|mei"
    r"|juni|juli|augustus|september|oktober|november|december|january|february|march|may|june|july|august"
    r"|october)(?!\w)|%|€"
)

PARAGRAPH = _words(
    r"(?:het\s|de\s|the\s)?(?:lid|leden|paragraaf|paragrafen|paragraphs?|paras?\.?|par\.)(?![\w])|§§?"
)
PARAGRAPHS = _words(r"(?:de\s)?(?:leden|paragrafen|paragraphs|paras)")
PARAGRAPH_NUMBER = _words(r"\d{1,3}(?:bis|ter|quater|[a-z])?(?![\w°.]?\d)(?!\w)")
BRACKETED_NUMBER = _words(r"\((\d{1,3}[a-z]?)\)")
ORDINAL = _words(rf"(?:het\s|the\s)?({_ORDINAL})(?!\w)")
ORDINAL_TAIL = _words(r"(?:lid|leden|paragraaf|paragraphs?)(?!\w)")

POINT = _words(
    r"(?:aanhef\s+en\s+)?(?:onder|onderdeel|onderdelen|sub|punten|punt|points|point|letters|letter|lit\.?)(?!\w)"
)
POINTS = _words(r"(?:aanhef\s+en\s+)?(?:onderdelen|punten|points|letters)")
_LETTER = r"(?:([a-z])\2?|x{0,2}(?:ix|iv|v?i{0,3})|\d{1,3})"
POINT_NAME = _words(rf"\(?({_LETTER})(?:\)|°|º|(?!\w))")
BRACKETED_LETTER = _words(rf"\(({_LETTER})\)")

FILLER = _words(
    rf"(?:{_ORDINAL}\s|laatste\s|last\s)?(?:alinea|volzin|zin|streepje|gedachtestreepje|subparagraph|sentence"
    r"|indent)(?!\w)|(?:aanhef|slotzin|slot|chapeau)(?!\w)"
)

TO_LAW = _words(r"(?:van|uit|of|in)\s+(?:(?:de|het|the)\s+)?")
TO_ANY_LAW = _words(r"(?:(?:van|uit)\s+(?:(?:de|het)\s+)?|of\s+(?:the\s+)?)")
OF_ARTICLE = _words(r"(?:van|of|in)\s+(?:artikel|article)")
# A part of the same law is no law.
CAPITALISED = re.compile(
    r"(?!(?:Artikel|Article|Afdeling|Bijlage|Hoofdstuk|Paragraaf|Titel|Annex|Chapter|Paragraph|Part|Section"
    r"|Title|Member|Union)(?:s|en)?(?!\w))[A-ZÀ-ÖØ-Þ][\w’'.-]*"
)
# Several capitals (EVRM, VWEU, WvK), or a capital and consonants (Awb, Sr, Rv), or one everybody knows.
ABBREVIATION = re.compile(
    r"(?:[A-Z][A-Za-z]{0,8}[A-Z][A-Za-z]{0,4}|[A-Z][bcdfghjklmnpqrstvwxz]{1,4}|Wob|Woo|Wmo|Wav|Wia|Ow|Aw|Wet"
    r"|Wetboek|Besluit|Verordening|Richtlijn|Verdrag|Handvest|Grondwet|Regulation|Directive|Treaty|Charter"
    r"|Convention)(?![\w])"
)
