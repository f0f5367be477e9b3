"""After how many answers a record was first located: knowledge only grows, so bisection finds it.

A short proof among answers near to the record gives an upper end; in small systems linear programs over all
answers of a time say whether it was so before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain

import numpy as np

from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Answer, Ints
from cae_sql.inference.intervals.bounds import Exact, OneByOne, Solved
from cae_sql.inference.intervals.irreducible import Claims
from cae_sql.inference.lookback.located_so_far import KEEPS, LocatedSoFar, state_between

STEPS = 3
"""From a record to an answer about it, to others that share records with it, and so on."""
NEAR = (8, 24, 64)
"""Answers near to a record among which a proof is looked for first."""
KEPT = 32
"""Systems of earlier times that are kept at once."""


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


def look_back(so_far: LocatedSoFar, integers: Ints, reals: Ints, whole: bool) -> None:
    """Note when records were located, by integers and by reals, that have not been looked at since.

    With `whole` all answers of a time are asked, else those near to a record.
    """
    back = _LookBack(so_far, whole)
    for record in reals.tolist():
        so_far.since_reals[record] = back.since(record, by_reals=True)
    known = set(reals.tolist())
    for record in integers.tolist():
        if so_far.by_integers[record] == so_far.by_reals[record] and record in known:
            so_far.since_integers[record] = so_far.since_reals[record]
        elif so_far.by_reals[record] != KEEPS:
            # where rounding does not show it, integer programs do: known from now on
            so_far.since_integers[record] = back.since(record, by_reals=False)


class _LookBack:
    """The first times of one system; records of an atom with the same proof have the same."""

    def __init__(self, so_far: LocatedSoFar, whole: bool) -> None:
        self._so_far, self._whole = so_far, whole
        self._size, self._answers = len(so_far.truth), so_far.answers
        self._claims = Claims(self._size, so_far.top, self._answers)
        self._programs = lru_cache(KEPT)(self._stated)
        self._known: dict[tuple[int, int, int, int, bool, tuple[int, ...]], int] = {}

    def since(self, record: int, by_reals: bool) -> int:
        """With how many answers linear programs first gave a record its state, as they are or rounded."""
        so_far = self._so_far
        states, times = so_far.by_integers, so_far.since_integers
        if by_reals:
            states, times = so_far.by_reals, so_far.since_reals
        state, before, now = int(states[record]), int(so_far.looked[record]), int(times[record])
        support = tuple(so_far.support_of(record))
        name = int(so_far.known.atoms.labels[record]), state, before, now, by_reals, support

        def shown(ends: tuple[Exact, Exact]) -> bool:
            return state_between(*ends, so_far.standard, by_reals) >= state

        if name not in self._known:
            now = self._by_few(record, shown, before, now, support)
            # the last answer of a short proof is nearly always the one that made it so: asked first
            if self._whole and now - before > 1 and shown(self._interval(now - 1, record)):
                counts = range(before + 1, now - 1)
                now = counts.start + bisect_left(
                    counts, True, key=lambda count: shown(self._interval(count, record))
                )
            self._known[name] = now
        return self._known[name]

    def _by_few(
        self,
        record: int,
        shown: Callable[[tuple[Exact, Exact]], bool],
        before: int,
        now: int,
        support: Sequence[int],
    ) -> int:
        """By a proof of few of `now` answers: those near to the record, then `support`; `now` without one.

        That other answers showed it earlier is not excluded.
        """
        claims = self._claims
        near = (nearest(self._answers, range(now), record, most, self._size) for most in NEAR)
        tried: Sequence[int] = []
        for numbers in chain(near, [support] if support else []):
            if numbers == tried:
                continue  # there are no more of them
            tried = numbers
            ends = claims.interval(numbers, record)
            if shown(ends):
                proved = claims.by_reals(claims.support(numbers, record), record, *ends)
                return now if proved is None else min(now, max((before, *proved.numbers)) + 1)
        return now

    def _interval(self, count: int, record: int) -> tuple[Exact, Exact]:
        """Between which values linear programs leave a record with so many answers."""
        programs = self._programs(count)
        return programs.interval(int(programs.system.known.atoms.labels[record]))

    def _stated(self, count: int) -> OneByOne:
        known, sums = Knowledge.of(self._size, self._so_far.top, self._answers[:count])
        return OneByOne(Solved(replace(known, extremes=()), sums))
