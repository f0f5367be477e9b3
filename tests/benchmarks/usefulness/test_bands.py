"""Bands: written from what was measured, and what falls out of them is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.usefulness.asking import Asked
from benchmarks.usefulness.bands import fallen, read, write
from benchmarks.usefulness.counted import Counted
from benchmarks.usefulness.log import Decided, Told


def run(*told: Told, surprises: int = 0, ended: int = 1) -> Asked:
    decided = [Decided(1, str(place), "answered", "partial", each, "") for place, each in enumerate(told)]
    return Asked(decided, 1, ended, surprises)


def test_bands_are_read_as_they_were_written(tmp_path: Path) -> None:
    counted = Counted("a line", [run("exact", "exact", "end"), run("exact", "withheld", "withheld")])
    write([counted], ["a line"], tmp_path / "bands.csv")
    found = read(tmp_path / "bands.csv")["a line"]
    assert {name: (band.least, band.greatest) for name, band in found.items()} == {
        **{"exact": (1, 2), "told": (1, 3), "withheld": (0, 2), "refused": (0, 0)},
        **{"surprises": (0, 0), "late": (0, 0)},
    }


def test_lines_that_were_not_measured_keep_their_bands(tmp_path: Path) -> None:
    path = tmp_path / "bands.csv"
    write([Counted(name, [run("exact")]) for name in ("one", "other")], ["one", "other"], path)
    write([Counted("one", [run("end")])], ["one", "other"], path)
    assert read(path)["one"]["exact"].least == 0
    assert read(path)["other"]["exact"].least == 1


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (run("exact", "exact", "exact"), ""),
        (run("exact", "end", "end"), "exact 1, band 2 to 2"),
        (run("exact", "exact", "withheld"), "told 2, band 3 to 3"),
        (run("exact", "exact", "end", surprises=1), "surprises 1, band 0 to 0"),
        (run("exact", "exact", "end", ended=0), "cut after 0 of 1 statements, where it came to its end"),
    ],
)
def test_what_falls_out_of_a_band_is_said(now: Asked, words: str, tmp_path: Path) -> None:
    write([Counted("line", [run("exact", "exact", "end")])], ["line"], tmp_path / "bands.csv")
    found = fallen(Counted("line", [now]), read(tmp_path / "bands.csv"))
    assert len(found) == bool(words)
    assert words in "".join(found)


def test_a_band_of_a_line_that_was_cut_holds_nobody_to_anything(tmp_path: Path) -> None:
    write([Counted("line", [run("exact", ended=0)])], ["line"], tmp_path / "bands.csv")
    assert fallen(Counted("line", [run("withheld")]), read(tmp_path / "bands.csv")) == []


@pytest.mark.parametrize(
    "optimum", [{"1": ""}, {"0": "35", "1": ""}], ids=["may not be told", "another value"]
)
def test_what_is_told_beyond_the_closed_form_is_said_whatever_the_bands(optimum: dict[str, str]) -> None:
    asked = run("exact", "exact")
    asked.optimum = optimum
    (found,) = fallen(Counted("line", [asked]), {})
    assert "1 told that the closed form forbids" in found


def test_of_a_busy_machine_no_seconds_are_written(tmp_path: Path) -> None:
    for idle in (True, False):
        write([Counted("line", [run("exact")])], ["line"], tmp_path / "bands.csv", idle)
        assert (read(tmp_path / "bands.csv")["line"]["exact"].seconds is None) != idle
