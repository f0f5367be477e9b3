"""Whatever binds what in an expression: the answer is DuckDB's, or there is none."""

from __future__ import annotations

import pytest

from tests.fuzz.checks import check
from tests.fuzz.grammar import Statement
from tests.fuzz.operators import statement

EACH = 150


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_expressions_without_brackets_are_answered_as_by_duckdb_or_not_at_all(seed: int) -> None:
    answered = 0
    for number in range(EACH):
        made = statement(seed, number)
        result = check(made)
        assert not result.findings, f"seed {seed}, number {number}: {made.text}"
        answered += result.compared == "equal"
    # most are not valid; enough of them are for the comparison to mean something
    assert answered > EACH / 10


@pytest.mark.parametrize(
    "condition",
    [
        "2 ^ ~ age // 20 < 0.1",
        "2 ** ~ age // 20 < 0.1",
        "- ~ age < 30",
        "~ - age < -30",
        "log2(age) <> log(2, age)",
    ],
)
def test_operators_that_two_parsers_rank_differently_are_duckdbs_or_not_understood(condition: str) -> None:
    result = check(Statement("staff", f"SELECT sum(salary), count(*) FROM staff WHERE {condition}"))
    assert not result.findings
