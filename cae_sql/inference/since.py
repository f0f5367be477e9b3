"""With which answer something was first so: knowledge only grows, so halving finds it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil, floor

import numpy as np

from cae_sql.inference.answers import Answer, Ints
from cae_sql.inference.bounds import Solved, few_intervals
from cae_sql.inference.knowledge import Knowledge

KEPT = 32
"""Systems of earlier times that are kept at once."""


class Since:
    """Looks back at one system."""

    def __init__(self, size: int, top: int, answers: Sequence[Answer]) -> None:
        """Take all answers, in their order."""
        self._size, self._top, self._answers = size, top, answers
        self._systems: OrderedDict[int, Solved] = OrderedDict()

    def by_reals(
        self, record: int, state: int, state_of: Callable[[Ints], int], before: int, now: int
    ) -> int:
        """How many answers it took until a record's state by linear programs was at least this.

        Args:
            record: The record.
            state: The state that it has with `now` answers.
            state_of: The state that remaining values mean.
            before: Answers with which it was not so.
            now: Answers with which it is.
        """
        while now - before > 1:
            middle = (before + now) // 2
            low, high = self._interval(middle, record)
            if state_of(np.arange(low, high + 1)) >= state:
                now = middle
            else:
                before = middle
        return now

    def _interval(self, count: int, record: int) -> tuple[int, int]:
        if count not in self._systems:
            known, sums = Knowledge.of(self._size, self._top, list(self._answers[:count]))
            self._systems[count] = Solved(replace(known, extremes=()), sums)
            while len(self._systems) > KEPT:
                self._systems.popitem(last=False)
        system = self._systems[count]
        atom = int(system.known.atoms.labels[record])
        least, most = few_intervals(system, np.array([atom]))
        return ceil(least[atom]), floor(most[atom])
