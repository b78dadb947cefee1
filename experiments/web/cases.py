"""One case in a run, and the whole text of a reply that its page had to cut."""

from __future__ import annotations

from django.http import Http404, HttpResponse

from experiments.models import AttemptEvidence, CaseResult, Permission
from experiments.selectors.activity import activity_of
from experiments.selectors.case import case_page, whole_reply
from experiments.web.access import Request, allow
from experiments.web.pages import page


@allow(Permission.READ)
def case_in_run(request: Request, run_id: int, case_result_id: int) -> HttpResponse:
    try:
        found = case_page(run_id, case_result_id, chosen_of(request))
    except CaseResult.DoesNotExist:
        raise Http404 from None
    context = {"page": found, "activity": activity_of(request.user, "case", found.case_id)}
    return page(request, "case_in_run.html", context, here="Runs")


def chosen_of(request: Request) -> tuple[int | None, int | None]:
    """The attempts to set side by side, by `?left=` and `?right=`; anything but a number chooses none."""
    left, right = (
        int(given) if given.isascii() and given.isdecimal() and len(given) < 7 else None
        for given in (request.GET.get("left", ""), request.GET.get("right", ""))
    )
    return left, right


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
