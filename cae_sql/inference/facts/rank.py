"""Which answered sums are independent, whether the others agree with them, and which atoms they connect.

A sum that `Span` takes for a combination of those before it is checked in fractions before it is left out, so
chance decides nothing: at worst a sum that follows is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.errors import InconsistentAnswers
from cae_sql.inference.facts.atoms import Atoms
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.facts.span import Span


def coefficients_of(atoms: Atoms, sums: Sequence[Query]) -> NDArray[np.signedinteger]:
    """(k, p) the sums over the atoms, in the smallest whole numbers that hold them."""
    largest = max((int(np.abs(s.coefficients).max()) for s in sums if s.coefficients is not None), default=1)
    matrix = np.zeros((len(sums), atoms.count), dtype=np.min_scalar_type(-largest - 1))
    for place, answer in enumerate(sums):
        atoms.fill_row(answer, matrix[place])
    return matrix


def independent_sums(matrix: NDArray[np.signedinteger], values: Ints, slack: int = 0) -> Ints:
    """Rows that are independent, as many as there are; the others follow from them.

    Args:
        matrix: (k, p) the sums over the atoms.
        values: (k,) their right-hand sides.
        slack: How far the right-hand side of a sum may be from what others say it is.

    Raises:
        InconsistentAnswers: a sum that follows from others has another right-hand side than they say.
    """
    span, taken, kept = Span(matrix.shape[1]), list[int](), list[int]()
    for row, coefficients in enumerate(matrix):
        members = np.flatnonzero(coefficients)
        query = Query(kind="sum", members=members, coefficients=coefficients[members].astype(np.int64))
        if span.take(query):
            taken.append(row)
            kept.append(row)
            continue
        terms = span.combination_of(query)
        if terms is None:
            kept.append(row)  # the fractions are too large to tell
            continue
        said = sum((weight * int(values[taken[place]]) for place, weight in terms), Fraction(0))
        if abs(said - int(values[row])) > slack:
            raise InconsistentAnswers("an answer contradicts the ones before it")
    return np.array(kept, dtype=np.int64)


@compiled(exact=True)
def join(root: Ints, atoms: Ints) -> None:
    """Let some atoms be of one component; `root` (p,) leads each to the least of its component so far."""
    for place in range(1, len(atoms)):
        one, two = atoms[0], atoms[place]
        while root[one] != one:
            root[one] = root[root[one]]
            one = root[one]
        while root[two] != two:
            root[two] = root[root[two]]
            two = root[two]
        root[max(one, two)] = min(one, two)


@compiled(exact=True)
def roots(root: Ints) -> Ints:
    """(p,) the least atom of each one's component."""
    found = np.empty_like(root)
    for atom in range(len(root)):
        # what leads here comes later
        found[atom] = atom if root[atom] == atom else found[root[atom]]
    return found
