"""`load_demo`: a site that can start a run, loaded once, and nothing overwritten when it is loaded again."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from experiments.demo.servers import start_demo_services
from experiments.evaluation import SettledBy
from experiments.models import (
    Activity,
    Case,
    Corpus,
    Experiment,
    JudgeModel,
    Policy,
    Run,
    Suite,
    Target,
    User,
)
from experiments.services.authoring import publish_policy
from experiments.services.plans import plan_run

pytestmark = pytest.mark.django_db


def load(**options: object) -> str:
    said = StringIO()
    call_command("load_demo", stdout=said, **options)
    return said.getvalue()


def test_it_makes_everything_an_experiment_needs_and_starts_no_run() -> None:
    said = load()
    assert "27 cases" in said
    assert Case.objects.filter(suite__name="refund-desk", current__isnull=False).count() == 27
    corpus = Corpus.objects.get(name="desk-handbook").current
    assert corpus is not None
    assert corpus.unit_count == 112
    policy = Policy.objects.get(name="desk-assistant").current
    assert policy is not None
    assert policy.number == 2
    assert Experiment.objects.filter(lanes=8, repeats=5).count() == 2
    assert not Run.objects.exists()


def test_its_people_have_their_roles_and_no_password_anyone_could_guess() -> None:
    load()
    roles = {user.username: user.role for user in User.objects.exclude(username="owner")}
    assert roles == {"ana": "operator", "bram": "author", "chen": "reviewer", "dara": "viewer"}
    assert not any(user.has_usable_password() for user in User.objects.all())


def test_its_experiments_can_start_against_the_running_demo() -> None:
    with start_demo_services(pace=0) as demo:
        load(service_url=demo.service_url, messages_url=demo.messages_url)
        plans = {experiment.name: plan_run(experiment) for experiment in Experiment.objects.all()}
    assert {name: plan.refusals for name, plan in plans.items()} == {
        "refund-desk": (),
        "refund-desk-sources": (),
    }
    assert plans["refund-desk"].attempts == 135
    assert set(plans["refund-desk"].settled_by) == set(SettledBy) - {SettledBy.criteria}
    assert set(plans["refund-desk-sources"].settled_by) == {SettledBy.criteria}


def test_loading_it_again_changes_nothing_and_writes_no_activity() -> None:
    load()
    before = list(Activity.objects.values_list("pk", flat=True))
    assert load() == "Demo: everything is there already.\n"
    assert list(Activity.objects.values_list("pk", flat=True)) == before


def test_what_somebody_edited_since_stays_and_what_is_missing_comes_back() -> None:
    load()
    publish_policy(None, "desk-assistant", "Our own rules.")
    Suite.objects.filter(name="refund-desk").update(description="Ours now.")
    Experiment.objects.filter(name="refund-desk").update(lanes=3)
    Experiment.objects.get(name="refund-desk-sources").delete()
    assert load() == "Demo: experiment refund-desk-sources.\n"
    policy = Policy.objects.get(name="desk-assistant").current
    assert policy is not None
    assert policy.number == 3
    assert Suite.objects.get(name="refund-desk").description == "Ours now."
    assert Experiment.objects.get(name="refund-desk").lanes == 3


def test_other_ports_change_only_the_addresses() -> None:
    load()
    target = Target.objects.get(name="demo-desk")
    target.config = {**target.config, "read_seconds": 7.0}
    target.save()
    said = load(service_url="http://127.0.0.1:9001/", messages_url="http://127.0.0.1:9002")
    assert "demo-desk now at http://127.0.0.1:9001" in said
    target.refresh_from_db()
    assert target.config["url"] == "http://127.0.0.1:9001"
    assert target.config["read_seconds"] == 7.0
    assert JudgeModel.objects.get(name="demo-judge").config["base_url"] == "http://127.0.0.1:9002"


def test_with_addresses_only_an_empty_site_stays_empty() -> None:
    load(addresses_only=True)
    assert not Suite.objects.exists()
    assert not Target.objects.exists()
    assert not User.objects.exists()


@pytest.mark.parametrize("address", ["nonsense", "http://user:secret@host", "ftp://host"])
def test_an_address_that_is_none_is_refused_and_nothing_is_written(address: str) -> None:
    with pytest.raises(CommandError) as refused:
        load(service_url=address)
    assert "secret" not in str(refused.value)
    assert not Suite.objects.exists()
    assert not User.objects.exists()


def test_the_judge_is_asked_with_a_key_from_the_environment_only() -> None:
    load()
    assert JudgeModel.objects.get(name="demo-judge").config["api_key"] == "env:DEMO_KEY"


def test_without_verbosity_it_says_nothing() -> None:
    assert load(verbosity=0) == ""
