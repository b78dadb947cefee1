"""Every page, light and dark, wide and narrow: accessible by axe's rules, never wider than the screen."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import check, fits
from tests.sites import Site

pytestmark = pytest.mark.browser
MAKE_WORLD = """
from experiments.models import CaseResult, Experiment
from experiments.services.runs import start_run
from tests.web.world import MOCK, a_run, an_experiment
experiment = an_experiment("look-at-me")
more = {f"more-{n:02}": "PPPPP" for n in range(60)}
reply = "You may return it. " * 2000
run = a_run(experiment, {**MOCK, **more}, replies={"cash-country": reply, "tone-check": "a\\0b \\u202e c"})
# One lane and many repeats: a run that is on for as long as these tests last.
slow = Experiment.objects.get(name="refund-desk")
slow.pk, slow.name, slow.lanes, slow.repeats = None, "slow", 1, 60
slow.save()
live = start_run(None, slow)
a_run(experiment, {"refund-14d": "PP", "tone-check": "P."}, state="stopped")
row = CaseResult.objects.get(grading__run=run, case__key="cash-country")
print(experiment.pk, run.pk, live.pk, row.pk)
"""


@pytest.fixture(scope="module")
def addresses(site: Site) -> Iterator[dict[str, str]]:
    experiment, run, live, row = site.python(MAKE_WORLD).split()[-4:]
    yield {
        "home": "/",
        "experiments": "/experiments/",
        "experiment": f"/experiments/{experiment}/",
        "plan": f"/experiments/{experiment}/?part=plan",
        "runs": "/runs/",
        "finished": f"/runs/{run}/",
        "filtered": f"/runs/{run}/?verdict=VARIED",
        "empty": f"/runs/{run}/?q=nothing+like+it",
        "live": f"/runs/{live}/",
        "case": f"/runs/{run}/cases/{row}/",
        "missing": "/runs/999999/",
    }
    stop = "from experiments.models import Run; from experiments.services.runs import stop_run"
    site.python(f"{stop}; stop_run(None, Run.objects.get(pk={live}))")


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (360, "light")])
def test_every_page_is_accessible_and_fits(
    screen: Callable[..., Page], addresses: dict[str, str], width: int, scheme: str
) -> None:
    page = screen(width, scheme)
    for address in addresses.values():
        page.goto(address)
        check(page)


def test_every_page_fits_between_the_widths_as_well(
    screen: Callable[..., Page], addresses: dict[str, str]
) -> None:
    page = screen(360, "dark")
    for address in addresses.values():
        page.goto(address)
        for width in (320, 701, 1001):
            page.set_viewport_size({"width": width, "height": 800})
            fits(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_sign_in_page_is_accessible_and_fits(
    browser: Browser, base_url: str, scheme: Literal["light", "dark"]
) -> None:
    context = browser.new_context(
        base_url=base_url, color_scheme=scheme, viewport={"width": 360, "height": 640}
    )
    page = context.new_page()
    page.goto("/sign-in/")
    fits(page)
    page.get_by_label("User name").fill("nobody")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert").first).to_be_visible()
    check(page)
    context.close()


def test_menus_and_the_sheet_of_keys_are_accessible(
    screen: Callable[..., Page], addresses: dict[str, str]
) -> None:
    page = screen(1280, "light")
    page.goto(addresses["experiments"])
    page.get_by_role("button", name="owner").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    check(page)
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    check(page)


def test_on_a_phone_the_pages_are_behind_one_button(
    screen: Callable[..., Page], addresses: dict[str, str]
) -> None:
    page = screen(360, "dark")
    page.goto(addresses["runs"])
    expect(page.get_by_role("link", name="Experiments")).to_be_hidden()
    page.get_by_role("button", name="Pages").click()
    check(page)
    page.get_by_role("link", name="Experiments").click()
    expect(page.get_by_role("heading", name="Experiments", exact=True)).to_be_visible()


def test_rows_are_at_most_56_pixels_high(owner_page: Page, addresses: dict[str, str]) -> None:
    for name in ("home", "runs", "experiments", "finished"):
        owner_page.goto(addresses[name])
        heights = owner_page.evaluate(
            "[...document.querySelectorAll('[data-row]')].map((row) => row.offsetHeight)"
        )
        assert heights
        assert max(heights) <= 57, name  # with the line between two rows


def test_a_choice_of_colours_holds_on_every_page(owner_page: Page) -> None:
    owner_page.emulate_media(color_scheme="light")
    owner_page.goto("/runs/")
    light = owner_page.evaluate("getComputedStyle(document.body).backgroundColor")
    owner_page.get_by_role("button", name="owner").click()
    owner_page.get_by_role("button", name="Dark").click()
    expect(owner_page).to_have_url("/runs/")
    owner_page.goto("/experiments/")
    assert owner_page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    owner_page.get_by_role("button", name="owner").click()
    owner_page.get_by_role("button", name="System").click()
    assert owner_page.evaluate("getComputedStyle(document.body).backgroundColor") == light


def test_polling_keeps_the_readers_place(owner_page: Page, addresses: dict[str, str]) -> None:
    owner_page.goto(addresses["live"])
    owner_page.keyboard.press("j")
    owner_page.keyboard.press("j")
    focused = owner_page.locator("[data-row-link]").nth(1)
    expect(focused).to_be_focused()
    with owner_page.expect_response(re.compile("part=progress")):
        pass
    expect(focused).to_be_focused()
    owner_page.locator("#search").fill("ledger-down-")
    with owner_page.expect_response(re.compile(r"(?=.*part=progress)(?=.*q=ledger-down-)")):
        pass
    expect(owner_page.locator("#search")).to_have_value("ledger-down-")
    expect(owner_page.locator("#search")).to_be_focused()
    expect(owner_page.locator("[data-row]")).to_have_count(2)
