"""Values of an answer come as plain DuckDB gives them, and what Python has no type for is one clear error."""

from __future__ import annotations

import datetime
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from auditor.data.python_values import python_values
from auditor.decision import Decision
from auditor.errors import AuditorError, ConversionError
from auditor.gate.answer import Answer
from auditor.proxy.values.errors import NotRepresentable
from auditor.proxy.values.writing import RowWriter

FITTING = [
    "'infinity'::DATE", "'-infinity'::DATE", "'infinity'::TIMESTAMP", "'-infinity'::TIMESTAMPTZ",
    "DATE '12345-01-01'", "DATE '0044-03-15 (BC)'", "DATE '5877642-06-25 (BC)'", "DATE '5881580-07-10'",
    "TIMESTAMP '12345-01-01 01:02:03'", "TIMESTAMPTZ '0044-03-15 (BC) 01:02:03+00'", "TIME '24:00:00'",
    "TIME '23:59:59.999999'", "INTERVAL 3 YEAR", "'inf'::DOUBLE", "NULL::DATE",
    "99999999999999999999999999999999999999::DECIMAL(38,0)",
    "170141183460469231731687303715884105727::HUGEINT",
    "340282366920938463463374607431768211455::UHUGEINT", "18446744073709551615::UBIGINT", "'101'::BIT",
    "['infinity'::DATE]", "{'a': DATE '12345-01-01'}", "MAP {'infinity'::DATE: 1}", "[TIME '24:00:00']",
    "'infinity'::TIMESTAMP_S", "'infinity'::TIMESTAMP_NS", "'\\xAA'::BLOB",
]  # fmt: skip
TOO_LARGE = ["INTERVAL 2147483647 MONTH", "INTERVAL 2147483647 DAY", "[INTERVAL 2147483647 MONTH]"]


def answer(value: str) -> tuple[Answer, Any]:
    """An answer with a value and NULL, and what DuckDB gives for them; None if that is an error there."""
    sql = f"SELECT 1 AS n, {value} AS v UNION ALL SELECT 2, NULL ORDER BY n"
    with duckdb.connect() as connection:
        relation = connection.sql(sql)
        types, table = tuple(str(each) for each in relation.types), relation.to_arrow_table()
        try:
            expected = connection.execute(sql).fetchall()
        except OverflowError:
            expected = None
    return Answer(table, types, Decision("answered", "answered", "")), expected


@pytest.mark.parametrize("value", FITTING)
def test_rows_are_those_of_plain_duckdb(value: str) -> None:
    given, expected = answer(value)
    assert given.fetchall() == expected
    assert len(given.df()) == 2


@pytest.mark.parametrize("value", TOO_LARGE)
def test_what_python_has_no_type_for_names_its_column_and_a_way(value: str) -> None:
    given, expected = answer(value)
    assert expected is None
    for read in (given.fetchall, given.fetchone, given.df):
        with pytest.raises(ConversionError, match=r"column v holds .* arrow\(\)") as error:
            read()
        assert isinstance(error.value, AuditorError)
    assert given.arrow().num_rows == 2


def test_a_frame_with_an_infinite_date_keeps_its_other_columns() -> None:
    given, _ = answer("'infinity'::DATE")
    frame = given.df()
    assert list(frame.columns) == ["n", "v"]
    assert str(frame["n"].dtype) == "int32"
    assert frame["v"][0] == datetime.date.max


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize("value", [*FITTING, *TOO_LARGE])
def test_the_proxy_writes_each_value_or_says_that_it_cannot(value: str, code: int) -> None:
    given, _ = answer(value)
    try:
        rows = RowWriter(given.types, (code,)).rows(given.arrow())
    except NotRepresentable:
        return
    assert len(rows) == 2


def test_keys_and_groups_are_named_whatever_they_are() -> None:
    with duckdb.connect() as connection:
        table = connection.sql(
            "SELECT unnest(['infinity'::DATE, DATE '2020-01-31', DATE '0044-03-15 (BC)', NULL]) AS v"
        ).to_arrow_table()
    assert python_values(table.column("v")) == [
        "infinity", datetime.date(2020, 1, 31), "0044-03-15 (BC)", None
    ]  # fmt: skip
    assert python_values(pa.array([1, None])) == [1, None]
