"""Areas and entropies of distributions over a domain's values, many at once (`cae_sql.measure.batch`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cae_sql.domain import Domain
from cae_sql.inference.posterior.weights import Floats
from cae_sql.threads import in_two

if TYPE_CHECKING:
    from cae_sql.measure.rows import Lists

NOTHING = 1e-9
"""Part of the domain's area that is none: λ is not found to more digits where it has no finite value."""


def areas_of_rows(rows: Floats, domain: Domain) -> Floats:
    """(r,) bits × units of distributions (r, w) over the domain's values."""
    if not len(rows):
        return np.zeros(0)
    from cae_sql.measure import lanes  # late: a question that is known measures nothing

    # what nobody can have, before all others and behind them, makes a lattice longer for nothing
    some = np.flatnonzero((rows > 0).any(axis=0))
    cells = int(some[-1] - some[0]) + 1 if len(some) else lanes.MOST_CELLS + 1
    total = rows.sum(axis=1)
    if cells <= lanes.MOST_CELLS and (rows >= 0).all() and (np.isfinite(total) & (total > 0)).all():
        found, part = np.empty(len(rows)), np.ascontiguousarray(rows[:, some[0] : some[-1] + 1])

        def work(first: int, last: int) -> None:
            lanes.areas(part[first:last].ravel(), cells, found[first:last])

        in_two(work, len(rows), cells**2)
        return found * float(domain.step)
    from cae_sql.measure.batch import areas

    values, weights = _lists(rows, domain)
    return areas(values, weights, np.ones(len(rows), dtype=np.bool_))


def entropies_of_rows(rows: Floats, domain: Domain, epsilon: float) -> Floats:
    """(r,) H(ε) in bits of distributions (r, w) over the domain's values."""
    values, weights = _lists(rows, domain)
    from cae_sql.measure.batch import entropies

    return entropies(values, weights, np.full(len(rows), epsilon), np.ones(len(rows), dtype=np.bool_))


def _lists(rows: Floats, domain: Domain) -> tuple[Lists, Lists]:
    """One list of values, shared by all rows, and each row's weights."""
    count, size = rows.shape
    first, zero = np.arange(count, dtype=np.int64) * size, np.zeros(count, dtype=np.int64)
    from cae_sql.measure.rows import Lists

    return Lists(domain.values[:size], zero, zero + size), Lists(rows.ravel(), first, first + size)
