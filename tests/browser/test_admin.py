"""Authoring in a real browser: the live panel, no violation of the content security policy, axe, phones."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.sites import Site

pytestmark = pytest.mark.browser

_names = itertools.count(1)

MAKE = """
from experiments.evaluation import EvalCase
from experiments.models import Suite
from experiments.services.editing import save_case, save_suite
suite = save_suite(None, suite=None, name={suite!r}, description="", criteria=[], pass_score=1.0,
                   messages={{"no_advice": "I do not give legal advice."}}, edition="")
value = EvalCase(id="window", turn="When is it paid?", expected="the reply says within 30 days",
                 required_phrases=["30 days"])
case = save_case(None, value, suite=suite, case=None, edition="")
print(case.pk, suite.pk)
"""


@pytest.fixture
def made(site: Site) -> tuple[int, int]:
    """A case and its suite, of this test alone."""
    printed = site.python(MAKE.format(suite=f"admin-{next(_names)}"))
    case, suite = printed.split()[-2:]
    return int(case), int(suite)


def violations(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {[node['target'] for node in one['nodes']]}" for one in found]


def test_the_panel_follows_what_an_author_types_and_nothing_is_saved(
    owner_page: Page, made: tuple[int, int]
) -> None:
    page = owner_page
    page.goto(f"/admin/experiments/case/{made[0]}/change/")
    panel = page.locator("#preview")
    expect(panel).to_contain_text("Settled by looking for 1 required phrase in the reply.")
    page.get_by_label("Spec node").fill("RF-04")
    expect(panel).to_contain_text("Settled by comparing the spec node with RF-04.")
    expect(panel).to_contain_text("required phrases is not used")
    page.locator("#id_turn").fill("the reply says within 30 days")
    expect(panel).to_contain_text("The graded turn is equal to the expected outcome")
    expect(page.locator("#id_turn")).to_be_focused()
    page.reload()
    expect(page.get_by_label("Spec node")).to_have_value("")


def test_a_refused_save_comes_back_with_the_reasons_and_what_was_typed(
    owner_page: Page, made: tuple[int, int]
) -> None:
    page = owner_page
    page.goto(f"/admin/experiments/case/{made[0]}/change/")
    page.locator("#id_turn").fill("the reply says within 30 days")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert").first).to_contain_text("Not saved. Question")
    wrong = page.locator("#id_turn")
    expect(wrong).to_have_value("the reply says within 30 days")
    expect(wrong).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#id_turn_error")).to_contain_text("equal to the expected outcome")
    assert "id_turn_error" in (wrong.get_attribute("aria-describedby") or "")
    assert violations(page) == []


def test_a_setup_shows_only_the_fields_it_reads(owner_page: Page, made: tuple[int, int]) -> None:
    page = owner_page
    page.goto(f"/admin/experiments/case/{made[0]}/change/")
    replay, fixture = page.get_by_label("Earlier user turns"), page.get_by_label("Fixture", exact=True)
    expect(replay).to_be_hidden()
    page.get_by_label("Before the question").select_option("replay")
    expect(replay).to_be_visible()
    expect(fixture).to_be_hidden()
    replay.fill("Hello")
    page.get_by_label("Before the question").select_option("fixture")
    expect(fixture).to_be_visible()
    expect(replay, "what holds text never disappears").to_be_visible()


def test_two_authors_lose_nothing(owner_page: Page, made: tuple[int, int]) -> None:
    page = owner_page
    url = f"/admin/experiments/case/{made[0]}/change/"
    page.goto(url)
    other = page.context.new_page()
    other.goto(url)
    other.get_by_label("Expected outcome").fill("hers")
    other.get_by_role("button", name="Save and stay").click()
    expect(other.get_by_text("Saved: window v2.")).to_be_visible()
    page.get_by_label("Expected outcome").fill("his")
    page.get_by_role("button", name="Save", exact=True).click()
    conflict = page.get_by_role("region", name="saved this while you were editing")
    expect(conflict).to_contain_text("hers")
    expect(conflict).to_contain_text("his")
    expect(page.get_by_label("Expected outcome")).to_have_value("his")
    assert violations(page) == []
    page.get_by_role("button", name="Save mine on top").click()
    page.goto(url.replace("change", "history"))
    expect(page.get_by_role("heading", name="Version 3")).to_be_visible()
    expect(page.get_by_role("heading", name="Version 2")).to_be_visible()


@pytest.mark.parametrize("width", [1280, 360])
def test_every_kind_of_page_is_accessible_and_fits(
    owner_page: Page, made: tuple[int, int], width: int
) -> None:
    page = owner_page
    page.set_viewport_size({"width": width, "height": 900})
    case, suite = made
    found: dict[str, Any] = {}
    for path in (
        "/admin/",
        "/admin/experiments/case/",
        f"/admin/experiments/case/{case}/change/",
        f"/admin/experiments/case/{case}/history/",
        f"/admin/experiments/suite/{suite}/change/",
        "/admin/experiments/suite/import/",
        "/admin/experiments/rubric/add/",
        "/admin/experiments/experiment/add/",
        "/admin/experiments/target/add/",
        "/admin/experiments/user/",
        "/admin/experiments/activity/",
    ):
        page.goto(path)
        if wrong := violations(page):
            found[path] = wrong
        beyond = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert beyond <= 0, f"{path} is {beyond} px too wide at {width}"
    assert found == {}


def test_the_case_form_works_without_script(
    site: Site, owner_state: Any, browser: Any, made: tuple[int, int]
) -> None:
    context = browser.new_context(base_url=site.url, storage_state=owner_state, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"/admin/experiments/case/{made[0]}/change/")
    page.get_by_label("Spec node").fill("RF-04")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview")).to_contain_text("Settled by comparing the spec node with RF-04.")
    expect(page.get_by_label("Spec node")).to_have_value("RF-04")
    page.get_by_role("button", name="Save and stay").click()
    expect(page.get_by_text("Saved: window v2.")).to_be_visible()
    context.close()
