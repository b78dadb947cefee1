"""A small retrieval service over the GDPR: the target contract over HTTP, bm25s behind it, chance in front.

It finds the provisions nearest to a question, quotes them, cites them and counts tokens. In about a third of
the attempts it answers otherwise than it found, as a model would: see `Slip`. Which those are follows from
the seed, the question and the attempt's number, never from the run: two runs get the same answers.

``python -m tests.real.service --port 8803`` serves until Ctrl-C.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import threading
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from experiments.demo.handbook import Handbook, Unit, load_handbook
from experiments.demo.servers import ServerThread
from experiments.demo.wsgi import HttpError, bearer, json_app, text_field

DATA = Path(__file__).resolve().parents[3] / "shared/data"
GDPR = DATA / "gdpr-en.jsonl"
"""Real data lies beside the repository and is not part of it; whoever uses it skips when it is absent."""

SEED = 7
CITED = 3
FOUND = 6
"""The passages read for an answer; the first `CITED` that are near enough to the best are cited."""
NEAR = 0.55
QUOTED = 240
"""Characters of a provision that a reply quotes."""
THREADS = 32
NOWHERE = "gdpr/art:101"
INSTRUCTIONS_TOKENS = 180
NOTHING = "I found nothing about this in the Regulation."

_KEY_NUMBER = re.compile(r"-(\d+)\.\d+\.\d+$")


class Slip(Enum):
    """What goes wrong in an attempt."""

    DROPS_THE_BEST = "leaves out the citation that fits best"
    SWAPS_THE_BEST = "cites another provision in its place"
    CITES_WHAT_IS_NOT_THERE = "adds an article that does not exist"
    QUOTES_EVERYTHING = "quotes each provision from end to end"


IN_A_HUNDRED = {
    Slip.DROPS_THE_BEST: 10,
    Slip.SWAPS_THE_BEST: 10,
    Slip.CITES_WHAT_IS_NOT_THERE: 6,
    Slip.QUOTES_EVERYTHING: 6,
}
"""How many attempts in a hundred have each."""


class Library:
    """Answers questions from the Regulation. Safe to use from many threads.

    `pace` scales the time an answer takes (1.0: 0.2 to 1.2 s; 0: none). `asked` counts requests by
    idempotency key, `tally` by (question, attempt number): what a run is held against.
    """

    def __init__(self, path: Path = GDPR, *, seed: int = SEED, pace: float = 1.0) -> None:
        self.asked: Counter[str] = Counter()
        self.tally: Counter[tuple[str, int]] = Counter()
        self._regulation = load_handbook(path)
        self._regulation.warm()
        # An article that has paragraphs is cited by them.
        self._above = {unit.parent for unit in self._regulation.units}
        self._seed = seed
        self._pace = pace
        self._sessions: set[str] = set()
        self._lock = threading.Lock()

    @property
    def regulation(self) -> Handbook:
        """The corpus that is searched."""
        return self._regulation

    def capabilities(self) -> dict[str, Any]:
        return {
            "version": f"gdpr-bm25-1.0 seed {self._seed}",
            "fixtures": {},
            "breakable_tools": [],
            "emittable_nodes": [],
        }

    def prepare(self, setup: object) -> dict[str, str]:
        """A session; HttpError 422 for a malformed setup."""
        kind = setup.get("kind") if isinstance(setup, dict) else None
        if kind not in ("none", "fixture", "failing_tool"):
            raise HttpError(422, "setup.kind must be none, fixture or failing_tool")
        if kind != "none":
            return {"failed": "this service has neither fixtures nor tools"}
        session = uuid.uuid4().hex
        with self._lock:
            self._sessions.add(session)
        return {"session_id": session}

    def release(self, session: str) -> dict[str, bool]:
        with self._lock:
            known = session in self._sessions
            self._sessions.discard(session)
        return {"released": known}

    def submit(self, session: str, text: str, key: str) -> dict[str, Any]:
        """The answer to `text`; HttpError 404 for a session that is not known."""
        number = attempt_number(key)
        with self._lock:
            if session not in self._sessions:
                raise HttpError(404, "no such session; it may have been released")
            self.asked[key] += 1
            self.tally[text, number] += 1
        time.sleep(self._pace * (200 + self._draw("time", text, number) % 1001) / 1000)
        return self.answer(text, number)

    def answer(self, text: str, number: int) -> dict[str, Any]:
        """What attempt `number` of the question `text` is answered, whenever and by whomever it is asked."""
        found = self.search(text)
        if not found:
            return {"reply": NOTHING, "citations": [], "context": [], "usage": _usage(text, (), NOTHING)}
        units = [unit for unit, _ in found]
        near = [unit for unit, score in found if score >= NEAR * found[0][1]][:CITED]
        slip = self._slip(text, number)
        cited = near
        if slip is Slip.DROPS_THE_BEST:
            cited = near[1:]
        elif slip is Slip.SWAPS_THE_BEST:
            others = [unit for unit in units if unit not in near]
            cited = [*others[:1], *near[1:]]
        reply = " ".join(_quoted(unit, whole=slip is Slip.QUOTES_EVERYTHING) for unit in near)
        citations = [{"id": unit.id, "quote": _cut(unit.text)} for unit in cited]
        if slip is Slip.CITES_WHAT_IS_NOT_THERE:
            citations.append({"id": NOWHERE})
        return {
            "reply": reply,
            "citations": citations,
            "context": [{"id": unit.id, "text": unit.text} for unit in units],
            "usage": _usage(text, units, reply),
        }

    def search(self, text: str) -> list[tuple[Unit, float]]:
        """The provisions nearest to `text` with their scores, best first, without articles that are cited by
        their paragraphs."""
        hits = self._regulation.search(text, limit=4 * FOUND)
        fine = [hit for hit in hits if not (hit.unit.parent == "gdpr" and hit.unit.id in self._above)]
        return [(hit.unit, hit.score) for hit in fine[:FOUND]]

    def _slip(self, text: str, number: int) -> Slip | None:
        drawn = self._draw("slip", text, number) % 100
        for slip, share in IN_A_HUNDRED.items():
            drawn -= share
            if drawn < 0:
                return slip
        return None

    def _draw(self, *about: object) -> int:
        return _number("|".join(map(str, (self._seed, *about))))


def attempt_number(key: str) -> int:
    """The number of the attempt that a key names (`...-number.try.turn`); any other key has its own."""
    numbered = _KEY_NUMBER.search(key)
    return int(numbered[1][-9:]) if numbered else _number(key)


def reference(unit_id: str) -> str:
    """How a lawyer writes it: `gdpr/art:17/par:1/pt:a` is Article 17(1)(a)."""
    article, *below = [part.partition(":")[2] for part in unit_id.split("/")[1:]]
    return f"Article {article}" + "".join(f"({part})" for part in below)


def service_app(library: Library) -> Any:
    """The service as a WSGI application."""

    def submit(body: dict[str, Any]) -> dict[str, Any]:
        texts = [text_field(body, name) for name in ("session_id", "text", "idempotency_key")]
        return library.submit(*texts)

    routes: dict[tuple[str, str], Any] = {
        ("GET", "/capabilities"): lambda _: library.capabilities(),
        ("POST", "/prepare"): lambda body: library.prepare(body.get("setup")),
        ("POST", "/submit"): submit,
        ("POST", "/release"): lambda body: library.release(text_field(body, "session_id")),
    }
    return json_app(routes, lambda _status, detail: {"error": detail}, bearer(None))


def serve(library: Library, port: int = 0) -> ServerThread:
    """The service on 127.0.0.1, listening when this returns; port 0 takes a free one."""
    return ServerThread(
        service_app(library), "127.0.0.1", port, threads=THREADS, name="GDPR retrieval service"
    )


def _quoted(unit: Unit, *, whole: bool) -> str:
    cut = unit.text if whole else _cut(unit.text)
    return f"{reference(unit.id)}: “{cut}”{'' if cut == unit.text else ' ...'}"


def _cut(text: str) -> str:
    """At most `QUOTED` characters of `text`, whole words."""
    return text if len(text) <= QUOTED else text[: QUOTED + 1].rsplit(" ", 1)[0]


def _usage(text: str, read: Sequence[Unit], reply: str) -> dict[str, int]:
    prompt = INSTRUCTIONS_TOKENS + _tokens(text) + sum(_tokens(unit.text) for unit in read)
    return {"prompt_tokens": prompt, "completion_tokens": _tokens(reply)}


def _tokens(text: str) -> int:
    """About how many tokens `text` has: a quarter of its characters."""
    return (len(text) + 3) // 4


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8])


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve the GDPR retrieval service until Ctrl-C.")
    parser.add_argument("--port", type=int, default=8803)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--pace", type=float, default=1.0, help="1: 0.2 to 1.2 s an answer; 0: at once")
    options = parser.parse_args()
    server = serve(Library(seed=options.seed, pace=options.pace), options.port)
    print(f"The GDPR retrieval service listens on {server.url}; Ctrl-C stops it.", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        server.close()


if __name__ == "__main__":
    main()
