"""``manage.py import_suite``, ``import_corpus`` and ``export_suite``."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from experiments.models import Activity, Case, Corpus, CorpusUnit, Role, Suite
from tests.factories import make_suite, make_user
from tests.transfer.test_suite_file import SPEC_EXAMPLE

pytestmark = pytest.mark.django_db
SHARED = Path(__file__).parents[3] / "shared" / "data"


def run(name: str, *arguments: Any, **options: Any) -> tuple[str, str, int]:
    out, err, code = StringIO(), StringIO(), 0
    try:
        call_command(name, *arguments, stdout=out, stderr=err, **options)
    except SystemExit as left:
        code = int(left.code or 0)
    return out.getvalue(), err.getvalue(), code


def suite_file(folder: Path, text: str = SPEC_EXAMPLE) -> Path:
    path = folder / "suite.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_suite_is_imported_and_said_what_changed(tmp_path: Path) -> None:
    out, err, code = run("import_suite", suite_file(tmp_path))
    assert code == 0
    assert out == "refunds v1: 0 cases unchanged\n  created (2): refund-timing, refund-timing-base\n"
    assert err == ""
    out, _, code = run("import_suite", suite_file(tmp_path))
    assert (out, code) == ("refunds v1: nothing changed, 2 cases\n", 0)


def test_a_suite_with_problems_is_refused_whole(tmp_path: Path) -> None:
    run("import_suite", suite_file(tmp_path))
    lines = Activity.objects.count()
    broken = SPEC_EXAMPLE.replace("turn: when", "turns: when").replace("max: 900", "max: lots")
    out, err, code = run(
        "import_suite", suite_file(tmp_path, broken + "  - {id: new, turn: fine, expected: x}\n")
    )
    assert (out, code) == ("", 1)
    assert "suite.yaml:6: criteria[1].max: must be a whole number" in err
    assert "suite.yaml:10: cases[0].turns: unknown field; did you mean turn?" in err
    assert err.endswith("Refused; nothing was written.\n")
    assert not Case.objects.filter(key="new").exists()
    assert Activity.objects.count() == lines


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x89PNG\x00",
        b"a: \xff",
        b"- x",
        b"a: &a [*a]",
        b'{"format": "evalsite/suite@1"',
        b"\xff\xfea\x00",
    ],
)
def test_files_that_are_no_suite_are_refused_in_one_line(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "suite.yaml"
    path.write_bytes(raw)
    _, err, code = run("import_suite", path)
    assert code == 1
    assert len(err.splitlines()) == 2
    assert not Suite.objects.exists()


def test_a_suite_of_windows_line_ends_and_a_byte_order_mark_is_the_same_suite(tmp_path: Path) -> None:
    run("import_suite", suite_file(tmp_path))
    path = tmp_path / "windows.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + SPEC_EXAMPLE.replace("\n", "\r\n").encode())
    assert run("import_suite", path)[0] == "refunds v1: nothing changed, 2 cases\n"


@pytest.mark.parametrize("options", [{}, {"json": True}])
def test_export_then_import_changes_nothing(tmp_path: Path, options: dict[str, bool]) -> None:
    run("import_suite", suite_file(tmp_path))
    out, _, _ = run("export_suite", "refunds", **options)
    again = tmp_path / ("again.json" if options else "again.yaml")
    again.write_text(out, encoding="utf-8")
    assert run("import_suite", again)[0] == "refunds v1: nothing changed, 2 cases\n"


def test_an_export_goes_into_a_file_on_request_and_leaves_archived_cases_out(tmp_path: Path) -> None:
    run("import_suite", suite_file(tmp_path))
    run("import_suite", suite_file(tmp_path, SPEC_EXAMPLE + "  - {id: extra, turn: x, expected: y}\n"))
    run("import_suite", suite_file(tmp_path))
    run("export_suite", "refunds", out=tmp_path / "out.yaml")
    assert "extra" not in (tmp_path / "out.yaml").read_text(encoding="utf-8")
    with pytest.raises(CommandError, match="cannot be written"):
        run("export_suite", "refunds", out=tmp_path / "nowhere" / "out.yaml")


def test_an_unknown_suite_and_one_that_cannot_be_written_as_a_file_are_told_in_a_sentence() -> None:
    with pytest.raises(CommandError, match="there is no suite nowhere"):
        run("export_suite", "nowhere")
    make_suite(name="empty")
    with pytest.raises(CommandError, match="empty cannot be a file yet: cases: must hold at least one"):
        run("export_suite", "empty")


def test_an_import_in_a_users_name_is_theirs_and_needs_their_role(tmp_path: Path) -> None:
    author, viewer = make_user(Role.AUTHOR), make_user(Role.VIEWER)
    with pytest.raises(CommandError, match="may not author"):
        run("import_suite", suite_file(tmp_path), user=viewer.username)
    with pytest.raises(CommandError, match="there is no user nobody"):
        run("import_suite", suite_file(tmp_path), user="nobody")
    run("import_suite", suite_file(tmp_path), user=author.username)
    assert set(Activity.objects.values_list("actor", flat=True)) == {author.pk}


# -- corpora ------------------------------------------------------------------------------------------------


def test_a_corpus_with_problems_is_refused_whole(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": "a"}\n{"id": "b", "parent": "x"}\n{"id": "a"}\n')
    out, err, code = run("import_corpus", "law", path)
    assert (out, code) == ("", 1)
    assert "corpus.jsonl:2: parent: no unit x in this corpus" in err
    assert "corpus.jsonl:3: id: the id a is taken by line 1" in err
    assert not Corpus.objects.exists()


def test_a_corpus_name_that_cannot_stand_in_an_address_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": "a"}\n')
    assert run("import_corpus", "law book", path)[2] == 1
    assert not Corpus.objects.exists()


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data are not beside the repository")
def test_a_real_regulation_is_imported_once() -> None:
    out, _, code = run("import_corpus", "gdpr", SHARED / "gdpr-en.jsonl")
    assert code == 0
    assert out.startswith("gdpr v1: 0 units unchanged\n  created (853): gdpr, gdpr/art:1,")
    assert CorpusUnit.objects.count() == 853
    root = CorpusUnit.objects.get(unit_id="gdpr")
    assert "AVG" in root.aliases
    assert (
        run("import_corpus", "gdpr", SHARED / "gdpr-en.jsonl")[0] == "gdpr v1: nothing changed, 853 units\n"
    )
    out, _, _ = run("import_corpus", "gdpr", SHARED / "gdpr-nl.jsonl")
    assert out.startswith("gdpr v2: ")
