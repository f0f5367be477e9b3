"""pandas, polars and Arrow tables: read as they are now, with declared types, and bad ones said."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from auditor.data.sources import source_of
from auditor.data.sources.wanted import Needed, Wanted
from auditor.errors import DatabaseError
from tests.auditor.data.sources.made import fingerprint, opened, policy, staff


def described(given: Any, protected: tuple[str, ...] = ()) -> dict[str, str]:
    with duckdb.connect(":memory:") as connection:
        source_of(given).attach(connection, "source", Wanted((Needed("t", None, protected),)))
        return {row[0]: row[1] for row in connection.execute("DESCRIBE source.t").fetchall()}


def test_types_of_pandas_are_those_of_duckdb() -> None:
    given = pd.DataFrame(
        {
            "i": np.array([1, 2], np.int16), "u": np.array([1, 2], np.uint64),
            "n": pd.array([1, None], "Int64"), "f": [1.5, None], "s": ["a", None], "e": [None, None],
            "o": np.array(["a", "b"], dtype=object),
            "c": pd.Categorical(["x", "y"]), "b": [True, False], "t": pd.to_datetime(["2020-01-01", None]),
            "z": pd.to_datetime(["2020-01-01", None], utc=True), "d": [Decimal("1.5"), None],
        },
        index=["first", "second"],
    )  # fmt: skip
    assert described(given) == {
        "i": "SMALLINT", "u": "UBIGINT", "n": "BIGINT", "f": "DOUBLE", "s": "VARCHAR", "e": "INTEGER",
        "o": "VARCHAR", "c": "VARCHAR", "b": "BOOLEAN", "t": "TIMESTAMP", "z": "TIMESTAMP WITH TIME ZONE",
        "d": "DECIMAL(2,1)",
    }  # fmt: skip


def test_a_precision_is_not_read_off_protected_values() -> None:
    given = pd.DataFrame({"salary": [Decimal("47.11"), Decimal("1")]})
    with pytest.raises(DatabaseError, match="holds Decimals without a precision") as raised:
        described(given, ("salary",))
    assert "47" not in str(raised.value)
    given["salary"] = given["salary"].astype(pd.ArrowDtype(pa.decimal128(18, 2)))
    assert described(given, ("salary",)) == {"salary": "DECIMAL(18,2)"}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (pd.DataFrame({"a": ["x", 4711]}, dtype=object), "column a of t holds values of several types"),
        (pd.DataFrame({"a": [object()]}), "column a of t holds values of several types"),
        (pd.DataFrame([[1, 2]], columns=["a", "A"]), "columns a and A"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "columns a and a"),
        (pa.table({"a": pa.array([Decimal("1")], pa.decimal256(60, 2))}), "could not be read"),
    ],
)
def test_a_table_that_cannot_be_read_is_one_clear_error_without_a_value(given: Any, says: str) -> None:
    with pytest.raises(DatabaseError, match=says) as raised:
        described(given)
    assert "4711" not in str(raised.value)


def test_names_of_columns_that_are_no_texts_are_read_as_texts() -> None:
    assert described(pd.DataFrame({2020: [1], ("a", "b"): [2]})) == {"2020": "BIGINT", "('a', 'b')": "BIGINT"}


def test_what_happens_to_a_table_afterwards_changes_nothing(tmp_path: Path) -> None:
    given = staff().to_pandas()
    given["dist"] = given["dist"].astype(float)
    asked = "SELECT sum(age) FROM staff"
    with opened(given, tmp_path) as gate:
        before = gate.execute(asked).fetchall()
        given["age"] = 0
        assert gate.execute(asked).fetchall() == before


def test_batches_that_come_once_are_kept_for_a_source_that_is_opened_again(tmp_path: Path) -> None:
    source = source_of(staff().to_reader())
    assert fingerprint(source, tmp_path) == fingerprint(source, tmp_path)


def test_missing_values_of_pandas_are_null(tmp_path: Path) -> None:
    given = staff().to_pandas()[["id", "age", "salary"]]
    assert given["salary"].dtype == np.float64
    with opened(given, tmp_path, policy(public='["age"]')) as gate:
        assert gate.execute("SELECT count(salary), count(*) FROM staff").fetchall() == [(139, 150)]


def test_a_type_of_polars_that_arrow_does_not_know_is_said() -> None:
    polars = pytest.importorskip("polars")
    with pytest.raises(DatabaseError, match="Arrow and DuckDB do not share"):
        described(polars.DataFrame({"a": polars.Series([1], dtype=polars.Int128)}))
