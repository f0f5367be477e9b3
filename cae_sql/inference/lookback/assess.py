"""After which statements records are looked at: all after each of few atoms, of many now and then.

A record that is found to be located later than it came to be so gets the earlier time (`first_time`).

Source: `mathematics.md`, 2 and 4.
"""

from __future__ import annotations

import numpy as np

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.lookback.first_time import look_back
from cae_sql.inference.lookback.located_so_far import KEEPS, LocatedSoFar
from cae_sql.inference.lookback.look import Look

STEPS = 6 * 10**9
"""For the integer programs after one statement, about a minute; records that are left are open then."""
GROWTH = 1.5
"""Large systems are looked at whenever there are so many times the answers of the last time."""
WHOLE_CELLS = 1_000_000
"""Atoms times sums up to which the first time is sought among all answers, else among few near the record."""


def assess(so_far: LocatedSoFar, allowance: Allowance | None = None, whole: bool = False) -> None:
    """Find who is located now, with `STEPS` for programs by default; what is found out goes to `so_far`.

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
    # what was found of the first record of each atom is so of the others that no answer tells from it
    labels, loose = so_far.known.atoms.labels, ~so_far.fixed
    first = so_far.known.members[0][so_far.known.members[1][:-1]]
    for found in (*said, so_far.open, so_far.least, so_far.most):
        found[loose] = found[first][labels][loose]
    integers, reals = so_far.by_integers != earlier[0], so_far.by_reals != earlier[1]
    so_far.since_integers[integers], so_far.since_reals[reals] = now, now
    late = (so_far.looked < before) & loose
    everything = so_far.known.count * len(so_far.known.matrix) <= WHOLE_CELLS
    if whole and everything:
        # of records that one answer alone has told something about, several may have done so before
        reals |= (so_far.by_reals != KEEPS) & (so_far.looked < so_far.since_reals - 1)
        integers |= reals & (so_far.by_integers == so_far.by_reals)
    look_back(so_far, np.flatnonzero(integers & late), np.flatnonzero(reals & late), everything)
    so_far.looked[~so_far.open] = now
    if any((new != old).any() for new, old in zip(said, earlier, strict=True)):
        so_far.changes += 1
