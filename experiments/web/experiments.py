"""The list of experiments, the page of one, and its start."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect

from experiments.models import Experiment, Permission
from experiments.selectors.experiment import experiment_page, find_experiment
from experiments.selectors.experiments import experiments_page
from experiments.selectors.words import settled_rows
from experiments.services.runs import RunRefused, plan_run, start_run
from experiments.web.access import Request, allow
from experiments.web.forms import ExperimentsQuery, PageQuery, StartForm
from experiments.web.pages import page, wants_part


@allow(Permission.READ)
def experiments(request: Request) -> HttpResponse:
    query = ExperimentsQuery.values(request.GET)
    found = experiments_page(search=query["q"], before=query["before"], after=query["after"])
    return page(request, "experiments.html", {"page": found}, here="Experiments")


@allow(Permission.READ)
def experiment(request: Request, experiment_id: int) -> HttpResponse:
    """The page asks for its own part "plan" once it stands: planning asks the target, which may be slow."""
    found = _experiment(experiment_id)
    context = {
        "page": experiment_page(found, **PageQuery.values(request.GET)),
        "token": uuid.uuid4(),
        "plan": None,
    }
    asked = request.GET.get("part") == "plan"
    if asked:
        plan = plan_run(found)
        context |= {"plan": plan, "settled": settled_rows(plan.settled_by)}
    part = "plan" if asked and wants_part(request) else ""
    return page(request, "experiment.html", context, here="Experiments", part=part)


@allow(Permission.OPERATE, "POST")
def start(request: Request, experiment_id: int) -> HttpResponse:
    form = StartForm(request.POST)
    if not form.is_valid():
        messages.error(request, "The start carried no valid token. Load the page again and start once more.")
        return redirect("web:experiment", experiment_id)
    try:
        run = start_run(request.user, _experiment(experiment_id), form.cleaned_data["token"])
    except RunRefused as refused:
        for refusal in refused.refusals:
            messages.error(request, refusal.sentence)
        return redirect("web:experiment", experiment_id)
    return redirect("web:run", run.pk)


def _experiment(experiment_id: int) -> Experiment:
    try:
        return find_experiment(experiment_id)
    except Experiment.DoesNotExist:
        raise Http404 from None
