"""The retrieval service and the suite it is asked by are what the real story relies on."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from experiments.demo.servers import ServerThread
from experiments.evaluation import builtin_metrics
from experiments.evaluation.criteria import builtin_registry
from experiments.transfer.suite_file import read_suite
from tests.real import oracle
from tests.real.service import IN_A_HUNDRED, NOWHERE, Library, Slip, attempt_number, reference, serve

DEADLINE = "Within how many hours must a personal data breach be notified to the supervisory authority?"


@pytest.fixture
def server(library: Library) -> Iterator[ServerThread]:
    server = serve(library)
    yield server
    server.close()


def post(server: ServerThread, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    request = urllib.request.Request(server.url + path, json.dumps(body).encode(), method="POST")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)


def test_an_answer_quotes_the_provisions_it_cites_and_counts_tokens(library: Library) -> None:
    answer = next(
        answer
        for number in range(1, 50)
        if (answer := library.answer(DEADLINE, number))["citations"][0]["id"] == "gdpr/art:33/par:1"
    )
    assert "Article 33(1): “In the case of a personal data breach" in answer["reply"]
    for cited in answer["citations"]:
        unit = library.regulation.unit(cited["id"])
        assert unit is not None
        assert unit.text.startswith(cited["quote"])
    assert 180 < answer["usage"]["prompt_tokens"] < 3000
    assert 0 < answer["usage"]["completion_tokens"] <= len(answer["reply"])


def test_the_same_attempt_of_a_question_is_answered_alike_in_every_run(library: Library) -> None:
    others = Library(pace=0, seed=8)
    runs: list[list[dict[str, Any]]] = []
    for run, asked in (("one", library), ("two", library), ("one", others)):
        session = asked.prepare({"kind": "none"})["session_id"]
        keys = (f"{run}-{900 + number}-{number}.1.1" for number in range(1, 31))
        runs.append([asked.submit(session, DEADLINE, key) for key in keys])
    first, second, other = runs
    assert first == second
    assert first != other, "another seed lets other attempts slip"


def test_every_slip_happens_about_as_often_as_written_down(library: Library) -> None:
    found = [unit.id for unit, _ in library.search(DEADLINE)]
    answers = [library.answer(DEADLINE, number) for number in range(1, 501)]
    cited = [[each["id"] for each in answer["citations"]] for answer in answers]
    whole = max(len(answer["reply"]) for answer in answers)
    counted = {
        Slip.DROPS_THE_BEST: sum(ids == found[1:2] for ids in cited),
        Slip.SWAPS_THE_BEST: sum(ids == [found[2], found[1]] for ids in cited),
        Slip.CITES_WHAT_IS_NOT_THERE: sum(ids == [*found[:2], NOWHERE] for ids in cited),
        Slip.QUOTES_EVERYTHING: sum(len(answer["reply"]) == whole for answer in answers),
    }
    for slip, share in IN_A_HUNDRED.items():
        assert counted[slip] == pytest.approx(5 * share, rel=0.4), slip
    assert NOWHERE not in library.regulation


def test_the_attempt_number_is_read_from_the_key_whatever_its_try_and_turn() -> None:
    assert [attempt_number(f"f00-17-4.{tries}.{turn}") for tries in (1, 2) for turn in (1, 2)] == [4] * 4
    assert attempt_number("a key of another kind") != attempt_number("and one more")


def test_a_unit_is_named_as_lawyers_do() -> None:
    assert reference("gdpr/art:17/par:1/pt:a") == "Article 17(1)(a)"
    assert reference("gdpr/art:4/pt:12") == "Article 4(12)"
    assert reference("gdpr/art:16") == "Article 16"


def test_the_contract_is_spoken_over_http(server: ServerThread, library: Library) -> None:
    with urllib.request.urlopen(server.url + "/capabilities", timeout=10) as answer:
        assert json.load(answer)["fixtures"] == {}
    assert post(server, "/prepare", {"setup": {"kind": "fixture", "name": "x"}})[1]["failed"]
    assert post(server, "/prepare", {"setup": {"kind": "other"}})[0] == 422
    session = post(server, "/prepare", {"setup": {"kind": "none"}})[1]["session_id"]
    asked = {"session_id": session, "text": DEADLINE, "idempotency_key": "f00-17-1.1.1"}
    assert post(server, "/submit", asked) == (200, library.answer(DEADLINE, 1))
    assert (dict(library.asked), dict(library.tally)) == ({"f00-17-1.1.1": 1}, {(DEADLINE, 1): 1})
    assert post(server, "/submit", {**asked, "session_id": "gone"})[0] == 404
    assert post(server, "/submit", {"session_id": session})[0] == 422
    assert post(server, "/release", {"session_id": session}) == (200, {"released": True})
    assert post(server, "/submit", asked)[0] == 404


def test_a_question_without_a_known_word_is_told_so(library: Library) -> None:
    answer = library.answer("\x00 \u202e <script> zzzz", 1)
    assert (answer["citations"], answer["reply"]) == ([], "I found nothing about this in the Regulation.")


def test_the_suite_holds_thirty_questions_and_can_be_taken_without_a_warning() -> None:
    suite = read_suite(oracle.SUITE, builtin_registry(), builtin_metrics())
    assert not suite.warnings
    assert len(suite.document.cases) == len(oracle.questions()) == 30


@pytest.mark.parametrize("case", sorted(oracle.questions()))
def test_every_source_of_a_case_is_in_the_corpus_and_none_is_both_wanted_and_forbidden(case: str) -> None:
    roles = oracle.questions()[case]
    wanted = {*(one for group in roles.required for one in group), *roles.acceptable}
    assert roles.required
    assert wanted | set(roles.forbidden) <= oracle.corpus_ids()
    assert not [one for one in wanted if any(_at_or_below(one, source) for source in roles.forbidden)]


def _at_or_below(one: str, source: str) -> bool:
    return f"{one}/".startswith(f"{source}/")


def test_the_oracle_compares_ids_segment_by_segment() -> None:
    roles = oracle.Roles(required=(("gdpr/art:3", "gdpr/art:9"),), forbidden=("gdpr/art:4/par:1",))

    def standing(*ids: str) -> str:
        turn = {"prompt": "", "reply": "yes", "prompt_tokens": 1, "completion_tokens": 1}
        return oracle.standing(
            roles, [{"turns": [{**turn, "citations": [{"id": one} for one in ids]}]}]
        ).strip

    assert [standing("gdpr/art:3"), standing("gdpr/art:9/par:1"), standing("gdpr/art:33")] == ["P", "P", "F"]
    assert standing("gdpr/art:3/par:1", "gdpr/art:4") == "P", "the parent of a forbidden source is allowed"
    assert standing("gdpr/art:3/par:1", "gdpr/art:4/par:1") == "F"
    assert standing("gdpr/art:3/par:1", NOWHERE) == "F"
