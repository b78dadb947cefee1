"""The citation queue: its list, one cited source, and what a reviewer does with it. A GET never leases."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme

from experiments.models import Application, ItemState, Permission, ReviewItem, RoleDecision
from experiments.selectors.applications import application_page, apply_panel, case_links, cases_to_apply
from experiments.selectors.item import draft_of, item_page
from experiments.selectors.marking import plain
from experiments.selectors.queue import clock, figures, queue_page
from experiments.services import adjudication, applying
from experiments.services.adjudication import Answer, DecisionRefused
from experiments.services.edits import EditRefusedError
from experiments.web.access import Request, allow
from experiments.web.pages import STOP_POLLING, page, wants_part
from experiments.web.queue_forms import DecisionForm, ItemQuery, QueueQuery, answer_from, draft_from

SKIPPED, MOST_SKIPPED = "queue_skipped", 200
"""Items skipped since the reviewer last asked for the next one, in the session."""
HERE = "Queue"


# -- reading -------------------------------------------------------------------------------------------------


@allow(Permission.READ)
def queue(request: Request) -> HttpResponse:
    query = QueueQuery.values(request.GET)
    found = queue_page(
        request.user,
        state=query["state"],
        search=query["q"],
        before=query["before"],
        after=query["after"],
    )
    cases = cases_to_apply() if found.figures.to_apply else set()
    latest = applying.latest_runs(cases) if cases else []
    context = {
        "page": found,
        "apply": apply_panel(found.figures.to_apply, cases, latest),
        "back": reverse("web:queue"),
        "filter_text": "The list is narrowed by a tab or your search.",
        "why_nothing": found.figures.why_nothing(len(_skipped(request))),
        **_rights(request),
    }
    return page(request, "queue.html", context, here=HERE)


@allow(Permission.READ)
def item(request: Request, item_id: int) -> HttpResponse:
    """The screen of one source; asked for a part, only what a role would change, or another reply."""
    if request.GET.get("part") == "preview" and wants_part(request):
        context = _preview(_item(item_id), answer_from(request.GET))
        return page(request, "queue_item.html", context, here=HERE, part="preview")
    part = "passage" if request.GET.get("part") == "passage" and wants_part(request) else ""
    return _screen(request, item_id, part=part)


def _screen(
    request: Request, item_id: int, *, problem: str = "", status: int = 200, part: str = ""
) -> HttpResponse:
    query = ItemQuery.values(request.GET)
    try:
        found = item_page(request.user, item_id, state=query["state"])
    except ReviewItem.DoesNotExist:
        raise Http404 from None
    sent = request.POST if request.method == "POST" else request.GET
    typed = draft_of(draft_from(sent), found.draft.saved_at) if "role" in sent else found.draft
    at = min(query["at"] or 1, len(found.passages))
    context: dict[str, Any] = {
        "page": found,
        "typed": typed,
        "problem": problem,
        "passage": found.passages[at - 1] if found.passages else None,
        "at": at,
        "now": found.verdicts.get(found.passages[at - 1].run_id) if found.passages else None,
        "state": query["state"],
        "back": reverse("web:queue_item", args=[item_id]),
        "renew_seconds": int(adjudication.LEASE.total_seconds()),
        **_rights(request),
    }
    if "role" in sent and found.hold.kind == "mine":
        # A draft's preview is fetched by the page once it stands, since working it out takes a moment.
        context |= _preview(_item(item_id), answer_from(sent))
    return page(request, "queue_item.html", context, here=HERE, status=status, part=part)


def _preview(found: ReviewItem, answer: Answer) -> dict[str, Any]:
    """What an answer would change, for the template; nothing without a role."""
    if not answer.role:
        return {"preview": None}
    preview = applying.preview(found, answer)
    links = case_links([(change.run_id, change.case_key) for change in preview.changes])
    changes = [(change, links.get((change.run_id, change.case_key))) for change in preview.changes]
    changed = sum(change.before != change.after for change in preview.changes)
    return {"preview": preview, "changes": changes, "changed": changed, "answer": answer}


@allow(Permission.READ)
def application(request: Request, application_id: int) -> HttpResponse:
    """An application on its way, then what it changed. The polled part ends its polling with 286."""
    try:
        found = application_page(application_id)
    except Application.DoesNotExist:
        raise Http404 from None
    if wants_part(request) and request.GET.get("part") == "progress":
        status = 200 if found.is_waiting else STOP_POLLING
        return page(request, "queue_applied.html", {"page": found}, here=HERE, part="report", status=status)
    return page(request, "queue_applied.html", {"page": found}, here=HERE)


# -- taking --------------------------------------------------------------------------------------------------


@allow(Permission.REVIEW, "POST")
def take_next(request: Request) -> HttpResponse:
    request.session.pop(SKIPPED, None)
    return _to_next(request)


@allow(Permission.REVIEW, "POST")
def take(request: Request, item_id: int) -> HttpResponse:
    if adjudication.take(request.user, _item(item_id)) is None:
        messages.warning(request, "It could not be taken: somebody else holds or has answered it.")
    return redirect("web:queue_item", item_id)


@allow(Permission.REVIEW, "POST")
def skip(request: Request, item_id: int) -> HttpResponse:
    """Give the item back and go to the next one that was not skipped before."""
    adjudication.release(request.user, _item(item_id))
    skipped = [key for key in _skipped(request) if key != item_id]
    request.session[SKIPPED] = [*skipped, item_id][-MOST_SKIPPED:]
    return _to_next(request)


@allow(Permission.REVIEW, "POST")
def renew(request: Request, item_id: int) -> JsonResponse:
    """The heartbeat of an open page: whether the item is still the reviewer's, and for how long."""
    form = DecisionForm(request.POST)
    lease = form.read()[1]
    held = lease is not None and adjudication.renew(request.user, _item(item_id), lease)
    return JsonResponse({"held": held, "seconds": int(adjudication.LEASE.total_seconds()) if held else 0})


@allow(Permission.REVIEW, "POST")
def draft(request: Request, item_id: int) -> HttpResponse:
    """Keep what was typed so far: JSON for the script, back to the page for a form."""
    adjudication.save_draft(request.user, _item(item_id), draft_from(request.POST))
    if not request.htmx:
        return redirect("web:queue_item", item_id)
    return JsonResponse({"saved": clock(timezone.now())})


@allow(Permission.REVIEW, "POST")
def flag(request: Request, item_id: int) -> HttpResponse:
    found = _item(item_id)
    adjudication.flag(request.user, found, flagged=request.POST.get("flagged") == "1")
    return redirect("web:queue_item", item_id)


# -- deciding ------------------------------------------------------------------------------------------------


@allow(Permission.REVIEW, "POST")
def decide(request: Request, item_id: int) -> HttpResponse:
    """Record the answer and go to the next item; refused, the page with what was typed and why."""
    found = _item(item_id)
    answer, lease, version = DecisionForm(request.POST).read()
    try:
        decision = adjudication.decide(request.user, found, answer, lease=lease, version=version)
    except (DecisionRefused, EditRefusedError) as refused:
        return _screen(request, item_id, problem=str(refused), status=422)
    if found.state == ItemState.DISAGREED:
        unit = plain(found.unit_id)
        messages.warning(
            request, f"{unit}: somebody else answered otherwise. Both stand; a third person decides."
        )
    spread = decision.spread.count()
    if spread:
        messages.success(
            request, f"{plain(found.unit_id)}: {decision.get_role_display()} in {spread + 1} cases."
        )
    return _to_next(request)


@allow(Permission.REVIEW, "POST")
def undo(request: Request, decision_id: int) -> HttpResponse:
    """Take a decision back, also after moving on; then back to where it was asked for."""
    decision = get_object_or_404(RoleDecision.objects.select_related("item__case"), pk=decision_id)
    item = decision.item
    what = plain(f"{decision.get_role_display()} for {item.unit_id} in {item.case.key}")
    try:
        adjudication.undo(request.user, decision)
    except DecisionRefused as refused:
        messages.warning(request, f"Nothing undone: {refused}.")
    else:
        messages.success(request, f"Undone: {what}.")
    there = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(there, allowed_hosts=None, require_https=request.is_secure()):
        there = reverse("web:queue")
    return redirect(there)


@allow(Permission.REVIEW, "POST")
def apply(request: Request) -> HttpResponse:
    """Put what was decided into new gradings of the chosen runs, by default the latest of each experiment."""
    runs = [
        int(key) for key in request.POST.getlist("run") if key.isascii() and key.isdigit() and len(key) < 19
    ]
    made = applying.apply_decisions(request.user, runs if "runs" in request.POST else None)
    if made is None:
        messages.info(request, "Nothing waits to be applied.")
        return redirect("web:queue")
    return redirect("web:application", made.pk)


def _to_next(request: Request) -> HttpResponse:
    skipped = _skipped(request)
    found = adjudication.take_next(request.user, skipping=skipped)
    if found is not None:
        return redirect("web:queue_item", found.pk)
    messages.info(request, figures(request.user).why_nothing(len(skipped)))
    return redirect("web:queue")


def _skipped(request: Request) -> list[int]:
    return [key for key in request.session.get(SKIPPED, []) if isinstance(key, int)]


def _item(item_id: int) -> ReviewItem:
    return get_object_or_404(ReviewItem.objects.select_related("case__current"), pk=item_id)


def _rights(request: Request) -> dict[str, bool]:
    return {"may_review": request.user.may(Permission.REVIEW)}
