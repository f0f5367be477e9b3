"""Moves keep every sum, and a walk by them claims only what enumeration has."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Query
from cae_sql.inference.lookback.many import bases_of
from cae_sql.inference.lookback.stated import Stated
from cae_sql.inference.lookback.walking import moves_of, walk
from cae_sql.inference.search.runs import Runs
from cae_sql.inference.tables.roomy_table import Basis, RoomyTable
from cae_sql.inference.tables.short_moves import Moves

TOP = 3


def moves_around(known: Knowledge, totals: np.ndarray) -> Moves:
    marks = np.ascontiguousarray(known.matrix.T.astype(np.int8))
    roomy_table = RoomyTable(
        known.without_sums(), totals, marks, [int(each) for each in known.matrix @ totals]
    )
    bases: list[Basis] = list(bases_of(roomy_table))
    return moves_of(bases, marks, np.arange(known.count))


def stated(truth: np.ndarray, top: int, sets: list[list[int]]) -> Knowledge:
    system = Stated(truth, top)
    for members in sets:
        query = Query(kind="sum", members=np.array(members))
        system.take([query.answered(int(query.of(truth)))], [False])
    return system.known


def changes(moves: Moves, count: int) -> np.ndarray:
    """(v, p) the moves as a matrix."""
    found = np.zeros((len(moves.starts) - 1, count), dtype=np.int64)
    which = np.repeat(np.arange(len(found)), np.diff(moves.starts))
    np.add.at(found, (which, moves.atoms), moves.signs)
    return found


@given(
    truth=st.lists(st.integers(0, TOP), min_size=6, max_size=6).map(np.array),
    sets=st.lists(
        st.lists(st.integers(0, 5), min_size=1, max_size=6, unique=True).map(sorted), min_size=1, max_size=5
    ),
    seed=st.integers(0, 5),
)
def test_a_walk_claims_no_value_that_no_table_has(
    truth: np.ndarray, sets: list[list[int]], seed: int
) -> None:
    known = stated(truth, TOP, sets)
    totals = known.totals(truth[None])[0]
    runs = Runs(known, TOP)
    walk(runs, totals, moves_around(known, totals), 2_000, seed)
    tables = np.array(list(product(range(TOP + 1), repeat=6)))
    for members in sets:
        tables = tables[tables[:, members].sum(axis=1) == truth[members].sum()]
    for record, atom in enumerate(known.atoms.labels.tolist()):
        claimed = set(range(int(runs.low[atom]), int(runs.high[atom]) + 1))
        assert claimed <= set(tables[:, record].tolist())


def test_swaps_of_one_difference_are_moves_of_four_atoms_that_keep_every_sum() -> None:
    """Six by six by three cells with sums by two columns each: no two records differ in nothing."""
    cells = np.array(list(product(range(6), range(6), range(3))))
    sets = [
        np.flatnonzero((cells[:, one] == a) & (cells[:, two] == b)).tolist()
        for one, two in ((0, 1), (0, 2))
        for a in range(6)
        for b in range(6 if two == 1 else 3)
    ]
    truth = np.random.default_rng(1).integers(0, 10, len(cells))
    known = stated(truth, 9, sets)
    moves = moves_around(known, known.totals(truth[None])[0])
    matrix = changes(moves, known.count)
    assert not (known.matrix.astype(np.int64) @ matrix.T).any()
    assert np.abs(matrix).max() == 1
    assert (np.abs(matrix).sum(axis=1) == 4).sum() > 20
