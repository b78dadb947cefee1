"""`make run` without services: one process that starts from any state, and stops when told."""

from __future__ import annotations

import fcntl
import http.cookiejar
import shutil
import signal
import socket
import sqlite3
import stat
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sites import ROOT, Site, manage, site_environment, start_site

CSP = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
}


@pytest.fixture(scope="session")
def stopped_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `var/` of a site that was started from nothing once and stopped."""
    var = tmp_path_factory.mktemp("stopped") / "var"
    started = start_site(site_environment(var), "--no-demo")
    started.stop()
    assert not any("older" in line for line in started.said), started.said
    return var


@pytest.fixture
def site(tmp_path: Path, stopped_site: Path) -> Iterator[Site]:
    shutil.copytree(stopped_site, tmp_path / "var")
    started = start_site(site_environment(tmp_path / "var"), "--no-demo")
    yield started
    started.kill()


def refused(environment: dict[str, str]) -> str:
    """The one sentence of a start that cannot be."""
    done = manage(environment, "serve", "--no-demo")
    assert done.returncode != 0
    said = done.stderr.strip().splitlines()
    assert len(said) == 1, done.stderr
    return said[0]


def test_it_answers_signs_in_and_stops_cleanly_at_sigterm(site: Site, tmp_path: Path) -> None:
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    with opener.open(site.link, timeout=10) as page:
        assert page.status == 200
        assert page.url == f"{site.url}/"
        assert set(page.headers["Content-Security-Policy"].split("; ")) == CSP
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(site.link, timeout=10)
    assert stat.S_IMODE((tmp_path / "var").stat().st_mode) == 0o700
    assert site.stop() < 12
    assert site.said[-1] == "Stopped.\n"
    log = (tmp_path / "var/log/evalsite.log").read_text()
    assert "/link/?token=" in log
    assert site.link.split("token=")[1] not in log
    assert '"level": "error"' not in log, log
    assert list(ROOT.glob("celerybeat*")) == []


def test_ctrl_c_stops_it_and_the_next_start_prints_another_link(site: Site) -> None:
    assert site.stop(signal.SIGINT) < 12
    again = start_site(site.environment, "--no-demo")
    try:
        assert again.link != site.link
        assert not any("change" in line for line in again.said)
    finally:
        again.stop()


def test_it_listens_on_this_machine_only(site: Site) -> None:
    port = int(site.environment["PORT"])
    others = {str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), port, socket.AF_INET)}
    for address in others - {"127.0.0.1"}:
        if address.startswith("127."):
            continue
        with pytest.raises(ConnectionError):
            socket.create_connection((address, port), timeout=1)


def test_a_second_start_on_the_same_var_is_refused(site: Site) -> None:
    said = refused({**site.environment, "PORT": str(int(site.environment["PORT"]) + 1)})
    assert f"process {site.process.pid}" in said


def test_a_busy_port_is_one_sentence_that_names_another(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = refused(site_environment(tmp_path / "var", PORT=str(port)))
    assert f"Port {port} is busy" in said
    assert f"PORT={port + 1}" in said


def test_a_var_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "var").write_text("a file in the way")
    assert str(tmp_path / "var") in refused(site_environment(tmp_path / "var"))


def test_a_file_that_is_no_database_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "evalsite.sqlite3").write_bytes(b"not a database at all, but long enough to be one" * 50)
    assert "not a database" in refused(site_environment(tmp_path))


def test_a_database_of_a_newer_version_is_refused_untouched(tmp_path: Path, stopped_site: Path) -> None:
    environment = site_environment(tmp_path)
    shutil.copy(stopped_site / "evalsite.sqlite3", tmp_path)
    with sqlite3.connect(tmp_path / "evalsite.sqlite3") as database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied)"
            " VALUES ('experiments', '9999_later', '2030-01-01')"
        )
    database.close()
    said = refused(environment)
    assert "newer version" in said
    assert "experiments.9999_later" in said


def test_an_older_database_is_kept_aside_and_brought_up_to_date(tmp_path: Path) -> None:
    environment = site_environment(tmp_path)
    assert manage(environment, "migrate", "sessions", "--verbosity", "0").returncode == 0
    site = start_site(environment, "--no-demo")
    site.stop()
    assert any("older than this version" in line for line in site.said)
    (copy,) = tmp_path.glob("evalsite-before-*.sqlite3")
    with sqlite3.connect(copy) as database:
        apps = {row[0] for row in database.execute("SELECT app FROM django_migrations")}
    database.close()
    assert "sessions" in apps
    assert "experiments" not in apps


def test_after_kill_9_the_next_start_works(site: Site, tmp_path: Path) -> None:
    site.process.kill()
    site.process.wait()
    again = start_site(site.environment, "--no-demo")
    with urllib.request.urlopen(f"{again.url}/sign-in/", timeout=10) as page:
        assert page.status == 200
    again.stop()
    with (tmp_path / "var/serve.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_later_start_answers_its_first_page(site: Site) -> None:
    """How fast is a benchmark's to say; a start that hangs fails here all the same."""
    site.stop()
    again = start_site(site.environment, "--no-demo")
    with urllib.request.urlopen(f"{again.url}/sign-in/", timeout=10) as page:
        assert page.status == 200
    again.stop()
