"""Tables led to where weighted sums and spreads lie well inside of their ranges, by exchange within atoms.

What is led is no evidence, as any guide (`cae_sql.inference.tables.guides`): who is near whom follows from
it, and `cae_sql.inference.tables.margins` says whether that keeps the ranges.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.inference.facts.bounds import Bound
from cae_sql.inference.facts.query import Ints

INSIDE = 3 / 8
"""Part of a cell that shall be left on both sides."""
TRIES = 100
"""Exchanges that are tried for each record."""


def led(
    table: Ints, members: tuple[Ints, Ints], boxes: tuple[Ints, Ints], bounds: Sequence[Bound],
    seed: int, free: NDArray[np.bool_],
) -> Ints | None:  # fmt: skip
    """A table with the same sums, everybody in his box, well inside of bounds; None where none is found.

    Args:
        table: (n,) where to start, in units.
        members: Records by atom and where each atom's start, as `Atoms.by_atom`.
        boxes: (n,) each: least and greatest value of each record.
        bounds: Where it shall be led.
        seed: Of chance.
        free: By atom, whether no sum is about its records: then nobody makes up for what one of them gains.
    """
    values = table.astype(np.int64)
    count = len(bounds)
    weights = np.zeros((count, len(values)), dtype=np.float64)
    goals, centers = np.zeros((count, 2)), np.zeros(count, dtype=np.int64)
    for number, each in enumerate(bounds):
        query = each.query
        weights[number, query.members] = 1.0 if query.coefficients is None else query.coefficients
        goals[number] = each.goal(INSIDE)
        centers[number] = round(float(values[query.members].mean())) if query.kind == "spread" else -1
    scales = np.array([each.width for each in bounds], dtype=np.float64)
    order, firsts = members
    labels = np.empty(len(order), dtype=np.int64)
    labels[order] = np.repeat(np.arange(len(firsts) - 1), np.diff(firsts))
    steps = TRIES * len(values)
    well = _led(
        values, order, firsts, labels, boxes[0], boxes[1], free, weights, centers, goals[:, 0].copy(),
        goals[:, 1].copy(), scales, seed, steps,
    )  # fmt: skip
    return values if well else None


@compiled()
def _led(
    values: Ints, order: Ints, firsts: Ints, labels: Ints, low: Ints, high: Ints, free: NDArray[np.bool_],
    weights: NDArray[np.float64], centers: Ints, least: NDArray[np.float64], most: NDArray[np.float64],
    scales: NDArray[np.float64], seed: int, steps: int,
) -> bool:  # fmt: skip
    """An exchange is kept where the ranges together are missed by no more than before."""
    np.random.seed(seed)
    count, size = weights.shape
    one, two, sizes = np.zeros(count), np.zeros(count), np.zeros(count)
    for k in range(count):
        for record in range(size):
            if weights[k, record] != 0.0:
                away = values[record] - centers[k] if centers[k] >= 0 else values[record]
                sizes[k] += 1.0
                one[k] += weights[k, record] * away
                two[k] += float(away) * away
    missed = np.zeros(count)
    for k in range(count):
        missed[k] = _missed(one[k], two[k], sizes[k], centers[k], least[k], most[k], scales[k])
    total = missed.sum()
    for _ in range(steps):
        if total <= 1e-9:
            return True
        record = np.random.randint(0, size)
        atom = labels[record]
        first, people = firsts[atom], firsts[atom + 1] - firsts[atom]
        other = order[first + np.random.randint(0, people)]
        down, up = low[record] - values[record], high[record] - values[record]
        if not free[atom]:
            if other == record:
                continue
            down, up = max(down, values[other] - high[other]), min(up, values[other] - low[other])
        if np.random.random() < 0.5:
            down, up = max(down, -1), min(up, 1)
        if down >= up:
            continue
        by = np.random.randint(down, up + 1)
        if by == 0:
            continue
        now = 0.0
        for k in range(count):
            a, b = _changed(k, record, other, by, values, weights, centers, free[atom])
            now += _missed(one[k] + a, two[k] + b, sizes[k], centers[k], least[k], most[k], scales[k])
        if now <= total:
            for k in range(count):
                a, b = _changed(k, record, other, by, values, weights, centers, free[atom])
                one[k] += a
                two[k] += b
            values[record] += by
            if not free[atom]:
                values[other] -= by
            total = now
    return bool(total <= 1e-9)


@compiled()
def _changed(
    k: int, record: int, other: int, by: int, values: Ints, weights: NDArray[np.float64], centers: Ints,
    alone: bool,
) -> tuple[float, float]:  # fmt: skip
    """What an exchange adds to a sum, and to the sum of squares."""
    first, second = weights[k, record], 0.0 if alone else weights[k, other]
    squares = 0.0
    if centers[k] >= 0:
        if first != 0.0:
            squares += by * (2.0 * (values[record] - centers[k]) + by)
        if second != 0.0:
            squares -= by * (2.0 * (values[other] - centers[k]) - by)
    return (first - second) * by, squares


@compiled()
def _missed(
    one: float, two: float, size: float, center: int, least: float, most: float, scale: float
) -> float:
    value = one if center < 0 else two - one * one / size
    return max(0.0, least - value, value - most) / scale
