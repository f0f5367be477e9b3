"""What was answered in so many words, and what is a sum and difference of answered sums.

Promise: a value that is given here follows from the answers, checked in whole numbers; where none is given,
nothing is said. It needs no table, solver or compiled kernel, so a repeated question is answered in
milliseconds by a process that has only just read the ledger. `Question.settled` says all that answers settle.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.facts.atoms import Atoms
from cae_sql.inference.facts.query import Answer, Ints, Query
from cae_sql.inference.facts.rank import coefficients_of
from cae_sql.inference.facts.spares import with_spares

MOST_ENTRIES = 100_000
"""Answered sums times atoms: up to here least squares take less time than the kernels do to be loaded."""
LARGEST = 2**20
"""Of multipliers; greater ones are not believed of floats."""


def repeated(answers: Sequence[Answer], queries: Sequence[Query], size: int) -> list[int | None]:
    """The values of queries over so many records, in units, as far as answers on a grid say them at once."""
    found = [next((int(a.value) for a in answers if _same(a, query)), None) for query in queries]
    rest = [place for place, value in enumerate(found) if value is None and queries[place].kind == "sum"]
    sums = [each for each in answers if each.kind == "sum"]
    if rest and sums:
        for place, value in zip(rest, _combined(sums, [queries[each] for each in rest], size), strict=True):
            found[place] = value
    return found


def _same(one: Query, other: Query) -> bool:
    return len(one.members) == len(other.members) and one.name == other.name


def _combined(sums: Sequence[Answer], queries: Sequence[Query], size: int) -> list[int | None]:
    """The values of those that are whole multiples of answered sums, added up."""
    atoms = Atoms(with_spares(size, [*sums, *queries]))
    for each in (*sums, *queries):
        atoms.refine(each)
        if atoms.count * len(sums) > MOST_ENTRIES:
            return [None] * len(queries)
    told, asked = (coefficients_of(atoms, each).astype(np.int64) for each in (sums, queries))
    multipliers, agree = multiples(told, asked)
    values = [int(each.value) for each in sums]
    return [
        sum(by * value for by, value in zip(row, values, strict=True)) if known else None
        for row, known in zip(multipliers.tolist(), agree.tolist(), strict=True)
    ]


def multiples(told: Ints, asked: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Whole multipliers (q, k) by which rows `told` (k, p) add up to others, `asked` (q, p), and (q,) whether
    they are right; where they are not, there may be others.
    """
    largest = max(int(np.abs(told).max()), int(np.abs(asked).max()))
    if largest * LARGEST * len(told) >= 2**62:
        return np.zeros((len(asked), len(told)), dtype=np.int64), np.zeros(len(asked), dtype=np.bool_)
    # floats find the multipliers, whole numbers check them
    guessed = np.rint(np.linalg.lstsq(told.T.astype(float), asked.T.astype(float), rcond=None)[0].T)
    guessed[~(np.abs(guessed) < LARGEST)] = 0
    found: Ints = guessed.astype(np.int64)
    return found, (found @ told == asked).all(axis=1)
