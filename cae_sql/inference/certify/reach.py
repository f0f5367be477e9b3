"""Between which answers past ones leave a sum: what tables of reals allow, by two linear programs.

It says how far outwards there is anything to be told. Nothing that somebody is shown to keep rests on it.

Source: `mathematics.md`, 3 and 8.
"""

from __future__ import annotations

from math import ceil, floor

import numpy as np
import scipy

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.query import Query
from cae_sql.inference.solver import Program
from cae_sql.inference.tables.question_tables import QuestionTables

CELLS = 4_000_000
"""Parts times sums beyond which the programs are not tried."""
EXACT = 1e-6
"""How far a solution may be off, as a part of itself."""


def reach(question_tables: QuestionTables, query: Query, allowance: Allowance) -> tuple[int, int] | None:
    """The least and the greatest answer, in units; None where it is not found.

    Args:
        question_tables: Of a question that asks the query.
        query: A sum.
        allowance: What may be spent.
    """
    roomy_table, parts = question_tables.roomy_table, question_tables.boxes
    if not question_tables.usable or roomy_table.rank * parts.count > CELLS:
        return None
    marks = roomy_table.marks[question_tables.parents, : roomy_table.rank].T.astype(np.int64)
    sums = (marks @ question_tables.totals).astype(float)
    row = np.zeros(parts.count, dtype=np.int64)
    parts.atoms.fill_row(query, row)
    boxes = (parts.sizes * parts.low).astype(float), (parts.sizes * parts.high).astype(float)
    program = Program(scipy.sparse.csr_matrix(marks), sums, sums, *boxes)
    found = []
    for sign in (1, -1):
        costs = {int(place): float(sign * row[place]) for place in np.flatnonzero(row)}
        outcome = program.minimise(costs, allowance)
        if outcome.status != "optimal":
            return None
        found.append(sign * outcome.value)
    slack = EXACT * max(1.0, *map(abs, found))
    return floor(found[0] - slack), ceil(found[1] + slack)
