"""What systems, judges and authors write is shown and never obeyed."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from experiments.models import Attempt, AttemptEvidence, CaseResult, Experiment
from experiments.selectors.case import REPLY_SHOWN
from experiments.templatetags.evalsite import visible
from tests.web.world import a_run, an_experiment

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)><a href='javascript:alert(3)'>go</a>"
HOSTILE = f"{SCRIPT} \0 \ud800 \u202egpj.exe\u202c \u200b {{{{ 7|add:7 }}}} {{% url 'x' %}}"


def case_address(run_id: int) -> str:
    row = CaseResult.objects.get(grading__run=run_id)
    return reverse("web:case_in_run", args=[run_id, row.pk])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("a <b> & \"c\" 'd'", "a &lt;b&gt; &amp; &quot;c&quot; &#x27;d&#x27;"),
        ("line\r\n\ttab", "line\n\ttab"),
        ("é ж 日本 😀 👩‍💻", "é ж 日本 😀 👩‍💻"),
        ("x\ud800y", "x\ufffdy"),
        ("", ""),
    ],
)
def test_text_is_escaped_and_otherwise_as_it_was(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("character", "name"),
    [
        ("\0", "NUL"),
        ("\x1b", "U+001B"),
        ("\x7f", "U+007F"),
        ("\u202e", "U+202E"),
        ("\u2066", "U+2066"),
        ("\u200b", "U+200B"),
        ("\ufeff", "U+FEFF"),
        ("\u2028", "U+2028"),
        ("\U000e0041", "U+E0041"),
    ],
)
def test_a_character_that_hides_or_reorders_text_is_shown_as_a_labelled_box(
    character: str, name: str
) -> None:
    html = visible(f"a{character}b")
    assert character not in html
    assert re.fullmatch(rf'a<span class="control" title="[^"]+">{re.escape(name)}</span>b', html)


def test_a_hostile_reply_is_inert_on_the_page_of_its_case(viewer: Client, experiment: Experiment) -> None:
    run = a_run(experiment, {"a": "PF"}, replies={"a": HOSTILE}, reasons={"a": SCRIPT + "\u202e"})
    html = viewer.get(case_address(run.pk)).content.decode()
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert "<a href='javascript" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "{{ 7|add:7 }}" in html
    assert "\0" not in html
    assert "\u202e" not in html
    assert '<bdi dir="auto">' in html


def test_hostile_reasons_and_names_are_inert_in_every_list(viewer: Client) -> None:
    experiment = an_experiment("plain")
    # A name is a slug by form only: what reaches the database by another way must be inert as well.
    type(experiment).objects.filter(pk=experiment.pk).update(name=SCRIPT[:90])
    experiment.refresh_from_db()
    run = a_run(
        experiment,
        {"a": "PF", "b": "FF"},
        reasons={"a": SCRIPT + "\u202e", "b": SCRIPT},
        target_name=SCRIPT[:90],
        last_error=SCRIPT,
        state="running",
    )
    for address in ("/", "/runs/", "/experiments/", f"/runs/{run.pk}/", f"/experiments/{experiment.pk}/"):
        html = viewer.get(address).content.decode()
        assert "<script>alert" not in html
        assert "<img src=x" not in html
        assert "\u202e" not in html
        assert "&lt;script&gt;alert(1)" in html


def test_a_search_word_is_inert(viewer: Client, experiment: Experiment) -> None:
    run = a_run(experiment, {"a": "PF"})
    html = viewer.get(f"/runs/{run.pk}/", {"q": '"><script>alert(1)</script>'}).content.decode()
    assert "<script>alert" not in html


def test_a_reply_of_1_mb_is_cut_with_a_note_and_a_link_to_the_whole(
    viewer: Client, experiment: Experiment
) -> None:
    reply = "€" * 1_000_000
    run = a_run(experiment, {"a": "P"}, replies={"a": reply})
    response = viewer.get(case_address(run.pk))
    html = response.content.decode()
    assert len(html) < 5 * REPLY_SHOWN
    assert "The first 20,000 of 1,000,000 characters" in re.sub(r"\s+", " ", html)
    attempt = Attempt.objects.get(run=run)
    link = reverse("web:attempt_reply", args=[run.pk, attempt.pk])
    assert f'href="{link}"' in html
    whole = viewer.get(link)
    assert whole.content.decode() == reply
    assert whole.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert whole.headers["X-Content-Type-Options"] == "nosniff"


def test_the_whole_reply_may_hold_what_no_encoding_can_say(viewer: Client, experiment: Experiment) -> None:
    run = a_run(experiment, {"a": "P"}, replies={"a": "x\ud800\0y"})
    attempt = Attempt.objects.get(run=run)
    whole = viewer.get(reverse("web:attempt_reply", args=[run.pk, attempt.pk]))
    assert whole.content == b"x?\0y"


def test_a_reply_is_found_under_its_own_run_only(viewer: Client, experiment: Experiment) -> None:
    first, second = a_run(experiment, {"a": "P"}), a_run(experiment, {"a": "P"})
    attempt = Attempt.objects.get(run=first)
    assert viewer.get(reverse("web:attempt_reply", args=[second.pk, attempt.pk])).status_code == 404


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"turns": []},
        {"turns": [{"prompt": None, "reply": None}]},
        {"turns": [{"reply": "", "citations": None}]},
    ],
)
def test_evidence_that_lacks_a_part_still_has_a_page(
    document: dict[str, object], viewer: Client, experiment: Experiment
) -> None:
    run = a_run(experiment, {"a": "S"})
    AttemptEvidence.objects.create(attempt=Attempt.objects.get(run=run), document=document)
    assert viewer.get(case_address(run.pk)).status_code == 200


def test_the_content_security_policy_allows_no_inline_script_or_style(
    viewer: Client, signed_in: Callable[..., Client], experiment: Experiment
) -> None:
    run = a_run(experiment, {"a": "PF", "b": "P."}, state="running")
    for address in (
        "/",
        "/runs/",
        "/experiments/",
        f"/runs/{run.pk}/",
        f"/experiments/{experiment.pk}/",
        "/nowhere/",
    ):
        response = viewer.get(address)
        assert "script-src 'self'" in response.headers["Content-Security-Policy"]
        html = response.content.decode()
        assert not re.search(r"\sstyle\s*=|\son\w+\s*=|<style|hx-on|javascript:", html)
        assert not re.search(r"<script(?![^>]* src=)", html)
