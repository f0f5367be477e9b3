"""Sums over query sets of one size: what somebody believes who has all answers and solves for each record.

The paper's queries: the records are shuffled; query set size Q = 2l; k = ⌊2n/Q⌋ − 1 sums, each over 2l
consecutive records, shifted by l. The answers leave each record a feasibility interval; each of the matching
records spreads its probability evenly over the values in its interval, and the records are averaged
(Algorithm 2). `restricted` is that, by `windows.py`; `answered` takes any query sets, by the exact intervals
of the gate (`AnsweredSystem.bounds`). Both give the same intervals where both apply.

Source: paper 000, Section 5 and Appendix, Query Restriction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from cae_sql.candidates import check_inside, spans
from cae_sql.domain import Domain, exact, grid_values
from cae_sql.errors import InvalidInput
from cae_sql.releases.beliefs import Beliefs, Floats, Ints, check_room
from cae_sql.releases.drawing import generator
from cae_sql.releases.matching import check_known, classes_of, numbers
from cae_sql.releases.windows import intervals

if TYPE_CHECKING:
    import pandas as pd

_LARGEST_TOTAL = 2**61


def restricted(
    original: pd.DataFrame,
    column: str,
    known: Sequence[str],
    domain: Domain,
    query_set_size: int,
    seed: int,
    *,
    epsilon: float | Fraction | None = None,
) -> pd.DataFrame:
    """The risk of answering sums over overlapping query sets of one size.

    Args:
        original: All records.
        column: The confidential column; its values lie between the domain's ends, on its grid or not.
        known: What the intruder knows of the target.
        domain: Which values are possible.
        query_set_size: Q, even and at least 2.
        seed: Of the order in which the records are put.
        epsilon: Approximate compromise range at which H is wanted too.

    Returns:
        The known columns, matches, initial_entropy, area and risk; see `Beliefs.frame`.

    Raises:
        InvalidInput: a table that cannot be used, or a query set size that is odd, or larger than the table.
    """
    return restricted_beliefs(original, column, known, domain, query_set_size, seed).frame(epsilon)


def restricted_beliefs(
    original: pd.DataFrame,
    column: str,
    known: Sequence[str],
    domain: Domain,
    query_set_size: int,
    seed: int,
) -> Beliefs:
    """The candidate distributions behind `restricted`; arguments and errors as there."""
    names = check_known(original, column, known)
    values, unit = _in_units(original, column, domain)
    order = shuffled(len(original), query_set_size, seed)
    top = int((exact(domain.maximum) - exact(domain.minimum)) / unit)
    low, high = intervals(values[order], query_set_size // 2, top)
    lower, upper = np.empty_like(low), np.empty_like(high)
    lower[order], upper[order] = low, high
    origin = exact(domain.minimum)
    return _beliefs(
        original, names, grid_values(lower, origin, unit), grid_values(upper, origin, unit), domain
    )


def query_sets(size: int, query_set_size: int, seed: int) -> list[Ints]:
    """The query sets of `restricted`, as record numbers.

    Raises:
        InvalidInput: a query set size that is odd, or larger than the table.
    """
    order = shuffled(size, query_set_size, seed)
    half = query_set_size // 2
    return [order[start : start + query_set_size] for start in range(0, size - query_set_size + 1, half)]


def answered(
    original: pd.DataFrame,
    column: str,
    known: Sequence[str],
    domain: Domain,
    queries: Iterable[ArrayLike],
    *,
    epsilon: float | Fraction | None = None,
) -> pd.DataFrame:
    """The risk of answering sums over any query sets.

    Args:
        original: All records.
        column: The confidential column; its values lie between the domain's ends.
        known: What the intruder knows of the target.
        domain: Which values are possible.
        queries: Query sets, each as positions of records (from 0) or as a mask of all records.
        epsilon: Approximate compromise range at which H is wanted too.

    Returns:
        The known columns, matches, initial_entropy, area and risk; see `Beliefs.frame`.

    Raises:
        InvalidInput: a table or query set that cannot be used.
    """
    return answered_beliefs(original, column, known, domain, queries).frame(epsilon)


def answered_beliefs(
    original: pd.DataFrame,
    column: str,
    known: Sequence[str],
    domain: Domain,
    queries: Iterable[ArrayLike],
) -> Beliefs:
    """The candidate distributions behind `answered`; arguments and errors as there."""
    from cae_sql.inference.members import members_of
    from cae_sql.inference.system import AnsweredSystem

    names = check_known(original, column, known)
    values, unit = _in_units(original, column, domain)
    system = AnsweredSystem(len(original), domain.minimum, domain.maximum, unit)
    for members in queries:
        chosen, _ = members_of(members, len(original))
        total = int(values[chosen].sum()) * unit + len(chosen) * exact(domain.minimum)
        system.add_sum(chosen, total)
    found = system.bounds()
    return _beliefs(original, names, found.lower, found.upper, domain)


def shuffled(size: int, query_set_size: int, seed: int | Sequence[int]) -> Ints:
    """The order in which the records are put, after a look at the query set size.

    Raises:
        InvalidInput: a query set size that is odd, or larger than the table.
    """
    if isinstance(query_set_size, bool) or not isinstance(query_set_size, (int, np.integer)):
        raise InvalidInput(f"query_set_size must be a whole number, not {query_set_size!r}")
    if query_set_size < 2 or query_set_size % 2:
        raise InvalidInput(f"query_set_size must be even and at least 2, not {query_set_size}")
    if query_set_size > size:
        raise InvalidInput(f"query_set_size is {query_set_size}, but there are {size} records: no query fits")
    return generator(seed).permutation(size).astype(np.int64)


def spread(first: Ints, count: Ints, size: int) -> Floats:
    """(n, |D|) each record's probability, even over a run of the domain."""
    place = np.arange(size)
    inside = (place >= first[:, None]) & (place < (first + count)[:, None])
    found: Floats = inside / count[:, None]
    return found


def _beliefs(
    original: pd.DataFrame, known: Sequence[str], lower: Floats, upper: Floats, domain: Domain
) -> Beliefs:
    """Algorithm 2 over the matching records' intervals."""
    classes = classes_of(original, known)
    check_room(max(classes.count, len(original)), domain)
    found = spans(lower, upper, domain)
    order = np.argsort(classes.labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(classes.members)[:-1]])
    totals = np.add.reduceat(spread(found.first, found.count, domain.count)[order], starts, axis=0)
    return Beliefs(classes.values, classes.members, totals / classes.members[:, None], domain)


def _in_units(original: pd.DataFrame, column: str, domain: Domain) -> tuple[Ints, Fraction]:
    """Values above the minimum as whole numbers of a unit, which is the largest that allows it."""
    given = numbers(original, column, "the original")
    check_inside(given, domain, column)
    low = exact(domain.minimum)
    distinct, inverse = np.unique(given, return_inverse=True)
    above = [exact(value) - low for value in distinct.tolist()]
    width = exact(domain.maximum) - low
    denominator = lcm(width.denominator, *(each.denominator for each in above))
    whole = [int(each * denominator) for each in above]
    divisor = gcd(int(width * denominator), *whole) or 1
    unit = Fraction(divisor, denominator)
    if width / unit * len(given) > _LARGEST_TOTAL:
        raise InvalidInput(f"{column} has too many decimal places for exact sums; round it first")
    return np.array([each // divisor for each in whole], dtype=np.int64)[inverse], unit
