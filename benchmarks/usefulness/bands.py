"""The band of each line: between which counts it lay over its seeds, kept in the repository.

A count that leaves its band downwards is a loss that somebody has to answer for; surprises, and statements
that the clock decided, are held to the other end. What lies above a band is a gain: write the bands anew.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from benchmarks.usefulness.counted import Counted
from benchmarks.usefulness.counting import LESS_IS_BETTER, MORE_IS_BETTER, counts

BANDS = Path(__file__).parent / "bands.csv"
KEPT = ("optimum", "exact", "told", "withheld", "refused", "surprises", "late")
"""Measures that are written down."""


@dataclass(frozen=True)
class Band:
    """Of one measure of one line."""

    line: str
    measure: str
    least: int
    greatest: int
    seeds: int
    seconds: float | None
    """That one seed took, the most, by the wall clock of an idle machine; None where it was busy."""
    cut: str = ""
    """How far it came where the budget ended it: such a band holds nobody to anything."""


def bands_of(counted: Counted, idle: bool = True) -> list[Band]:
    """Of a line that was measured; `idle`: whether its seconds say anything."""
    each = [counts(asked) for asked in counted.runs]
    seconds = round(max(asked.seconds for asked in counted.runs), 2) if idle else None
    found = []
    for measure in KEPT:
        values = [one[measure] for one in each if measure in one]
        if values:
            told = counted.name, measure, min(values), max(values), len(values), seconds, counted.cut
            found.append(Band(*told))
    return found


def read(path: Path = BANDS) -> dict[str, dict[str, Band]]:
    """By line and measure; empty where there is no file."""
    found: dict[str, dict[str, Band]] = {}
    if not path.is_file():
        return found
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            whole = {name: int(row[name]) for name in ("least", "greatest", "seeds")}
            seconds = float(row["seconds"]) if row["seconds"] else None
            band = Band(**{**row, **whole, "seconds": seconds})  # type: ignore[arg-type]
            found.setdefault(band.line, {})[band.measure] = band
    return found


def write(counted: Iterable[Counted], order: Sequence[str], path: Path = BANDS, idle: bool = True) -> None:
    """Put the bands of lines that were measured in place of what was there; others stay."""
    kept: dict[str, Iterable[Band]] = {name: bands.values() for name, bands in read(path).items()}
    kept |= {each.name: bands_of(each, idle) for each in counted}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(Band))
        for name in [name for name in order if name in kept]:
            writer.writerows(astuple(band) for band in kept[name])


def fallen(counted: Counted, bands: Mapping[str, Mapping[str, Band]]) -> list[str]:
    """What left its band the wrong way, in words; empty where nothing did, and where there is no band."""
    kept = bands.get(counted.name, {})
    if kept and next(iter(kept.values())).cut:
        kept = {}
    found = list[str]()
    if kept and counted.cut:
        found, kept = [f"{counted.name}: {counted.cut}, where it came to its end before"], {}
    for seed, asked in enumerate(counted.runs):
        each = counts(asked)
        if each.get("beyond"):
            found.append(f"{counted.name}, seed {seed}: {each['beyond']} told that the closed form forbids")
        for measure, count in each.items():
            band = kept.get(measure)
            if band is None:
                continue
            text = f"{counted.name}, seed {seed}: {measure} {count}, band {band.least} to {band.greatest}"
            if (measure in MORE_IS_BETTER and count < band.least) or (
                measure in LESS_IS_BETTER and count > band.greatest
            ):
                found.append(text)
    return found
