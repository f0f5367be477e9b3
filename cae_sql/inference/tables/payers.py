"""Payers: a basis of roomy parts, and the helpers that make its kernel moves shorter.

A basic part pays what another part gains. Where it has little room, a helper's own column is added, so that
others pay in its place (`cae_sql.inference.tables.kernel_moves`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.columns import Columns
from cae_sql.inference.tables.roomy_table import basis_of, columns_in

HELPERS = 2_000
"""Helpers whatever sums they are in, the roomiest."""
ENOUGH = 8
"""Whole domains that helpers of one sum shall be able to move together."""


class Payers(NamedTuple):
    """A basis of k parts, and h helpers."""

    basic: Ints
    """(k,) parts."""
    parts: Ints
    """(k + h,) the basic ones, then the helpers."""
    inverse: NDArray[np.float32]
    """(k, k) of the basic parts' coefficients."""
    columns: Columns
    """(k, h) of the helpers."""


NOBODY = Payers(
    np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 0), np.float32), np.zeros((0, 0), np.int8)
)
"""Where moves that are kept pay by themselves."""


def payers(
    marks: Columns, able: NDArray[np.bool_], taken: NDArray[np.bool_], room: Ints, widest: int
) -> Payers | None:
    """The roomiest basis, and helpers; None where there is no basis with pivots of ±1.

    Args:
        marks: (p', k) the parts' coefficients.
        able: (p',) parts that may help.
        taken: (p',) parts that may not be basic.
        room: (p',) how far each part can go to its nearer side.
        widest: The widest box of a record.
    """
    found = basis_of(marks, taken, room)
    if found is None:
        return None
    basic, inverse = found
    others = np.setdiff1d(np.flatnonzero(able), basic)
    helpers = _helpers(marks, others, room[others], ENOUGH * widest)
    columns = columns_in(marks[helpers], inverse)
    if columns is None:
        helpers, columns = helpers[:0], np.zeros((0, len(basic)), dtype=np.int8)
    return Payers(basic, np.concatenate([basic, helpers]), inverse, np.ascontiguousarray(columns.T))


def _helpers(marks: Columns, able: Ints, room: Ints, enough: int) -> Ints:
    """Of some parts (a,): all if few, or the roomiest (a,) of everybody and of each sum (p', k).

    Those of one sum shall be able to move as far as is enough together, if there are so many.
    """
    if len(able) <= HELPERS:
        return able
    chosen = np.zeros(len(able), dtype=np.bool_)
    order = np.argsort(-room, kind="stable")
    chosen[order[:HELPERS]] = True
    for column in marks[able[order]].T:
        theirs = order[np.flatnonzero(column)]
        chosen[theirs[np.cumsum(room[theirs]) <= enough]] = True
    return able[chosen]
