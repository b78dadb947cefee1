"""docker-compose.yml and Dockerfile, checked by reading: no container engine is needed."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalsite import env
from evalsite.serving import children

ROOT = Path(__file__).resolve().parents[2]
SERVICES: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
OURS = {"migrate", "web", "worker-lanes", "worker-quick", "beat"}


def test_the_services_are_all_that_a_site_needs() -> None:
    assert set(SERVICES) == OURS | {"postgres", "redis"}


@pytest.mark.parametrize("name", sorted(OURS))
def test_a_command_of_a_service_exists_and_understands_its_options(name: str) -> None:
    program, *arguments = SERVICES[name]["command"]
    module = [] if program == "python" else ["-m", program]
    done = subprocess.run(
        [sys.executable, *module, *arguments, "--help"],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "evalsite.settings"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "usage" in done.stdout.lower()
    for option in (word for word in arguments if re.match(r"--[a-z]", word)):
        assert option.split("=")[0] in done.stdout, option


@pytest.mark.parametrize("name", sorted(OURS - {"migrate"}))
def test_a_container_starts_the_same_program_as_make_run(name: str) -> None:
    ours = {child.name: child.arguments for child in children.family()}[name]
    theirs = SERVICES[name]["command"]
    # The address is the container's own; everything else is one decision.
    differing = {"127.0.0.1", "0.0.0.0", "8000"}
    assert set(theirs) - differing - {theirs[0]} <= set(ours) | {"4", "2"}
    assert theirs[-1].split("=")[0] in {word.split("=")[0] for word in ours}


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"migrate"}))
def test_a_service_that_stays_says_when_it_is_well(name: str) -> None:
    health = SERVICES[name]["healthcheck"]
    assert health["test"][0] in {"CMD", "CMD-SHELL"}
    assert {"interval", "timeout", "retries"} <= set(health)
    if health["test"][0] == "CMD-SHELL":
        assert shlex.split(health["test"][1].replace("$$", "$"))


def test_the_health_of_beat_is_not_the_health_of_the_shell_that_asks() -> None:
    question = SERVICES["beat"]["healthcheck"]["test"][1]
    done = subprocess.run(["sh", "-c", question], check=False)
    assert done.returncode == 1, "no beat runs here, and the question found one"


@pytest.mark.parametrize("name", sorted(OURS))
def test_a_service_of_ours_waits_for_what_it_needs(name: str) -> None:
    needs = SERVICES[name]["depends_on"]
    if name == "migrate":
        assert needs["postgres"]["condition"] == "service_healthy"
    else:
        assert needs["migrate"]["condition"] == "service_completed_successfully"
        assert needs["redis"]["condition"] == "service_healthy"


def test_every_variable_of_a_service_is_a_setting() -> None:
    for name in OURS:
        assert set(SERVICES[name]["environment"]) <= set(env.KNOWN)


def test_only_the_pages_are_published_and_only_on_this_machine() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {"web": ["127.0.0.1:8000:8000"]}


def test_no_password_stands_in_the_file() -> None:
    assert re.findall(r"PASSWORD: (?!\$\{)", (ROOT / "docker-compose.yml").read_text()) == []


def test_the_image_runs_as_nobody_special_with_pinned_libraries() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    last_user = [line for line in lines if line.startswith("USER")][-1]
    assert last_user == "USER evalsite"
    assert any("--require-hashes" in line for line in lines)


def test_everything_the_image_copies_is_let_in() -> None:
    allowed = set((ROOT / ".dockerignore").read_text().splitlines())
    for line in (ROOT / "Dockerfile").read_text().splitlines():
        if line.startswith("COPY") and "--from" not in line:
            for source in line.split()[1:-1]:
                assert f"!{source}" in allowed, source
                assert (ROOT / source).exists(), source
