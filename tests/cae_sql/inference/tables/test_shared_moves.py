"""Moves are made shorter by helpers that are there, whatever rounding makes of floats that choose them."""

from __future__ import annotations

import numpy as np

from cae_sql.inference.tables.shared_moves import shorten


def test_no_helper_is_taken_beyond_the_last_where_rounding_left_less_than_nothing_to_pay() -> None:
    left, theirs = np.array([1]), np.array([[1, 0]], dtype=np.int8)
    weights, along, gains = (np.ones(size, dtype=np.float32) for size in (1, 2, 2))
    lengths = np.array([-10, 0], dtype=np.float32)  # 1 and 0, but for what rounding has added up to
    costs = np.array([[1, 1], [0, 1]], dtype=np.float32)
    signs, used, looked = (
        np.zeros(2, dtype=np.int8),
        np.zeros(24, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )
    # as Python it would raise IndexError; compiled, it reads and writes what is behind the array
    count = shorten.py_func(left, theirs, weights, lengths, costs, along, gains, signs, used, looked)
    assert (count, used[0], left.tolist()) == (1, 0, [0])
