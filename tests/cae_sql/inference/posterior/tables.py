"""Small answered systems with every table listed: the oracle of the candidate models' tests."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from cae_sql.inference.system import AnsweredSystem


@dataclass
class Listed:
    """A system, and all tables on its grid that agree with its answers."""

    system: AnsweredSystem
    tables: np.ndarray
    top: int

    def share(self, record: int) -> list[float]:
        """How often each unit occurs as a record's value."""
        counts = np.bincount(self.tables[:, record], minlength=self.top + 1)
        return [float(count) for count in counts / len(self.tables)]


def listed(seed: int, extremes: bool = True) -> Listed:
    """A few answers about a few records, all true of one table; signs and repetitions included."""
    chance = np.random.default_rng(seed)
    size, top = int(chance.integers(1, 6)), int(chance.integers(1, 5))
    system, true = AnsweredSystem(size, 0, top, 1), chance.integers(0, top + 1, size)
    tables = np.array(list(itertools.product(range(top + 1), repeat=size)))
    kinds = ["sum", "sum", "signed", "max", "min"] if extremes else ["sum", "signed"]
    for _ in range(int(chance.integers(0, 5))):
        members = np.flatnonzero(chance.random(size) < 0.6)
        if not len(members):
            continue
        kind = chance.choice(kinds)
        if kind in ("sum", "signed"):
            signs = chance.choice([-1, 1], len(members)) if kind == "signed" else np.ones(len(members), int)
            total = int(true[members] @ signs)
            system.add_sum(members, total, signs.tolist())
            tables = tables[tables[:, members] @ signs == total]
        elif kind == "max":
            system.add_max(members, int(true[members].max()))
            tables = tables[tables[:, members].max(axis=1) == true[members].max()]
        else:
            system.add_min(members, int(true[members].min()))
            tables = tables[tables[:, members].min(axis=1) == true[members].min()]
    return Listed(system, tables, top)
