"""What residues tell somebody who knows their own value, too: `insiders` for those whom `telling` is about.

An insider who shares a combination leaves it by one person: of a pair whose parity is known, each is told the
other's value. An insider who shares none narrows the formula's row, and the residue is as before. Of these
bounds are taken, as in `insiders`: the greatest leverage with the greatest shift, to either side.

Only whom combinations are about is looked at here; everybody is by `insiders`.
"""

from __future__ import annotations

import numpy as np

from cae_sql.inference.posterior.insiders import (
    Given,
    Measure,
    both,
    given,
    greatest_given,
    narrowed,
)
from cae_sql.inference.posterior.likely import Likely
from cae_sql.inference.posterior.telling import LISTED, weighed
from cae_sql.inference.posterior.weights import Floats, Ints

SHIFTS = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
"""Parts of the greatest shift at which insiders who share no combination are looked at."""
POSSIBLE = 1e-9
"""Chance below which a residue excludes a value of an insider."""


def risk_overheard(likely: Likely, ends: Floats, measure: Measure) -> float:
    """The greatest risk that an insider's value and residues bring about; −∞ where there are no residues.

    Args:
        likely: What answers make likely.
        ends: (q, 2) between which the value of an insider of each of the fit's columns lies, in units.
        measure: Of a posterior.
    """
    worst = -np.inf
    for column in likely.telling.columns.tolist():
        each = _by_others(likely, column, ends, measure), _by_sharing(likely, column, ends, measure)
        worst = float(np.max([worst, *each]))  # what is no number stays
    return worst


def _by_others(likely: Likely, column: int, ends: Floats, measure: Measure) -> float:
    """Insiders who share no combination with a record."""
    outer = greatest_given(likely.fit, column, ends)
    alone = both(likely.fit, np.array([column]), Given(likely.fit.leverage[[column]], np.zeros(1)))
    told = Given(np.append(alone.leverage, np.repeat(outer.leverage, len(SHIFTS))),
                 np.append(alone.shift, outer.shift * SHIFTS))  # fmt: skip
    weights = np.broadcast_to(likely.telling.weights(column), (len(told.shift), likely.tilt.windows.count))
    bad = _bad(likely, column, told, weights, measure)
    # to either side of the greatest shifts skewness is in them
    return float(np.maximum(measure.judged(bad[:1], bad[1:2]).max(), bad[2:].max()))


def _by_sharing(likely: Likely, column: int, ends: Floats, measure: Measure) -> float:
    """Those who share one, whatever their values may be."""
    low, high = np.ceil(ends - 1e-9)[:, 0].astype(np.int64), np.floor(ends + 1e-9)[:, 1].astype(np.int64)
    some = likely.telling.sharing(column)
    if not len(some):
        return -np.inf
    units = _listed(low[some], high[some])
    weights = likely.telling.weights_given(column, some, units)
    told = given(likely.fit, column, some[:, None], units)
    inside = (units >= low[some, None]) & (units <= high[some, None])
    inside &= weights.max(axis=2) > POSSIBLE
    each = Given(told.leverage[inside], told.shift[inside])
    if not len(each.shift):
        return -np.inf
    each = both(likely.fit, np.full(len(each.shift), column), each)
    bad = _bad(likely, column, each, np.tile(weights[inside], (2, 1)), measure)
    return float(measure.judged(*bad.reshape(2, -1)).max())


def _listed(low: Ints, high: Ints) -> Ints:
    """Values that insiders may have: all, or where they are many those at either end."""
    units = np.arange(int(low.min()), int(high.max()) + 1)
    half = LISTED // 2
    return units if len(units) <= LISTED else np.append(units[:half], units[-half:])


def _bad(likely: Likely, column: int, told: Given, weights: Floats, measure: Measure) -> Floats:
    """(r,) of one record, with each of some insiders (r,) and what residues multiply its row with (r, w)."""
    columns = np.full(len(told.shift), column)
    rows = weighed(narrowed(likely, columns, told), weights)
    return measure.bad(measure.left(rows), measure.bases(likely.fit, columns, told))
