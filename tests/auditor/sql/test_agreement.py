"""Two texts are one statement where DuckDB makes one tree of both, other spellings apart."""

from __future__ import annotations

import pytest

from auditor.sql.agreement import same

QUANTILE = "SELECT QUANTILE_CONT(x, 0.5) FROM t"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x) FROM t",
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x ASC) FROM t",
        "SELECT QUANTILE_CONT(x, 0.5 ORDER BY x) FROM t",
    ],
)
def test_a_quantile_has_the_order_of_its_argument(text: str) -> None:
    assert same(text, QUANTILE)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x DESC) FROM t",
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY y) FROM t",
        "SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY x) FROM t",
        "SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY x) FROM t",
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x, y) FROM t",
        "SELECT QUANTILE_CONT(x, 0.5 ORDER BY y) FROM t",
        "SELECT QUANTILE_CONT(x, 0.5) FILTER (WHERE y) FROM t",
        "SELECT ARG_MIN(x, 0.5 ORDER BY x) FROM t",
    ],
)
def test_another_order_or_argument_is_another_statement(text: str) -> None:
    assert not same(text, QUANTILE)
