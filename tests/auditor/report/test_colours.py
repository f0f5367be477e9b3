"""Contrast of the colours in the style sheet, by the formula of WCAG 2."""

from __future__ import annotations

import re
from importlib import resources

import pytest

CSS = resources.files("auditor.report").joinpath("templates", "report.css").read_text(encoding="utf-8")
BLOCKS = re.findall(r":root \{([^}]*)\}", CSS)
NAMES = ("light", "dark", "print")
SCHEMES = {
    name: dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))
    for name, block in zip(NAMES, BLOCKS, strict=True)
}
TEXT = [(ink, on) for ink in ("ink", "muted", "accent") for on in ("paper", "panel")]
GRAPHICS = [(ink, "paper") for ink in ("second", "third", "accent")]


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_formula_gives_the_known_ends() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", NAMES)
@pytest.mark.parametrize(("ink", "on"), TEXT)
def test_text_can_be_read(scheme: str, ink: str, on: str) -> None:
    assert contrast(SCHEMES[scheme][ink], SCHEMES[scheme][on]) >= 4.5


@pytest.mark.parametrize("scheme", NAMES)
@pytest.mark.parametrize(("ink", "on"), GRAPHICS)
def test_lines_bars_and_borders_can_be_seen(scheme: str, ink: str, on: str) -> None:
    assert contrast(SCHEMES[scheme][ink], SCHEMES[scheme][on]) >= 3


def test_no_colour_stands_outside_of_the_schemes() -> None:
    rest = re.sub(r":root \{[^}]*\}", "", CSS)
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b(?=[;\s])|rgb|hsl", rest) == []


def test_text_takes_only_colours_that_were_measured() -> None:
    used = set(re.findall(r"(?<![-\w])(?:color|fill): var\(--(\w+)\)", CSS))
    assert used <= {"ink", "muted", "accent", "third"}
    # the third colour is for graphics: the arrows of columns that are not sorted
    assert re.findall(r"([^{}\n]+) \{[^}]*(?<![-\w])(?:color|fill): var\(--third\)", CSS) == [
        "#list thead button::after",
    ]
