"""What people come for, on the demo's own runs: why a case varied, and whether one release is worse."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import check, fits

pytestmark = pytest.mark.browser
RUN_MS = 90_000
"""How long the three runs that a new site begins with may take on a busy machine."""


@pytest.fixture(scope="module", autouse=True)
def demo_runs(browser: Browser, base_url: str, owner_state: Any) -> None:
    """The three runs the demo begins with, seen to finish."""
    context = browser.new_context(base_url=base_url, storage_state=owner_state)
    page = context.new_page()
    for number in (1, 2, 3):
        page.goto(f"/runs/{number}/")
        expect(page.locator("#run-progress")).to_have_count(0, timeout=RUN_MS)
        expect(page.locator(".facts").first).to_contain_text("finished")
    context.close()


def test_a_varied_case_says_why_and_shows_where_two_attempts_part(owner_page: Page) -> None:
    owner_page.goto("/runs/2/")
    owner_page.keyboard.press("v")
    expect(owner_page.locator("[data-row]")).to_have_count(8)
    owner_page.get_by_role("link", name="claim-progress").last.click()
    facts = owner_page.locator(".facts")
    expect(facts).to_contain_text("passed 4 of 5; true rate between 38% and 96%")
    expect(facts).to_contain_text("differs because of: infrastructure")
    expect(owner_page.locator(".why")).to_contain_text("timed out")
    expect(owner_page.locator(".diff ins").first).to_be_visible()
    expect(owner_page.locator(".diff del").first).to_be_visible()
    expect(owner_page.locator(".grid-of-criteria tr.flips")).to_contain_text("run.no_failure")


def test_other_attempts_are_set_side_by_side_without_script_or_with(owner_page: Page) -> None:
    owner_page.goto("/runs/2/?verdict=VARIED")
    owner_page.get_by_role("link", name="claim-progress").last.click()
    owner_page.get_by_role("link", name="Show attempt 4 on the left").click()
    expect(owner_page).to_have_url(re.compile(r"left=4&right=\d#inspect$"))
    expect(owner_page.get_by_role("heading", name="Attempt 4", level=2)).to_be_visible()


def test_two_releases_are_compared_and_the_page_says_what_may_be_said(owner_page: Page) -> None:
    owner_page.goto("/compare/?a=1&b=2")
    expect(owner_page.get_by_role("heading", name="Comparable")).to_be_visible()
    expect(owner_page.locator(".says")).to_have_text("These 27 cases cannot tell A from B.")
    # A judge that wavers by the order it is asked in may move one case more.
    expect(owner_page.locator(".verdict-line")).to_contain_text(
        re.compile(r"[5-7] worse, [2-4] better; sign")
    )
    number = owner_page.locator('.matrix a[href*="cell=PASSED.VARIED"]')
    count = int(number.inner_text())
    assert count >= 5
    number.click()
    expect(owner_page.locator("[data-row]")).to_have_count(count)
    expect(owner_page.locator("[data-row]", has_text="second-vehicle-sold")).to_contain_text(
        "citations.required"
    )


def test_runs_under_two_policies_are_refused_until_somebody_looks_anyway(owner_page: Page) -> None:
    owner_page.goto("/compare/?a=2&b=3")
    expect(owner_page.get_by_role("heading", name="Not comparable")).to_be_visible()
    expect(owner_page.locator(".gate")).to_contain_text("desk-assistant v1 / desk-assistant v2")
    expect(owner_page.locator(".matrix")).to_have_count(0)
    owner_page.get_by_role("link", name="Look anyway").click()
    expect(owner_page.locator(".says")).to_contain_text("no regression and no improvement is stated")
    expect(owner_page.locator(".matrix")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_case_and_compare_pages_pass_axe_and_fit_a_phone(owner_page: Page, scheme: str) -> None:
    owner_page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    owner_page.goto("/runs/2/?verdict=VARIED")
    case = owner_page.locator("[data-row-link]").first.get_attribute("href") or ""
    for address in (case, "/compare/?a=1&b=2", "/compare/?a=2&b=3&anyway=on"):
        owner_page.set_viewport_size({"width": 1280, "height": 900})
        owner_page.goto(address)
        check(owner_page)
        owner_page.set_viewport_size({"width": 360, "height": 800})
        fits(owner_page)
