"""When is looked at whom, and since when those who are found have been located.

Of few atoms everybody is looked at closely after each statement, of many now and then. Whoever is found later
than it came to be so gets the time when it was first so all the same.

Source: `mathematics.md`, 2 and 4.
"""

from __future__ import annotations

from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.intervals.bounds import Exact
from cae_sql.inference.lookback.first_time import FirstTime, Judge
from cae_sql.inference.lookback.located_so_far import KEEPS, LocatedSoFar, state_by_reals, state_of
from cae_sql.inference.lookback.look import Look

STEPS = 6 * 10**9
"""For the integer programs after one statement, about a minute; who is left then is open."""
GROWTH = 1.5
"""Large systems are looked at whenever there are so many times the answers of the last time."""
BACK_CELLS = 1_000_000
"""Atoms times sums up to which looking back asks all answers that were known at a time."""


def assess(so_far: LocatedSoFar, allowance: Allowance | None = None, whole: bool = False) -> None:
    """Find who is located now, with `STEPS` for programs by default; what is found out goes to the standing.

    Large systems are looked at now and then, unless the whole is asked for.
    """
    before, now = so_far.before, len(so_far.answers)
    so_far.before = now
    closely = whole or not so_far.large
    if not closely and now < so_far.next_look:
        return
    so_far.next_look = int(now * GROWTH) + 1
    said = so_far.by_integers, so_far.by_reals, so_far.low, so_far.high
    earlier = [each.copy() for each in said]
    Look(so_far, Allowance(STEPS) if allowance is None else allowance, closely).run()
    loose = ~so_far.fixed
    _give_to_all(so_far, loose)
    integers, reals = so_far.by_integers != earlier[0], so_far.by_reals != earlier[1]
    so_far.since_integers[integers], so_far.since_reals[reals] = now, now
    late = (so_far.looked < before) & loose
    everything = so_far.known.count * len(so_far.known.matrix) <= BACK_CELLS
    if whole and everything:
        # of whom an answer alone has told something, several may have done so before
        reals |= (so_far.by_reals != KEEPS) & (so_far.looked < so_far.since_reals - 1)
        integers |= reals & (so_far.by_integers == so_far.by_reals)
    _look_back(so_far, np.flatnonzero(integers & late), np.flatnonzero(reals & late), everything)
    so_far.looked[~so_far.open] = now
    if any((new != old).any() for new, old in zip(said, earlier, strict=True)):
        so_far.changes += 1


def _give_to_all(so_far: LocatedSoFar, loose: NDArray[np.bool_]) -> None:
    """What was found of the first record of each atom is so of the others that no answer tells from it."""
    labels = so_far.known.atoms.labels
    first = so_far.known.members[0][so_far.known.members[1][:-1]]
    for ends in (
        *(so_far.by_integers, so_far.by_reals, so_far.open),
        *(so_far.low, so_far.high, so_far.least, so_far.most),
    ):
        ends[loose] = ends[first][labels][loose]


def _look_back(so_far: LocatedSoFar, integers: Ints, reals: Ints, whole: bool) -> None:
    """When records were located, by integers and by reals, that have not been looked at since.

    With `whole` all answers of a time are asked, else those near to a record.
    """
    back = FirstTime(len(so_far.truth), so_far.top, so_far.answers)

    labels = so_far.known.atoms.labels
    alike: dict[tuple[int, int, Judge, int, int, tuple[int, ...]], int] = {}
    """What is known since when of one record is so of all that no answer tells from it."""

    def since(record: int, state: int, judge: Judge, now: int) -> int:
        before, support = int(so_far.looked[record]), tuple(so_far.support_of(record))
        name = int(labels[record]), state, judge, before, now, support
        if name not in alike:
            find = back.by_reals if whole else back.by_few
            alike[name] = find(record, state, judge, before, now, support)
        return alike[name]

    def values_mean(values: Ints) -> int:
        return state_of(values, so_far.standard)

    def by_reals(least: Exact, most: Exact) -> int:
        return state_by_reals(least, most, values_mean)

    def on_the_grid(least: Exact, most: Exact) -> int:
        return values_mean(np.arange(ceil(least), floor(most) + 1))

    for record in reals.tolist():
        state, now = int(so_far.by_reals[record]), int(so_far.since_reals[record])
        so_far.since_reals[record] = since(record, state, by_reals, now)
    known = set(reals.tolist())
    for record in integers.tolist():
        state = int(so_far.by_integers[record])
        if state == int(so_far.by_reals[record]) and record in known:
            so_far.since_integers[record] = so_far.since_reals[record]
        elif so_far.by_reals[record] != KEEPS:
            # where rounding does not show it, integer programs do: known from now on
            now = int(so_far.since_integers[record])
            so_far.since_integers[record] = since(record, state, on_the_grid, now)
