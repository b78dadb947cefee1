"""Real questions on both engines, compared: `python -m tests.real.gdpr`; see docs/real-input.md.

Each engine runs in processes of its own, against one retrieval service in this one, which counts what it is
asked. An engine that breaks a rule ends with the assertion that says which.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.real import oracle
from tests.real.engine import ROOT
from tests.real.service import GDPR, SEED, Library, serve
from tests.sites import site_environment

ENGINE_SECONDS = 900
GROUP_SECONDS = 5
"""Lanes change hands every so many seconds where there are several workers: eight lanes are one group, and a
run of this size would otherwise stay with the process that took it first."""


def run_engine(scratch: Path, options: argparse.Namespace, **environment: str) -> dict[str, Any]:
    """The figures of the story on one engine and the service's own count of it. SystemExit when it failed."""
    scratch.mkdir()
    library = Library(seed=options.seed, pace=options.pace)
    service = serve(library)
    out = scratch / "figures.json"
    arguments = {
        "--service-url": service.url,
        "--workers": options.workers,
        "--lanes": options.lanes,
        "--repeats": options.repeats,
        "--out": out,
    }
    try:
        done = subprocess.run(
            [
                *[sys.executable, "-m", "tests.real.engine"],
                *(str(each) for pair in arguments.items() for each in pair),
            ],
            cwd=ROOT,
            env=site_environment(scratch / "var", **environment),
            timeout=ENGINE_SECONDS,
            check=False,
        )
    finally:
        service.close()
    if done.returncode:
        raise SystemExit(f"The engine ended with code {done.returncode}.")
    figures: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    turns = oracle.turns().values()
    wanted = Counter((turn, number) for turn in turns for number in range(1, options.repeats + 1))
    assert library.tally == wanted, "a question was asked too often or not at all"
    assert set(library.asked.values()) == {1}, "an idempotency key came twice"
    figures["asked"] = sum(library.asked.values())
    return figures


def table(columns: dict[str, dict[str, Any]]) -> str:
    """The figures side by side, a column an engine."""
    rows = [("", list(columns)), *((name, [show(each) for each in columns.values()]) for name, show in ROWS)]
    return "\n".join(f"{name:<34}" + "".join(f"{cell:>34}" for cell in cells) for name, cells in rows)


def _verdicts(standings: dict[str, list[str]]) -> str:
    counts = Counter(verdict for verdict, _ in standings.values())
    return " ".join(f"{counts[verdict]} {verdict}" for verdict in ("PASSED", "VARIED", "FAILED"))


def _passes(standings: dict[str, list[str]]) -> int:
    return sum(strip.count("P") for _, strip in standings.values())


ROWS: tuple[tuple[str, Callable[[dict[str, Any]], str]], ...] = (
    ("attempts done, each once", lambda f: str(f["attempts"])),
    ("requests the service counted", lambda f: str(f["asked"])),
    ("run, seconds", lambda f: f"{f['seconds']:.1f}"),
    ("attempts by process", lambda f: " + ".join(map(str, sorted(f["by_process"].values(), reverse=True)))),
    ("lane groups", lambda f: str(f["groups"])),
    ("case verdicts as run", lambda f: _verdicts(f["before"])),
    ("case verdicts with two decisions", lambda f: _verdicts(f["after"])),
    ("attempts passed", lambda f: f"{_passes(f['before'])}, then {_passes(f['after'])}"),
    ("sources in the queue", lambda f: str(len(f["queue"]))),
    ("citations in the queue", lambda f: str(sum(map(len, f["queue"].values())))),
    ("attempts flipped, cases changed", lambda f: f"{f['flipped']}, {len(f['changed'])}"),
    ("decisions applied in, seconds", lambda f: f"{f['grade_seconds']:.2f}"),
)


def compare(columns: dict[str, dict[str, Any]]) -> list[str]:
    """In what the engines differ; empty when they found the same."""
    first, *others = columns.values()
    return [
        f"{part}: {sorted(str(pair) for pair in _differences(first[part], other[part]))}"
        for other in others
        for part in ("before", "queue", "after", "changed")
        if first[part] != other[part]
    ]


def _differences(one: Any, other: Any) -> list[Any]:
    if isinstance(one, dict):
        return [key for key in one.keys() | other.keys() if one.get(key) != other.get(key)]
    return [one, other]


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the GDPR suite on both engines and compare them.")
    parser.add_argument("--database-url", help="an empty PostgreSQL database; without it only SQLite is run")
    parser.add_argument("--broker-url", help="a Redis number of its own")
    parser.add_argument("--workers", type=int, default=2, help="worker processes for lanes (PostgreSQL)")
    parser.add_argument("--lanes", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--pace", type=float, default=1.0, help="1: 0.2 to 1.2 s an answer; 0: at once")
    options = parser.parse_args()
    if not GDPR.exists():
        print(f"{GDPR} is absent; nothing can be run.", file=sys.stderr)
        return 1
    if bool(options.database_url) != bool(options.broker_url):
        parser.error("--database-url and --broker-url go together")
    columns: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="evalsite-gdpr-") as scratch:
        if options.database_url:
            columns["PostgreSQL + Redis"] = run_engine(
                Path(scratch) / "production",
                options,
                DATABASE_URL=options.database_url,
                BROKER_URL=options.broker_url,
                EVALSITE_GROUP_SECONDS=str(GROUP_SECONDS),
            )
        columns["embedded default"] = run_engine(Path(scratch) / "embedded", options)
    print(table(columns))
    for case in columns["embedded default"]["changed"]:
        before, after = (columns["embedded default"][part][case] for part in ("before", "after"))
        print(f"{case}: {' '.join(before)} -> {' '.join(after)}")
    differences = compare(columns)
    for difference in differences:
        print(f"THE ENGINES DIFFER in {difference}")
    if len(columns) > 1 and not differences:
        print("Both engines: equal verdicts, strips and queue, before and after the decisions.")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
