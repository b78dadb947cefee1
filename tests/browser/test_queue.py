"""A citation decided by keyboard: taken, previewed, saved, applied, seen in the new grading, and undone."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import check
from tests.sites import Site

pytestmark = pytest.mark.browser

MAKE_WORLD = """
from django.db import transaction
from experiments import models as m
from experiments.services.adjudication import Answer, decide, take
from experiments.services.collecting import collect_citations
from tests.factories import make_case, make_suite, make_user
from tests.stored import answering_target, finished_run, ready_experiment, says
UNIT = "handbook/ch:3/art:2/par:1"
kinds = [{"kind": "citations.required", "gate": True}, {"kind": "citations.unseen"}]
suite = make_suite(criteria=kinds)
make_case(suite, "asks", turn="Until when?", sources={"required": [["handbook/ch:3/art:9"]]})
make_case(suite, "other", turn="And the others?")
def answers(key, number):
    if key == "asks":
        cited = "handbook/ch:3/art:9" if number == 1 else UNIT
        return says(f"Thirty days [{UNIT}].", cited, prompt="Until when?")
    return says("Fourteen days.", "handbook/ch:9/art:1", "handbook/ch:3/art:4", prompt="And the others?")
# In one transaction: the sweep of the site sees the run once it is finished.
with transaction.atomic(), answering_target() as target:
    corpus = m.Corpus.objects.get(name="desk-handbook")
    experiment = ready_experiment(target, suite, corpus=corpus, name="queue-story", repeats=3)
    run = finished_run(experiment, answers)
    collect_citations(m.Grading.objects.get(run=run).pk)
    m.ReviewItem.objects.filter(case__key="asks").update(weight=900)
first, second = make_user("reviewer", username="one"), make_user("reviewer", username="two")
mine = m.ReviewItem.objects.filter(case__suite=suite)
item = mine.get(unit_id="handbook/ch:9/art:1")
m.ReviewItem.objects.filter(pk=item.pk).update(wanted=2)
for user, role in ((first, "acceptable"), (second, "not_a_source")):
    taken = take(user, item)
    decide(user, taken, Answer(role=role, reason="so it is"), lease=taken.lease, version=taken.version)
asks = mine.get(case__key="asks")
print(run.pk, asks.pk, item.pk, mine.get(unit_id="handbook/ch:3/art:4").pk)
"""


@pytest.fixture(scope="module")
def world(site: Site) -> dict[str, str]:
    run, asks, disagreed, other = site.python(MAKE_WORLD).split()[-4:]
    return {"run": run, "asks": asks, "disagreed": disagreed, "other": other}


def verdict_of(page: Page, run: str) -> str:
    """The case's verdict as the page of the run shows it now."""
    page.goto(f"/runs/{run}/")
    return page.locator("[data-row]", has_text="asks").locator(".verdict").inner_text()


def test_a_citation_is_decided_by_keyboard_applied_and_taken_back(
    owner_page: Page, world: dict[str, str]
) -> None:
    page = owner_page
    assert verdict_of(page, world["run"]) == "Varied"
    page.goto("/runs/")
    page.keyboard.press("g")
    page.keyboard.press("q")
    expect(page).to_have_url(re.compile(r"/queue/$"))
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"/queue/{world['asks']}/$"))
    expect(page.locator("mark.cited")).to_have_text("[handbook/ch:3/art:2/par:1]")
    expect(page.locator("[data-held]")).to_have_text(re.compile(r"^held (10:00|9:\d\d)$"))
    page.keyboard.press("1")
    expect(page.get_by_role("radio", name="Required")).to_be_checked()
    expect(page.locator("#preview")).to_contain_text("Settles 900 citations, changes 1 verdict")
    expect(page.locator("[data-draft]")).to_have_text(re.compile(r"draft saved \d\d:\d\d UTC"))
    page.get_by_label("as", exact=True).select_option(label="an alternative to handbook/ch:3/art:9")
    expect(page.locator("#preview .verdict")).to_have_text(["Varied", "Passed"])
    page.locator("#reason").fill("one rule in two places")
    page.keyboard.press("Control+Enter")
    expect(page).not_to_have_url(re.compile(rf"/queue/{world['asks']}/"))
    page.goto("/queue/")
    page.get_by_role("button", name="Apply 1 decision").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("1 decision applied", timeout=30_000)
    expect(page.locator("[data-row] .verdict")).to_have_text(["Varied", "Passed"])
    page.locator("[data-row-link]").click()
    expect(page.locator(".facts .verdict")).to_have_text("Passed")
    assert verdict_of(page, world["run"]) == "Passed"

    page.goto("/queue/")
    page.keyboard.press("u")
    expect(page.get_by_role("status").first).to_contain_text("Undone: required for handbook/ch:3/art:2/par:1")
    page.get_by_role("button", name="Apply 1 decision").click()
    expect(page.locator("[data-row] .verdict")).to_have_text(["Passed", "Varied"], timeout=30_000)
    assert verdict_of(page, world["run"]) == "Varied"


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (360, "light")])
def test_every_page_of_the_queue_is_accessible_and_fits(
    screen: Callable[..., Page], world: dict[str, str], width: int, scheme: str
) -> None:
    page = screen(width, scheme)
    page.goto("/queue/")
    check(page)
    page.goto(f"/queue/{world['disagreed']}/")
    check(page)
    page.goto(f"/queue/{world['other']}/")
    if page.get_by_role("button", name="Take it").count():
        check(page)
        page.get_by_role("button", name="Take it").click()
    page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")
    page.get_by_text("Required", exact=True).click()
    expect(page.locator("#preview")).to_contain_text("Settles 3 citations")
    check(page)


def test_keys_choose_skip_and_flag_and_letters_in_the_reason_are_only_letters(
    owner_page: Page, world: dict[str, str]
) -> None:
    page = owner_page
    page.goto(f"/queue/{world['other']}/")
    if page.get_by_role("button", name="Take it").count():
        page.keyboard.press("Enter")
    expect(page.locator("#decision")).to_be_visible()
    page.keyboard.press("3")
    # Forbidden asks for a reason, so the key leads to it.
    expect(page.locator("#reason")).to_be_focused()
    page.keyboard.type("sfu12 jk")
    expect(page.locator("#reason")).to_have_value("sfu12 jk")
    expect(page.get_by_role("radio", name="Forbidden")).to_be_checked()
    page.keyboard.press("Escape")
    expect(page.locator("#reason")).not_to_be_focused()
    page.keyboard.press("4")
    expect(page.get_by_role("radio", name="Not a source")).to_be_checked()
    # At once: what was typed is kept before the page is drawn anew.
    page.keyboard.press("f")
    expect(page.get_by_role("button", name="Take the flag away")).to_be_visible()
    expect(page.locator("#reason")).to_have_value("sfu12 jk")
    page.keyboard.press("f")
    expect(page.get_by_role("button", name="Flag", exact=True)).to_be_visible()
    page.keyboard.press("s")
    expect(page).not_to_have_url(re.compile(rf"/queue/{world['other']}/$"))


def test_a_draft_that_cannot_be_saved_is_said_and_tried_again(
    owner_page: Page, world: dict[str, str]
) -> None:
    page = owner_page
    page.goto(f"/queue/{world['other']}/")
    if page.get_by_role("button", name="Take it").count():
        page.get_by_role("button", name="Take it").click()
    page.route("**/draft/", lambda route: route.abort())
    page.locator("#reason").fill("typed while the site was away")
    expect(page.locator("[data-draft]")).to_have_text("not saved, retrying")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#reason")).to_have_value("typed while the site was away")
    page.unroute("**/draft/")
    expect(page.locator("[data-draft]")).to_contain_text("draft saved", timeout=20_000)
    page.reload()
    expect(page.locator("#reason")).to_have_value("typed while the site was away")


def test_a_hold_is_renewed_in_time_and_its_loss_is_said(
    owner_page: Page, site: Site, world: dict[str, str]
) -> None:
    page = owner_page
    page.goto(f"/queue/{world['other']}/")
    if page.get_by_role("button", name="Take it").count():
        page.get_by_role("button", name="Take it").click()
    expect(page.locator("[data-held]")).to_have_text(re.compile(r"^held \d+:\d\d$"))
    shorten = (
        "from django.db.models.functions import Now; from datetime import timedelta;"
        "from experiments.models import ReviewItem;"
        f"ReviewItem.objects.filter(pk={world['other']}).update(lease_until=Now() + timedelta(seconds=280))"
    )
    site.python(shorten)
    with page.expect_response("**/renew/"):
        page.reload()
    expect(page.locator("[data-held]")).to_have_text(re.compile(r"^held (10:00|9:5\d)$"))
    site.python(shorten)
    page.route("**/renew/", lambda route: route.fulfill(json={"held": False, "seconds": 0}))
    page.reload()
    expect(page.locator("[data-held]")).to_contain_text("somebody else has it; you can still save")


def test_everything_works_without_script(
    browser: Browser, base_url: str, owner_state: Any, world: dict[str, str]
) -> None:
    context = browser.new_context(base_url=base_url, storage_state=owner_state, java_script_enabled=False)
    page = context.new_page()
    page.set_default_timeout(15_000)
    page.goto(f"/queue/{world['other']}/")
    if page.get_by_role("button", name="Take it").count():
        page.get_by_role("button", name="Take it").click()
    assert "held until" in page.locator("[data-held]").inner_text()
    page.get_by_text("Forbidden", exact=True).click()
    page.locator("#reason").fill("no script here")
    page.get_by_role("button", name="What it would change").click()
    assert "Settles 3 citations" in page.locator("#preview").inner_text()
    page.get_by_role("button", name="Save draft").click()
    assert page.locator("#reason").input_value() == "no script here"
    page.locator("#reason").fill("")
    page.get_by_role("button", name="Save and next").click()
    assert "forbidden needs a reason" in page.get_by_role("alert").inner_text()
    page.locator("#reason").fill("no script here")
    page.get_by_role("button", name="Save and next").click()
    page.goto("/queue/")
    page.get_by_role("button", name=re.compile("^Undo Forbidden", re.IGNORECASE)).click()
    assert "Undone: forbidden" in page.get_by_role("status").first.inner_text()
    context.close()
