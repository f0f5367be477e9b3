"""Moves are made shorter by helpers that are there, whatever rounding makes of floats that choose them."""

from __future__ import annotations

import numpy as np

from cae_sql.inference.tables.shared_moves import Payers, shorten


def test_no_helper_is_taken_beyond_the_last_where_rounding_left_less_than_nothing_to_pay() -> None:
    single = np.float32
    payers = Payers(
        parts=np.arange(3),
        theirs=np.array([[1, 0]], dtype=np.int8),
        weights=np.ones(1, dtype=single),
        lengths=np.array([-10, 0], dtype=single),  # 1 and 0, but for what rounding has added up to
        costs=np.array([[1, 1], [0, 1]], dtype=single),
        left=np.array([1]),
        used=np.zeros(24, dtype=np.int64),
        signs=np.zeros(2, dtype=np.int8),
        along=np.ones(2, dtype=single),
        gains=np.ones(2, dtype=single),
        looked=np.zeros(1, dtype=np.int64),
    )
    # as Python it would raise IndexError; compiled, it reads and writes what is behind the array
    assert (shorten.py_func(payers), payers.used[0], payers.left.tolist()) == (1, 0, [0])
