"""The demo service over real HTTP, as a client of the target contract meets it."""

from __future__ import annotations

import asyncio
import http.client
import json
from typing import Any

import httpx
import pytest

from experiments.demo.servers import DemoServices, start_demo_services
from experiments.evaluation import EvalSetup, FailingTool, Fixture, NoSetup, Replay
from experiments.targets.base import Ready, SetupFailed
from experiments.targets.contract_http import ContractHttpTarget
from experiments.targets.opening import open_target
from experiments.wire.target import ContractHttpConfig


def target(demo: DemoServices) -> ContractHttpTarget:
    opened = open_target(ContractHttpConfig(url=demo.service_url))
    assert isinstance(opened, ContractHttpTarget)
    return opened


def post(url: str, path: str, **request: Any) -> httpx.Response:
    with httpx.Client(trust_env=False) as client:
        return client.post(f"{url}{path}", **request)


def test_the_products_own_client_reads_everything_the_service_says(demo: DemoServices) -> None:
    asyncio.run(reads_everything(demo))


async def reads_everything(demo: DemoServices) -> None:
    client = target(demo)
    try:
        can = await client.capabilities()
        assert set(can.fixtures) == {"open_claim", "hardship_household"}
        assert can.breakable_tools == ("claim_ledger",)
        assert "RF-04.2" in can.emittable_nodes
        ready = await client.prepare(NoSetup())
        assert isinstance(ready, Ready)
        reply = await client.submit(ready.session_id, "How long do I have to send in an objection?", "1")
        assert reply.text
        assert reply.node == "OB-01"
        assert reply.citations[0].id == "handbook/ch:7/art:1"
        assert reply.citations[0].quote
        assert reply.context
        assert reply.prompt_tokens
        assert reply.completion_tokens
        assert reply.tools_called
        assert reply.tools_called[0].name == "handbook_search"
        assert reply.model_calls
        assert reply.end_state == {"claim": None}
        await client.release(ready.session_id)
    finally:
        await client.aclose()


def test_every_kind_of_setup_can_be_prepared(demo: DemoServices) -> None:
    asyncio.run(prepares_every_kind(demo))


async def prepares_every_kind(demo: DemoServices) -> None:
    client = target(demo)
    claim = Fixture(name="open_claim", parameters={"claim": "RC-2051"})
    replay = Replay(user_turns=("hello",))
    try:
        setups: list[EvalSetup] = [NoSetup(), replay, claim]
        for setup in [*setups, *(broken(then) for then in setups)]:
            assert isinstance(await client.prepare(setup), Ready)
        refused = await client.prepare(Fixture(name="open_claim", parameters={"claim": "RC-1999"}))
        assert isinstance(refused, SetupFailed)
        assert "RC-1999" in refused.reason
    finally:
        await client.aclose()


def broken(then: EvalSetup) -> FailingTool:
    return FailingTool(tool="claim_ledger", message="503", then=then)


def test_64_lanes_at_once_each_get_their_own_answers() -> None:
    async def lane(demo: DemoServices, number: int) -> None:
        client = target(demo)
        try:
            for turn in range(2):
                income = 1000 + 10 * number + turn
                setup = Fixture(
                    name="hardship_household", parameters={"members": 2, "monthly_income": income}
                )
                ready = await client.prepare(setup)
                assert isinstance(ready, Ready)
                key = f"lane-{number}.{turn}"
                reply = await client.submit(ready.session_id, "May I pay in instalments?", key)
                assert f"{income:,} euros" in (reply.text or "")
                await client.release(ready.session_id)
        finally:
            await client.aclose()

    async def all_lanes(demo: DemoServices) -> None:
        await asyncio.gather(*(lane(demo, number) for number in range(64)))

    with start_demo_services(pace=0.2) as demo:
        asyncio.run(all_lanes(demo))


def test_a_connection_is_kept_open_between_requests(demo: DemoServices) -> None:
    connection = http.client.HTTPConnection(demo.service.host, demo.service.port, timeout=5)
    try:
        for _ in range(3):
            connection.request("GET", "/capabilities")
            response = connection.getresponse()
            assert response.version == 11
            assert json.loads(response.read())["version"]
            assert connection.sock is not None
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/prepare", b"not json", 400),
        ("/prepare", b"\xff\xfe", 400),
        ("/prepare", b"[]", 400),
        ("/prepare", b"[" * 100_000, 400),
        ("/prepare", b"{}", 422),
        ("/prepare", b'{"setup": {"kind": "replay"}}', 422),
        ("/submit", b'{"session_id": "x", "text": "hello"}', 422),
        ("/submit", b'{"session_id": "x", "text": "hello", "idempotency_key": "k"}', 404),
        ("/prepare", b'"' + b"x" * 5_000_000 + b'"', 413),
        ("/nowhere", b"{}", 404),
        ("/capabilities", b"{}", 405),
    ],
)
def test_a_bad_request_gets_its_status_and_a_sentence(
    demo: DemoServices, path: str, body: bytes, status: int
) -> None:
    response = post(demo.service_url, path, content=body)
    assert response.status_code == status
    assert response.json()["error"]


def test_hostile_text_goes_in_and_comes_back_as_json(demo: DemoServices) -> None:
    session_id = post(demo.service_url, "/prepare", json={"setup": {"kind": "none"}}).json()["session_id"]
    text = "\x00\ud800\u202e<script>"
    body = json.dumps({"session_id": session_id, "text": text, "idempotency_key": "k"})
    answer = post(demo.service_url, "/submit", content=body.encode()).json()
    assert answer["reply"]
    assert answer["tools_called"][0]["arguments"]["query"] == text


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (None, 401),
        ("Bearer wrong", 401),
        ("Basic x", 401),
        ("Bearer s3cret", 200),
        ("Bearer s3cr\u00e9t", 401),
    ],
)
def test_with_a_token_only_its_bearer_is_answered(header: str | None, status: int) -> None:
    headers = {"Authorization": header.encode("latin-1")} if header else {}
    with start_demo_services(pace=0, token="s3cret") as demo:
        response = post(demo.service_url, "/prepare", json={"setup": {"kind": "none"}}, headers=headers)
    assert response.status_code == status
