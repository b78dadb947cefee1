"""The story on one engine: `python -m tests.real.engine`, in the environment of that engine.

With a broker in memory the workers are those of the embedded default, threads of this process; with Redis
they are processes, started as docs/running.md says. `tests.real.gdpr` runs one of these for each engine.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

START_SECONDS = 60
STOP_SECONDS = 30
ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def embedded_workers() -> Iterator[None]:
    """Two workers and beat in threads, as in `make run` without settings."""
    from evalsite.serving.embedded import Workers

    workers = Workers()
    workers.start()
    try:
        yield
    finally:
        assert workers.stop(STOP_SECONDS)


@contextmanager
def worker_processes(lanes_workers: int) -> Iterator[None]:
    """So many processes for lanes, one for quick tasks, and beat; they end with this one, however it ends."""
    from celery import current_app

    from evalsite.serving.children import Child
    from tests.real.story import until

    names = [*(f"gdpr-lanes-{number}" for number in range(1, lanes_workers + 1)), "gdpr-quick"]
    beat = ["-m", "celery", "-A", "evalsite", "-q", "beat", "--loglevel", "WARNING", "--pidfile="]
    children = [*(Child(name, _arguments(name)) for name in names), Child("gdpr-beat", beat)]
    try:
        for child in children:
            child.start()
        until(lambda: len(current_app.control.ping(timeout=0.5) or []) >= len(names), START_SECONDS)
        yield
    finally:
        for child in children:
            if child.process is not None:
                child.process.send_signal(signal.SIGTERM)
        for child in children:
            if child.process is not None:
                try:
                    child.process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    child.process.kill()


def _arguments(name: str) -> list[str]:
    queue, threads = ("quick", 2) if name.endswith("quick") else ("lanes", 4)
    return (
        f"-m celery -A evalsite -q worker -P threads -Q {queue} -c {threads} -n {name}@%h"
        " --without-gossip --without-mingle --loglevel WARNING"
    ).split()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--service-url", required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--lanes", type=int, required=True)
    parser.add_argument("--repeats", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")

    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    import evalsite.celery  # noqa: F401 - the application that services send to
    from experiments.models import Experiment
    from tests.real.story import as_document, tell

    call_command("migrate", verbosity=0, interactive=False)
    if Experiment.objects.exists():
        print("The database is not empty; this wants one of its own, made anew.", file=sys.stderr)
        return 1
    memory = settings.BROKER_URL.startswith("memory")
    with embedded_workers() if memory else worker_processes(options.workers):
        figures = tell(options.service_url, lanes=options.lanes, repeats=options.repeats)
    options.out.write_text(json.dumps(as_document(figures)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    # A thread of the embedded workers may still wait for its broker: nothing is left to be done.
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
