"""Tables of parts led to where statistics of which ranges are known lie well inside, every sum kept.

Parts of one atom that no sum tells apart differ in what their records are like: one gives another some units,
and a spread or a weighted sum changes. What is led is looked at anew (`cae_sql.inference.tables.margins`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.exchange import Bounds
from cae_sql.inference.tables.margins import Soft
from cae_sql.inference.tables.question_tables import QuestionTables

INSIDE = 7 / 16
"""Part of a cell that shall be left on both sides."""
TRIES = 60
"""Exchanges that are tried for each part."""


def steered(question_tables: QuestionTables, bounds: Bounds, totals: Ints) -> Ints:
    """Totals (p',) with the same sums, nearer to the middle of all ranges.

    Args:
        question_tables: The parts, and the ranges.
        bounds: Between what totals must lie.
        totals: (p',) where to start.
    """
    softs, sizes = question_tables.softs, question_tables.boxes.sizes
    if not softs:
        return totals
    alike, order, firsts = question_tables.alike
    means = np.array([np.where(each.sizes > 0, each.mean, 0.0) for each in softs])
    centers = np.array([_center(each, totals) for each in softs])
    goals = np.array([each.bound.goal(INSIDE) for each in softs])
    scales = np.array([float(each.bound.width) for each in softs])
    found = totals.copy()
    _steered(
        found, sizes, bounds.least, bounds.most, alike, order, firsts, means, centers,
        goals[:, 0].copy(), goals[:, 1].copy(), scales, TRIES * len(found), len(found),
    )  # fmt: skip
    return found


def _center(soft: Soft, totals: Ints) -> float:
    """The mean of a spread's members; nan of a weighted sum."""
    if soft.bound.query.kind == "weighted":
        return np.nan
    here = soft.sizes > 0
    return float(totals[here].sum() / soft.sizes.sum())


@compiled()
def _steered(
    totals: Ints, sizes: Ints, least: Ints, most: Ints, alike: Ints, order: Ints, firsts: Ints,
    means: NDArray[np.float64], centers: NDArray[np.float64], low: NDArray[np.float64],
    high: NDArray[np.float64], scales: NDArray[np.float64], steps: int, seed: int,
) -> None:  # fmt: skip
    """An exchange is kept where the ranges together are missed by less than before.

    The sum over members of a spread may change where others are in the same atom: its square is left out, so
    that is for the look that follows.
    """
    np.random.seed(seed)
    count, parts = means.shape
    now = np.zeros(count)
    for m in range(count):
        for part in range(parts):
            if means[m, part] == 0.0:
                continue
            if np.isnan(centers[m]):
                now[m] += means[m, part] * totals[part]
            else:
                now[m] += (totals[part] - sizes[part] * centers[m]) ** 2 / sizes[part]
    missed = 0.0
    for m in range(count):
        missed += max(0.0, low[m] - now[m], now[m] - high[m]) / scales[m]
    changes = np.zeros(count)
    for _ in range(steps):
        if missed <= 1e-9:
            return
        one = np.random.randint(0, parts)
        first, size = firsts[alike[one]], firsts[alike[one] + 1] - firsts[alike[one]]
        other = order[first + np.random.randint(0, size)]
        by = min(totals[one] - least[one], most[other] - totals[other])
        if one == other or by <= 0:
            continue
        by = np.random.randint(1, max(2, by // 4))
        after = 0.0
        for m in range(count):
            a, b = means[m, one], means[m, other]
            if np.isnan(centers[m]):
                changes[m] = by * (b - a)
            else:
                changes[m] = 0.0
                if a != 0.0:
                    x = totals[one] / sizes[one] - centers[m]
                    changes[m] += -2 * by * x + by * by / sizes[one]
                if b != 0.0:
                    x = totals[other] / sizes[other] - centers[m]
                    changes[m] += 2 * by * x + by * by / sizes[other]
            value = now[m] + changes[m]
            after += max(0.0, low[m] - value, value - high[m]) / scales[m]
        if after < missed:
            missed = after
            totals[one] -= by
            totals[other] += by
            for m in range(count):
                now[m] += changes[m]
