"""Any Ibis table is a source: over DuckDB, polars, PostgreSQL and Spark, tables and expressions alike."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from auditor.errors import DatabaseError
from tests.auditor.data.sources.made import (
    POSTGRES,
    duckdb_file,
    fill,
    fingerprint,
    opened,
    policy,
    staff,
    written,
)  # fmt: skip
from tests.auditor.proxy import postgres_server

ibis = pytest.importorskip("ibis", reason="what other engines are reached by")


@pytest.fixture
def bound(tmp_path: Path) -> str:
    """The fingerprint through a DuckDB file."""
    return fingerprint(duckdb_file(tmp_path / "staff.duckdb"), tmp_path)


def test_over_duckdb(bound: str, tmp_path: Path) -> None:
    connection = ibis.duckdb.connect(str(duckdb_file(tmp_path / "other.duckdb")), read_only=True)
    try:
        assert fingerprint(connection.table("staff"), tmp_path) == bound
    finally:
        connection.disconnect()


def test_over_polars(bound: str, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    connection = ibis.polars.connect({"staff": polars.from_arrow(staff())})
    assert fingerprint(connection.table("staff"), tmp_path) == bound


def test_in_memory(bound: str, tmp_path: Path) -> None:
    assert fingerprint(ibis.memtable(staff()), tmp_path) == bound


@pytest.mark.slow
def test_over_postgresql(bound: str, tmp_path: Path) -> None:
    psycopg = pytest.importorskip("psycopg")
    with postgres_server.running() as place:
        with psycopg.connect(**place, autocommit=True) as connection:
            connection.execute(f"CREATE TABLE staff ({POSTGRES})")
            fill(connection, "staff", [tuple(row.values()) for row in staff().to_pylist()])
        through = ibis.postgres.connect(host=place["host"], user="postgres", database="postgres")
        try:
            assert fingerprint(through.table("staff"), tmp_path) == bound
        finally:
            through.disconnect()


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """A local Spark."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    session = (
        SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC").getOrCreate()
    )  # fmt: skip
    try:
        yield ibis.pyspark.connect(session)
    finally:
        session.stop()


@pytest.mark.slow
def test_over_spark(spark: Any, bound: str, tmp_path: Path) -> None:
    path = written(tmp_path / "staff.parquet")
    table = spark.read_parquet(str(path), table_name="staff")
    assert fingerprint(table, tmp_path) == bound


def test_an_expression_is_a_table(tmp_path: Path) -> None:
    table = ibis.memtable(staff())
    joined = table.join(ibis.memtable({"dept": ["Sales", "Research"], "region": ["N", "S"]}), "dept")
    rules = policy(public='["sex", "region"]')
    with opened(joined, tmp_path, rules) as gate:
        found = gate.execute(
            "SELECT region, count(*) AS n FROM staff GROUP BY region ORDER BY region"
        ).fetchall()
    assert found == [("N", 50), ("S", 50)]


def test_one_query_is_made_of_the_wanted_columns_alone(tmp_path: Path) -> None:
    table = ibis.memtable(staff())
    with pytest.raises(DatabaseError, match=r"no column salry\. Did you mean salary"):
        opened(table, tmp_path, policy(column='"salry"')).__enter__()
    with opened(table.mutate(odd=ibis.array([1])), tmp_path, policy(public='["sex"]', key="")) as gate:
        assert [each.name for each in gate._schema.tables[0].columns] == ["sex"]


def test_what_an_engine_says_is_not_repeated(tmp_path: Path) -> None:
    table = ibis.memtable(staff())
    broken = table.mutate(age=table.note.cast("int64"))
    with pytest.raises(DatabaseError, match="its engine says") as raised:
        opened(broken, tmp_path).__enter__()
    assert "x," not in str(raised.value)


@pytest.mark.parametrize(("driver", "extra"), [("snowflake", "ibis"), ("pyspark.sql", "spark")])
def test_a_driver_that_is_missing_is_named(
    driver: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = ibis.memtable(staff())

    def missing(*arguments: Any) -> None:
        raise ImportError("no", name=driver)

    monkeypatch.setattr(type(table), "select", missing)
    with pytest.raises(DatabaseError, match=rf"{driver} is not installed; pip install 'cae-sql\[{extra}\]'"):
        opened(table, tmp_path).__enter__()
