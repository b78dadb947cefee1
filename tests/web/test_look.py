"""What the look promises: contrast in light and dark, and vendored files that are named and licensed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

STATIC = Path(__file__).resolve().parents[2] / "static"
TOKENS = {
    name: (light, dark)
    for name, light, dark in re.findall(
        r"--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", (STATIC / "app.css").read_text()
    )
}
TONES = ["passed", "failed", "varied", "undecided", "no-result", "accent"]
PAIRS = [
    *((tone, ground) for tone in TONES for ground in (f"{tone}-ground", "card", "page")),
    *((text, ground) for text in ("ink", "muted") for ground in ("card", "page", "hover", "accent-ground")),
    ("on-accent", "accent"),
    ("muted", "no-result-ground"),
    ("ink", "inserted"),
    ("ink", "deleted"),
    ("page", "ink"),
]


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """WCAG 2's ratio, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("text", "ground"), PAIRS)
def test_text_stands_out_from_its_ground(text: str, ground: str, scheme: int) -> None:
    assert contrast(TOKENS[text][scheme], TOKENS[ground][scheme]) >= 4.5


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_the_edge_of_a_field_can_be_seen(scheme: int) -> None:
    assert contrast(TOKENS["control-line"][scheme], TOKENS["card"][scheme]) >= 3


def test_every_vendored_file_is_named_with_its_licence() -> None:
    named = (STATIC / "vendor" / "VERSIONS").read_text()
    for file in (STATIC / "vendor").rglob("*"):
        if file.is_file() and file.name != "VERSIONS":
            assert str(file.relative_to(STATIC / "vendor")) in named
    assert "://" not in named


def test_our_own_files_load_nothing_from_elsewhere() -> None:
    for file in [*STATIC.glob("*.css"), *STATIC.glob("*.js")]:
        assert "//" not in re.sub(r"^\s*//.*$", "", file.read_text(), flags=re.MULTILINE), file
