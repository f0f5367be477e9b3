"""How much answers make likely of all rows of a person together, for reports to administrators.

Promise: what is shown is worked out from the ledger's answers and who has which rows; no protected value is
read, and nobody is an insider.

Source: `mathematics.md`, 11.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.posterior.judging import LikelyKnowledge
from cae_sql.inference.posterior.together import Shapes


def risks_of_units(past: LikelyKnowledge) -> NDArray[np.float64]:
    """(u,) the risk of the total of each unit of the system, in their order; −∞ for those of one row."""
    likely = past.likely
    occupied = likely.known.atoms.occupied
    some = likely.known.protected[occupied.part]
    unit, part, rows = occupied.unit[some], occupied.part[some], occupied.rows[some]
    if not len(unit):
        return np.zeros(0)
    # pairs come by unit
    place = np.arange(len(unit)) - np.searchsorted(unit, unit)
    found = np.zeros((2, int(unit.max()) + 1, int(place.max()) + 1), dtype=np.int64)
    found[0, unit, place], found[1, unit, place] = part, rows
    once, which = np.unique(np.concatenate(list(found), axis=1), axis=0, return_inverse=True)
    atoms, rows = np.split(once, 2, axis=1)
    columns = np.where(rows > 0, np.searchsorted(likely.fit.observed.atoms, atoms), 0)
    shapes = Shapes(columns, rows, atoms, np.bincount(which.reshape(-1)))
    several = np.flatnonzero(rows.sum(axis=1) > 1)
    risks = np.full(shapes.count, -np.inf)
    if len(several):
        nothing = np.zeros(len(several))
        baselines = past.measures[0][0].baselines
        risks[several] = shapes.some(several).risks(likely, baselines, nothing, nothing)
    return risks[which.reshape(-1)]
