"""Where a range of a weighted sum lies, and what that says of who weighs more than the others.

How wide a range is counts as an observation with noise (`noisy`). Where it lies tilts everybody: to a sum
that is far from what is expected, whoever weighs six times as much as others is believed to have what makes
it so. What that says of all alike is a finding about the group; this is about who it is said of more.

Given the exact sums, a weighted sum Σ w x moves only by w̃ = w − Aᵀλ, λ from A D Aᵀ λ = A D w, the part
of the weights that the sums do not say. Everybody's distribution tilted by s w̃, with s such that the sum is
expected where a Gaussian cut off at the range's ends has its mean, is what the range makes likely, to first
order in what is left of the others. Held against it is one's own distribution, and the same tilted as by a
typical weight.

Source: `mathematics.md`, 8 (the brake) and 7 (tilt).
"""

from __future__ import annotations

import numpy as np
import scipy

from cae_sql.domain import Domain
from cae_sql.inference.facts.query import Query
from cae_sql.inference.posterior.areas import areas_of_rows
from cae_sql.inference.posterior.leverage import covariance
from cae_sql.inference.posterior.likely import Likely
from cae_sql.inference.posterior.weights import Floats, Ints

ROUNDS = 60
"""Halvings for s."""
STEEPEST = 60.0
"""Tilt over the whole domain at which the search for s ends: nothing is left there."""


def says_too_much(
    likely: Likely,
    query: Query,
    ends: tuple[int | None, int | None],
    most: float,
    domain: Domain,
) -> bool:
    """Whether a range leaves somebody too little beside others of a typical weight.

    Args:
        likely: What is likely before it.
        query: A weighted sum.
        ends: In units; None: nothing is said of that side.
        most: Of the risk.
        domain: At whose step values are judged.
    """
    assert query.coefficients is not None
    labels, weights = likely.known.atoms.labels[query.members], query.coefficients.astype(float)
    kinds, place, sizes = np.unique(
        np.stack([labels, query.coefficients], axis=1), axis=0, return_inverse=True, return_counts=True
    )
    atoms, row_of = np.unique(kinds[:, 0], return_inverse=True)
    rows = likely.formula_of(atoms)[row_of.ravel()]
    width = likely.tilt.windows.width
    values: Floats = np.arange(rows.shape[1], dtype=np.float64) * width + (width - 1) / 2
    means = rows @ values
    variances = np.maximum(rows @ values**2 - means**2, 0)
    pulls = _left(likely, labels, weights, variances[place.ravel()], kinds)
    typical = float(np.sqrt(np.average(pulls**2, weights=sizes)))
    greatest = float(np.abs(pulls).max())
    if greatest <= 2 * typical or not greatest:
        return False  # nobody stands out
    reach = STEEPEST / (greatest * max(values[-1], 1.0))
    own, expected = areas_of_rows(rows, domain), float((sizes * kinds[:, 1]) @ means)
    goal = _expected_in(ends, expected, float((sizes * pulls**2) @ variances))
    low, high = -reach, reach
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        moved = float((sizes * pulls) @ (_tilted(rows, values, pulls, middle) @ values - means))
        low, high = (middle, high) if moved < goal - expected else (low, middle)
    far, alike = (low + high) / 2, np.sign(pulls).astype(np.float64)
    area = areas_of_rows(_tilted(rows, values, pulls, far), domain)
    left = np.minimum(own, areas_of_rows(_tilted(rows, values, alike, far * typical), domain))
    with np.errstate(invalid="ignore", divide="ignore"):
        risk = np.where(left > 0, 1 - area / left, 0.0)
    return not bool((risk <= most).all())


def _expected_in(ends: tuple[int | None, int | None], expected: float, variance: float) -> float:
    """Where a sum is expected that lies between two ends: by the Gaussian, cut off there."""
    if variance <= 0:
        return expected
    scale = variance**0.5
    least = -np.inf if ends[0] is None else (ends[0] - 0.5 - expected) / scale
    most = np.inf if ends[1] is None else (ends[1] + 0.5 - expected) / scale
    found: float = expected + scale * float(scipy.stats.truncnorm.mean(least, most))
    # so far out that nothing is left of the Gaussian: at the nearer end
    return found if np.isfinite(found) else expected + scale * min(max(0.0, float(least)), float(most))


def _left(likely: Likely, labels: Ints, weights: Floats, variances: Floats, kinds: Ints) -> Floats:
    """(m,) by atom and weight, the part of the weights that the exact sums do not say."""
    fit = likely.fit.of_sums or likely.fit
    seen, count = fit.observed, fit.observed.people
    matrix = seen.matrix[:, :count]
    spread = covariance(matrix, seen.sizes[:count] * fit.variances[:count])
    column = np.full(likely.known.count, -1)
    column[seen.atoms] = np.arange(count)
    asked = np.bincount(labels, weights * variances, likely.known.count)[seen.atoms]
    factors = np.linalg.lstsq(spread, matrix @ asked, rcond=None)[0]
    place = column[kinds[:, 0]]
    told = np.where(place >= 0, (matrix.T @ factors)[np.maximum(place, 0)], 0.0)
    found: Floats = kinds[:, 1].astype(float) - told
    return found


def _tilted(rows: Floats, values: Floats, pulls: Floats, by: float) -> Floats:
    logs = by * pulls[:, None] * values[None, :]
    found: Floats = rows * np.exp(logs - logs.max(axis=1, keepdims=True))
    total = found.sum(axis=1, keepdims=True)
    kept: Floats = np.divide(found, total, out=np.zeros_like(found), where=total > 0)
    return kept
