"""Between which answers past ones leave a sum: what tables of reals allow, by two linear programs.

Promise: no table that agrees with past answers gives another. What the solver finds is not taken on trust:
its multipliers are rounded to whole numbers, and whatever multipliers prove, a bound, is worked out in whole
numbers (weak duality). A bad solution gives a wider range, never a wrong one.

Source: `mathematics.md`, 2 and 8.
"""

from __future__ import annotations

import numpy as np
import scipy

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.solver import Floats, Program
from cae_sql.inference.tables.question_tables import QuestionTables

CELLS = 4_000_000
"""Parts times sums beyond which the programs are not tried."""
BITS = 20
"""Of the multipliers, behind the point."""
MOST = 1 << 20
"""Multipliers beyond which whole numbers of 64 bits might not suffice."""


def reach(question_tables: QuestionTables, query: Query, allowance: Allowance) -> tuple[int, int] | None:
    """A least and a greatest answer, in units; None where they are not looked for, or not found.

    Args:
        question_tables: Of a question that asks the query.
        query: A sum.
        allowance: What may be spent.
    """
    roomy_table, parts = question_tables.roomy_table, question_tables.boxes
    if not question_tables.usable or roomy_table.rank * parts.count > CELLS:
        return None
    marks = roomy_table.marks[question_tables.parents, : roomy_table.rank].T.astype(np.int64)
    sums = marks @ question_tables.totals
    row = np.zeros(parts.count, dtype=np.int64)
    parts.atoms.fill_row(query, row)
    low, high = (parts.sizes * each for each in parts.own)
    ends = sums.astype(float), sums.astype(float), low.astype(float), high.astype(float)
    program = Program(scipy.sparse.csr_matrix(marks), *ends)
    found = []
    for sign in (1, -1):
        costs = {int(place): float(sign * row[place]) for place in np.flatnonzero(row)}
        outcome = program.minimise(costs, allowance)
        if outcome.status != "optimal":
            return None
        bound = least(sign * row, marks, sums, low, high, outcome.duals)
        if bound is None:
            return None
        found.append(sign * bound)
    return found[0], found[1]


def least(row: Ints, marks: Ints, sums: Ints, low: Ints, high: Ints, duals: Floats) -> int | None:
    """A whole number that Σ row · x is not below, for all whole x in their boxes with marks · x = sums.

    Args:
        row: (p,) coefficients.
        marks: (k, p) coefficients of the sums.
        sums: (k,) what they come to.
        low: (p,) least values.
        high: (p,) greatest values.
        duals: (k,) multipliers of the sums, any: better ones prove more.

    Returns:
        None where they are too large to reckon with.
    """
    if len(duals) and not np.abs(duals).max() < MOST:
        return None
    multipliers = np.rint(np.ldexp(duals, BITS)).astype(np.int64)
    rest = (row << BITS) - multipliers @ marks
    chosen = np.where(rest > 0, low, high)
    # Python's own whole numbers: sums over many records are beyond 64 bits
    scaled = sum(map(int.__mul__, multipliers.tolist(), sums.tolist()))
    scaled += sum(map(int.__mul__, rest.tolist(), chosen.tolist()))
    return -(-scaled >> BITS)
