"""Integer programs about single records: tables that walks did not find, or the proof that there are none.

Values of one record are asked for, those first that complete a long enough run soonest. Where none can be
completed and few values are in question, all that the record takes are found out: an exactly known set.
"""

from __future__ import annotations

import numpy as np

from cae_sql.cached import cached_property
from cae_sql.errors import OutOfTime
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.search.runs import Runs, join
from cae_sql.inference.standard import Accepts
from cae_sql.inference.tables.programs import ComponentProgram

MOST_VALUES = 100_000
"""Of one record that are kept apart: a salary in cents has millions."""
EXACT_VALUES = 64
"""Sets of possible values are found out where at most so many are in question."""


def grow(runs: Runs, accepts: Accepts | None = None) -> bool:
    """Give every atom a long enough run, by walks first; True when all have one, or a set that will do.

    `runs` has absorbed a table; `accepts` judges exactly known small sets.
    """
    if not runs.by_moves():
        return False
    lacking, widths = np.flatnonzero(runs.lacking), runs.high - runs.low
    for atom in lacking[np.argsort(widths[lacking], kind="stable")].tolist():  # what fails, fails early
        if not runs.lacking[atom]:
            continue
        if runs.allowance.over or runs.effort.left <= 0:
            return False
        if not search(runs, atom, accepts) and not runs.thorough:
            return False
    return not runs.lacking.any()


def search(runs: Runs, atom: int, accepts: Accepts | None) -> bool:
    """Whether the atom's records get a long enough run, or an exactly known set that will do.

    `runs` learns from every table found; without `accepts` no set will do.
    """
    values = _Values(runs, atom)
    if values.lengthen():
        return True
    left = values.base + np.flatnonzero(values.possible)
    # sets rarely keep what neither all values nor the two ends do: then the search is spared
    if accepts is None or len(left) < 2 or not (accepts(left) or accepts(left[[0, -1]])):
        return False
    exact = values.exactly()
    if exact is None or not accepts(exact):
        return False
    runs.accepted[atom], runs.exact[atom] = True, exact
    return True


def values_of(runs: Runs, atom: int) -> Ints | None:
    """All values that a record of an atom takes in some table, in units, ascending; None as `exactly`."""
    return _Values(runs, atom).exactly()


class Record:
    """The first record of an atom, as an atom of its own beside the others; `runs` has absorbed a table."""

    def __init__(self, runs: Runs, atom: int) -> None:
        self.runs, self.atom = runs, atom
        self.alone, self.label = runs.knowledge, atom
        """What is known, and the number of its atom there."""
        self.others = int(self.alone.sizes[atom]) - 1
        if self.others:
            order, firsts = self.alone.members
            self.alone = self.alone.refined([Query(kind="sum", members=order[firsts[atom]][None])])
            self.label = self.alone.count - 1

    def apart(self, totals: Ints, value: int | None = None) -> Ints:
        """A table's totals with the record apart, at a value, or as low as it can be."""
        if not self.others:
            return totals
        if value is None:
            low, high = (int(each[self.atom]) for each in (self.alone.low, self.alone.high))
            value = max(low, int(totals[self.atom]) - self.others * high)
        found = np.append(totals, value)
        found[self.atom] -= value
        return found

    def together(self, totals: Ints) -> Ints:
        """A table's totals with the record among its atom's again."""
        if not self.others:
            return totals
        found = totals[:-1].copy()
        found[self.atom] += totals[-1]
        return found

    @cached_property
    def program(self) -> ComponentProgram:
        """Of its component."""
        if not self.others:
            return self.runs.program_around(self.atom)
        return ComponentProgram.around(self.alone, self.label, self.apart(self.runs.worlds[0]))

    def world_at(self, value: int) -> Ints | None:
        """Totals (p,), the record among its atom's, of a table in which it has a value; None: there is none.

        Raises:
            OutOfTime: neither found nor excluded with what may be spent.
        """
        runs, program = self.runs, self.program
        if runs.allowance.over:
            raise OutOfTime("nothing may be spent")
        if not runs.effort.spend():
            raise OutOfTime("no integer programs are left")
        found = program.world_with(self.label, value, value, runs.allowance)
        if found is None and not program.whole:
            raise OutOfTime("only a part of the component was stated")
        return None if found is None else self.together(found)


class _Values:
    """What is known of the values of one record. Shapes: v values between the ends of a linear program."""

    def __init__(self, runs: Runs, atom: int) -> None:
        self.runs, self.atom, self.record = runs, atom, Record(runs, atom)
        self.base, last = self.record.program.interval(self.record.label, runs.allowance)
        if last - self.base >= MOST_VALUES:  # those next to what is certified; of the others nothing is said
            self.base = max(self.base, int(runs.low[atom]) - MOST_VALUES // 2)
            last = min(last, self.base + MOST_VALUES)
        self.possible = np.ones(last - self.base + 1, dtype=np.bool_)
        """(v,) False where it is shown that the record has the value in no table."""
        self.seen = np.zeros_like(self.possible)
        """(v,) values that it has in tables."""

    def lengthen(self) -> bool:
        """Ask for values until a run is long enough; False where none can be, or effort ended."""
        runs, atom = self.runs, self.atom
        while runs.lacking[atom]:
            self._see_run()
            ends = np.flatnonzero(np.diff(np.concatenate([[0], self.possible, [0]])))
            longest = int((ends[1::2] - ends[::2]).max(initial=0)) - 1
            width = min(runs.need, longest)
            if width < runs.need and not runs.thorough:
                return False
            first = self._window(width)
            missing = first + np.flatnonzero(~self.seen[first : first + width + 1])
            if not len(missing):
                self._join(first, first + width)
                return not runs.lacking[atom]
            if not self._ask(int(missing[len(missing) // 2])):
                return False
        return True

    def exactly(self) -> Ints | None:
        """All values, ascending.

        None where they are too many, the component is too large to be stated whole, or effort ends.
        """
        if not self.record.program.whole or len(self.possible) > EXACT_VALUES:
            return None
        self._see_run()
        if not all(self._ask(value) for value in np.flatnonzero(self.possible & ~self.seen).tolist()):
            return None
        return self.base + np.flatnonzero(self.seen)

    def _window(self, width: int) -> int:
        """Where, among possible values next to each other, so many and one more lack the fewest."""
        ones = np.ones(width + 1, dtype=np.int64)
        whole = np.convolve(self.possible, ones, "valid") == width + 1
        lacking = np.convolve(self.possible & ~self.seen, ones, "valid")
        return int(np.argmin(np.where(whole, lacking, width + 2)))

    def _see_run(self) -> None:
        """Take note of the run that is certified."""
        low, high = (int(each[self.atom]) - self.base for each in (self.runs.low, self.runs.high))
        self.seen[max(low, 0) : max(high + 1, 0)] = True

    def _join(self, first: int, last: int) -> None:
        here = slice(self.atom, self.atom + 1)
        ends = np.array([first + self.base]), np.array([last + self.base])
        join(self.runs.low[here], self.runs.high[here], *ends)

    def _ask(self, place: int) -> bool:
        """Find out whether the record can have a value; False where that does not succeed."""
        try:
            totals = self.record.world_at(self.base + place)
        except OutOfTime:
            return False
        if totals is None:
            self.possible[place] = False
        else:
            self.runs.absorb(totals)
            self.seen[place] = True
            self._join(place, place)
        return True
