"""What was answered in so many words, and what is a sum and difference of answered sums.

Promise: a value that is given here follows from the answers, checked in whole numbers; where none is given,
nothing is said. No table, solver or compiled kernel is woken for it, so a question that was asked before is
answered in milliseconds by a process that has only just read the ledger. `Question.settled` says all that
answers settle.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.facts.atoms import Atoms
from cae_sql.inference.facts.query import Answer, Ints, Query
from cae_sql.inference.facts.spares import with_spares

MOST_ENTRIES = 100_000
"""Answered sums times atoms: up to here least squares take less time than the kernels do to be loaded."""
LARGEST = 2**20
"""Of multipliers; greater ones are not believed of floats."""


def repeated(answers: Sequence[Answer], queries: Sequence[Query], size: int) -> list[int | None]:
    """The values of queries, in units, as far as they can be told at a glance.

    Args:
        answers: What has been answered, on a grid.
        queries: What is asked.
        size: Number of records.
    """
    found = [_answered(answers, query) for query in queries]
    rest = [place for place, value in enumerate(found) if value is None and queries[place].kind == "sum"]
    sums = [each for each in answers if each.kind == "sum"]
    if rest and sums:
        for place, value in zip(rest, _combined(sums, [queries[each] for each in rest], size), strict=True):
            found[place] = value
    return found


def _answered(answers: Sequence[Answer], query: Query) -> int | None:
    """The value of one that was asked in the same words."""
    for answer in answers:
        if (
            answer.kind == query.kind
            and np.array_equal(answer.members, query.members)
            and _same(answer.coefficients, query.coefficients)
        ):
            return int(answer.value)
    return None


def _same(one: Ints | None, other: Ints | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)


def _combined(sums: Sequence[Answer], queries: Sequence[Query], size: int) -> list[int | None]:
    """The values of those that are whole multiples of answered sums, added up."""
    nothing: list[int | None] = [None] * len(queries)
    atoms = Atoms(with_spares(size, [*sums, *queries]))
    for each in (*sums, *queries):
        atoms.refine(each)
        if atoms.count * len(sums) > MOST_ENTRIES:
            return nothing
    told = np.array([atoms.row(each) for each in sums])
    asked = np.array([atoms.row(each) for each in queries])
    multipliers, agree = multiples(told, asked)
    values = [int(each.value) for each in sums]
    return [
        sum(by * value for by, value in zip(row, values, strict=True)) if known else None
        for row, known in zip(multipliers.tolist(), agree.tolist(), strict=True)
    ]


def multiples(told: Ints, asked: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Whole multipliers by which rows add up to others.

    Args:
        told: (k, p) the rows.
        asked: (q, p) the others.

    Returns:
        (q, k) multipliers, and (q,) whether they are right; where they are not, there may be others.
    """
    largest = max(int(np.abs(told).max()), int(np.abs(asked).max()))
    if largest * LARGEST * len(told) >= 2**62:
        return np.zeros((len(asked), len(told)), dtype=np.int64), np.zeros(len(asked), dtype=np.bool_)
    # floats find the multipliers, whole numbers check them
    guessed = np.rint(np.linalg.lstsq(told.T.astype(float), asked.T.astype(float), rcond=None)[0].T)
    guessed[~(np.abs(guessed) < LARGEST)] = 0
    found: Ints = guessed.astype(np.int64)
    return found, (found @ told == asked).all(axis=1)
