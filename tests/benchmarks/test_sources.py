"""What cells answer is held against DuckDB to the last bit of a mean, and no looser because others round."""

from __future__ import annotations

import pytest

from benchmarks.sources import differs

MEAN = 25.48489147701746


@pytest.mark.parametrize(
    ("theirs", "of_a_gate", "of_an_engine"),
    [
        ([["SHIP", MEAN]], False, False),
        ([["SHIP", 25.484891477017463]], False, False),
        ([["SHIP", 25.484891]], True, False),
        ([["SHIP", 25.48]], True, True),
        ([["RAIL", MEAN]], True, True),
        ([], True, True),
    ],
)
def test_rows_that_differ_are_noticed(
    theirs: list[list[object]], of_a_gate: bool, of_an_engine: bool
) -> None:
    assert differs([["SHIP", MEAN]], theirs, engine=False) == of_a_gate
    assert differs([["SHIP", MEAN]], theirs, engine=True) == of_an_engine
