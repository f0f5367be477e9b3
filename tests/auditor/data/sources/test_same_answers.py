"""A day of an analyst's statements gets the same verdicts and rows through every source, in every mode."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from auditor import Policy, QueryRefused, QueryUnsupported
from tests.auditor.data.sources.made import POLICY, ROWS, duckdb_file, opened, url, written
from tests.auditor.proxy import postgres_server
from tests.quick import some

ACS = """
SELECT id::INTEGER AS id, salary::INTEGER AS salary, age::INTEGER AS age, sex::INTEGER AS sex,
    education::INTEGER AS education, industry, occupation, travel_time::INTEGER AS travel_time
FROM read_csv('{file}') WHERE id % 3 = 0
"""
ADULT = """
SELECT age::INTEGER AS age, workclass, education, education_num::INTEGER AS education_num, marital_status,
    occupation, relationship, race, sex, capital_gain::INTEGER AS capital_gain,
    capital_loss::INTEGER AS capital_loss,
    hours_per_week::INTEGER AS hours_per_week, native_country, income FROM read_csv('{file}') LIMIT 9000
"""
RULES = """
[protect]
table = "{table}"
column = "{column}"
minimum = {minimum}
maximum = {maximum}
step = {step}
public = {public}
[limit]
risk = 0.5
[source]
{source}
"""
MODES = {"records": 'mode = "records"', "cells": 'mode = "cells"', "values": "values = true"}
"""What is read of a source."""
SOME = int(os.environ.get("CAE_EVERY", "3"))
"""Every source is read by records; by cells and by values every third, or with CAE_EVERY=1 all."""
DAY = """
SELECT AVG({column}) FROM {table}
SELECT COUNT(*), SUM({column}), AVG({column}) FROM {table}
SELECT MIN({column}), MAX({column}) FROM {table}
SELECT sex, COUNT(*) AS n, AVG({column}) AS mean FROM {table} GROUP BY sex ORDER BY sex
SELECT sex, AVG({column}) AS mean FROM {table} GROUP BY sex HAVING COUNT(*) >= 30 ORDER BY mean DESC
SELECT age // 20 * 20 AS band, SUM({column}) AS total, COUNT(*) AS n FROM {table} GROUP BY 1 ORDER BY 1
SELECT age // 20 * 20 AS band, AVG({column}) AS mean FROM {table} WHERE age < 60 GROUP BY 1 ORDER BY 1
SELECT AVG({column}) FROM {table} WHERE age >= 40
SELECT SUM({column}) * 100.0 / (SELECT SUM({column}) FROM {table}) AS share FROM {table} WHERE age < 40
SELECT SUM({column}) FILTER (WHERE age < 20) AS young, COUNT(*) AS n FROM {table}
SELECT sex, COUNT(*) AS n, ROUND(AVG({column}), 1) AS mean FROM {table} GROUP BY ROLLUP (sex) ORDER BY sex
SELECT AVG(CASE WHEN age < 40 THEN {column} END) - AVG(CASE WHEN age >= 40 THEN {column} END) FROM {table}
WITH old AS (SELECT * FROM {table} WHERE age >= 60) SELECT COUNT(*), AVG({column}) FROM old
SELECT SUM(total) FROM (SELECT sex, SUM({column}) AS total FROM {table} GROUP BY sex)
SELECT sex, AVG({column}) - AVG(AVG({column})) OVER () AS off FROM {table} GROUP BY sex ORDER BY off
SELECT occupation, COUNT(*) AS n FROM {table} GROUP BY occupation ORDER BY n DESC, occupation LIMIT 5
SELECT COUNT(DISTINCT occupation), MIN(age), MAX(age), AVG({education}) FROM {table}
SELECT DISTINCT {education} FROM {table} ORDER BY {education}
SELECT age, sex, occupation FROM {table} ORDER BY age, occupation, sex LIMIT 9
SELECT COUNT({column}) FROM {table} WHERE age BETWEEN 30 AND 39 AND sex IN (SELECT MAX(sex) FROM {table})
SELECT SUM({column}) FROM {table} WHERE age >= 85
SELECT SUM({column}) FROM {table} WHERE age = 17 AND {education} = 3
SELECT MAX({column}) FROM {table} WHERE age > 80 AND {education} < 9
SELECT AVG({column}) FROM {table} WHERE age <> 81
SELECT AT_LEAST(MAX({column})) AS low, AT_MOST(MAX({column})) AS high FROM {table} WHERE age > 60
SELECT MEDIAN({column}) FROM {table}
SELECT age, {column} FROM {table}
SELECT COUNT(*) FROM {table} WHERE {column} > 50
SELECT SUM({column} * {column}) FROM {table}
SELECT SUM({column}) FROM {table} ORDER BY {column}
SELECT salry FROM {table}
SELECT SUM({column} FROM {table}
"""
"""Groups, ranges, public columns, what is refused and what is not understood."""


def asked(table: str, column: str, education: str) -> list[str]:
    """The day's statements."""
    return DAY.format(table=table, column=column, education=education).strip().splitlines()


def day(source: Any, rules: Policy, statements: list[str], folder: Path) -> list[tuple[object, ...]]:
    """What becomes of each."""
    found: list[tuple[object, ...]] = []
    with opened(source, folder, rules) as gate:
        for sql in statements:
            try:
                answer = gate.execute(sql)
                table = answer.arrow()
                found.append((answer.decision.verdict, answer.decision.code, table.schema, table.to_pylist()))
            except (QueryRefused, QueryUnsupported) as error:
                decision = error.decision
                found.append((decision.verdict, decision.code, decision.message, decision.hint))
    return found


Through = Callable[[Path, str, pa.Table, ExitStack], Any]


def _ibis_duckdb(path: Path, table: str, rows: pa.Table, opened_: ExitStack) -> Any:
    ibis = pytest.importorskip("ibis")
    connection = ibis.duckdb.connect(str(path), read_only=True)
    opened_.callback(connection.disconnect)
    return connection.table(table)


def _ibis_polars(path: Path, table: str, rows: pa.Table, opened_: ExitStack) -> Any:
    ibis, polars = pytest.importorskip("ibis"), pytest.importorskip("polars")
    return ibis.polars.connect({table: polars.from_arrow(rows)}).table(table)


def _polars(path: Path, table: str, rows: pa.Table, opened_: ExitStack) -> Any:
    return pytest.importorskip("polars").from_arrow(rows)


def _parquet(path: Path, table: str, rows: pa.Table, opened_: ExitStack) -> Any:
    return _copied(path.with_name("rows.parquet"), rows, "")


def _folder(path: Path, table: str, rows: pa.Table, opened_: ExitStack) -> Any:
    return _copied(path.with_name("folder"), rows, "(FORMAT parquet, PARTITION_BY (sex))")


def _csv(path: Path, table: str, rows: pa.Table, opened_: ExitStack) -> Any:
    return _copied(path.with_name("rows.csv"), rows, "")


def _arrow(path: Path, table: str, rows: pa.Table, opened_: ExitStack) -> Any:
    with (
        pa.OSFile(str(path.with_name("rows.arrow")), "wb") as file,
        pa.ipc.new_file(file, rows.schema) as writer,
    ):
        writer.write_table(rows, 1_000)
    return path.with_name("rows.arrow")


def _pandas(path: Path, table: str, rows: pa.Table, opened_: ExitStack) -> Any:
    return rows.to_pandas()


def _copied(path: Path, rows: pa.Table, options: str) -> Path:
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        connection.execute(f"COPY rows TO '{path}' {options}")
    return path


def _on_server(table: str, rows: pa.Table, opened_: ExitStack) -> dict[str, Any]:
    psycopg = pytest.importorskip("psycopg")
    place = opened_.enter_context(postgres_server.running())
    types = {"int32": "int", "string": "text"}
    columns = ", ".join(f'"{each.name}" {types[str(each.type)]}' for each in rows.schema)
    with psycopg.connect(**place) as connection:
        connection.execute(f"CREATE TABLE {table} ({columns})")
        with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            for row in rows.to_pylist():
                copy.write_row(tuple(row.values()))
    return place


def _postgres(path: Path, table: str, rows: pa.Table, opened_: ExitStack) -> Any:
    return url(_on_server(table, rows, opened_))


def _ibis_postgres(path: Path, table: str, rows: pa.Table, opened_: ExitStack) -> Any:
    ibis = pytest.importorskip("ibis")
    place = _on_server(table, rows, opened_)
    connection = ibis.postgres.connect(host=place["host"], user="postgres", database="postgres")
    opened_.callback(connection.disconnect)
    return connection.table(table)


EVERY: dict[str, Through] = {
    "Parquet": _parquet, "Hive folder": _folder, "CSV": _csv, "Arrow": _arrow, "pandas": _pandas,
    "polars": _polars, "PostgreSQL": _postgres, "Ibis over DuckDB": _ibis_duckdb,
    "Ibis over polars": _ibis_polars, "Ibis over PostgreSQL": _ibis_postgres,
}  # fmt: skip


@pytest.fixture
def held() -> Iterator[ExitStack]:
    """Servers and connections, for as long as a test runs."""
    with ExitStack() as stack:
        yield stack


def _same_day(
    query: str,
    rules: dict[str, Policy],
    statements: list[str],
    folder: Path,
    held: ExitStack,
    through: list[str],
) -> None:
    (table,) = {each.table for each in rules["records"].protects}
    path = folder / "data" / "rows.duckdb"
    path.parent.mkdir()
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE {table} AS {query}")
        rows = connection.execute(f"FROM {table}").to_arrow_table()
    expected = day(path, rules["records"], statements, folder)
    verdicts = {verdict for verdict, *_ in expected}
    assert verdicts == {"answered", "refused", "unsupported"}
    assert {"range", "row-level"} & {str(code) for _, code, *_ in expected}
    sources = {name: EVERY[name](path, table, rows, held) for name in through}
    for turn, (mode, policy_) in enumerate(rules.items()):
        for place, (name, source) in enumerate({"DuckDB": path, **sources}.items()):
            if turn and (place + turn) % SOME:
                continue
            found = day(source, policy_, statements, folder)
            require_same(mode, name, statements, found, expected)


def require_same(
    mode: str,
    name: str,
    statements: list[str],
    found: list[tuple[object, ...]],
    expected: list[tuple[object, ...]],
) -> None:
    """Check a day through one source in one mode against the day through a DuckDB file by records."""
    for sql, mine, theirs in zip(statements, found, expected, strict=True):
        if mode == "cells" and theirs[1] == "range":
            assert mine[:2] == ("unsupported", "cells-values"), (name, sql)
        elif name in ("CSV", "Hive folder") and mine[0] == "answered":
            # whole numbers of CSV files and of folders' names are BIGINT
            assert (mine[:2], mine[3]) == (theirs[:2], theirs[3]), (mode, name, sql)
        else:
            assert mine == theirs, (mode, name, sql)


def acs_rules() -> dict[str, Policy]:
    """For the ACS records, by mode."""
    public = '["age", "sex", "education", "industry", "occupation", "travel_time"]'
    return _rules(table="person", column="salary", minimum=10, maximum=250, step=10, public=public)


def _rules(**about: object) -> dict[str, Policy]:
    """The policy for each mode."""
    return {mode: Policy.parse(RULES.format(source=source, **about)) for mode, source in MODES.items()}


@pytest.mark.slow
def test_a_day_on_acs_is_the_same_through_every_source(
    shared_data: Path, tmp_path: Path, held: ExitStack
) -> None:
    query = ACS.format(file=shared_data / "microdata" / "acs2011_us_paperlike.csv")
    statements = asked("person", "salary", "education")
    _same_day(query, acs_rules(), statements, tmp_path, held, list(EVERY))


@pytest.mark.slow
def test_a_day_on_adult_is_the_same_through_sources_of_each_kind(
    shared_data: Path, tmp_path: Path, held: ExitStack
) -> None:
    query = ADULT.format(file=shared_data / "microdata" / "adult_complete_45222.csv.gz")
    rules = _rules(table="adult", column="hours_per_week", minimum=1, maximum=99, step=1, public='"all"')
    statements = asked("adult", "hours_per_week", "education_num")
    _same_day(
        query,
        rules,
        statements,
        tmp_path,
        held,
        ["Parquet", "CSV", "pandas", "PostgreSQL", "Ibis over polars"],
    )


PLAIN = POLICY.replace('key = "id"\n', "").replace('[source]\nmode = "records"\n', "")
WITH_CELLS = {mode: Policy.parse(f"{PLAIN}\n[source]\n{source}\n") for mode, source in MODES.items()}


@pytest.mark.slow
@pytest.mark.parametrize("mode", some(MODES, 1))
def test_statements_about_a_small_table_are_the_same(mode: str, tmp_path: Path) -> None:
    statements = [
        "SELECT dept, count(*) AS n, avg(salary) AS a FROM staff GROUP BY dept ORDER BY dept",
        "SELECT sum(salary) FROM staff WHERE since >= DATE '2020-01-10' AND ok",
        "SELECT sum(salary) FROM staff WHERE id = 7",
        "SELECT sex, AT_MOST(max(salary)) AS high FROM staff GROUP BY sex ORDER BY sex",
        "SELECT salary FROM staff",
        "SELECT note, dist, part, big, age FROM staff ORDER BY id LIMIT 9",
        "SELECT date_trunc('hour', \"at\") AS h, count(*) FROM staff GROUP BY h ORDER BY h LIMIT 5",
    ]
    made = duckdb_file(tmp_path / "staff.duckdb")
    expected = day(made, WITH_CELLS["records"], statements, tmp_path)
    assert {verdict for verdict, *_ in expected} == {"answered", "refused", "unsupported"}
    for source in (made, written(tmp_path / f"{mode}.parquet")):
        assert day(source, WITH_CELLS[mode], statements, tmp_path) == expected


WIDE = RULES.format(
    table="staff",
    column="salary",
    minimum=0,
    maximum=250,
    step=10,
    public='["age", "sex", "dept"]',
    source="{source}",
)
ABOUT_CELLS = [
    "SELECT dept, count(*) AS n, avg(salary) AS a FROM staff GROUP BY dept ORDER BY dept",
    "SELECT count(*), count(salary), min(age), avg(age) FROM staff",
    "SELECT sum(salary), median(age) FROM staff WHERE age > 25",
    "SELECT sum(salary) FROM staff WHERE age = 35 AND sex = 'F' AND dept = 'Sales'",
    "SELECT sex, max(salary) AS high FROM staff GROUP BY sex ORDER BY sex",
    "SELECT sum(salary) FROM (SELECT salary, rank() OVER (ORDER BY age) AS r FROM staff) WHERE r < 60",
    "SELECT sum(a.salary) FROM staff a JOIN (SELECT DISTINCT sex FROM staff) b ON a.sex = b.sex",
    "SELECT sum(salary) FROM (SELECT salary FROM staff ORDER BY age LIMIT 9)",
    "SELECT age, sex FROM staff ORDER BY age, sex LIMIT 20",
]
"""Some of them about rows that are made up again of cells."""


@pytest.mark.slow
@pytest.mark.parametrize("mode", some(["cells", "values"], 1))
def test_statements_about_rows_that_agree_in_public_are_the_same(mode: str, tmp_path: Path) -> None:
    # each row twice, with another salary
    rows = f"FROM ({ROWS}) UNION ALL SELECT * REPLACE (salary // 20 * 10 AS salary) FROM ({ROWS})"
    made = duckdb_file(tmp_path / "staff.duckdb", rows)
    expected = day(made, Policy.parse(WIDE.format(source=MODES["records"])), ABOUT_CELLS, tmp_path)
    assert {verdict for verdict, *_ in expected} == {"answered", "refused", "unsupported"}
    for source in (made, written(tmp_path / "staff.parquet", query=rows)):
        assert day(source, Policy.parse(WIDE.format(source=MODES[mode])), ABOUT_CELLS, tmp_path) == expected
