"""Which answered sums are independent, and whether the others agree with them: exact, on few of the columns.

Whether a sum hangs on others is seen on some of the columns; that it does is then checked on all of them, in
whole numbers, and where it does not, a column that tells is looked at too. So systems of a million atoms and
some hundred sums need no elimination of their size.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.errors import InconsistentAnswers
from cae_sql.inference.facts.atoms import Atoms
from cae_sql.inference.facts.basis import eliminate, tableau_of
from cae_sql.inference.facts.query import Ints, Query

FIRST = 1_000
"""Columns that are looked at to begin with, the roomiest; more where there are many sums."""
CHUNK = 50_000
"""Columns that are checked at once."""


def coefficients_of(atoms: Atoms, sums: Sequence[Query]) -> NDArray[np.signedinteger]:
    """(k, p) the sums over the atoms, in the smallest whole numbers that hold them."""
    largest = max((int(np.abs(s.coefficients).max()) for s in sums if s.coefficients is not None), default=1)
    matrix = np.zeros((len(sums), atoms.count), dtype=np.min_scalar_type(-largest - 1))
    for place, answer in enumerate(sums):
        atoms.fill_row(answer, matrix[place])
    return matrix


def independent_sums(
    matrix: NDArray[np.signedinteger], values: Ints, room: NDArray[np.float64], slack: int = 0
) -> Ints:
    """Rows that are independent, as many as there are; the others follow from them.

    Args:
        matrix: (k, p) the sums over the atoms.
        values: (k,) their right-hand sides.
        room: (p,) how far each atom can move: of what is roomy is looked at first.
        slack: How far the right-hand side of a sum may be from what others say it is.

    Raises:
        InconsistentAnswers: a sum that follows from others has another right-hand side than they say.
    """
    rows, count = matrix.shape
    most = max(FIRST, 4 * rows)
    looked_at = _roomiest(room, most)
    while len(looked_at) < count:
        pending, basic = np.ones(rows, dtype=np.bool_), np.full(rows, -1, dtype=np.int64)
        entries = np.zeros((rows, len(looked_at) + 1), dtype=np.int64)
        entries[:, :-1] = matrix[:, looked_at]
        if eliminate(entries, pending, room[looked_at], basic) and not entries[pending].any():
            kept, rest = np.flatnonzero(~pending), np.flatnonzero(pending)
            weights = _weights(matrix, kept, rest, looked_at[basic[kept]])
            if weights is not None:
                telling = _telling(matrix, kept, rest, weights)
                if not len(telling):
                    _agree(weights, values[kept], values[rest], slack)
                    return kept
                looked_at = np.union1d(looked_at, telling)
                continue
        most *= 4  # among these are no pivots of ±1 for all
        looked_at = np.union1d(looked_at, _roomiest(room, most))
    found = tableau_of(matrix, values, room, slack)
    # where entries grow too large to tell, all are kept
    return np.arange(rows) if found is None else found[2]


def _roomiest(room: NDArray[np.float64], most: int) -> Ints:
    if most >= len(room):
        return np.arange(len(room))
    found: Ints = np.sort(np.argpartition(-room, most - 1)[:most])
    return found


def _weights(
    matrix: NDArray[np.signedinteger], kept: Ints, rest: Ints, columns: Ints
) -> NDArray[np.int64] | None:
    """(d, r) what of the independent rows each other one is, as far as some columns say; exact."""
    square = matrix[np.ix_(kept, columns)].astype(np.float64)
    wanted = matrix[np.ix_(rest, columns)].astype(np.int64)
    found = np.rint(np.linalg.solve(square.T, wanted.T.astype(np.float64)).T)
    # floats found it, whole numbers check it
    if not np.isfinite(found).all() or np.abs(found).max(initial=0) > 2**30:
        return None
    weights: NDArray[np.int64] = found.astype(np.int64)
    return weights if (weights @ square.astype(np.int64) == wanted).all() else None


def _telling(matrix: NDArray[np.signedinteger], kept: Ints, rest: Ints, weights: NDArray[np.int64]) -> Ints:
    """For each row that is not what the weights say the first column that shows it."""
    found: list[int] = []
    bound = int(np.abs(weights).sum(axis=1).max(initial=0)) + 1
    largest = max(int(matrix.max(initial=0)), -int(matrix.min(initial=0)))
    kind = np.float64 if bound * largest < 2**53 else np.int64
    first, width = 0, FIRST
    while len(rest) and first < matrix.shape[1]:
        chunk = matrix[:, first : first + width]
        wrong = (weights.astype(kind) @ chunk[kept].astype(kind)) != chunk[rest]
        told = wrong.any(axis=1)
        found += (first + wrong[told].argmax(axis=1)).tolist()
        rest, weights = rest[~told], weights[~told]
        # most that is none shows it soon
        first, width = first + width, min(2 * width, CHUNK)
    return np.unique(np.array(found, dtype=np.int64))


def _agree(weights: NDArray[np.int64], kept: Ints, rest: Ints, slack: int) -> None:
    """Whether right-hand sides are what the weights say."""
    off = weights.astype(object) @ kept.astype(object) - rest.astype(object)
    if any(abs(each) > slack for each in off):
        raise InconsistentAnswers("an answer contradicts the ones before it")


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
