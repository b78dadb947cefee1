"""The desk behind the demo service: sessions, claims, tools and answers. No HTTP here.

What an answer says depends on the text, the session and the place the idempotency key gives it in the topic's
order (see :func:`place`); so the same keys give the same run again, and another seed other attempts.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from experiments.demo.handbook import Handbook, Hit, load_handbook
from experiments.demo.topics import (
    LEDGER,
    LEDGER_DOWN,
    NOT_IN_HANDBOOK,
    SEARCH,
    TIMING_OF_A_KNOWN_CLAIM,
    WHICH_CLAIM,
    Answer,
    Topic,
    emittable_nodes,
    find_topic,
)

VERSION = "demo-1.0"
EARLIER_VERSION = "demo-0.9"
FIXTURES = {
    "open_claim": "A conversation about one claim of the ledger. Parameter: claim, such as RC-2051.",
    "hardship_household": "A household that asked for relief. Parameters: members, monthly_income in euros.",
}
BREAKABLE_TOOLS = (LEDGER,)
MODEL = "scripted-demo-desk"

MAX_SESSIONS = 10_000
MAX_REMEMBERED = 50_000
_CLAIM = re.compile(r"\b([A-Za-z]{2}-\d{4})\b")
_KEY_NUMBER = re.compile(r"(\d+)\.\d+\.\d+$")
_TEXT_READ = 20_000
_SHARE_OF_BEST = 0.55


class DeskError(Exception):
    """A request that cannot be answered; `status` is the HTTP status it becomes."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


@dataclass(slots=True)
class Claim:
    """A claim in the ledger; `amount` in euros."""

    number: str
    status: str
    amount: str


_LEDGER_ROWS = (
    ("PK-4417", "granted on 3 March", "56.00"),
    ("RC-2051", "under review", "118.40"),
    ("EV-0310", "refused on 12 February", "240.00"),
)


@dataclass(slots=True)
class Session:
    """One conversation. `broken` holds the tools that fail, with the error each gives."""

    id: str
    ledger: dict[str, Claim]
    claim: Claim | None = None
    income: str = ""
    broken: dict[str, str] = field(default_factory=dict)
    heard: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(slots=True)
class _Remembered:
    """An answer by its key: who comes second waits for `done`."""

    asked: tuple[str, str]
    done: threading.Event = field(default_factory=threading.Event)
    answer: dict[str, Any] | None = None


class Desk:
    """Answers questions from the handbook. Safe to use from many threads.

    `seed` 0 gives the attempts of a case its answers in the written order, any other seed starts elsewhere in
    it. `earlier` is the release before this one, which answers some questions otherwise. `pace` scales the
    time an answer takes (1.0: 20 to 120 ms; 0: none). `effects` counts changes really made to the ledger: a
    repeated request makes none.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        pace: float = 1.0,
        handbook: Handbook | None = None,
        sleep: Callable[[float], None] = time.sleep,
        earlier: bool = False,
    ) -> None:
        self.handbook = handbook or load_handbook()
        self.effects = 0
        self._seed = seed
        self._earlier = earlier
        self._pace = pace
        self._sleep = sleep
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._remembered: OrderedDict[str, _Remembered] = OrderedDict()
        self._lock = threading.Lock()

    def capabilities(self) -> dict[str, Any]:
        """What the service can build, break and report."""
        return {
            "version": EARLIER_VERSION if self._earlier else VERSION,
            "fixtures": FIXTURES,
            "breakable_tools": list(BREAKABLE_TOOLS),
            "emittable_nodes": list(emittable_nodes()),
        }

    def prepare(self, setup: dict[str, Any]) -> dict[str, str]:
        """`{session_id}` of a new session, or `{failed}` with the reason. DeskError 422 for a malformed
        setup."""
        session = Session(uuid.uuid4().hex, {row[0]: Claim(*row) for row in _LEDGER_ROWS})
        reason = _arrange(session, setup)
        if reason is not None:
            return {"failed": reason}
        with self._lock:
            self._sessions[session.id] = session
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
        return {"session_id": session.id}

    def release(self, session_id: str) -> dict[str, bool]:
        """Forgets a session; one that is not known (any more) is no error."""
        with self._lock:
            return {"released": self._sessions.pop(session_id, None) is not None}

    def submit(self, session_id: str, text: str, key: str) -> dict[str, Any]:
        """The answer to `text`. The same `key` gives the same answer, and changes nothing twice.

        DeskError 404 for a session that is not known, 409 for a key that was used for something else.
        """
        with self._lock:
            session = self._sessions.get(session_id)
            if session is None:
                raise DeskError(404, "no such session; it may have been released")
            remembered = self._remembered.get(key)
            first = remembered is None
            if remembered is None:
                remembered = self._remembered[key] = _Remembered((session_id, text))
                while len(self._remembered) > MAX_REMEMBERED:
                    self._remembered.popitem(last=False)
        if remembered.asked != (session_id, text):
            raise DeskError(409, "this idempotency key was used for another session or text")
        if first:
            return self._answer_first(session, text, key, remembered)
        if not remembered.done.wait(timeout=30) or remembered.answer is None:
            raise DeskError(503, "the first request with this key has not been answered")
        return remembered.answer

    def _answer_first(self, session: Session, text: str, key: str, remembered: _Remembered) -> dict[str, Any]:
        try:
            with session.lock:
                self._sleep(self._pace * (20 + _number(f"{self._seed}|{key}") % 101) / 1000)
                remembered.answer = self._answer(session, text[:_TEXT_READ], key)
            return remembered.answer
        finally:
            if remembered.answer is None:
                with self._lock:
                    self._remembered.pop(key, None)
            remembered.done.set()

    def _answer(self, session: Session, text: str, key: str) -> dict[str, Any]:
        hits = self.handbook.search(text, limit=4)
        tools = [_call(SEARCH, {"query": text}, [hit.unit.id for hit in hits])]
        topic = find_topic(text) or NOT_IN_HANDBOOK
        if topic.reads_ledger:
            topic = self._look_up(session, text, topic, tools)
        period = len(topic.order_in(earlier=self._earlier))
        answer = topic.answer(place(key, topic.name, self._seed, period), earlier=self._earlier)
        if topic.withdraws and session.claim:
            session.claim.status = "withdrawn"
            with self._lock:
                self.effects += 1
        return self._reply(session, text, topic, answer, hits, tools)

    def _look_up(self, session: Session, text: str, topic: Topic, tools: list[dict[str, Any]]) -> Topic:
        """Reads the claim at hand from the ledger; the topic to go on with."""
        named = _CLAIM.search(text)
        number = named[1].upper() if named else session.claim.number if session.claim else None
        arguments = {"claim": number}
        if LEDGER in session.broken:
            tools.append(_call(LEDGER, arguments, session.broken[LEDGER], failed=True))
            return LEDGER_DOWN
        claim = session.ledger.get(number or "")
        if claim is None:
            tools.append(_call(LEDGER, arguments, None))
            return WHICH_CLAIM
        session.claim = claim
        tools.append(_call(LEDGER, arguments, {"status": claim.status, "amount": claim.amount}))
        return topic

    def _reply(
        self,
        session: Session,
        text: str,
        topic: Topic,
        answer: Answer,
        hits: tuple[Hit, ...],
        tools: list[dict[str, Any]],
    ) -> dict[str, Any]:
        reply = _fill(answer.text, session)
        context = [{"id": hit.unit.id, "text": hit.unit.text} for hit in hits]
        session.heard += _tokens(text) + _tokens(reply)
        prompt = answer.drafts * (240 + session.heard + sum(_tokens(passage["text"]) for passage in context))
        completion = answer.drafts * _tokens(reply)
        usage = {"prompt_tokens": prompt, "completion_tokens": completion}
        body: dict[str, Any] = {
            "reply": reply,
            "citations": self._citations(answer, hits),
            "tools_called": tools,
            "model_calls": [{"model": MODEL, **usage}] if answer.reports_usage else [],
            "context": context,
            "end_state": _end_state(session),
        }
        if answer.reports_usage:
            body["usage"] = usage
        node = (
            TIMING_OF_A_KNOWN_CLAIM if topic.node == "RF-04" and session.claim else answer.node or topic.node
        )
        for name, value in (("node", node), ("refusal_code", topic.refusal), ("failure", answer.failure)):
            if value is not None:
                body[name] = value
        return body

    def _citations(self, answer: Answer, hits: tuple[Hit, ...]) -> list[dict[str, str]]:
        """The rules an answer cites: what was found near enough, at most three, then what it invents."""
        near = [hit.unit for hit in hits if hit.score >= _SHARE_OF_BEST * hits[0].score][:3]
        cited = near if answer.cites is None else [hit.unit for hit in hits[: answer.cites]]
        found = [{"id": unit.id, "quote": unit.text} for unit in cited]
        return found + [{"id": unit_id} for unit_id in answer.invents]


def place(key: str, topic: str, seed: int, period: int) -> int:
    """Which answer of `period` an attempt gets, from 0.

    evalsite's keys end in `number.try.turn`; the number that stands there makes any `period` consecutive
    attempts get each place once, in any order of asking. Any other key is drawn by its hash.
    """
    numbered = _KEY_NUMBER.search(key)
    drawn = int(numbered[1][-9:]) - 1 if numbered else _number(key)
    shift = _number(f"{seed}|{topic}") if seed else 0
    return (drawn + shift) % period


def _arrange(session: Session, setup: dict[str, Any]) -> str | None:
    """Builds `setup` into the session, from the outside in; the reason when it cannot be built."""
    kind = setup.get("kind")
    while kind == "failing_tool":
        tool, message, then = setup.get("tool"), setup.get("message", ""), setup.get("then", {"kind": "none"})
        if not isinstance(tool, str) or not isinstance(message, str) or not isinstance(then, dict):
            raise DeskError(422, "a failing_tool setup wants tool, message and then")
        if tool not in BREAKABLE_TOOLS:
            return f"the tool {tool[:100]!r} cannot be broken here; only {', '.join(BREAKABLE_TOOLS)} can"
        session.broken[tool] = message or f"{tool} is out of service"
        setup, kind = then, then.get("kind")
    if kind == "none":
        return None
    if kind != "fixture":
        raise DeskError(422, "setup.kind must be none, fixture or failing_tool")
    parameters = setup.get("parameters", {})
    if not isinstance(setup.get("name"), str) or not isinstance(parameters, dict):
        raise DeskError(422, "a fixture setup wants name and parameters")
    return _build_fixture(session, setup["name"], parameters)


def _build_fixture(session: Session, name: str, parameters: dict[str, Any]) -> str | None:
    if name == "open_claim":
        number = str(parameters.get("claim", "RC-2051"))[:100]
        session.claim = session.ledger.get(number)
        return None if session.claim else f"claim {number} is in the paper archive and cannot be loaded"
    if name == "hardship_household":
        members, income = parameters.get("members", 1), parameters.get("monthly_income", 1250)
        if not _is_amount(members) or not _is_amount(income):
            return "members and monthly_income must be numbers from 0 to 1,000,000"
        session.income = f"{income:,}"
        return None
    return f"there is no fixture {name[:100]!r}; there are {', '.join(FIXTURES)}"


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1_000_000


def _fill(text: str, session: Session) -> str:
    """`text` with what the session knows; written so that braces in the data stay data."""
    claim = session.claim
    known = {
        "claim": claim.number if claim else "",
        "status": claim.status if claim else "",
        "amount": claim.amount if claim else "",
        "income": session.income or "not known",
    }
    return re.sub(r"\{(\w+)\}", lambda found: known.get(found[1], found[0]), text)


def _end_state(session: Session) -> dict[str, Any]:
    claim = session.claim
    return (
        {"claim": claim.number, "status": claim.status, "amount": claim.amount} if claim else {"claim": None}
    )


def _call(name: str, arguments: dict[str, Any], result: Any, *, failed: bool = False) -> dict[str, Any]:
    return {"name": name, "arguments": arguments, "result": result, "failed": failed}


def _tokens(text: str) -> int:
    """About how many tokens `text` has: a quarter of its characters."""
    return (len(text) + 3) // 4


def _number(text: str) -> int:
    """A number that only depends on `text`; any characters are allowed."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8])
