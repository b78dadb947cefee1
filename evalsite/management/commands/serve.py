"""`make run`: bring the site up from whatever state it was left in, and print a sign-in link."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from evalsite.serving import StartError, children, demo, embedded, place, state


class Command(BaseCommand):
    help = (
        "Serve the site on 127.0.0.1: in one process, or with worker processes when BROKER_URL names a Redis."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-demo", action="store_true", help="leave an empty site empty")

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            rested = self._serve(with_demo=not options["no_demo"])
        except StartError as reason:
            raise CommandError(str(reason)) from None
        except KeyboardInterrupt:
            # Before the signals were ours: nothing runs yet.
            raise CommandError("Stopped before the start was over.") from None
        self._say(
            "Stopped." if rested else "Stopped; what was still in flight is asked again at the next start."
        )
        _leave()

    def _serve(self, *, with_demo: bool) -> bool:
        place.writable(settings.VAR_DIR)
        with place.claim(settings.VAR_DIR):
            bound = place.listen(settings.PORT)
            state.bring_up_to_date(self._say)
            state.collect_static()
            serve = embedded.serve if settings.BROKER_URL.startswith("memory") else children.serve
            if not with_demo:
                return serve(bound, self._ready)
            with demo.start(settings.VAR_DIR) as services:
                demo.load_once(services, self._say)
                return serve(bound, self._ready)

    def _ready(self) -> None:
        self._say(f"evalsite is ready on http://127.0.0.1:{settings.PORT}/")
        if settings.HTTPS:
            self._say(f"Sign in at {settings.SITE_URL}; a link would not work over https.")
        else:
            self._say(f"Sign in (once, within 10 minutes): {state.sign_in_link()}")
        self._say("Ctrl-C stops it.")
        connections.close_all()

    def _say(self, sentence: str) -> None:
        self.stdout.write(sentence)
        self.stdout.flush()


def _leave() -> None:
    """End now: a thread that hangs in somebody else's reply must not hold the terminal."""
    sys.stdout.flush()
    sys.stderr.flush()
    if threading.active_count() > 1:
        os._exit(0)
