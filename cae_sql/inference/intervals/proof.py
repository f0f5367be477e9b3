"""Bounds proved by rational multipliers near a solver's duals: weak duality, so exact whatever it said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
import scipy
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.solver import Outcome

MOST_EXACT = 96
"""Multipliers up to which they are solved for exactly: it takes that number cubed steps on long numbers."""
NEAR_WHOLE = 1e-6
"""Distance at which an optimum seems to be whole, and a reduced cost 0."""


@dataclass(frozen=True)
class Multipliers:
    """Rational multipliers of independent sums, and the bound on an atom's total that they prove."""

    rows: tuple[int, ...]
    weights: tuple[Fraction, ...]
    bound: Fraction


@dataclass(frozen=True, eq=False)
class Proof:
    """What multipliers of some sums prove about the totals of the atoms that they are over."""

    known: Knowledge
    atoms: Ints
    """(c,) the atoms, ascending."""
    rows: Ints
    """(r,) the sums that are over them."""
    sums: Ints
    """(k,) right-hand sides of all sums."""

    def best(self, column: int, sign: int, outcome: Outcome) -> Multipliers:
        """Rational multipliers near the duals, and exactly what they prove; the best of a few roundings.

        Where the optimum seems to be a whole number and rounding misses it, they are solved for exactly.
        """
        value, best = sign * outcome.value, None
        whole = abs(value - round(value)) <= NEAR_WHOLE
        for weights in self._tried(column, outcome.duals[: len(self.rows)] * sign, whole):
            bound = self.proved(column, sign, weights)
            if best is None or sign * (bound - best.bound) > 0:
                best = Multipliers(tuple(weights), tuple(weights.values()), bound)
            near = abs(float(best.bound) - value) <= 1e-9 * max(1.0, abs(value))
            if near and (not whole or best.bound == round(value)):
                break
        assert best is not None
        return best

    def _tried(self, column: int, duals: NDArray[np.float64], whole: bool) -> Iterator[dict[int, Fraction]]:
        """The duals by row, rounded ever less; at last, without rounding: at a vertex, columns whose reduced
        cost is 0 say what they are."""
        for largest in (64, 10_000, 10**7):
            yield {
                row: rational(dual * scale, largest) / scale
                for (row, scale), dual in zip(self._scales.items(), duals, strict=True)
                if abs(dual * scale) > 1e-9
            }
        used = np.flatnonzero(np.abs(duals) > 1e-9)
        if not whole or not 0 < len(used) <= MOST_EXACT:
            return
        rows = self.rows[used]
        lines = np.array([self._line(int(row)) for row in rows], dtype=np.int64)
        costs = np.zeros(len(self.atoms), dtype=np.int64)
        costs[column] = 1
        tight = np.flatnonzero(np.abs(costs - duals[used] @ lines) < NEAR_WHOLE)
        if len(tight) >= len(used):
            _, order = scipy.linalg.qr(lines[:, tight].astype(np.float64), mode="r", pivoting=True)
            basic = tight[order[: len(used)]]
            found = solved_exactly(lines[:, basic].T.tolist(), costs[basic].tolist())
            yield {int(row): weight for row, weight in zip(rows, found, strict=False) if weight}

    @cached_property
    def _scales(self) -> dict[int, int]:
        """The largest coefficient of each of the r sums: a multiplier is as fine as they are large."""
        rows = self.rows.tolist()
        return {row: int(np.abs(self._line(row).astype(np.int64)).max(initial=1)) for row in rows}

    def _line(self, row: int) -> NDArray[np.integer]:
        whole = len(self.atoms) == self.known.count
        line: NDArray[np.integer] = self.known.matrix[row] if whole else self.known.matrix[row, self.atoms]
        return line

    def proved(self, column: int, sign: int, weights: dict[int, Fraction]) -> Fraction:
        """Σ λ b + the box ends that the reduced costs e − λA point to: a bound, whatever λ is."""
        known = self.known
        scale = lcm(*(weight.denominator for weight in weights.values())) if weights else 1
        whole = [int(weight * scale) for weight in weights.values()]
        lines = [self._line(row) for row in weights]
        sizes, low, high = known.sizes[self.atoms], known.low[self.atoms], known.high[self.atoms]
        most = scale + sum(abs(w) * self._scales[row] for row, w in zip(weights, whole, strict=True))
        # in 64 bits where nothing can overflow
        kind = np.int64 if most * int((sizes * high).sum(dtype=np.float64)) < 2**62 else object
        reduced = np.zeros(len(self.atoms), dtype=kind)
        reduced[column] = scale
        total = 0
        for row, weight, line in zip(weights, whole, lines, strict=True):
            used = np.flatnonzero(line)
            reduced[used] -= weight * line[used].astype(kind)
            total += weight * int(self.sums[row])
        used = np.flatnonzero(reduced)
        costs = reduced[used]
        edges = np.where((costs > 0) == (sign > 0), low[used], high[used]) * sizes[used]
        return Fraction(total + int((costs * edges.astype(kind)).sum()), scale)


def solved_exactly(square: list[list[int]], right: list[int]) -> list[Fraction]:
    """The solution of n whole-numbered equations, eliminated without fractions; empty where there is none."""
    rows = [[*line, end] for line, end in zip(square, right, strict=True)]
    count, last = len(rows), 1
    for place in range(count):
        pivot = next((row for row in range(place, count) if rows[row][0]), None)
        if pivot is None:
            return []
        rows[place], rows[pivot] = rows[pivot], rows[place]
        first, *head = rows[place]
        for row in range(place + 1, count):
            factor, *line = rows[row]
            # every quotient is whole (Bareiss 1968)
            rows[row] = [(first * a - factor * b) // last for a, b in zip(line, head, strict=True)]
        last = first
    found: list[Fraction] = []
    for first, *line in reversed(rows):
        *weights, end = line
        known = sum(weight * each for weight, each in zip(weights, found, strict=True))
        found.insert(0, Fraction(end - known) / first)
    return found


def rational(number: float, largest: int = 10**6) -> Fraction:
    """The simplest fraction near a float."""
    return Fraction(float(number)).limit_denominator(largest)
