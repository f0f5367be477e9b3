"""What is known as the rows and boxes of a linear or integer program, and whether a table agrees with it."""

from __future__ import annotations

import numpy as np
import scipy

from cae_sql.inference.facts.extremes import choose_witnesses
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.solver import Floats


def is_world(knowledge: Knowledge, totals: Ints, sums: Ints) -> bool:
    """Whether totals agree with every sum, every box and every extreme: integers only."""
    inside = (totals >= knowledge.sizes * knowledge.low) & (totals <= knowledge.sizes * knowledge.high)
    if not inside.all() or (knowledge.matrix @ totals != sums).any():
        return False
    return not knowledge.extremes or choose_witnesses(knowledge, totals) is not None


def constraints(
    knowledge: Knowledge, atoms: Ints, sums: Ints
) -> tuple[scipy.sparse.csr_matrix, Floats, Floats, Floats, Floats]:
    """Rows and boxes over the totals of some atoms and, behind them, one 0/1 column per possible attainer.

    An atom that attains its top has s − (u − l) x >= m l; one that attains its bottom s + (u − l) x <= m u;
    each extreme has Σ x >= 1. An atom of one record cannot do both unless its box is a point.
    """
    sizes, low, high = knowledge.sizes[atoms], knowledge.low[atoms], knowledge.high[atoms]
    place = np.full(knowledge.count, -1, dtype=np.int64)
    place[atoms] = np.arange(len(atoms))
    kept = np.flatnonzero(knowledge.matrix[:, atoms].any(axis=1))
    rows, attainers = list[tuple[list[int], list[int], float, float]](), dict[tuple[bool, int], int]()
    for extreme in knowledge.extremes:
        if place[extreme.atoms[0]] < 0:
            continue
        candidates = place[knowledge.able_atoms[extreme]]
        if (low[candidates] == high[candidates]).any():
            continue
        for atom in candidates.tolist():
            if (extreme.top, atom) in attainers:
                continue
            column = attainers[extreme.top, atom] = len(atoms) + len(attainers)
            span = int(high[atom] - low[atom])
            if extreme.top:
                rows.append(([atom, column], [1, -span], float(sizes[atom] * low[atom]), np.inf))
            else:
                rows.append(([atom, column], [1, span], -np.inf, float(sizes[atom] * high[atom])))
        chosen = [attainers[extreme.top, atom] for atom in candidates.tolist()]
        rows.append((chosen, [1] * len(chosen), 1.0, np.inf))
    extra = len(attainers)
    exact = scipy.sparse.csr_matrix(knowledge.matrix[np.ix_(kept, atoms)])
    exact.resize(len(kept), len(atoms) + extra)
    columns = np.array([each for row in rows for each in row[0]], dtype=np.int64)
    weights = np.array([each for row in rows for each in row[1]], dtype=np.int64)
    starts = np.cumsum([0, *(len(row[0]) for row in rows)])
    further = scipy.sparse.csr_matrix((weights, columns, starts), shape=(len(rows), len(atoms) + extra))
    matrix = scipy.sparse.vstack([exact, further], format="csr")
    row_low = np.append(sums[kept].astype(float), [row[2] for row in rows])
    row_high = np.append(sums[kept].astype(float), [row[3] for row in rows])
    lower = np.append((sizes * low).astype(float), np.zeros(extra))
    upper = np.append((sizes * high).astype(float), np.ones(extra))
    return matrix, row_low, row_high, lower, upper
