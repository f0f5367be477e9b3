"""A short run of the fuzzer of vectors (`python -m tests.fuzz.vectors` is the long one)."""

from __future__ import annotations

from tests.fuzz.vectors import fuzz


def test_random_vectors_give_a_column_or_an_error_in_the_functions_name() -> None:
    tally = fuzz(vectors=1_000, seed=7, seconds=15)
    assert tally.faults == []
    assert tally.compared > 100
    assert tally.outcomes["refused"] > 10
    assert tally.outcomes["through DuckDB"] > 10
