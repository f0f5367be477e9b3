"""Spare records: what is told as an end or a range is an exact answer about some more records than are asked.

"The sum over G is at most b" says that there are values y of m further records inside of the domain with
Σ_G x + Σ y = b, if m records can make up for what there may be between. "At least b" is Σ_G x − Σ y = b;
"max(S) is at most b" is max(S and some more) = b, which one of those more may attain; "min(S) is at least b"
likewise. So tables, bases and extremes serve ends as they are. Spare records are nobody's: they need keep no
run, and none of them is an insider.

Spare records have numbers from the system's size on, behind lumps if there are any, in the order of the
answers that use them.

Source: `mathematics.md`, 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cae_sql.inference.facts.query import Kind, Query

MOST = 1_000
"""Spare records of one answer. An end is told where little is left between it and what is possible, so few
are needed; where more would be, there is no such end."""
ATTAINING = 4
"""Spare records that may attain an extreme in place of those who are asked about: more than are ever held."""


def with_spares(size: int, answers: Sequence[Query]) -> int:
    """Number of records (and lumps, where `size` counts them), with the spare ones that answers are about."""
    return max([size, *(int(answer.members[-1]) + 1 for answer in answers)])


def own(query: Query, size: int) -> Query:
    """What was asked, without spare records."""
    kept = int(np.searchsorted(query.members, size))
    if kept == len(query.members):
        return query
    signs = None if query.coefficients is None else query.coefficients[:kept]
    plain = signs is None or bool((signs == 1).all())
    return replace(query, members=query.members[:kept], coefficients=None if plain else signs)


def at_most(query: Query, units: int, top: int, first: int, least: int) -> Query | None:
    """The query that has the exact answer `units` where a sum's or a maximum's is at most that.

    None where there is no such end: of a minimum, of a sum with coefficients other than 1 and −1, or of one
    that may be further below than spare records make up for. `top` is the greatest value of a record, `first`
    the first spare record that no answer uses, `least` what the domain allows the sum to be at least.
    """
    if query.kind != "sum":
        return _beside(query, "max", first)
    return _with(query, units - least, 1, top, first)


def at_least(query: Query, units: int, top: int, first: int, most: int) -> Query | None:
    """As `at_most`, of a sum or a minimum that is at least `units`."""
    if query.kind != "sum":
        return _beside(query, "min", first)
    return _with(query, most - units, -1, top, first)


def within(query: Query, low: int, high: int, top: int, first: int) -> tuple[Query, int] | None:
    """A sum between two ends: the query whose exact answer is `high`, and the least that this leaves.

    That least is at or below `low`: so many spare records as fill the range make up for whole domains.
    """
    if query.kind != "sum":
        return None
    found = _with(query, high - low, 1, top, first)
    if found is None:
        return None
    return found, high - top * (len(found.members) - len(query.members))


def between(query: Query, low: int, high: int, top: int, first: int) -> tuple[Query, Query] | None:
    """A sum between two ends: the queries whose exact answers are `high` and `low`, however many spare
    records it takes. None where its coefficients are others than 1 and −1."""
    most = _with(query, high - low, 1, top, first, many=True)
    if most is None:
        return None
    least = _with(query, high - low, -1, top, int(most.members[-1]) + 1, many=True)
    return None if least is None else (most, least)


def _with(query: Query, room: int, sign: int, top: int, first: int, many: bool = False) -> Query | None:
    """A sum and as many spare records as fill a room of so many units, with a sign."""
    signs = np.ones(len(query.members), dtype=np.int64) if query.coefficients is None else query.coefficients
    if room < 0 or top < 1 or (np.abs(signs) != 1).any():
        return None
    count = max(1, -(-room // top))
    if count > MOST and not many:
        return None
    members = np.append(query.members, np.arange(first, first + count))
    signs = np.append(signs, np.full(count, sign, dtype=np.int64))
    plain = bool((signs == 1).all())
    return Query(kind="sum", members=members, coefficients=None if plain else signs, factor=query.factor)


def _beside(query: Query, kind: Kind, first: int) -> Query | None:
    """An extreme that spare records may attain too."""
    if query.kind != kind:
        return None
    return replace(query, members=np.append(query.members, np.arange(first, first + ATTAINING)))
