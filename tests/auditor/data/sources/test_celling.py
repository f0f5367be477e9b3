"""Cells are the same through every source, made where the data are by one question no client has part in."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest

from auditor import Gate, Policy, PolicyError, QueryUnsupported
from auditor.attacks.runner import run_attacks
from auditor.data import units
from auditor.errors import CoarserGridWarning, DatabaseError, DataChanged
from auditor.history.audit import audit
from tests.auditor.data.sources.made import (
    POSTGRES,
    ROWS,
    duckdb_file,
    fill,
    fingerprint,
    staff,
    url,
    written,
)
from tests.auditor.proxy import postgres_server

RULES = """
[[protect]]
table = "staff"
column = "salary"
minimum = 0
maximum = 250
step = 10
public = ["age", "sex", "dept", "note", "since"]
[[protect]]
table = "staff"
column = "dist"
minimum = -1
maximum = 100
step = 0.25
public = ["age", "sex", "dept", "note", "since"]
[[protect]]
table = "staff"
column = "part"
minimum = 0
maximum = 50
step = 0.125
public = ["age", "sex", "dept", "note", "since"]
[[protect]]
table = "staff"
column = "ok"
minimum = 0
maximum = 1
step = 1
public = ["age", "sex", "dept", "note", "since"]
[limit]
risk = 0.5
[source]
mode = "cells"
"""
TWICE = f"""
SELECT * FROM ({ROWS}) UNION ALL
SELECT * REPLACE (salary // 20 * 10 AS salary, (floor(dist * 2) / 2)::DECIMAL(9, 2) AS dist) FROM ({ROWS})
"""
"""Every row twice, with other values."""
_NAMES = count(1)


def rules(**changes: str) -> Policy:
    text = RULES
    for old, new in changes.items():
        text = text.replace(f"[{old}]", new)
    return Policy.parse(text)


def one(source: str = 'mode = "cells"', **protect: object) -> Policy:
    """A policy about salary, by age and sex, or what else is said."""
    said = {
        "table": "staff", "column": "salary", "minimum": 0, "maximum": 250, "step": 10,
        "public": ["age", "sex"],
    } | protect  # fmt: skip
    lines = [
        f"{key} = {str(value) if not isinstance(value, str) else repr(value)}" for key, value in said.items()
    ]
    return Policy.parse("\n".join(["[protect]", *lines, "[limit]", "risk = 0.5", "[source]", source]))


@pytest.fixture(scope="module")
def bound(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The fingerprint through a DuckDB file."""
    folder = tmp_path_factory.mktemp("bound")
    return fingerprint(duckdb_file(folder / "staff.duckdb"), folder, rules())


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, Any]]:
    """One that has the table."""
    psycopg = pytest.importorskip("psycopg", reason="what a server is reached by")
    with postgres_server.running() as place:
        with psycopg.connect(**place, autocommit=True) as connection:
            connection.execute(f"CREATE TABLE staff ({POSTGRES})")
            fill(connection, "staff", [tuple(row.values()) for row in staff().to_pylist()])
        yield place


def run(place: dict[str, Any], *statements: str) -> None:
    import psycopg

    with psycopg.connect(**place, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


# --- the same through every source


@pytest.mark.slow
def test_files_and_frames(bound: str, tmp_path: Path) -> None:
    table = staff()
    with (
        pa.OSFile(str(tmp_path / "staff.arrow"), "wb") as file,
        pa.ipc.new_file(file, table.schema) as writer,
    ):
        writer.write_table(table, 40)
    assert fingerprint(written(tmp_path / "staff.parquet"), tmp_path, rules()) == bound
    for name, given in {
        "file": tmp_path / "staff.arrow",
        "table": table,
        "reader": table.to_reader(17),
    }.items():
        assert fingerprint(given, tmp_path, rules()) == bound, name


def test_polars(bound: str, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    assert fingerprint(polars.from_arrow(staff()), tmp_path, rules()) == bound


def test_postgresql(server: dict[str, Any], bound: str, tmp_path: Path) -> None:
    assert fingerprint(url(server), tmp_path, rules()) == bound


@pytest.mark.slow
def test_ibis_over_duckdb_and_polars(bound: str, tmp_path: Path) -> None:
    ibis = pytest.importorskip("ibis")
    assert fingerprint(ibis.memtable(staff()), tmp_path, rules()) == bound
    polars = pytest.importorskip("polars")
    connection = ibis.polars.connect({"staff": polars.from_arrow(staff())})
    assert fingerprint(connection.table("staff"), tmp_path, rules()) == bound


@pytest.mark.slow
def test_ibis_over_postgresql_gives_cells_by_default(
    server: dict[str, Any], bound: str, tmp_path: Path
) -> None:
    ibis = pytest.importorskip("ibis")
    through = ibis.postgres.connect(host=server["host"], user="postgres", database="postgres")
    try:
        table = through.table("staff")
        by_default = Policy.parse(RULES.partition("[source]")[0])
        assert fingerprint(table, tmp_path, by_default) == bound
        assert fingerprint({"staff": table}, tmp_path, by_default) == bound
        records = Policy.parse(RULES.replace('"cells"', '"records"'))
        assert fingerprint(table, tmp_path, records) == fingerprint(staff(), tmp_path, by_default) != bound
    finally:
        through.disconnect()


@pytest.mark.slow
def test_ibis_over_spark(bound: str, tmp_path: Path) -> None:
    ibis = pytest.importorskip("ibis")
    pyspark = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = pyspark.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    try:
        path = written(tmp_path / "staff.parquet")
        table = ibis.pyspark.connect(session).read_parquet(str(path), table_name="staff")
        assert fingerprint(table, tmp_path, Policy.parse(RULES.partition("[source]")[0])) == bound
    finally:
        session.stop()


@pytest.mark.slow
def test_by_value_the_ledger_is_that_of_records(server: dict[str, Any], tmp_path: Path) -> None:
    """Whoever begins with cells by value may go on with records, and the other way round."""
    by_value = Policy.parse(RULES.replace('mode = "cells"', "values = true"))
    records = Policy.parse(RULES.partition("[source]")[0])
    expected = fingerprint(staff(), tmp_path, records)
    sources = {"Arrow": staff(), "PostgreSQL": url(server), "Parquet": written(tmp_path / "staff.parquet")}
    for name, given in sources.items():
        assert fingerprint(given, tmp_path, by_value) == expected, name
    ibis = pytest.importorskip("ibis")
    assert fingerprint(ibis.memtable(staff()), tmp_path, by_value) == expected


@pytest.mark.parametrize("through", ["Parquet", "PostgreSQL", "Ibis"])
def test_rows_that_agree_in_public_are_one_cell(through: str, server: dict[str, Any], tmp_path: Path) -> None:
    path = written(tmp_path / "staff.parquet", query=TWICE)
    given: Any = path
    expected = fingerprint(duckdb_file(tmp_path / "twice.duckdb", TWICE), tmp_path, rules())
    if through == "PostgreSQL":
        schema = f"own_{next(_NAMES)}"
        run(server, f"CREATE SCHEMA {schema}", f"CREATE TABLE {schema}.staff ({POSTGRES})")
        import psycopg

        with psycopg.connect(**server, autocommit=True) as connection:
            rows = duckdb.sql(f"FROM '{path}'").to_arrow_table().to_pylist()
            fill(connection, f"{schema}.staff", [tuple(row.values()) for row in rows])
        given = f"{url(server)}&options=-csearch_path%3D{schema}"
    elif through == "Ibis":
        ibis = pytest.importorskip("ibis")
        given = ibis.memtable(pa.parquet.read_table(path))
    with Gate.open(given, rules(), tmp_path / "one.ledger") as gate:
        assert gate._database.fingerprint == expected
        cells = gate._database._loaded.connection.execute(
            'SELECT count(*), sum(_weight) FROM "_data"."_cells"'
        )
        ((found, rows_),) = cells.fetchall()
        assert rows_ == 300
        assert found <= 150


@pytest.mark.parametrize("through", ["Arrow", "Parquet", "PostgreSQL", "Ibis"])
def test_rows_without_a_value_are_cells_of_their_own(
    through: str, server: dict[str, Any], tmp_path: Path
) -> None:
    rows = (
        "SELECT 1 + i % 2 AS age, CASE WHEN i % 3 > 0 THEN i * 10 END AS salary, "
        "CASE WHEN i % 4 > 0 THEN i % 3 * 10 END AS bonus FROM generate_series(0, 23) AS t(i)"
    )
    given: Any = written(tmp_path / "staff.parquet", query=rows)
    policy = Policy.parse(
        "\n".join(
            f'[[protect]]\ntable = "staff"\ncolumn = "{column}"\nminimum = 0\nmaximum = 250\nstep = 10\n'
            'public = ["age"]'
            for column in ("salary", "bonus")
        )
        + '\n[limit]\nrisk = 0.9\n[source]\nmode = "cells"\n'
    )
    if through == "PostgreSQL":
        schema = f"own_{next(_NAMES)}"
        run(server, f"CREATE SCHEMA {schema}", f"CREATE TABLE {schema}.staff AS {rows}")
        given = f"{url(server)}&options=-csearch_path%3D{schema}"
    elif through == "Ibis":
        given = pytest.importorskip("ibis").memtable(pa.parquet.read_table(given))
    elif through == "Arrow":
        given = pa.parquet.read_table(given)
    with Gate.open(given, policy, tmp_path / "one.ledger") as gate:
        counts = "SELECT age, count(*), count(salary), count(bonus) FROM staff GROUP BY age ORDER BY age"
        assert gate.execute(counts).fetchall() == [(1, 12, 8, 6), (2, 12, 8, 12)]
        cells = gate._database._loaded.connection.execute('SELECT count(*) FROM "_data"."_cells"').fetchall()
        assert cells == [(6,)]


# --- the engine is asked once


def test_once_cells_are_made_the_source_is_not_needed(server: dict[str, Any], tmp_path: Path) -> None:
    schema = f"own_{next(_NAMES)}"
    run(server, f"CREATE SCHEMA {schema}", f"CREATE TABLE {schema}.staff AS SELECT * FROM public.staff")
    with Gate.open(f"{url(server)}&options=-csearch_path%3D{schema}", one(), tmp_path / "a.ledger") as gate:
        run(server, f"DROP TABLE {schema}.staff")
        assert gate.execute("SELECT count(*), count(salary) FROM staff").fetchall() == [(150, 139)]
        assert gate.execute("SELECT sum(salary) FROM staff").fetchall() == [(17870,)]


def test_ibis_makes_one_query_of_the_columns_that_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ibis = pytest.importorskip("ibis")
    from auditor.data.sources import ibis_table

    asked = list[Any]()
    stream = ibis_table._stream

    def listening(expression: Any) -> Any:
        asked.append(expression)
        return stream(expression)

    monkeypatch.setattr(ibis_table, "_stream", listening)
    with Gate.open(ibis.memtable(staff()), one(), tmp_path / "a.ledger") as gate:
        gate.execute("SELECT sex, avg(salary) FROM staff WHERE age > 30 GROUP BY sex")
    (expression,) = asked
    sql = ibis.to_sql(expression, dialect="duckdb")
    assert sql.count("GROUP BY") == 1
    assert {name for name in staff().schema.names if f'"{name}"' in sql} == {"age", "sex", "salary"}


@pytest.mark.parametrize(
    "dialect",
    [
        "bigquery",
        "snowflake",
        "databricks",
        "trino",
        "clickhouse",
        "postgres",
        "athena",
        "mssql",
        "mysql",
        "oracle",
    ],
)
@pytest.mark.parametrize("by_value", [False, True])
def test_ibis_writes_it_in_the_sql_of_other_engines(dialect: str, by_value: bool) -> None:
    ibis = pytest.importorskip("ibis")
    from auditor.data.sources import ibis_table
    from auditor.data.sources.wanted import Needed
    from auditor.parties.celling import celling_of

    class Far:
        far = True

    policy = rules()
    found = celling_of(policy, policy.protects, Far())  # type: ignore[arg-type]
    assert found is not None
    protected = tuple(each.column for each in policy.protects)
    needed = Needed("staff", None, protected, found.lattices, by_value)
    types = {"age": "int32", "note": "string", "salary": "int32", "dist": "decimal(9, 2)", "part": "float64",
             "ok": "boolean"}  # fmt: skip
    there = [("age", "INTEGER"), ("note", "VARCHAR"), ("salary", "INTEGER"), ("dist", "DECIMAL(9,2)"),
             ("part", "DOUBLE"), ("ok", "BOOLEAN")]  # fmt: skip
    make = ibis_table._by_value if by_value else ibis_table._cells
    expression, selected = make(ibis.table(types, name="staff"), there, needed)
    assert ibis.to_sql(expression, dialect=dialect).count("GROUP BY") == 1
    assert len(selected) == (7 if by_value else 1 + 2 + 4 * 5)


# --- what postgres takes for equal, and what it calls a number


def test_what_postgresql_writes_differently_stays_apart(server: dict[str, Any], tmp_path: Path) -> None:
    table = f"apart_{next(_NAMES)}"
    run(
        server,
        "CREATE COLLATION IF NOT EXISTS nocase (provider = icu, locale = 'und-u-ks-level2', "
        "deterministic = false)",
        f"CREATE TABLE {table} (x text COLLATE nocase, y float8, z interval, salary int)",
        f"INSERT INTO {table} VALUES ('a', 0, '1 month', 10), ('A', 0, '1 month', 20), "
        "('a', '-0', '1 month', 30), ('a', 0, '30 days', 40), ('a', 0, '1 month', 50)",
    )
    policy = one(table=table, public=["x", "y", "z"])
    with Gate.open(url(server), policy, tmp_path / "a.ledger") as gate:
        found = gate.execute(f"SELECT x, count(*) AS n FROM {table} GROUP BY x ORDER BY x")
        assert found.fetchall() == [("A", 1), ("a", 4)]
        cells = gate._database._loaded.connection.execute(
            'SELECT max(_weight), count(*) FROM "_data"."_cells"'
        )
        assert cells.fetchall() == [(2, 4)]


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "10.5", "1e-30"])
@pytest.mark.parametrize("type_", ["float8", "float4"])
def test_what_is_no_number_of_the_grid_is_an_error_in_postgresql(
    value: str, type_: str, server: dict[str, Any], tmp_path: Path
) -> None:
    table = f"off_{next(_NAMES)}"
    run(server, f"CREATE TABLE {table} (age int, salary {type_})",
        f"INSERT INTO {table} VALUES (1, 10), (1, '{value}'), (2, NULL)")  # fmt: skip
    with pytest.raises(PolicyError, match=r"1 values of .* are not minimum plus a multiple"):
        Gate.open(url(server), one(table=table, public=["age"]), tmp_path / "a.ledger")


@pytest.mark.parametrize("value", ["1e300", "1e30", "1e18"])
def test_numbers_beyond_the_domain_are_an_error_in_postgresql(
    value: str, server: dict[str, Any], tmp_path: Path
) -> None:
    table = f"off_{next(_NAMES)}"
    run(server, f"CREATE TABLE {table} (age int, salary float8)",
        f"INSERT INTO {table} VALUES (1, 10), (1, '{value}'), (2, NULL)")  # fmt: skip
    with pytest.raises((PolicyError, DatabaseError), match=r"lie outside|more digits than 64 bits hold"):
        Gate.open(url(server), one(table=table, public=["age"]), tmp_path / "a.ledger")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10.25, 10.5, 1e300, 1e18, -10.0])
def test_what_is_no_number_of_the_grid_is_an_error_by_ibis(value: float, tmp_path: Path) -> None:
    ibis = pytest.importorskip("ibis")
    table = pa.table({"age": [1, 1, 2], "salary": [10.0, value, None]})
    for given in (ibis.memtable(table), table):
        with pytest.raises(PolicyError) as raised:
            Gate.open(given, one(public=["age"]), tmp_path / "a.ledger")
        assert "protect.resolution" in str(raised.value) or "lie outside" in str(raised.value)
        assert not (tmp_path / "a.ledger").exists()


@pytest.mark.parametrize("through", ["Arrow", "Ibis", "PostgreSQL"])
@pytest.mark.parametrize("type_", ["bigint", "numeric(9,2)", "boolean"])
def test_exact_numbers_off_the_grid_are_an_error(
    type_: str, through: str, server: dict[str, Any], tmp_path: Path
) -> None:
    values = {"bigint": (10, 13, 20), "numeric(9,2)": (10, "10.25", 20), "boolean": (False, True, False)}[
        type_
    ]
    step = {"bigint": 10, "numeric(9,2)": 0.5, "boolean": 1}[type_]
    minimum = 0.5 if type_ == "boolean" else 0
    shown = [str(value) for value in values]
    listed = ", ".join(f"(1, '{value}')" for value in shown)
    rows = f"SELECT age, salary::{type_} AS salary FROM (VALUES {listed}, (2, NULL)) AS t(age, salary)"
    given: Any = duckdb.sql(rows).to_arrow_table()
    if through == "Ibis":
        given = pytest.importorskip("ibis").memtable(given)
    name = f"off_{next(_NAMES)}"
    if through == "PostgreSQL":
        run(server, f"CREATE TABLE {name} AS {rows}")
        given = url(server)
    with pytest.raises(PolicyError, match=r"[13] values of .* are not minimum plus a multiple"):
        Gate.open(
            given,
            one(table=name, public=["age"], step=step, minimum=minimum, maximum=250.5 if minimum else 250),
            tmp_path / "a.ledger",
        )


# --- what is wrong


@pytest.mark.slow
def test_other_data_under_the_same_ledger_are_turned_away(tmp_path: Path) -> None:
    ledger, path = tmp_path / "staff.ledger", tmp_path / "staff.parquet"
    with Gate.open(written(path), one(), ledger) as gate:
        gate.execute("SELECT avg(salary) FROM staff")
    changed = {
        "a value": f"SELECT * REPLACE (CASE WHEN id = 7 THEN 50 ELSE salary END AS salary) FROM ({ROWS})",
        "a type": f"SELECT * REPLACE (age::BIGINT AS age) FROM ({ROWS})",
        "a row": f"SELECT * FROM ({ROWS}) WHERE id <> 7",
        "the order of columns": f"SELECT * EXCLUDE (sex), sex FROM ({ROWS})",
    }
    for query in changed.values():
        written(path, query=query)
        with pytest.raises(DataChanged):
            Gate.open(path, one(), ledger)
    written(path)
    for policy in (one('mode = "records"'), one("values = true")):
        with pytest.raises(DataChanged):
            Gate.open(path, policy, ledger)
    with Gate.open(staff(), one(), ledger) as gate:
        assert gate.execute("SELECT avg(salary) FROM staff").decision.code == "known"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"table": "stuff"}, "no table stuff"),
        ({"column": "salry"}, r"no column salry\. Did you mean salary"),
        ({"public": ["aeg"]}, r"no column aeg\. Did you mean age"),
        ({"column": "note"}, "not supported"),
        ({"column": "dist", "step": 1}, "values of .* are not minimum plus a multiple"),
        ({"maximum": 100}, "lie outside"),
        ({"minimum": 30}, "lie outside"),
        ({"key": "id"}, r'protect\.key = "id": .* leave it out'),
    ],
)
def test_what_is_wrong_is_one_error(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    path = duckdb_file(tmp_path / "staff.duckdb")
    sources: list[Any] = [path] if "table" in change else [path, staff()]
    for source in sources:
        with pytest.raises((DatabaseError, PolicyError), match=said):
            Gate.open(source, one(**change), tmp_path / "a.ledger")
    assert not (tmp_path / "a.ledger").exists()


def test_by_value_there_may_not_be_too_many_rows(
    server: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(units, "MOST", 100)
    for source in (staff(), url(server), duckdb_file(tmp_path / "staff.duckdb")):
        with pytest.raises(DatabaseError, match=r"has 150 rows, and with source\.values = true at most 100"):
            Gate.open(source, one("values = true"), tmp_path / "a.ledger")


def test_a_source_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    for source in (
        tmp_path / "none.duckdb",
        "postgresql://nobody@127.0.0.1:1/none",
        str(tmp_path / "*.parquet"),
    ):
        with pytest.raises(DatabaseError):
            Gate.open(source, one(), tmp_path / "a.ledger")


# --- what needs more than cells


@pytest.mark.slow
def test_audits_and_attacks_need_values(tmp_path: Path) -> None:
    path = duckdb_file(tmp_path / "staff.duckdb")
    log = tmp_path / "log.sql"
    log.write_text("SELECT sum(salary) FROM staff WHERE id = 7;")
    with pytest.raises(PolicyError, match=r'source\.mode = "cells": an audit looks at single values'):
        audit(path, one(), log)
    with pytest.raises(PolicyError, match="single values"):
        run_attacks(path, one(), [])
    assert audit(path, one("values = true", public=["id", "age"]), log).findings


@pytest.mark.slow
def test_a_median_is_answered_by_value_alone(tmp_path: Path) -> None:
    asked = "SELECT AT_LEAST(MEDIAN(salary)) AS low, AT_MOST(MEDIAN(salary)) AS high FROM staff"
    with Gate.open(staff(), one(), tmp_path / "a.ledger") as gate:
        for sql in (asked, "SELECT MEDIAN(salary) FROM staff"):
            assert gate.check(sql).code == "cells-values"
            with pytest.raises(QueryUnsupported) as raised:
                gate.execute(sql)
            assert raised.value.decision.code == "cells-values"
            assert "values = true" in raised.value.decision.hint
    with Gate.open(staff(), one("values = true"), tmp_path / "b.ledger") as gate:
        assert gate.execute(asked).decision.verdict == "answered"


def test_what_the_administrator_sees_is_by_cells_too(tmp_path: Path) -> None:
    found = []
    for source in ('mode = "records"', 'mode = "cells"'):
        with Gate.open(staff(), one(source), tmp_path / f"{len(found)}.ledger") as gate:
            gate.execute("SELECT sex, sum(salary) FROM staff GROUP BY sex")
            assert not gate.verify().problems
            found.append(gate.risk())
    assert found[0].equals(found[1])


@pytest.mark.parametrize("mode", ['mode = "records"', 'mode = "cells"'])
def test_a_grid_that_is_coarser_than_the_policys_is_said(mode: str, tmp_path: Path) -> None:
    table = pa.table({"age": [i % 5 for i in range(60)], "salary": [10 + 20 * (i % 7) for i in range(60)]})
    with (
        pytest.warns(CoarserGridWarning, match="on a grid of 20"),
        Gate.open(table, one(mode, public=["age"]), tmp_path / "a.ledger"),
    ):
        pass
    with warnings.catch_warnings():
        warnings.simplefilter("error", CoarserGridWarning)
        rows = [*table.to_pylist(), {"age": 1, "salary": 20}]
        Gate.open(pa.Table.from_pylist(rows), one(mode, public=["age"]), tmp_path / "b.ledger").close()
