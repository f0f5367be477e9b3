"""Statistics that ranges alone are told of, in the system's terms: from SQL's, and from the ledger's."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np

from auditor.ledger import KnownAnswer
from auditor.sql.statement import Interval, Statistic
from cae_sql.inference.facts.query import Grid, Ints, Query, Region
from cae_sql.inference.system import AnsweredSystem


def statistic(asked: Statistic, records: Ints, grid: Grid, weights: Ints | None = None) -> Query:
    """What is asked of some records; of a weighted sum with these weights."""
    if asked.kind == "weighted":
        return Query(kind="weighted", members=records, coefficients=weights)
    if asked.kind == "spread":
        return Query(kind="spread", members=records)
    if asked.kind == "count":
        return Query(kind="count", members=records, region=_region(asked.region, grid))
    place = asked.fraction * (len(records) - 1)
    if asked.continuous:
        first = floor(place)
        return Query(kind="quantile", members=records, ranks=(first, ceil(place)), part=place - first)
    # the first value up to which there are enough
    rank = max(ceil(asked.fraction * len(records)) - 1, 0)
    return Query(kind="quantile", members=records, ranks=(rank, rank))


def _region(intervals: tuple[Interval, ...], grid: Grid) -> Region:
    found, top = list[tuple[int, int]](), int(grid.top)
    for each in intervals:
        low, high = 0, top
        if each.least is not None:
            units = grid.to_units(each.least)
            low = ceil(units) if each.least_counts else floor(units) + 1
        if each.most is not None:
            units = grid.to_units(each.most)
            high = floor(units) if each.most_counts else ceil(units) - 1
        low, high = max(low, 0), min(high, top)
        if low > high:
            continue
        if found and found[-1][1] + 1 >= low:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return tuple(found)


def public_count(query: Query, grid: Grid) -> int | None:
    """A count that the domain alone settles, of all values or of none; the spread of one value."""
    if query.kind == "spread":
        return 0 if len(query.members) == 1 else None
    if query.kind != "count":
        return None
    if not query.region:
        return 0
    return len(query.members) if query.region == ((0, int(grid.top)),) else None


def detail(query: Query) -> str:
    """Which statistic, as the ledger keeps it: `KnownAnswer.detail`."""
    if query.kind == "count":
        return " ".join(f"{low}..{high}" for low, high in query.region)
    if query.kind == "weighted":
        assert query.coefficients is not None
        return " ".join(map(str, query.coefficients.tolist()))
    if query.kind == "spread":
        return ""
    return f"{query.ranks[0]} {query.ranks[1]} {query.part}"


def query_of(answer: KnownAnswer, system: AnsweredSystem) -> Query:
    """What an answer of the ledger is about."""
    if answer.asked == "count":
        pairs = (each.split("..") for each in answer.detail.split())
        region = tuple((int(low), int(high)) for low, high in pairs)
        return Query(kind="count", members=answer.records, region=region)
    if answer.asked == "weighted":
        weights = np.array(answer.detail.split(), dtype=np.int64)
        return Query(kind="weighted", members=answer.records, coefficients=weights)
    if answer.asked == "spread":
        return Query(kind="spread", members=answer.records)
    if answer.asked == "quantile":
        first, second, part = answer.detail.split()
        ranks = int(first), int(second)
        return Query(kind="quantile", members=answer.records, ranks=ranks, part=Fraction(part))
    return system.query(answer.asked, answer.records, answer.signs)
