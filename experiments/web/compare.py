"""Two runs side by side, and grading the older one by the newer one's expectations."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import urlencode

from experiments.execution.regrading import CannotRegrade
from experiments.models import Comparison, Permission, Run
from experiments.selectors.compare import Filter, compare_page, last_two
from experiments.services.comparisons import ask_comparison, grade_like
from experiments.services.runs import WrongState
from experiments.web.access import Request, allow
from experiments.web.forms import CompareQuery
from experiments.web.pages import STOP_POLLING, page, wants_part


@allow(Permission.READ)
def compare(request: Request) -> HttpResponse:
    """The stored comparison of two runs; the first reader queues it, and htmx polls until it is there."""
    query = CompareQuery.values(request.GET)
    a, b = _run(query["a"]), _run(query["b"])
    comparison: Comparison | None = None
    error = ""
    if a and b:
        try:
            comparison = ask_comparison(request.user, a, b)
        except WrongState as wrong:
            error = str(wrong)
    elif not query["a"] and not query["b"]:
        newest = last_two()
        if newest:
            return redirect(f"{reverse('web:compare')}?{urlencode({'a': newest[0].pk, 'b': newest[1].pk})}")
    found = compare_page(
        a,
        b,
        comparison,
        narrowed=Filter.of(request.GET),
        before=query["before"],
        after=query["after"],
        error=error,
    )
    context = {"page": found, "anyway": bool(query["anyway"])}
    if not wants_part(request):
        return page(request, "compare.html", context, here="Compare")
    status = 200 if found.waiting else STOP_POLLING
    return page(request, "compare.html", context, here="Compare", part="result", status=status)


@allow(Permission.OPERATE, "POST")
def grade_alike(request: Request) -> HttpResponse:
    """Grade run `a` anew by run `b`'s expectations, so that the two can be compared."""
    query = CompareQuery.values(request.POST)
    a, b = _run(query["a"]), _run(query["b"])
    if a is None or b is None:
        raise Http404
    try:
        grading = grade_like(request.user, a, b)
    except (CannotRegrade, ValueError) as cannot:
        messages.warning(request, f"Run {a.number} could not be graded like run {b.number}: {cannot}")
    else:
        messages.success(
            request, f"Run {a.number} now shows grading {grading.number}, graded like run {b.number}."
        )
    return redirect(f"{reverse('web:compare')}?{urlencode({'a': a.pk, 'b': b.pk})}")


def _run(key: int | str | None) -> Run | None:
    return get_object_or_404(Run.objects.select_related("experiment", "started_by"), pk=key) if key else None
