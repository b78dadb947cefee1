"""The core's ``LanguageDetector`` over lingua, restricted to the languages in play.

lingua is imported and its models are read (150 MB for the four usual languages) when the first sentence is
asked about, so a process that never grades a language pays nothing. Source: lingua-language-detector.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from experiments.evaluation.ports import LanguageDetector
from experiments.evaluation.text import printable

if TYPE_CHECKING:
    import lingua

USUAL = ("nl", "en", "de", "fr")
"""The languages in play besides the one asked for."""

MINIMUM_DISTANCE = 0.2
"""How much likelier than the next the best language must be; at 0.1 "Zie art. 6:162 BW." reads German."""

LONGEST = 250
"""Characters read of one sentence: more makes the answer slower and no surer."""


class LinguaDetector:
    """Tells the usual languages apart, and one more where that one is asked for. Safe in any thread."""

    def __init__(self, *, also: str | None = None) -> None:
        self._codes = USUAL if also is None or also in USUAL else (*USUAL, also)
        self._lock = threading.Lock()
        self._built: lingua.LanguageDetector | None = None
        self._narrowed: dict[str, LinguaDetector] = {}

    def detect(self, sentence: str) -> str | None:
        """ISO 639-1 code of the sentence's language, or None when it cannot be told."""
        found = self._detector().detect_language_of(printable(sentence[:LONGEST]))
        return None if found is None else found.iso_code_639_1.name.lower()

    def asked_for(self, language: str) -> LanguageDetector | None:
        """The detector to use where this language is asked for; None when lingua does not know it.

        A close relative of another language (Afrikaans beside Dutch) is in play only where it is asked for.
        """
        if language in self._codes:
            return self
        if language not in _known():
            return None
        with self._lock:
            return self._narrowed.setdefault(language, LinguaDetector(also=language))

    def _detector(self) -> lingua.LanguageDetector:
        with self._lock:
            if self._built is None:
                self._built = _build(self._codes)
            return self._built


def _known() -> frozenset[str]:
    import lingua

    return frozenset(language.iso_code_639_1.name.lower() for language in lingua.Language.all())


def _build(codes: tuple[str, ...]) -> lingua.LanguageDetector:
    import lingua

    wanted = [language for language in lingua.Language.all() if language.iso_code_639_1.name.lower() in codes]
    builder = lingua.LanguageDetectorBuilder.from_languages(*wanted)
    return builder.with_minimum_relative_distance(MINIMUM_DISTANCE).build()
