"""`make install` on a machine that lacks something: one sentence."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.sites import ROOT


def install(python: Path | str, venv: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(ROOT / "requirements/install.sh"), str(python), str(venv)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def old_python(tmp_path: Path) -> Path:
    """A Python that answers like 3.9: the comparison of versions fails."""
    path = tmp_path / "python3.9"
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(0o755)
    return path


def test_a_python_below_3_11_is_one_sentence(old_python: Path, tmp_path: Path) -> None:
    done = install(old_python, tmp_path / "venv")
    assert done.returncode == 1
    assert "needs Python 3.11" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "venv").exists()


def test_no_python_at_all_is_the_same_sentence(tmp_path: Path) -> None:
    done = install("no-such-python", tmp_path / "venv")
    assert done.returncode == 1
    assert "needs Python 3.11" in done.stderr


def test_an_installation_that_is_whole_is_instant() -> None:
    done = subprocess.run(
        ["make", "--question", "install"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    stamp = ROOT / ".venv/.installed"
    if not stamp.exists():
        pytest.skip("this environment was not made by make install")
    pins = max((ROOT / "requirements" / name).stat().st_mtime for name in ("run.txt", "dev.txt"))
    assert (done.returncode == 0) == (stamp.stat().st_mtime >= pins)
