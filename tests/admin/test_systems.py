"""Targets and judge models: configuration without secrets, for the admin role."""

from __future__ import annotations

import pytest
from django.test import Client

from experiments.models import Activity, JudgeModel, Target
from tests.admin.conftest import typed
from tests.admin.test_doors import address
from tests.factories import make_target

SECRET = "sk-live-0123456789"


def test_a_target_is_saved_with_its_defaults_and_a_secret_by_reference(
    admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAIMS_TOKEN", SECRET)
    form = typed(
        admin,
        address("target", "add"),
        name="claims",
        url="https://claims.example.org/eval/",
        token="env:CLAIMS_TOKEN",
    )
    assert admin.post(address("target", "add"), form).status_code == 302
    target = Target.objects.get()
    assert target.config["url"] == "https://claims.example.org/eval"
    assert target.config["token"] == "env:CLAIMS_TOKEN"
    assert target.config["total_seconds"] == 120.0
    shown = admin.get(address("target", "change", target.pk)).text
    assert "env:CLAIMS_TOKEN</bdi></code> is set here" in shown
    assert SECRET not in shown


def test_a_literal_secret_is_refused_with_the_remedy_and_shown_nowhere(admin: Client) -> None:
    for model, field in (("target", "token"), ("judgemodel", "api_key")):
        url = address(model, "add")
        form = typed(admin, url, name="x", **{field: SECRET})
        form.update({"url": "https://a.example"} if model == "target" else {"model": "claude"})
        answer = admin.post(url, form)
        assert answer.status_code == 422
        assert "environment variable" in answer.context["form"].errors[field][0]
        assert "env:" in answer.context["form"].errors[field][0]
        assert SECRET not in answer.text
        preview = admin.post(url, {**form, "_preview": "1"}, headers={"HX-Request": "true"})
        assert SECRET not in preview.text
    assert not Target.objects.exists()
    assert not JudgeModel.objects.exists()
    assert not Activity.objects.exists()


def test_a_variable_that_is_not_set_here_is_told(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOT_SET_HERE", raising=False)
    target = make_target(token="env:NOT_SET_HERE")
    shown = admin.get(address("target", "change", target.pk)).text
    assert "the environment variable NOT_SET_HERE is not set" in shown


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"url": "ftp://x"}, "url"),
        ({"url": "https://user:pass@x.example"}, "url"),
        ({"url": "x"}, "url"),
        ({"url": ""}, "url"),
        ({"token": "env:"}, "token"),
        ({"connect_seconds": "0"}, "connect_seconds"),
        ({"max_reply_bytes": "1"}, "max_reply_bytes"),
        ({"total_seconds": "99999"}, "total_seconds"),
        ({"name": "has space"}, "name"),
    ],
)
def test_a_setting_that_cannot_work_is_refused_at_its_field(
    admin: Client, fields: dict[str, str], field: str
) -> None:
    url = address("target", "add")
    form = {**typed(admin, url), "name": "x", "url": "https://a.example", **fields}
    answer = admin.post(url, form)
    assert answer.status_code == 422
    assert field in answer.context["form"].errors
    assert not Target.objects.exists()


def test_a_changed_target_says_before_and_after(admin: Client) -> None:
    target = make_target()
    url = address("target", "change", target.pk)
    admin.post(url, typed(admin, url, url="http://127.0.0.1:8"))
    line = Activity.objects.get()
    assert line.before["url"] == "http://127.0.0.1:9"
    assert line.after["url"] == "http://127.0.0.1:8"
    assert "http://127.0.0.1:8" in admin.get(address("target", "history", target.pk)).text


def test_a_target_that_does_not_answer_is_told_by_its_check(admin: Client) -> None:
    target = make_target()
    answer = admin.post(address("target", "check", target.pk), follow=True)
    assert "could not be asked" in answer.text
    assert admin.get(address("target", "check", target.pk)).status_code == 405


def test_a_judge_model_is_saved_and_edited(admin: Client) -> None:
    url = address("judgemodel", "add")
    admin.post(url, typed(admin, url, name="claude", model="claude-x", base_url=""))
    judge = JudgeModel.objects.get()
    assert judge.config["api_key"] == "env:ANTHROPIC_API_KEY"
    url = address("judgemodel", "change", judge.pk)
    admin.post(url, typed(admin, url, max_tokens="2000"))
    judge.refresh_from_db()
    assert judge.config["max_tokens"] == 2000
