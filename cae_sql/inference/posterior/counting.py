"""Exact marginals of records under answered sums, all tables that agree with them weighted alike.

Sums are brought into a reduced form that says most plainly what hangs together: sums of disjoint sets fall
apart, nested and differenced ones too. Of what is left, one sum over however many records is a convolution
(`given_sum`); several are counted layer by layer (`layers`) as long as there are few states.

Promise: exact up to rounding, or `OutOfTime`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import UNLIMITED, Allowance
from cae_sql.inference.facts.basis import tableau_of
from cae_sql.inference.facts.rank import independent_sums, join, roots
from cae_sql.inference.posterior.given_sum import Group, given_sum
from cae_sql.inference.posterior.layers import Reduced, totals
from cae_sql.inference.posterior.tilt import reweighted
from cae_sql.inference.posterior.weights import Floats, Ints, Weighted


@dataclass(frozen=True, eq=False)
class Counted:
    """What counting gives."""

    log_weight: float
    """log of the weight of all tables together; −∞ where there is none."""
    probabilities: list[Floats]
    """By atom, of one record's value, over the positions of its set; sum 1."""


def counted(
    values: list[Weighted],
    sizes: Ints,
    matrix: NDArray[np.signedinteger],
    sums: Ints,
    allowance: Allowance = UNLIMITED,
) -> Counted:
    """The marginals of all records, given sums.

    Args:
        values: By atom (p), what a record of it can be, with weights.
        sizes: (p,) records in each atom.
        matrix: (k, p) coefficients of the sums over the atoms' records.
        sums: (k,) right-hand sides.
        allowance: What may be spent; nothing more is tried beyond it.

    Raises:
        OutOfTime: the sums overlap too much, or cover too many records, to be counted, or cost too much.
        InconsistentAnswers: a sum contradicts others.
    """
    system = _reduced(matrix.astype(np.int64), sums, sizes, values)
    found = [each.weights / each.weights.sum() for each in values]
    log_weight = 0.0
    for part, atoms in _apart(system, len(values)):
        some = [values[atom] for atom in atoms]
        if not len(part.sums):
            log_weight += int(sizes[atoms[0]]) * (some[0].scale + math.log(float(some[0].weights.sum())))
            continue
        solve = _one_sum if len(part.sums) == 1 else _several
        log, probabilities = solve(part, some, sizes[atoms], allowance)
        log_weight += log
        if log == -math.inf:
            return Counted(log, [])
        for atom, p in zip(atoms.tolist(), probabilities, strict=True):
            found[atom] = p
    return Counted(log_weight, found)


def _of_one(values: Weighted, size: int, sums: Weighted, weights: Floats) -> Floats:
    """The marginal of one of `size` records alike, from their possible totals and (t,) the probabilities of
    these."""
    if size == 1:
        return Weighted(sums.positions, weights).at(values.positions)
    others = values.power(size - 1)
    ways = others.at(sums.positions[:, None] - values.positions) * values.weights
    total = ways.sum(axis=1)
    mixed: Floats = (weights / np.where(total > 0, total, 1.0)) @ ways
    whole: Floats = mixed / mixed.sum()
    return whole


def _reduced(matrix: NDArray[np.int64], sums: Ints, sizes: Ints, values: list[Weighted]) -> Reduced:
    room = sizes.astype(np.float64) * np.array([each.span for each in values], dtype=np.float64)
    independent = independent_sums(matrix, sums)
    matrix, sums = matrix[independent], sums[independent]
    found = tableau_of(matrix, sums, room)
    if found is None:
        raise OutOfTime("the sums' coefficients grow too large to be counted with")
    tableau, sides = found
    if not len(tableau.stuck):
        return Reduced(tableau.entries, tableau.basic, sides)
    # rows without a ±1 have no basic atom; as they were asked they are as good as reduced ones
    return Reduced(matrix, np.full(len(sums), -1, dtype=np.int64), sums)


def _apart(system: Reduced, count: int) -> Iterator[tuple[Reduced, Ints]]:
    """Rows that hang together, with their atoms; atoms in no sum are each alone."""
    root = np.arange(count)
    for row in system.entries:
        join(root, np.flatnonzero(row))
    labels = roots(root)
    of_row = np.array([labels[np.flatnonzero(row)[0]] for row in system.entries], dtype=np.int64)
    for label in np.unique(labels).tolist():
        rows, atoms = np.flatnonzero(of_row == label), np.flatnonzero(labels == label)
        basic = np.where(system.basic[rows] < 0, -1, np.searchsorted(atoms, system.basic[rows]))
        yield Reduced(system.entries[np.ix_(rows, atoms)], basic, system.sums[rows]), atoms


def _one_sum(
    part: Reduced, values: list[Weighted], sizes: Ints, allowance: Allowance
) -> tuple[float, list[Floats]]:
    """Atoms with the same set and coefficient are one group."""
    row, total = part.entries[0], int(part.sums[0])
    names: dict[tuple[int, bytes, bytes], int] = {}
    groups: list[Group] = []
    label = []
    for each, size, weight in zip(values, sizes.tolist(), row.tolist(), strict=True):
        ascending = slice(None, None, 1 if weight > 0 else -1)
        name = (weight, each.positions.tobytes(), each.weights.tobytes())
        at = names.setdefault(name, len(groups))
        if at == len(groups):
            positions, logs = each.positions * weight, np.log(each.weights) + each.scale
            groups.append(Group(positions[ascending], logs[ascending], 0))
        groups[at] = replace(groups[at], count=groups[at].count + size)
        label.append((at, ascending))
    found = given_sum(groups, total)
    if found is None:
        return _several(part, values, sizes, allowance)
    if found.log_weight == -math.inf:
        return -math.inf, []
    return found.log_weight, [found.probabilities[at][ascending] for at, ascending in label]


def _several(
    part: Reduced, values: list[Weighted], sizes: Ints, allowance: Allowance
) -> tuple[float, list[Floats]]:
    matrix = scipy.sparse.csr_array(part.entries.astype(np.float64))
    tilted, shift = reweighted(values, matrix, sizes, part.sums)
    sums = []
    for each, size in zip(tilted, sizes.tolist(), strict=True):
        if allowance.over:
            raise OutOfTime("the sums were not counted in time")
        sums.append(each.power(size))
    log, found = totals(part, sums, allowance)
    if log == -math.inf:
        return log, []
    given = zip(tilted, sizes.tolist(), sums, found, strict=True)
    return log - shift, [_of_one(*each) for each in given]
