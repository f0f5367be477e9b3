"""How much answers make likely of all rows of a person together, for reports to administrators.

Promise: what is shown is worked out from the ledger's answers and who has which rows; no protected value is
read, and nobody is an insider.

Source: `mathematics.md`, 11.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.posterior.judging import LikelyKnowledge
from cae_sql.inference.posterior.together import Totals
from cae_sql.inference.posterior.unit_insiders import Told


def risks_of_units(past: LikelyKnowledge) -> NDArray[np.float64]:
    """(u,) the risk of the total of each unit of the system, in their order; −∞ for those of one row."""
    if past.system.unit_of is None:
        return np.zeros(0)
    told, baselines = Told.of(past.likely, None), past.measures[0][0].baselines
    nothing = np.zeros(told.shapes.count)
    risks = Totals.of(past.likely, baselines, None).risks(told.shapes, told.leverage, nothing)
    risks[told.shapes.rows.sum(axis=1) < 2] = -np.inf
    found = np.full(int(told.shapes.names.max(initial=-1)) + 1, -np.inf)
    found[told.shapes.names] = risks[told.shapes.which]
    return found
