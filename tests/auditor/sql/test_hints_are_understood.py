"""What a hint names can be written as it stands, in the dialect of the statement that got it."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from auditor.errors import DatabaseError
from auditor.gate.hints import hint, suggestions, with_ends
from auditor.policy.suggest import suggest
from auditor.sql import Column, Dialect, Plan, Protected, Schema, Table, Unsupported, understand
from auditor.sql.reasons import IN_POSTGRES, REASONS

NAMES = ["pay", "Pay", "pay €", "order", "date", "É", "é", 'a"b', "1st", "select", "günther", "a.b", "_x"]
DIALECTS: list[Dialect] = ["duckdb", "postgres"]


def schema(protected: str, *others: str, table: str = "staff") -> Schema:
    columns = tuple(Column(each, "INTEGER") for each in ("id", *others))
    return Schema((Table(table, columns),), (Protected(table, protected, "INTEGER"),))


def refused(text: str, known: Schema, dialect: Dialect) -> Unsupported:
    found = understand(text, None, known, dialect)
    assert isinstance(found, Unsupported), text
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_column_that_a_star_should_leave_out_can_be_left_out(name: str) -> None:
    known = schema(name, *(each for each in ("é", "É") if each != name))
    found = refused("SELECT * FROM staff", known, "duckdb")
    star = re.search(r"\* EXCLUDE \(.*?\)(?=,)", found.hint)
    assert star is not None, found.hint
    plan = understand(f"SELECT {star[0]} FROM staff", None, known)
    assert isinstance(plan, Plan), plan
    assert name not in plan.columns
    assert {"é", "É"} - {name} <= set(plan.columns)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", NAMES)
def test_aggregates_in_hints_are_understood(name: str, dialect: Dialect) -> None:
    known = schema(name)
    quoted = '"' + name.replace('"', '""') + '"'
    for text in (
        f"SELECT MEDIAN({quoted}) FROM staff",
        f"SELECT ABS({quoted}) FROM staff",
        f"SELECT SUM(CAST({quoted} AS SMALLINT)) FROM staff",
        f"SELECT MAX({quoted} * id) FROM staff",
        f"SELECT SUM({quoted} + id) FROM staff",
        f"SELECT id FROM staff GROUP BY id HAVING {quoted} > 1",
    ):
        found = refused(text, known, dialect)
        written = re.findall(r"(?:AVG|SUM|COUNT)\([^()…]*\)(?:::\w+(?: \w+)?)?", found.hint)
        for each in written:
            if "AVG(ROUND" not in each:
                plan = understand(f"SELECT {each} FROM staff", None, known, dialect)
                assert isinstance(plan, Plan), (text, found.hint, plan)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", ["pay €", "order", "date", "select", "günther", "a.b"])
def test_a_column_that_is_meant_can_be_written_as_the_hint_writes_it(name: str, dialect: Dialect) -> None:
    known = schema("salary", name)
    found = refused(f'SELECT "{name}x" FROM staff', known, dialect)
    assert found.code == "unknown-column"
    meant = found.hint.removeprefix("Did you mean ").removesuffix("?")
    assert isinstance(understand(f"SELECT {meant} FROM staff", None, known, dialect), Plan), found.hint


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("table", ["hr.staff", "hr.Löhne 24", "Löhne", "table"])
def test_a_table_that_is_meant_can_be_written_as_the_hint_writes_it(table: str, dialect: Dialect) -> None:
    known = schema("salary", table=table)
    found = refused(f'SELECT COUNT(*) FROM "{table.rpartition(".")[2]}_"', known, dialect)
    assert found.code == "unknown-table"
    meant = re.sub(r"^(Did you mean|There are:) |[?.]$", "", found.hint)
    assert isinstance(understand(f"SELECT COUNT(*) FROM {meant}", None, known, dialect), Plan), found.hint


WORDS = (
    "EXCLUDE",
    "QUALIFY",
    "SEMI",
    "ANTI",
    "GROUP BY ALL",
    "::DOUBLE",
    "SHOW TABLES",
    "DESCRIBE",
    "FROM or",
)


def test_no_hint_for_postgres_has_words_that_are_duckdbs_alone() -> None:
    """Of the others its readers would be told that they are not understood."""
    for code, (_, text) in REASONS.items():
        hint_ = IN_POSTGRES.get(code, text)
        assert not [word for word in WORDS if word in hint_], (code, hint_)


def test_a_clause_is_called_as_people_write_it() -> None:
    known = schema("salary", "age")
    text = "SELECT rank() OVER (w ORDER BY id) FROM staff WINDOW w AS (PARTITION BY age)"
    assert "WINDOWS" not in refused(text, known, "postgres").message
    assert "EXCLUDE" in refused("SELECT * EXCLUDE (salary) FROM staff", known, "postgres").message


def test_a_sign_before_a_sign_is_understood() -> None:
    known = schema("salary", "age")
    for text in ("SELECT - ~ age FROM staff", "SELECT SUM(salary) FROM staff WHERE - ~ age > ~ - id"):
        assert isinstance(understand(text, None, known), Plan)


def test_hints_keep_letters_apart_that_the_database_keeps_apart() -> None:
    """`É` is protected and `é` is not: a condition on `é` may be dropped."""
    known = schema("É", "é")
    text = 'SELECT SUM("É") FROM staff WHERE "é" = 3'
    plan = understand(text, None, known)
    assert isinstance(plan, Plan)
    assert "drop the condition" in hint("risk", plan.normalised, ["É"], text, False).lower()
    for each in suggestions(plan.normalised, ["É"]):
        assert isinstance(understand(each.sql, None, known), Plan), each.sql


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "data.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            'CREATE SCHEMA hr; CREATE TABLE hr."Staff" AS SELECT 10 * i AS pay FROM range(9) t(i)'
        )
        connection.execute(
            'CREATE TABLE "st""aff" AS FROM hr."Staff"; CREATE TABLE "my.staff" AS FROM hr."Staff"'
        )
    return path


def test_a_table_without_its_schema_is_found_nearby(path: Path) -> None:
    with pytest.raises(DatabaseError, match=r"did you mean 'hr\.Staff'\?"):
        suggest(path, "Staff", "pay")
    assert "hr.Staff" in suggest(path, "hr.Staff", "pay").text


@pytest.mark.parametrize("table", ['st"aff', "my.staff"])
def test_a_table_that_cannot_be_named_is_said_to_be_one(path: Path, table: str) -> None:
    from auditor.data.database import Database
    from tests.auditor.data.test_order_of_rows import Protection

    for attempt in (
        lambda: suggest(path, table, "pay"),
        lambda: Database.open(path, [Protection(table, "pay", ())]),
    ):
        with pytest.raises(DatabaseError, match="a quotation mark or a dot in its name"):
            attempt()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", NAMES)
def test_the_statement_with_ends_is_understood_and_reads_nothing_but_ends(
    name: str, dialect: Dialect
) -> None:
    known = schema(name)
    quoted = '"' + name.replace('"', '""') + '"'
    for text in (
        f"SELECT MAX({quoted}) FROM staff",
        f"SELECT id % 3 AS k, AVG({quoted}) AS {quoted}, COUNT(*) FROM staff GROUP BY 1 ORDER BY 3, 2 DESC",
        f"SELECT SUM({quoted}) FILTER (WHERE id > 7) - MIN({quoted}) FROM staff HAVING MAX({quoted}) < 3",
    ):
        written = with_ends(text, dialect, [name])
        assert written is not None
        plan = understand(written, None, known, dialect)
        assert isinstance(plan, Plan), (written, plan)
        assert plan.asks_ranges
        assert not plan.shows_any


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", NAMES)
def test_what_may_stand_in_ends_can_be_written_as_the_hint_writes_it(name: str, dialect: Dialect) -> None:
    known = schema(name)
    found = refused("SELECT AT_LEAST(COUNT(*)) FROM staff", known, dialect)
    assert found.code == "range-argument"
    example = found.hint.removeprefix("For example ").partition(", or")[0]
    assert isinstance(understand(f"SELECT {example} FROM staff", None, known, dialect), Plan), found.hint
