"""Every address of the site, walked as everybody."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.test import Client
from django.urls import URLPattern, reverse

from experiments.models import (
    Application,
    Attempt,
    CaseResult,
    Experiment,
    Permission,
    ReviewItem,
    Role,
    RoleDecision,
    Run,
    User,
)
from experiments.models.access import ALLOWED
from experiments.web.urls import urlpatterns
from tests.web.world import a_user

OPEN = {"sign_in", "sign_out", "link", "theme", "healthz", "readyz"}
"""Nobody has to be signed in for these."""


@dataclass(frozen=True)
class Door:
    """`empty` is what a form answers that was sent without a word in it."""

    name: str
    permission: Permission
    method: str = "get"
    empty: int = 302


DOORS = [
    Door("home", Permission.READ),
    Door("experiments", Permission.READ),
    Door("experiment", Permission.READ),
    Door("start_run", Permission.OPERATE, "post"),
    Door("runs", Permission.READ),
    Door("run", Permission.READ),
    Door("stop_run", Permission.OPERATE, "post"),
    Door("resume_run", Permission.OPERATE, "post"),
    Door("run_record", Permission.READ),
    Door("case_in_run", Permission.READ),
    Door("attempt_reply", Permission.READ),
    Door("compare", Permission.READ),
    Door("grade_alike", Permission.OPERATE, "post", empty=404),
    Door("queue", Permission.READ),
    Door("queue_item", Permission.READ),
    Door("application", Permission.READ),
    Door("queue_take_next", Permission.REVIEW, "post"),
    Door("queue_take", Permission.REVIEW, "post"),
    Door("queue_renew", Permission.REVIEW, "post"),
    Door("queue_draft", Permission.REVIEW, "post"),
    Door("queue_decide", Permission.REVIEW, "post", empty=422),
    Door("queue_skip", Permission.REVIEW, "post"),
    Door("queue_flag", Permission.REVIEW, "post"),
    Door("queue_undo", Permission.REVIEW, "post"),
    Door("queue_apply", Permission.REVIEW, "post"),
]
ROLES = [role.value for role in Role]


def queue_arguments(row: CaseResult) -> dict[str, list[int]]:
    """A cited source, a decision on another one by whoever was signed in last, and an application."""
    item, other = (ReviewItem.objects.create(case=row.case, unit_id=unit) for unit in ("law/1", "law/2"))
    user = User.objects.order_by("-pk").first() or a_user(Role.REVIEWER)
    decision = RoleDecision.objects.create(item=other, reviewer=user, role="acceptable", item_version=1)
    application = Application.objects.create(created_by=user)
    names = ("item", "take", "renew", "draft", "decide", "skip", "flag")
    return {
        **{f"queue_{name}": [item.pk] for name in names},
        "queue_undo": [decision.pk],
        "application": [application.pk],
    }


def address(door: Door, experiment: Experiment, run: Run) -> str:
    row = CaseResult.objects.filter(grading__run=run).first()
    attempt = Attempt.objects.filter(run=run, evidence__isnull=False).first()
    assert row is not None
    assert attempt is not None
    arguments = {
        "experiment": [experiment.pk],
        "start_run": [experiment.pk],
        "run": [run.pk],
        "stop_run": [run.pk],
        "resume_run": [run.pk],
        "run_record": [run.pk],
        "case_in_run": [run.pk, row.pk],
        "attempt_reply": [run.pk, attempt.pk],
        **queue_arguments(row),
    }
    return reverse(f"web:{door.name}", args=arguments.get(door.name, []))


def test_the_walk_knows_every_address() -> None:
    names = {pattern.name for pattern in urlpatterns if isinstance(pattern, URLPattern)}
    assert names == OPEN | {door.name for door in DOORS}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_a_role_gets_in_exactly_where_the_matrix_says(
    door: Door, role: str, signed_in: Callable[..., Client], experiment: Experiment, finished: Run
) -> None:
    client = signed_in(role)
    response = getattr(client, door.method)(address(door, experiment, finished))
    allowed = door.permission in ALLOWED[role]
    assert (response.status_code == 403) is not allowed
    assert response.status_code in ((200, 302, door.empty) if allowed else (403,))


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_nobody_signed_in_is_sent_to_the_sign_in_page(
    door: Door, client: Client, experiment: Experiment, finished: Run
) -> None:
    there = address(door, experiment, finished)
    response = getattr(client, door.method)(there)
    assert response.status_code == 302
    # What a POST asked for is not asked again by coming back.
    back = there if door.method == "get" else reverse("web:home")
    assert response.headers["Location"] == f"{reverse('web:sign_in')}?next={back}"


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_only_its_own_method_opens_a_door(
    door: Door, signed_in: Callable[..., Client], experiment: Experiment, finished: Run
) -> None:
    other = "get" if door.method == "post" else "post"
    response = getattr(signed_in(Role.ADMIN), other)(address(door, experiment, finished))
    assert response.status_code == 405


def test_a_superuser_without_a_role_reads_everything(client: Client, finished: Run) -> None:
    client.force_login(
        User.objects.create_superuser("root"), backend="django.contrib.auth.backends.ModelBackend"
    )
    assert client.get(reverse("web:run", args=[finished.pk])).status_code == 200


def test_somebody_whose_account_was_closed_is_out(signed_in: Callable[..., Client], finished: Run) -> None:
    client = signed_in(Role.OPERATOR)
    User.objects.update(is_active=False)
    assert client.get(reverse("web:run", args=[finished.pk])).status_code == 302


def test_htmx_is_told_to_go_to_the_sign_in_page_and_back_when_the_session_is_over(finished: Run) -> None:
    here = reverse("web:run", args=[finished.pk])
    client = Client(
        headers={"hx-request": "true", "hx-current-url": f"http://testserver{here}?verdict=VARIED"}
    )
    response = client.get(here, {"part": "progress"})
    assert response.headers["HX-Redirect"] == f"/sign-in/?next={here.replace('/', '%2F')}%3Fverdict%3DVARIED"
    assert response.content == b""


def test_htmx_is_told_to_load_the_page_again_when_the_role_is_lost(
    signed_in: Callable[..., Client], finished: Run
) -> None:
    client = signed_in(Role.STRANGER, htmx=True)
    here = reverse("web:run", args=[finished.pk])
    response = client.get(here, headers={"hx-current-url": f"http://testserver{here}"})
    assert response.headers["HX-Redirect"] == here


def test_htmx_is_never_sent_to_another_site(finished: Run) -> None:
    client = Client(headers={"hx-request": "true", "hx-current-url": "https://evil.example/runs/"})
    response = client.get(reverse("web:home"))
    assert response.headers["HX-Redirect"] == "/sign-in/?next=%2F"


def test_authoring_stands_in_the_top_bar_for_authors_only(signed_in: Callable[..., Client]) -> None:
    assert 'href="/admin/"' in signed_in(Role.AUTHOR).get("/").content.decode()
    assert 'href="/admin/"' not in signed_in(Role.REVIEWER).get("/").content.decode()


def test_starting_stopping_and_resuming_are_offered_to_operators_only(
    signed_in: Callable[..., Client], experiment: Experiment, finished: Run
) -> None:
    there = reverse("web:run", args=[finished.pk])
    Run.objects.filter(pk=finished.pk).update(state="running", finished_at=None)
    assert "stop-run" in signed_in(Role.OPERATOR).get(there).content.decode()
    assert "stop-run" not in signed_in(Role.AUTHOR).get(there).content.decode()
