"""Checks of ranges of statistics, for what observations with noise (`noisy`) do not see.

**Priors under which no bell around the mean sees a range** (`sees`): where most values are at both ends of
the domain, or there are two. For the prior, its tilts, and the shortest boxes that the limit allows, for each
value v and precision κ, a bell around v, `SPARE` times as precise, is held against the one around the mean
that κ is judged by (`noisy.LUCK`): if that around some v leaves less than the limit asks for, so must the
other.

**Where a range of a weighted sum lies** (`says_too_much`). A sum far from what is expected tilts everybody,
most of all whoever weighs most, by w̃ = w − Aᵀλ, A D Aᵀ λ = A D w: the part of the weights that exact sums do
not say. A distribution tilted by s w̃, with s such that the sum is where a Gaussian cut off at the range's
ends has its mean, is held against that before, and that tilted as by a typical weight: a finding about the
group.

Promise: `sees` hangs on the prior, the domain and the limit alone.

Source: `mathematics.md`, 8 (the brake) and 7 (tilt).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy

from cae_sql.domain import Domain
from cae_sql.inference.facts.query import Query
from cae_sql.inference.posterior.baselines import areas_of_rows
from cae_sql.inference.posterior.likely import Likely
from cae_sql.inference.posterior.noisy import LUCK
from cae_sql.inference.posterior.tilt import Tilt
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.measure import uniform_area

MOST = 32
"""Values that are told apart here: of more, neighbours are taken together."""
TILTS = (-2.0, -1.0, 0.0, 1.0, 2.0)
"""In terms of one over the prior's deviation."""
PRECISIONS = 30
"""κ between those that hardly bend anything and those that leave one value."""
SPARE, STATED = 3.0, 3.75
"""How many times as precise a bell around a value must be seen: without a prior, and with one that the policy
states. With 3 a prior of three tenths at either end passed, under which 23 draws of 100 went past a limit of
0.5; with 4 even values of a domain of 12 would not."""
FLAT = 1e-9
"""By how much the logarithms of chances differ that are alike."""
LIMIT = 0.5
"""Where a limit is not one of risk."""
ROUNDS = 60
"""Halvings for s."""
STEEPEST = 60.0
"""Tilt over the whole domain at which the search for s ends: nothing is left there."""


@lru_cache(64)
def sees(tilt: Tilt, risk: float | None) -> bool:
    """Whether ranges show in the bell of whoever has whatever value, under a prior; `risk` is the limit, None
    where it is not one of risk."""
    count, width = tilt.windows.count, tilt.windows.width
    low, most = np.zeros(1, dtype=np.int64), LIMIT if risk is None else float(risk)
    chances = tilt.rows(low, low + count * width - 1, np.zeros(1))[0]
    prior = np.add.reduceat(chances, np.arange(0, count, -(-count // MOST)))
    spare = SPARE if tilt.logs is None or np.ptp(tilt.logs) < FLAT else STATED
    if len(prior) < 3:
        return False
    domain = Domain(0, len(prior) - 1, 1)
    x = np.arange(len(prior))
    whole = float(areas_of_rows(prior[None], domain)[0])
    away = x - prior @ x
    deviation = max(float(np.sqrt(prior @ away**2)), 1e-9)
    rows = prior * np.exp(np.outer(TILTS, away) / deviation)
    rows /= rows.sum(axis=1, keepdims=True)
    tried = list(zip(rows, areas_of_rows(rows, domain).tolist(), strict=True))
    # the shortest boxes in which all values alike would leave enough
    sizes = (size for size in range(2, len(prior)) if uniform_area(size, 1) >= whole * (1 - most))
    size = next(sizes, len(prior))
    starts = x[: len(prior) - size + 1]
    boxes = [np.where((x >= start) & (x < start + size), prior, 0.0) for start in starts]
    tried += [(box / box.sum(), whole) for box in boxes if box.sum() > 0]
    return all(_seen(row, (1 - most) * base, domain, spare) for row, base in tried)


def _seen(row: Floats, enough: float, domain: Domain, spare: float) -> bool:
    """Whether, for all κ, the bell in the middle leaves too little where one around a value does."""
    x = np.arange(len(row))
    away = (x - row @ x) ** 2
    for kappa in np.geomspace(0.01 / len(row) ** 2, 20.0, PRECISIONS):
        around = row * np.exp(-0.5 * spare * kappa * (x - x[row > 0][:, None]) ** 2)
        middle = row * np.exp(-0.5 * (1 + LUCK) * kappa * (away - away[row > 0].min()))
        least = float(areas_of_rows(around / around.sum(axis=1, keepdims=True), domain).min())
        if least < enough <= float(areas_of_rows(middle[None] / middle.sum(), domain)[0]):
            return False
    return True


def says_too_much(
    likely: Likely, query: Query, ends: tuple[int | None, int | None], most: float, domain: Domain
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
    pairs = np.stack([likely.known.atoms.labels[query.members], query.coefficients], axis=1)
    kinds, sizes = np.unique(pairs, axis=0, return_counts=True)
    labels, weights = kinds.T
    atoms, row_of = np.unique(labels, return_inverse=True)
    rows = likely.formula_of(atoms)[row_of.ravel()]
    width = likely.tilt.windows.width
    values: Floats = np.arange(rows.shape[1], dtype=np.float64) * width + (width - 1) / 2
    means = rows @ values
    variances = np.maximum(rows @ values**2 - means**2, 0)
    pulls = weights - _said(likely, labels, sizes * weights)
    typical = float(np.sqrt(np.average(pulls**2, weights=sizes)))
    greatest = float(np.abs(pulls).max())
    if greatest <= 2 * typical or not greatest:
        return False  # nobody stands out
    goal = _expected_in(ends, float((sizes * weights) @ means), float((sizes * pulls**2) @ variances))
    high = STEEPEST / (greatest * max(values[-1], 1.0))
    low = -high
    for _ in range(ROUNDS):
        far = (low + high) / 2
        moved = float((sizes * pulls) @ (_tilted(rows, values, pulls * far) @ values - means))
        low, high = (far, high) if moved < goal else (low, far)
    far = (low + high) / 2
    area = areas_of_rows(_tilted(rows, values, pulls * far), domain)
    alike = areas_of_rows(_tilted(rows, values, np.sign(pulls) * (far * typical)), domain)
    left = np.minimum(areas_of_rows(rows, domain), alike)
    return not bool((area >= (1 - most) * left).all())


def _expected_in(ends: tuple[int | None, int | None], expected: float, variance: float) -> float:
    """How far from what it was a sum between two ends is expected: the mean of a Gaussian cut off there."""
    if variance <= 0:
        return 0.0
    scale = variance**0.5
    least = -np.inf if ends[0] is None else (ends[0] - 0.5 - expected) / scale
    most = np.inf if ends[1] is None else (ends[1] + 0.5 - expected) / scale
    found: float = scale * float(scipy.stats.truncnorm.mean(least, most))
    # so far out that nothing is left of the Gaussian: at the nearer end
    return found if np.isfinite(found) else scale * min(max(0.0, float(least)), float(most))


def _said(likely: Likely, labels: Ints, weighed: Floats) -> Floats:
    """(m,) the part of weights that the exact sums say, by atom and the weights of its records together."""
    fit, seen = likely.fit.sums_alone, likely.fit.sums_alone.observed
    asked, said = np.zeros(len(fit.theta)), np.zeros(likely.known.count)
    asked[: seen.people] = np.bincount(labels, weighed, len(said))[seen.atoms]
    told = fit.factor.solve(seen.matrix @ (fit.variances * asked))
    said[seen.atoms] = (seen.matrix.T @ told)[: seen.people]
    return said[labels]


def _tilted(rows: Floats, values: Floats, tilts: Floats) -> Floats:
    logs = tilts[:, None] * values[None, :]
    found: Floats = rows * np.exp(logs - logs.max(axis=1, keepdims=True))
    kept: Floats = found / found.sum(axis=1, keepdims=True)
    return kept
