"""Rules about the repository as a whole that no linter knows."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOP_LEVEL = {
    ".ci",
    ".dockerignore",
    ".gitignore",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Dockerfile",
    "LICENSE",
    "Makefile",
    "README.md",
    "docker-compose.yml",
    "docs",
    "evalsite",
    "experiments",
    "manage.py",
    "pyproject.toml",
    "requirements",
    "static",
    "templates",
    "tests",
}
MOST_LINES = 420
MOST_LINES_OF_A_TEST_FILE = 600
MOST_LINES_OF_A_FUNCTION = 60
PURE = ("evaluation", "wire", "targets", "judge", "runner", "detect")
# Spelled in two halves, so that this file is not its own first finding.
REGISTRIES = tuple(
    "".join(halves)
    for halves in (
        ("pypi", ".org"),
        ("pythonhosted", ".org"),
        ("npmjs", ".org"),
        ("npmjs", ".com"),
        ("yarnpkg", ".com"),
        ("--index", "-url "),
        ("--extra", "-index-url"),
        ("--find", "-links"),
    )
)
FORBIDDEN_SWITCHES = (
    "CELERY_TASK" + "_ALWAYS_EAGER",
    "DJANGO_ALLOW" + "_ASYNC_UNSAFE",
    "task_always" + "_eager",
)


def tracked() -> list[Path]:
    """Files that git knows or would take, without what is ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def texts() -> list[tuple[Path, str]]:
    """Every tracked text file of ours with its text."""
    found = []
    for path in tracked():
        if "vendor" in path.parts:
            continue
        try:
            found.append((path, path.read_text()))
        except UnicodeDecodeError:
            continue
    return found


def python_files() -> list[Path]:
    return [path for path in tracked() if path.suffix == ".py" and "migrations" not in path.parts]


def test_the_top_level_is_fixed() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in tracked()} == TOP_LEVEL


@pytest.mark.parametrize("name", ["run.txt", "dev.txt"])
def test_every_pin_has_a_version_and_hashes_and_no_address(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text()
    assert "://" not in text
    pins = re.findall(r"^[a-z0-9][^\n]*", text, re.MULTILINE)
    assert len(pins) > 50
    for pin in pins:
        assert re.match(r"^[a-z0-9._-]+(\[[a-z,]+\])?==[^ ]+", pin), pin
        assert pin.endswith("\\"), f"{pin} has no hash"


def test_what_runs_is_pinned_the_same_for_development() -> None:
    def pins(name: str) -> set[str]:
        return set(
            re.findall(r"^[^ #\n]+==[^ \n]+", (ROOT / "requirements" / name).read_text(), re.MULTILINE)
        )

    assert pins("run.txt") <= pins("dev.txt")


def test_no_file_names_a_package_registry() -> None:
    found = [(path.name, word) for path, text in texts() for word in REGISTRIES if word in text]
    # `make pins` says that no index URL is to be written; that is the opposite of naming one.
    assert [pair for pair in found if pair != ("Makefile", REGISTRIES[5])] == []


def test_no_file_holds_a_path_of_the_machine_it_was_written_on() -> None:
    words = ("/ho" + "me/", "/wo" + "rk/", "/Us" + "ers/")
    assert [(path.name, word) for path, text in texts() for word in words if word in text] == []


def test_tasks_are_never_run_eagerly_and_the_orm_never_in_a_loop() -> None:
    found = [(path.name, word) for path, text in texts() for word in FORBIDDEN_SWITCHES if word in text]
    assert found == []


def test_no_file_is_too_long_to_read() -> None:
    long = {}
    for path in python_files():
        lines = len(path.read_text().splitlines())
        test = path.is_relative_to(ROOT / "tests")
        if lines > (MOST_LINES_OF_A_TEST_FILE if test else MOST_LINES):
            long[str(path.relative_to(ROOT))] = lines
    assert long == {}


def test_no_function_is_too_long_to_read() -> None:
    long = {}
    for path in python_files():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MOST_LINES_OF_A_FUNCTION:
                    long[f"{path.relative_to(ROOT)}:{node.name}"] = lines
    assert long == {}


def test_every_public_module_says_what_it_is_for() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in python_files()
        if path.name != "__init__.py"
        and path.is_relative_to(ROOT / "experiments")
        and ast.get_docstring(ast.parse(path.read_text())) is None
    ]
    # Django's own pattern: an AppConfig speaks for itself.
    assert [name for name in silent if name != "experiments/apps.py"] == []


@pytest.mark.parametrize("package", PURE)
def test_a_pure_package_loads_without_django(package: str) -> None:
    code = (
        f"import sys, pkgutil, importlib, experiments.{package} as p\n"
        "for found in pkgutil.walk_packages(p.__path__, p.__name__ + '.'):\n"
        "    importlib.import_module(found.name)\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'django', 'celery', 'evalsite'}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_experiments_is_an_empty_package_so_that_the_pure_ones_load_alone() -> None:
    assert (ROOT / "experiments/__init__.py").read_text() == ""


def test_every_command_of_ours_is_documented() -> None:
    text = (ROOT / "docs/commands.md").read_text()
    commands = {
        path.stem
        for path in tracked()
        if path.parent.parts[-2:] == ("management", "commands") and path.name != "__init__.py"
    }
    assert {name for name in commands if f"`{name}" not in text} == set()
