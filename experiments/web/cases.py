"""One case in a run, and the whole text of a reply that its page had to cut."""

from __future__ import annotations

from django.http import Http404, HttpResponse

from experiments.models import AttemptEvidence, CaseResult, Permission
from experiments.selectors.case import case_page, whole_reply
from experiments.web.access import Request, allow
from experiments.web.pages import page


@allow(Permission.READ)
def case_in_run(request: Request, run_id: int, case_result_id: int) -> HttpResponse:
    try:
        found = case_page(run_id, case_result_id)
    except CaseResult.DoesNotExist:
        raise Http404 from None
    return page(request, "case_in_run.html", {"page": found}, here="Runs")


@allow(Permission.READ)
def attempt_reply(_request: Request, run_id: int, attempt_id: int) -> HttpResponse:
    """The reply as plain text that no browser may take for anything else."""
    try:
        reply = whole_reply(run_id, attempt_id)
    except AttemptEvidence.DoesNotExist:
        raise Http404 from None
    response = HttpResponse(reply.encode("utf-8", "replace"), content_type="text/plain; charset=utf-8")
    response.headers["Cache-Control"] = "no-store, private"
    return response
