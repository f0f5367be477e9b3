"""Two texts are one statement where DuckDB makes one tree of both, other spellings apart."""

from __future__ import annotations

import duckdb
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


@pytest.mark.parametrize("unit", ["year", "months", "week", "days", "hour", "minutes", "second"])
@pytest.mark.parametrize("number", ["1", "-2", "400"])
def test_an_interval_in_one_text_is_the_same_as_in_two_words(unit: str, number: str) -> None:
    one, two = f"INTERVAL '{number} {unit}'", f"INTERVAL '{number}' {unit.rstrip('s')}"
    assert same(f"SELECT {one}", f"SELECT {two}")
    with duckdb.connect(":memory:") as plain:
        assert plain.execute(f"SELECT {one} = {two}, {one}::VARCHAR = {two}::VARCHAR").fetchone() == (
            True,
            True,
        )


def test_other_texts_are_other_intervals() -> None:
    assert not same("SELECT INTERVAL '1 month'", "SELECT INTERVAL '2' MONTH")
    assert not same("SELECT INTERVAL '1 month'", "SELECT INTERVAL '1' YEAR")
    assert not same("SELECT INTERVAL '1 month 2 days'", "SELECT INTERVAL '1' MONTH")
