"""What answers would leave at most: an upper limit of every run, by bounds that nobody has to search for.

Promise: where `narrowest` says w, somebody keeps no value beyond w units from their least one in any table,
to an insider if there is one. So no judgement shows more than w: a refusal by it is the one that a search
would come to. Nothing is said where it finds nothing.

Why that holds. Take a combination of sums that were answered or are asked, all coefficients 0, 1 or −1, over
the records S. Every table that agrees has Σ_S y = b, y being c or −c, y_i between e_i and e_i + d_i. What the
others leave to i is d_i at most, and

    width_i <= min(d_i, below) + min(d_i, above) − d_i,   below = b − Σ e,   above = Σ (e + d) − b,

since y_i <= e_i + below and y_i >= e_i + d_i − above. An insider j in S with y_j = e_j + u takes u from
`below` and d_j − u from `above`, for everybody else. A value that counts for an insider is one that j has in
a world that gives the answers, or in one that exchanges between records of one part make of it: it is
possible, so a judgement must show everybody a run with it too. In d_i and in u the right side is concave, so
its least is at the least or the greatest of them.

An extreme that one record alone can attain is that record's value; where two can, an insider who is one of
them and has another value in some world knows the other's.

Sources: `mathematics.md`, 2 (intervals) and 4; for one sum, `cae_sql.inference.intervals.presolve`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints, Query

CELLS = 4_000_000
"""Entries of sums that are compared, at most: some milliseconds. A basis' combinations serve beyond that."""
SUPPORT = 256
"""Records in a difference of two sums, at most: more hardly ever leave each other little."""

Coefficients = NDArray[np.signedinteger]


@dataclass(frozen=True, eq=False)
class Row:
    """A combination of answered and asked sums with coefficients 0, 1 and −1, over parts."""

    parts: Ints
    """(a,) those in it."""
    signs: Ints
    """(a,) 1 or −1."""
    place: int | None = None
    """Of the query that it is; None of others: what they come to is the same in all worlds of an answer."""


def rows_of(
    boxes: Knowledge, queries: Sequence[Query], past: Coefficients, reduced: Coefficients
) -> list[Row]:
    """The asked sums, and combinations that few records are in: with past sums (k, p), and others (r, p)."""
    few = list(reduced)
    if any(query.kind != "sum" for query in queries):
        few += list(past)  # where boxes become narrower, past sums may leave less than before
    asked, found, left = list[Coefficients](), list[Row](), CELLS
    for place, query in enumerate(queries):
        if query.kind != "sum":
            continue
        mine = boxes.atoms.row(query)
        for others in (past, np.array(asked)):
            left -= 2 * others.size
            if others.size and left >= 0:
                few += _of_few(others, mine, boxes.sizes)
        asked.append(mine)
        found.append(Row(*_parts(mine), place))
    few = [each for each in few if int(np.abs(each) @ boxes.sizes) <= SUPPORT]
    rows = [*found, *(Row(*_parts(each)) for each in few)]
    return [row for row in rows if np.abs(row.signs).max() == 1]


def _of_few(others: Coefficients, mine: Ints, sizes: Ints) -> list[Coefficients]:
    """Differences and sums of a sum and others that share so much that no more are left than are in one."""
    most, found = np.maximum(np.abs(others) @ sizes, np.abs(mine) @ sizes), list[Coefficients]()
    for mixed in (others - mine, others + mine):
        count = np.abs(mixed) @ sizes
        found += list(mixed[(count > 0) & (count <= np.minimum(most, SUPPORT))])
    return found


def _parts(coefficients: Coefficients) -> tuple[Ints, Ints]:
    parts = np.flatnonzero(coefficients)
    return parts, coefficients[parts].astype(np.int64)


def narrowest(
    boxes: Knowledge,
    rows: Sequence[Row],
    answers: Sequence[int],
    worlds: NDArray[np.integer],
    insiders: int,
    exchanged: bool = True,
) -> int:
    """Greatest width in units that the record with the shortest run can keep, with some answers known.

    Args:
        boxes: The parts, with the boxes and extremes that the answers leave.
        rows: See `rows_of`.
        answers: One for each query, in units.
        worlds: (w, n) tables that agree with past answers and give these.
        insiders: 0 or 1 individuals who know their own value.
        exchanged: Whether what records of one part exchange leaves tables that agree: not where something
            else than sums and extremes was told.
    """
    least = boxes.narrowest
    fixed = np.full(boxes.count, not exchanged)
    for extreme in boxes.extremes:
        fixed[boxes.able(extreme)] = True
    for extreme in boxes.extremes:
        able = boxes.able(extreme)
        if not boxes.protected[able].all():
            continue
        count = int(boxes.sizes[able].sum())
        if count == 1 or (count == 2 and insiders and _told_apart(boxes, able, extreme.value, worlds)):
            return 0
    for row in rows:
        if least <= 0:
            break
        least = min(least, _left(boxes, row, _value(boxes, row, answers, worlds), worlds, insiders, fixed))
    return max(least, 0)


def _value(boxes: Knowledge, row: Row, answers: Sequence[int], worlds: NDArray[np.integer]) -> int:
    if row.place is not None:
        return answers[row.place]
    signs = np.repeat(row.signs, boxes.sizes[row.parts])
    return int(signs @ worlds[0, _members(boxes, row.parts)].astype(np.int64))


def _told_apart(boxes: Knowledge, able: Ints, value: int, worlds: NDArray[np.integer]) -> bool:
    """Whether one of two records that can attain an extreme has another value in some world."""
    return bool((worlds[:, _members(boxes, able)] != value).any())


def _members(boxes: Knowledge, parts: Ints) -> Ints:
    """The records of some parts, part by part."""
    order, firsts = boxes.members
    if len(parts) == 1:
        return order[firsts[parts[0]] : firsts[parts[0] + 1]]
    found: Ints = np.concatenate([order[firsts[part] : firsts[part + 1]] for part in parts.tolist()])
    return found


def _left(
    boxes: Knowledge, row: Row, value: int, worlds: NDArray[np.integer], insiders: int,
    fixed: NDArray[np.bool_],
) -> int:  # fmt: skip
    """The most that one combination leaves to the record that has least of it."""
    parts, sizes = row.parts, boxes.sizes[row.parts]
    low, high = (each[parts] for each in boxes.own)
    span, theirs = high - low, boxes.protected[parts]
    if not theirs.any():
        return boxes.narrowest
    # what the members have together above their least values, and below their greatest ones
    below = value - int((sizes * np.where(row.signs > 0, low, -high)).sum())
    above = int((sizes * span).sum()) - below
    widest = int(span.max())
    if min(below, above) >= 2 * widest:
        return int(span[theirs].min())
    least = int(_widths(np.unique(span[theirs]), below, above).min())
    if not insiders or least <= 0 or not theirs.all() or int(sizes.sum()) < 2:
        return least  # with spare records among them nothing is said of what insiders know
    lowest, highest = _taken(boxes, row, worlds, fixed[parts])
    ordered = np.sort(np.repeat(span, np.minimum(sizes, 2)))
    # of the others, without the insider himself
    fewest = np.where(span == ordered[0], ordered[1], ordered[0])
    most = np.where(span == ordered[-1], ordered[-2], ordered[-1])
    for taken in (lowest, highest):  # what is left is concave in it too
        left, right = below - taken, above - (span - taken)
        least = min(least, *(int(_widths(each, left, right).min()) for each in (fewest, most)))
    return least


def _taken(
    boxes: Knowledge, row: Row, worlds: NDArray[np.integer], fixed: NDArray[np.bool_]
) -> tuple[Ints, Ints]:
    """(w, a) the least and the most that one member of a part takes of a combination, part by part.

    Not in the worlds alone: what two of a part exchange no sum tells, so there are tables in which one of
    them has all that the others can give. Not of fixed parts (a,), such as may lose an extreme by it.
    """
    parts, sizes = row.parts, boxes.sizes[row.parts]
    low, high = (each[parts] for each in boxes.own)
    span, firsts, up = high - low, np.cumsum(sizes) - sizes, row.signs > 0
    values = worlds[:, _members(boxes, parts)].astype(np.int64)
    totals = np.add.reduceat(values, firsts, axis=1) - sizes * low
    least = np.maximum(totals - (sizes - 1) * span, 0)
    most = np.minimum(totals, span)
    if fixed.any():
        least = np.where(fixed, np.minimum.reduceat(values, firsts, axis=1) - low, least)
        most = np.where(fixed, np.maximum.reduceat(values, firsts, axis=1) - low, most)
    return np.where(up, least, span - most), np.where(up, most, span - least)


def _widths(span: Ints, below: Ints | int, above: Ints | int) -> Ints:
    widths: Ints = np.minimum(span, below) + np.minimum(span, above) - span
    return widths
