"""Totals of atoms as a table of records: any that has them."""

from __future__ import annotations

import numpy as np

from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints


def spread(known: Knowledge, totals: Ints, table: Ints) -> Ints | None:
    """A table with these totals, near to another one; None where an extreme would be attained by nobody.

    Args:
        known: The atoms and their boxes.
        totals: (p,) a world's totals.
        table: (n,) a table inside the boxes, changed only where its totals differ.
    """
    order, firsts = known.members
    made = table.copy()
    differs = np.flatnonzero(totals != known.totals(table[None])[0])
    for atom in differs.tolist():
        members = order[firsts[atom] : firsts[atom + 1]]
        low, high = int(known.low[atom]), int(known.high[atom])
        left = int(totals[atom]) - low * len(members)
        if high == low:
            continue
        full, rest = divmod(left, high - low)
        values = np.full(len(members), low, dtype=np.int64)
        values[:full] = high
        if rest:
            values[full] = low + rest
        made[members] = values
    labels = known.atoms.labels
    for extreme in known.extremes:
        inside = np.isin(labels, extreme.atoms)
        found = made[inside].max() if extreme.top else made[inside].min()
        if int(found) != extreme.value:
            return None
    return made
