"""The screen of one source is blind: nobody reads another's answer while an item is open to them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from experiments.models import ReviewDraft, ReviewItem, Role, Run, User
from experiments.selectors.activity import activity_of
from experiments.selectors.item import item_page
from experiments.services.adjudication import undo
from tests.web.queue_world import UNIT, a_corpus, answer, cite, disagree, hold
from tests.web.world import a_run, a_user, an_experiment

pytestmark = pytest.mark.django_db
REASON = "repealed in 2019"


@pytest.fixture
def run() -> Run:
    return a_run(an_experiment(), {"a": "PF", "b": "PP"})


@pytest.fixture
def people() -> list[User]:
    return [a_user(Role.REVIEWER, name) for name in ("ana", "bram", "chen")]


def told(pages: Iterable[object]) -> str:
    """Everything the selector returned, as text."""
    return " ".join(map(repr, pages))


def test_an_answer_that_waits_for_a_second_one_is_shown_to_nobody_else(run: Run, people: list[User]) -> None:
    ana, bram, _ = people
    item, sibling = cite(run, "a"), cite(run, "b")
    ReviewItem.objects.update(wanted=2)
    answer(ana, item, "forbidden", REASON)
    for viewer in (bram, a_user(Role.VIEWER), a_user(Role.ADMIN)):
        text = told([item_page(viewer, item.pk), item_page(viewer, sibling.pk)])
        assert REASON not in text
        assert "forbidden" not in text.replace("forbidden=()", "")
    mine = item_page(ana, item.pk)
    assert [(each.role, each.reason, each.mine) for each in mine.answers] == [("forbidden", REASON, True)]
    assert mine.hold.kind == "answered"


def test_an_undone_answer_is_shown_to_nobody_else_either(run: Run, people: list[User]) -> None:
    ana, bram, _ = people
    item = cite(run, "a")
    undo(ana, answer(ana, item, "forbidden", REASON))
    page = item_page(bram, item.pk)
    assert REASON not in told([page])
    assert [(line.who, line.verb, line.hidden) for line in page.activity] == [
        ("ana", "undid", True),
        ("ana", "decided", True),
    ]
    assert REASON not in told(activity_of(bram, "case", item.case_id))
    assert REASON in told(activity_of(ana, "case", item.case_id))


def test_a_colleagues_draft_is_nobody_elses(run: Run, people: list[User]) -> None:
    ana, bram, _ = people
    item = cite(run, "a")
    ReviewDraft.objects.create(item=item, reviewer=ana, document={"role": "forbidden", "reason": REASON})
    assert REASON not in told([item_page(bram, item.pk)])
    assert item_page(ana, item.pk).draft.reason == REASON


def test_where_reviewers_disagree_both_answers_stand_unsigned(run: Run, people: list[User]) -> None:
    ana, bram, chen = people
    item = cite(run, "a")
    disagree(item, ana, bram)
    for viewer in people:
        page = item_page(viewer, item.pk)
        assert [(each.role, each.who, each.at, each.mine) for each in page.answers] == [
            ("acceptable", "", None, False),
            ("forbidden", "", None, False),
        ]
    assert item_page(chen, item.pk).hold.kind == "free"
    assert item_page(bram, item.pk).hold.kind == "answered"
    # The log is signed, so it does not say what was answered.
    assert REASON not in told(activity_of(chen, "reviewitem", item.pk))


def test_a_settled_item_shows_every_answer_with_its_name(run: Run, people: list[User]) -> None:
    ana, bram, chen = people
    item = cite(run, "a")
    disagree(item, ana, bram)
    answer(chen, item, "forbidden", "it was repealed")
    page = item_page(bram, item.pk)
    assert [(each.who, each.role, each.stands, each.can_undo) for each in page.answers] == [
        ("ana", "forbidden", False, False),
        ("bram", "acceptable", False, True),
        ("chen", "forbidden", True, False),
    ]
    assert REASON in told(activity_of(bram, "reviewitem", item.pk))


def test_a_role_that_was_undone_and_not_yet_taken_out_is_not_read_out(run: Run, people: list[User]) -> None:
    item = cite(run, "a")
    content = {**item.case.current.content} if item.case.current else {}
    content["sources"] = {"required": [["x"], [UNIT], ["y", UNIT]], "acceptable": [UNIT], "forbidden": []}
    assert item.case.current is not None
    item.case.current = type(item.case.current).objects.create(
        case=item.case, number=2, content=content, fingerprint="f", graded_fingerprint="g", turn="?"
    )
    item.case.save()
    roles = item_page(people[1], item.pk).roles
    # The index is that of the group in the case, which is what a decision names.
    assert (roles.groups, roles.acceptable) == (((0, ("x",)), (2, ("y",))), ())


def test_who_holds_an_item_is_told_with_the_time_it_ends(run: Run, people: list[User]) -> None:
    ana, bram, _ = people
    item = cite(run, "a")
    hold(item, ana)
    mine, other = item_page(ana, item.pk).hold, item_page(bram, item.pk).hold
    assert (mine.kind, other.kind, other.who, other.lease) == ("mine", "other", "ana", "")
    assert 400 < mine.seconds <= 480
    hold(item, ana, minutes=-1)
    assert item_page(ana, item.pk).hold.kind == item_page(bram, item.pk).hold.kind == "free"


def test_equal_replies_of_a_run_are_read_once(people: list[User]) -> None:
    experiment = an_experiment()
    first = a_run(experiment, {"a": "PFP"}, replies={"a": f"see [{UNIT}]"})
    second = a_run(experiment, {"a": "PF"}, replies={"a": "no id in the text"})
    item = cite(first, "a")
    for attempt in second.attempts.all():
        item.occurrences.create(attempt=attempt, run=second)
    passages = item_page(people[0], item.pk).passages
    assert [(each.run_id, each.where, each.marks) for each in passages] == [
        (second.pk, "attempts 1, 2", 0),
        (first.pk, "attempts 1, 2, 3", 1),
    ]
    assert passages[1].pieces == (("see ", False), (f"[{UNIT}]", True))


def test_a_source_stands_with_what_is_above_and_beside_it(people: list[User]) -> None:
    run = a_run(an_experiment(), {"a": "PP"})
    version = a_corpus(run)
    item, gone = cite(run, "a"), cite(run, "a", "law/art:2/par:9")
    source = item_page(people[0], item.pk).source
    assert source.unit is not None
    assert (source.corpus, source.unit.text.shown) == (str(version), "Goods go back within 30 days.")
    assert source.path == "The Law › Returns › par:1"
    assert [unit.id for unit in source.parents] == ["law", "law/art:2"]
    assert [unit.id for unit in source.nearby] == ["law/art:2/par:2"]
    missing = item_page(people[0], gone.pk).source
    assert (missing.unit, missing.above) == (None, "law/art:2")
    assert [unit.id for unit in missing.nearby] == ["law/art:2/par:1", "law/art:2/par:2"]


def test_the_neighbours_are_those_of_the_filter(run: Run, people: list[User]) -> None:
    ana = people[0]
    items = [cite(run, "a", f"law/{n}") for n in range(4)]
    answer(ana, items[1])
    answer(ana, items[3])
    page = item_page(ana, items[2].pk)
    assert (page.previous, page.next) == (items[0].pk, None)
    page = item_page(ana, items[1].pk, state="settled")
    assert (page.previous, page.next) == (None, items[3].pk)
    page = item_page(ana, items[2].pk, state="all")
    assert (page.previous, page.next) == (items[1].pk, items[3].pk)
