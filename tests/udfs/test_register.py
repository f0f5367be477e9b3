"""The functions inside DuckDB: registering, NULLs, aggregates, errors, threads and processes."""

from __future__ import annotations

import multiprocessing
import re
import threading
import warnings
from pathlib import Path

import duckdb
import numpy as np
import pytest

import udfs
from cae_sql import cae_area, cae_entropy
from cae_sql.domain import Domain
from cae_sql.errors import ExactIsSlow
from cae_sql.risk import risk_of
from tests.udfs.sqls import connected
from udfs import functions
from udfs.register import RETURNS

SALARIES = "SELECT 57 = cae_area([50, 107]), 3 = cae_area([77, 80]), 1 = cae_entropy([50, 107])"


def test_the_two_salary_examples_of_the_paper_have_one_bit_each_and_areas_57_and_3() -> None:
    with connected() as connection:
        assert connection.execute(SALARIES).fetchall() == [(True, True, True)]


def test_registering_twice_on_cursors_and_on_further_connections_is_fine(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "a.duckdb") as first, duckdb.connect(tmp_path / "a.duckdb") as second:
        cursor = first.cursor()
        for connection in (first, first, second, cursor, cursor):
            udfs.register(connection)
            assert connection.execute(SALARIES).fetchall() == [(True, True, True)]
            assert connection.execute("SELECT cae_area_agg(i) FROM range(2) t(i)").fetchall() == [(1.0,)]


def test_a_database_opened_for_reading_will_do_and_nothing_is_written_to_one(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with duckdb.connect(path) as connection:
        udfs.register(connection)
        connection.execute("CREATE TABLE t AS SELECT 1 AS x")
    with duckdb.connect(path, read_only=True) as connection:
        names = connection.execute("SELECT function_name FROM duckdb_functions()").fetchall()
        assert not {name for (name,) in names} & {*RETURNS, "cae_area_agg"}
        udfs.register(connection)
        assert connection.execute("SELECT cae_area_agg(x) FROM t").fetchall() == [(0.0,)]


def test_unregistering_takes_away_what_this_connection_brought_and_no_more(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "a.duckdb") as first, duckdb.connect(tmp_path / "a.duckdb") as second:
        udfs.register(first)
        udfs.register(second)
        udfs.unregister(second)
        assert first.execute(SALARIES).fetchall() == [(True, True, True)]
        with pytest.raises(duckdb.CatalogException):
            second.execute("SELECT cae_area_agg(1)")
        udfs.unregister(first)
        udfs.unregister(first)
        with pytest.raises(duckdb.CatalogException):
            first.execute("SELECT cae_area([1])")
        udfs.register(first)
        assert first.execute(SALARIES).fetchall() == [(True, True, True)]


def test_registering_works_after_a_rollback_has_taken_the_functions_away() -> None:
    with duckdb.connect() as connection:
        connection.execute("BEGIN")
        udfs.register(connection)
        connection.execute("ROLLBACK")
        with pytest.raises(duckdb.CatalogException):
            connection.execute("SELECT cae_area([1])")
        udfs.register(connection)
        assert connection.execute(SALARIES).fetchall() == [(True, True, True)]
        assert connection.execute("SELECT cae_area_agg(i) FROM range(2) t(i)").fetchall() == [(1.0,)]


def test_macros_of_the_database_do_not_come_between_the_aggregates_and_duckdbs_functions() -> None:
    with connected() as connection:
        for name in ("histogram", "map_keys", "map_values"):
            connection.execute(f"CREATE MACRO {name}(x) AS 5")
        found = connection.execute(
            "SELECT cae_area_agg(x), cae_entropy_agg(x), cae_risk_agg(x, 0, 1, 1) FROM range(2) t(x)"
        ).fetchall()
    assert found == [(1.0, 1.0, 0.0)]


def test_the_functions_outlive_the_connection_that_brought_them(tmp_path: Path) -> None:
    first, second = duckdb.connect(tmp_path / "a.duckdb"), duckdb.connect(tmp_path / "a.duckdb")
    udfs.register(first)
    first.close()
    del first
    with second:
        assert second.execute(SALARIES).fetchall() == [(True, True, True)]


def test_an_argument_left_out_is_not_a_null() -> None:
    with connected() as connection:
        row = connection.execute(
            "SELECT cae_area([1, 3]), cae_area([1, 3], NULL), cae_entropy([1, 3], [1, 1], NULL), "
            "cae_entropy([1, 3], 2)"
        ).fetchone()
    assert row == (2.0, None, None, 0.0)


def test_columns_of_every_numeric_type_come_in() -> None:
    types = ["TINYINT", "UTINYINT", "SMALLINT", "INTEGER", "BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT",
             "FLOAT", "DOUBLE", "DECIMAL(4, 1)", "DECIMAL(38, 10)"]  # fmt: skip
    with connected() as connection:
        for kind in types:
            sql = f"SELECT cae_area([10, 20, 40]::{kind}[], [1, 1, 2]::{kind}[]), cae_area([1, 3]::{kind}[2])"
            assert connection.execute(sql).fetchall() == [(cae_area([10, 20, 40], [1, 1, 2]), 2.0)]


def test_aggregates_count_equal_values_leave_nulls_out_and_are_null_without_any() -> None:
    rows = [("a", 10), ("a", 10), ("a", 30), ("a", None), ("b", None), ("c", 20)]
    with connected() as connection:
        connection.execute("CREATE TABLE t (g VARCHAR, x INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        found = connection.execute(
            "SELECT g, cae_entropy_agg(x), cae_entropy_agg(x, 20), cae_entropy_agg(x, epsilon := 5), "
            "cae_area_agg(x), cae_risk_agg(x, 10, 250, 10), len(cae_curve_agg(x)), "
            "cae_area_bounds_agg(x).upper FROM t GROUP BY g ORDER BY g"
        ).fetchall()
        nothing = connection.execute(
            "SELECT cae_area_agg(x), cae_entropy_agg(x) FROM t WHERE false"
        ).fetchall()
    entropy, area = cae_entropy([10, 30], [2, 1]), cae_area([10, 30], [2, 1])
    risk = risk_of([10, 30], [2, 1], Domain(10, 250, 10)).risk
    assert found[0] == ("a", *(pytest.approx(x) for x in (entropy, 0, entropy, area, risk, 2, area)))
    assert found[1] == ("b", *[None] * 7)
    assert found[2] == ("c", 0, 0, 0, 0, 1, 1, 0)
    assert nothing == [(None, None)]


def test_aggregates_take_a_filter_and_areas_a_tolerance() -> None:
    with connected() as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT i % 2 AS g, (i * i) % 7919 * 1.5 AS x FROM range(1200) r(i)"
        )
        found = connection.execute(
            "SELECT g, cae_area_agg(x), cae_area_agg(x, tolerance := 0.01), "
            "cae_area_agg(x, filter := x < 5000), cae_entropy_agg(x, 20, filter := x < 5000), "
            "cae_area_agg(x, filter := false), len(cae_curve_agg(x, filter := x < 20)), "
            "cae_risk_agg(x, 0, 12000, 0.5, filter := x < 20), "
            "cae_area_bounds_agg(x, filter := x < 20).lower "
            "FROM t GROUP BY g ORDER BY g"
        ).fetchall()
        few = connection.execute(
            "SELECT cae_area_agg(x), cae_entropy_agg(x, 20) FROM t WHERE x < 5000 GROUP BY g ORDER BY g"
        ).fetchall()
    for (_, exact, rough, some, entropy, none, *rest), other in zip(found, few, strict=True):
        assert rough == pytest.approx(exact, rel=0.01)
        assert (some, entropy) == other
        assert none is None
        assert all(each > 0 for each in rest)


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("education", "(education): a column of text, where numbers are wanted"),
        ("t.education", "(education): a column of text"),
        ("lower(education)", "(lower(education)): a column of text"),
        ("born", "(born): a column of date"),
        ("cats", "(cats): a column of boolean"),
        ("education, filter := cats", "(education): a column of text"),
    ],
)
@pytest.mark.parametrize("macro", ["cae_area_agg", "cae_entropy_agg", "cae_area_bounds_agg", "cae_curve_agg"])
def test_an_aggregate_of_what_is_no_number_says_which_column_it_is(
    macro: str, argument: str, said: str
) -> None:
    with connected() as connection:
        connection.execute("CREATE TABLE t (education VARCHAR, born DATE, cats BOOLEAN)")
        connection.execute("INSERT INTO t VALUES ('HS-grad', '1970-01-01', true)")
        with pytest.raises(duckdb.InvalidInputException, match=re.escape(macro + said)):
            connection.execute(f"SELECT {macro}({argument}) FROM t")


def test_many_exact_areas_are_said_to_take_long_unless_a_tolerance_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(functions, "_LONG", 0.1)
    with connected() as connection:
        connection.execute("CREATE TABLE t AS SELECT i % 5 AS g, (i * i) % 7919 AS x FROM range(1000) r(i)")
        with pytest.warns(ExactIsSlow, match="tolerance := 0.001"):
            connection.execute("SELECT cae_area_agg(x) FROM t GROUP BY g").fetchall()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            connection.execute("SELECT cae_area_agg(x, tolerance := 0.01) FROM t GROUP BY g").fetchall()


def test_rows_keep_their_places_over_many_vectors_and_threads() -> None:
    with connected() as connection:
        connection.execute(
            "CREATE TABLE t AS "
            "SELECT i, CASE WHEN i % 11 THEN [0, i, 2 * i] END AS x FROM range(1, 30001) r(i)"
        )
        wrong = connection.execute(
            "SELECT count(*) FROM t WHERE (x IS NULL) <> (cae_area(x) IS NULL) "
            "OR abs(cae_area(x) / (i * cae_area([0, 1, 2])) - 1) > 1e-12"
        ).fetchone()
        nulls = connection.execute(
            "SELECT count(*) FROM t WHERE i % 11 = 0 AND cae_area(x) IS NULL"
        ).fetchone()
    assert wrong == (0,)
    assert nulls == (30000 // 11,)


def test_an_error_reaches_sql_with_function_row_and_reason_and_the_connection_goes_on() -> None:
    with connected() as connection:
        with pytest.raises(duckdb.InvalidInputException, match=r"cae_area: row 0: values\[1\] is NULL"):
            connection.execute("SELECT cae_area([1, NULL])").fetchall()
        assert connection.execute("SELECT try(cae_area([])), cae_area([1])").fetchall() == [(None, 0.0)]


def test_several_threads_each_with_a_cursor_get_the_same() -> None:
    sql = (
        "SELECT sum(cae_area([i % 7, i % 5, 20])), sum(cae_entropy([i % 7, i % 5, 20], 3)) "
        "FROM range(20000) t(i)"
    )
    with connected() as connection:
        wanted = connection.execute(sql).fetchall()
        found: list[object] = []

        def ask() -> None:
            cursor = connection.cursor()
            udfs.register(cursor)
            found.append(cursor.execute(sql).fetchall())

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [np.allclose(each, wanted) for each in found] == [True] * 4  # type: ignore[arg-type]


def _in_a_child() -> None:
    with connected() as connection:
        assert connection.execute(SALARIES).fetchall() == [(True, True, True)]


def test_a_forked_process_can_use_the_functions_on_a_connection_of_its_own() -> None:
    _in_a_child()  # so that kernels are loaded, and have run, before the fork
    child = multiprocessing.get_context("fork").Process(target=_in_a_child)
    child.start()
    child.join(120)
    assert child.exitcode == 0
