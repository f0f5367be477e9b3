"""What the answers say of everybody: the part of them that is about the whole table.

The baseline of risk under the models `exact` and `tilted` is what they make of this part alone. It depends on
what is known and not on how it was asked: a total that follows from the totals of two halves is part of it,
so that asking for it, which teaches nothing, changes no risk.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from cae_sql.inference.answers import Answer, Kind, Query
from cae_sql.inference.basis import tableau_of
from cae_sql.inference.fixed_point import solved
from cae_sql.inference.knowledge import Knowledge
from cae_sql.inference.system import AnsweredSystem
from cae_sql.models.weights import Ints


def about_everybody(system: AnsweredSystem) -> list[Answer]:
    """The sum, maximum and minimum over all records, those of them that the answers tell or imply.

    Raises:
        InconsistentAnswers: a sum contradicts others, or boxes are empty.
    """
    everybody = np.arange(system.size)
    found = solved(system.size, system.grid, system.answers, range(len(system.answers)), 1)
    kinds: tuple[Kind, ...] = ("sum", "max", "min")
    answers = []
    for kind in kinds:
        query = Query(kind=kind, members=everybody)
        value = _total(found.known, found.sums) if kind == "sum" else found.known.forced_extreme(query)
        if value is not None:
            answers.append(query.answered(Fraction(value)))
    return answers


def _total(known: Knowledge, sums: Ints) -> int | None:
    """The sum over all records, where it is a combination of answered sums; exact."""
    room = (known.sizes * (known.high - known.low)).astype(np.float64)
    reduced = tableau_of(known.matrix, sums, room) if len(known.matrix) else None
    if reduced is None:
        return None
    tableau, sides, _ = reduced
    left = tableau.reduced(np.ones(known.count, dtype=np.int64))
    # with rows that have no ±1 it may follow from those too: then it counts as not known, the safe side
    return None if left is None or left.any() else int(sides.sum())
