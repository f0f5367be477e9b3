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
from cae_sql.inference.tables.columns import relax
from cae_sql.inference.tables.exchange import Bounds
from cae_sql.inference.tables.question_tables import longest_step
from cae_sql.inference.tables.roomy_table import Basis, RoomyTable, basis_of, columns_in

SIZE_THAT_COUNTS = 8
"""Atoms of more records than this are not preferred for it: entries matter more then."""
GOAL = 4
"""Basic atoms shall be able to move by so many whole domains, as far as half of their box is."""
FEWEST, MOST_BASES = 3, 16
WORTH = 0.25
"""A basis that takes half of the records less far, of what they need, is no help beyond the fewest."""
MOST_BYTES = 12 * 10**8
"""What bases may take, all together."""
SAMPLED = 2_000
"""Atoms on which it is seen whether there are enough bases."""
STEPS, ROUNDS = 20_000, 12
"""Random steps in a round of centering, and rounds."""
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
    """Choose bases anew, as many as seem to be needed, and give those who pay room.

    Args:
        roomy_table: Changed: its bases, and its table to another that agrees with every answer.
        bounds: Between what totals must lie.
        need: Width that everybody should keep.
        insiders: 0 or 1.
    """
    roomy_table.look_for_fours()
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
    span = (boxes.high - boxes.low)[sample]
    wanted = HELPED * (need + insiders * span)
    found: list[tuple[Ints, NDArray[np.float32]]] = []
    reach = np.zeros((len(sample), 0))
    each = max(1, roomy_table.marks.nbytes)
    while len(found) < MOST_BASES and len(found) * each < MOST_BYTES:
        next_one = basis_of(marks, taken, weight)
        if next_one is None:
            break
        columns = columns_in(shown, next_one[1])
        basic = next_one[0]
        taken[basic] = True
        if columns is None:
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            far = (room[basic] / np.abs(columns.astype(np.float64))).min(axis=1, initial=np.inf)
        if len(found) >= FEWEST and np.median(far / (need + insiders * span)) < WORTH:
            break
        found.append(next_one)
        reach = np.column_stack([reach, np.minimum(far, need + insiders * span)])
        lost = reach.max(axis=1) if insiders else 0.0
        if len(found) >= FEWEST and (reach.sum(axis=1) - lost >= wanted).mean() > 0.999:
            break
    return found


def centered(roomy_table: RoomyTable, bounds: Bounds) -> Ints | None:
    """Totals between bounds at which basic atoms have room; None where none inside all boxes were found."""
    around = roomy_table.totals
    basic = np.zeros(roomy_table.count, dtype=np.bool_)
    for basis in roomy_table.bases:
        basic[basis.basic] = True
    room = np.minimum(near(roomy_table), (bounds.most - bounds.least) // 2)
    goal = np.clip(around, bounds.least + room, bounds.most - room)
    wished = np.where(basic, goal, np.clip(around, bounds.least, bounds.most))
    return _stepped(roomy_table, bounds, wished, goal, basic)


def _stepped(
    roomy_table: RoomyTable, bounds: Bounds, wished: Ints, goal: Ints, basic: NDArray[np.bool_]
) -> Ints | None:
    """The same for few atoms, by random steps of the others."""
    first = roomy_table.bases[0]
    marks = roomy_table.marks[: roomy_table.count, : roomy_table.rank]
    room = np.minimum(near(roomy_table), (bounds.most - bounds.least) // 2)
    totals = _with_sums(roomy_table, first, wished, marks)
    if totals is None:
        return None
    aim, mine = goal[first.basic], first.basic
    scale = 1.0 / np.maximum(room[mine], 1.0) ** 2
    none, pivots = np.zeros((0, roomy_table.count), np.int32), np.zeros((0, roomy_table.rank), np.int32)
    everyone = np.arange(roomy_table.count)
    off, moved = totals[mine] - aim, np.zeros(roomy_table.count, dtype=np.int64)
    least, most = bounds.least[mine] - aim, bounds.most[mine] - aim
    down, up = totals - bounds.least, bounds.most - totals
    for turn in range(ROUNDS):
        relax(
            first.columns,
            roomy_table.rank,
            everyone,
            none,
            pivots,
            0,
            basic,
            down,
            up,
            off,
            scale,
            least,
            most,
            moved,
            min(STEPS, 200 * roomy_table.count),
            STEPS,
            longest_step(roomy_table.boxes),
            turn,
        )
    found = _with_sums(roomy_table, first, totals + moved, marks)
    if found is None or (found < bounds.least).any() or (found > bounds.most).any():
        return None
    return found


def _with_sums(roomy_table: RoomyTable, basis: Basis, totals: Ints, marks: NDArray[np.int8]) -> Ints | None:
    """The same totals but for the basic atoms, which make every sum right, whatever their boxes say."""
    wrong = np.array(roomy_table.sums, dtype=np.int64)
    for start in range(0, roomy_table.count, 50_000):
        end = min(start + 50_000, roomy_table.count)
        wrong = wrong - marks[start:end].astype(np.int64).T @ totals[start:end]
    square = marks[basis.basic].T.astype(np.int64)
    change = np.rint(np.linalg.solve(square.astype(np.float64), wrong.astype(np.float64)))
    if np.abs(change).max(initial=0) > 2**50:
        return None
    by = change.astype(np.int64)
    if (square @ by != wrong).any():
        return None
    after = totals.copy()
    after[basis.basic] += by
    return after
