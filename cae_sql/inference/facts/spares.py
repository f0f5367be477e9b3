"""Spare records: what is told as an end or a range is an exact answer about some more records than are asked.

"The sum over G is at most b" says that there are values y of m further records inside of the domain with
Σ_G x + Σ y = b, if m records can make up for what there may be between. "At least b" is Σ_G x − Σ y = b;
"max(S) is at most b" is max(S and some more) = b, which one of those more may attain; "min(S) is at least b"
likewise. Spare records are nobody's: they need keep no run, and none of them is an insider. They are numbered
behind records and lumps, in the order of the answers that use them.

Source: `mathematics.md`, 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cae_sql.inference.facts.query import Query

MOST = 1_000
"""Spare records of one answer: an end is told where little is left between it and what is possible."""
ATTAINING = 4
"""Spare records that may attain an extreme in place of records that are asked about: more than are held."""


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


def end_of(query: Query, side: int, room: int, top: int, first: int, most: float = MOST) -> Query | None:
    """The query that has the exact answer b where a sum or an extreme is at most b (1), or at least b (-1).

    None where there is no such end: of a minimum that is at most b, a maximum that is at least b, a sum with
    coefficients other than 1 and −1, or one that `most` spare records do not make up for. `room` are the
    units between b and what the sum may be furthest on its other side, `top` the greatest value of a record,
    `first` the first spare record that no answer uses.
    """
    if query.kind != "sum":
        if query.kind != ("max" if side == 1 else "min"):
            return None
        return replace(query, members=np.append(query.members, np.arange(first, first + ATTAINING)))
    if room < 0 or top < 1 or (np.abs(query.signs) != 1).any():
        return None
    count = max(1, -(-room // top))
    if count > most:
        return None
    members = np.append(query.members, np.arange(first, first + count))
    signs = np.append(query.signs, np.full(count, side, dtype=np.int64))
    plain = bool((signs == 1).all())
    return Query(kind="sum", members=members, coefficients=None if plain else signs, factor=query.factor)
