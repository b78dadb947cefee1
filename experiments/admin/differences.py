"""Two texts as a plain unified difference, and a version as the text it is compared by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any

import yaml

from experiments.evaluation.text import printable
from experiments.models.base import Version

MOST_CHARACTERS, MOST_LINES = 200_000, 4_000
"""Beyond these a difference is not drawn: the comparison takes time in the square of the lines."""

TOO_LONG = "These texts are too long to compare here; the export holds both."


@dataclass(frozen=True)
class DiffLine:
    """One line: `kind` is "added", "removed", "place" or "same"; `sign` and `word` say it without colour."""

    kind: str
    sign: str
    word: str
    text: str


_SIGNS = {"+": ("added", "+", "added"), "-": ("removed", "−", "removed"), "@": ("place", "", "")}


def difference(old: str, new: str) -> tuple[DiffLine, ...]:
    """The lines that differ, with two lines around each change."""
    before, after = printable(old).splitlines(), printable(new).splitlines()
    if max(len(old), len(new)) > MOST_CHARACTERS or max(len(before), len(after)) > MOST_LINES:
        return (DiffLine("place", "", "", TOO_LONG),)
    found = list(unified_diff(before, after, n=2, lineterm=""))[2:]
    lines = []
    for line in found:
        kind, sign, word = _SIGNS.get(line[:1], ("same", "", ""))
        lines.append(DiffLine(kind, sign, word, "…" if kind == "place" else line[1:]))
    return tuple(lines[1:] if lines and lines[0].kind == "place" else lines)


def change_lines(before: Any, after: Any) -> tuple[DiffLine, ...]:
    """What an activity line changed: the fields before against the fields after."""
    if not isinstance(before, dict | None) or not isinstance(after, dict | None):
        return ()
    return difference(readable(before or {}), readable(after or {}))


class _Readable(yaml.SafeDumper):
    """YAML in which a text of several lines is shown line by line."""

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Readable.add_representer(str, _text)


def readable(value: Any) -> str:
    """A document as YAML, a field a line, without what is not given."""
    given = {name: inner for name, inner in value.items() if inner not in (None, [], {}, "")}
    if not given:
        return ""
    return yaml.dump(given, Dumper=_Readable, sort_keys=False, allow_unicode=True, width=100)


@dataclass(frozen=True)
class VersionLine:
    """One version with what it changed; the first one shows all it holds."""

    version: Version
    is_current: bool
    difference: tuple[DiffLine, ...]


def version_lines(
    versions: Sequence[Version], current_id: int | None, text_of: Callable[[Any], str], *, shown: int
) -> list[VersionLine]:
    """The first `shown` of `versions` (newest first), each against the next older one."""
    lines = []
    for place, version in enumerate(versions[:shown]):
        older = versions[place + 1] if place + 1 < len(versions) else None
        lines.append(
            VersionLine(
                version=version,
                is_current=version.pk == current_id,
                difference=difference(text_of(older) if older else "", text_of(version)),
            )
        )
    return lines
