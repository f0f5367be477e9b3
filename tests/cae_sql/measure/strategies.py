"""Candidate distributions for hypothesis, and the oracle that tries every partition."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from hypothesis import strategies as st

WEIGHTS = st.one_of(st.integers(1, 5).map(float), st.floats(1e-6, 1.0))


@st.composite
def distributions(
    draw: st.DrawFn, least: int = 1, most: int = 7, spread: int = 30, decimals: int = 1
) -> tuple[list[float], list[float]]:
    """Distinct ascending decimals and positive weights."""
    whole = draw(st.lists(st.integers(-spread, spread), min_size=least, max_size=most, unique=True))
    digits = draw(st.integers(0, decimals))
    weights = draw(st.lists(WEIGHTS, min_size=len(whole), max_size=len(whole)))
    return [k / 10**digits for k in sorted(whole)], weights


def shannon(masses: list[float]) -> float:
    return math.fsum(-q * math.log2(q) for q in masses if 0 < q < 1)


def partitions(n: int) -> Iterator[list[tuple[int, int]]]:
    """Every way to cut 0..n-1 into consecutive blocks (first, last)."""
    for cuts in range(2 ** (n - 1)):
        starts = [0, *(k + 1 for k in range(n - 1) if cuts >> k & 1), n]
        yield [(a, b - 1) for a, b in pairwise(starts)]


def entropy_by_brute_force(values: list[float], weights: list[float], epsilon: Fraction) -> float:
    x, total = [Fraction(str(v)) for v in values], math.fsum(weights)
    return min(
        shannon([math.fsum(weights[a : b + 1]) / total for a, b in blocks])
        for blocks in partitions(len(x))
        if all(x[b] - x[a] <= epsilon for a, b in blocks)
    )


def area_by_brute_force(values: list[float], weights: list[float]) -> float:
    x = [Fraction(str(v)) for v in values]
    widths = sorted({b - a for a in x for b in x if b >= a})
    return math.fsum(entropy_by_brute_force(values, weights, a) * float(b - a) for a, b in pairwise(widths))
