"""Elimination: where whole numbers find nothing but ±1, columns are dependent modulo no prime; by columns."""

from __future__ import annotations

import numpy as np
import scipy
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.inference.posterior import residues
from cae_sql.inference.posterior.residues import MOST_WHOLE, _is_unimodular


def test_what_counts_as_unimodular_has_a_determinant_of_one() -> None:
    chance, seen = np.random.default_rng(0), 0
    for _ in range(400):
        count = int(chance.integers(1, 8))
        square = chance.integers(-1, 2, (count, count))
        if _is_unimodular(square.copy()):
            seen += 1
            assert round(abs(float(np.linalg.det(square)))) == 1
    assert seen > 40


def test_others_are_not() -> None:
    for square in ([[2]], [[1, 1], [1, 1]], [[1, 1], [1, -1]], [[1, 1, 0], [1, 0, 1], [0, 1, 1]]):
        assert not _is_unimodular(np.array(square))


def test_nothing_overflows() -> None:
    large = 2 * MOST_WHOLE
    assert not _is_unimodular(np.array([[1, large], [large, large**2 % 2**62 + 1]]))


@given(st.integers(0, 10**9), st.sampled_from([2, 3, 7, 524_309]))
def test_pivots_that_are_found_by_columns_are_those_of_elimination(seed: int, prime: int) -> None:
    chance = np.random.default_rng(seed)
    rows, columns = int(chance.integers(2, 24)), int(chance.integers(30, 3_000))
    plain = chance.integers(-1, 2, (rows, columns)) * (chance.random((rows, columns)) < 0.3)
    for row in range(1, rows):  # many hang on others but for a column or two
        if chance.random() < 0.5:
            plain[row] = plain[row - 1]
            plain[row, chance.integers(0, columns, int(chance.integers(0, 3)))] += 1
    matrix, order = scipy.sparse.csc_array(plain.astype(np.float64)), chance.permutation(columns)
    wanted = residues._echelon(matrix, order, prime, prime).pivots
    assert (residues.pivots_of(matrix, order, prime) == wanted).all()
