"""The list of runs, the page of one, stopping and resuming it."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse

from experiments.models import Experiment, Permission, Run
from experiments.selectors.activity import activity_of
from experiments.selectors.run import run_page
from experiments.selectors.runs import runs_page
from experiments.services.runs import WrongState, resume_run, stop_run
from experiments.transfer.run_record import record_of
from experiments.web.access import Request, allow
from experiments.web.forms import CasesQuery, RunsQuery
from experiments.web.pages import STOP_POLLING, page, wants_part

STATES = (("", "All"), ("running", "Running"), ("stopped", "Stopped"), ("finished", "Finished"))


@allow(Permission.READ)
def runs(request: Request) -> HttpResponse:
    query = RunsQuery.values(request.GET)
    wanted = query.pop("experiment")
    experiment = get_object_or_404(Experiment, pk=wanted) if wanted else None
    context = {"page": runs_page(experiment=experiment, **query), "states": STATES}
    return page(request, "runs.html", context, here="Runs")


@allow(Permission.READ)
def run(request: Request, run_id: int) -> HttpResponse:
    """The report and the case table. htmx gets the parts that change: by a filter, or while the run is on."""
    try:
        found = run_page(run_id, CasesQuery.filter(request.GET))
    except Run.DoesNotExist:
        raise Http404 from None
    context = {"page": found, "all_cases": reverse("web:run", args=[run_id])}
    if not wants_part(request):
        context["activity"] = activity_of(request.user, "run", run_id)
        return page(request, "run.html", context, here="Runs")
    polled = request.GET.get("part") == "progress"
    status = STOP_POLLING if polled and not found.head.is_live else 200
    return page(request, "run.html", context, here="Runs", part="parts", status=status)


@allow(Permission.OPERATE, "POST")
def stop(request: Request, run_id: int) -> HttpResponse:
    return _change(request, run_id, "stop")


@allow(Permission.OPERATE, "POST")
def resume(request: Request, run_id: int) -> HttpResponse:
    return _change(request, run_id, "resume")


def _change(request: Request, run_id: int, verb: str) -> HttpResponse:
    found = get_object_or_404(Run, pk=run_id)
    try:
        (stop_run if verb == "stop" else resume_run)(request.user, found)
    except WrongState as wrong:
        messages.warning(request, str(wrong))
    return redirect("web:run", run_id)


@allow(Permission.READ)
def record(_request: Request, run_id: int) -> HttpResponse:
    """The whole record as a file to keep: the figures are the page's own."""
    found = get_object_or_404(Run.objects.select_related("experiment", "policy_version__policy"), pk=run_id)
    response = HttpResponse(record_of(found).json_text(), content_type="application/json")
    response.headers["Content-Disposition"] = (
        f'attachment; filename="{found.experiment.name}-run-{found.pk}.json"'
    )
    response.headers["Cache-Control"] = "no-store, private"
    return response
