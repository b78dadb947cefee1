"""The demo's own services beside the site, and the demo itself in an empty one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from django.core.management import call_command

from evalsite.serving import StartError
from experiments.demo.servers import DemoServerError, DemoServices, start_demo_services

KEY = "DEMO_KEY"
"""The variable that the demo's judge is configured with (`env:DEMO_KEY`); any value opens it."""


def start(var: Path) -> DemoServices:
    """Start both demo services on the ports of the last start, free ones the first time. Raises StartError.

    The ports stay the same because runs pin the address they were started against: one that was interrupted
    must find its target again.
    """
    os.environ.setdefault(KEY, "local")
    kept = var / "demo-ports.json"
    service_port, messages_port = _read(kept)
    try:
        services = start_demo_services(service_port=service_port, messages_port=messages_port)
    except DemoServerError as error:
        raise StartError(f"{str(error).rstrip('.')}; remove {kept} to let it choose another.") from None
    kept.write_text(json.dumps([services.service.port, services.messages.port]))
    return services


def _read(kept: Path) -> tuple[int, int]:
    try:
        first, second = json.loads(kept.read_text())
    except (OSError, ValueError, TypeError):
        return 0, 0
    known = all(isinstance(port, int) and 0 < port < 65536 for port in (first, second))
    return (first, second) if known else (0, 0)


def load_once(services: DemoServices, say: Callable[[str], None]) -> None:
    """Fill an empty site with the demo; in any other, tell the demo's target and judge where they listen."""
    from experiments.models import Suite

    first = not Suite.objects.exists()
    if first:
        say("First start: loading the demo.")
    call_command(
        "load_demo",
        service_url=services.service_url,
        messages_url=services.messages_url,
        addresses_only=not first,
        runs=first,
        verbosity=0,
    )
