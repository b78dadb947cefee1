"""`kill -9` of the site in the middle of a run: the next start finishes it, nothing lost, nothing twice."""

from __future__ import annotations

import http.cookiejar
import json
import re
import sqlite3
import time
import urllib.parse
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.sites import Site, site_environment, start_site

EXPERIMENT = "refund-desk"
SECONDS = 90

COUNT = """
import json
from collections import Counter
from experiments.models import Attempt, CaseResult, Result, Run
# The newest: a new site begins with the demo's own runs.
run = Run.objects.latest("pk")
attempts = list(Attempt.objects.filter(run=run).values_list("case_version", "number", "state"))
print(json.dumps({
    "state": run.state,
    "requested": run.requested,
    "states": Counter(state for _, _, state in attempts),
    "distinct": len({pair[:2] for pair in attempts}),
    "without": Attempt.objects.filter(run=run).exclude(failure_cause="").count(),
    "results": Result.objects.filter(grading__run=run).count(),
    "graded": Result.objects.filter(grading__run=run).values("attempt").distinct().count(),
}))
"""


class Visitor:
    """A browser without a screen: cookies, forms."""

    def __init__(self, site: Site) -> None:
        self.site = site
        jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))

    def get(self, where: str) -> str:
        with self.opener.open(urllib.parse.urljoin(self.site.url, where), timeout=20) as page:
            return str(page.read().decode())

    def start_experiment(self, name: str) -> None:
        """Press Start on the page of the experiment."""
        code = f"from experiments.models import Experiment; print(Experiment.objects.get(name={name!r}).pk)"
        page = self.get(f"/experiments/{self.site.python(code).strip()}/?part=plan")
        form = re.search(r'<form[^>]*action="(/experiments/\d+/start/)".*?</form>', page, re.DOTALL)
        assert form is not None, page
        fields = dict(re.findall(r'name="(csrfmiddlewaretoken|token)" value="([^"]+)"', form[0]))
        body = urllib.parse.urlencode(fields).encode()
        request = urllib.request.Request(
            urllib.parse.urljoin(self.site.url, form[1]), body, {"Referer": self.site.url}
        )
        with self.opener.open(request, timeout=20) as answer:
            assert "/runs/" in answer.url


def figures(site: Site) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(site.python(COUNT))
    return found


@pytest.mark.faults
@pytest.mark.slow
def test_a_run_interrupted_by_kill_9_is_finished_after_the_next_start(tmp_path: Path) -> None:
    environment = site_environment(
        tmp_path / "var",
        # Leases of seconds, so that the test does not wait the minute that a real site waits.
        EVALSITE_LEASE_SECONDS="6",
        EVALSITE_HEARTBEAT_SECONDS="1",
        EVALSITE_SWEEP_SECONDS="2",
    )
    site = start_site(environment)
    visitor = Visitor(site)
    visitor.get(site.link)
    visitor.start_experiment(EXPERIMENT)
    wait_for_done(tmp_path / "var/evalsite.sqlite3", 20)
    site.kill()
    killed = figures(site)
    assert 20 <= killed["states"]["done"] < killed["requested"], killed
    again = start_site(environment)
    try:
        until = time.monotonic() + SECONDS
        while (found := figures(again))["state"] != "finished" and time.monotonic() < until:
            time.sleep(1)
        assert found["state"] == "finished", found
        assert found["states"] == {"done": found["requested"]}
        assert found["distinct"] == found["requested"]
        # Each attempt has one result, or says why it never got that far.
        assert found["results"] == found["graded"] == found["requested"] - found["without"]
    finally:
        again.stop()


def wait_for_done(database: Path, attempts: int) -> None:
    """Look into the file itself: a command would take longer than the run."""
    until = time.monotonic() + SECONDS
    with closing(sqlite3.connect(database, timeout=20)) as connection:
        while time.monotonic() < until:
            query = (
                "SELECT count(*) FROM experiments_attempt"
                " WHERE state = 'done' AND run_id = (SELECT max(id) FROM experiments_run)"
            )
            if connection.execute(query).fetchone()[0] >= attempts:
                return
            time.sleep(0.02)
    raise AssertionError("the run did not get going")
