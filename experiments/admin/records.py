"""What is only read here: runs, which have pages of their own, and the activity log."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from experiments.admin.base import PlainAdmin
from experiments.admin.differences import readable
from experiments.admin.site import site
from experiments.models import Activity, Run


@admin.register(Run, site=site)
class RunAdmin(PlainAdmin[Run]):
    """A list that leads to the runs' own pages."""

    intro: ClassVar[str] = "Runs are started and read on their own pages; nothing about them is edited."
    list_display = ("link", "experiment", "state", "requested", "finished", "created_at")
    list_display_links = None
    list_filter = ("state", "experiment")
    list_select_related = ("experiment",)
    search_fields = ("=id", "experiment__name")

    @admin.display(description="Run", ordering="id")
    def link(self, run: Run) -> SafeString:
        return format_html('<a href="{}">run {}</a>', reverse("web:run", args=[run.pk]), run.pk)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Any = None,
    ) -> Any:
        if object_id is None:
            return super().changeform_view(request, object_id, form_url, extra_context)
        return HttpResponseRedirect(reverse("web:run", args=[self.found(request, object_id).pk]))


@admin.register(Activity, site=site)
class ActivityAdmin(PlainAdmin[Activity]):
    """Who did what, when; written with each change and never after it."""

    intro: ClassVar[str] = "Who did what, when. Lines are written with each change and never edited."
    list_display = ("at_utc", "actor_name", "verb", "object_type", "object_label")
    list_filter = ("verb", "object_type")
    search_fields = ("actor_name", "object_label")
    ordering = ("-id",)

    @admin.display(description="When", ordering="id")
    def at_utc(self, line: Activity) -> str:
        return f"{line.at:%Y-%m-%d %H:%M:%S} UTC"

    def details(self, thing: Activity) -> tuple[tuple[str, str], ...]:
        return (
            ("When", self.at_utc(thing)),
            ("Who", thing.actor_name),
            ("Did", thing.verb),
            ("To", f"{thing.object_type} {thing.object_label}"),
            ("Before", _document(thing.before)),
            ("After", _document(thing.after)),
        )


def _document(value: Any) -> str:
    return "–" if value is None else readable(value) if isinstance(value, dict) else str(value)
