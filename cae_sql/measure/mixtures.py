"""Algorithm 2 for many classes at once: intervals of each class's records to its candidate distribution."""

from __future__ import annotations

import numpy as np

from cae_sql.candidates import Spans, spans
from cae_sql.compiled import compiled
from cae_sql.domain import Domain
from cae_sql.errors import InvalidInput
from cae_sql.measure.rows import Flags, Floats, Ints, Lists

LARGEST_DOMAIN = 1_000_000
"""A domain of more values is not written out for each class."""
LARGEST_RESULT = 50_000_000
"""Candidates of all classes together: more than a gigabyte while they are computed."""


@compiled(error_model="numpy")
def _mixtures(begin: Ints, end: Ints, first: Ints, count: Ints, counts: Ints) -> tuple[Ints, Floats]:
    """Average of the uniform distributions over runs begin[r] … end[r] − 1, for each row r, flat."""
    numbers, shares = np.empty(1024, np.int64), np.empty(1024)
    used = 0
    for r in range(begin.size):
        counts[r] = 0
        if begin[r] == end[r]:
            continue
        runs_first, runs_count = first[begin[r] : end[r]], count[begin[r] : end[r]]
        origin = runs_first.min()
        size = int((runs_first + runs_count).max() - origin)
        # Which numbers are covered is counted in integers: differences of fractions leave crumbs.
        cover, rise = np.zeros(size + 1, np.int64), np.zeros(size + 1)
        for k in range(runs_first.size):
            a = runs_first[k] - origin
            cover[a] += 1
            cover[a + runs_count[k]] -= 1
            rise[a] += 1.0 / runs_count[k]
            rise[a + runs_count[k]] -= 1.0 / runs_count[k]
        if used + size > numbers.size:
            numbers = np.concatenate((numbers, np.empty(numbers.size + size, np.int64)))
            shares = np.concatenate((shares, np.empty(shares.size + size)))
        covered, share = 0, 0.0
        for k in range(size):
            covered += cover[k]
            share += rise[k]
            if covered > 0:
                numbers[used + counts[r]] = origin + k
                shares[used + counts[r]] = share
                counts[r] += 1
        part = shares[used : used + counts[r]]
        part /= part.sum()
        used += counts[r]
    return numbers[:used], shares[:used]


def mixtures(
    lower: Lists, upper: Lists, domain: Domain, live: Flags, most: int
) -> tuple[Floats, Floats, Ints]:
    """What an intruder believes about each class (`cae_sql.candidates`).

    Args:
        lower: (n,) lists of the records' lower bounds.
        upper: (n,) lists of their upper bounds.
        domain: The grid; every interval lies inside it.
        live: (n,) which rows are wanted.
        most: How many candidates all rows together may have.

    Returns:
        values and probabilities, flat, and (n + 1,) where each row's begin; a row that is not live has none.

    Raises:
        InvalidInput: names the row and what is wrong with it; `.position` is the row.
    """
    rows = np.flatnonzero(live)
    if not rows.size:
        return np.empty(0), np.empty(0), np.zeros(live.size + 1, np.int64)
    if domain.count > LARGEST_DOMAIN:
        raise InvalidInput(
            f"row {rows[0]}: a domain of {domain.count:,} values is too fine to be written out; "
            f"take a larger step, for at most {LARGEST_DOMAIN:,}",
            int(rows[0]),
        )
    lengths = (lower.end - lower.begin)[rows]
    same = np.array_equal(lengths, (upper.end - upper.begin)[rows]) and bool(np.all(lengths > 0))
    try:
        if not same:
            raise InvalidInput("some row's lists are empty, or of different lengths")
        found = spans(_flat(lower, rows), _flat(upper, rows), domain)
    except InvalidInput:
        for row in rows.tolist():  # again, one by one, for its words and its place
            try:
                spans(lower[row], upper[row], domain)
            except InvalidInput as error:
                raise InvalidInput(f"row {row}: {error}", row) from error
        raise  # pragma: no cover -- what is wrong in all is wrong in one
    begin = np.zeros(live.size, np.int64)
    end = np.zeros(live.size, np.int64)
    end[rows] = np.cumsum(lengths)
    begin[rows] = end[rows] - lengths
    _check_room(found, begin[rows], rows, most)
    counts = np.zeros(live.size, np.int64)
    numbers, shares = _mixtures(begin, end, found.first, found.count, counts)
    return domain.values[numbers], shares, np.concatenate([[0], np.cumsum(counts)])


def _check_room(found: Spans, begin: Ints, rows: Ints, most: int) -> None:
    """Refuse what would not fit into memory.

    Raises:
        InvalidInput: names the row with which it becomes too much.
    """
    least = np.minimum.reduceat(found.first, begin)
    room = np.cumsum(np.maximum.reduceat(found.first + found.count, begin) - least)
    if room[-1] > most:
        row = int(rows[np.searchsorted(room, most, side="right")])
        raise InvalidInput(
            f"row {row}: with this one the rows have too many candidates to hold; take a larger step",
            row,
        )


def _flat(lists: Lists, rows: Ints) -> Floats:
    """The items of these rows, one after the other."""
    begin, end = lists.begin[rows], lists.end[rows]
    if np.array_equal(begin[1:], end[:-1]):
        return lists.items[begin[0] : end[-1]]
    return np.concatenate([lists[row] for row in rows.tolist()])
