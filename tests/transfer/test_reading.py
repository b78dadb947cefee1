"""Files from users as text."""

from pathlib import Path

import pytest

from experiments.transfer import reading
from experiments.transfer.problems import FileRefusedError, Problem
from experiments.transfer.reading import read_document, read_lines


def file(folder: Path, raw: bytes) -> Path:
    path = folder / "f"
    path.write_bytes(raw)
    return path


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf \r\n", "is empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "holds NUL bytes"),
        ("a: ñ".encode("latin-1") + b"\n", ":1: is not UTF-8 \\(byte 4"),
        (b"a: 1\nb: 2\nc: \xff\n", ":3: is not UTF-8 \\(byte 4"),
        ("a: 1".encode("utf-16"), "UTF-16"),
    ],
)
def test_a_document_that_is_no_text_is_refused_with_the_place(
    tmp_path: Path, raw: bytes, reason: str
) -> None:
    with pytest.raises(FileRefusedError, match=reason):
        read_document(file(tmp_path, raw))


def test_a_missing_file_and_a_folder_are_refused_in_one_sentence(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere.yaml", tmp_path):
        with pytest.raises(FileRefusedError, match="cannot be read"):
            read_document(path)
        with pytest.raises(FileRefusedError, match="cannot be read"):
            list(read_lines(path))


def test_a_document_over_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_DOCUMENT_BYTES", 1024 * 1024)
    with pytest.raises(FileRefusedError, match="larger than 1 MB"):
        read_document(file(tmp_path, b"x" * (1024 * 1024 + 1)))


def test_a_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    assert read_document(file(tmp_path, b"\xef\xbb\xbfa: 1\r\n")) == "a: 1\r\n"
    assert list(read_lines(file(tmp_path, b'\xef\xbb\xbf{"a": 1}\r\n'))) == [(1, '{"a": 1}\r\n')]


def test_lines_end_at_line_feeds_only_and_blank_ones_are_left_out(tmp_path: Path) -> None:
    raw = '{"a": "x\u2028y\x85z"}\r\n\n  \n{"b": 2}'.encode()
    assert [(number, str(text).strip()) for number, text in read_lines(file(tmp_path, raw))] == [
        (1, '{"a": "x\u2028y\x85z"}'),
        (4, '{"b": 2}'),
    ]


def test_a_line_of_fifty_megabytes_is_refused_and_the_next_one_read(tmp_path: Path) -> None:
    path = file(tmp_path, b'"' + b"x" * 50_000_000 + b'"\n{"b": 2}\n')
    found = list(read_lines(path))
    assert isinstance(found[0][1], Problem)
    assert str(found[0][1]) == f"{path}:1: the line is longer than 16 MB"
    assert found[1:] == [(2, '{"b": 2}\n')]


def test_each_line_that_is_no_utf_8_is_its_own_problem(tmp_path: Path) -> None:
    found = list(read_lines(file(tmp_path, b'{"a": 1}\n\xff\n{"b": 2}\n\xfe\n')))
    assert [number for number, text in found if isinstance(text, Problem)] == [2, 4]
