"""Points inside: real tables in which as many as can be have room to both sides, by linear programs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from cae_sql.inference.answers import Ints
from cae_sql.inference.knowledge import Knowledge
from cae_sql.inference.solver import Floats, Program
from cae_sql.inference.witnesses import choose_witnesses, rooms

POINTS = 3
"""Programs whose solutions are averaged: each is at a corner."""
MARGIN = 3.0
"""Room in units that is sought for atoms nobody asks about."""


@dataclass(frozen=True)
class Box:
    """Between what atoms' totals may lie, with those who attain extremes held where they are."""

    low: Floats
    """(p,)"""
    high: Floats
    """(p,)"""


def boxed(known: Knowledge, totals: Ints) -> Box | None:
    """The box around a world; None where nobody attains an extreme."""
    pins = choose_witnesses(known, totals, seed=0)
    if pins is None:
        return None
    up, down = rooms(known, totals, pins)
    return Box((totals - down).astype(np.float64), (totals + up).astype(np.float64))


def points_inside(known: Knowledge, totals: Ints, box: Box, wanted: Ints, need: int) -> Floats | None:
    """A point (p,) with room for as many as can be, an average of corners; None where a program fails.

    Args:
        known: The answers.
        totals: (p,) a world; it gives the sums their values.
        box: Between what totals may lie.
        wanted: Atoms that are to have most.
        need: How wide an interval they want.
    """
    count = known.count
    free = np.flatnonzero(box.high > box.low)
    asked = len(free)
    chosen = sparse.csr_matrix((np.ones(asked), (np.arange(asked), free)), shape=(asked, count))
    room = sparse.identity(asked, format="csr")
    matrix = sparse.bmat(
        [[sparse.csr_matrix(known.matrix), None], [chosen, -room], [chosen, room]], format="csr"
    )
    values, none = (known.matrix @ totals).astype(float), np.full(asked, np.inf)
    half = (box.high - box.low)[free] / 2
    most = np.minimum(half, np.where(np.isin(free, wanted), need / 2 + 2, MARGIN))
    program = Program(
        matrix,
        np.concatenate([values, box.low[free], -none]),
        np.concatenate([values, none, box.high[free]]),
        np.concatenate([box.low, np.zeros(asked)]),
        np.concatenate([box.high, most]),
    )
    chance = np.random.default_rng(asked)
    found = np.zeros(count)
    for _ in range(POINTS):
        weights = chance.uniform(0.5, 1.5, asked)
        outcome = program.minimise({count + place: -float(weights[place]) for place in range(asked)})
        if not len(outcome.solution):
            return None
        found += np.clip(outcome.solution[:count], box.low, box.high) / POINTS
    return found
