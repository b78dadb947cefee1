"""YAML and JSON as plain values that still know the line each of them stands on.

YAML is read from the parser's events, never by a loader that builds objects. Plain scalars follow YAML 1.2:
``no``, ``2024-01-01`` and ``6:162`` are text. Refused: duplicate keys, tags, several documents, nesting
beyond MAX_DEPTH, aliases that refer to themselves or expand without measure.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]  # public in Python, not in the stubs
from typing import Any, Literal, NoReturn

import yaml

from experiments.transfer.problems import FileRefusedError, Place, Problem, problem
from experiments.wire.body import BodyError, read_json

MAX_DEPTH = 60

_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,200})")
# The dot is required and the exponent signed: what YAML 1.1 writers leave unquoted as text stays text.
_FLOAT = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]{1,3})?")
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}
_STRING_TAGS = ("!", "tag:yaml.org,2002:str")
_MERGE = "<<"


@dataclass
class Spot:
    """Where a value stands, how many values it holds in all, and where those stand."""

    line: int
    size: int = 1
    inside: dict[str | int, "Spot"] = field(default_factory=dict)


@dataclass(frozen=True)
class Tree:
    """A document's value with the place of each part."""

    value: Any
    root: Spot

    def line(self, path: Place) -> int:
        """The line of the deepest part of the path that is there."""
        spot = self.root
        for part in path:
            if part not in spot.inside:
                break
            spot = spot.inside[part]
        return spot.line

    def real_path(self, path: Place, *, keep_last: bool) -> Place:
        """The path without parts that are not in the document (names of union members, of inner models);
        ``keep_last`` keeps a last part that is missing from it."""
        spot, real = self.root, []
        for place, part in enumerate(path):
            if part in spot.inside:
                spot = spot.inside[part]
                real.append(part)
            elif keep_last and place == len(path) - 1:
                real.append(part)
        return tuple(real)


@dataclass(frozen=True)
class _Event:
    kind: Literal["scalar", "map", "list", "end", "alias"]
    line: int
    value: Any = None
    anchor: str | None = None
    quoted: bool = False


@dataclass
class _Open:
    value: Any
    spot: Spot
    anchor: str | None
    key: str | None = None
    merged: list[tuple[dict[str, Any], Spot]] = field(default_factory=list)


def read_tree(text: str, file: str) -> Tree:
    """The one document in ``text``: JSON when the file's name says so or it is JSON, else YAML.

    FileRefusedError with the line when it is neither.
    """
    is_json = file.lower().endswith(".json")
    if is_json or text.lstrip().startswith("{"):
        try:
            read_json(text)
        except BodyError as broken:
            if is_json:
                _refuse(file, str(broken))
        else:
            return _Builder(file, len(text)).build(_json_events(text))
    try:
        return _Builder(file, len(text)).build(_yaml_events(text, file, yaml.CSafeLoader))
    except yaml.YAMLError as broken:
        if "invalid Unicode character escape code" in str(broken):
            # libyaml knows no lone surrogates; the slower parser reads them.
            try:
                return _Builder(file, len(text)).build(_yaml_events(text, file, yaml.SafeLoader))
            except yaml.YAMLError as still:
                broken = still
        mark = getattr(broken, "problem_mark", None)
        said = getattr(broken, "problem", None) or str(broken).splitlines()[0]
        _refuse(file, f"is not YAML: {said}", mark.line + 1 if mark else None)


def _refuse(file: str, sentence: str, line: int | None = None, path: Place = ()) -> NoReturn:
    raise FileRefusedError([problem(file, sentence, line=line, path=path)])


class _Builder:
    """Builds one tree from events, without recursion; collects every duplicate key before it refuses."""

    def __init__(self, file: str, length: int) -> None:
        self.file = file
        self.most = 100_000 + length
        self.open: list[_Open] = []
        self.anchors: dict[str, tuple[Any, Spot] | None] = {}
        self.problems: list[Problem] = []
        self.done: Tree | None = None

    def build(self, events: Iterator[_Event]) -> Tree:
        for event in events:
            if event.kind == "end":
                self._close()
            elif event.kind == "alias":
                self._alias(event)
            elif event.kind == "scalar":
                self._scalar(event)
            else:
                self._start(event)
        if self.problems:
            raise FileRefusedError(self.problems)
        if self.done is None:
            _refuse(self.file, "holds no document")
        return self.done

    def _path(self) -> Place:
        path: list[str | int] = []
        for frame in self.open:
            if isinstance(frame.value, list):
                path.append(len(frame.value))
            elif frame.key is not None:
                path.append(frame.key)
        return tuple(path)

    def _start(self, event: _Event) -> None:
        if len(self.open) >= MAX_DEPTH:
            _refuse(self.file, f"is nested deeper than {MAX_DEPTH} levels", event.line)
        if self._wants_key():
            _refuse(self.file, "a key must be text", event.line, self._path())
        if event.anchor:
            self.anchors[event.anchor] = None
        value: Any = {} if event.kind == "map" else []
        self.open.append(_Open(value, Spot(event.line), event.anchor))

    def _wants_key(self) -> bool:
        return bool(self.open) and isinstance(self.open[-1].value, dict) and self.open[-1].key is None

    def _scalar(self, event: _Event) -> None:
        if self._wants_key():
            self._key(event)
            return
        value = event.value if event.quoted else _plain(event.value)
        self._put(value, Spot(event.line), event.anchor)

    def _key(self, event: _Event) -> None:
        frame = self.open[-1]
        key = str(event.value)
        if key in frame.value and not (key == _MERGE and not event.quoted):
            where = (*self._path(), key)
            self.problems.append(
                problem(self.file, "the key stands there twice", line=event.line, path=where)
            )
        frame.key = key
        # A mapping's part stands on the line of its key, which is where a reader looks.
        frame.spot.inside.setdefault(key, Spot(event.line))

    def _alias(self, event: _Event) -> None:
        if self._wants_key():
            _refuse(self.file, "a key must be text", event.line, self._path())
        known = self.anchors.get(event.value)
        if known is None:
            _refuse(self.file, f"the alias *{event.value} refers to itself", event.line, self._path())
        self._put(*known, None)

    def _close(self) -> None:
        frame = self.open.pop()
        if isinstance(frame.value, dict):
            for merged, spot in frame.merged:
                for key, value in merged.items():
                    if key not in frame.value:
                        frame.value[key] = value
                        frame.spot.inside[key] = spot.inside[key]
                        frame.spot.size += spot.inside[key].size
        self._put(frame.value, frame.spot, frame.anchor)

    def _put(self, value: Any, spot: Spot, anchor: str | None) -> None:
        if anchor:
            self.anchors[anchor] = (value, spot)
        if not self.open:
            self.done = Tree(value, spot)
            return
        frame = self.open[-1]
        frame.spot.size += spot.size
        if frame.spot.size > self.most:
            _refuse(self.file, "its aliases expand to more than the file could hold", spot.line)
        if isinstance(frame.value, list):
            frame.spot.inside[len(frame.value)] = spot
            frame.value.append(value)
            return
        key, frame.key = frame.key, None
        assert key is not None
        if key == _MERGE and isinstance(value, dict | list):
            self._merge(frame, value, spot)
            return
        line = frame.spot.inside[key].line
        frame.spot.inside[key] = Spot(line, spot.size, spot.inside)
        frame.value[key] = value

    def _merge(self, frame: _Open, value: Any, spot: Spot) -> None:
        frame.spot.inside.pop(_MERGE, None)
        for place, part in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(part, dict):
                _refuse(self.file, "<< merges mappings only", spot.line, self._path())
            frame.merged.append((part, spot.inside[place] if isinstance(value, list) else spot))


def _plain(text: str) -> Any:
    lowered = text.lower() if text in (text.lower(), text.upper(), text.capitalize()) else text
    if lowered in _WORDS:
        return _WORDS[lowered]
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _yaml_events(text: str, file: str, loader: type[Any]) -> Iterator[_Event]:
    documents = 0
    for event in yaml.parse(text, Loader=loader):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                _refuse(file, "holds more than one document", line)
        elif isinstance(event, yaml.AliasEvent):
            yield _Event("alias", line, event.anchor)
        elif isinstance(event, yaml.ScalarEvent):
            if event.tag is not None and event.tag not in _STRING_TAGS:
                _refuse(file, f"the tag {event.tag} is not allowed", line)
            quoted = event.tag is not None or not event.implicit[0]
            yield _Event("scalar", line, event.value, event.anchor, quoted)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if event.tag is not None:
                _refuse(file, f"the tag {event.tag} is not allowed", line)
            kind: Literal["map", "list"] = "map" if isinstance(event, yaml.MappingStartEvent) else "list"
            yield _Event(kind, line, anchor=event.anchor)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            yield _Event("end", line)


_TOKEN = re.compile(r'[\s,:]*(?:([{\[])|([}\]])|(")|([^\s,:{}\[\]"]+))')


def _json_events(text: str) -> Iterator[_Event]:
    """Events of a text that is valid JSON already."""
    place, line, counted = 0, 1, 0
    while found := _TOKEN.match(text, place):
        start = found.start(found.lastindex or 0)
        line += text.count("\n", counted, start)
        counted, place = start, found.end()
        if found[1]:
            yield _Event("map" if found[1] == "{" else "list", line)
        elif found[2]:
            yield _Event("end", line)
        elif found[3]:
            value, place = scanstring(text, place, True)
            yield _Event("scalar", line, value, quoted=True)
        else:
            yield _Event("scalar", line, json.loads(found[4]), quoted=True)
