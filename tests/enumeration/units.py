"""Small tables of units with one to three records each: every verdict held against all tables there are.

What is shown must be true of every record and of every sum over some of a unit's records, whatever another
unit, an insider, has in all of its records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, combinations, product

import numpy as np
from numpy.typing import NDArray

from cae_sql import AnsweredSystem
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.query import Query
from cae_sql.inference.standard import Standard

Ints = NDArray[np.int64]
LARGEST = 70_000
"""Tables of a system, at most."""
TOPS = {1: 14, 2: 10, 3: 8}
"""Records for each greatest value, at most."""


@dataclass(frozen=True)
class System:
    """Who has which records, the true values, and what is asked."""

    units: Ints
    top: int
    truth: Ints
    asked: tuple[tuple[str, Ints], ...]
    need: int
    insiders: int


@dataclass
class Seen:
    """What came of it."""

    systems: int = 0
    shown: int = 0
    refused: int = 0
    several: int = 0
    """Shown with a unit that has records in two parts."""
    findings: list[str] = field(default_factory=list)


def system_at_random(seed: int, number: int, insiders: int) -> System:
    """The same one for the same seed and number."""
    rng = np.random.default_rng([seed, number])
    top = int(rng.choice(list(TOPS), p=[0.6, 0.25, 0.15]))
    size = int(rng.integers(4, TOPS[top] + 1))
    most = int(rng.integers(1, 4))
    counts = rng.integers(1, most + 1, size)
    units = np.repeat(np.arange(size), counts)[:size]
    # values in the middle leave most to be shown
    truth = rng.integers(0, top + 1, size)
    groups = rng.integers(0, int(rng.integers(1, 3)), size) if rng.random() < 0.7 else units % 2
    return System(
        units, top, truth, tuple(_asked(rng, units, groups)), int(rng.integers(1, top + 1)), insiders
    )


def _asked(rng: np.random.Generator, units: Ints, groups: Ints) -> Iterator[tuple[str, Ints]]:
    for _ in range(int(rng.integers(1, 5))):
        way = rng.random()
        if way < 0.3:
            members = np.flatnonzero(groups == rng.integers(0, 2))
        elif way < 0.5:
            members = np.arange(len(units))
        elif way < 0.6:
            members = np.flatnonzero(units != rng.choice(units))
        else:
            members = np.flatnonzero(rng.random(len(units)) < rng.choice([0.5, 0.8]))
        kind = str(rng.choice(["sum", "max", "min"], p=[0.75, 0.15, 0.1]))
        if len(members):
            yield kind, members


def tables(size: int, top: int) -> Ints:
    """All of them, (w, n)."""
    return np.array(list(product(range(top + 1), repeat=size)), dtype=np.int64)


def check(system: System, seen: Seen) -> None:
    """Ask, and hold each answer that is shown to be safe against all tables."""
    found = AnsweredSystem(len(system.units), 0, system.top, 1, units=system.units)
    left = tables(len(system.units), system.top)
    seen.systems += 1
    standard = Standard(system.need, None, system.insiders, system.need)
    for kind, members in system.asked:
        query = Query(kind=kind, members=members)  # type: ignore[arg-type]
        question = found.question([query])
        value = int(query.of(system.truth[None])[0])
        if question.derivable:
            continue
        judgement = question.judge_true([value], standard, Allowance(10**9))
        if judgement is None or not judgement.safe:
            seen.refused += 1
            continue
        seen.shown += 1
        left = left[query.of(left) == value]
        occupied = question.question_tables.boxes.atoms.occupied
        seen.several += bool(len(occupied.unit) and (np.bincount(occupied.unit) > 1).any())
        lost = next(unshown(left, system.units, system.need, system.insiders), None)
        if lost is not None:
            seen.findings.append(f"{system}: {kind} of {members} = {value}: {lost}")
            return
        found.accept([query.answered(value)])


def unshown(left: Ints, units: Ints, need: int, insiders: int) -> Iterator[str]:
    """Sums over some of a unit's records that do not take a long enough run, given what another unit has."""
    everybody = np.unique(units).tolist()
    for insider in (None, *everybody) if insiders else (None,):
        known = left[:, units == (-1 if insider is None else insider)]
        for value in np.unique(known, axis=0):
            some = left[(known == value).all(axis=1)]
            for unit in (each for each in everybody if each != insider):
                mine = np.flatnonzero(units == unit)
                for rows in chain.from_iterable(combinations(mine, n) for n in range(1, len(mine) + 1)):
                    taken = np.unique(some[:, list(rows)].sum(axis=1))
                    if longest(taken) < need * len(rows):
                        yield f"records {rows} of unit {unit}, insider {insider} with {value}: {taken}"


def longest(taken: Ints) -> int:
    """Greatest less least of the longest run of consecutive values."""
    breaks = np.flatnonzero(np.diff(taken) > 1)
    starts, ends = np.append(0, breaks + 1), np.append(breaks, len(taken) - 1)
    return int((taken[ends] - taken[starts]).max())
