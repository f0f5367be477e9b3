"""What is known as the rows and boxes of a linear or integer program, and whether a table agrees with it."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

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
    blocks: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = []
    rows, columns = np.nonzero(knowledge.matrix[np.ix_(kept, atoms)])
    blocks.append((rows, columns, knowledge.matrix[kept][:, atoms][rows, columns]))
    row_low, row_high = [sums[kept].astype(float)], [sums[kept].astype(float)]
    count, width = len(kept), len(atoms)
    attainers: dict[tuple[bool, int], int] = {}
    for extreme in knowledge.extremes:
        if place[extreme.atoms[0]] < 0:
            continue
        candidates = place[knowledge.able_atoms[extreme]]
        if (low[candidates] == high[candidates]).any():
            continue
        chosen = []
        for atom in candidates.tolist():
            key = (extreme.top, atom)
            if key not in attainers:
                attainers[key] = width
                span = int(high[atom] - low[atom])
                weight = -span if extreme.top else span
                blocks.append((np.array([count, count]), np.array([atom, width]), np.array([1, weight])))
                base = float(sizes[atom] * (low[atom] if extreme.top else high[atom]))
                row_low.append(np.array([base if extreme.top else -np.inf]))
                row_high.append(np.array([np.inf if extreme.top else base]))
                count, width = count + 1, width + 1
            chosen.append(attainers[key])
        blocks.append(
            (np.full(len(chosen), count), np.array(chosen, dtype=np.int64), np.ones(len(chosen), np.int64))
        )
        row_low.append(np.array([1.0]))
        row_high.append(np.array([np.inf]))
        count += 1
    matrix = scipy.sparse.csr_matrix(
        (
            np.concatenate([b[2] for b in blocks]),
            (np.concatenate([b[0] for b in blocks]), np.concatenate([b[1] for b in blocks])),
        ),
        shape=(count, width),
    )
    extra = width - len(atoms)
    lower = np.concatenate([(sizes * low).astype(float), np.zeros(extra)])
    upper = np.concatenate([(sizes * high).astype(float), np.ones(extra)])
    return matrix, np.concatenate(row_low), np.concatenate(row_high), lower, upper
