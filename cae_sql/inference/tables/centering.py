"""Bases chosen anew for a roomy table, and its table moved so that their basic atoms have room on both sides.

Answers that come one by one cut the basic atoms and let entries grow. Choosing all pivots at once, of small
atoms too, and lending their basic atoms room from everybody else mends both. All of it is worked out from the
roomy table, so from past answers alone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.facts.extremes import bounds_of, hold
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.exchange import Bounds
from cae_sql.inference.tables.roomy_table import Basis, RoomyTable, basis_of, columns_in
from cae_sql.inference.tables.sharing import Sharing

SIZE_THAT_COUNTS = 8
"""Atoms of more records than this are not preferred for it: entries matter more then."""
GOAL = 4
"""Basic atoms shall be able to move by so many whole domains, as far as half of their box is."""
FEWEST, MOST_BASES = 3, 16
WORTH = 0.25
"""A basis that takes half of the records less far, of what they need, is no help beyond the fewest."""
MOST_BYTES = 12 * 10**8
"""What bases may take, all together."""
SPARED = 0.01
"""What basic atoms give of what is missing, in proportion to others."""
SAMPLED = 2_000
"""Atoms on which it is seen whether there are enough bases."""
HELPED = 3.0
"""Rooms are counted less by this when bases are counted: not all goals are reached."""


def near(roomy_table: RoomyTable) -> Ints:
    """(p,) room to both sides that basic atoms should have."""
    span = roomy_table.boxes.high - roomy_table.boxes.low
    room: Ints = np.minimum(roomy_table.boxes.sizes * span // 2, GOAL * span)
    return room


def renewed(roomy_table: RoomyTable, need: int, insiders: int) -> RoomyTable | None:
    """The same answers over bases and a table that are chosen anew; None where no answer has come since.

    The given table stays as it is, and what it says here hangs on it and the standard alone. Coefficients are
    shared, so only one of the two may take in answers.
    """
    if roomy_table.renewal is None or roomy_table.renewal[0] != (need, insiders):
        roomy_table.renewal = (need, insiders), _renewed(roomy_table, need, insiders)
    return roomy_table.renewal[1]


def _renewed(roomy_table: RoomyTable, need: int, insiders: int) -> RoomyTable | None:
    if roomy_table.grown_from is not None:
        before, spares, top = roomy_table.grown_from
        found = renewed(before, need, insiders)
        return None if found is None else found.grown(spares, top)
    boxes, totals = roomy_table.boxes, roomy_table.totals
    pins = hold(boxes, totals, insiders + 2, np.zeros(0, dtype=np.int64)) if roomy_table.stale else None
    if pins is None:
        return None
    found = replace(roomy_table, sums=list(roomy_table.sums), renewed_at=roomy_table.rank)
    rebuild(found, bounds_of(boxes, pins), need, insiders)
    return found


def rebuild(roomy_table: RoomyTable, bounds: Bounds, need: int, insiders: int) -> None:
    """Choose bases anew, as many as runs of a width seem to need, and give the basic atoms room.

    The table changes to another one inside of the bounds that agrees with every answer.
    """
    chosen = _chosen(roomy_table, need, insiders)
    if not chosen:
        return
    columns = [(basic, roomy_table.columns(inverse)) for basic, inverse in chosen]
    bases = [Basis(basic, mine) for basic, mine in columns if mine is not None]
    if not bases:
        return
    roomy_table.bases = bases
    totals = centered(roomy_table, bounds)
    if totals is not None:
        roomy_table.totals = totals


def _chosen(roomy_table: RoomyTable, need: int, insiders: int) -> list[tuple[Ints, NDArray[np.float32]]]:
    """Bases that share no atom, until a sample of the atoms has enough."""
    boxes, marks = roomy_table.boxes, roomy_table.marks[: roomy_table.count, : roomy_table.rank]
    weight, room = np.minimum(boxes.sizes, SIZE_THAT_COUNTS), near(roomy_table)
    taken = boxes.high == boxes.low
    chance = np.random.default_rng(roomy_table.rank)
    sample = chance.integers(0, roomy_table.count, min(SAMPLED, roomy_table.count))
    shown = marks[sample]
    whole = need + insiders * (boxes.high - boxes.low)[sample]
    found, reach = list[tuple[Ints, NDArray[np.float32]]](), list[NDArray[np.float64]]()
    while len(found) < MOST_BASES and len(found) * roomy_table.marks.nbytes < MOST_BYTES:
        basis = basis_of(marks, taken, weight)
        if basis is None:
            break
        columns = columns_in(shown, basis[1])
        taken[basis[0]] = True
        if columns is None:
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            far = (room[basis[0]] / np.abs(columns.astype(np.float64))).min(axis=1, initial=np.inf)
        if len(found) >= FEWEST and np.median(far / whole) < WORTH:
            break
        found.append(basis)
        reach.append(np.minimum(far, whole))
        kept = np.sum(reach, axis=0) - insiders * np.max(reach, axis=0)
        if len(found) >= FEWEST and (kept >= HELPED * whole).mean() > 0.999:
            break
    return found


def centered(roomy_table: RoomyTable, bounds: Bounds) -> Ints | None:
    """Totals inside bounds at which basic atoms have room; None if none was found."""
    around = roomy_table.totals
    basic = np.zeros(roomy_table.count, dtype=np.bool_)
    for basis in roomy_table.bases:
        basic[basis.basic] = True
    room = np.minimum(near(roomy_table), (bounds.most - bounds.least) // 2)
    goal = np.clip(around, bounds.least + room, bounds.most - room)
    wished = np.where(basic, goal, np.clip(around, bounds.least, bounds.most))
    down, up = wished - bounds.least, bounds.most - wished
    # basic atoms give little; every other atom in proportion to its own room
    weights = np.where(basic, SPARED, 1.0) * down * up / np.maximum(down + up, 1)
    return Sharing(roomy_table, weights).totals(wished, bounds, roomy_table.rank)
