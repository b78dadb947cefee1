"""Saving one thing: who may, what becomes a version, and that a colleague's save is never overwritten."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import connection

from experiments.evaluation import EvalCase, Rubric
from experiments.mapping import case_of
from experiments.models import (
    Activity,
    Case,
    Experiment,
    JudgeModel,
    Policy,
    Role,
    Suite,
    Target,
    User,
)
from experiments.models import Rubric as RubricRow
from experiments.services import configuring, editing, versions
from experiments.services.edits import NEW, EditConflictError, EditRefusedError, edition_of
from experiments.services.users import save_user
from tests.factories import (
    make_case,
    make_experiment,
    make_grading,
    make_run,
    make_suite,
    make_target,
    make_user,
)

GRADE = "{replay_history} {simulation_history} {system_output} {expected_outcome}"


def value_of(key: str = "a", **content: Any) -> EvalCase:
    return EvalCase.model_validate({"id": key, "turn": "When?", "expected": "soon", **content})


def a_case(user: User | None = None) -> Case:
    return editing.save_case(user, value_of(), suite=make_suite(), case=None, edition=NEW)


def verbs(user: User) -> dict[str, Callable[[], object]]:
    """Every verb as `user` would call it."""
    suite = make_suite()
    case = make_case(suite, "a")
    return {
        "case": lambda: editing.save_case(user, value_of(turn="x"), suite=suite, case=case, edition="1"),
        "archive": lambda: editing.archive_case(user, case, archived=True),
        "suite": lambda: editing.save_suite(
            user,
            suite=None,
            name="new",
            description="",
            criteria=[],
            pass_score=1,
            messages={},
            edition=NEW,
        ),
        "rubric": lambda: editing.save_rubric(
            user, Rubric(name="r", template=GRADE), rubric=None, edition=NEW
        ),
        "policy": lambda: editing.save_policy(user, "text", policy=None, name="p", edition=NEW),
        "experiment": lambda: configuring.save_experiment(
            user, experiment=None, fields={"name": "e", "suite": suite}, edition=NEW
        ),
        "target": lambda: configuring.save_target(
            user, target=None, name="t", config={"url": "http://127.0.0.1:9"}, edition=NEW
        ),
        "judge": lambda: configuring.save_judge(
            user, judge=None, name="j", config={"model": "m"}, edition=NEW
        ),
        "user": lambda: save_user(
            user,
            user=None,
            username="u",
            email="",
            role="viewer",
            is_active=True,
            password="",
            edition=NEW,
        ),
    }


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        (Role.STRANGER, set()),
        (Role.VIEWER, set()),
        (Role.REVIEWER, set()),
        (Role.AUTHOR, {"case", "archive", "suite", "rubric", "policy", "experiment"}),
        (Role.OPERATOR, {"case", "archive", "suite", "rubric", "policy", "experiment"}),
        (
            Role.ADMIN,
            {"case", "archive", "suite", "rubric", "policy", "experiment", "target", "judge", "user"},
        ),
    ],
)
def test_each_verb_asks_for_its_permission_and_logs_what_it_did(role: str, allowed: set[str]) -> None:
    user = make_user(role)
    for name, verb in verbs(user).items():
        before = Activity.objects.count()
        if name in allowed:
            verb()
            assert Activity.objects.count() == before + 1, name
            assert Activity.objects.first().actor == user  # type: ignore[union-attr]
        else:
            with pytest.raises(PermissionDenied):
                verb()
            assert Activity.objects.count() == before, name


@pytest.mark.django_db
def test_content_that_reads_the_same_makes_no_version() -> None:
    case = a_case()
    editing.save_case(None, value_of(), suite=case.suite, case=case, edition="1")
    assert case.versions.count() == 1
    editing.save_case(None, value_of(tags=["x"]), suite=case.suite, case=case, edition="1")
    assert case.versions.count() == 2, "tags are content, though no fingerprint holds them"


@pytest.mark.django_db
def test_a_version_never_changes_the_key_of_its_case() -> None:
    with pytest.raises(ValueError, match="cannot hold"):
        versions.add_case_version(None, a_case(), value_of("b"))


@pytest.mark.django_db
def test_a_save_on_an_older_edition_raises_with_the_newer_one_and_writes_nothing() -> None:
    case = a_case()
    editing.save_case(None, value_of(turn="hers"), suite=case.suite, case=case, edition="1")
    lines = Activity.objects.count()
    with pytest.raises(EditConflictError) as caught:
        editing.save_case(None, value_of(turn="his"), suite=case.suite, case=case, edition="1")
    assert isinstance(caught.value.current, Case)
    assert case_of(caught.value.current.current).turn == "hers"  # type: ignore[arg-type]
    assert caught.value.edition == "2"
    assert (case.versions.count(), Activity.objects.count()) == (2, lines)


@pytest.mark.django_db
def test_every_thing_refuses_a_save_on_an_older_edition() -> None:
    experiment, target = make_experiment(), make_target()
    policy = editing.save_policy(None, "text", policy=None, name="p", edition=NEW)
    rubric = editing.save_rubric(None, Rubric(name="r", template=GRADE), rubric=None, edition=NEW)
    judge = configuring.save_judge(None, judge=None, name="j", config={"model": "m"}, edition=NEW)
    person, config = make_user(), {"url": "http://127.0.0.1:9"}
    stale: list[Callable[[], object]] = [
        lambda: editing.save_policy(None, "x", policy=policy, name="p", edition="0"),
        lambda: editing.save_rubric(None, Rubric(name="r", template=GRADE), rubric=rubric, edition="2"),
        lambda: configuring.save_target(None, target=target, name="t", config=config, edition="x"),
        lambda: configuring.save_judge(None, judge=judge, name="j", config={"model": "n"}, edition="x"),
        lambda: configuring.save_experiment(None, experiment=experiment, fields={"lanes": 9}, edition="x"),
        lambda: editing.save_suite(
            None,
            suite=experiment.suite,
            name="s",
            description="",
            criteria=[],
            pass_score=1,
            messages={},
            edition="1.x",
        ),
        lambda: save_user(
            None,
            user=person,
            username="u",
            email="",
            role="admin",
            is_active=True,
            password="",
            edition="x",
        ),
    ]
    for save in stale:
        with pytest.raises(EditConflictError):
            save()


@pytest.mark.django_db
def test_a_name_that_is_taken_is_refused_at_its_field() -> None:
    editing.save_policy(None, "text", policy=None, name="p", edition=NEW)
    experiment, target = make_experiment(), make_target()
    taken: list[Callable[[], object]] = [
        lambda: editing.save_policy(None, "x", policy=None, name="p", edition=NEW),
        lambda: configuring.save_target(
            None, target=None, name=target.name, config=target.config, edition=NEW
        ),
        lambda: configuring.save_experiment(
            None, experiment=None, fields={"name": experiment.name, "suite": experiment.suite}, edition=NEW
        ),
    ]
    for save in taken:
        with pytest.raises(EditRefusedError) as caught:
            save()
        assert [field for field, _ in caught.value.problems] == ["name"]
    assert (Policy.objects.count(), Experiment.objects.count()) == (1, 1)


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
def test_text_that_no_text_column_can_hold_is_refused(text: str) -> None:
    with pytest.raises(EditRefusedError):
        editing.save_policy(None, text, policy=None, name="p", edition=NEW)
    assert not Policy.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b", "<script>", "\u202e", "x" * 1_000_000])
def test_a_case_keeps_any_text_exactly(text: str) -> None:
    case = editing.save_case(
        None, value_of(turn=text, reference=text), suite=make_suite(), case=None, edition=NEW
    )
    stored = case_of(case.versions.get())
    assert (stored.turn, stored.reference) == (text, text)
    assert Activity.objects.count() == 1


@pytest.mark.django_db
def test_a_long_text_is_cut_in_the_activity_line_only() -> None:
    case = a_case()
    editing.save_case(None, value_of(turn="x" * 10_000), suite=case.suite, case=case, edition="1")
    assert len(Activity.objects.get(verb="edited").after["turn"]) == 500


@pytest.mark.django_db
def test_a_refused_save_leaves_nothing_behind() -> None:
    suite = make_suite()
    with pytest.raises(EditRefusedError):
        editing.save_case(None, value_of(message="unheard"), suite=suite, case=None, edition=NEW)
    assert not Case.objects.exists()
    assert not Activity.objects.exists()


@pytest.mark.django_db
def test_a_secret_value_is_no_configuration() -> None:
    for save in (
        lambda: configuring.save_target(
            None, target=None, name="t", config={"url": "http://x.example", "token": "sk-1"}, edition=NEW
        ),
        lambda: configuring.save_judge(
            None, judge=None, name="j", config={"model": "m", "api_key": "sk-1"}, edition=NEW
        ),
    ):
        with pytest.raises(ValueError, match="environment variable") as caught:
            save()
        assert "sk-1" not in str(caught.value)
    assert not Target.objects.exists()
    assert not JudgeModel.objects.exists()


@pytest.mark.django_db
def test_editing_leaves_what_a_run_pinned() -> None:
    experiment = make_experiment()
    case = make_case(experiment.suite, "a", turn="When?")
    run = make_run(experiment)
    grading = make_grading(run)
    editing.save_case(None, value_of(turn="x"), suite=experiment.suite, case=case, edition="1")
    editing.save_suite(
        None,
        suite=experiment.suite,
        name="",
        description="",
        criteria=[],
        pass_score=0.1,
        messages={},
        edition=edition_of(Suite.objects.get(pk=experiment.suite_id)),
    )
    grading.refresh_from_db()
    assert grading.suite_version.pass_score == 1.0
    assert grading.suite_version.number == 1


@pytest.mark.django_db
def test_the_last_admin_stays_one() -> None:
    only = make_user(Role.ADMIN)
    with pytest.raises(EditRefusedError, match="last admin"):
        save_user(
            None,
            user=only,
            username=only.username,
            email="",
            role="viewer",
            is_active=True,
            password="",
            edition=edition_of(only),
        )


@pytest.mark.django_db(transaction=True)
def test_of_two_saves_at_the_same_moment_one_wins_and_the_other_is_told() -> None:
    case = a_case()
    told: list[str] = []
    together = threading.Barrier(2)

    def save(turn: str) -> None:
        together.wait()
        try:
            editing.save_case(None, value_of(turn=turn), suite=case.suite, case=case, edition="1")
            told.append("saved")
        except EditConflictError as conflict:
            told.append(conflict.edition)
        finally:
            connection.close()

    threads = [threading.Thread(target=save, args=(turn,)) for turn in ("hers", "his")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == ["2", "saved"]
    assert [version.number for version in case.versions.order_by("number")] == [1, 2]


@pytest.mark.django_db
def test_a_rubric_is_a_row_of_the_name_it_was_given() -> None:
    rubric = editing.save_rubric(None, Rubric(name="r", template=GRADE), rubric=None, edition=NEW)
    assert RubricRow.objects.get(name="r") == rubric
    assert edition_of(rubric) == "1"
