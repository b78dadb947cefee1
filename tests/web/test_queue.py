"""The pages of the citation queue: the list, one source, and what a reviewer does with it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from experiments.models import (
    Activity,
    AttemptEvidence,
    Experiment,
    ReviewDraft,
    ReviewItem,
    Role,
    RoleDecision,
    Run,
    User,
)
from tests.web.queue_world import UNIT, a_corpus, answer, browser_of, cite, disagree, hold
from tests.web.test_run import seen
from tests.web.world import a_run, a_user

QUEUE = "/queue/"


@pytest.fixture
def run(experiment: Experiment) -> Run:
    return a_run(experiment, {"asks": "PFP", "other": "PP"}, replies={"asks": f"see [{UNIT}] for it"})


@pytest.fixture
def ana(db: None) -> User:
    return a_user(Role.REVIEWER, "ana")


@pytest.fixture
def bram(db: None) -> User:
    return a_user(Role.REVIEWER, "bram")


def screen(item: ReviewItem, verb: str = "") -> str:
    return reverse(f"web:queue_{verb or 'item'}", args=[item.pk])


def text_of(client: Client, address: str) -> str:
    return seen(client.get(address).content.decode())


def sent(item: ReviewItem, **fields: str) -> dict[str, str]:
    """What the form of the screen sends."""
    item.refresh_from_db()
    return {"lease": str(item.lease or ""), "version": str(item.version), "role": "acceptable", **fields}


# -- the list ------------------------------------------------------------------------------------------------


def test_sources_are_listed_with_their_citations_over_all_cases(run: Run, ana: User) -> None:
    cite(run, "asks")
    cite(run, "other")
    cite(run, "other", "law/art:9")
    a_corpus(run)
    text = text_of(browser_of(ana), QUEUE)
    assert "2 sources, 7 citations waiting" in text
    assert "0 hidden by this filter" in text
    assert "you decided 0 today" in text
    assert text.index(UNIT) < text.index("law/art:9")
    assert "The Law › Returns › par:1" in text
    assert "not in the corpus" in text
    assert "2 cases" in text
    assert re.search(r"asks, other", text)


def test_what_others_hold_is_said_with_the_time(run: Run, ana: User, bram: User) -> None:
    hold(cite(run, "asks"), bram)
    hold(cite(run, "other"), bram, minutes=9)
    text = text_of(browser_of(ana), QUEUE)
    clock = f"{timezone.now() + timedelta(minutes=8):%H:%M} UTC"
    assert "2 held by others, the first until" in text
    assert clock in text or f"{timezone.now() + timedelta(minutes=8, seconds=-5):%H:%M} UTC" in text


def test_a_filter_says_how_much_it_hides(run: Run, ana: User) -> None:
    cite(run, "asks")
    flagged = cite(run, "other", "law/art:9")
    ReviewItem.objects.filter(pk=flagged.pk).update(flagged=True)
    client = browser_of(ana)
    text = text_of(client, QUEUE + "?state=flagged")
    assert "1 hidden by this filter" in text
    assert UNIT not in text
    text = text_of(client, QUEUE + "?q=ASKS")
    assert UNIT in text
    assert "law/art:9" not in text
    assert "Nothing here" in text_of(client, QUEUE + "?q=nothing+like+it")
    assert "2 sources" in text_of(client, QUEUE + "?state=nonsense&before=x")


def test_an_empty_queue_says_why(run: Run, ana: User, bram: User) -> None:
    client = browser_of(ana)
    assert "Nothing has been collected yet" in text_of(client, QUEUE)
    first = cite(run, "asks")
    answer(ana, first)
    assert "0 left: every citation has its role." in text_of(client, QUEUE)
    second = cite(run, "other")
    ReviewItem.objects.filter(pk=second.pk).update(wanted=2)
    answer(ana, second)
    text = text_of(client, QUEUE)
    assert "0 left to take: 1 answered by you and waiting for somebody else." in text


def test_cannot_tell_stays_visible_in_a_bucket_of_its_own(run: Run, ana: User) -> None:
    answer(ana, cite(run, "asks"), "cannot_tell", "two readings")
    text = text_of(browser_of(ana), QUEUE + "?state=cannot_tell")
    assert "Cannot tell 1" in text
    assert UNIT in text


def test_the_list_is_paged_and_loses_no_source(run: Run, ana: User) -> None:
    made = [cite(run, "asks", f"law/{n}", times=1 + n % 2) for n in range(53)]
    client = browser_of(ana)
    html = client.get(QUEUE).content.decode()
    first = re.findall(r'id="source-(\d+)"', html)
    link = re.search(r'rel="next"\s+href="([^"]+)"', html)
    assert link
    second = re.findall(
        r'id="source-(\d+)"', client.get(QUEUE + link[1].replace("&amp;", "&")).content.decode()
    )
    assert len(first) == 50
    assert sorted(map(int, first + second)) == [item.pk for item in made]


@pytest.mark.parametrize("size", [2, 30])
def test_the_pages_ask_the_database_equally_often_at_any_size(
    size: int, run: Run, ana: User, bram: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    a_corpus(run)
    for n in range(size):
        cite(run, "asks", f"law/art:{n}")
        cite(run, "other", f"law/art:{n}")
    for item in ReviewItem.objects.filter(case__key="other")[: size - 1]:
        answer(ana, item)
    item = ReviewItem.objects.filter(state="waiting")[0]
    hold(item, ana)
    client = browser_of(ana)
    # Session, user; tabs, figures (3), sources, their cases, titles; what to apply (3), applied lately,
    # one's decisions; the number in the top bar.
    with django_assert_num_queries(15):
        assert client.get(QUEUE).status_code == 200
    # Session, user; item, citations, evidence, two neighbours, corpus, units, units nearby, verdicts, other
    # cases (2), decisions, draft, figures (3), one's decisions, activity; the number in the top bar.
    with django_assert_num_queries(21):
        assert client.get(screen(item)).status_code == 200


# -- reading one ---------------------------------------------------------------------------------------------


def test_the_screen_shows_question_reply_and_the_citation_marked(run: Run, ana: User) -> None:
    item = cite(run, "asks")
    hold(item, ana)
    html = browser_of(ana).get(screen(item)).content.decode()
    assert "question of asks" in seen(html)
    assert f'<mark class="cited">[{UNIT}]</mark>' in html
    assert f"{run.experiment.name}, run {run.pk}, attempts 1, 2, 3" in seen(html)
    assert "Is this a source for this answer?" in seen(html)
    assert 'name="lease"' in html


def test_replies_that_differ_are_a_step_apart(run: Run, ana: User) -> None:
    item = cite(run, "asks")
    last = run.attempts.filter(case__key="asks", number=3).get()
    other = a_run(run.experiment, {"asks": "P"}, replies={"asks": "said otherwise"})
    item.occurrences.create(attempt=other.attempts.get(), run=other)
    client = browser_of(ana)
    assert "said otherwise" in text_of(client, screen(item))
    html = client.get(screen(item), {"at": "2"}).content.decode()
    assert "said otherwise" not in html
    assert 'rel="prev"' in html
    part = browser_of(ana, htmx=True).get(screen(item), {"at": "2", "part": "passage"}).content.decode()
    assert part.lstrip().startswith("<section")
    assert text_of(client, screen(item) + "?at=999").count("see [") == 1
    assert last.number == 3


def test_removed_evidence_is_said_to_be_removed(run: Run, ana: User) -> None:
    item = cite(run, "asks", times=1)
    ReviewItem.objects.filter(pk=item.pk).update(weight=1)
    occurrence = item.occurrences.get()
    with_nothing = a_run(run.experiment, {"asks": "S"}).attempts.get()
    AttemptEvidence.objects.create(attempt=with_nothing, document=None, purged_at=timezone.now())
    type(occurrence).objects.filter(pk=occurrence.pk).update(attempt=with_nothing)
    assert "The texts of this attempt were removed" in text_of(browser_of(ana), screen(item))


def test_who_only_reads_sees_everything_and_no_form(
    run: Run, signed_in: Callable[..., Client], ana: User
) -> None:
    item = cite(run, "asks")
    hold(item, ana)
    client = signed_in(Role.VIEWER)
    html = client.get(screen(item)).content.decode()
    assert "Held by ana until" in seen(html)
    assert "decides nothing" in seen(html)
    for address in (screen(item), QUEUE):
        forms = re.findall(r'<form method="post"\s+action="([^"]+)"', client.get(address).content.decode())
        assert {form for form in forms if "queue" in form} == set()


def test_the_top_bar_counts_the_sources_that_wait_for_a_reviewer(
    run: Run, signed_in: Callable[..., Client], ana: User
) -> None:
    cite(run, "asks")
    cite(run, "other")
    cite(run, "other", "law/art:9")
    assert '<span class="count">2</span>' in browser_of(ana).get("/").content.decode()
    assert '<span class="count">' not in signed_in(Role.VIEWER).get("/").content.decode()


def test_a_get_never_leases(run: Run, ana: User) -> None:
    item = cite(run, "asks")
    client = browser_of(ana)
    for address in (
        QUEUE,
        screen(item),
        screen(item) + "?role=acceptable",
        screen(item) + "?part=passage",
    ):
        assert client.get(address).status_code == 200
    assert browser_of(ana, htmx=True).get(screen(item), {"part": "preview"}).status_code == 200
    item.refresh_from_db()
    assert (item.holder, item.lease) == (None, None)


@pytest.mark.parametrize("address", ["/queue/987654/", "/queue/applied/987654/"])
def test_what_is_not_there_is_not_found(address: str, ana: User) -> None:
    assert browser_of(ana).get(address).status_code == 404


# -- taking --------------------------------------------------------------------------------------------------


def test_take_next_leads_to_the_form_and_a_colleague_gets_another(run: Run, ana: User, bram: User) -> None:
    cite(run, "asks")
    cite(run, "other")
    addresses = {
        browser_of(user).post(reverse("web:queue_take_next")).headers["Location"] for user in (ana, bram)
    }
    assert addresses == {screen(item) for item in ReviewItem.objects.all()}
    third = browser_of(a_user(Role.REVIEWER)).post(reverse("web:queue_take_next"), follow=True)
    assert "0 left to take: 2 held by others, the first until" in seen(third.content.decode())


def test_one_that_somebody_holds_is_not_taken_away(run: Run, ana: User, bram: User) -> None:
    item = cite(run, "asks")
    hold(item, bram)
    response = browser_of(ana).post(screen(item, "take"), follow=True)
    assert "could not be taken" in seen(response.content.decode())
    item.refresh_from_db()
    assert item.holder == bram


def test_the_heartbeat_tells_whether_the_item_is_still_held(run: Run, ana: User, bram: User) -> None:
    item = cite(run, "asks")
    hold(item, ana, minutes=1)
    client = browser_of(ana, htmx=True)
    assert client.post(screen(item, "renew"), sent(item)).json() == {"held": True, "seconds": 600}
    fields = sent(item)
    hold(item, bram)
    assert client.post(screen(item, "renew"), fields).json() == {"held": False, "seconds": 0}
    assert client.post(screen(item, "renew"), {"lease": "nonsense"}).json()["held"] is False


def test_skipping_gives_back_and_goes_round_once(run: Run, ana: User) -> None:
    first, second = cite(run, "asks"), cite(run, "other")
    client = browser_of(ana)
    client.post(screen(first, "take"))
    assert client.post(screen(first, "skip")).headers["Location"] == screen(second)
    response = client.post(screen(second, "skip"), follow=True)
    assert "0 left to take: 2 citations that you skipped." in seen(response.content.decode())
    assert not ReviewItem.objects.exclude(holder=None).exists()
    assert client.post(reverse("web:queue_take_next")).headers["Location"] == screen(first)


def test_a_draft_is_kept_as_it_is_typed_and_stands_in_the_form(run: Run, ana: User) -> None:
    item = cite(run, "asks")
    hold(item, ana)
    fields = sent(item, role="forbidden", reason="old <b>law", everywhere="yes")
    reply = browser_of(ana, htmx=True).post(screen(item, "draft"), fields)
    assert re.fullmatch(r"\d\d:\d\d UTC", reply.json()["saved"])
    html = browser_of(ana).get(screen(item)).content.decode()
    assert "old &lt;b&gt;law</textarea>" in html
    assert re.search(r'value="forbidden"[^>]*checked', html)
    assert "draft saved" in seen(html)
    assert ReviewDraft.objects.get().document["everywhere"] == "yes"


def test_a_draft_outlives_the_lease_and_is_shown_again(run: Run, ana: User) -> None:
    item = cite(run, "asks")
    browser_of(ana).post(screen(item, "draft"), {"role": "forbidden", "reason": "old law"})
    text = text_of(browser_of(ana), screen(item))
    assert "Your draft" in text
    assert "old law" in text


def test_a_session_that_ended_tells_the_draft_so(run: Run) -> None:
    item = cite(run, "asks")
    reply = Client(headers={"hx-request": "true"}).post(screen(item, "draft"), {"role": "forbidden"})
    assert "/sign-in/" in reply.headers["HX-Redirect"]
    assert not ReviewDraft.objects.exists()


def test_a_flag_is_set_and_taken_away(run: Run, ana: User) -> None:
    item = cite(run, "asks")
    client = browser_of(ana)
    html = client.post(screen(item, "flag"), {"flagged": "1"}, follow=True).content.decode()
    assert "Take the flag away" in seen(html)
    client.post(screen(item, "flag"), {"flagged": "0"})
    item.refresh_from_db()
    assert not item.flagged
    assert "flagged" in text_of(client, screen(item))  # by whom and when, in its activity


# -- deciding ------------------------------------------------------------------------------------------------


def test_a_decision_is_recorded_and_leads_to_the_next_one(run: Run, ana: User) -> None:
    first, second = cite(run, "asks"), cite(run, "other", "law/art:9")
    hold(first, ana)
    response = browser_of(ana).post(screen(first, "decide"), sent(first, reason="same rule"))
    assert response.headers["Location"] == screen(second)
    decision = RoleDecision.objects.get()
    assert (decision.item, decision.role, decision.reason) == (first, "acceptable", "same rule")
    assert "acceptable" in text_of(browser_of(ana), screen(second))  # among one's last decisions


def test_a_refused_decision_says_every_reason_and_keeps_what_was_typed(run: Run, ana: User) -> None:
    item = cite(run, "asks")
    hold(item, ana)
    client = browser_of(ana)
    response = client.post(screen(item, "decide"), sent(item, role="forbidden", reason=" "))
    html = response.content.decode()
    assert response.status_code == 422
    assert "forbidden needs a reason" in seen(html)
    assert re.search(r'value="forbidden"[^>]*checked', html)
    for fields in ({"role": ""}, {"role": "required", "group": "7"}, {"reason": "x\0y"}):
        response = client.post(screen(item, "decide"), sent(item, **fields))
        assert response.status_code == 422
        assert "Not saved:" in seen(response.content.decode())
    assert not RoleDecision.objects.exists()


def test_a_decision_sent_twice_is_one(run: Run, ana: User) -> None:
    item = cite(run, "asks")
    hold(item, ana)
    fields = sent(item)
    client = browser_of(ana)
    for _ in range(2):
        assert client.post(screen(item, "decide"), fields).status_code == 302
    decision = RoleDecision.objects.get()
    client.post(reverse("web:queue_undo", args=[decision.pk]))
    item.refresh_from_db()
    assert item.state == "waiting"


def test_one_decision_for_every_case_says_how_many(run: Run, ana: User) -> None:
    item, other = cite(run, "asks"), cite(run, "other")
    hold(item, ana)
    page = browser_of(ana).get(screen(item)).content.decode()
    assert "all 2 open cases that cite it" in seen(page)
    response = browser_of(ana).post(screen(item, "decide"), sent(item, everywhere="yes"), follow=True)
    assert "acceptable in 2 cases" in seen(response.content.decode())
    other.refresh_from_db()
    assert other.state == "settled"
    assert "and 1 other case" in text_of(browser_of(ana), QUEUE)


def test_two_different_answers_at_once_are_both_kept_and_it_is_said(run: Run, ana: User, bram: User) -> None:
    item = cite(run, "asks")
    hold(item, ana)
    fields = sent(item, role="forbidden", reason="old")
    hold(item, ana, minutes=-1)
    answer(bram, item, "acceptable")
    response = browser_of(ana).post(screen(item, "decide"), fields, follow=True)
    assert "Both stand; a third person decides." in seen(response.content.decode())
    text = text_of(browser_of(a_user(Role.REVIEWER)), screen(item))
    assert "Two reviewers disagree" in text
    assert "Yours settles it." in text


def test_where_two_disagree_a_third_sees_both_answers_without_names(run: Run, ana: User, bram: User) -> None:
    item = cite(run, "asks")
    disagree(item, ana, bram)
    html = browser_of(a_user(Role.REVIEWER)).get(screen(item)).content.decode()
    answers = html[html.index('class="answers') : html.index('class="take"')]
    assert "repealed in 2019" in answers
    assert "still cited" in answers
    assert "ana" not in answers
    assert "bram" not in answers
    assert "One of them is yours" in text_of(browser_of(ana), screen(item))


def test_an_undo_works_after_moving_on_and_only_for_ones_own(run: Run, ana: User, bram: User) -> None:
    item, other = cite(run, "asks"), cite(run, "other", "law/art:9")
    decision = answer(ana, item)
    undo = reverse("web:queue_undo", args=[decision.pk])
    assert browser_of(bram).post(undo).status_code == 403
    response = browser_of(ana).post(undo, {"next": screen(other)}, follow=True)
    assert response.redirect_chain[-1][0] == screen(other)
    assert f"Undone: acceptable for {UNIT} in asks." in seen(response.content.decode())
    item.refresh_from_db()
    assert item.state == "waiting"
    again = browser_of(ana).post(undo, {"next": "https://evil.example/"}, follow=True)
    assert again.redirect_chain[-1][0] == QUEUE
    assert "undone already" in seen(again.content.decode())


def test_a_settled_source_shows_the_answer_and_its_activity(run: Run, ana: User, bram: User) -> None:
    item = cite(run, "asks")
    answer(ana, item, "forbidden", "repealed in 2019")
    text = text_of(browser_of(bram), screen(item))
    assert "waits to be applied" in text
    assert re.search(r"ana decided.*role forbidden.*reason repealed in 2019", text)
    assert Activity.objects.filter(object_type="reviewitem", object_id=item.pk).count() == 1


# -- hostile text --------------------------------------------------------------------------------------------


def test_hostile_text_is_inert_on_every_page_of_the_queue(experiment: Experiment, ana: User) -> None:
    script = "<script>alert(1)</script>\u202e"
    run = a_run(
        experiment,
        {"asks": "PF"},
        replies={"asks": f"{script} [{script}] \0 \ud800"},
        cases={"asks": {"turn": script, "sources": {"required": [[script]], "acceptable": [script + "2"]}}},
    )
    item = cite(run, "asks", script)
    a_corpus(run, units={script: (script, script), "law": (script, script)})
    client = browser_of(ana)
    client.post(screen(item, "draft"), {"role": script, "reason": script, "group": script})
    pages = [client.get(QUEUE), client.get(QUEUE, {"q": script}), client.get(screen(item))]
    client.post(screen(item, "take"))
    pages.append(client.get(screen(item)))
    client.post(screen(item, "decide"), sent(item, role="forbidden", reason=script))
    pages += [client.get(QUEUE, {"state": "all"}), client.get(screen(item))]
    for response in pages:
        html = response.content.decode()
        assert response.status_code == 200
        assert "<script>alert" not in html
        assert "&lt;script&gt;alert(1)" in html
        assert "\0" not in html
    # In a text field alone the reader's own text stays as it was typed.
    assert "\u202e" not in re.sub(r"<textarea.*?</textarea>", "", pages[3].content.decode(), flags=re.DOTALL)


def test_no_page_of_the_queue_holds_inline_script_or_style(run: Run, ana: User) -> None:
    item = cite(run, "asks")
    hold(item, ana)
    for address in (QUEUE, screen(item)):
        response = browser_of(ana).get(address)
        html = response.content.decode()
        assert "script-src 'self'" in response.headers["Content-Security-Policy"]
        assert not re.search(r"\sstyle=|\son\w+=|hx-on|<style|<script(?![^>]*\bsrc=)", html)
