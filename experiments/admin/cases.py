"""Cases in the admin: a list by suite, the case form, archive and restore."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, path

from experiments.admin.base import AuthoringAdmin
from experiments.admin.caseform import CaseForm
from experiments.admin.differences import readable
from experiments.admin.site import site
from experiments.evaluation.text import printable, squeeze
from experiments.mapping import case_of
from experiments.models import Case, User
from experiments.services.editing import archive_case
from experiments.wire.suite import CaseEntry


class ArchivedFilter(admin.SimpleListFilter):
    """Cases in use unless somebody asks for the archived ones."""

    title = "state"
    parameter_name = "archived"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "archived"), ("all", "all")]

    def choices(self, changelist: Any) -> Any:
        for value, label in ((None, "in use"), *self.lookup_choices):
            yield {
                "selected": self.value() == (str(value) if value else None),
                "query_string": changelist.get_query_string(
                    {self.parameter_name: value} if value else {}, [] if value else [self.parameter_name]
                ),
                "display": label,
            }

    def queryset(self, request: Any, queryset: QuerySet[Case]) -> QuerySet[Case]:
        if self.value() == "all":
            return queryset
        return queryset.filter(archived_at__isnull=self.value() != "yes")


@admin.register(Case, site=site)
class CaseAdmin(AuthoringAdmin[Case]):
    """Cases are archived, never deleted: finished runs point at them."""

    edit_form = CaseForm
    intro: ClassVar[str] = "Every save that changes something makes a new version; finished runs keep theirs."
    list_display = ("key", "suite", "question", "tags", "version", "state")
    list_filter = (ArchivedFilter, "suite")
    list_select_related = ("suite", "current")
    search_fields = ("key", "current__turn")
    ordering = ("suite", "position", "key")
    actions = ("archive_selected", "restore_selected")

    def version_text(self, version: Any) -> str:
        try:
            return readable(CaseEntry.of(case_of(version)).model_dump(mode="json", exclude_defaults=True))
        except ValueError:
            # A case from before a rule of today: as it is stored.
            return readable(version.content)

    @admin.display(description="Question")
    def question(self, case: Case) -> str:
        return printable(squeeze(case.current.turn[:400]), 120) if case.current else ""

    @admin.display(description="Tags")
    def tags(self, case: Case) -> str:
        return ", ".join(printable(str(tag), 60) for tag in case.current.tags) if case.current else ""

    @admin.display(description="Version")
    def version(self, case: Case) -> str:
        return f"v{case.current.number}" if case.current else "–"

    @admin.display(description="State")
    def state(self, case: Case) -> str:
        return "archived" if case.archived_at else "in use"

    @admin.action(description="Archive")
    def archive_selected(self, request: HttpRequest, queryset: QuerySet[Case]) -> None:
        self._archive(request, queryset, archived=True)

    @admin.action(description="Restore")
    def restore_selected(self, request: HttpRequest, queryset: QuerySet[Case]) -> None:
        self._archive(request, queryset, archived=False)

    def _archive(self, request: HttpRequest, queryset: QuerySet[Case], *, archived: bool) -> None:
        done = sum(
            archive_case(cast(User, request.user), case, archived=archived)
            for case in queryset.order_by("pk")
        )
        noun = "case" if done == 1 else "cases"
        messages.success(request, f"{done} {noun} {'archived' if archived else 'restored'}.")

    def get_urls(self) -> list[URLPattern]:
        archive = path(
            "<path:object_id>/archive/",
            self.admin_site.admin_view(self.archive_view),
            name="experiments_case_archive",
        )
        return [archive, *super().get_urls()]

    def archive_view(self, request: HttpRequest, object_id: str) -> Any:
        """Archive the case, or restore an archived one; by POST only."""
        case = self.found(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        archived = request.POST.get("archived") == "yes"
        if archive_case(cast(User, request.user), case, archived=archived):
            said = "is archived: new runs leave it out" if archived else "is in use again"
            messages.success(request, f"{case} {said}.")
        return HttpResponseRedirect(self.page_url(case))

    def tools(self, thing: Case) -> tuple[Any, ...]:
        label, value = ("Restore", "no") if thing.archived_at else ("Archive", "yes")
        return ({"label": label, "url": self.page_url(thing, "archive"), "post": {"archived": value}},)

    def facts(self, thing: Case) -> tuple[str, ...]:
        archived = (f"archived {thing.archived_at:%Y-%m-%d}",) if thing.archived_at else ()
        return (f"in {thing.suite}", *super().facts(thing), *archived)

    def get_object(self, request: Any, object_id: str, from_field: Any = None) -> Case | None:
        found = super().get_object(request, object_id, from_field)
        if found is None:
            return None
        rows = Case.objects.select_related("suite__current", "current__created_by")
        return rows.get(pk=found.pk)
