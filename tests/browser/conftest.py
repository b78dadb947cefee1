"""Browser tests: Chromium against one real site per session, started as `make run` starts it.

The site has its own `var/` and database file, so a test makes what it needs there (`site.manage`,
`site.python`) and never through the ORM of the test process, whose thread belongs to Playwright's loop.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page

from tests.sites import Site, site_environment, start_site

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of Chromium. Without it the browser tests are skipped; in CI that is a failure."""
    if Path(CHROMIUM).exists():
        return CHROMIUM
    reason = "Chromium is not installed (Debian: apt-get install chromium)."
    if os.environ.get("CI", "").lower() in {"1", "true"}:
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def site(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One site for all browser tests of the session."""
    started = start_site(site_environment(tmp_path_factory.mktemp("site")))
    yield started
    started.stop()


@pytest.fixture(scope="session")
def base_url(site: Site) -> str:
    """pytest-playwright resolves `page.goto("/runs/")` against it."""
    return site.url


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any], chromium: str) -> dict[str, Any]:
    return {**browser_type_launch_args, "executable_path": chromium, "args": FLAGS}


@pytest.fixture(scope="session")
def owner_state(browser: Browser, site: Site) -> Any:
    """Cookies of the owner, signed in once by the printed link."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(site.link)
    state = context.storage_state()
    context.close()
    assert any(cookie.get("name") == "evalsite_session" for cookie in state["cookies"]), page.url
    return state


def watch(page: Page) -> list[str]:
    """Collect what no page of ours may cause: script errors and violations of the content security policy."""
    faults: list[str] = []

    def on_console(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text or "Content-Security-Policy" in message.text:
            faults.append(message.text)

    page.on("console", on_console)
    page.on("pageerror", lambda error: faults.append(str(error)))
    return faults


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    """A page of somebody who is not signed in."""
    page.set_default_timeout(10_000)
    faults = watch(page)
    yield page
    assert faults == []


@pytest.fixture
def owner_page(browser: Browser, base_url: str, owner_state: Any) -> Iterator[Page]:
    """A page of the owner, signed in."""
    context = browser.new_context(base_url=base_url, storage_state=owner_state)
    page = context.new_page()
    page.set_default_timeout(10_000)
    faults = watch(page)
    yield page
    context.close()
    assert faults == []


@pytest.fixture
def screen(browser: Browser, base_url: str, owner_state: Any) -> Iterator[Callable[..., Page]]:
    """Opens a page of the owner at a width and in a colour scheme."""
    contexts = []

    def open_page(width: int, scheme: Literal["light", "dark"]) -> Page:
        context = browser.new_context(
            base_url=base_url,
            storage_state=owner_state,
            color_scheme=scheme,
            viewport={"width": width, "height": 800},
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        return page

    yield open_page
    for context in contexts:
        context.close()


def check(page: Page) -> None:
    """What holds for every page: no violation that axe finds, nothing wider than the screen."""
    found = Axe().run(page)
    assert found.violations_count == 0, f"{page.url}: {found.generate_report()}"
    fits(page)


def fits(page: Page) -> None:
    """Nothing on the page is wider than the screen."""
    width = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert width[0] <= width[1], page.url
