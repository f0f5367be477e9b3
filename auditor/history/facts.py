"""What a statement's result says, as exact facts about records: sums with whole coefficients, extremes, rows.

Arrow tables of `auditor.history.lineage` in, facts out; pure. A sum whose coefficients are so far apart that
its digits can be read one after the other is taken apart into the sums that it tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, inf, lcm
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from auditor.history.meanings import Grid, Known

Ints = NDArray[np.int64]
FactKind = Literal["sum", "max", "min", "row"]
LARGEST = 2**31
"""Coefficients beyond this are not reasoned with."""
TOTAL = 2.0**62
"""Nor with sums that may be greater than that, in units: they do not fit 64 bits."""
SPREAD = 1000
"""Coefficients beyond this are taken apart where they can be: programs are exact with small numbers."""
CANCELLED = 1e-9
"""A record's weight counts as none where it is less than this part of what was added up to it."""
FINEST = 10**6
"""Ratios of weights are fractions of at most this denominator."""


class Unusable(Exception):
    """A result that is not modelled; says why."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


@dataclass(frozen=True, eq=False)
class Fact:
    """One number that was shown."""

    column: int
    """Position of the protected column."""
    kind: FactKind
    records: Ints
    """Ascending, each once; never empty."""
    coefficients: Ints | None
    """Of a sum, coprime, the first one positive; None: all 1."""
    place: tuple[int, int, int]
    """Branch, row and column of the results where it stands."""
    factor: Fraction | None
    """What the shown number is multiplied by to be this sum; None where more is between them."""
    digits: bool = False
    """Whether it was read off a part of a number's digits, which only the grid allows."""


def facts_of(
    table: pa.Table, outputs: list[Known | None], branch: int, grids: list[Grid], problems: list[Unusable]
) -> Iterator[Fact]:
    """The facts of one result; what of it is not modelled goes to `problems`."""
    for number, known in enumerate(outputs):
        if known is None:
            continue
        grid = grids[known.column]
        column = table.column(number).combine_chunks()
        if known.what == "record":
            records = column.drop_null().to_numpy(zero_copy_only=False).astype(np.int64)
            where = np.flatnonzero(np.asarray(column.is_valid()))
            once, first = np.unique(records, return_index=True)
            for record, place in zip(once.tolist(), where[first].tolist(), strict=True):
                members = np.array([record], dtype=np.int64)
                yield Fact(known.column, "row", members, None, (branch, place, number), Fraction(1))
            continue
        for row, start, end, values in _lists(column):
            place = (branch, row, number)
            if known.what in ("max", "min"):
                members = np.unique(values.to_numpy(zero_copy_only=False)[start:end]).astype(np.int64)
                if len(members):
                    yield Fact(known.column, known.what, members, None, place, Fraction(1))
            else:
                r = values.field("r").to_numpy(zero_copy_only=False)[start:end].astype(np.int64)
                w = values.field("w").to_numpy(zero_copy_only=False)[start:end]
                try:
                    yield from _sums(known, r, w, place, grid)
                except Unusable as problem:
                    problems.append(problem)


def _lists(column: pa.Array) -> Iterator[tuple[int, int, int, pa.Array]]:
    """Row, start and end in the values, for each list that is not NULL."""
    if pa.types.is_null(column.type):
        return
    offsets, valid = column.offsets.to_numpy(), np.asarray(column.is_valid())
    for row in np.flatnonzero(valid).tolist():
        if offsets[row] < offsets[row + 1]:
            yield row, int(offsets[row]), int(offsets[row + 1]), column.values


def _sums(
    known: Known, r: Ints, w: NDArray[np.float64], place: tuple[int, int, int], grid: Grid
) -> Iterator[Fact]:
    if not np.isfinite(w).all():
        raise Unusable("weights", "records count with a weight that is no number")
    rows = len(r)
    gross: NDArray[np.float64] = np.abs(w)
    if len(r) > 1 and not (np.diff(r) > 0).all():
        r, inverse = np.unique(r, return_inverse=True)
        w = np.bincount(inverse, w).astype(np.float64)
        gross = np.bincount(inverse, gross).astype(np.float64)
    kept = np.abs(w) > CANCELLED * gross  # what cancels out leaves crumbs
    r, w = r[kept], w[kept]
    if not len(r):
        return
    coefficients, scale = whole(w)
    if coefficients[0] < 0:
        coefficients, scale = -coefficients, -scale
    if known.blur and (known.blur == inf or abs(scale) * float(grid.unit) < known.blur * (1 - 1e-9)):
        raise Unusable("rounded aggregate", "the aggregate is rounded so far that it leaves its sum open")
    factor = None
    if known.plain:
        factor = Fraction(rows if known.plain == "avg" else 1) / Fraction(scale).limit_denominator(FINEST)
    one = len({*coefficients.tolist()}) == 1
    top = int((grid.maximum - grid.minimum) / grid.unit)
    largest = int(np.abs(coefficients).max())
    parts = [(r, coefficients)] if one or largest <= SPREAD else taken_apart(r, coefficients, top)
    for records, weights in parts:
        if int(np.abs(weights).max()) > LARGEST or float(np.abs(weights).sum(dtype=np.float64)) * top > TOTAL:
            raise Unusable("weights", "records count with weights too far apart to be reasoned with")
        kind: FactKind = "sum"
        plain = len(records) == 1 or bool((weights == weights[0]).all())
        yield Fact(
            known.column,
            kind,
            records,
            None if plain else weights,
            place,
            factor if len(parts) == 1 else None,
            len(parts) > 1,
        )


def whole(weights: NDArray[np.float64]) -> tuple[Ints, float]:
    """Weights as coprime whole numbers, and what these are multiplied by to be them.

    Raises:
        Unusable: their ratios are no fractions of small numbers.
    """
    distinct, places = np.unique(weights, return_inverse=True)
    if len(distinct) == 1:
        return np.ones(len(weights), np.int64), float(distinct[0])
    if (distinct == np.rint(distinct)).all() and np.abs(distinct).max() < 2**53:
        numbers = [int(each) for each in distinct]
        common = gcd(*numbers)
        return np.array([each // common for each in numbers], dtype=np.int64)[places], float(common)
    base = float(np.abs(distinct).min())
    ratios = [Fraction(float(each) / base).limit_denominator(FINEST) for each in distinct]
    near = all(
        abs(float(ratio) * base - each) <= 1e-9 * abs(each)
        for ratio, each in zip(ratios, distinct, strict=True)
    )
    scale = lcm(*(ratio.denominator for ratio in ratios))
    numbers = [int(ratio * scale) for ratio in ratios]
    common = gcd(*numbers)
    if not near or max(map(abs, numbers)) // common >= 2**53:
        raise Unusable("weights", "records count with weights that are no fractions of small numbers")
    made = np.array([number // common for number in numbers], dtype=np.int64)[places]
    return made, base * common / scale


def taken_apart(records: Ints, weights: Ints, top: int) -> list[tuple[Ints, Ints]]:
    """The sums that one sum of values 0 … top tells: what small weights add up to is a rest of the others.

    If all of Σ small lies in a range shorter than the common divisor g of the others' weights, Σ small is the
    sum modulo g, and Σ others the rest of it.
    """
    order = np.argsort(np.abs(weights), kind="stable")
    records, numbers = records[order], [int(each) for each in weights[order]]
    after = [0] * (len(numbers) + 1)
    for place in range(len(numbers) - 1, -1, -1):
        after[place] = gcd(after[place + 1], numbers[place])
    found, first, span = [], 0, 0
    for place, number in enumerate(numbers):
        span += abs(number) * top
        last = place == len(numbers) - 1
        if last or span < after[place + 1]:
            members = np.argsort(records[first : place + 1], kind="stable")
            common = gcd(*numbers[first : place + 1])
            chosen = np.array([each // common for each in numbers[first : place + 1]], dtype=np.int64)[
                members
            ]
            found.append((records[first : place + 1][members], chosen if chosen[0] > 0 else -chosen))
            first, span = place + 1, 0
    return found
