"""No order of rows, and no number of a record, tells how the values of rows that look equal are ordered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import duckdb
import pyarrow as pa
import pytest

from auditor import Gate, Policy, QueryRefused
from auditor.data.database import Database
from auditor.sql.schema import quoted
from auditor.sql.shape import DATA

# Values that ORDER BY takes for equal and a statement can tell apart, by type.
DOUBLES = ("'0.0'::DOUBLE", "'-0.0'::DOUBLE")
NANS = ("'nan'::DOUBLE", "'-nan'::DOUBLE")
SPANS = ("INTERVAL 1 MONTH", "INTERVAL 30 DAYS")
COARSE: list[tuple[str, tuple[str, ...]]] = [
    ("VARCHAR COLLATE NOCASE", ("'anna'", "'Anna'", "'ANNA'")),
    ("VARCHAR COLLATE NOACCENT", ("'Zoe'", "'Zoé'")),
    ("VARCHAR COLLATE NOCASE.NOACCENT", ("'zoe'", "'Zoé'")),
    ("VARCHAR COLLATE NFC", ("'\u00e9'", "'e\u0301'")),
    ("DOUBLE", DOUBLES),
    ("FLOAT", ("'0.0'::FLOAT", "'-0.0'::FLOAT")),
    ("DOUBLE", NANS),
    ("FLOAT", ("'nan'::FLOAT", "'-nan'::FLOAT")),
    ("INTERVAL", (*SPANS, "INTERVAL 720 HOURS")),
    ("DOUBLE[]", tuple(f"[1, {each}]" for each in DOUBLES)),
    ("DOUBLE[][]", tuple(f"[[{each}]]" for each in NANS)),
    ("DOUBLE[2]", tuple(f"[{each}, 1]" for each in NANS)),
    ("INTERVAL[]", tuple(f"[{each}]" for each in SPANS)),
    ('STRUCT("a b" DOUBLE)', tuple(f"{{'a b': {each}}}" for each in NANS)),
    ("STRUCT(a STRUCT(b INTERVAL)[])", tuple(f"{{'a': [{{'b': {each}}}]}}" for each in SPANS)),
    ("MAP(INTEGER, DOUBLE)", tuple(f"MAP([1], [{each}])" for each in NANS)),
    ("MAP(INTERVAL, INTEGER)", tuple(f"MAP([{each}], [1])" for each in SPANS)),
    ("UNION(i INTEGER, d DOUBLE)", tuple(f"union_value(d := {each})" for each in NANS)),
    ("VARIANT", tuple(f"({each})::VARIANT" for each in SPANS)),
    ("VARIANT", ("1::INTEGER::VARIANT", "1::BIGINT::VARIANT")),
]
# Types whose equal values are one value, told apart by order already.
EXACT: list[tuple[str, tuple[str, ...]]] = [
    ("TIMETZ", ("'12:00:00+01'", "'11:00:00+00'")),
    ("BIT", ("'01'", "'001'")),
    ("DECIMAL(5,2)", ("1.0", "1.01")),
    ("VARCHAR", ("'\u00e9'", "'e\u0301'")),
    ("ENUM('a', 'A')", ("'a'", "'A'")),
    ("BLOB", ("'a'", "'A'")),
    ("JSON", ("'{\"a\":1}'", "'{\"a\": 1}'")),
    ("UNION(i INTEGER, d DOUBLE)", ("union_value(i := 1)", "union_value(d := 1::DOUBLE)")),
    ("TIME", ("'24:00:00'", "'00:00:00'")),
    ("TIMESTAMPTZ", ("'2020-01-01 00:00:00+00'", "'2020-01-01 00:00:00+01'")),
]
SALARIES = (30, 10, 20)


@dataclass(frozen=True)
class Protection:
    table: str = "staff"
    column: str = "salary"
    public: Sequence[str] | Literal["all"] = ("name",)
    key: str | None = None
    unit: str | None = None


def names(cases: list[tuple[str, tuple[str, ...]]]) -> list[str]:
    return [f"{type_} {' '.join(values)}" for type_, values in cases]


def write(path: Path, type_: str, rows: Sequence[tuple[str, int]]) -> Path:
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE staff (name {type_}, salary INTEGER)")
        for name, salary in rows:
            connection.execute(f"INSERT INTO staff SELECT {name}, {salary}")
    return path


def shown(database: Database) -> pa.Buffer:
    """Everything that statements run on, bit by bit: rows in their order, and numbers of records."""
    connection = database._loaded.connection
    sink = pa.BufferOutputStream()
    for table in database.schema.tables:
        columns = [_legible(quoted(name), type_) for name, type_ in database.schema.columns_of(table)]
        rows = f"SELECT {', '.join(columns)} FROM {DATA}.{quoted(table.name)}"
        found = connection.sql(rows).to_arrow_table()
        with pa.ipc.new_stream(sink, found.schema) as stream:
            stream.write_table(found.combine_chunks())
    return sink.getvalue()


def _legible(name: str, type_: str) -> str:
    """Of these Arrow has no form, or one with room in which anything may stand."""
    if type_.startswith("UNION"):
        return f"[union_tag({name})::VARCHAR, union_extract({name}, 'd')::BIT::VARCHAR]"
    return f"[variant_typeof({name}), {name}::VARCHAR]" if type_ == "VARIANT" else name


@pytest.mark.slow
@pytest.mark.parametrize(("type_", "values"), COARSE + EXACT, ids=names(COARSE + EXACT))
def test_values_change_places_and_nothing_that_is_shown_changes(
    tmp_path: Path, type_: str, values: tuple[str, ...]
) -> None:
    salaries = SALARIES[: len(values)]
    found, prints = set(), set()
    for turn in range(len(values)):
        turned = salaries[turn:] + salaries[:turn]
        rows = list(zip(values, turned, strict=True))
        for order in (rows, rows[::-1]) if turn == 0 else (rows,):
            path = write(tmp_path / f"{turn}{order is rows}.duckdb", type_, order)
            with Database.open(path, [Protection()]) as database:
                found.add(shown(database).to_pybytes())
                prints.add((turn, database.fingerprint))
    assert len(found) == 1
    # other values are other data, another order in the file is not
    assert len(prints) == len(values)


@pytest.mark.parametrize(("type_", "values"), COARSE, ids=names(COARSE))
def test_orders_take_these_for_equal(type_: str, values: tuple[str, ...]) -> None:
    """Otherwise the test above would show nothing."""
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"CREATE TABLE t (name {type_})")
        for value in values:
            connection.execute(f"INSERT INTO t SELECT {value}")
        (row,) = connection.execute("SELECT count(DISTINCT name) FROM t").fetchall()
        ranks = connection.execute("SELECT DISTINCT rank() OVER (ORDER BY name) FROM t").fetchall()
    assert ranks == [(1,)], row


def test_which_other_values_are_missing_decides_before_any_value_does(tmp_path: Path) -> None:
    """`bonus IS NULL` tells rows apart that have no other difference."""
    found = set()
    for turn, (first, second) in enumerate([(10, 20), (20, 10), (30, 10), (10, 30)]):
        path = tmp_path / f"{turn}.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute("CREATE TABLE staff (name VARCHAR, salary INTEGER, bonus INTEGER)")
            rows = [f"('a', {first}, 1)", f"('a', {second}, NULL)"]
            connection.execute(f"INSERT INTO staff VALUES {', '.join(rows[:: 1 if turn % 2 else -1])}")
        with Database.open(path, [Protection(), Protection(column="bonus")]) as database:
            found.add(shown(database).to_pybytes())
    assert len(found) == 1


def test_public_tables_are_in_an_order_of_their_own(tmp_path: Path) -> None:
    """Their order in the file may be that of protected values."""
    found, prints = set(), set()
    for turn, listed in enumerate([("'anna'", "'Anna'"), ("'Anna'", "'anna'")]):
        path = write(tmp_path / f"{turn}.duckdb", "VARCHAR", [("'x'", 1)])
        with duckdb.connect(str(path)) as connection:
            connection.execute("CREATE TABLE people (name VARCHAR COLLATE NOCASE)")
            for each in listed:
                connection.execute(f"INSERT INTO people VALUES ({each})")
        with Database.open(path, [Protection()], public_tables=["people"]) as database:
            found.add(shown(database).to_pybytes())
            prints.add(database.fingerprint)
    assert (len(found), len(prints)) == (1, 1)


POLICY = """
[protect]
table = "staff"
column = "salary"
minimum = 0
maximum = 250
step = 10
public = ["name", "dept"]

[limit]
risk = 0.5
"""
STATEMENTS = (
    "SELECT name, dept FROM staff",
    "SELECT name FROM staff LIMIT 9",
    "SELECT name, sum(salary) FROM staff GROUP BY name",
    "SELECT sum(salary) FROM staff WHERE ascii(name) = 65",
    "SELECT sum(salary) FROM staff WHERE ascii(name) <> 65",
    "SELECT dept, avg(salary) FROM staff GROUP BY dept ORDER BY dept",
    "SELECT max(salary) FROM staff WHERE dept = 'a'",
)


@pytest.mark.slow
def test_verdicts_and_public_answers_are_the_same_with_values_changed_about(tmp_path: Path) -> None:
    found = []
    for turn in range(2):
        path = tmp_path / f"{turn}.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute(
                "CREATE TABLE staff (name VARCHAR COLLATE NOCASE, dept VARCHAR, salary INTEGER)"
            )
            connection.execute(
                "INSERT INTO staff BY POSITION SELECT * FROM (SELECT ['Anna', 'anna'][1 + i % 2], "
                "['a', 'b'][1 + i // 2 % 2], "
                "40 + (((i // 2) * 2 + (i + $1) % 2) * 37 % 17) * 10 AS salary "
                "FROM range(60) t(i)) ORDER BY salary",
                [turn],
            )
        with Gate.open(path, Policy.parse(POLICY)) as gate:
            found.append([_outcome(gate, sql) for sql in STATEMENTS])
    assert found[0] == found[1]


def _outcome(gate: Gate, sql: str) -> object:
    try:
        answer = gate.execute(sql)
    except QueryRefused as refusal:
        return refusal.decision.code
    code = answer.decision.code
    return (code, answer.fetchall()) if code == "public" else code
