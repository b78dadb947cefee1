"""The HTTP target against a real server: what it reads, and what it says when a service misbehaves."""

import asyncio
import json
import logging
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from experiments.evaluation import Citation, FailingTool, Fixture, ModelCall, Passage, Replay, ToolCall
from experiments.targets.base import Capabilities, Ready, Reply, SetupFailed, Target, TargetError
from experiments.targets.opening import open_target
from experiments.wire.target import ContractHttpConfig
from tests.local_http import Answer, LocalHttp, Respond, Seen, always, contract

T = TypeVar("T")
CANARY = "canary-7f3a9b-token"


def talk(
    respond: Respond, work: Callable[[Target], Awaitable[T]], *, token: str | None = None, **options: Any
) -> tuple[T, LocalHttp]:
    async def run() -> tuple[T, LocalHttp]:
        async with LocalHttp(respond) as server:
            reference = "env:T" if token else None
            config = ContractHttpConfig(url=server.url, token=reference, **options)
            target = open_target(config, environ={"T": token or ""})
            try:
                return await work(target), server
            finally:
                await target.aclose()

    return asyncio.run(run())


def submit(respond: Respond, **options: Any) -> Reply:
    return talk(respond, lambda target: target.submit("s1", "hi", "k1"), **options)[0]


def submit_error(respond: Respond, **options: Any) -> TargetError:
    with pytest.raises(TargetError) as caught:
        submit(respond, **options)
    assert "/submit" in caught.value.detail
    return caught.value


def test_a_full_reply_arrives_whole() -> None:
    body = {
        "reply": "thirty days",
        "node": "N-1",
        "citations": [{"id": "a/b", "quote": "q"}, {"id": "c"}],
        "refusal_code": "no_advice",
        "tools_called": [{"name": "find", "arguments": {"n": 1}, "result": [1], "failed": True}],
        "model_calls": [{"model": "m", "prompt_tokens": 3, "completion_tokens": 4, "seconds": 0.5}],
        "context": [{"id": "p", "text": "passage"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 6},
        "end_state": {"open": False},
        "failure": "slow backend",
        "cached": True,
    }
    assert submit(contract(Answer(body))) == Reply(
        "thirty days",
        node="N-1",
        citations=(Citation(id="a/b", quote="q"), Citation(id="c")),
        refusal_code="no_advice",
        tools_called=(ToolCall(name="find", arguments={"n": 1}, result=[1], failed=True),),
        model_calls=(ModelCall(model="m", prompt_tokens=3, completion_tokens=4, seconds=0.5),),
        context=(Passage(id="p", text="passage"),),
        prompt_tokens=5,
        completion_tokens=6,
        end_state={"open": False},
        failure="slow backend",
        cached=True,
    )


def test_what_a_service_does_not_report_stays_unknown() -> None:
    assert submit(contract(Answer({"reply": "x"}))) == Reply("x")
    assert submit(contract(Answer({"reply": None}))).text is None
    assert submit(contract(Answer({"reply": "x", "tools_called": []}))).tools_called == ()


def test_capabilities_and_setups_go_over_the_wire_as_the_contract_says() -> None:
    async def work(target: Target) -> tuple[Capabilities, Ready | SetupFailed]:
        broken = FailingTool(tool="orders", message="down", then=Fixture(name="late", parameters={"days": 3}))
        walked = FailingTool(tool="orders", message="down", then=Replay(user_turns=("a",)))
        await target.prepare(broken)
        return await target.capabilities(), await target.prepare(walked)

    found = {"version": "2", "fixtures": {"late": "a late order"}, "breakable_tools": ["orders"]}
    (capabilities, made), server = talk(contract(capabilities=Answer(found)), work)
    assert capabilities == Capabilities("2", {"late": "a late order"}, ("orders",), ())
    assert made == Ready("s1")
    first, second = (seen.json["setup"] for seen in server.paths("/prepare"))
    assert first["then"] == {"kind": "fixture", "name": "late", "parameters": {"days": 3}}
    assert second == {"kind": "failing_tool", "tool": "orders", "message": "down", "then": {"kind": "none"}}


def test_a_setup_the_service_cannot_build_is_no_error_but_an_answer() -> None:
    refused = contract(prepare=Answer({"failed": "no such fixture"}))
    assert talk(refused, lambda target: target.prepare(Fixture(name="x")))[0] == SetupFailed(
        "no such fixture"
    )


def test_hostile_text_survives_both_ways() -> None:
    hostile = "NUL \x00 lone \ud800 \udfff bidi ‮ <script>alert(1)</script>"

    async def echo(seen: Seen) -> Answer:
        return Answer({"reply": seen.json["text"]})

    reply, _ = talk(contract(echo), lambda target: target.submit("s1", hostile, "k"))
    assert reply.text == hostile


def test_two_megabytes_of_reply_are_kept_whole() -> None:
    text = "é" * 1_000_000
    assert submit(contract(Answer(json.dumps({"reply": text}, ensure_ascii=False)))).text == text


def test_an_overlong_answer_is_cut_at_the_stated_limit_and_says_so() -> None:
    body = '{"reply": "' + "x" * 5000 + '", "citations": [{"id": "a"}]}'
    reply = submit(contract(Answer(body)), max_reply_bytes=2048)
    assert reply.incomplete
    assert reply.text is not None
    assert set(reply.text) == {"x"}
    assert 2000 < len(reply.text) < 2048
    assert "2,048 bytes" in reply.notes[0]
    assert "max_reply_bytes" in reply.notes[0]


def test_an_overlong_answer_without_end_is_not_read_to_its_end() -> None:
    async def endless(seen: Seen) -> Answer:
        return Answer(raw=b"HTTP/1.1 200 x\r\ncontent-type: application/json\r\n\r\n" + b"[" * 3_000_000)

    reply = submit(contract(endless), max_reply_bytes=4096)
    assert (reply.text, reply.incomplete) == (None, True)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (Answer("<html>hi</html>", kind="text/html; charset=utf-8"), "text/html instead of application/json"),
        (Answer("<html>hi</html>", kind="<script>/x"), "another media type instead"),
        (Answer("", kind="application/json"), "empty body"),
        (Answer("  \n ", status=200), "empty body"),
        (Answer("", status=204, kind=None), "empty body"),
        (Answer("{not json"), "is not JSON"),
        (Answer("[1, 2]"), "is not a JSON object"),
        (Answer('{"reply": NaN}'), "no JSON"),
        (Answer(b'{"reply": "\xff"}'), "is not UTF-8"),
        (Answer('{"reply": 7}'), "reply:"),
        (Answer({"reply": "x", "usage": {"prompt_tokens": -1}}), "usage.prompt_tokens"),
        (Answer({"reply": "x", "usage": {"prompt_tokens": 10**15}}), "usage.prompt_tokens"),
        (Answer({"reply": "x", "model_calls": [{"prompt_tokens": 10**15}]}), "model_calls.0.prompt_tokens"),
        (Answer('{"reply": "x", "end_state": {"a": ' + "[" * 200 + "]" * 200 + "}}"), "deeper than"),
        (Answer("[" * 100_000), "too deeply"),
        (Answer({"reply": "x"}, headers={"content-encoding": "gzip"}), "compressed"),
        (Answer({}, status=301, headers={"location": "/elsewhere"}), "redirects are not followed"),
        (Answer({}, status=401), "wants a token"),
        (Answer({}, status=404), "base of the target contract"),
        (Answer({}, status=422), "docs/target-contract.md"),
        (Answer({}, status=501), "service's log"),
    ],
)
def test_an_answer_that_is_none_gets_one_sentence_and_no_second_try(answer: Answer, says: str) -> None:
    error = submit_error(contract(answer))
    assert says in error.detail
    assert error.permanent
    assert len(error.detail) < 400


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_a_failing_or_busy_service_may_be_asked_again(status: int) -> None:
    error = submit_error(contract(Answer("boom", status=status, headers={"retry-after": "7"})))
    assert not error.permanent
    assert error.retry_after == 7
    assert str(status) in error.detail


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("0", 0), ("99999999999999", 3600), ("soon", None), ("-1", None), ("Fri, 01 Jan 2010 00:00:00 GMT", 0)],
)
def test_retry_after_is_read_from_digits_and_dates_and_never_trusted_blindly(
    header: str, seconds: float | None
) -> None:
    assert submit_error(contract(Answer("", 503, headers={"retry-after": header}))).retry_after == seconds


async def _hang(seen: Seen) -> Answer:
    await asyncio.sleep(60)
    return Answer({})


def test_a_hang_ends_at_the_read_limit() -> None:
    error = submit_error(_hang, read_seconds=0.1)
    assert error.timed_out
    assert "0.1 s" in error.detail


def test_a_service_that_drips_bytes_ends_at_the_total_limit() -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 x\r\ncontent-type: application/json\r\n\r\n")
        try:
            while True:
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.02)
        except ConnectionError:
            writer.close()

    async def run() -> TargetError:
        server = await asyncio.start_server(drip, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        target = open_target(ContractHttpConfig(url=url, read_seconds=1, total_seconds=0.3))
        with pytest.raises(TargetError) as caught:
            await target.submit("s", "t", "k")
        await target.aclose()
        server.close()
        await asyncio.sleep(0.05)
        return caught.value

    error = asyncio.run(run())
    assert error.timed_out
    assert "0.3 s" in error.detail


def test_nobody_listening_is_said_and_may_be_tried_again() -> None:
    async def run() -> TargetError:
        server = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        target = open_target(ContractHttpConfig(url=f"http://127.0.0.1:{port}"))
        with pytest.raises(TargetError) as caught:
            await target.capabilities()
        await target.aclose()
        return caught.value

    error = asyncio.run(run())
    assert not error.permanent
    assert "GET /capabilities: no connection" in error.detail


def test_a_connection_that_breaks_in_the_middle_may_be_tried_again() -> None:
    half = Answer(
        raw=b"HTTP/1.1 200 x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{", close=True
    )
    error = submit_error(always(half))
    assert not error.permanent
    assert "broke" in error.detail


def test_no_http_at_all_is_one_sentence() -> None:
    assert "broke" in submit_error(always(Answer(raw=b"SSH-2.0-x\r\n\r\n", close=True))).detail


def test_a_connection_the_service_closed_between_two_calls_is_simply_opened_again() -> None:
    async def work(target: Target) -> str | None:
        await target.submit("s1", "one", "k1")
        await asyncio.sleep(0.05)
        return (await target.submit("s1", "two", "k2")).text

    closing = Answer(raw=Answer({"reply": "hello"}).encoded(), close=True)
    assert talk(contract(closing), work)[0] == "hello"


def test_the_client_serves_on_after_a_time_out() -> None:
    calls = iter([_hang, contract()])

    async def first_hangs(seen: Seen) -> Answer:
        return await next(calls)(seen)

    async def work(target: Target) -> str | None:
        with pytest.raises(TargetError):
            await target.submit("s1", "one", "k1")
        return (await target.submit("s1", "two", "k2")).text

    assert talk(first_hangs, work, read_seconds=0.1)[0] == "hello"


def test_cookies_of_one_attempt_never_reach_the_next() -> None:
    async def work(target: Target) -> None:
        await target.submit("s1", "one", "k1")
        await target.submit("s2", "two", "k2")

    _, server = talk(contract(Answer({"reply": "x"}, headers={"set-cookie": "session=1"})), work)
    assert all("cookie" not in seen.headers for seen in server.seen)


def test_the_token_travels_as_bearer_and_shows_up_nowhere_else(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def echo(seen: Seen) -> Answer:
        assert seen.headers["authorization"] == f"Bearer {CANARY}"
        told = json.dumps(seen.headers)
        if seen.path == "/prepare":
            return Answer({"failed": f"bad token {CANARY}"})
        return Answer({"reply": told, "failure": told})

    async def work(target: Target) -> tuple[Reply, Ready | SetupFailed]:
        return await target.submit("s1", "hi", "k1"), await target.prepare(Fixture(name="x"))

    (reply, made), _ = talk(echo, work, token=CANARY)
    assert CANARY not in repr((reply, made))
    assert "***" in (reply.text or "")
    assert "token" in reply.notes[0]
    assert CANARY not in caplog.text


@pytest.mark.parametrize(
    "answer",
    [
        Answer(CANARY, status=500),
        Answer(CANARY, status=401, headers={"www-authenticate": CANARY}),
        Answer(CANARY, status=307, headers={"location": f"/{CANARY}"}),
        Answer(f'{{"{CANARY}'),
        Answer({"reply": {CANARY: CANARY}}),
        Answer({"reply": "x", "usage": {"prompt_tokens": CANARY}}),
        Answer("x", kind=f"text/{CANARY}"),
        Answer(raw=CANARY.encode(), close=True),
    ],
)
def test_no_error_holds_the_token(answer: Answer) -> None:
    error = submit_error(contract(answer), token=CANARY)
    assert CANARY not in f"{error!r} {error} {error.detail} {error.__cause__!r}"


def test_a_missing_or_odd_token_is_named_by_its_variable() -> None:
    config = ContractHttpConfig(url="http://localhost", token="env:CLAIMS_TOKEN")
    with pytest.raises(TargetError, match="CLAIMS_TOKEN"):
        open_target(config, environ={})
    with pytest.raises(TargetError, match="CLAIMS_TOKEN") as caught:
        open_target(config, environ={"CLAIMS_TOKEN": "sécret"})
    assert "sécret" not in str(caught.value)


def test_a_service_without_release_is_asked_for_it_once() -> None:
    async def work(target: Target) -> None:
        with pytest.raises(TargetError):
            await target.release("s1")
        await target.release("s2")

    _, server = talk(contract(release=Answer({}, status=404)), work)
    assert len(server.paths("/release")) == 1


def test_release_may_answer_with_nothing() -> None:
    _, server = talk(contract(release=Answer("", status=204, kind=None)), lambda target: target.release("s1"))
    assert [seen.json for seen in server.seen] == [{"session_id": "s1"}]


def test_a_base_path_in_the_url_is_kept() -> None:
    async def run() -> list[str]:
        async with LocalHttp(always(Answer({"version": "1"}))) as server:
            target = open_target(ContractHttpConfig(url=server.url + "/eval/v1"))
            await target.capabilities()
            await target.aclose()
            return [seen.path for seen in server.seen]

    assert asyncio.run(run()) == ["/eval/v1/capabilities"]


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert submit(contract()).text == "hello"


def test_tls_works_with_a_trusted_certificate_and_an_untrusted_one_is_said_once() -> None:
    pem = Path(__file__).with_name("self_signed.pem")

    async def ask(url: str, context: ssl.SSLContext | None) -> Capabilities:
        target = open_target(ContractHttpConfig(url=url), context)
        try:
            return await target.capabilities()
        finally:
            await target.aclose()

    async def run() -> TargetError:
        server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server_side.load_cert_chain(pem)
        async with LocalHttp(contract(), server_side) as server:
            trusting = ssl.create_default_context(cafile=pem)
            assert await ask(server.url, trusting) == Capabilities("1")
            with pytest.raises(TargetError) as caught:
                await ask(server.url, None)
            return caught.value

    error = asyncio.run(run())
    assert error.permanent
    assert "certificate" in error.detail
