"""The tableau of answered sums: its moves keep every sum, whatever rows have no pivot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Query

matrices = st.integers(2, 6).flatmap(
    lambda atoms: st.lists(
        st.tuples(*[st.sampled_from([0, 0, 1, 1, -1, 2, 3])] * atoms).filter(any), min_size=1, max_size=5
    )
)


def known_of(rows: list[tuple[int, ...]]) -> Knowledge:
    """Records of which each is an atom, and the sums over them that are independent."""
    size = len(rows[0])
    alone = [Query(kind="sum", members=np.array([each])) for each in range(size)]
    known = Knowledge.nothing(size, 9).refined(alone)
    queries = [
        Query(kind="sum", members=np.flatnonzero(row), coefficients=np.array(row)[np.flatnonzero(row)])
        for row in rows
    ]
    return known.with_sums(queries, np.full(size, 4))[0]


@given(matrices)
def test_moves_keep_every_sum(rows: list[tuple[int, ...]]) -> None:
    known = known_of(rows)
    tableau = known.rebased(np.full((1, known.count), 4)).tableau
    assert len(tableau.basic) + len(tableau.stuck) == len(known.matrix) == np.linalg.matrix_rank(rows)
    basic, free, starts, places, entries = tableau.directions
    for atom in np.flatnonzero(free):
        move, here = np.zeros(known.count, dtype=np.int64), slice(starts[atom], starts[atom + 1])
        move[atom] = 1
        move[basic[places[here]]] = -entries[here]
        assert not (known.matrix @ move).any()


def test_where_entries_grow_too_large_only_atoms_in_no_sum_are_moved() -> None:
    known = known_of([(1, 1, 0), (1, 2, 0)])
    known = replace(known, matrix=np.array([[1, 2**30, 0], [2**30, 1, 0]])[:, known.atoms.labels])
    tableau = known.rebased(np.full((1, known.count), 4)).tableau
    assert not len(tableau.basic)
    assert (tableau.directions.free == ~known.matrix.any(axis=0)).all()
