"""A short run of the fuzzer of vectors (`python -m tests.fuzz.vectors` is the long one)."""

from __future__ import annotations

from tests.fuzz.vectors import fuzz
from tests.quick import rounds


def test_random_vectors_give_a_column_or_an_error_in_the_functions_name() -> None:
    tally = fuzz(vectors=rounds(1_000), seed=7)
    assert tally.faults == []
    assert tally.compared > rounds(100)
    assert tally.outcomes["refused"] > rounds(10)
    assert tally.outcomes["through DuckDB"] > rounds(10)
