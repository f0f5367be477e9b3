"""Small tables of units with one to three records each: every verdict held against all tables there are.

What is shown must be true of every record and of every sum over some of a unit's records, whatever another
unit, an insider, has in all of its records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, combinations, product

import numpy as np
from numpy.typing import NDArray

from cae_sql import AnsweredSystem
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.query import Query
from cae_sql.inference.facts.ranges import kept_of
from cae_sql.inference.facts.spares import end_of
from cae_sql.inference.standard import Standard

Ints = NDArray[np.int64]
LARGEST = 70_000
"""Tables of a system, at most."""
KINDS = {
    "sum": 0.5, "max": 0.1, "min": 0.05, "most": 0.1, "least": 0.05, "range": 0.05, "count": 0.05,
    "median": 0.05, "spread": 0.05,
}  # fmt: skip
"""How often each is asked: sums and extremes, ends and ranges of sums, ranges of statistics."""
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
    kinds: Counter[str] = field(default_factory=Counter)
    """Shown, by kind."""
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


def panel_at_random(seed: int, number: int, insiders: int) -> System:
    """Values of 0 and 1 of some units in each of some waves: sums by wave, and by what changes in between."""
    rng = np.random.default_rng([seed, number, 1])
    waves = int(rng.integers(2, 4))
    size = waves * int(rng.integers(12 // waves, 17 // waves + 1))
    units, wave = np.divmod(np.arange(size), waves)
    other = rng.integers(0, 2, size) if rng.random() < 0.5 else (units + wave * rng.integers(0, 2, size)) % 2
    asked = list[tuple[str, Ints]]()
    for groups in (wave, other, wave * 2 + other):
        for group in np.unique(groups):
            if rng.random() < 0.6:
                asked.append(("sum", np.flatnonzero(groups == group)))
    return System(units, 1, rng.integers(0, 2, size), tuple(asked), 1, insiders)


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
        kind = str(rng.choice(list(KINDS), p=list(KINDS.values())))
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
    for place, (kind, members) in enumerate(system.asked):
        asked = ASKED.get(kind, _exactly)(found, kind, members, system, place)
        if asked is None:
            continue
        if not asked:
            seen.refused += 1
            continue
        seen.shown += 1
        seen.kinds[kind] += 1
        query, least, most = asked
        values = query.of(left)
        left = left[(values >= least) & (values <= most)]
        occupied = found.solved.known.atoms.occupied
        seen.several += bool(len(occupied.unit) and (np.bincount(occupied.unit) > 1).any())
        lost = next(unshown(left, system.units, system.need, system.insiders), None)
        if lost is not None:
            seen.findings.append(f"{system}: {kind} of {members} in {least}..{most}: {lost}")
            return


Asked = tuple[Query, int, int] | tuple[()] | None
"""What is told, between two values; nothing where it is refused, None where it is known or no question."""


def _standard(system: System) -> Standard:
    return Standard(system.need, None, system.insiders, system.need)


def _exactly(found: AnsweredSystem, kind: str, members: Ints, system: System, place: int) -> Asked:
    """A sum or an extreme."""
    query = Query(kind=kind, members=members)  # type: ignore[arg-type]
    value = int(query.of(system.truth[None])[0])
    told = _told(found, query, value, system)
    return (query, value, value) if told else None if told is None else ()


def _told(found: AnsweredSystem, query: Query, value: int, system: System) -> bool | None:
    question = found.question([query])
    if question.derivable:
        return None
    judgement = question.judge_true([value], _standard(system), Allowance(10**9))
    if judgement is None or not judgement.safe:
        return False
    found.accept([query.answered(value)])
    return True


def _between(found: AnsweredSystem, kind: str, members: Ints, system: System, place: int) -> Asked:
    """A sum that is at most, or at least, so much, or between two values: by spare records."""
    query, rng = Query(kind="sum", members=members), np.random.default_rng([len(members), place])
    value, most = int(query.of(system.truth[None])[0]), system.top * len(members)
    if kind == "range":
        # as wide as spare records make up for
        width = system.top * int(rng.integers(1, 3))
        greatest = min(value + int(rng.integers(0, width + 1)), most)
        least, end = greatest - width, greatest
        with_spare = end_of(query, 1, width, system.top, found._whole)
    else:
        side = 1 if kind == "most" else -1
        end = value + side * int(rng.integers(0, system.top + 1))
        end = min(max(end, 0), most)
        least, greatest = (0, end) if kind == "most" else (end, most)
        with_spare = end_of(query, side, greatest - least, system.top, found._whole)
    if with_spare is None:
        return None
    told = _told(found, with_spare, end, system)
    return (query, least, greatest) if told else None if told is None else ()


def _statistic(found: AnsweredSystem, kind: str, members: Ints, system: System, place: int) -> Asked:
    """A range of a count, a median or a spread."""
    rng, middle = np.random.default_rng([len(members), place]), (len(members) - 1) // 2
    query = Query(kind="spread", members=members)
    if kind == "count":
        limit = int(rng.integers(1, system.top + 1))
        query = Query(kind="count", members=members, region=((limit, system.top),))
    elif kind == "median":
        ranks = (middle, len(members) // 2)
        query = Query(kind="quantile", members=members, ranks=ranks, part=Fraction(ranks[1] - ranks[0], 2))
    value = int(query.of(system.truth[None])[0])
    reach = int(rng.integers(1, len(members) * (system.top**2 if kind == "spread" else 1) + 1))
    reach = min(reach, system.top) if kind == "median" else reach
    least, most = value - int(rng.integers(0, reach + 1)), value + int(rng.integers(0, reach + 1))
    told = kept_of(query, (max(least, 0), most), system.top, most - least + 1)
    spare, standard = found.spare_in(query, system.insiders), _standard(system)
    holding = found.holding(told, spare, standard, Allowance(10**9))
    if holding is None or holding.judgement is None or not holding.judgement.safe:
        return ()
    observed = Query(kind="about", members=members, part=Fraction(1))
    found.accept_range(told, observed, spare, holding, standard)
    return query, max(least, 0), most


ASKED = {
    "most": _between, "least": _between, "range": _between, "count": _statistic, "median": _statistic,
    "spread": _statistic,
}  # fmt: skip


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
