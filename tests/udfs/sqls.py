"""What the tests of the SQL functions share: a connection, Arrow lists of any layout, the plain reference."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import udfs
from cae_sql.measure import reference
from cae_sql.measure.distribution import distribution


@contextmanager
def connected() -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty database with the functions."""
    with duckdb.connect() as connection:
        udfs.register(connection)
        yield connection


def lists(rows: Sequence[Sequence[float | None] | None], chunks: int = 1, padding: int = 0) -> Any:
    """A column of lists in so many chunks, each a slice of a longer array."""
    pad: list[list[float]] = [[-1e9, math.pi]] * padding
    cuts = np.linspace(0, len(rows), chunks + 1).astype(int)
    parts = []
    for a, b in pairwise(cuts.tolist()):
        whole = pa.array([*pad, *rows[a:b], *pad], pa.list_(pa.float64()))
        parts.append(whole.slice(padding, b - a))
    return pa.chunked_array(parts, pa.list_(pa.float64()))


def plainly(
    values: Sequence[float], weights: Sequence[float] | None
) -> tuple[list[int], list[float], Fraction]:
    """Grid positions, probabilities and unit for `cae_sql.measure.reference`."""
    found = distribution(list(values), None if weights is None else list(weights))
    return found.positions.tolist(), found.probabilities.tolist(), found.unit


def plain_area(values: Sequence[float], weights: Sequence[float] | None = None) -> float:
    x, p, unit = plainly(values, weights)
    return reference.area(x, p) * float(unit)


def plain_entropy(values: Sequence[float], weights: Sequence[float] | None, epsilon: float) -> float:
    x, p, unit = plainly(values, weights)
    return reference.entropy(x, p, int(Fraction(str(epsilon)) // unit))


def plain_curve(values: Sequence[float], weights: Sequence[float] | None = None) -> list[tuple[float, float]]:
    """Only the widths at which H changes, by more than rounding."""
    x, p, unit = plainly(values, weights)
    steps: list[tuple[float, float]] = []
    for width, height in zip(*reference.curve(x, p), strict=True):
        if not steps or height < steps[-1][1] * (1 - 1e-14):
            steps.append((float(width * unit), height))
    return steps
