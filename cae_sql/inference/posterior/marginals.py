"""Marginals under the model `exact`: all tables on the grid that agree with every answer are equally likely.

Components are counted (`components`). What cannot be counted is estimated from random tables that agree with
the answers, and says so. Every value of the grid is taken for equally likely before any answer, whatever
prior the system draws its tables from. What is excluded is for `AnsweredSystem.bounds` and `certified`.

The baseline of risk is what `exact` makes of that part of the answers which is about the whole table
(`about_everybody`). It depends on what is known and not on how it was asked: a total that follows from the
totals of two halves is part of it, so that asking for it, which teaches nothing, changes no risk.

Source: `mathematics.md`, 3; paper 003, Section 3.3 (`exact`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cae_sql.domain import Domain
from cae_sql.errors import InvalidInput
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Answer, Query
from cae_sql.inference.facts.repeated import multiples
from cae_sql.inference.intervals.bounds import Solved, solved
from cae_sql.inference.posterior.components import counted_exactly
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.inference.posterior.windows import Windows
from cae_sql.inference.system import AnsweredSystem

ESTIMATE = 200
"""Random tables that an estimate rests on."""


@dataclass(frozen=True, eq=False)
class Marginals:
    """A distribution for each record. Shapes: n records, p atoms, w windows of the domain."""

    labels: Ints
    """(n,) atom of each record."""
    values: Floats
    """(w,) at which each window begins: the domain's values."""
    probabilities: Floats
    """(p, w) of one record of each atom, rows of sum 1."""
    estimated: NDArray[np.bool_]
    """(p,) whether a row is an estimate from random tables, and not counted."""

    def of(self, record: int) -> Floats:
        """(w,) the distribution of a record's value.

        Raises:
            InvalidInput: no such record; they are counted from 0, and none from the end.
        """
        if isinstance(record, bool) or not isinstance(record, (int, np.integer)):
            raise InvalidInput(f"record must be a whole number, not {record!r:.60}")
        if not 0 <= record < len(self.labels):
            raise InvalidInput(f"record {record}: there are records 0 to {len(self.labels) - 1}")
        found: Floats = self.probabilities[self.labels[record]]
        return found


def marginals(
    system: AnsweredSystem,
    domain: Domain | None = None,
    answers: Sequence[Answer] | None = None,
) -> Marginals:
    """The distribution of every record's value.

    Args:
        system: On a grid.
        domain: Its minimum is the system's and its step a multiple of the resolution: values are gathered in
            windows of one step. None: every value of the grid by itself.
        answers: What is known; None: all answers of the system.

    Raises:
        InvalidInput: a system without a grid, a domain that does not fit, more than `LARGEST`
            probabilities.
        InconsistentAnswers: no table agrees.
        OutOfTime: no table was found to estimate from.
    """
    if not isinstance(system, AnsweredSystem):
        raise InvalidInput(f"system must be an AnsweredSystem, not {type(system).__name__}")
    if domain is not None and not isinstance(domain, Domain):
        raise InvalidInput(f"domain must be a Domain, not {type(domain).__name__}")
    windows, given = Windows.of(system.grid, domain), list(system.answers if answers is None else answers)
    found = solved_of(system, given)
    known = found.known
    windows.check_rows(known.count)
    rows, estimated = counted_exactly(known, found.sums, windows)
    if estimated.any():
        rows[estimated] = _estimate(system, given, known, windows)[estimated]
    return Marginals(known.atoms.labels[: system.first_spare], windows.values, rows, estimated)


def _estimate(system: AnsweredSystem, answers: list[Answer], known: Knowledge, windows: Windows) -> Floats:
    """How often each value occurs among an atom's records in random tables that agree with the answers."""
    grid = system.grid
    # without the system's prior, which is no part of `exact`
    plain = AnsweredSystem(
        system.size, grid.minimum, grid.to_value(grid.top), grid.unit, seed=system.seed, lumps=system.lumps
    )
    plain.accept(answers)
    rows = np.zeros((known.count, windows.count))
    for table in plain.worlds(ESTIMATE):
        units = np.rint((table - float(grid.minimum)) / float(grid.unit)).astype(np.int64)
        np.add.at(rows, (known.atoms.labels[: system.size], units // windows.width), 1.0)
    # of atoms of lumps alone no table shows a single value: nobody asks for them
    found: Floats = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1.0)
    return found


def solved_of(system: AnsweredSystem, answers: Sequence[Answer]) -> Solved:
    """Boxes, extremes and independent sums of some answers, with the sums' right-hand sides.

    Raises:
        InconsistentAnswers: a sum contradicts others, or boxes are empty.
    """
    return solved(system.size, system.grid, answers, range(len(answers)), 1, lumps=system.lumps)


def about_everybody(found: Solved) -> list[Answer]:
    """The sum, maximum and minimum over all records, lumps included, those that answers tell or imply.

    With rows that have no ±1 the total may follow from the sums and still count as not known, the safe side.
    """
    known, told = found.known, list[Answer]()
    everybody = np.arange(known.atoms.real)
    if len(known.matrix):
        real = known.atoms.protected.astype(np.int64)  # spare records are nobody's
        weights, adds_up = multiples(known.matrix.astype(np.int64), real[None])
        if adds_up[0]:
            total = Fraction(int(weights[0] @ found.sums))
            told.append(Query(kind="sum", members=everybody).answered(total))
    for query in (Query(kind="max", members=everybody), Query(kind="min", members=everybody)):
        value = known.forced_extreme(query) if known.extremes or known.implied else None
        if value is not None:
            told.append(query.answered(Fraction(value)))
    return told
