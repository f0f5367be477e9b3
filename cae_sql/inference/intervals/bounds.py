"""Feasibility intervals: the least and greatest value of every record over all real-valued tables.

Independent components are solved apart, in three steps, each for what the one before left open: single sums
give exact outer bounds (`outer`), the analytic centre shows which of them are reached (`interior`), and
linear programs decide the rest (`pricing` where columns are many). A program's objective value is not taken
from the solver: rational multipliers are read off its duals and the bound they prove is computed exactly
(weak duality), so no interval is ever too narrow.
Where an extreme must be attained and the linear optimum lets nobody attain it, a mixed integer program
decides.

Source: `mathematics.md`, 2 (intervals); paper 000, Section 5 (query restriction).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.errors import InconsistentAnswers, OutOfTime
from cae_sql.inference.facts.constraints import constraints
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.intervals.interior import Bounds as Bounds
from cae_sql.inference.intervals.interior import sparse_columns
from cae_sql.inference.intervals.presolve import from_single_sums
from cae_sql.inference.intervals.pricing import Priced
from cae_sql.inference.intervals.proof import Multipliers, Proof, rational
from cae_sql.inference.intervals.reached import InteriorPoint, Records, interior_points
from cae_sql.inference.solver import Floats, Outcome, Program

TOLERANCE = 1e-7
"""Relative slack within which a solver's float counts as attaining an extreme."""
REACHED, DIGITS = 1e-6, 1e-12
"""Slack within which a solver's float counts as reaching a bound: units, or this part of an atom's total."""
FEW = 64
"""Atoms up to which no point inside is looked for: the programs are quicker."""
LARGE = 3_000
"""Atoms beyond which programs are over few of them, the others priced."""

Exact = int | Fraction
"""Most bounds are whole, and whole numbers are quicker."""
Progress = Callable[[int, int], None]
"""Called with (done, of)."""
Watch = Callable[[Ints, Floats], None]
"""Called with atoms and a total for each."""


@dataclass(frozen=True, eq=False)
class Solved:
    """A system with the right-hand sides of its sums: what intervals are asked of."""

    known: Knowledge
    sums: Ints
    """(k,) of the independent sums as asked."""
    programs: dict[int, ByPrograms] = field(default_factory=dict, repr=False)
    """Those of large components by their first atom, kept for who asks about some records, then others."""


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
    low, high = ((known.sizes * end).astype(object) for end in (known.low, known.high))
    labels = known.components
    order = np.argsort(labels, kind="stable")
    done = 0
    for part in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):

        def told(settled: int, before: int = done) -> None:
            if progress is not None:
                progress(before + settled, known.count)

        atoms = np.sort(part)
        if wanted[atoms].any():
            programs = system.programs.get(int(atoms[0])) or ByPrograms(system, atoms)
            if len(atoms) > LARGE:
                system.programs[int(atoms[0])] = programs
            if len(programs.rows) or programs.extremes:
                programs.fill(wanted, low, high, told)
        done += len(atoms)
        told(len(atoms))
    return of_records(known, low, high)


def of_records(known: Knowledge, low: NDArray[Any], high: NDArray[Any]) -> tuple[list[Exact], list[Exact]]:
    """Ends of a record of each atom, (p,) each, where the atoms' totals are between two values.

    m records with a total in [s1, s2] have values from max(l, s1 − (m−1)u) to min(u, s2 − (m−1)l).
    """
    rest = known.sizes - 1
    least = np.maximum(known.low, low - rest * known.high)
    most = np.minimum(known.high, high - rest * known.low)
    return least.tolist(), most.tolist()


class ByPrograms:
    """One component's totals by linear programs, mixed integer ones where somebody must attain an extreme."""

    def __init__(self, system: Solved, atoms: Ints) -> None:
        """Take the component that consists of these atoms (ascending)."""
        self.system, self.atoms, self.known = system, atoms, system.known
        self.whole = len(atoms) == self.known.count
        part = self.known.matrix if self.whole else self.known.matrix[:, atoms]
        self.rows = np.flatnonzero(part.any(axis=1))
        self.least = np.full(len(atoms), np.inf)
        self.most = np.full(len(atoms), -np.inf)
        self.extremes = [e for e in self.known.extremes if np.isin(e.atoms[0], atoms)]
        self.watch: Watch | None = None
        self.proofs: dict[tuple[int, int], Multipliers] = {}
        """By column and sign, what proved a bound."""

    @cached_property
    def proof(self) -> Proof:
        """Bounds that multipliers of the sums prove."""
        return Proof(self.known, self.atoms, self.rows, self.system.sums)

    @cached_property
    def outer(self) -> tuple[Ints, Ints]:
        """(c,) each: what single sums say of the totals."""
        return from_single_sums(self.known, self.atoms, self.rows, self.system.sums)

    @cached_property
    def records(self) -> Records:
        """What they say of single records."""
        return Records.within(self.known, self.atoms, *self.outer)

    @cached_property
    def interior_points(self) -> list[InteriorPoint]:
        """Points inside to start from; none where the component is small or has none."""
        if len(self.atoms) <= FEW:
            return []
        part = self.known.matrix if self.whole else self.known.matrix[:, self.atoms]
        matrix = sparse_columns(part if len(self.rows) == len(part) else part[self.rows])
        sums = self.system.sums[self.rows].astype(np.float64)
        return list(interior_points(self.known, self.atoms, matrix, sums, self.records))

    @cached_property
    def linear(self) -> Program | Priced:
        """The program without the condition that somebody attains the extremes."""
        if len(self.atoms) > LARGE and self.interior_points:
            sizes = self.known.sizes[self.atoms]
            low, high = sizes * self.known.low[self.atoms], sizes * self.known.high[self.atoms]
            first = self.interior_points[0]
            return Priced(first.interior.matrix, first.totals, low.astype(float), high.astype(float))
        return Program(*constraints(replace(self.known, extremes=()), self.atoms, self.system.sums))

    @cached_property
    def attaining(self) -> list[Priced]:
        """Large programs in which some records are kept where they attain the extremes."""
        if len(self.atoms) <= LARGE or not self.extremes:
            return []
        return [Priced(each.interior.matrix, each.totals, *each.box) for each in self.interior_points]

    @cached_property
    def mixed(self) -> Program | None:
        """The program with that condition; None where nobody needs to."""
        if not self.extremes:
            return None
        matrix, row_low, row_high, lower, upper = constraints(self.known, self.atoms, self.system.sums)
        choices = np.arange(matrix.shape[1]) >= len(self.atoms)
        return Program(matrix, row_low, row_high, lower, upper, choices) if choices.any() else None

    def fill(
        self,
        wanted: NDArray[np.bool_],
        least: NDArray[Any],
        most: NDArray[Any],
        told: Callable[[int], None],
    ) -> None:
        """Bounds of the wanted atoms; a side that some table is seen to reach needs no program.

        Args:
            wanted: (p,) which.
            least: (p,) least total of each atom, exact; filled in.
            most: (p,) greatest.
            told: Told how many are done.
        """
        least[self.atoms], most[self.atoms] = self.outer
        asked = np.flatnonzero(wanted[self.atoms])
        left = self._not_reached(asked)
        if not self.interior_points and self.solve({}).status == "infeasible":
            raise InconsistentAnswers("no table inside the domain agrees with the answers")
        still = np.flatnonzero(left.any(axis=0))
        for turn, place in enumerate(still.tolist()):
            told(len(asked) - len(still) + turn)
            column = int(asked[place])
            for side in np.flatnonzero(left[:, place]).tolist():
                if not self.seen(column, side):
                    value = self.extreme(column, (1, -1)[side])
                    (least, most)[side][self.atoms[column]] = int(value) if value == int(value) else value

    def _not_reached(self, asked: Ints) -> NDArray[np.bool_]:
        """(2, asked) which ends of these columns no interior point reaches; all where there is none."""
        left = np.ones((2, len(asked)), dtype=np.bool_)
        left[:, self.records.low[asked] == self.records.high[asked]] = False
        for interior_point in self.interior_points:
            some = np.flatnonzero(left.any(axis=0))
            left[:, some] &= ~interior_point.reaches(asked[some])
        return left

    def seen(self, column: int, side: int) -> bool:
        """Whether a solution has carried a record of the atom to where no sum lets it pass."""
        found = (self.least[column], -self.most[column])[side]
        return bool(found <= self._end(column, (1, -1)[side]))

    def _end(self, column: int, sign: int) -> float:
        """Total (times sign) from which a record of the atom is at the end of its box, with some slack."""
        atom, rest = self.atoms[column], int(self.records.sizes[column]) - 1
        if sign > 0:
            end = int(self.records.low[column]) + rest * int(self.known.high[atom])
        else:
            end = -int(self.records.high[column]) - rest * int(self.known.low[atom])
        return end + max(REACHED, DIGITS * abs(end))

    def extreme(self, column: int, sign: int) -> Exact:
        """Exact least (sign 1) or greatest (−1) total of an atom, as far as its records' ends need it."""
        outcome = self._optimum(self.linear, column, sign)
        if outcome.status != "optimal":
            raise OutOfTime("the linear program was not solved")
        reached = outcome.value <= self._end(column, sign)
        outer = int(self.outer[0 if sign > 0 else 1][column])
        bound: Exact = outer
        if not reached:
            self.proofs[column, sign] = self.multipliers(column, sign, outcome)
            bound = self.proofs[column, sign].bound
        bound = max(bound, outer) if sign > 0 else min(bound, outer)
        if not self.extremes or self.attained(outcome.solution):
            self._note(outcome)
            return bound
        for program in self.attaining:
            kept = self._optimum(program, column, sign)
            if kept.status == "optimal" and kept.value <= max(
                outcome.value + REACHED, self._end(column, sign)
            ):
                self._note(kept)
                return bound
        mixed = self.mixed.minimise({column: float(sign)}) if self.mixed else outcome
        if mixed.status != "optimal":
            raise OutOfTime("the mixed integer program was not solved")
        self._note(mixed)
        value = sign * rational(mixed.value)
        return max(bound, value) if sign > 0 else min(bound, value)

    def _optimum(self, program: Program | Priced, column: int, sign: int) -> Outcome:
        costs = {column: float(sign)}
        if isinstance(program, Priced):
            return program.minimise(costs, self._end(column, sign))
        return program.minimise(costs)

    def solve(self, costs: dict[int, float]) -> Outcome:
        """A solution of the full program (attained extremes included), noted."""
        program = self.mixed or self.linear
        outcome = (
            program.minimise(costs) if isinstance(program, Priced) else program.minimise(costs, first=True)
        )
        self._note(outcome)
        return outcome

    def _note(self, outcome: Outcome) -> None:
        if len(outcome.solution):
            found = outcome.solution[: len(self.atoms)]
            np.minimum(self.least, found, out=self.least)
            np.maximum(self.most, found, out=self.most)
            if self.watch is not None:
                self.watch(self.atoms, found)

    def attained(self, solution: Floats) -> bool:
        """Whether, at these totals, every extreme over the component can be attained."""
        known = self.known
        totals = np.zeros(known.count)
        totals[self.atoms] = solution[: len(self.atoms)]
        for extreme in self.extremes:
            atoms = known.able_atoms[extreme]
            span = known.high[atoms] - known.low[atoms]
            room = totals[atoms] - known.sizes[atoms] * known.low[atoms]
            if not extreme.top:
                room = known.sizes[atoms] * known.high[atoms] - totals[atoms]
            if not (room >= span * (1 - TOLERANCE)).any():
                return False
        return True

    def multipliers(self, column: int, sign: int, outcome: Outcome) -> Multipliers:
        """What an optimum's duals prove of an atom's total, exactly."""
        return self.proof.best(column, sign, outcome)


class OneByOne:
    """Intervals of one record after the other: programs start where the last one ended.

    The answers are known to agree with a table.
    """

    def __init__(self, system: Solved, watch: Watch | None = None) -> None:
        """Nothing is asked yet; `watch` is told of every solution on the way."""
        self.system, self.watch = system, watch
        self._programs: dict[int, ByPrograms] = {}

    def around(self, atom: int) -> tuple[ByPrograms, int]:
        """The programs of an atom's component, and the atom's column in them."""
        known = self.system.known
        component = int(known.components[atom])
        if component not in self._programs:
            programs = ByPrograms(self.system, np.flatnonzero(known.components == component))
            programs.interior_points, programs.watch = [], self.watch
            self._programs[component] = programs
        found = self._programs[component]
        return found, int(np.searchsorted(found.atoms, atom))

    def interval(self, atom: int, sides: Sequence[int] = (0, 1)) -> tuple[Exact, Exact]:
        """Least and greatest value of a record of an atom; of sides not asked for, what single sums say."""
        (programs, column), known = self.around(atom), self.system.known
        ends: list[Exact] = [int(end[column]) for end in programs.outer]
        for side in sides if programs.records.low[column] < programs.records.high[column] else ():
            if not programs.seen(column, side):
                ends[side] = programs.extreme(column, (1, -1)[side])
        low, high, rest = int(known.low[atom]), int(known.high[atom]), int(known.sizes[atom]) - 1
        return max(low, ends[0] - rest * high), min(high, ends[1] - rest * low)

    def proof_of(self, atom: int, sign: int) -> Multipliers | None:
        """What proves the least (sign 1) or greatest (-1) value of a record of an atom by multipliers.

        No rows where its box says as much; None where the program was not solved.
        """
        (programs, column), known = self.around(atom), self.system.known
        ends = (int(known.low[atom]), int(known.high[atom]))[::sign]
        outcome = programs.linear.minimise({column: float(sign)}) if len(programs.rows) else None
        if outcome is not None and outcome.status != "optimal":
            return None
        if outcome is not None:
            found = programs.multipliers(column, sign, outcome)
            bound = found.bound - int(known.sizes[atom] - 1) * ends[1]
            if (bound - ends[0]) * sign > 0:
                return replace(found, bound=bound)
        return Multipliers((), (), Fraction(ends[0]))

    def rows_of(self, atom: int) -> set[int]:
        """The sums that proved the ends of an atom."""
        programs, column = self.around(atom)
        proofs = [programs.proofs.get((column, sign)) for sign in (1, -1)]
        return {row for proof in proofs if proof for row in proof.rows}
