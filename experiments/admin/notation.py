"""How an author writes lists, groups, tools and documents in plain text fields, and how they are read back.

`show_x` writes a value as text, `read_x` reads text as a value, both without Django. Reading what was shown
gives the same value for every value that the notation can hold; a form keeps the stored value whenever its
text was not touched, so what the notation cannot hold is never lost by saving.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from experiments.transfer.problems import FileRefusedError
from experiments.transfer.trees import read_tree

BETWEEN = "---"
"""A line of its own between items, for items of several lines."""

OPTIONAL, VITAL = "optional:", "vital:"


class NotationError(ValueError):
    """A text that cannot be read; the message is one sentence that names the line."""


def unix_lines(text: str) -> str:
    """Line ends as `\\n`: browsers send `\\r\\n`."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def show_lines(items: Sequence[str]) -> str:
    """One item a line; with a line `---` between them when an item has several lines."""
    if any("\n" in item or item.strip() == BETWEEN for item in items):
        # One item alone still needs the mark that says it is one.
        return f"\n{BETWEEN}\n".join(items) + (f"\n{BETWEEN}" if len(items) == 1 else "")
    return "\n".join(items)


def read_lines(text: str) -> list[str]:
    """The items, without blank ones."""
    lines = unix_lines(text).split("\n")
    if BETWEEN not in (line.strip() for line in lines):
        return [line.strip() for line in lines if line.strip()]
    items: list[list[str]] = [[]]
    for line in lines:
        if line.strip() == BETWEEN:
            items.append([])
        else:
            items[-1].append(line)
    joined = ["\n".join(item).strip() for item in items]
    return [item for item in joined if item]


def show_tags(tags: Sequence[str]) -> str:
    """Separated by commas."""
    return ", ".join(tags)


def read_tags(text: str) -> list[str]:
    """Separated by commas or line ends; each once."""
    parts = (part.strip() for line in unix_lines(text).split("\n") for part in line.split(","))
    return list(dict.fromkeys(part for part in parts if part))


def show_groups(groups: Sequence[Sequence[str]]) -> str:
    """One group a line, its alternatives separated by a space, or by ` | ` when an id holds a space."""
    return "\n".join(_show_group(group) for group in groups)


def _show_group(group: Sequence[str]) -> str:
    if any(" " in source for source in group):
        return " | ".join(group) + (" |" if len(group) == 1 else "")
    return " ".join(group)


def read_groups(text: str) -> list[list[str]]:
    """The groups, without blank lines."""
    groups = []
    for line in unix_lines(text).split("\n"):
        parts = line.split("|") if "|" in line else line.split()
        group = [part.strip() for part in parts if part.strip()]
        if group:
            groups.append(group)
    return groups


def show_nuggets(nuggets: Iterable[Mapping[str, Any]]) -> str:
    """One fact a line; one that need not be there begins with `optional:`."""
    return show_lines([_show_nugget(nugget) for nugget in nuggets])


def _show_nugget(nugget: Mapping[str, Any]) -> str:
    text = str(nugget["text"])
    if not nugget["vital"]:
        return f"{OPTIONAL} {text}"
    return f"{VITAL} {text}" if text.casefold().startswith((OPTIONAL, VITAL)) else text


def read_nuggets(text: str) -> list[dict[str, Any]]:
    """The facts as `{text, vital}`."""
    return [_read_nugget(line) for line in read_lines(text)]


def _read_nugget(line: str) -> dict[str, Any]:
    for mark, vital in ((OPTIONAL, False), (VITAL, True)):
        if line.casefold().startswith(mark):
            return {"text": line[len(mark) :].strip(), "vital": vital}
    return {"text": line, "vital": True}


def show_tools(tools: Sequence[tuple[str, str]]) -> str:
    """One failing tool a line: `tool: what it answers`."""
    return show_lines([f"{tool}: {message}" for tool, message in tools])


def read_tools(text: str) -> list[tuple[str, str]]:
    """The failing tools as (tool, message); NotationError for a line without a message."""
    tools = []
    for number, line in enumerate(read_lines(text), start=1):
        tool, colon, message = line.partition(": ") if ": " in line else line.partition(":")
        if not colon or not tool.strip() or not message.strip():
            raise NotationError(f"line {number} must read as tool: what it answers")
        tools.append((tool.strip(), message.strip()))
    return tools


class _Plain(yaml.SafeDumper):
    """YAML as an author would write it: long texts stay on their line."""

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


def show_document(value: Any) -> str:
    """A list or mapping as YAML; nothing as nothing."""
    if not value:
        return ""
    if isinstance(value, list):
        return "".join(f"- {_flow(item)}" for item in value).rstrip("\n")
    return "\n".join(f"{show_value(name)}: {show_value(inner)}" for name, inner in value.items())


def show_value(value: Any) -> str:
    """One value on one line, as it would stand in a document."""
    return _flow([value]).strip()[1:-1]


def _flow(value: Any) -> str:
    return yaml.dump(
        value, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=float("inf"), default_flow_style=True
    )


def read_document(text: str, *, of: type[list[Any]] | type[dict[str, Any]]) -> Any:
    """The list or mapping in a YAML or JSON text; NotationError with line and reason otherwise."""
    if not text.strip():
        return of()
    try:
        value = read_tree(unix_lines(text), "text.yaml").value
    except FileRefusedError as refused:
        first = refused.problems[0]
        where = f"line {first.line}: " if first.line else ""
        raise NotationError(f"{where}{first.path + ': ' if first.path else ''}{first.sentence}") from refused
    if value is None:
        return of()
    if not isinstance(value, of):
        wanted = "a list: begin each entry with “- ”" if of is list else "a mapping: one “name: value” a line"
        raise NotationError(f"must be {wanted}")
    return value
