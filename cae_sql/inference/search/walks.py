"""Walks from world to world along kernel moves: which totals every atom takes on the way. Compiled."""

from __future__ import annotations

import numpy as np

from cae_sql.compiled import compiled
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.short_moves import Moves


def sparing(moves: Moves, atom: int) -> Moves:
    """The moves that leave an atom as it is."""
    lengths = np.diff(moves.starts)
    which = np.repeat(np.arange(len(lengths)), lengths)
    kept = np.ones(len(lengths), dtype=np.bool_)
    kept[which[moves.atoms == atom]] = False
    starts = np.concatenate([[0], np.cumsum(lengths[kept])])
    return Moves(starts, moves.atoms[kept[which]], moves.weights[kept[which]])


@compiled()
def walk(
    starts: Ints, atoms: Ints, weights: Ints, up: Ints, down: Ints, least: Ints, most: Ints, passes: int,
    seed: int,
) -> Ints:  # fmt: skip
    """Walk at random, trying every move so often; where it ends, as change of the totals (p,).

    Args:
        starts: (m + 1,) move m changes atoms[starts[m]:starts[m + 1]] by multiples of the weights there.
        up: (p,) how far the totals can rise, changed in place; also `down`.
        least: (p,) least change of each total so far, 0 at first; changed in place. Also `most`. Every total
            between the two is taken by some world.
        passes: How often every move is tried, in random order, by the `seed`.
    """
    np.random.seed(seed)
    here = np.zeros(len(up), np.int64)
    for _ in range(passes):
        for move in np.random.permutation(len(starts) - 1):
            rise, fall = 1 << 60, 1 << 60
            for place in range(starts[move], starts[move + 1]):
                atom, weight = atoms[place], weights[place]
                if weight > 0:
                    rise, fall = min(rise, up[atom] // weight), min(fall, down[atom] // weight)
                else:
                    rise, fall = min(rise, down[atom] // -weight), min(fall, up[atom] // -weight)
                if rise + fall == 0:
                    break
            if rise + fall == 0:
                continue
            by = np.random.randint(-fall, rise + 1)
            for place in range(starts[move], starts[move + 1]):
                atom, weight = atoms[place], weights[place]
                if weight == 1 or weight == -1:  # steps of more leave gaps
                    low = here[atom] - (fall if weight == 1 else rise)
                    high = here[atom] + (rise if weight == 1 else fall)
                    if low <= most[atom] + 1 and high >= least[atom] - 1:
                        least[atom], most[atom] = min(least[atom], low), max(most[atom], high)
                up[atom] -= weight * by
                down[atom] += weight * by
                here[atom] += weight * by
    return here
