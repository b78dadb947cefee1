"""Files from users as text: size, encoding and kind checked before anything reads them."""

from collections.abc import Iterator
from pathlib import Path

from experiments.transfer.problems import FileRefusedError, Problem, file_name, problem

MAX_DOCUMENT_BYTES = 20 * 1024 * 1024
"""One suite file."""

MAX_LINE_BYTES = 16 * 1024 * 1024
"""One line of a JSONL file: room for a conversation of several one-megabyte replies."""

_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"


def read_document(path: Path) -> str:
    """The whole file as text, BOM dropped; FileRefusedError if missing, too large or no UTF-8 text."""
    name = file_name(path)
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_DOCUMENT_BYTES + 1)
    except OSError as broken:
        raise FileRefusedError([unreadable(name, broken)]) from broken
    if len(raw) > MAX_DOCUMENT_BYTES:
        limit = MAX_DOCUMENT_BYTES // 1024 // 1024
        raise FileRefusedError([problem(name, f"is larger than {limit} MB")])
    text, refused = _decoded(raw.removeprefix(_BOM), name, 1)
    if refused:
        raise FileRefusedError([refused])
    if not text.strip():
        raise FileRefusedError([problem(name, "is empty")])
    return text


def read_lines(path: Path) -> Iterator[tuple[int, str | Problem]]:
    """Each line that is not blank, with its number from 1: its text, or what is wrong with it.

    Lines end at ``\\n`` or ``\\r\\n`` only, so a U+2028 inside a JSON text ends nothing. A line over
    MAX_LINE_BYTES is refused without being held in memory. FileRefusedError when the file cannot be opened.
    """
    name = file_name(path)
    try:
        with path.open("rb") as file:
            number = 0
            while raw := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(raw) > MAX_LINE_BYTES:
                    while raw and not raw.endswith(b"\n"):
                        raw = file.readline(MAX_LINE_BYTES)
                    limit = MAX_LINE_BYTES // 1024 // 1024
                    yield number, problem(name, f"the line is longer than {limit} MB", line=number)
                    continue
                text, refused = _decoded(raw.removeprefix(_BOM) if number == 1 else raw, name, number)
                if refused:
                    yield number, refused
                    if number == 1:
                        return
                elif text.strip():
                    yield number, text
    except OSError as broken:
        raise FileRefusedError([unreadable(name, broken)]) from broken


def unreadable(name: str, broken: OSError) -> Problem:
    """Why the operating system did not open the file."""
    return problem(name, f"cannot be read: {broken.strerror or type(broken).__name__}")


def _decoded(raw: bytes, name: str, first_line: int) -> tuple[str, Problem | None]:
    if raw.startswith(_UTF16):
        return "", problem(name, "is UTF-16, not UTF-8; save it as UTF-8", line=first_line)
    if b"\x00" in raw:
        line = first_line + raw[: raw.index(b"\x00")].count(b"\n")
        return "", problem(name, "is not a text file: it holds NUL bytes", line=line)
    try:
        return raw.decode("utf-8"), None
    except UnicodeDecodeError as broken:
        line = first_line + raw[: broken.start].count(b"\n")
        byte = broken.start - (raw.rfind(b"\n", 0, broken.start) + 1) + 1
        return "", problem(name, f"is not UTF-8 (byte {byte} of the line)", line=line)
