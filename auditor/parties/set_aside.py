"""Persons who are set aside once the owner has released an answer that does not keep the limit.

Some answers about all records are known, some of them released. A set C of records is *closed* if everything
told falls into what it says of C and what it says of the others: with each sum the answers also settle its
part in C, no extreme hangs on both sides, and no range does. The tables that agree with all answers are then
the products of tables of C and tables of the others. So what is known of C, its possible values and its
posterior, with insiders or without, is the same whatever more is told of the others, and the other way round.

Whom a release takes beyond the limit is put into a closed set, as small as is seen. From then on the gate's
system has what was told of the others alone, and judges them as always. What is asked is asked of the others,
beside a part in C that is known already; where that part is not known nothing is told.

Of a unit that has rows on both sides, those of the others are judged as if they were all it has: the sum of
rows on both sides is a sum of two that are independent.

Which sets are closed is found by elimination in floats, which proposes them. That one is closed is checked in
fractions: whatever does not fall apart makes the set grow by all that it is about.

Source: the connected components of a linear matroid are those of its standard representation (Oxley, *Matroid
Theory*, 4.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from auditor.told import Told, exactly
from cae_sql.cached import cached_property
from cae_sql.inference.facts.atoms import Atoms
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.facts.rank import coefficients_of, components
from cae_sql.inference.facts.span import Span
from cae_sql.inference.system import AnsweredSystem

Flags = NDArray[np.bool_]
NEGLIGIBLE = 1e-6
"""Of a matrix of small whole numbers that was eliminated in floats, what is less is taken for 0."""


@dataclass(frozen=True, eq=False)
class Row:
    """Something told, in units."""

    query: Query
    """Of what, as asked: without spare records."""
    told: Told[int]
    """What."""

    @property
    def is_sum(self) -> bool:
        """Whether it is a sum that was told exactly."""
        return self.query.kind == "sum" and self.told.exact


Halves = tuple[Row | None, Row | None]
"""What something told says of the records of a set, and what of the others; None where it says nothing."""


class Separation:
    """How what was told falls apart. Shapes: n records, lumps counted as records."""

    def __init__(self, rows: Sequence[Row], system: AnsweredSystem) -> None:
        """Of what was told; of the system the domain, lumps and units count, its answers do not."""
        self.rows, self._size = list(rows), system.first_spare
        self._whose = system.unit_of
        self._tops = int(system.grid.top) * system.people
        self._span, self._values = Span(self._size), list[int]()
        for row in self.rows:
            if row.is_sum and row.told.least is not None and self._span.take(row.query):
                self._values.append(row.told.least)

    def closed(self, records: Flags, units: bool = False, loosely: bool = False) -> Flags:
        """(n,) a closed set that has some records, as small as is seen.

        Args:
            records: (n,) which.
            units: Whether with all rows of theirs.
            loosely: Whether extremes that hang on both sides do not matter.
        """
        found = records.copy()
        while True:
            found = np.isin(self._labels, self._labels[found])
            if units and self._whose is not None:
                found |= np.isin(self._whose, self._whose[found])
            more = found.copy()
            for row in self.rows:
                if self.halves(row, found, loosely) is None:
                    more[row.query.members] = True
            if (more == found).all():
                return found
            found = more

    def halves(self, row: Row, records: Flags, loosely: bool = False) -> Halves | None:
        """What something told, or asked, says of some records and of the others; None where it hangs on both.

        Of a sum the answers must settle the first half. `loosely`: of an extreme that somebody on either side
        may have, that nobody has more, or less.
        """
        query, inside = row.query, records[row.query.members]
        if inside.all():
            return row, None
        if not inside.any():
            return None, row
        if query.kind == "sum":
            value = self.settled(part_of(query, inside))
            if value is None:
                return None
            others = row.told.under(lambda total: total - value)
            return Row(part_of(query, inside), exactly(value)), Row(part_of(query, ~inside), others)
        found = self._extreme(row, inside, records) if query.kind in ("max", "min") else None
        if found is None and loosely and query.kind in ("max", "min"):
            found = self._bounds(row, inside)
        return found

    def settled(self, query: Query) -> int | None:
        """A sum in units, where the answered sums add up to it."""
        total = Fraction(0)
        for sign in (1, -1):
            records = query.members[query.signs == sign]
            terms = self._span.combination(records) if len(records) else []
            if len(records) and not terms:
                return None
            total += sign * sum((weight * self._values[row] for row, weight in terms), Fraction(0))
        plain = bool((np.abs(query.signs) == 1).all()) and total.denominator == 1
        return int(total) if plain else None

    def _extreme(self, row: Row, inside: Flags, records: Flags) -> Halves | None:
        """Of a maximum, or the same upside down: nobody inside attains it, or somebody is seen to."""
        own, others = (part_of(row.query, each) for each in (inside, ~inside))
        value, top = row.told.value, row.query.kind == "max"
        if value is None:  # "at most" is said of each by itself
            return self._bounds(row, inside)
        if any(self._says(each, row, records) for each in self.rows):
            return self._bounds(row, inside)  # what else was told says that somebody on one side attains it
        low, high = (each[own.members] for each in self._between(records))
        if ((high < value) if top else (low > value)).all() or self._less(own, value):
            return None, Row(others, row.told)
        if ((low >= value) if top else (high <= value)).any() or self._less(others, value):
            return Row(own, row.told), Row(others, self._bound(row))
        return None

    def _less(self, query: Query, value: int) -> bool:
        """Whether an extreme was told by which all of these have less, of a maximum, or more."""
        return any(
            row.query.kind == query.kind
            and row.told.value is not None
            and (row.told.value < value if query.kind == "max" else row.told.value > value)
            and bool(np.isin(query.members, row.query.members).all())
            for row in self.rows
        )

    def _bounds(self, row: Row, inside: Flags) -> Halves:
        """Of an extreme, what it says of each by itself."""
        own, others = (part_of(row.query, each) for each in (inside, ~inside))
        return Row(own, self._bound(row)), Row(others, self._bound(row))

    def _bound(self, row: Row) -> Told[int]:
        value = row.told.value
        if value is None:
            return row.told
        return Told(None, value) if row.query.kind == "max" else Told(value, None)

    def _says(self, other: Row, row: Row, records: Flags) -> bool:
        """Whether something else told says that an extreme is had on one side."""
        query, inside = other.query, records[other.query.members]
        if query.kind != row.query.kind or other.told != row.told:
            return False
        one_side = bool(inside.all()) or not inside.any()
        return one_side and bool(np.isin(query.members, row.query.members).all())

    def _between(self, records: Flags) -> tuple[Ints, Ints]:
        """(n,) each: between which values some records lie by the sums about them alone, one by one."""
        low, high = np.zeros(self._size, dtype=np.int64), self._tops.copy()
        alone = np.intersect1d(self._span.settled(), np.flatnonzero(records))
        rows = [Row(Query(kind="sum", members=alone[[place]]), exactly(0)) for place in range(len(alone))]
        for row in (*rows, *(row for row in self.rows if row.is_sum)):
            inside = records[row.query.members]
            query = part_of(row.query, inside) if inside.any() else None
            value = None if query is None or (query.signs != 1).any() else self.settled(query)
            if query is not None and value is not None:
                rest = self._tops[query.members].sum() - self._tops[query.members]
                low[query.members] = np.maximum(low[query.members], value - rest)
                high[query.members] = np.minimum(high[query.members], value)
        return low, high

    @cached_property
    def _labels(self) -> Ints:
        """(n,) which records hang together by sums; who is in none is alone."""
        sums = [row.query for row in self.rows if row.is_sum]
        atoms = Atoms(self._size)
        for query in sums:
            atoms.refine(query)
        reduced = eliminated(coefficients_of(atoms, sums).astype(np.float64))
        used: Flags = np.abs(reduced) > NEGLIGIBLE
        labels = components(atoms.count, [np.flatnonzero(row) for row in used])[atoms.labels]
        free = ~np.logical_or.reduce(used, axis=0)[atoms.labels]
        labels[free] = atoms.count + np.flatnonzero(free)
        return labels


def part_of(query: Query, kept: Flags) -> Query:
    """A query about those of its members alone that are kept (m,)."""
    signs = None if query.coefficients is None else query.coefficients[kept]
    plain = signs is None or bool((signs == 1).all())
    return replace(query, members=query.members[kept], coefficients=None if plain else signs)


def eliminated(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The reduced row echelon form (r, p) of a matrix (k, p), rows of nothing but 0 left out."""
    left, done = matrix.copy(), list[int]()
    for row in range(len(left)):
        pivot = int(np.argmax(np.abs(left[row]))) if left.shape[1] else 0
        if not left.shape[1] or abs(left[row, pivot]) <= NEGLIGIBLE:
            continue
        left[row] /= left[row, pivot]
        others = np.arange(len(left)) != row
        left[others] -= np.outer(left[others, pivot], left[row])
        done.append(row)
    return left[done]
