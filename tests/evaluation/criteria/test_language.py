"""The share of sentences in one language, told by lingua."""

import pytest

from experiments.detect.languages import LinguaDetector
from experiments.evaluation.criteria.language import READ, readable
from experiments.evaluation.criteria.sentences import sentences
from experiments.evaluation.outcome import CriterionStatus, Verdict
from experiments.evaluation.ports import CriterionContext
from tests.evaluation.criteria.helpers import replied, verdict

LINGUA = CriterionContext(detector=LinguaDetector())
PASS, FAIL, ERROR = CriterionStatus.PASS, CriterionStatus.FAIL, CriterionStatus.ERROR
NOT_APPLICABLE = CriterionStatus.NOT_APPLICABLE

DUTCH = "De verhuurder moet de waarborgsom binnen veertien dagen terugbetalen."
ENGLISH = "The landlord has to return the deposit within fourteen days."
FRENCH = "Le propriétaire doit rembourser la caution dans les quinze jours."
GERMAN = "Der Vermieter muss die Kaution innerhalb von vierzehn Tagen zurückzahlen."
AFRIKAANS = "Hierdie is 'n brief oor die huur, en dit is nie waar dat ons niks geweet het nie."


def spoken(reply: str | None, language: str = "nl", **params: float) -> Verdict:
    return verdict("reply.language", replied(reply), {"language": language, **params}, ctx=LINGUA)


@pytest.mark.parametrize(
    ("reply", "language"), [(DUTCH, "nl"), (ENGLISH, "en"), (FRENCH, "fr"), (GERMAN, "de"), (AFRIKAANS, "af")]
)
def test_a_reply_in_the_language_asked_for_passes_and_one_in_another_fails(reply: str, language: str) -> None:
    assert spoken(reply, language).status is PASS
    assert spoken(reply, "en" if language in ("nl", "af") else "nl").status is FAIL


@pytest.mark.parametrize(
    ("reply", "share", "status"),
    [
        (f"{DUTCH} {ENGLISH}", 1.0, FAIL),
        (f"{DUTCH} {ENGLISH}", 0.5, PASS),
        (f"{DUTCH} {ENGLISH}", 0.51, FAIL),
        (f"{DUTCH} {ENGLISH} {DUTCH}", 2 / 3, PASS),
        (ENGLISH, 0.0, PASS),
    ],
)
def test_the_share_of_sentences_decides_inclusive(reply: str, share: float, status: CriterionStatus) -> None:
    assert spoken(reply, min_share=share).status is status


def test_the_detail_names_the_share_and_the_first_sentence_in_another_language() -> None:
    found = spoken(f"{DUTCH} {ENGLISH}")
    assert found.data["sentences"] == {"en": 1, "nl": 1}
    assert found.data["share"] == 0.5
    assert found.detail.startswith("1 of 2 sentences in nl; en: The landlord")


@pytest.mark.parametrize(
    "reply",
    [
        "Ja.",
        "12345",
        "",
        "Zie art. 6:162 BW.",
        "[1] [2] https://www.example.org/de/recht",
        "```\nSELECT 1\n```",
    ],
)
def test_a_reply_whose_language_cannot_be_told_is_not_applicable(reply: str) -> None:
    assert spoken(reply).status is NOT_APPLICABLE


def test_code_addresses_citation_marks_and_cited_ids_are_no_language() -> None:
    reply = (
        f"{DUTCH} [1] [gdpr/art:17] `the quick brown fox jumps` https://example.org/the-landlord-has-to "
        "[bron](https://example.org/x) 【4†source of the statement】\n```python\nfor the in return_of:\n```"
    )
    assert spoken(reply).data["sentences"] == {"nl": 1}
    assert readable("zie law/the-deposit-act/art:3 hier", ["law/the-deposit-act/art:3"]) == "zie   hier"
    assert readable("[see the note] en [tekst](u)", []) == "[see the note] en tekst"


def test_a_short_id_or_a_plain_word_that_is_cited_stays_in_the_text() -> None:
    assert readable("de wet en a", ["wet", "a"]) == "de wet en a"


def test_names_do_not_outweigh_the_words_around_them() -> None:
    # A real reply; lingua takes the names for French.
    reply = "The name of Bangalore city railway station is Krantiveera Sangolli Rayanna railway station."
    assert spoken(reply, "en").status is PASS
    assert spoken(reply, "nl").status is not PASS


def test_only_the_beginning_of_a_long_reply_is_read_and_the_detail_says_so() -> None:
    reply = f"{DUTCH} " * (READ // len(DUTCH)) + f"{ENGLISH} " * 1_000
    found = spoken(reply, min_share=0.9)
    assert found.status is PASS
    assert "of the first 20,000 characters" in found.detail
    assert "first" not in spoken(DUTCH).detail


def test_without_a_reply_or_a_detector_there_is_an_error() -> None:
    assert spoken(None).detail == "missing final reply"
    assert (
        verdict("reply.language", replied(DUTCH), {"language": "nl"}).detail
        == "no language detector configured"
    )


def test_a_language_the_detector_does_not_know_is_an_error_and_no_fail() -> None:
    assert spoken(DUTCH, "fy").status is ERROR


@pytest.mark.parametrize("code", ["xx", "NL", "nld", "", "dutch", "n\ud800"])
def test_what_is_no_iso_code_is_refused(code: str) -> None:
    found = spoken(DUTCH, code)
    assert found.status is ERROR
    assert "language" in found.detail


def test_a_team_s_own_detector_needs_one_method() -> None:
    class Frisian:
        def detect(self, sentence: str) -> str | None:
            return "fy"

    ctx = CriterionContext(detector=Frisian())
    assert verdict("reply.language", replied("Dit is in sin."), {"language": "fy"}, ctx=ctx).status is PASS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Zie art. 6 jo. 7 AVG. Dat is zo.", ["Zie art. 6 jo. 7 AVG.", "Dat is zo."]),
        (
            "Drs. Jansen en mr. de Vries kwamen. Wij niet.",
            ["Drs. Jansen en mr. de Vries kwamen.", "Wij niet."],
        ),
        ("De brief d.d. 4 jan. 2020 e.v. telt. Ja?", ["De brief d.d. 4 jan. 2020 e.v. telt.", "Ja?"]),
        ("Hij heet Jan. Zij ook.", ["Hij heet Jan.", "Zij ook."]),
        ("Dat staat in het tweede lid. Daarna niet.", ["Dat staat in het tweede lid.", "Daarna niet."]),
        ("Neem bijv. nr. 5, o.a. op blz. 3. Klaar.", ["Neem bijv. nr. 5, o.a. op blz. 3.", "Klaar."]),
        ("Een\n\nTwee", ["Een", "Twee"]),
        ("\ud800 broken. Heel.", ["\ufffd broken.", "Heel."]),
        ("", []),
    ],
)
def test_abbreviations_of_legal_dutch_end_no_sentence(text: str, expected: list[str]) -> None:
    assert [sentence.strip() for sentence in sentences(text)] == expected
