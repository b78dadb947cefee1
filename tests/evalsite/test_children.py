"""`make run` with PostgreSQL and Redis: one parent, and children that never outlive it."""

from __future__ import annotations

import os
import signal
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings

from tests.backends import needs_services, own_database
from tests.sites import Site, manage, site_environment, start_site

pytestmark = needs_services


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a site on a database of its own."""
    with own_database("site") as url:
        yield site_environment(tmp_path / "var", DATABASE_URL=url, BROKER_URL=settings.BROKER_URL)


@pytest.fixture
def site(environment: dict[str, str]) -> Iterator[Site]:
    started = start_site(environment, "--no-demo")
    yield started
    started.kill()


def status(process: int) -> tuple[str, int] | None:
    """State letter and parent of a process; None once it is gone or a zombie."""
    try:
        words = (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if words[0] == "Z" else (words[0], int(words[1]))


def alive(process: int) -> bool:
    return status(process) is not None


def command_line(process: int) -> str:
    try:
        return (Path("/proc") / str(process) / "cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def descendants(process: int) -> dict[int, str]:
    """Every living process below this one -> its command line."""
    everybody = {
        int(path.name): status(int(path.name)) for path in Path("/proc").iterdir() if path.name.isdigit()
    }
    parents = {number: found[1] for number, found in everybody.items() if found is not None}
    below: dict[int, str] = {}
    waiting = [process]
    while waiting:
        above = waiting.pop()
        for child, parent in parents.items():
            if parent == above:
                waiting.append(child)
                below[child] = command_line(child)
    return below


def eventually(true: Callable[[], bool], seconds: float = 20) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if true():
            return True
        time.sleep(0.1)
    return true()


@pytest.mark.slow
def test_it_answers_signs_in_and_stops_every_child(site: Site) -> None:
    with urllib.request.urlopen(f"{site.url}/sign-in/", timeout=10) as page:
        assert page.status == 200
    below = descendants(site.process.pid)
    programs = " ".join(below.values())
    for part in ("granian", "-Q lanes", "-Q quick", "beat"):
        assert part in programs
    with urllib.request.urlopen(site.link, timeout=10) as page:
        assert page.status == 200
    site.stop()
    assert [process for process in below if alive(process)] == []


@pytest.mark.slow
def test_children_end_when_their_parent_is_killed(site: Site) -> None:
    below = descendants(site.process.pid)
    assert len(below) >= 4
    site.process.kill()
    assert eventually(lambda: not any(alive(process) for process in below))


@pytest.mark.slow
def test_a_killed_child_is_started_again_once_the_site_had_settled(site: Site) -> None:
    def worker() -> list[int]:
        return [process for process, line in descendants(site.process.pid).items() if "-Q lanes" in line]

    (first,) = worker()
    time.sleep(10.5)
    os.kill(first, signal.SIGKILL)
    assert eventually(lambda: len(worker()) == 1 and worker() != [first])
    site.stop()


def test_a_database_out_of_reach_is_one_sentence_without_the_password(tmp_path: Path) -> None:
    environment = site_environment(
        tmp_path / "var",
        DATABASE_URL="postgres://me:hunter2hunter2@127.0.0.1:9/site",
        BROKER_URL=settings.BROKER_URL,
    )
    done = manage(environment, "serve", "--no-demo")
    assert done.returncode != 0
    assert len(done.stderr.strip().splitlines()) == 1
    assert "127.0.0.1:9" in done.stderr
    assert "hunter2" not in done.stderr
