"""Feasibility intervals: the least and greatest value of every record over all real-valued tables.

Independent components are solved apart. With no or one degree of freedom there is a closed form; else linear
programs, whose objective value is not taken from the solver: rational multipliers are read off its duals and
the bound they prove is computed exactly (weak duality), so no interval is ever too narrow. Where an extreme
must be attained and the linear optimum lets nobody attain it, a mixed integer program decides.

Source: `mathematics.md`, 2 (intervals); paper 000, Section 5 (query restriction).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from cae_sql.errors import InconsistentAnswers, OutOfTime
from cae_sql.inference.answers import Ints
from cae_sql.inference.knowledge import Knowledge
from cae_sql.inference.programs import constraints
from cae_sql.inference.solver import Floats, Outcome, Program
from cae_sql.inference.witnesses import able

TOLERANCE = 1e-7
"""Relative slack within which a solver's float counts as reaching a bound."""

Exact = int | Fraction
"""Most bounds are whole, and whole numbers are quicker."""
Progress = Callable[[int, int], None]
"""Called with (done, of)."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """Intervals in record order, in units of the column."""

    lower: Floats
    """(n,) least values."""
    upper: Floats
    """(n,) greatest values."""


@dataclass(frozen=True)
class Multipliers:
    """Rational multipliers of independent sums, and the bound on an atom's total that they prove."""

    rows: tuple[int, ...]
    weights: tuple[Fraction, ...]
    bound: Fraction


@dataclass(frozen=True, eq=False)
class Solved:
    """A system with the right-hand sides of its sums: what intervals are asked of."""

    known: Knowledge
    sums: Ints
    """(k,) of the independent sums as asked."""
    beta: Ints
    """(r,) of the reduced rows."""


def intervals(
    system: Solved, wanted: NDArray[np.bool_] | None = None, progress: Progress | None = None
) -> tuple[list[Exact], list[Exact]]:
    """Least and greatest value of a record of each atom, (p,) each, exact.

    Args:
        system: The answers.
        wanted: (p,) which atoms are asked for; the others' entries may be wider than they could be.
        progress: Told how far it is.

    Raises:
        InconsistentAnswers: no real-valued table agrees.
    """
    known = system.known
    wanted = np.ones(known.count, dtype=np.bool_) if wanted is None else wanted
    totals = Totals.start(known)
    labels = known.components
    order = np.argsort(labels, kind="stable")
    done = 0
    for atoms in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        if wanted[atoms].any():
            _component(system, np.sort(atoms), wanted, totals)
        done += len(atoms)
        if progress is not None:
            progress(done, known.count)
    return totals.of_records(known)


@dataclass
class Totals:
    """Exact bounds of the atoms' totals, filled component by component."""

    low: list[Exact]
    high: list[Exact]

    @classmethod
    def start(cls, known: Knowledge) -> Totals:
        """What the boxes say."""
        return cls((known.sizes * known.low).tolist(), (known.sizes * known.high).tolist())

    def of_records(self, known: Knowledge) -> tuple[list[Exact], list[Exact]]:
        """m records with a total in [s1, s2] have values from max(l, s1 − (m−1)u) to min(u, s2 − (m−1)l)."""
        rest = (known.sizes - 1).tolist()
        low, high = known.low.tolist(), known.high.tolist()
        least = [max(a, s - m * b) for s, m, a, b in zip(self.low, rest, low, high, strict=True)]
        most = [min(b, s - m * a) for s, m, a, b in zip(self.high, rest, low, high, strict=True)]
        return least, most


def _component(system: Solved, atoms: Ints, wanted: NDArray[np.bool_], totals: Totals) -> None:
    known = system.known
    if any(np.isin(extreme.atoms[0], atoms) for extreme in known.extremes):
        ByPrograms(system, atoms).fill(wanted, totals)
        return
    everything = len(atoms) == known.count
    rows = np.count_nonzero((known.matrix if everything else known.matrix[:, atoms]).any(axis=1))
    if not rows:
        return
    free = np.setdiff1d(atoms, known.tableau.basic)
    mine = np.flatnonzero(np.isin(known.tableau.basic, atoms))
    if len(free) <= 1 and len(mine) == rows:
        _closed_form(system, mine, free, totals)
    else:
        ByPrograms(system, atoms).fill(wanted, totals)


def _closed_form(system: Solved, mine: Ints, free: Ints, totals: Totals) -> None:
    """No or one degree of freedom: s_i = β_i − e_i x, so x lies in an intersection of intervals."""
    known, beta = system.known, system.beta[mine]
    basic = known.tableau.basic[mine]
    least, most = known.sizes * known.low, known.sizes * known.high
    column = known.tableau.entries[mine, free[0]] if len(free) else np.zeros(len(mine), dtype=np.int64)
    moving, still = np.flatnonzero(column), np.flatnonzero(column == 0)
    scale = lcm(*np.unique(np.abs(column[moving])).tolist())
    ratio = scale // np.abs(column[moving]) * np.sign(column[moving])
    one = (beta[moving] - most[basic[moving]]) * ratio
    two = (beta[moving] - least[basic[moving]]) * ratio
    low, high = int(np.minimum(one, two).max(initial=-(2**62))), int(np.maximum(one, two).min(initial=2**62))
    if len(free):
        low, high = max(low, int(least[free[0]]) * scale), min(high, int(most[free[0]]) * scale)
    outside = (beta[still] < least[basic[still]]) | (beta[still] > most[basic[still]])
    if low > high or outside.any():
        raise InconsistentAnswers("no table inside the domain agrees with the sums")
    if len(free):
        totals.low[free[0]], totals.high[free[0]] = over(low, scale), over(high, scale)
    for place in still.tolist():
        totals.low[basic[place]] = totals.high[basic[place]] = int(beta[place])
    ends = np.sort([beta[moving] * scale - column[moving] * end for end in (low, high)], axis=0)
    for place, below, above in zip(basic[moving].tolist(), *ends.tolist(), strict=True):
        totals.low[place], totals.high[place] = over(below, scale), over(above, scale)


class ByPrograms:
    """One component's totals by linear programs, mixed integer ones where somebody must attain an extreme."""

    def __init__(self, system: Solved, atoms: Ints) -> None:
        """State the programs of the component that consists of these atoms (ascending)."""
        self.system, self.atoms, self.known = system, atoms, system.known
        self.rows = np.flatnonzero(self.known.matrix[:, atoms].any(axis=1))
        self.linear = Program(*constraints(replace(self.known, extremes=()), atoms, system.sums))
        self.mixed: Program | None = None
        matrix, row_low, row_high, lower, upper = constraints(self.known, atoms, system.sums)
        if matrix.shape[1] > len(atoms):
            choices = np.arange(matrix.shape[1]) >= len(atoms)
            self.mixed = Program(matrix, row_low, row_high, lower, upper, choices)
        self.least = np.full(len(atoms), np.inf)
        self.most = np.full(len(atoms), -np.inf)

    def fill(self, wanted: NDArray[np.bool_], totals: Totals) -> None:
        """Bounds of the wanted atoms; a side that some solution already carries to its box needs no solve."""
        known, atoms = self.known, self.atoms
        sizes, low, high = known.sizes[atoms], known.low[atoms], known.high[atoms]
        slack = TOLERANCE * np.maximum(1.0, (sizes * high).astype(float))
        to_low = sizes * low + (sizes - 1) * (high - low) + slack
        to_high = sizes * high - (sizes - 1) * (high - low) - slack
        if self.solve({}).status == "infeasible":
            raise InconsistentAnswers("no table inside the domain agrees with the answers")
        for column in np.flatnonzero(wanted[atoms]):
            atom = int(atoms[column])
            if self.least[column] > to_low[column]:
                totals.low[atom] = self.extreme(int(column), 1)
            if self.most[column] < to_high[column]:
                totals.high[atom] = self.extreme(int(column), -1)

    def extreme(self, column: int, sign: int) -> Fraction:
        """Exact least (sign 1) or greatest (−1) total of an atom."""
        outcome = self.linear.minimise({column: float(sign)})
        if outcome.status != "optimal":
            raise OutOfTime("the linear program was not solved")
        bound = self.multipliers(column, sign, outcome).bound
        if self.mixed is None or self.attained(outcome.solution):
            self._note(outcome)
            return bound
        mixed = self.mixed.minimise({column: float(sign)})
        if mixed.status != "optimal":
            raise OutOfTime("the mixed integer program was not solved")
        self._note(mixed)
        value = sign * rational(mixed.value)
        return max(bound, value) if sign > 0 else min(bound, value)

    def solve(self, costs: dict[int, float]) -> Outcome:
        """A solution of the full program (attained extremes included), noted."""
        outcome = (self.mixed or self.linear).minimise(costs, first=True)
        self._note(outcome)
        return outcome

    def _note(self, outcome: Outcome) -> None:
        if len(outcome.solution):
            found = outcome.solution[: len(self.atoms)]
            np.minimum(self.least, found, out=self.least)
            np.maximum(self.most, found, out=self.most)

    def attained(self, solution: Floats) -> bool:
        """Whether, at these totals, every extreme over the component can be attained."""
        known = self.known
        totals = np.zeros(known.count)
        totals[self.atoms] = solution[: len(self.atoms)]
        for extreme in known.extremes:
            if not np.isin(extreme.atoms[0], self.atoms):
                continue
            atoms = able(known, extreme)
            span = known.high[atoms] - known.low[atoms]
            room = totals[atoms] - known.sizes[atoms] * known.low[atoms]
            if not extreme.top:
                room = known.sizes[atoms] * known.high[atoms] - totals[atoms]
            if not (room >= span * (1 - TOLERANCE)).any():
                return False
        return True

    def multipliers(self, column: int, sign: int, outcome: Outcome) -> Multipliers:
        """Rational multipliers near the duals, and exactly what they prove; the best of a few roundings."""
        duals = outcome.duals[: len(self.rows)] * sign
        # a multiplier is as fine as its row's coefficients are large
        scales = np.abs(self.known.matrix[np.ix_(self.rows, self.atoms)]).max(axis=1, initial=1)
        best: Multipliers | None = None
        for largest in (64, 10_000, 10**7):
            weights = {
                int(row): rational(dual * scale, largest) / int(scale)
                for row, dual, scale in zip(self.rows, duals, scales, strict=True)
                if abs(dual * scale) > 1e-9
            }
            bound = self.proved(column, sign, weights)
            found = Multipliers(tuple(weights), tuple(weights.values()), bound)
            if best is None or sign * (bound - best.bound) > 0:
                best = found
            if abs(float(best.bound) - sign * outcome.value) <= 1e-9 * max(1.0, abs(outcome.value)):
                break
        assert best is not None
        return best

    def proved(self, column: int, sign: int, weights: dict[int, Fraction]) -> Fraction:
        """Σ λ b + the box ends that the reduced costs e − λA point to: a bound, whatever λ is."""
        known = self.known
        scale = lcm(*(weight.denominator for weight in weights.values())) if weights else 1
        reduced = np.zeros(len(self.atoms), dtype=object)
        reduced[column] = scale
        total = 0
        for row, weight in weights.items():
            whole = int(weight * scale)
            line = known.matrix[row, self.atoms]
            used = np.flatnonzero(line)
            reduced[used] -= whole * line[used].astype(object)
            total += whole * int(self.system.sums[row])
        sizes = known.sizes[self.atoms]
        used = np.flatnonzero(reduced)
        for place in used.tolist():
            cost = reduced[place]
            edge = known.low if (cost > 0) == (sign > 0) else known.high
            total += cost * int(sizes[place]) * int(edge[self.atoms[place]])
        return Fraction(total, scale)


def over(number: int, scale: int) -> Exact:
    """A quotient, whole where it is."""
    return number if scale == 1 else Fraction(number, scale)


def rational(number: float, largest: int = 10**6) -> Fraction:
    """The simplest fraction near a float."""
    return Fraction(float(number)).limit_denominator(largest)
