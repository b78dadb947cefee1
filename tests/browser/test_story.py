"""The story of a new user: sign in by the link, start the demo, see it finish, read what varied."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.sites import Site

pytestmark = pytest.mark.browser
RUN_MS = 90_000
"""How long the demo's 135 attempts may take on a busy machine."""


@pytest.fixture(scope="module")
def finished_run(browser: Browser, base_url: str, owner_state: Any) -> str:
    """The address of a demo run that was started and seen to finish in a browser."""
    context = browser.new_context(base_url=base_url, storage_state=owner_state)
    page = context.new_page()
    page.goto("/")
    page.get_by_role("link", name="refund-desk", exact=True).click()
    expect(page.get_by_text("27 cases × 5")).to_be_visible()
    page.get_by_role("button", name="Start this run").click()
    expect(page).to_have_url(re.compile(r"/runs/\d+/$"))
    address = page.url
    expect(page.locator("#run-progress")).to_be_visible()
    expect(page.locator("#run-progress")).to_have_count(0, timeout=RUN_MS)
    expect(page.locator(".facts").first).to_contain_text("finished")
    context.close()
    return address


@pytest.mark.slow
def test_a_run_is_seen_to_finish_without_loading_the_page_again(owner_page: Page, finished_run: str) -> None:
    owner_page.goto(finished_run)
    expect(owner_page.get_by_role("heading", name=re.compile("refund-desk, run"))).to_be_visible()
    expect(owner_page.locator("[data-row]")).to_have_count(27)
    expect(owner_page.get_by_role("button", name="Stop")).to_have_count(0)


def test_what_varied_is_one_key_away_and_read_with_j_k_and_enter(owner_page: Page, finished_run: str) -> None:
    owner_page.goto(finished_run)
    owner_page.keyboard.press("v")
    expect(owner_page).to_have_url(re.compile(r"\?verdict=VARIED$"))
    expect(owner_page.locator("[data-row]")).to_have_count(8)
    expect(owner_page.locator("[data-row] .verdict").first).to_have_text("Varied")
    links = owner_page.locator("[data-row-link]")
    owner_page.keyboard.press("j")
    expect(links.nth(0)).to_be_focused()
    owner_page.keyboard.press("j")
    expect(links.nth(1)).to_be_focused()
    owner_page.keyboard.press("k")
    expect(links.nth(0)).to_be_focused()
    key = links.nth(0).inner_text()
    owner_page.keyboard.press("Enter")
    expect(owner_page.get_by_role("heading", level=1)).to_have_text(key)
    owner_page.keyboard.press("]")
    expect(owner_page.get_by_role("heading", level=1)).not_to_have_text(key)


def test_what_varied_is_found_by_mouse_and_the_way_back_is_the_browsers(
    owner_page: Page, finished_run: str
) -> None:
    owner_page.goto(finished_run)
    owner_page.get_by_role("link", name="Varied 8").click()
    expect(owner_page.locator("[data-row]")).to_have_count(8)
    owner_page.get_by_role("link", name=re.compile("^Failed")).first.click()
    expect(owner_page.locator("[data-row]")).to_have_count(3)
    owner_page.go_back()
    expect(owner_page.locator("[data-row]")).to_have_count(8)
    expect(owner_page.locator(".topbar")).to_have_count(1)
    owner_page.locator("[data-row]").first.locator("td").last.click()
    expect(owner_page).to_have_url(re.compile(r"/cases/\d+/$"))


def test_search_narrows_while_typing_and_letters_are_only_letters_there(
    owner_page: Page, finished_run: str
) -> None:
    owner_page.goto(finished_run)
    owner_page.keyboard.press("/")
    owner_page.keyboard.type("ledger-down-")
    expect(owner_page.locator("[data-row]")).to_have_count(2)
    expect(owner_page).to_have_url(re.compile(r"q=ledger-down-"))
    owner_page.keyboard.type("open v j g h ?")
    expect(owner_page.get_by_text("No case here")).to_be_visible()
    expect(owner_page.locator("#search")).to_have_value("ledger-down-open v j g h ?")
    owner_page.keyboard.press("Escape")
    expect(owner_page.locator("#search")).not_to_be_focused()
    expect(owner_page.locator("#search")).to_have_value("ledger-down-open v j g h ?")


def test_the_sheet_lists_the_keys_and_can_switch_them_off(owner_page: Page, finished_run: str) -> None:
    owner_page.goto(finished_run)
    owner_page.keyboard.press("?")
    sheet = owner_page.get_by_role("dialog", name="Keys")
    expect(sheet.get_by_text("go to experiments")).to_be_visible()
    # In a dialog letters are off.
    owner_page.keyboard.press("v")
    expect(owner_page).to_have_url(finished_run)
    sheet.get_by_label("Single keys are on").uncheck()
    owner_page.keyboard.press("Escape")
    owner_page.keyboard.press("v")
    expect(owner_page.locator("[data-row]")).to_have_count(27)
    owner_page.keyboard.press("?")
    owner_page.get_by_label("Single keys are on").check()
    owner_page.keyboard.press("Escape")
    owner_page.keyboard.press("g")
    owner_page.keyboard.press("e")
    expect(owner_page).to_have_url(re.compile("/experiments/$"))


ONE_LANE = """
from experiments.models import Experiment
slow = Experiment.objects.get(name="refund-desk-sources")
slow.pk, slow.name, slow.lanes, slow.repeats = None, "one-lane", 1, 60
slow.save()
"""


def test_a_run_is_stopped_resumed_and_stopped_again(owner_page: Page, site: Site) -> None:
    site.python(ONE_LANE)
    owner_page.goto("/experiments/")
    owner_page.get_by_role("link", name="one-lane").click()
    owner_page.get_by_role("button", name="Start this run").click()
    expect(owner_page).to_have_url(re.compile(r"/runs/\d+/$"))
    facts = owner_page.locator(".facts").first
    resume = owner_page.get_by_role("button", name=re.compile(r"Resume: [\d,]+ to run, \d+ kept"))
    owner_page.get_by_role("button", name="Stop").click()
    expect(facts).to_contain_text("stopped", timeout=RUN_MS)
    resume.click()
    expect(owner_page.locator("#run-progress")).to_be_visible()
    owner_page.get_by_role("button", name="Stop").click()
    expect(facts).to_contain_text("stopped", timeout=RUN_MS)
    expect(resume).to_be_visible()


def test_everything_works_without_script(
    browser: Browser, base_url: str, owner_state: Any, finished_run: str
) -> None:
    context = browser.new_context(base_url=base_url, storage_state=owner_state, java_script_enabled=False)
    page = context.new_page()
    page.set_default_timeout(10_000)
    page.goto(finished_run)
    page.get_by_role("link", name="Varied 8").click()
    expect(page.locator("[data-row]")).to_have_count(8)
    page.locator("#search").fill("estimated")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"verdict=VARIED&q=estimated"))
    expect(page.locator("[data-row]")).to_have_count(1)
    page.locator("[data-row-link]").click()
    expect(page).to_have_title(re.compile("estimated-reading"))
    page.goto("/experiments/")
    page.get_by_role("link", name="refund-desk", exact=True).click()
    page.get_by_role("link", name="Show it").click()
    expect(page.get_by_role("button", name="Start this run")).to_be_visible()
    context.close()


def test_a_fault_of_the_server_is_said_and_the_page_stays(owner_page: Page, finished_run: str) -> None:
    owner_page.goto(finished_run)
    owner_page.route("**/*verdict=*", lambda route: route.fulfill(status=503, body="<h1>no</h1>"))
    owner_page.keyboard.press("v")
    expect(owner_page.get_by_role("alert")).to_contain_text("The site could not answer (503")
    expect(owner_page.locator("[data-row]")).to_have_count(27)
    owner_page.unroute("**/*verdict=*")
    owner_page.keyboard.press("v")
    expect(owner_page.locator("[data-row]")).to_have_count(8)
    expect(owner_page.locator("#error-bar")).to_be_hidden()


def test_an_expired_session_leads_to_the_sign_in_page_and_back(
    browser: Browser, base_url: str, owner_state: Any, finished_run: str
) -> None:
    context = browser.new_context(base_url=base_url, storage_state=owner_state)
    page = context.new_page()
    page.goto(finished_run)
    context.clear_cookies()
    page.keyboard.press("v")
    expect(page).to_have_url(re.compile("/sign-in/"))
    assert page.locator("input[name=next]").input_value() in finished_run
    context.close()
