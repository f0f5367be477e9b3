"""Simple random samples: what somebody believes who has a sample and knows how many records match.

p_d = f_d / |M_o| + (|M_o| − |M_s|) / |M_o| · 1/|D|: the target is in the sample and d is its value there, or
it is not, and all values are alike. M_o, M_s: records of the original and of the sample that match; f_d: how
many of M_s have the value d. The paper prints · |D| at the end, with which the p_d do not sum to 1, and a
first product that has no meaning for an empty M_s; simplified, it has.

Source: paper 000, Appendix, Sampling.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from cae_sql.domain import Domain
from cae_sql.errors import InvalidInput
from cae_sql.numbers import exact
from cae_sql.releases.arguments import checked_domain
from cae_sql.releases.beliefs import Beliefs, Floats, Ints, check_room
from cae_sql.releases.drawing import generator
from cae_sql.releases.matching import check_known, check_release, check_table, classes_of, positions

if TYPE_CHECKING:
    import pandas as pd


def sampled(
    original: pd.DataFrame,
    sample: pd.DataFrame,
    column: str,
    known: Sequence[str],
    domain: Domain,
    *,
    epsilon: float | Fraction | None = None,
) -> pd.DataFrame:
    """The risk of a sample, for each combination of values of the known columns that the original has.

    Args:
        original: All records.
        sample: Some of them, each at most as often as in the original; columns `column` and `known`, and no
            others than the original's.
        column: The confidential column; its values lie in the domain.
        known: What the intruder knows of the target.
        domain: Which values are possible.
        epsilon: Approximate compromise range at which H is wanted too.

    Returns:
        The known columns, matches, initial_entropy, area and risk; see `Beliefs.frame`.

    Raises:
        InvalidInput: tables that cannot be used, or a sample that is not one of the original.
    """
    return sampled_beliefs(original, sample, column, known, domain).frame(epsilon)


def sampled_beliefs(
    original: pd.DataFrame, sample: pd.DataFrame, column: str, known: Sequence[str], domain: Domain
) -> Beliefs:
    """The candidate distributions behind `sampled`; arguments and errors as there."""
    names = check_known(original, column, known)
    checked_domain(domain)
    check_release(original, sample, [column, *names], "the sample", empty=True)
    classes = classes_of(original, names)
    check_room(classes.count, domain)
    there = _counts(
        classes.labels, positions(original, column, domain, "the original"), classes.count, domain
    )
    seen = np.zeros_like(there)
    if len(sample):
        of = classes.of(sample, "the sample")
        seen = _counts(of, positions(sample, column, domain, "the sample"), classes.count, domain)
    more = np.argwhere(seen > there)
    if more.size:
        label, place = more[0].tolist()
        told = classes.told(classes.values.iloc[label])
        raise InvalidInput(
            f"the sample has {seen[label, place]} records with {told}{', ' if names else ''}"
            f"{column} = {domain.values[place]:g}, "
            f"the original {there[label, place]}: it is no sample without replacement"
        )
    return Beliefs(classes.values, classes.members, believed(seen, classes.members), domain)


def believed(seen: Ints, matches: Ints) -> Floats:
    """The candidate distributions.

    Args:
        seen: (k, |D|) how many records of the sample have each value.
        matches: (k,) |M_o|, at least as many as were seen.

    Returns:
        (k, |D|) p_d, rows of sum 1.
    """
    unseen = matches - seen.sum(axis=1)
    found: Floats = (seen + unseen[:, None] / seen.shape[1]) / matches[:, None]
    return found


def draw_sample(
    original: pd.DataFrame, percent: float | Fraction, seed: int, units: pd.Series | None = None
) -> pd.DataFrame:
    """A simple random sample without replacement, its records in the original's order.

    Args:
        original: All records.
        percent: Of the records, 0 … 100; the number of records is rounded, halves up.
        seed: Of the draw.
        units: Whose each record is, where somebody has several: of these so many per cent are drawn, with all
            of their records. A record without a name is a unit of its own.

    Raises:
        InvalidInput: what is no table, a percentage out of range, or a bad seed.
    """
    check_table(original, [], "the original", empty=True)
    if units is None:
        return original.iloc[drawn(len(original), percent, seed)]
    of = numbered(units)
    return original.iloc[np.flatnonzero(np.isin(of, drawn(int(of.max(initial=-1)) + 1, percent, seed)))]


def numbered(units: pd.Series) -> Ints:
    """(n,) the unit of each record, from 0 in order of first mention; those without a name are apart."""
    codes = units.factorize()[0].astype(np.int64)
    nobody = np.flatnonzero(codes < 0)
    codes[nobody] = codes.max(initial=-1) + 1 + np.arange(len(nobody))
    _, first, place = np.unique(codes, return_index=True, return_inverse=True)
    found: Ints = np.argsort(np.argsort(first))[place].astype(np.int64)
    return found


def drawn(size: int, percent: float | Fraction, seed: int | Sequence[int]) -> Ints:
    """Which of `size` records a sample has, ascending; as `draw_sample`."""
    share = exact(percent, "percent")
    if not 0 <= share <= 100:
        raise InvalidInput(f"percent must lie between 0 and 100, not {percent}")
    count = int(share * size / 100 + Fraction(1, 2))
    rng = generator(seed)
    return np.sort(rng.choice(size, count, replace=False)).astype(np.int64)


def _counts(labels: Ints, place: Ints, classes: int, domain: Domain) -> Ints:
    """(k, |D|) how many records of each class have each value."""
    flat = np.bincount(labels * domain.count + place, minlength=classes * domain.count)
    return flat.reshape(classes, domain.count).astype(np.int64)
