"""Questions that single somebody out whatever the answer: refused without any table, solver or kernel.

Promise: where `singled_out` says so, past answers do not settle the question, and whatever is answered leaves
somebody one value. So each hypothetical answer would fail, and a refusal at once is the one that a decision
would come to: by `narrowest`, with width 0, where past answers are such as a gate gives, which have told
nobody's value and have pivots of 1. Nothing is said where it finds nothing.

Why that holds. A sum that is asked, or its difference with one that was answered or is asked beside it, over
one record gives that record's value; over two it gives either to the other. Where units have several records
it gives a sum over some of a unit's. It is news if a sum that is asked is no combination of those answered:
if least squares leave more of it than floats lose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.facts.atoms import Atoms
from cae_sql.inference.facts.lumps import NO_LUMPS
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.facts.repeated import MOST_ENTRIES
from cae_sql.inference.facts.spares import with_spares
from cae_sql.inference.facts.units import largest

FAR = 1e-6
"""Coefficients, 0 and ±1, by which a sum is no combination: of one floats leave some 10⁻¹²."""
LOOKED_AT = 10**8
"""Records times differences, at most: some milliseconds for each ten million."""


def singled_out(
    answers: Sequence[Query], queries: Sequence[Query], size: int, insiders: int, lumps: Ints = NO_LUMPS,
    units: Ints | None = None,
) -> bool:  # fmt: skip
    """Whether any answer to some sums would tell a value to somebody.

    Records from `size` on are nobody's: lumps, of combinations with which nothing is said, and spare ones.
    """
    whole = with_spares(size + len(lumps), [*answers, *queries])
    if any(each.kind != "sum" or not _plain(each.coefficients) for each in (*answers, *queries)):
        return False
    count = 2 if insiders else 1
    found = _combined(answers, queries, whole, largest(units, np.arange(size), count))
    of = np.arange(size) if units is None else units
    return any(_about(each, of, count) for each in found) and _new(answers, queries, whole)


def _plain(coefficients: Ints | None) -> bool:
    return coefficients is None or bool((np.abs(coefficients) == 1).all())


def _about(coefficients: NDArray[np.signedinteger], units: Ints, most: int) -> bool:
    """Whether a combination is over records of so few units, (n,), each of them once, and over no spare one;
    and of one of these adds them up."""
    records = np.flatnonzero(coefficients)
    if not len(records) or records[-1] >= len(units) or (np.abs(coefficients[records]) != 1).any():
        return False
    names, of = np.unique(units[records], return_inverse=True)
    ups, counts = np.bincount(of, coefficients[records] > 0), np.bincount(of)
    return len(names) <= most and bool(((ups == 0) | (ups == counts)).any())


def _combined(
    answers: Sequence[Query], queries: Sequence[Query], size: int, most: int
) -> Iterator[NDArray[np.signedinteger]]:
    """Coefficients of the asked sums, and of differences and sums with others that may leave few records."""
    for query in queries:
        if len(query.members) <= most:
            alone = np.zeros(size, dtype=np.int8)
            alone[query.members] = query.signs
            yield alone
    left = LOOKED_AT
    for place, query in enumerate(queries):
        for other in (*answers, *queries[:place]):
            left -= size
            if left < 0:
                return
            if abs(len(other.members) - len(query.members)) > most:
                continue
            for sign in (1, -1):
                mixed = np.zeros(size, dtype=np.int8)
                mixed[query.members] = 1 if query.coefficients is None else query.coefficients
                mixed[other.members] -= sign * (1 if other.coefficients is None else other.coefficients)
                yield mixed


def _new(answers: Sequence[Query], queries: Sequence[Query], size: int) -> bool:
    """Whether some asked sum is shown to be no combination of the answered ones."""
    atoms = Atoms(size)
    for each in (*answers, *queries):
        atoms.refine(each)
        if atoms.count * (len(answers) + len(queries)) > MOST_ENTRIES:
            return False
    rows = np.array([atoms.row(each) for each in (*answers, *queries)], dtype=np.float64)
    told, asked = rows[: len(answers)], rows[len(answers) :]
    left = asked - np.linalg.lstsq(told.T, asked.T, rcond=None)[0].T @ told
    return bool((np.abs(left) > FAR).any())
