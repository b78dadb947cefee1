"""The target contract's bodies and configuration."""

import json

import pytest
from pydantic import ValidationError

from experiments.evaluation.setup import FailingTool, Fixture, NoSetup, Replay
from experiments.wire.body import BodyError
from experiments.wire.secrets import SecretError, resolve_secret
from experiments.wire.target import (
    CapabilitiesBody,
    ContractHttpConfig,
    PrepareReply,
    SubmitReply,
    prepare_request,
    target_config,
)


def test_a_reply_with_unknown_fields_a_nul_and_a_lone_surrogate_is_read_losslessly() -> None:
    raw = b'{"reply": "a\\u0000b\\ud800c", "later_field": 1, "citations": [{"id": "x", "url": "y"}]}'
    body = SubmitReply.read(raw)
    assert body.reply == "a\x00b\ud800c"
    assert [citation.value().id for citation in body.citations or ()] == ["x"]
    assert (body.tools_called, body.usage, body.end_state) == (None, None, None)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"<html>oops</html>", "is not JSON"),
        (b"[]", "is not a JSON object"),
        (b"\xff\xfe", "is not UTF-8"),
        (b'{"reply": 7}', "reply"),
        (b'{"reply": "x", "usage": {"prompt_tokens": -1}}', "usage.prompt_tokens"),
        (b'{"reply": NaN}', "NaN"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"usage": {"prompt_tokens": ' + b"9" * 10_000 + b"}}", "too long"),
    ],
)
def test_a_body_outside_the_contract_is_refused_with_the_reason(raw: bytes, reason: str) -> None:
    with pytest.raises(BodyError, match=reason):
        SubmitReply.read(raw)


def test_an_error_about_a_body_never_repeats_its_text() -> None:
    with pytest.raises(BodyError) as refused:
        SubmitReply.read(b'{"reply": {"patient": "Jansen"}}')
    assert "Jansen" not in str(refused.value)


@pytest.mark.parametrize("raw", [b"{}", b'{"session_id": "s", "failed": "no"}', b'{"session_id": ""}'])
def test_a_prepare_answer_holds_exactly_one_of_session_and_failure(raw: bytes) -> None:
    with pytest.raises(BodyError):
        PrepareReply.read(raw)


def test_capabilities_need_a_version_only() -> None:
    assert CapabilitiesBody.read(b'{"version": "1.2"}').fixtures == {}


@pytest.mark.parametrize(
    ("setup", "sent"),
    [
        (NoSetup(), {"kind": "none"}),
        (Replay(user_turns=("a", "b")), {"kind": "none"}),
        (
            Fixture(name="open-order", parameters={"n": 1}),
            {"kind": "fixture", "name": "open-order", "parameters": {"n": 1}},
        ),
        (
            FailingTool(tool="stock", message="down", then=Replay(user_turns=("a",))),
            {"kind": "failing_tool", "tool": "stock", "message": "down", "then": {"kind": "none"}},
        ),
        (
            FailingTool(tool="stock", message="down", then=Fixture(name="f")),
            {
                "kind": "failing_tool",
                "tool": "stock",
                "message": "down",
                "then": {"kind": "fixture", "name": "f", "parameters": {}},
            },
        ),
    ],
)
def test_prepare_sends_a_replay_as_none_and_nests_then(
    setup: NoSetup | Replay | Fixture | FailingTool, sent: dict[str, object]
) -> None:
    assert json.loads(prepare_request(setup).model_dump_json()) == {"setup": sent}


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://x",
        "https://",
        "https://user:geheim@host/",
        "http://host/?token=geheim",
        "http://ho st",
        "x:80",
    ],
)
def test_a_target_url_that_is_odd_or_holds_a_secret_is_refused_without_echoing_it(url: str) -> None:
    with pytest.raises(ValidationError) as refused:
        ContractHttpConfig(url=url)
    assert "geheim" not in str(refused.value)


def test_a_token_given_as_a_value_is_refused_without_echoing_it() -> None:
    with pytest.raises(ValidationError) as refused:
        ContractHttpConfig(url="http://host", token="sk-geheim")
    assert "geheim" not in str(refused.value)
    assert "env:CLAIMS_TOKEN" in str(refused.value)


def test_a_configuration_is_told_apart_by_its_adapter() -> None:
    assert target_config({"adapter": "contract_http", "url": "http://host/api/"}).url == "http://host/api"
    with pytest.raises(ValueError, match="known: contract_http"):
        target_config({"adapter": "telepathy", "url": "http://host"})


def test_a_secret_comes_from_the_environment_and_a_missing_one_is_named() -> None:
    assert resolve_secret("env:CLAIMS_TOKEN", {"CLAIMS_TOKEN": " t "}) == "t"
    with pytest.raises(SecretError, match="CLAIMS_TOKEN is not set"):
        resolve_secret("env:CLAIMS_TOKEN", {})
    with pytest.raises(SecretError) as refused:
        resolve_secret("sk-geheim", {})
    assert "geheim" not in str(refused.value)
