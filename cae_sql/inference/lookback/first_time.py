"""With which answer something was first so: knowledge only grows, so halving finds it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Answer
from cae_sql.inference.intervals.bounds import Exact, OneByOne, Solved
from cae_sql.inference.intervals.irreducible import Claims

STEPS = 3
"""From a record to an answer about it, to others that share records with it, and so on."""
NEAR = (8, 24, 64)
"""Answers near to a record among which a proof is looked for first."""
KEPT = 32
"""Systems of earlier times that are kept at once."""
Judge = Callable[[Exact, Exact], int]
"""The state that an interval (least, most) means."""


def nearest(answers: Sequence[Answer], usable: Iterable[int], record: int, most: int, size: int) -> list[int]:
    """So many usable answers, at most, that bear on a record: tied to it by few steps, smallest first."""
    order = sorted(usable, key=lambda number: len(answers[number].members))
    if len(order) <= most:
        return sorted(order)
    chosen: dict[int, None] = {}
    reached = np.zeros(size, dtype=np.bool_)
    reached[record] = True
    for _ in range(STEPS):
        for number in order:
            if number not in chosen and len(chosen) < most and reached[answers[number].members].any():
                chosen[number] = None
                reached[answers[number].members] = True
    return sorted(chosen)


class FirstTime:
    """Looks back at one system."""

    def __init__(self, size: int, top: int, answers: Sequence[Answer]) -> None:
        """Take all answers, in their order."""
        self._size, self._top, self._answers = size, top, answers
        self._systems: OrderedDict[int, OneByOne] = OrderedDict()

    def by_reals(
        self, record: int, state: int, judge: Judge, before: int, now: int, support: Sequence[int]
    ) -> int:
        """How many answers it took until a record's state by linear programs was at least this.

        It was not so with `before` answers, and is with `now`; `support` proves it, where that is known.
        """
        now = min(now, self.by_few(record, state, judge, before, now, support))
        # the last answer of a short proof is nearly always the one that made it so: asked first
        middle = now - 1
        while now - before > 1:
            if judge(*self._interval(middle, record)) >= state:
                now = middle
            else:
                before = middle
            middle = (before + now) // 2
        return now

    def by_few(
        self,
        record: int,
        state: int,
        judge: Judge,
        before: int,
        now: int,
        support: Sequence[int],
    ) -> int:
        """As `by_reals`, by proofs of few answers near to the record: for systems too large to be halved.

        That other answers showed it earlier is not excluded; `now` where no such proof is found.
        """
        claims = Claims(self._size, self._top, self._answers)
        near = (nearest(self._answers, range(now), record, most, self._size) for most in NEAR)
        tried: Sequence[int] = []
        for numbers in chain(near, [support] if support else []):
            if numbers == tried:
                continue  # there are no more of them
            tried = numbers
            ends = claims.interval(numbers, record)
            if judge(*ends) < state:
                continue
            proved = claims.by_reals(claims.support(numbers, record), record, *ends)
            last = max(proved.numbers, default=now - 1) + 1 if proved is not None else now
            return max(last, before + 1)
        return now

    def _interval(self, count: int, record: int) -> tuple[Exact, Exact]:
        if count not in self._systems:
            known, sums = Knowledge.of(self._size, self._top, list(self._answers[:count]))
            self._systems[count] = OneByOne(Solved(replace(known, extremes=()), sums))
            while len(self._systems) > KEPT:
                self._systems.popitem(last=False)
        programs = self._systems[count]
        return programs.interval(int(programs.system.known.atoms.labels[record]))
