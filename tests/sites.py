"""A real site for tests: started as `make run` starts it, on a free port, with a `var/` of its own."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
START_SECONDS = 180
STOP_SECONDS = 20
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
    said: list[str] = field(default_factory=list)
    listener: threading.Thread | None = None

    def manage(self, *arguments: str) -> str:
        """Run a management command on the site's database; its standard output. Fails on a non-zero code."""
        done = manage(self.environment, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def python(self, code: str) -> str:
        """Run Python with Django on the site's database; its standard output."""
        return self.manage("shell", "--no-imports", "-c", code)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> float:
        """Send the signal; seconds until the site had ended, which must be well and in time."""
        before = time.monotonic()
        self.process.send_signal(number)
        try:
            assert self.process.wait(STOP_SECONDS) == 0, "".join(self.said)
        finally:
            self.kill()
        return time.monotonic() - before

    def kill(self) -> None:
        """End it at once, if it has not ended, and read what it said to the end."""
        self.process.kill()
        self.process.wait()
        if self.listener is not None:
            self.listener.join()
        if self.process.stdout is not None:
            self.process.stdout.close()


def site_environment(var: Path, **environment: str) -> dict[str, str]:
    """The environment of a site that shares no database, broker or setting with this process."""
    # Without compiled modules every process of a site would take seconds longer to start.
    foreign = {
        "PYTHONDONTWRITEBYTECODE",
        "DATABASE_URL",
        "BROKER_URL",
        "DJANGO_SETTINGS_MODULE",
        "SECRET_KEY",
        "PORT",
        "DEBUG",
    }
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in foreign and not name.startswith("EVALSITE_")
    }
    return {
        **inherited,
        "EVALSITE_VAR": str(var),
        "PORT": str(free_port()),
        "PYTHONUNBUFFERED": "1",
        **environment,
    }


def manage(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a management command to its end, four minutes at most."""
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )


def start_site(environment: dict[str, str], *arguments: str) -> Site:
    """Start a site as `make run` does and wait until it prints its sign-in link."""
    process = subprocess.Popen(
        [sys.executable, "manage.py", "serve", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    site = Site(f"http://127.0.0.1:{environment['PORT']}", "", environment, process)
    linked = threading.Event()

    def listen() -> None:
        assert process.stdout is not None
        # To the end of its life: a full pipe would stop it.
        for line in process.stdout:
            site.said.append(line)
            if found := LINK.search(line):
                site.link = found[0]
                linked.set()
        linked.set()

    site.listener = threading.Thread(target=listen, daemon=True)
    site.listener.start()
    linked.wait(START_SECONDS)
    if not site.link:
        site.kill()
        raise AssertionError(f"The site did not start ({process.returncode}):\n" + "".join(site.said))
    return site
