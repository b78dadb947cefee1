"""Who may enter the authoring pages, and what nobody can do there."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from experiments.admin import site
from experiments.models import (
    Activity,
    Case,
    Corpus,
    CorpusUnit,
    CorpusVersion,
    Policy,
    PolicyVersion,
    Role,
    Rubric,
    RubricVersion,
    Suite,
    Target,
)
from tests.admin.conftest import As
from tests.factories import make_experiment, make_run, make_user

AUTHORED = ("suite", "case", "rubric", "policy", "corpus", "experiment")
ADMIN_ONLY = ("target", "judgemodel", "user")
READ_ONLY = ("run", "activity", "corpusunit")
EVERYTHING = (*AUTHORED, *ADMIN_ONLY, *READ_ONLY)
GRADE = "{replay_history} {simulation_history} {system_output} {expected_outcome}"


def address(model: str, page: str = "changelist", *args: object) -> str:
    return reverse(f"admin:experiments_{model}_{page}", args=args)


@pytest.fixture
def everything(case: Case) -> dict[str, int]:
    """One row of each model, by name."""
    rubric = Rubric.objects.create(name="strict")
    rubric.current = RubricVersion.objects.create(
        rubric=rubric, number=1, fingerprint="1" * 64, template=GRADE
    )
    rubric.save()
    policy = Policy.objects.create(name="desk")
    policy.current = PolicyVersion.objects.create(
        policy=policy, number=1, fingerprint="1" * 64, text="Be kind."
    )
    policy.save()
    corpus = Corpus.objects.create(name="handbook")
    corpus.current = CorpusVersion.objects.create(corpus=corpus, number=1, fingerprint="1" * 64, unit_count=1)
    corpus.save()
    unit = CorpusUnit.objects.create(
        version=corpus.current, unit_id="hb/art:1", text="Six weeks.", position=0
    )
    experiment = make_experiment(suite=case.suite, rubric=rubric, policy=policy)
    line = Activity.objects.create(
        actor_name="ana", verb="edited", object_type="case", object_id=case.pk, object_label="x"
    )
    return {
        "suite": case.suite_id,
        "case": case.pk,
        "rubric": rubric.pk,
        "policy": policy.pk,
        "corpus": corpus.pk,
        "corpusunit": unit.pk,
        "experiment": experiment.pk,
        "target": Target.objects.get().pk,
        "judgemodel": _judge(),
        "user": make_user(Role.VIEWER).pk,
        "run": make_run(experiment).pk,
        "activity": line.pk,
    }


def _judge() -> int:
    from experiments.models import JudgeModel

    return JudgeModel.objects.create(name="judge", config={"provider": "anthropic", "model": "claude"}).pk


def every_address(everything: dict[str, int], models: tuple[str, ...]) -> list[str]:
    found = []
    for model in models:
        pk = everything[model]
        found += [address(model), address(model, "change", pk), address(model, "history", pk)]
        if model not in READ_ONLY:
            found.append(address(model, "add"))
    return found


@pytest.mark.parametrize("role", [Role.AUTHOR, Role.OPERATOR, Role.ADMIN])
def test_authors_and_up_reach_every_page_of_what_they_author(
    as_: As, everything: dict[str, int], role: str
) -> None:
    browser = as_(role)
    assert browser.get(reverse("admin:index")).status_code == 200
    for url in every_address(everything, (*AUTHORED, *READ_ONLY)):
        expected = 302 if "/run/" in url and "change" in url else 200
        assert browser.get(url).status_code == expected, url


def test_only_the_admin_role_reaches_users_targets_and_judges(as_: As, everything: dict[str, int]) -> None:
    admin, operator = as_(Role.ADMIN), as_(Role.OPERATOR)
    for url in every_address(everything, ADMIN_ONLY):
        assert admin.get(url).status_code == 200, url
        assert operator.get(url).status_code == 403, url
        assert operator.post(url, {"name": "x"}).status_code == 403, url


@pytest.mark.parametrize("role", ["stranger", Role.VIEWER, Role.REVIEWER])
def test_whoever_may_not_author_gets_403_on_every_page(
    as_: As, everything: dict[str, int], role: str
) -> None:
    browser = as_(role)
    assert browser.get(reverse("admin:index")).status_code == 403
    for url in every_address(everything, EVERYTHING):
        assert browser.get(url).status_code == 403, url
        assert browser.post(url).status_code == 403, url


def test_nobody_signed_in_is_sent_to_sign_in_and_back(as_: As, everything: dict[str, int]) -> None:
    browser = as_("anonymous")
    for url in [reverse("admin:index"), *every_address(everything, EVERYTHING)]:
        assert browser.get(url)["Location"] == f"{reverse('web:sign_in')}?next={url}"


def test_an_expired_session_answers_a_preview_by_sending_the_browser_to_sign_in(as_: As, case: Case) -> None:
    url = address("case", "change", case.pk)
    answer = as_("anonymous").post(url, {"_preview": "1"}, headers={"HX-Request": "true"})
    assert answer["HX-Redirect"].startswith(reverse("web:sign_in"))
    assert answer.content == b""


def test_a_lost_role_answers_a_preview_by_leaving_the_page(as_: As, case: Case) -> None:
    url = address("case", "change", case.pk)
    answer = as_(Role.VIEWER).post(url, {"_preview": "1"}, headers={"HX-Request": "true"})
    assert answer["HX-Redirect"] == reverse("web:home")


def test_an_author_whose_account_is_switched_off_is_out_at_once(as_: As) -> None:
    from experiments.models import User

    browser = as_(Role.AUTHOR)
    User.objects.update(is_active=False)
    assert browser.get(reverse("admin:index"))["Location"].startswith(reverse("web:sign_in"))


@pytest.mark.parametrize("role", [Role.AUTHOR, Role.ADMIN])
def test_nothing_can_be_deleted_by_anybody(as_: As, everything: dict[str, int], role: str) -> None:
    browser = as_(role)
    for model, pk in everything.items():
        url = address(model, "delete", pk)
        assert browser.get(url).status_code == 403, url
        assert browser.post(url, {"post": "yes"}).status_code == 403, url
        asked = {"action": "delete_selected", "_selected_action": [pk], "post": "yes"}
        browser.post(address(model), asked)
    assert Case.objects.filter(pk=everything["case"]).exists()
    assert Suite.objects.filter(pk=everything["suite"]).exists()
    assert Activity.objects.filter(pk=everything["activity"]).exists()


def test_what_is_only_read_takes_no_post(admin: Client, everything: dict[str, int]) -> None:
    for model in READ_ONLY:
        assert admin.post(address(model, "change", everything[model]), {"verb": "x"}).status_code in (
            302,
            403,
        )
        assert admin.get(address(model, "add")).status_code == 403


def test_a_run_leads_to_its_own_page(author: Client, everything: dict[str, int]) -> None:
    run = everything["run"]
    assert author.get(address("run", "change", run))["Location"] == reverse("web:run", args=[run])
    assert reverse("web:run", args=[run]) in author.get(address("run")).text


def test_a_thing_that_is_not_there_is_404(author: Client) -> None:
    assert author.get(address("case", "change", 999_999)).status_code == 404
    assert author.get(address("case", "change", "x" * 50)).status_code == 404


def test_who_is_staff_follows_the_role(db: None) -> None:
    user = make_user(Role.VIEWER)
    for role, staff in ((Role.AUTHOR, True), (Role.REVIEWER, False), (Role.ADMIN, True), ("", False)):
        user.role = role
        user.save()
        assert user.is_staff is staff


def test_every_model_with_a_page_is_in_these_tests() -> None:
    assert {model._meta.model_name for model in site._registry} == set(EVERYTHING)


def test_pages_carry_the_policy_that_allows_no_inline_script_or_style(
    admin: Client, everything: dict[str, int]
) -> None:
    for url in every_address(everything, EVERYTHING):
        answer = admin.get(url)
        if answer.status_code == 302:
            continue
        assert "default-src 'none'" in answer["Content-Security-Policy"]
        assert "<style" not in answer.text, url
        assert " style=" not in answer.text, url
        assert "<script>" not in answer.text, url
        assert " onclick" not in answer.text, url
