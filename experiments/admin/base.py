"""What every admin page shares: permission decided in Python, saving through a service, no delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from django.contrib import admin, messages
from django.contrib.admin.templatetags.admin_urls import add_preserved_filters
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import models
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from experiments.admin.differences import change_lines, version_lines
from experiments.admin.editform import EditForm
from experiments.models import Activity, Permission, User
from experiments.services.edits import edition_of

Thing = TypeVar("Thing", bound=models.Model)

VERSIONS_A_PAGE, SHOWN_ACTIVITY = 20, 50

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin
else:

    class _ModelAdmin(admin.ModelAdmin):
        """Generic for the type checker only, as Django's own class is not."""

        def __class_getitem__(cls, _item: object) -> type:
            return cls


class PlainAdmin(_ModelAdmin[Thing], Generic[Thing]):
    """A list and a page, for everybody with `permission`; nothing is added, changed or deleted."""

    permission: ClassVar[Permission] = Permission.AUTHOR
    actions: Any = ()
    list_per_page = 50
    show_full_result_count = False
    intro: ClassVar[str] = ""
    """One sentence under the title of the list."""
    list_tools: ClassVar[tuple[tuple[str, str], ...]] = ()
    """More that can be done from the list: label and the name of its address."""
    versioned: ClassVar[bool] = False

    def _may(self, request: HttpRequest) -> bool:
        return request.user.is_authenticated and request.user.may(self.permission)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self._may(request)

    def has_view_permission(self, request: HttpRequest, obj: Thing | None = None) -> bool:
        return self._may(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Thing | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Thing | None = None) -> bool:
        return False

    def save_model(self, request: Any, obj: Any, form: Any, change: Any) -> None:
        raise TypeError("everything is saved by a service")

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        context = {
            "title": str(self.opts.verbose_name_plural).capitalize(),
            "intro": self.intro,
            "list_tools": [(label, reverse(name)) for label, name in self.list_tools],
        }
        return super().changelist_view(request, {**context, **(extra_context or {})})

    def found(self, request: HttpRequest, object_id: str) -> Thing:
        """The thing, or 404; 403 for who may not see it."""
        if not self._may(request):
            raise PermissionDenied
        thing = self.get_object(request, unquote(object_id))
        if thing is None:
            raise Http404
        return thing

    def details(self, thing: Any) -> tuple[tuple[str, str], ...]:
        """A thing that is only read, as (label, text)."""
        return (("Name", str(thing)),)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """The thing, to be read: a POST changes nothing and is refused."""
        if object_id is None or request.method not in ("GET", "HEAD"):
            raise PermissionDenied
        thing = self.found(request, object_id)
        context = self.context_of(request, thing, details=self.details(thing))
        return TemplateResponse(request, "admin/read.html", context)

    def version_text(self, version: Any) -> str:
        """How a version reads in a difference."""
        raise NotImplementedError

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> Any:
        """Every version with what differs from the one before, and who did what to the thing."""
        thing: Any = self.found(request, object_id)
        page, lines = None, []
        if self.versioned:
            rows = thing.versions.select_related("created_by").order_by("-number")
            page = Paginator(rows, VERSIONS_A_PAGE).get_page(request.GET.get("page"))
            start = max(page.start_index() - 1, 0)
            # One more than is shown: the last one differs from it.
            loaded = list(rows[start : start + VERSIONS_A_PAGE + 1])
            lines = version_lines(loaded, thing.current_id, self.version_text, shown=VERSIONS_A_PAGE)
        done = Activity.objects.filter(object_type=self.opts.model_name, object_id=thing.pk)[:SHOWN_ACTIVITY]
        context = self.context_of(
            request,
            thing,
            page=page,
            lines=lines,
            activity=[(one, change_lines(one.before, one.after)) for one in done],
            page_url=self.page_url(thing),
        )
        return TemplateResponse(request, "admin/versions.html", context)

    def context_of(self, request: HttpRequest, thing: Thing | None, **more: Any) -> dict[str, Any]:
        """What every page about one thing shows."""
        name = str(self.opts.verbose_name)
        return {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": thing,
            "kind": name,
            "title": str(thing) if thing else f"New {name}",
            "list_url": self.list_url(request),
            "list_name": str(self.opts.verbose_name_plural).capitalize(),
            **more,
        }

    def list_url(self, request: HttpRequest) -> str:
        """The list as the reader left it, with its filters."""
        url = reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")
        preserved = self.get_preserved_filters(request)
        return str(add_preserved_filters({"preserved_filters": preserved, "opts": self.opts}, url))

    def page_url(self, thing: Any, page: str = "change") -> str:
        """The address of a page about one thing."""
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_{page}", args=[thing.pk])


class AuthoringAdmin(PlainAdmin[Thing], Generic[Thing]):
    """Adding and editing through an `EditForm`."""

    edit_form: ClassVar[type[EditForm]]
    edit_template: ClassVar[str] = "admin/edit.html"
    versioned = True

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self._may(request)

    def has_change_permission(self, request: HttpRequest, obj: Thing | None = None) -> bool:
        return self._may(request)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        if not self._may(request):
            raise PermissionDenied
        user = cast(User, request.user)
        thing = self.found(request, object_id) if object_id else None
        if request.method != "POST":
            form = self.edit_form(user=user, thing=thing, start=None if thing else self.start(request))
            return self._page(request, form, thing)
        form = self.edit_form(request.POST, request.FILES, user=user, thing=thing)
        if "_preview" in request.POST:
            form.is_valid()
            if request.headers.get("HX-Request") == "true":
                return TemplateResponse(request, form.preview_template, {"form": form, **form.preview()})
            return self._page(request, form, thing)
        form.check_edition()
        saved = form.save() if form.is_valid() and form.conflict is None else None
        if saved is None:
            return self._page(request, form, thing, status=409 if form.conflict else 422)
        self._say_saved(request, thing, saved)
        return HttpResponseRedirect(
            self.page_url(saved) if "_continue" in request.POST else self.after_url(request, saved)
        )

    def start(self, request: HttpRequest) -> dict[str, Any]:
        """What a new thing's form begins with, by the address."""
        return {name: value for name, value in request.GET.items() if name in self.edit_form.base_fields}

    def after_url(self, request: HttpRequest, saved: models.Model) -> str:
        """Where a save leads: back to the list unless the page says otherwise."""
        del saved
        return self.list_url(request)

    def _say_saved(self, request: HttpRequest, before: models.Model | None, saved: models.Model) -> None:
        if before is not None and edition_of(before) == edition_of(saved):
            messages.info(request, f"Nothing changed: {self.named(saved)} stays as it was.")
        else:
            messages.success(request, f"Saved: {self.named(saved)}.")

    def named(self, thing: Any) -> str:
        """The thing with its version, as messages name it."""
        current = getattr(thing, "current", None)
        return f"{thing} v{current.number}" if current else str(thing)

    def _page(
        self, request: HttpRequest, form: EditForm, thing: Thing | None, status: int = 200
    ) -> HttpResponse:
        context = self.context_of(
            request,
            thing,
            form=form,
            history_url=self.page_url(thing, "history") if thing else "",
            history_name="Versions and history" if self.versioned else "History",
            tools=self.tools(thing) if thing else (),
            facts=self.facts(thing) if thing else (),
            **(form.preview() if form.preview_template else {}),
        )
        return TemplateResponse(request, self.edit_template, context, status=status)

    def tools(self, thing: Any) -> tuple[dict[str, Any], ...]:
        """More that can be done with the thing: `label`, `url`, and `post` with the fields of a POST."""
        del thing
        return ()

    def facts(self, thing: Any) -> tuple[str, ...]:
        """One line of facts under the title."""
        current = getattr(thing, "current", None)
        if current is None:
            return ()
        by = f" by {current.created_by.get_username()}" if current.created_by else ""
        return (f"version {current.number}", f"saved {current.created_at:%Y-%m-%d %H:%M} UTC{by}")
