"""Sums over query sets of one size: what somebody believes who has all answers and solves for each record.

The paper's queries: the records are shuffled; query set size Q = 2l; k = ⌊2n/Q⌋ − 1 sums, each over 2l
consecutive records, shifted by l. The answers leave each record a feasibility interval; each of the matching
records spreads its probability evenly over the values in its interval, and the records are averaged
(Algorithm 2). `restricted` is that, by `windows.py`; `answered` takes any query sets, by the exact intervals
of the gate (`AnsweredSystem.bounds`). Both give the same intervals where both apply. With
`likely` it is the mean of the records' posteriors: what answers make likely, not what they exclude.

Source: paper 000, Section 5 and Appendix, Query Restriction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from cae_sql.candidates import Spans, check_inside, spans
from cae_sql.compiled import compiled
from cae_sql.domain import Domain, exact, grid_values
from cae_sql.errors import InvalidInput
from cae_sql.releases.arguments import checked_domain, checked_sequence, shown
from cae_sql.releases.beliefs import Beliefs, Floats, Ints, check_room
from cae_sql.releases.drawing import generator
from cae_sql.releases.matching import check_known, classes_of, numbers
from cae_sql.releases.windows import intervals

if TYPE_CHECKING:
    import pandas as pd

    from cae_sql.inference.system import AnsweredSystem

_LARGEST_TOTAL = 2**61
_MOST_RECORDS = 10**9


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
    order = shuffled(len(original), query_set_size, seed)
    found = left_open(*in_units(original, column, domain), domain, order, query_set_size)
    return _beliefs(original, names, found, domain)


def left_open(values: Ints, unit: Fraction, domain: Domain, order: Ints, query_set_size: int) -> Spans:
    """The candidate values of each record after the paper's queries.

    Args:
        values: (n,) confidential values above the domain's minimum, in units.
        unit: In units of the column (`in_units`).
        domain: Which values are possible.
        order: (n,) the records as the queries take them (`shuffled`).
        query_set_size: Q.
    """
    origin = exact(domain.minimum)
    top = int((exact(domain.maximum) - origin) / unit)
    lower, upper = np.empty_like(values), np.empty_like(values)
    lower[order], upper[order] = intervals(values[order], query_set_size // 2, top)
    return spans(grid_values(lower, origin, unit), grid_values(upper, origin, unit), domain)


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
    certified: bool = False,
    likely: bool = False,
    epsilon: float | Fraction | None = None,
) -> pd.DataFrame:
    """The risk of answering sums over any query sets.

    Args:
        original: All records.
        column: The confidential column; its values lie between the domain's ends.
        known: What the intruder knows of the target.
        domain: Which values are possible.
        queries: Query sets, each as positions of records (from 0) or as a mask of all records.
        certified: Count of each interval only a run of values that the record takes in some table of whole
            steps, as the gate does. Intervals, the paper's reading, can be wide where a value is settled.
        likely: Not what the sums exclude, but what they make likely: of each record its posterior, all tables
            that agree with the sums alike (`AnsweredSystem.posterior`).
        epsilon: Approximate compromise range at which H is wanted too.

    Returns:
        The known columns, matches, initial_entropy, area and risk; see `Beliefs.frame`.

    Raises:
        InvalidInput: a table or query set that cannot be used; both `certified` and `likely`.
    """
    found = answered_beliefs(original, column, known, domain, queries, certified=certified, likely=likely)
    return found.frame(epsilon)


def answered_beliefs(
    original: pd.DataFrame,
    column: str,
    known: Sequence[str],
    domain: Domain,
    queries: Iterable[ArrayLike],
    *,
    certified: bool = False,
    likely: bool = False,
) -> Beliefs:
    """The candidate distributions behind `answered`; arguments and errors as there."""
    from cae_sql.inference.facts.members import members_of
    from cae_sql.inference.system import AnsweredSystem

    if certified and likely:
        raise InvalidInput("certified and likely are two readings of the same answers: choose one")
    names = check_known(original, column, known)
    values, unit = in_units(original, column, domain)
    system = AnsweredSystem(len(original), domain.minimum, domain.maximum, unit)
    for members in checked_sequence(queries, "queries"):
        chosen, _ = members_of(members, len(original))
        total = int(values[chosen].sum()) * unit + len(chosen) * exact(domain.minimum)
        system.add_sum(chosen, total)
    if likely:
        return _by_what_is_likely(original, names, system, domain)
    found = system.certified() if certified else system.bounds()
    return _beliefs(original, names, spans(found.lower, found.upper, domain), domain)


def _by_what_is_likely(
    original: pd.DataFrame, known: Sequence[str], system: AnsweredSystem, domain: Domain
) -> Beliefs:
    """The mean of the matching records' posteriors."""
    classes = classes_of(original, known)
    check_room(classes.count, domain)
    found = system.likelihood(domain)
    # whom no sum tells apart has one row; of a class some are in one, some in another
    shape, atoms = (classes.count, len(found.rows)), found.known.atoms.labels[: len(classes.labels)]
    shares = csr_array((1.0 / classes.members[classes.labels], (classes.labels, atoms)), shape)
    return Beliefs(classes.values, classes.members, shares @ found.rows, domain)


def shuffled(size: int, query_set_size: int, seed: int | Sequence[int]) -> Ints:
    """The order in which the records are put, after a look at the query set size.

    Raises:
        InvalidInput: a query set size that is odd, or larger than the table.
    """
    if isinstance(query_set_size, bool) or not isinstance(query_set_size, (int, np.integer)):
        raise InvalidInput(f"query_set_size must be a whole number, not {query_set_size!r}")
    if query_set_size < 2 or query_set_size % 2:
        raise InvalidInput(f"query_set_size must be even and at least 2, not {query_set_size}")
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)):
        raise InvalidInput(f"size must be a whole number, not {shown(size)}")
    if query_set_size > size:
        raise InvalidInput(f"query_set_size is {query_set_size}, but there are {size} records: no query fits")
    if size > _MOST_RECORDS:
        raise InvalidInput(f"{size:,} records are too many to be shuffled; at most {_MOST_RECORDS:,}")
    return generator(seed).permutation(size).astype(np.int64)


def averaged(first: Ints, count: Ints, labels: Ints, members: Ints, size: int) -> Floats:
    """Algorithm 2 for all classes: each record's probability is even over a run of the domain.

    Args:
        first: (n,) place of each record's least candidate value.
        count: (n,) how many it has.
        labels: (n,) class of each record.
        members: (k,) how many records each class has.
        size: |D|.

    Returns:
        (k, |D|) rows of sum 1.
    """
    totals = np.zeros((members.size, size))
    _add_runs(first, count, labels, totals)
    totals /= members[:, None]
    return totals


@compiled(error_model="numpy")
def _add_runs(first: Ints, count: Ints, labels: Ints, totals: Floats) -> None:
    for i in range(first.size):
        share = 1.0 / count[i]
        for place in range(first[i], first[i] + count[i]):
            totals[labels[i], place] += share


def _beliefs(original: pd.DataFrame, known: Sequence[str], left: Spans, domain: Domain) -> Beliefs:
    """Algorithm 2 over the matching records' candidate values."""
    classes = classes_of(original, known)
    check_room(classes.count, domain)
    p = averaged(left.first, left.count, classes.labels, classes.members, domain.count)
    return Beliefs(classes.values, classes.members, p, domain)


def in_units(original: pd.DataFrame, column: str, domain: Domain) -> tuple[Ints, Fraction]:
    """Values above the minimum as whole numbers of a unit, which is the largest that allows it.

    Raises:
        InvalidInput: values outside of the domain, or of so many decimal places that sums do not fit 64 bits.
    """
    checked_domain(domain)
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
