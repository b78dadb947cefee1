"""Pictures of the pages for the README: `make screenshots`. A fresh site, its demo runs, real Chromium."""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from tests.browser.conftest import CHROMIUM, FLAGS
from tests.sites import Site, site_environment, start_site

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
FINISHED_MS = 120_000
LOOKS = (("light", 1280, 800), ("dark", 1280, 800), ("phone", 360, 740))


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as var, sync_playwright() as playwright:
        site = start_site(site_environment(Path(var)))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            _pictures(browser, site)
        finally:
            browser.close()
            site.stop()


def _pictures(browser: Browser, site: Site) -> None:
    state = _signed_in(browser, site)
    addresses = _addresses(browser, site, state)
    for look, width, height in LOOKS:
        context = browser.new_context(
            base_url=site.url,
            storage_state=state,
            viewport={"width": width, "height": height},
            color_scheme="dark" if look == "dark" else "light",
        )
        for name, address in addresses.items():
            page = context.new_page()
            page.goto(address)
            page.wait_for_load_state("networkidle")
            page.screenshot(path=IMAGES / f"{name}-{look}.png")
            page.close()
        context.close()


def _signed_in(browser: Browser, site: Site) -> str:
    context = browser.new_context()
    context.new_page().goto(site.link)
    path = str(Path(site.environment["EVALSITE_VAR"]) / "state.json")
    context.storage_state(path=path)
    context.close()
    return path


def _addresses(browser: Browser, site: Site, state: str) -> dict[str, str]:
    """The pages of the tour, once the demo's runs have finished and their citations wait in the queue."""
    context: BrowserContext = browser.new_context(base_url=site.url, storage_state=state)
    page = context.new_page()
    for number in (1, 2, 3):
        page.goto(f"/runs/{number}/")
        expect(page.locator("#run-progress")).to_have_count(0, timeout=FINISHED_MS)
    page.goto("/compare/?a=1&b=2")
    expect(page.locator(".says")).to_be_visible(timeout=FINISHED_MS)
    page.goto("/runs/2/?verdict=VARIED")
    case = page.get_by_role("link", name="claim-progress").last.get_attribute("href") or ""
    page.goto("/queue/")
    page.locator("[data-row-link]").first.click()
    page.wait_for_load_state()
    item = page.url.removeprefix(site.url)
    context.close()
    return {
        "home": "/",
        "experiment": "/experiments/1/",
        "run": "/runs/2/",
        "case": case,
        "compare": "/compare/?a=1&b=2",
        "queue": "/queue/",
        "source": item,
    }


if __name__ == "__main__":
    main()
