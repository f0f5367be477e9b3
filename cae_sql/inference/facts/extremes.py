"""Answered extremes: which records attain them in a table, and the reading in which the fewest do.

**Witnesses.** In a table some records that have an answered MAX or MIN are *held*: as long as they stay,
everybody else may move inside the boxes. An atom of m records can attain its upper bound u at total s if one
record can take u and the rest still fit, s − u >= (m − 1) l. One witness serves every extreme of that value.

**Ties.** MAX{t,a} = MAX{t,b} = MAX{t,c} = 250 leaves tables in which a, b and c all have 250, and yet t = 250
is almost certain: values that attain a maximum are rare. So besides all tables a decision judges those in
which as few records as possible attain equal extremes (`mathematics.md`, 4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from cae_sql.errors import OutOfTime
from cae_sql.inference.facts.knowledge import Extreme, Knowledge
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.facts.rank import components
from cae_sql.inference.solver import Program

MOST_NODES = 10_000
"""Of the search for the fewest attainers; most are found at the root, these take seconds."""
# --- witnesses


@dataclass(frozen=True, eq=False)
class Pins:
    """How many records of each atom are held at its upper and at its lower bound, (p,)."""

    top: Ints
    bottom: Ints

    @property
    def count(self) -> Ints:
        """(p,) held records."""
        return self.top + self.bottom


@dataclass(frozen=True, eq=False)
class Bounds:
    """Between what the atoms' totals must lie while the held records stay, (p,) each."""

    least: Ints
    most: Ints


def bounds_of(boxes: Knowledge, pins: Pins) -> Bounds:
    """Boxes, less the records that are held."""
    loose = boxes.sizes - pins.count
    held = pins.top * boxes.high + pins.bottom * boxes.low
    return Bounds(held + loose * boxes.low, held + loose * boxes.high)


def choose_witnesses(
    knowledge: Knowledge, totals: Ints, avoid: NDArray[np.bool_] | None = None, seed: int = 0
) -> Pins | None:
    """Hold a record for every extreme, in atoms of many records where possible; None where, at these totals
    (p,), nobody attains some extreme. `avoid` (p,): atoms that serve last; `seed` breaks ties.
    """
    chance = np.random.default_rng(seed).random(knowledge.count)

    def preference(atoms: Ints, others: Ints, slack: Ints) -> NDArray[np.float64]:
        slack = np.maximum(slack, 0)
        found = np.minimum(others, 3) * 10.0 + slack / (1.0 + slack) + chance[atoms]
        return found if avoid is None else found - 1000.0 * avoid[atoms]

    return _held(knowledge, totals, 1, preference, exactly=True)


def hold(boxes: Knowledge, totals: Ints, copies: int, basic: Ints, seed: int | None = None) -> Pins | None:
    """Hold so many records at each answered extreme; None where there are not enough.

    The roomiest atoms at these totals (p,) are preferred, or with a seed any with room; `basic` serve last.
    Where units have several records all of an extreme are held in one atom, by as many units.
    """
    chance = None if seed is None else np.random.default_rng(seed).random(boxes.count)

    def preference(atoms: Ints, others: Ints, slack: Ints) -> NDArray[np.float64]:
        wish = slack if chance is None else np.minimum(slack, 0) + chance[atoms] * (others + 1)
        found: NDArray[np.float64] = wish - 1e6 * (slack < 0) - 1e3 * np.isin(atoms, basic)
        return found

    return _held(boxes, totals, copies, preference, exactly=False)


def _held(
    boxes: Knowledge, totals: Ints, copies: int,
    preference: Callable[[Ints, Ints, Ints], NDArray[np.float64]], exactly: bool,
) -> Pins | None:  # fmt: skip
    """Records of the atoms with the greatest preference, by their other loose records and the room of those,
    which with `exactly` they must have.
    """
    pins = Pins(np.zeros_like(boxes.low), np.zeros_like(boxes.low))
    # few candidates first: they have no choice
    for extreme in boxes.hardest_first:
        atoms = boxes.able_atoms[extreme]
        low, high = boxes.low[atoms], boxes.high[atoms]
        # a box of one value attains it whatever happens; an interval that tables keep somebody in may be left
        if (boxes.own[0][atoms] == boxes.own[1][atoms]).any():
            continue
        mine = pins.top if extreme.top else pins.bottom
        together = copies if copies > 1 and boxes.atoms.units is not None else 1
        there = int(mine[atoms].sum() if together == 1 else mine[atoms].max(initial=0))
        for _ in range(0, copies - there, together):
            others = boxes.sizes[atoms] - pins.count[atoms] - together
            held = pins.top[atoms] * high + pins.bottom[atoms] * low
            rest = totals[atoms] - held - together * (high if extreme.top else low)
            slack = np.minimum(rest - others * low, others * high - rest)
            fits = (others >= 0) & (slack >= 0 if exactly else True)
            if together > 1:  # all held records of a part are of different units
                fits &= boxes.atoms.occupied.numbers[atoms] >= pins.count[atoms] + together
            if not fits.any():
                return None
            mine[atoms[np.argmax(np.where(fits, preference(atoms, others, slack), -np.inf))]] += together
    return pins


# --- the reading without ties


def without_ties(known: Knowledge) -> list[Knowledge]:
    """The reading without ties, strictest first; empty where it says nothing new.

    Of each group of equal extremes: where the fewest records that could attain all of them must include one
    of certain atoms, it says so; where one record attains them all, nobody else has the value.
    """
    if known.outer is not None:
        return [_kept_in(each, known) for each in without_ties(known.loosened)]
    added, low, high = list[Extreme](), known.low.copy(), known.high.copy()
    for top in (True, False):
        answered = [e for e in (*known.extremes, *known.implied) if e.top == top]
        for value in sorted({extreme.value for extreme in answered}):
            equal = [e for e in answered if e.value == value]
            sets = [known.able(e) for e in equal]
            for group in _overlapping([s for s in sets if (known.low[s] < known.high[s]).all()], known.count):
                for atoms, alone in _needed(group):
                    added.append(Extreme(top, atoms, value))
                    if not alone:
                        continue
                    others = np.setdiff1d(np.concatenate(group), atoms)
                    others = np.append(others, _lumps_outside(known, equal, group))
                    times = known.atoms.multiples[others]
                    if top:
                        high[others] = np.minimum(high[others], (value - 1) * times)
                    else:
                        low[others] = np.maximum(low[others], (value + 1) * times)
    if not added:
        return []
    loose = replace(known, extremes=(*known.extremes, *added))
    return [loose] if (low > high).any() else [replace(loose, low=low, high=high), loose]


def narrows(reading: Knowledge, known: Knowledge) -> bool:
    """Whether it takes values from some record: with such a value one knows that the reading is wrong."""
    (low, high), (least, most) = reading.own, known.own
    return bool((low > least).any() or (high < most).any())


def _kept_in(reading: Knowledge, known: Knowledge) -> Knowledge:
    """A reading of what was answered, with records kept in the intervals of tables."""
    low, high = np.maximum(reading.low, known.low), np.minimum(reading.high, known.high)
    return replace(reading, low=low, high=high, outer=(reading.low, reading.high))


def _lumps_outside(known: Knowledge, equal: list[Extreme], group: list[Ints]) -> Ints:
    """Atoms of lumps in some of the sets of a group, but not in all."""
    names = {each.tobytes() for each in group}
    mine = [e for e in equal if known.able(e).tobytes() in names]
    found = np.unique(np.concatenate([e.lumps for e in mine]))
    return found[[not all(np.isin(atom, e.lumps) for e in mine) for atom in found.tolist()]]


def _overlapping(sets: list[Ints], count: int) -> list[list[Ints]]:
    """Sets of some of so many atoms, joined where they share atoms; groups of two or more different ones."""
    different = list({s.tobytes(): s for s in sets if len(s)}.values())
    if len(different) < 2:
        return []
    labels, groups = components(count, different), dict[int, list[Ints]]()
    for each in different:
        groups.setdefault(int(labels[each[0]]), []).append(each)
    return [group for group in groups.values() if len(group) > 1]


def _needed(group: list[Ints]) -> list[tuple[Ints, bool]]:
    """Atoms of one pattern of membership that every smallest set of attainers needs; and whether alone."""
    atoms = np.unique(np.concatenate(group))
    member = np.array([np.isin(atoms, s) for s in group])
    common = member.all(axis=0)
    if common.any():
        return [(atoms[common], True)]  # one record attains them all
    # a record that attains a set's extreme attains that of every set around it
    member = member[_inside(member).sum(axis=1) == 1]
    patterns, places = np.unique(member, axis=1, return_inverse=True)
    packed = np.packbits(patterns, axis=1).tobytes()
    return [(atoms[places.ravel() == pattern], False) for pattern in _in_all(patterns.shape, packed)]


def _inside(member: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(i, j): whether all of row j is in row i."""
    counts = member.astype(np.float32)
    return np.asarray(counts @ counts.T == counts.sum(axis=1))


@lru_cache(maxsize=1024)
def _in_all(shape: tuple[int, int], packed: bytes) -> tuple[int, ...]:
    """Patterns (columns) in several sets (rows) without which no smallest choice meets all sets. Hypothetical
    answers repeat the same sets, so what was found is kept.
    """
    bits = np.frombuffer(packed, dtype=np.uint8).reshape(shape[0], -1)
    patterns = np.unpackbits(bits, axis=1, count=shape[1]).astype(np.bool_)
    # a pattern that meets no more than another one does can be replaced by it, so it is never needed
    kept = np.flatnonzero(_inside(patterns.T).sum(axis=0) == 1)
    if not (patterns[:, kept].sum(axis=0) > 1).any():
        return ()
    fewest, needed = _smallest(patterns, kept), list[int]()
    for pattern in fewest:
        if patterns[:, pattern].sum() > 1:
            others = _smallest(patterns, np.delete(np.arange(shape[1]), pattern))
            needed += [pattern] if len(others) != len(fewest) else []
    return tuple(needed)


def _smallest(patterns: NDArray[np.bool_], among: Ints) -> list[int]:
    """Fewest patterns that together meet every set (rows); none where no choice does."""
    if not patterns[:, among].any(axis=1).all():
        return []
    (sets, _), count = patterns.shape, len(among)
    program = Program(
        patterns[:, among].astype(np.int64), np.ones(sets), np.full(sets, np.inf), np.zeros(count),
        np.ones(count), np.ones(count, np.bool_), MOST_NODES,
    )  # fmt: skip
    outcome = program.minimise(dict.fromkeys(range(count), 1.0))
    if outcome.status != "optimal":
        raise OutOfTime("the reading without ties was not settled in the work allowed")
    return [int(pattern) for pattern in among[outcome.solution > 0.5]]
