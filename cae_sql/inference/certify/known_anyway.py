"""Implied bounds: between which values past answers leave a sum or another statistic, by weak duality.

Whoever knows the answers can work them out, so telling them tells nothing: nobody needs to be shown to keep
anything, and the true value is not looked at.

Promise: no table that agrees with past sums, and with the boxes that extremes leave, gives another value.

Proof. A sum, with weights or without, a count and a sum of squares around a number c are Σ f_i(v_i) over the
records. Let A x = b be the sums, a(i) the atom that record i is in, and λ any multipliers. In a table that
agrees,

    Σ f_i(v_i)  =  λ·b + Σ_i (f_i(v_i) − (λA)_a(i) v_i)  >=  λ·b + Σ_i min_v (f_i(v) − (λA)_a(i) v),

v in the record's box. The right side is worked out in whole numbers, λ being multiples of 2 to the power of
−`BITS`. Which λ serve best a linear program says, over the convex hulls of the f_i; a bad solution gives a
wider range, never a wrong one. The greatest value is the least one of −f.

* *Quantile* of n values. The two that it lies between are at u or below where fewer than n − r can be above
  u, r the rank of the upper one, from 0; and at l or above where no more than r can be below l, r that of the
  lower one.
* *Spread*, S the sum over the members, which lies between S' and S'': Σ (v − S/n)² is
  Σ (v − c)² − (S − n c)² / n, whatever c is.

No use is made of ranges that were told, nor of which record attains an extreme: without them more tables
agree.

Source: `mathematics.md`, 2 and 8.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import scipy

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.solver import MOST_ITERATIONS, Floats, Program
from cae_sql.inference.tables.roomy_table import RoomyTable

CELLS = 4_000_000
"""Sums times atoms, or times a program's columns, beyond which nothing is looked for."""
BITS = 20
"""Of the multipliers, behind the point."""
MOST = 1 << 20
"""Multipliers from which whole numbers of 64 bits might not suffice."""
TANGENTS = 2
"""Values on each side of the middle between which squares are taken for linear in a program, nearer to each
other there: what its multipliers prove is worked out for squares."""
FINE = 64
"""Into so many steps the domain is cut where the ends of a quantile are looked for."""
LARGEST = 2.0**62
"""What whole numbers of 64 bits hold: where a record's term may pass it nothing is said."""


@dataclass(frozen=True, eq=False)
class Terms:
    """Records by what f is of them. Shapes: g groups of one atom's records."""

    atoms: Ints
    """(g,) the atom that each is of."""
    sizes: Ints
    """(g,) how many records."""
    low: Ints
    high: Ints
    """(g,) their boxes."""
    weights: Ints
    """(g,) of a weighted sum; else 1, and 0 of others than members."""
    kind: str
    """"weighted"; "count", of values in `region`; "squares", of what values are away from `center`."""
    region: tuple[tuple[int, int], ...] = ()
    center: int = 0
    sign: int = 1
    """−1 for the greatest value: the least of −f."""

    def of(self, values: Ints) -> Ints:
        """f of one value for each group, or of (…, g) values."""
        if self.kind == "weighted":
            found = self.weights * values
        elif self.kind == "squares":
            found = self.weights * (values - self.center) ** 2
        else:
            inside = np.zeros(values.shape, dtype=np.bool_)
            for low, high in self.region:
                inside |= (low <= values) & (values <= high)
            found = self.weights * inside
        return self.sign * found

    @property
    def points(self) -> Ints:
        """(b, g) values, ascending, between which f is linear, or constant, or looked at as if it were."""
        ends = [self.low, self.high]
        if self.kind == "count":
            for each in self.region:
                for value in (each[0] - 1, each[0], each[1], each[1] + 1):
                    ends.append(np.clip(value, self.low, self.high))
        elif self.kind == "squares" and self.sign > 0:
            for place in range(-TANGENTS, TANGENTS + 1):
                far = np.where(place < 0, self.center - self.low, self.high - self.center)
                away = np.maximum(far, 0) * place * abs(place) // TANGENTS**2
                ends.append(np.clip(self.center + away, self.low, self.high))
        return np.sort(np.stack(ends), axis=0)

    def least(self, slopes: Ints) -> Ints:
        """(g,) the least of f(v) 2^BITS − slope · v over each group's box, exactly."""
        values = self.points
        if self.kind == "squares" and self.sign > 0:
            # 2 (v − c) 2^BITS = slope; of others than members the ends
            near = self.center + (slopes >> (BITS + 1))
            inner = [np.clip(near + by, self.low, self.high) for by in (0, 1)]
            values = np.stack([self.low, self.high, *inner])
        found: Ints = ((self.of(values) << BITS) - slopes * values).min(axis=0)
        return found

    @property
    def greatest(self) -> float:
        """What f may come to, positive or negative."""
        ends = np.stack([self.low, self.high]) - self.center
        far = float(np.abs(ends).max(initial=0))
        weight = float(np.abs(self.weights).max(initial=0))
        return weight * far ** {"count": 0, "weighted": 1, "squares": 2}[self.kind]


class KnownAnyway:
    """What past answers leave to sums over records of functions of each one's value."""

    def __init__(self, roomy_table: RoomyTable, allowance: Allowance) -> None:
        """Of what past answers say, by what may be spent."""
        self._atoms, self._allowance = roomy_table.boxes, allowance
        self._usable = roomy_table.usable and roomy_table.rank * self._atoms.count <= CELLS
        if self._usable:
            marks = roomy_table.marks[: roomy_table.count, : roomy_table.rank].T
            self._marks = np.ascontiguousarray(marks.astype(np.int64))
            self._sums = [int(each) for each in roomy_table.sums]

    def between(self, query: Query) -> tuple[int, int] | None:
        """The least and the greatest value that past answers leave, as `Query.of` gives it; None: not known.

        Args:
            query: A sum, a count, a quantile, a weighted sum or a spread; of an extreme nothing is said.
        """
        if not self._usable or len(query.members) == 0:
            return None
        if query.kind == "quantile":
            return self._quantile(query)
        if query.kind == "spread":
            return self._spread(query)
        if query.kind not in ("sum", "weighted", "count"):
            return None
        return self._both(self._terms(query, "count" if query.kind == "count" else "weighted"))

    def _both(self, terms: Terms) -> tuple[int, int] | None:
        least = self._least(terms)
        most = None if least is None else self._least(replace(terms, sign=-1))
        return None if least is None or most is None else (least, -most)

    def _quantile(self, query: Query) -> tuple[int, int] | None:
        top, members = int(self._atoms.own[1].max()), len(query.members)
        step, terms = max(1, top // FINE), self._terms(query, "count")

        def inside(low: int, high: int) -> int:
            """How many values at most are from one to another."""
            found = self._least(replace(terms, region=((low, high),), sign=-1))
            return members if found is None else -found

        # each end is proved by itself: that the others were looked at decides nothing
        grid, (lower, upper) = range(0, top + 1, step), query.ranks
        low = bisect_left(grid, True, lo=1, key=lambda value: inside(0, value - 1) > lower) - 1
        high = bisect_left(grid, True, key=lambda value: inside(value + 1, top) < members - upper)
        return grid[low], grid[high] if high < len(grid) else top

    def _spread(self, query: Query) -> tuple[int, int] | None:
        plain = self._terms(query, "weighted")
        total, members = self._both(plain), len(query.members)
        if total is None:
            return None
        center = (total[0] + total[1]) // (2 * members)
        squares = self._both(replace(plain, kind="squares", center=center))
        if squares is None:
            return None
        away = [each - members * center for each in total]
        farthest = max(each**2 for each in away)
        nearest = 0 if away[0] <= 0 <= away[1] else min(each**2 for each in away)
        return max(0, squares[0] - -(-farthest // members)), squares[1] - -(-nearest // members)

    def _terms(self, query: Query, kind: str) -> Terms:
        """All records, by atom and weight."""
        labels = self._atoms.atoms.labels
        weights = np.zeros(len(labels), dtype=np.int64)
        weights[query.members] = 1 if query.coefficients is None else query.coefficients
        kinds, which = np.unique(weights, return_inverse=True)
        names, sizes = np.unique(labels * len(kinds) + which, return_counts=True)
        atoms, which = np.divmod(names, len(kinds))
        low, high = (each[atoms] for each in self._atoms.own)
        return Terms(atoms, sizes, low, high, kinds[which], kind, query.region)

    def _least(self, terms: Terms) -> int | None:
        """A whole number that Σ f is not below; None where nothing is found."""
        duals = self._duals(terms)
        if duals is None or (len(duals) and not np.abs(duals).max() < MOST):
            return None
        multipliers = np.rint(np.ldexp(duals, BITS)).astype(np.int64)
        slopes = (multipliers @ self._marks)[terms.atoms]
        steepest = float(np.abs(slopes.astype(np.float64)).max(initial=0.0))
        if terms.greatest * 2**BITS + steepest * float(terms.high.max(initial=1)) > LARGEST:
            return None
        each = terms.least(slopes)
        # Python's own whole numbers: sums over many records are beyond 64 bits
        scaled = sum(map(int.__mul__, multipliers.tolist(), self._sums))
        scaled += sum(map(int.__mul__, each.tolist(), terms.sizes.tolist()))
        return -(-scaled >> BITS)

    def _duals(self, terms: Terms) -> Floats | None:
        """(k,) multipliers of the sums by the program over convex hulls."""
        lengths, slopes = hulls(terms.points, terms.of)
        used = np.flatnonzero(lengths.ravel() > 0)
        groups = used % len(terms.sizes)
        if len(self._marks) * len(used) > CELLS:
            return None
        if not len(self._marks) or not len(used):
            return np.zeros(len(self._marks))
        marks = self._marks[:, terms.atoms[groups]]
        sums = np.array(self._sums, dtype=np.float64)
        sums -= self._marks[:, terms.atoms] @ (terms.sizes * terms.low)
        most = (lengths.ravel()[used] * terms.sizes[groups]).astype(np.float64)
        program = Program(scipy.sparse.csr_matrix(marks), sums, sums, np.zeros(len(used)), most)
        # by work, not by the clock: what is known must not hang on the machine
        iterations = int(min(self._allowance.steps / (len(marks) + len(used)), MOST_ITERATIONS))
        if iterations <= 0:
            return None
        costs = dict(enumerate(slopes.ravel()[used].tolist()))
        outcome = program.minimise(costs, self._allowance, iterations=iterations)
        return outcome.duals if outcome.status == "optimal" else None


def hulls(points: Ints, of: Callable[[Ints], Ints]) -> tuple[Ints, Floats]:
    """The lower convex hull of a function over points (b, g), ascending: length and slope of its pieces.

    (b − 1, g) each: a length of 0 is no piece; slopes ascend.
    """
    values = of(points).astype(np.float64)
    lower = values.copy()
    for first, last in combinations(range(len(points)), 2):
        rise = (values[last] - values[first]) / np.maximum(points[last] - points[first], 1)
        between = slice(first, last + 1)
        line = values[first] + rise * (points[between] - points[first])
        lower[between] = np.minimum(lower[between], line)
    lengths = np.diff(points, axis=0)
    return lengths, np.diff(lower, axis=0) / np.maximum(lengths, 1)
