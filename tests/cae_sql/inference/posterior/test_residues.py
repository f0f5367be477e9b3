"""Where elimination in whole numbers finds nothing but ±1, columns are dependent modulo no prime."""

from __future__ import annotations

import numpy as np

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
