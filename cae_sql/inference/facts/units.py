"""Units of protection: persons who have several records, and where these are.

Who has which records is public. Protected are each record and every sum over some of a unit's records, its
total first; an insider is a unit and knows all of its records. Where all units of a part are in no other one
two numbers matter: how many records the unit with most of them has there, and how many the next one. A unit
with records in several parts is shown by the runs of its parts added up, so these must be shown around one
table, out of rooms that none of them uses twice (`certify/sharing`).

Source: `mathematics.md`, 11.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cae_sql.cached import cached_property
from cae_sql.errors import InvalidInput
from cae_sql.inference.facts.query import Ints

NONE: Ints = np.zeros(0, dtype=np.int64)


def largest(units: Ints | None, members: Ints, count: int) -> int:
    """How many of some records at most so many units have, those with most; `units` (n,), None: one each."""
    if units is None:
        return min(count, len(members))
    return int(np.sort(np.bincount(units[members]))[::-1][:count].sum())


def checked(units: ArrayLike | None, size: int) -> Ints | None:
    """(n,) the unit of each record, from 0 on; None where every record is a unit of its own."""
    if units is None:
        return None
    given = np.asarray(units)
    if given.shape != (size,) or given.dtype.kind not in "iu":
        raise InvalidInput(f"units must be {size} whole numbers: the unit that each record belongs to")
    names, found = np.unique(given, return_inverse=True)
    return None if len(names) == size else found.reshape(-1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Occupied:
    """How units lie over one partition. Shapes: p parts, m pairs of a unit and a part that it is in."""

    heaviest: Ints
    """(p,) records of the unit that has most in a part."""
    second: Ints
    """(p,) records of the unit that has most besides that one."""
    numbers: Ints
    """(p,) units in each part."""
    unit: Ints = field(default_factory=lambda: NONE)
    """(m,)"""
    part: Ints = field(default_factory=lambda: NONE)
    """(m,)"""
    rows: Ints = field(default_factory=lambda: NONE)
    """(m,) records of the pair."""

    @classmethod
    def of(cls, labels: Ints, units: Ints, parts: int) -> Occupied:
        """By the part (n,) and the unit (n,) of each record."""
        pairs, rows = np.unique(units * parts + labels, return_counts=True)
        unit, part = np.divmod(pairs, parts)
        order = np.lexsort((-rows, part))
        starts = np.searchsorted(part[order], np.arange(parts + 1))
        numbers = np.diff(starts)
        ordered = np.append(rows[order], [0, 0])
        heaviest = np.where(numbers > 0, ordered[starts[:-1]], 0)
        second = np.where(numbers > 1, ordered[starts[:-1] + 1], 0)
        return cls(heaviest, second, numbers, unit, part, rows)

    @classmethod
    def alone(cls, sizes: Ints) -> Occupied:
        """Where every record is a unit of its own."""
        return cls(np.minimum(sizes, 1), np.minimum(np.maximum(sizes - 1, 0), 1), sizes)

    @cached_property
    def by_part(self) -> tuple[Ints, Ints, Ints, Ints]:
        """(p + 1,) where the units of each part begin, and which they are; (u + 1,) where the parts of each
        unit begin, and which."""
        order = np.argsort(self.part, kind="stable")
        firsts = np.searchsorted(self.part[order], np.arange(len(self.heaviest) + 1))
        starts = np.searchsorted(self.unit, np.arange(int(self.unit.max()) + 2))
        return firsts, self.unit[order], starts, self.part

    @cached_property
    def alike(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Units with like records in like parts, once: (a, k) parts and (a, k) records in each, 0 where there
        are fewer; and (v,) the units, with which of them each is, (v,)."""
        # pairs come by unit
        starts = np.flatnonzero(np.diff(self.unit, prepend=-1))
        names = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(self.unit)))
        places = np.arange(len(self.unit)) - starts[names]
        whole = np.zeros((len(starts), 2, int(places.max(initial=0)) + 1), dtype=np.int64)
        whole[names, 0, places], whole[names, 1, places] = self.part, self.rows
        rows = whole.reshape(len(whole), -1).view(np.dtype((np.void, whole[:1].nbytes)))[:, 0]
        _, once, which = np.unique(rows, return_index=True, return_inverse=True)
        return whole[once, 0], whole[once, 1], self.unit[starts], which

    def most(self, costs: NDArray[np.float64]) -> float:
        """What all records of one unit cost at most, by what one record of each part costs, (p,)."""
        if not len(self.unit):
            return float(costs.max(initial=0.0))
        return float(np.bincount(self.unit, self.rows * costs[self.part]).max(initial=0.0))

    def of_two(self, parts: Ints) -> int:
        """How many records of some parts two units have, those with most."""
        if not len(self.unit):
            return min(2, int(self.numbers[parts].sum()))
        here = np.isin(self.part, parts)
        return int(np.sort(np.bincount(self.unit[here], self.rows[here]))[-2:].sum())

    def whole(self, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(u,) of which units all parts are flagged, (p,); as it is where every record is a unit."""
        if not len(self.unit):
            return flags
        found: NDArray[np.bool_] = np.bincount(self.unit, ~flags[self.part]) == 0
        return found

    def parts(self, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(p,) the parts of flagged units, (u,), the reverse of `whole`."""
        if not len(self.unit):
            return flags
        found = np.zeros(len(self.heaviest), dtype=np.bool_)
        found[self.part[flags[self.unit]]] = True
        return found

    def shared(self, drawing: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(p,) parts with a unit that has records in another one too, of those that are in a sum."""
        here = drawing[self.part]
        of_unit = np.bincount(self.unit[here], minlength=int(self.unit.max(initial=-1)) + 1)
        found = np.zeros(len(self.heaviest), dtype=np.bool_)
        found[self.part[here & (of_unit[self.unit] > 1)]] = True
        return found
