"""What is excluded of each record, what is shown possible, and what is not known: for reports.

Promise: outside of `lower` … `upper` nothing is possible, which single sums or linear programs prove. Every
value of `low` … `high` is taken in some table that agrees with all answers. `sets` has the records whose
values are known one by one. What lies between the two runs is not known: nobody may call it excluded.

A first look costs little and is for everybody. `look` goes on with those that somebody wants to see, worst
first, by linear programs for what is excluded and by moves and integer programs for what is possible.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.intervals.bounds import Bounds
from cae_sql.inference.search.records import search, values_of
from cae_sql.inference.search.runs import Runs
from cae_sql.inference.standard import Effort

if TYPE_CHECKING:
    from cae_sql.inference.standard import Standard
    from cae_sql.inference.system import AnsweredSystem

LOOKING = 10**8
"""Steps for a closer look: a few seconds. What is then not known is said to be not known. On ACS after eleven
statements four times as many show 22 records to be able to have every value, and this 12 or so."""
PROGRAMS = 2_000
"""Of a closer look: so many integer programs, divided by the groups of records that no answer tells apart.
Over 200 groups each took three quarters of a second, and steps count little of that."""
PROGRAM = 2 * 10**6
"""Steps that a pair of linear programs for one record counts for: some twenty milliseconds, as over 200
groups of records and thirty sums."""

Told = Callable[[int, int], None]
"""Called with how many records are done, and of how many."""


class Standing:
    """Of one column, for one party that has no value of its own. Shapes: n records and lumps."""

    def __init__(self, system: AnsweredSystem, standard: Standard) -> None:
        """Take the first look.

        Args:
            system: The answers.
            standard: What everybody should keep, insiders aside.
        """
        self.version = system.version
        self._system, self._standard = system, standard
        outer = system.bounds_by_single_sums()
        self.lower, self.upper = outer.lower, outer.upper
        self.sets: dict[int, Ints] = {}
        """By record all values that it takes, in units, where these are not neighbours."""
        self.looked: set[int] = set()
        """Records that had a closer look, and those whom no answer tells from them."""
        self._allowance = Allowance(LOOKING)
        self._runs: Runs | None = None
        if system.searched and not system.keeps_some:
            self._runs = system.runs(standard.need, Allowance(0))
            self._runs.effort = Effort(PROGRAMS // self._runs.knowledge.count)
            self.low, self.high = self._ends_of(self._runs)
            if self._runs.lacking.any():
                self._join(system.certified_at_once())
        else:
            found = system.certified_at_once()
            self.low, self.high = found.lower, found.upper

    def look(self, records: Ints, told: Told = lambda _, __: None) -> None:
        """Find out more of some records, in this order, while the work allowed lasts.

        Args:
            records: Which.
            told: How far it is.
        """
        fresh = [each for each in records.tolist() if each not in self.looked]
        for place, record in enumerate(fresh):
            told(place, len(fresh))
            if self._allowance.over:
                break
            self.looked.add(record)
            if self.low[record] > self.lower[record] or self.high[record] < self.upper[record]:
                self._exclude(record)
                self._show(record)
        told(len(fresh), len(fresh))

    def _exclude(self, record: int) -> None:
        """Narrow what is not excluded, of everybody whom no answer tells from this record."""
        self._allowance.spend(PROGRAM)
        found = self._system.bounds([record])
        like = self._system.like(record)
        self.lower[like], self.upper[like] = found.lower[0], found.upper[0]
        self.looked.update(like.tolist())

    def _show(self, record: int) -> None:
        """Lengthen what is shown possible as far as nothing excludes it, or list all that is possible."""
        runs = self._runs
        if runs is None or self._allowance.over:
            return
        atom = int(runs.knowledge.atoms.labels[record])
        unit = float(self._system.grid.unit)
        runs.allowance = self._allowance
        runs.need = round((self.upper[record] - self.lower[record]) / unit)
        if not runs.lacking[atom]:
            return
        search(runs, atom, None)
        if runs.high[atom] - runs.low[atom] < self._standard.need:
            values = values_of(runs, atom)
            if values is not None and len(values) <= values[-1] - values[0]:
                self.sets.update(dict.fromkeys(self._system.like(record).tolist(), values))
        self._join(Bounds(*self._ends_of(runs)))

    def _ends_of(self, runs: Runs) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(n,) each: the runs' ends by record, in units of the column."""
        labels = runs.knowledge.atoms.labels[: self._system.size]  # without spare records
        low, high = (self._system.in_column_units(each).astype(np.float64) for each in (runs.low, runs.high))
        return low[labels], high[labels]

    def _join(self, found: Bounds) -> None:
        """Unite runs that touch; of two that do not, keep the longer."""
        unit = float(self._system.grid.unit)
        low, high = self.low, self.high
        touch = (found.lower <= high + unit) & (found.upper >= low - unit) & (found.upper >= found.lower)
        longer = ~touch & (found.upper - found.lower > high - low)
        self.low = np.where(touch, np.minimum(low, found.lower), np.where(longer, found.lower, low))
        self.high = np.where(touch, np.maximum(high, found.upper), np.where(longer, found.upper, high))
