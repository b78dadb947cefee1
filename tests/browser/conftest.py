"""Browser tests: Chromium against one real site per session, started as `make run` starts it.

The site has its own `var/` and database file, so a test makes what it needs there (`site.manage`,
`site.python`) and never through the ORM of the test process, whose thread belongs to Playwright's loop.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
START_SECONDS = 60
LINK = re.compile(r"http://\S+/link/\S+")


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Site:
    """A running site and the environment its commands run in."""

    url: str
    link: str
    environment: dict[str, str]
    process: subprocess.Popen[str]

    def manage(self, *arguments: str) -> str:
        """Run a management command on the site's database; its standard output. Fails on a non-zero code."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def python(self, code: str) -> str:
        """Run Python with Django on the site's database; its standard output."""
        return self.manage("shell", "--no-imports", "-c", code)


def start_site(var: Path, **environment: str) -> Site:
    """Start a site as `make run` does and wait until it prints its sign-in link."""
    port = free_port()
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in {"DATABASE_URL", "BROKER_URL", "DJANGO_SETTINGS_MODULE"}
        and not name.startswith("EVALSITE_")
    }
    chosen = {
        **inherited,
        "EVALSITE_VAR": str(var),
        "PORT": str(port),
        # The demo's services pick free ports, so that two sites can run side by side.
        "EVALSITE_DEMO_PORT": "0",
        "PYTHONUNBUFFERED": "1",
        **environment,
    }
    process = subprocess.Popen(
        [sys.executable, "manage.py", "serve"],
        cwd=ROOT,
        env=chosen,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    watchdog = threading.Timer(START_SECONDS, process.kill)
    watchdog.start()
    said: list[str] = []
    assert process.stdout is not None
    for line in process.stdout:
        said.append(line)
        if found := LINK.search(line):
            watchdog.cancel()
            # Whatever it says later must not fill the pipe and stop it.
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return Site(f"http://127.0.0.1:{port}", found[0], chosen, process)
    watchdog.cancel()
    raise AssertionError("The site did not start:\n" + "".join(said))


def stop_site(site: Site) -> float:
    """SIGTERM; seconds until the site had ended. Fails when it takes longer than 20."""
    before = time.monotonic()
    site.process.send_signal(signal.SIGTERM)
    try:
        assert site.process.wait(20) == 0
    finally:
        site.process.kill()
    return time.monotonic() - before


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
    started = start_site(tmp_path_factory.mktemp("site"))
    yield started
    stop_site(started)


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
