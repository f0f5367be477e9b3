"""Which public columns give the protected one away. Pure: arrays in, reasons out.

Promise: a column is named where it rises or falls with the protected one (|correlation| >= 0.9, of values
or of ranks), or where records that share its value have nearly, or exactly, the same protected value far more
often than they would by chance. The second evidence needs values that records share: an identifier has none.

It is a warning, not a proof: two harmless columns together may still give the protected one away.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

STRONG = 0.9
"""A correlation from which on a column says nearly what the protected one says."""

DETERMINED = 0.8
"""Share of the variance between groups (adjusted for their number) with which groups are too narrow."""

PINNED = 0.5
"""Share of the records in groups that all have one protected value, beyond what chance gives."""

EVIDENCE = 20
"""Records that groups must have beyond one each before anything is concluded from them."""

SHUFFLES = 5
SEED = 20
"""Chance is measured by shuffling, always the same way."""


def giveaway(column: pd.Series, protected: NDArray[np.float64]) -> str | None:
    """Why a column gives the protected one away, or None where nothing is seen.

    Args:
        column: (n,) values of a public column, of any type; missing ones take no part.
        protected: (n,) values of the protected column; missing ones (NaN) take no part.
    """
    known = column.notna().to_numpy() & np.isfinite(protected)
    values, own = column[known], protected[known]
    if len(own) < 3 or np.ptp(own) == 0:
        return None
    numbers = _numbers(values)
    if numbers is not None:
        reason = _moves_with(numbers, own)
        if reason is not None:
            return reason
    codes, _ = pd.factorize(values)
    return _determines(np.asarray(codes), own)


def _numbers(values: pd.Series) -> NDArray[np.float64] | None:
    """The values as numbers, text that reads as numbers and dates included."""
    if pd.api.types.is_datetime64_any_dtype(values):
        values = values.astype("int64")
    numbers: NDArray[np.float64] = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)
    return numbers if np.isfinite(numbers).all() else None


def _moves_with(numbers: NDArray[np.float64], own: NDArray[np.float64]) -> str | None:
    if np.ptp(numbers) == 0:
        return None
    straight = float(np.corrcoef(numbers, own)[0, 1])
    ranked = float(np.corrcoef(rankdata(numbers), rankdata(own))[0, 1])
    name, strength = (
        ("rank correlation", ranked) if abs(ranked) >= abs(straight) else ("correlation", straight)
    )
    if abs(strength) < STRONG:
        return None
    direction = "rises" if strength > 0 else "falls"
    return f"{direction} as the protected column rises ({name} {strength:.2f})"


def _determines(codes: NDArray[np.intp], own: NDArray[np.float64]) -> str | None:
    sizes = np.bincount(codes)
    shared = sizes[codes] >= 2
    codes, own = np.unique(codes[shared], return_inverse=True)[1], own[shared]
    groups = int(codes.max(initial=-1)) + 1
    if len(own) - groups < EVIDENCE or groups < 2 or np.ptp(own) == 0:
        return None
    ranks = rankdata(own)
    explained = _explained(codes, ranks, groups)
    if explained >= DETERMINED:
        return f"its groups differ and are narrow: they explain {explained:.0%} of the protected column"
    generator = np.random.default_rng(SEED)
    by_chance = float(
        np.mean([_pinned(codes, generator.permutation(ranks), groups) for _ in range(SHUFFLES)])
    )
    pinned = _pinned(codes, ranks, groups)
    if pinned - by_chance >= PINNED:
        return f"{pinned:.0%} of the records share it with others of just the same protected value"
    return None


def _explained(codes: NDArray[np.intp], ranks: NDArray[np.float64], groups: int) -> float:
    """Adjusted η²: the share of the variance between groups, 0 where groups are drawn at random."""
    size = np.bincount(codes, minlength=groups)
    mean = np.bincount(codes, weights=ranks, minlength=groups) / size
    within = float(((ranks - mean[codes]) ** 2).sum()) / (len(ranks) - groups)
    return 1 - within / float(ranks.var(ddof=1))


def _pinned(codes: NDArray[np.intp], ranks: NDArray[np.float64], groups: int) -> float:
    """Share of the records whose group has one protected value."""
    low, high = np.full(groups, np.inf), np.full(groups, -np.inf)
    np.minimum.at(low, codes, ranks)
    np.maximum.at(high, codes, ranks)
    return float((low == high)[codes].mean())
