"""Quotes of the corpus, and articles that are in it."""

import pytest

from experiments.evaluation.criteria.corpora import CorpusIndex, index_of
from experiments.evaluation.criteria.mentions import find_mentions
from experiments.evaluation.criteria.quoting import find_quotes
from experiments.evaluation.outcome import CriterionStatus, Verdict
from experiments.evaluation.ports import CorpusUnit, CriterionContext
from tests.evaluation.criteria.helpers import TextCorpus, replied, verdict

PASS, FAIL, ERROR = CriterionStatus.PASS, CriterionStatus.FAIL, CriterionStatus.ERROR
NOT_APPLICABLE = CriterionStatus.NOT_APPLICABLE

LAW = TextCorpus(
    {
        "avg": "",
        "avg/art:6": "De verwerking is rechtmatig.",
        "avg/art:6/lid:1": "De verwerking is alleen rechtmatig indien “aan een” voorwaarde is voldaan.",
        "avg/art:6/lid:1/pt:a": "de betrokkene heeft toestemming gegeven;",
        "avg/art:6/lid:1/pt:f": "de verwerking is noodzakelijk voor een gerechtvaardigd belang;",
        "avg/art:6/lid:2": "Het café\u0301 is open.",
        "avg/art:7": "", "avg/art:7/par:1": "", "avg/art:7/par:2": "", "avg/art:7/par:3": "",
        "avg/art:8": "", "avg/art:9": "", "avg/art:9/par:2": "", "avg/art:9/par:2/pt:h": "",
        "avg/art:3a": "", "avg/art:3b": "", "avg/art:3c": "",
    },
    "AVG", "GDPR", "Algemene verordening gegevensbescherming",
)  # fmt: skip


def grounded(kind: str, reply: str | None, corpus: TextCorpus | None = LAW) -> Verdict:
    return verdict(f"citations.{kind}", replied(reply), ctx=CriterionContext(corpus=corpus))


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ('"a" en "b"', ["a", "b"]),
        ("“a” „b” „c“ «d»", ["a", "b", "c", "d"]),
        ('“hij zei "x" toen”', ['hij zei "x" toen']),
        ("„a “b” c”", ["a “b” c"]),
        ("“a “b” c” d", ["a “b” c"]),
        ('zegt "artikel "17" geldt" hier', ['artikel "17" geldt']),
        ('"" "  " “\n”', []),
        ('een scherm van 5" en "goed" werk', ["goed"]),
        ("a” en «b", []),
        ('"Dat is zo." Zei hij. "Ja."', ["Dat is zo.", "Ja."]),
        ("'a' en ‘b’", []),
    ],
)  # fmt: skip
def test_outermost_double_quotes_are_the_spans(text: str, spans: list[str]) -> None:
    assert list(find_quotes(text).spans) == spans


@pytest.mark.parametrize(
    ("text", "positions"), [('"open', (0,)), ("“a en «b» c", (0,)), ('"a" 5" b', (5,)), ("«a «b» c", (0,))]
)
def test_a_mark_that_nothing_closes_is_named_and_hides_no_other_quote(
    text: str, positions: tuple[int, ...]
) -> None:
    assert find_quotes(text).unclosed == positions


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("Er staat: “De verwerking is rechtmatig.”", PASS),
        ("Er staat: “verwerking is\n rechtmatig”", PASS),
        ("Er staat: “de verwerking is rechtmatig.”", FAIL),
        ("Er staat: “De verwerking is rechtmatig,”", FAIL),
        ("Er staat: “De verwerking is niet rechtmatig.”", FAIL),
        ('Er staat: „rechtmatig indien "aan een" voorwaarde”', PASS),
        ("Er staat: «Het cafe\u0301\u0301 is open.»", PASS),
        ("Eén: “toestemming gegeven;” en twee: “noodzakelijk voor een”", PASS),
        ("Over de grens: “toestemming gegeven; de verwerking”", FAIL),
        ("Deel van een woord: “echtmatig indien”", PASS),
        ("Niets geciteerd.", NOT_APPLICABLE),
        ("“nooit gesloten", NOT_APPLICABLE),
        ("“ ”", NOT_APPLICABLE),
        (None, ERROR),
    ],
)
def test_a_quote_must_stand_in_one_unit_as_it_is(reply: str | None, status: CriterionStatus) -> None:
    assert grounded("quotes_verbatim", reply).status is status


def test_an_altered_quote_is_named_and_an_unclosed_mark_changes_nothing() -> None:
    found = grounded("quotes_verbatim", "“toestemming gegeven;” “geen woord waar” «en dan niets meer")
    assert found.data == {
        "quotes": 2, "altered": ["geen woord waar"], "unclosed": ["«en dan niets meer"],
    }  # fmt: skip
    assert found.detail == "not in the corpus as quoted: “geen woord waar”"
    assert grounded("quotes_verbatim", "“toestemming gegeven;” «en").status is PASS


@pytest.mark.parametrize("kind", ["quotes_verbatim", "mentions_in_corpus"])
def test_a_corpus_is_missed_only_where_there_is_something_to_look_up(kind: str) -> None:
    assert grounded(kind, "“a” in artikel 6", None).detail == "no corpus configured"
    assert grounded(kind, "niets", None).status is NOT_APPLICABLE
    assert grounded(kind, None, None).detail == "missing final reply"


def resolved(text: str, corpus: TextCorpus = LAW) -> CriterionStatus:
    return grounded("mentions_in_corpus", text, corpus).status


@pytest.mark.parametrize(
    "text",
    [
        "artikel 6", "art. 6 AVG", "Art. 6 avg", "ARTIKEL 6 IS VAN BELANG", "artikel 6 (AVG)", "art.6",
        "artikel 6, eerste lid, aanhef en onder f, van de AVG", "artikel 6 lid 1 sub f AVG",
        "artikel 6, lid 1, onderdeel f", "artikel 6, lid 1, punt f)", "Article 6(1)(f) GDPR",
        "Article 6 (1) (a) and (f)", "article 6, paragraph 1, point (f)", "artikel 6, 1e lid",
        "artikel 6, eerste en tweede lid", "artikel 6, leden 1 en 2", "artikel 6 lid 1 en 2 AVG",
        "artikel 6, lid 1, onder a), en lid 2", "artikel 6 lid 1, eerste alinea, onder a en f",
        "artikel 6 en 7", "artikelen 6, 7 en 8", "artikelen 6, 7, 8", "artikelen 6 t/m 9 AVG",
        "artikelen 6 tot en met 9", "articles 6 to 9", "artikel 6-9", "artikel 6–9",
        "artikelen 6 – 9", "Artikel 6 – 12 voorwaarden", "artikelen 3a t/m 3c",
        "Articles 6(1) and 7(2) GDPR", "art. 6 jo. 7 AVG", "art. 6 jo. art. 7 lid 2 AVG",
        "artikel 6 juncto artikel 7", "artikel 7, leden 1 t/m 3", "artikel 9 onder h", "artikel 7(1)-(3)",
        "artikel 6 van de Algemene verordening\ngegevensbescherming", "artikel 6 uit de AVG",
        "artikel 6 van deze verordening", "artikel 6, 3 maanden later", "artikel 6 en 30 dagen",
        "artikel 6 en 25 mei 2018", "Artikel 6 Recht op iets", "artikel 6. Lid 9 is er niet",
        "article 6 of Chapter II", "Article 6(1) or point (h) of Article 9(2)", "artikel 6 en artikel 7 AVG",
    ],
)  # fmt: skip
def test_a_mention_of_what_the_corpus_has_resolves(text: str) -> None:
    assert resolved(f"Zie {text}.") is PASS


@pytest.mark.parametrize(
    "text",
    [
        "artikel 99", "artikel 6 lid 3", "artikel 6 lid 1 onder g", "artikel 6, eerste en derde lid",
        "artikel 6 en 10", "artikelen 6 t/m 10", "artikel 7, leden 1 t/m 4", "artikelen 3a t/m 3d",
        "artikel 6 EVRM", "artikel 6, eerste lid, EVRM", "artikel 3:4 Awb", "artikel 6 van het Verdrag",
        "artikel 6 van Richtlijn 95/46/EG", "Article 6 of the Treaty", "article 6 of Directive 95/46/EC",
        "artikel 6 uit het Wetboek", "art. 6 AVG jo. art. 8 EVRM", "artikel 6 EVRM jo. artikel 7",
        "artikel 6 en artikel 7 EVRM", "artikel 8 lid 1", "artikel 6 Sv", "artikel 60", "Article 6(1)(g)",
        "artikel 9 onder z", "artikel 6 lid 1 en 3 AVG", "artikel 6.1",
    ],
)  # fmt: skip
def test_a_mention_of_what_the_corpus_lacks_does_not(text: str) -> None:
    assert resolved(f"Zie {text}.") is FAIL


@pytest.mark.parametrize(
    "text",
    [
        "state of the art 5G",
        "kunst 6",
        "art 3 years ago",
        "lid 1",
        "artikel zes",
        "het artikel",
        "art. 12345",
    ],
)
def test_what_mentions_no_article_is_not_applicable(text: str) -> None:
    assert resolved(text) is NOT_APPLICABLE


def test_with_two_laws_one_must_be_named_and_jo_carries_it_over() -> None:
    both = TextCorpus({"avg": "", "avg/art:6": "", "bw": "", "bw/art:6:162": "", "bw/art:6:163": ""})
    units = [
        unit.model_copy(update={"aliases": (unit.id.upper(),)}) if "/" not in unit.id else unit
        for unit in both.units()
    ]
    index = CorpusIndex(units)

    def laws(text: str) -> list[str | None]:
        return [mention.law for mention in find_mentions(text, index)]

    assert index.default_root is None
    assert laws("artikel 6") == [""]
    assert laws("art. 6:162 jo. 6:163 BW") == ["bw", "bw"]
    assert laws("art. 6:162 BW jo. 6:163") == ["bw", "bw"]
    assert laws("artikel 6 AVG en artikel 6:162 BW") == ["avg", "bw"]
    assert laws("artikel 6:162 en artikel 6:163 BW") == ["bw", "bw"]
    assert index.has("bw", "6:162")
    assert not index.has("avg", "6:162")


def test_articles_below_chapters_are_found_by_their_label_and_whole_articles_are_enough() -> None:
    book = TextCorpus(
        {"h": "", "h/ch:1": "", "h/ch:1/art:3": "", "h/ch:2": "", "h/ch:2/art:4": ""}, "Handbook"
    )
    assert resolved("artikel 3 en 4", book) is PASS
    assert resolved("artikel 3 lid 9", book) is PASS
    assert resolved("artikel 2", book) is FAIL
    plain = TextCorpus({"h": "", "h/3": "", "h/3/1": ""}, "Handbook")
    assert resolved("article 3(1) Handbook", plain) is PASS


def test_the_detail_names_what_does_not_resolve_once() -> None:
    found = grounded(
        "mentions_in_corpus", "artikel 6, artikel 99 AVG, nog eens artikel 99 AVG, en artikel 8 EVRM"
    )
    assert found.data == {"mentions": 3, "unresolved": ["artikel 99 AVG", "artikel 8 EVRM"]}
    assert found.detail == "not in the corpus: “artikel 99 AVG”, “artikel 8 EVRM”"


def test_a_corpus_is_read_once_for_as_long_as_it_lives() -> None:
    assert index_of(LAW) is index_of(LAW)


def test_a_corpus_that_cannot_be_a_key_is_read_each_time() -> None:
    class Unhashable(TextCorpus):
        __hash__ = None  # type: ignore[assignment]

    corpus = Unhashable({"avg": "", "avg/art:6": "tekst"})
    assert resolved("artikel 6", corpus) is PASS


def test_a_unit_s_title_can_be_quoted() -> None:
    index = CorpusIndex([CorpusUnit(id="a", title="Recht op gegevenswissing", text="tekst")])
    assert index.holds("op gegevenswissing")
    assert not index.holds("gegevenswissing tekst")


def test_more_mentions_than_are_read_are_an_error_unless_one_fails_already() -> None:
    assert resolved("artikel 6 AVG. " * 12_000) is ERROR
    assert resolved("artikelen 6" + ", 6" * 12_000) is ERROR
    assert resolved("artikel 99 AVG. " + "artikel 6 AVG. " * 12_000) is FAIL
