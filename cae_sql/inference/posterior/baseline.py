"""What the answers say of everybody: the part of them that is about the whole table.

The baseline of risk under the model `exact` is what it makes of this part alone. It depends on
what is known and not on how it was asked: a total that follows from the totals of two halves is part of it,
so that asking for it, which teaches nothing, changes no risk.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from cae_sql.inference.facts.basis import tableau_of
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Answer, Kind, Query
from cae_sql.inference.intervals.fixed_point import solved
from cae_sql.inference.posterior.weights import Ints
from cae_sql.inference.system import AnsweredSystem


def about_everybody(system: AnsweredSystem) -> list[Answer]:
    """The sum, maximum and minimum over all records, those of them that the answers tell or imply.

    Raises:
        InconsistentAnswers: a sum contradicts others, or boxes are empty.
    """
    answers = system.answers
    found = solved(system.size, system.grid, answers, range(len(answers)), 1, lumps=system.lumps)
    weights, told = total_weights(found.known), extremes_of_everybody(found.known)
    if weights is not None:
        told = [("sum", int(weights @ found.sums)), *told]
    everybody = np.arange(system.first_spare)
    return [Query(kind=kind, members=everybody).answered(Fraction(value)) for kind, value in told]


def extremes_of_everybody(known: Knowledge) -> list[tuple[Kind, int]]:
    """The maximum and minimum over all records, in units, those of them that are settled."""
    if not (known.extremes or known.implied):
        return []
    everybody = np.arange(known.atoms.real)
    kinds: tuple[Kind, ...] = ("max", "min")
    values = [(kind, known.forced_extreme(Query(kind=kind, members=everybody))) for kind in kinds]
    return [(kind, value) for kind, value in values if value is not None]


def total_weights(known: Knowledge) -> Ints | None:
    """(k,) whole multiples of the independent sums that add up to the sum over all records.

    None where there are none: with rows that have no ±1 the total may follow from the sums and still count as
    not known, the safe side.
    """
    matrix = known.matrix
    if not len(matrix):
        return None
    room = (known.sizes * (known.high - known.low)).astype(np.float64)
    reduced = tableau_of(matrix, np.zeros(len(matrix), dtype=np.int64), room)
    if reduced is None or len(reduced[0].stuck):
        return None
    basic = reduced[0].basic
    square = matrix[:, basic].astype(np.float64)
    if square.shape[0] != square.shape[1]:
        return None
    # floats find them, whole numbers check them
    wanted = known.atoms.protected.astype(np.int64)  # spare records are nobody's
    found = np.rint(np.linalg.solve(square.T, wanted[basic].astype(np.float64)))
    if not np.abs(found).max(initial=0) < 2**30:
        return None
    weights: Ints = found.astype(np.int64)
    return weights if (weights @ matrix.astype(np.int64) == wanted).all() else None
