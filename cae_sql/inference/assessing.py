"""Looking back: who is located by the answers so far, and since when.

A small system is looked at closely after each answer, a large one now and then. Whoever is found later than
it came to be so gets the time when it was first so all the same.

Source: `mathematics.md`, 2 and 4.
"""

from __future__ import annotations

import time
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.answers import Ints
from cae_sql.inference.bounds import Exact
from cae_sql.inference.locating import Locating
from cae_sql.inference.since import Judge, Since
from cae_sql.inference.standing import KEEPS, Standing, state_by_reals, state_of
from cae_sql.inference.survey import Survey

SECONDS = 60.0
"""For the integer programs after one statement; who is left then is open."""
PATIENCE = 10
"""A look at a large system is ended after so many times that: what it does is counted and not timed."""
GROWTH = 1.5
"""Large systems are looked at whenever there are so many times the answers of the last time."""
BACK_CELLS = 1_000_000
"""Atoms times sums up to which looking back asks all answers that were known at a time."""


def assess(standing: Standing, seconds: float = SECONDS, whole: bool = False) -> None:
    """Find who is located now.

    Large systems are looked at now and then, unless all are asked for.

    Args:
        standing: What is known; what is found out goes there.
        seconds: For integer programs.
        whole: Whether everybody is looked at.
    """
    large = standing.large
    if large and not whole and len(standing.answers) < standing.next_look:
        return
    standing.next_look = int(len(standing.answers) * GROWTH) + 1
    said = standing.by_integers, standing.by_reals, standing.low, standing.high
    before = [each.copy() for each in said]
    deadline = time.monotonic() + (PATIENCE * seconds if large else seconds)
    look = Survey(standing, deadline, whole) if large else Locating(standing, Allowance(until=deadline))
    look.run()
    loose = ~standing.fixed
    _give_to_all(standing, loose)
    now = len(standing.answers)
    integers, reals = standing.by_integers != before[0], standing.by_reals != before[1]
    standing.since_integers[integers], standing.since_reals[reals] = now, now
    late = (standing.looked < now - 1) if large else (standing.looked < standing.before)
    late &= loose
    whole_before = not large or standing.known.count * len(standing.known.matrix) <= BACK_CELLS
    if large and whole and whole_before:
        # of whom an answer alone has told something, several may have done so before
        reals |= (standing.by_reals != KEEPS) & (standing.looked < standing.since_reals - 1)
        integers |= reals & (standing.by_integers == standing.by_reals)
    _look_back(standing, np.flatnonzero(integers & late), np.flatnonzero(reals & late), whole_before)
    standing.looked[~standing.open] = now
    standing.before = now
    if any((new != old).any() for new, old in zip(said, before, strict=True)):
        standing.changes += 1


def _give_to_all(standing: Standing, loose: NDArray[np.bool_]) -> None:
    """What was found of the first record of each atom is so of the others that no answer tells from it."""
    labels = standing.known.atoms.labels
    first = standing.known.members[0][standing.known.members[1][:-1]]
    for ends in (
        *(standing.by_integers, standing.by_reals, standing.open),
        *(standing.low, standing.high, standing.least, standing.most),
    ):
        ends[loose] = ends[first][labels][loose]


def _look_back(standing: Standing, integers: Ints, reals: Ints, whole: bool) -> None:
    """When records were located, by integers and by reals, that have not been looked at since.

    With `whole` all answers of a time are asked, else those near to a record.
    """
    back = Since(len(standing.truth), standing.top, standing.answers)

    def since(record: int, state: int, judge: Judge, now: int) -> int:
        before = int(standing.looked[record])
        if whole:
            return back.by_reals(record, state, judge, before, now)
        return back.by_few(record, state, judge, before, now, standing.support_of(record))

    def values_mean(values: Ints) -> int:
        return state_of(values, standing.standard)

    def by_reals(least: Exact, most: Exact) -> int:
        return state_by_reals(least, most, values_mean)

    def on_the_grid(least: Exact, most: Exact) -> int:
        return values_mean(np.arange(ceil(least), floor(most) + 1))

    for record in reals.tolist():
        state, now = int(standing.by_reals[record]), int(standing.since_reals[record])
        standing.since_reals[record] = since(record, state, by_reals, now)
    known = set(reals.tolist())
    for record in integers.tolist():
        state = int(standing.by_integers[record])
        if state == int(standing.by_reals[record]) and record in known:
            standing.since_integers[record] = standing.since_reals[record]
        elif standing.by_reals[record] != KEEPS:
            # where rounding does not show it, integer programs do: known from now on
            now = int(standing.since_integers[record])
            standing.since_integers[record] = since(record, state, on_the_grid, now)
