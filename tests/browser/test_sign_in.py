"""The first minute of a newcomer: the printed link, a page, the way out."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.sites import Site


def test_a_stranger_is_led_to_the_sign_in_page_and_learns_of_the_link(page: Page) -> None:
    page.goto("/")
    expect(page).to_have_url("/sign-in/?next=/")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_link_signs_in_once_and_a_second_browser_is_told_why_not(page: Page, site: Site) -> None:
    link = site.manage("sign_in_link", "ana").strip()
    page.goto(link)
    expect(page).to_have_url("/")
    page.context.clear_cookies()
    page.goto(link)
    expect(page.get_by_role("alert")).to_contain_text("has been used")


def test_the_owner_arrives_at_a_home_page_that_shows_the_demo(owner_page: Page) -> None:
    owner_page.goto("/experiments/")
    expect(owner_page.get_by_role("link", name="refund-desk", exact=True).first).to_be_visible()
