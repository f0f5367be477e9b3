"""Systems that leave little but swaps, and what is possible in them by counting alone.

A *family* is a sum over one record of each of its pairs; some pairs' are in two families. A *pair* is a sum
over that record, another one or two, and *held* records apart from these. So what one record of a family
gains others of the family give, and each pair makes up for its own; there is no other way. Of each sum one
record more is known, so that a first basis has no room, and all that is shown is shown by reserves.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.tables.roomy_table import Basis, RoomyTable

from .told import Ints, Told

DUMMIES = 4
"""Records at the top that attain the maximum that sets held ones apart."""


@dataclass
class Pair:
    """One pair's records."""

    signs: tuple[int, ...]
    """Of the first one in the families' sums, 0 where it is not in."""
    first: int
    others: list[int] = field(default_factory=list)


@dataclass
class Families:
    """A table, its queries, and the structure that tells what is possible."""

    told: Told
    pairs: list[Pair]
    loose: list[tuple[int, int]]
    """Family and record of those who are in its sum and no pair."""
    known: list[int]
    """One record of each sum, in order, whose value is known."""

    def can(self, fixed: dict[int, int]) -> bool:
        """Whether records, none of them known or a dummy, can have these values together."""
        top, truth = self.told.top, self.told.truth.tolist()
        if not all(0 <= value <= top for value in fixed.values()):
            return False
        # what the families' sums can be, as bits of a whole number, one record after the other
        stride = 2 * top * (len(self.pairs) + len(self.loose)) + 1
        reached, target = 1, 0
        for pair in self.pairs:
            rest = truth[pair.first] + sum(truth[other] - fixed.get(other, 0) for other in pair.others)
            most = top * sum(other not in fixed for other in pair.others)
            step = sum(sign * stride**family for family, sign in enumerate(pair.signs))
            # where it counts less than nothing it is counted from the top
            base, found = top * sum(stride**family for family, s in enumerate(pair.signs) if s < 0), 0
            for value in [fixed[pair.first]] if pair.first in fixed else range(top + 1):
                if 0 <= rest - value <= most:
                    found |= reached << (base + step * value)
            reached, target = found, target + base + step * truth[pair.first]
        for family, record in self.loose:
            found = 0
            for value in [fixed[record]] if record in fixed else range(top + 1):
                found |= reached << (stride**family * value)
            reached, target = found, target + stride**family * truth[record]
        return bool(reached >> target & 1)

    def has_run(self, record: int, fixed: dict[int, int], need: int) -> bool:
        """Whether a record has need + 1 consecutive values."""
        best = run = 0
        for value in range(self.told.top + 1):
            run = run + 1 if self.can({**fixed, record: value}) else 0
            best = max(best, run)
        return best > need

    def roomy_table(self) -> RoomyTable:
        """A roomy table at the table itself, whose basis is of known records."""
        boxes = Knowledge.nothing(self.told.size, self.told.top).refined(self.told.queries)
        rows, sums = list[Ints](), list[int]()
        for query, value in zip(self.told.queries, self.told.values, strict=True):
            if query.kind == "sum":
                rows, sums = [*rows, boxes.atoms.row(query)], [*sums, value]
            else:
                boxes = boxes.with_extreme(query, value)
        marks = np.ascontiguousarray(np.array(rows, dtype=np.int8).T)
        labels = boxes.atoms.labels
        totals = np.zeros(boxes.count, dtype=np.int64)
        np.add.at(totals, labels, self.told.truth)
        basic = labels[self.known].astype(np.int64)
        assert (marks[basic] == np.eye(len(rows))).all()
        return RoomyTable(boxes, totals, marks, sums, [Basis(basic, marks.copy())])


@dataclass(frozen=True)
class Values:
    """Of one pair."""

    signs: tuple[int, ...]
    first: int
    others: list[int]
    held: list[int]


def families_of(top: int, pairs: list[Values], loose: list[tuple[int, int]], known: list[int]) -> Families:
    """Families with given values.

    Args:
        top: Greatest value.
        pairs: What theirs are.
        loose: Families and values of those who are in no pair.
        known: What to take the known records' values from.
    """
    values, sums, found, held = list[int](), dict[str, list[tuple[int, int]]](), list[Pair](), list[int]()

    def add(value: int, **marks: int) -> int:
        values.append(value)
        for name, sign in marks.items():
            if sign:
                sums.setdefault(name, []).append((len(values) - 1, sign))
        return len(values) - 1

    for number, pair in enumerate(pairs):
        own = {f"pair {number}": 1}
        first = add(pair.first, **{f"family {family}": s for family, s in enumerate(pair.signs)}, **own)
        others, mine = ([add(value, **own) for value in some] for some in (pair.others, pair.held))
        found.append(Pair(pair.signs, first, others + mine))
        held += mine
    apart = [(family, add(value, **{f"family {family}": 1})) for family, value in loose]
    told_apart = [add(known[place % len(known)], **{name: 1}) for place, name in enumerate(list(sums))]
    dummies = [add(top) for _ in range(DUMMIES)]
    told = Told(np.array(values), top)
    for members in sums.values():
        records, signs = (np.array(each) for each in zip(*members, strict=True))
        told.ask("sum", records, signs if (signs < 0).any() else None)
    told.ask("max", [*held, *dummies])
    for record in told_apart:
        told.ask("max", [record])
        told.ask("min", [record])
    return Families(told, found, apart, told_apart)


def families_at_random(rng: np.random.Generator) -> Families:
    """One family or two of one to ten pairs, small values, pairs that have mostly plenty."""
    top, count = int(rng.integers(2, 13)), int(rng.choice([1, 1, 2]))
    usual, even = int(rng.integers(1, max(2, top // 2 + 1))), rng.random() < 0.5
    sizes, plenty = int(rng.choice([1, 1, 2, 4])), rng.random() < 0.7

    def some(many: int) -> list[int]:
        return [top // 2 if plenty else int(value) for value in rng.integers(0, top + 1, many)]

    def pair(signs: tuple[int, ...]) -> Values:
        value = int(rng.integers(0, top + 1) if rng.random() < 0.3 else rng.integers(1, usual + 1))
        return Values(signs, usual if even else value, some(1 + (rng.random() < 0.2)), some(sizes))

    pairs, loose = list[Values](), list[tuple[int, int]]()
    for family in range(count):
        sign, most = 1 if rng.random() < 0.7 else -1, 10 // count if rng.random() < 0.5 else 2
        for _ in range(int(rng.integers(1, most + 1))):
            pairs.append(pair(tuple(sign * (each == family) for each in range(count))))
        loose += [(family, int(rng.integers(0, usual + 1))) for _ in range(int(rng.choice([0, 0, 1, 2])))]
    for _ in range(int(rng.integers(0, 6)) if count == 2 else 0):
        pairs.append(pair((1, 1 if rng.random() < 0.7 else -1)))
    return families_of(top, pairs, loose, rng.integers(0, top + 1, 30).tolist())


def grid_at_random(rng: np.random.Generator, shape: tuple[int, ...] | None = None) -> Told:
    """A record or two in most cells of a grid, and sums of all below each line: many equal differences."""
    if shape is None:
        axes = int(rng.integers(2, 5))
        shape = tuple(rng.integers(2, {2: 8, 3: 5, 4: 4}[axes], axes).tolist())
    cells: NDArray[np.int64] = np.array(np.unravel_index(np.arange(int(np.prod(shape))), shape))
    times = rng.choice([0, 1, 1, 1, 1, 1, 2], cells.shape[1])
    times[:4] = 1
    cells = np.repeat(cells, times, axis=1)
    size, top = cells.shape[1], int(rng.choice([2, 5, 12, 100]))
    told = Told(rng.integers(1, top, size), top)
    lines = [(axis, line) for axis in range(len(shape)) for line in range(1, shape[axis])]
    for place in rng.permutation(len(lines)).tolist():
        below = cells[lines[place][0]] < lines[place][1]
        if below.sum() > 1 and not below.all():
            if rng.random() < 0.3:
                told.ask("sum", np.arange(size), np.where(below, 1, -1))
            else:
                told.ask("sum", np.flatnonzero(below))
    return told
