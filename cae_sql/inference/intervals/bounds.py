"""Feasibility intervals: the least and greatest value of every record over all real-valued tables.

Independent components are solved apart, in three steps, each for the ends that the one before left open:
exact outer bounds by single sums (`presolve`), points inside that reach them (`reached`), linear programs
that start there (`pricing`). Rational multipliers near a program's duals prove its bound exactly (`proof`),
so no interval is ever too narrow. Where an extreme must be attained and the linear optimum lets nobody attain
it, a mixed integer program decides.

Source: `mathematics.md`, 2 (intervals); paper 000, Section 5 (query restriction).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.errors import InconsistentAnswers, OutOfTime
from cae_sql.inference.facts.atoms import Atoms
from cae_sql.inference.facts.constraints import constraints
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.lumps import NO_LUMPS
from cae_sql.inference.facts.query import Answer, Grid, Ints
from cae_sql.inference.intervals.interior import sparse_columns
from cae_sql.inference.intervals.presolve import from_single_sums, of_records
from cae_sql.inference.intervals.pricing import Priced
from cae_sql.inference.intervals.proof import Multipliers, Proof, rational
from cae_sql.inference.intervals.reached import InteriorPoint, interior_points
from cae_sql.inference.solver import Floats, Outcome, Program

TOLERANCE = 1e-7
"""Relative slack within which a solver's float counts as attaining an extreme."""
REACHED, DIGITS = 1e-6, 1e-12
"""Slack within which a solver's float counts as reaching a bound: units, or this part of an atom's total."""

REAL_TOLERANCE = Fraction(1, 10**9)
"""Relative difference within which sums of reals do not contradict each other."""
FINEST = 2**45
"""Real-valued right-hand sides are kept as fixed-point numbers up to about this size."""

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


@dataclass(frozen=True, eq=False)
class Solved:
    """A system with the right-hand sides of its sums: what intervals are asked of."""

    known: Knowledge
    sums: Ints
    """(k,) of the independent sums as asked."""
    programs: dict[int, ByPrograms] = field(default_factory=dict, repr=False)
    """That of a component of most atoms, by the first: for calls about some records, then others."""


def scale_of(size: int, grid: Grid, answers: Sequence[Answer]) -> int:
    """By what reals are multiplied so that all right-hand sides are whole; 1 on a grid."""
    if grid.whole:
        return 1
    values = [grid.top, *(answer.value for answer in answers)]
    scale: int = lcm(*(value.denominator for value in values))
    largest = max([Fraction(1), *map(abs, values), grid.top * size])
    return scale if scale * largest < FINEST else max(1, int(FINEST / largest))


def solved(
    size: int,
    grid: Grid,
    answers: Sequence[Answer],
    numbers: Sequence[int],
    scale: int,
    atoms: Atoms | None = None,
    lumps: Ints = NO_LUMPS,
) -> Solved:
    """The system of some answers alone, in units of 1 / scale (`scale_of`).

    The partition that they make may be given where it is known; lumps say for how many records each stands.

    Raises:
        InconsistentAnswers: a sum contradicts others, or boxes are empty.
    """
    chosen = [answers[number] for number in numbers]
    if scale != 1:
        chosen = [answer.answered(Fraction(round(answer.value * scale))) for answer in chosen]
    slack = 0
    if not grid.whole:
        # reals arrive rounded, means above all: what differs in the last digits is no contradiction
        largest = max([grid.top, *(abs(answer.value) for answer in answers)])
        slack = int(largest * scale * REAL_TOLERANCE)
        if any((answer.value * scale).denominator != 1 for answer in answers):
            slack += 2 * len(numbers)
    return Solved(*Knowledge.of(size, int(grid.top * scale), chosen, slack, atoms and atoms.copy(), lumps))


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
    known, done = system.known, 0
    wanted = np.ones(known.count, dtype=np.bool_) if wanted is None else wanted
    low, high = ((known.sizes * end).astype(object) for end in (known.low, known.high))
    order = np.argsort(known.components, kind="stable")
    for atoms in np.split(order, np.flatnonzero(np.diff(known.components[order])) + 1):

        def told(settled: int, before: int = done) -> None:
            if progress is not None:
                progress(before + settled, known.count)

        if wanted[atoms].any():
            programs = system.programs.get(int(atoms[0])) or ByPrograms(system, atoms)
            if 2 * len(atoms) > known.count:
                system.programs[int(atoms[0])] = programs
            if len(programs.rows) or programs.extremes:
                programs.fill(wanted, low, high, told)
        done += len(atoms)
        told(len(atoms))
    least, most = of_records(known, low, high)
    return least.tolist(), most.tolist()


class ByPrograms:
    """One component's totals by linear programs, mixed integer ones where somebody must attain an extreme."""

    def __init__(self, system: Solved, atoms: Ints) -> None:
        """Take the component that consists of these c atoms (ascending)."""
        self.system, self.atoms, self.known = system, atoms, system.known
        whole = len(atoms) == self.known.count
        self.rows = np.flatnonzero((self.known.matrix if whole else self.known.matrix[:, atoms]).any(axis=1))
        self.least = np.full(len(atoms), np.inf)
        self.most = np.full(len(atoms), -np.inf)
        self.extremes = [e for e in self.known.extremes if np.isin(e.atoms[0], atoms)]
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
    def boxes(self) -> tuple[Ints, Ints]:
        """(c,) each: what they say of one record."""
        return of_records(self.known, *self.outer, self.atoms)

    @cached_property
    def interior_points(self) -> list[InteriorPoint]:
        """To start from; none where a component has none."""
        matrix = sparse_columns(self.known.matrix[np.ix_(self.rows, self.atoms)])
        sums = self.system.sums[self.rows].astype(np.float64)
        return list(interior_points(self.known, self.atoms, matrix, sums, self.boxes))

    @cached_property
    def linear(self) -> Program | Priced:
        """The program without the condition that somebody attains the extremes."""
        if self.interior_points:
            sizes, first = self.known.sizes[self.atoms], self.interior_points[0]
            low, high = sizes * self.known.low[self.atoms], sizes * self.known.high[self.atoms]
            return Priced(first.interior.matrix, first.totals, low.astype(float), high.astype(float))
        return Program(*constraints(replace(self.known, extremes=()), self.atoms, self.system.sums))

    @cached_property
    def attaining(self) -> list[Priced]:
        """The same with the records that attain extremes at a point inside kept where they are."""
        return [Priced(each.interior.matrix, each.totals, *each.box) for each in self.interior_points]

    @cached_property
    def mixed(self) -> Program | None:
        """The program with the condition that somebody attains the extremes; None where nobody needs to."""
        if not self.extremes:
            return None
        matrix, row_low, row_high, lower, upper = constraints(self.known, self.atoms, self.system.sums)
        choices = np.arange(matrix.shape[1]) >= len(self.atoms)
        return Program(matrix, row_low, row_high, lower, upper, choices) if choices.any() else None

    def feasible(self) -> bool:
        """Whether a real-valued table agrees, as a program of all columns says it; extremes are attained."""
        sums = self.system.sums
        program = self.mixed or Program(*constraints(replace(self.known, extremes=()), self.atoms, sums))
        outcome = program.minimise({}, first=True)
        self._note(outcome)
        return outcome.status != "infeasible"

    def fill(
        self, wanted: NDArray[np.bool_], least: NDArray[Any], most: NDArray[Any], told: Callable[[int], None]
    ) -> None:
        """Fill in least and greatest totals (p,) of the wanted atoms, exact; `told` how many are done."""
        least[self.atoms], most[self.atoms] = self.outer
        asked = np.flatnonzero(wanted[self.atoms])
        left = np.ones((2, len(asked)), dtype=np.bool_)
        left[:, (self.boxes[0] == self.boxes[1])[asked]] = False
        for point in self.interior_points:
            some = np.flatnonzero(left.any(axis=0))
            left[:, some] &= ~point.reaches(asked[some])
        if not self.interior_points and not self.feasible():
            raise InconsistentAnswers("no table inside the domain agrees with the answers")
        still = np.flatnonzero(left.any(axis=0))
        for turn, place in enumerate(still.tolist()):
            told(len(asked) - len(still) + turn)
            column = int(asked[place])
            for side in np.flatnonzero(left[:, place]).tolist():
                if not self.seen(column, side):
                    value = self.extreme(column, (1, -1)[side])
                    (least, most)[side][self.atoms[column]] = int(value) if value == int(value) else value

    def seen(self, column: int, side: int) -> bool:
        """Whether a solution has carried a record of the atom to where no sum lets it pass."""
        found = (self.least[column], -self.most[column])[side]
        return bool(found <= self._end(column, (1, -1)[side]))

    def _end(self, column: int, sign: int) -> float:
        """Total (times sign) from which a record of the atom is at the end of its box, with slack."""
        atom = self.atoms[column]
        ends = self.known.high[atom], self.known.low[atom]
        own, others = (self.boxes[0], ends[0]) if sign > 0 else (self.boxes[1], ends[1])
        end = sign * (int(own[column]) + int(self.known.sizes[atom] - 1) * int(others))
        return end + max(REACHED, DIGITS * abs(end))

    def extreme(self, column: int, sign: int) -> Exact:
        """Exact least (sign 1) or greatest (−1) total of an atom, as far as its records' ends need it.

        Raises:
            OutOfTime: a program was not solved.
        """
        tighter, outcome = (max if sign > 0 else min), self._optimum(self.linear, column, sign)
        if outcome.status != "optimal":
            raise OutOfTime("the linear program was not solved")
        bound: Exact = int(self.outer[0 if sign > 0 else 1][column])
        if outcome.value > self._end(column, sign):
            proof = self.proofs[column, sign] = self.proof.best(column, sign, outcome)
            bound = tighter(bound, proof.bound)
        if self.extremes and not self.attained(outcome.solution):
            enough = max(outcome.value + REACHED, self._end(column, sign))
            kept = (self._optimum(program, column, sign) for program in self.attaining)
            found = next((each for each in kept if each.status == "optimal" and each.value <= enough), None)
            if found is None and self.mixed is not None:
                found = self.mixed.minimise({column: float(sign)})
                if found.status != "optimal":
                    raise OutOfTime("the mixed integer program was not solved")
                bound = tighter(bound, sign * rational(found.value))
            outcome = found or outcome
        self._note(outcome)
        return bound

    def _optimum(self, program: Program | Priced, column: int, sign: int) -> Outcome:
        costs = {column: float(sign)}
        if isinstance(program, Priced):
            return program.minimise(costs, self._end(column, sign))
        return program.minimise(costs)

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
        for extreme in self.extremes:
            atoms = known.able_atoms[extreme]
            span = known.high[atoms] - known.low[atoms]
            room = totals[atoms] - known.sizes[atoms] * known.low[atoms]
            if not extreme.top:
                room = known.sizes[atoms] * known.high[atoms] - totals[atoms]
            if not (room >= span * (1 - TOLERANCE)).any():
                return False
        return True


class OneByOne:
    """Intervals of one record after the other, where answers are known to agree with a table.

    Programs hold all columns and start where the last one ended.
    """

    def __init__(self, system: Solved) -> None:
        self.system = system
        self._programs: dict[int, ByPrograms] = {}

    def around(self, atom: int) -> tuple[ByPrograms, int]:
        """The programs of an atom's component, and the atom's column in them."""
        known = self.system.known
        component = int(known.components[atom])
        if component not in self._programs:
            programs = ByPrograms(self.system, np.flatnonzero(known.components == component))
            programs.interior_points = []
            self._programs[component] = programs
        found = self._programs[component]
        return found, int(np.searchsorted(found.atoms, atom))

    def interval(self, atom: int, sides: Sequence[int] = (0, 1)) -> tuple[Exact, Exact]:
        """Least and greatest value of a record of an atom; of sides not asked for, what single sums say."""
        (programs, column), known = self.around(atom), self.system.known
        ends: list[Exact] = [int(end[column]) for end in programs.outer]
        for side in sides if programs.boxes[0][column] < programs.boxes[1][column] else ():
            if not programs.seen(column, side):
                ends[side] = programs.extreme(column, (1, -1)[side])
        low, high, rest = int(known.low[atom]), int(known.high[atom]), int(known.sizes[atom]) - 1
        return max(low, ends[0] - rest * high), min(high, ends[1] - rest * low)

    def nearly(self, atom: int, side: int) -> float:
        """An end of a record that is an atom alone, as a program in floats has it, a little inside."""
        (programs, column), sign = self.around(atom), (1, -1)[side]
        outcome = programs.linear.minimise({column: float(sign)}) if len(programs.rows) else None
        if outcome is None or outcome.status != "optimal":
            return float(programs.outer[side][column])
        return sign * (outcome.value + max(REACHED, DIGITS * abs(outcome.value)))

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
            found = programs.proof.best(column, sign, outcome)
            bound = found.bound - int(known.sizes[atom] - 1) * ends[1]
            if (bound - ends[0]) * sign > 0:
                return replace(found, bound=bound)
        return Multipliers((), (), Fraction(ends[0]))

    def rows_of(self, atom: int) -> set[int]:
        """The sums that proved the ends of an atom."""
        programs, column = self.around(atom)
        proofs = [programs.proofs.get((column, sign)) for sign in (1, -1)]
        return {row for proof in proofs if proof for row in proof.rows}
