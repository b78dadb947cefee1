"""The home page."""

from __future__ import annotations

from django.http import HttpResponse

from experiments.models import Permission
from experiments.selectors.home import home_page, running_lines
from experiments.web.access import Request, allow
from experiments.web.pages import STOP_POLLING, page, wants_part


@allow(Permission.READ)
def home(request: Request) -> HttpResponse:
    """What runs now and how every experiment last went; asked for its part "running", only the former."""
    if wants_part(request) and request.GET.get("part") == "running":
        running = running_lines()
        status = 200 if running else STOP_POLLING
        return page(request, "components/running.html", {"running": running}, status=status)
    return page(request, "home.html", {"page": home_page()}, here="Home")
