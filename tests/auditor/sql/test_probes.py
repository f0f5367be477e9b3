"""Statements that give no row: names and types as the engine gives them, and nothing is judged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from gate_double import make, open_staff, understood
from hypothesis import given
from hypothesis import strategies as st

from auditor.data.database import Database
from auditor.sql import understand
from auditor.sql.limits import parse
from auditor.sql.probes import gives_no_row

PUBLIC = '"id", "age", "sex", "dept", "hired", "Büro Ort", "bonus", "active", "select"'
PROBES = [
    "SELECT {all} FROM staff LIMIT 0",
    "SELECT {all} FROM staff WHERE 1 = 0",
    "SELECT {all} FROM staff WHERE (0 = 1) AND age > 3",
    "SELECT salary, dept FROM staff WHERE FALSE",
    "SELECT salary + 1 AS s, upper(dept), age // 10 FROM staff WHERE 1 = 0",
    "SELECT salary FROM staff WHERE 1 > 2",
    "SELECT salary FROM staff WHERE NULL AND age > 3",
    "SELECT {all} FROM staff FETCH FIRST 0 ROWS ONLY",
    "SELECT * FROM (SELECT dept, AVG(salary) AS a FROM staff GROUP BY dept) AS q WHERE 1 <> 1",
    "SELECT * FROM (SELECT dept, AVG(salary) AS a FROM staff GROUP BY dept) AS q LIMIT 0",
    "SELECT dept, MEDIAN(salary), MAX(salary) FROM staff GROUP BY ALL LIMIT 0",
    "(SELECT {all} FROM staff LIMIT 0)",
    "SELECT salary FROM staff UNION ALL SELECT salary FROM staff LIMIT 0",
    "WITH y AS (SELECT salary * 12 AS annual FROM staff) SELECT annual FROM y LIMIT 0",
    "SELECT salary::INTEGER AS whole, CAST(salary AS VARCHAR) FROM staff WHERE 2 = 1",
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("probes") / "staff.duckdb")


@pytest.fixture(scope="module")
def database(path: Path) -> Iterator[Database]:
    with open_staff(path) as opened:
        yield opened


@pytest.mark.parametrize("probe", PROBES)
def test_a_probe_has_the_names_and_types_that_the_engine_gives_and_no_row(
    probe: str, path: Path, database: Database
) -> None:
    plan = understood(database, probe.format(all="*"))
    assert plan.probe
    assert plan.public
    with duckdb.connect(str(path), read_only=True) as plain:
        relation = plain.sql(probe.format(all=f"{PUBLIC}, salary"))
        there = dict(zip(relation.columns, map(str, relation.types), strict=True))
        assert relation.fetchall() == []
    assert dict(zip(plan.columns, plan.types, strict=True)) == there
    table = database.run_public(plan)
    assert table.num_rows == 0
    assert table.column_names == list(plan.columns)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM staff WHERE FALSE",
        "SELECT SUM(salary) FROM staff WHERE 1 = 0",
        "SELECT dept FROM staff WHERE FALSE GROUP BY ROLLUP (dept)",
        "SELECT COUNT(*) FROM staff WHERE FALSE HAVING COUNT(*) = 0",
        "SELECT salary FROM staff WHERE FALSE UNION ALL SELECT salary FROM staff",
        "SELECT salary FROM staff WHERE 1 = 1",
        "SELECT salary FROM staff WHERE 1 <= 2",
        "SELECT 1 + SUM(salary) FROM staff WHERE 1 = 0",
        "SELECT salary FROM staff WHERE 1 = 0 OR age > 3",
        "SELECT salary FROM staff WHERE NOT FALSE",
        "SELECT salary FROM staff LIMIT 10",
        "SELECT salary FROM staff LIMIT 0 PERCENT",
        "SELECT salary FROM (SELECT salary FROM staff LIMIT 0)",
    ],
)
def test_what_may_give_a_row_or_is_not_plainly_empty_is_no_probe(sql: str) -> None:
    assert not gives_no_row(parse(sql))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT secret_note FROM staff LIMIT 0",
        "SELECT * FROM elsewhere LIMIT 0",
        "SELECT * FROM read_csv('/etc/passwd') LIMIT 0",
        "SELECT getenv('HOME') FROM staff LIMIT 0",
    ],
)
def test_a_probe_names_nothing_that_is_not_readable(sql: str, database: Database) -> None:
    assert not hasattr(understand(sql, None, database.schema), "probe")


def test_a_limit_that_is_a_parameter_of_nought_makes_a_probe(database: Database) -> None:
    assert understood(database, "SELECT salary FROM staff LIMIT ?", [0]).probe


def test_a_probe_may_be_written_in_postgres(database: Database) -> None:
    plan = understand("SELECT * FROM staff AS s WHERE (0 = 1)", None, database.schema, "postgres")
    assert getattr(plan, "probe", False)


SELECTED = st.sampled_from(["*", "age", "COUNT(*)", "MAX(age)", "age AS a, dept", "1", "age + 1", "SUM(1)"])
WHERE = st.sampled_from(["", "WHERE FALSE", "WHERE 1 = 0", "WHERE 0 = 0", "WHERE age = 0", "WHERE 1 <> 1"])
MORE = st.sampled_from(
    ["", "GROUP BY ALL", "GROUP BY ROLLUP (age)", "HAVING COUNT(*) = 0", "LIMIT 0", "LIMIT 1"]
)


@given(st.lists(st.tuples(SELECTED, WHERE, MORE), min_size=1, max_size=2), st.sampled_from(["", " LIMIT 0"]))
def test_whatever_is_called_a_probe_gives_no_row(parts: list[tuple[str, str, str]], end: str) -> None:
    sql = " UNION ALL ".join(f"(SELECT {a} FROM t {b} {c})" for a, b, c in parts) + end
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS age, 'x' AS dept")
        try:
            found = connection.sql(sql).fetchall()
        except duckdb.Error:
            return
    assert not gives_no_row(parse(sql)) or found == []
