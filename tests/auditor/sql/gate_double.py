"""Plays the gate: asks, computes sums and extremes exactly from the vault, finishes. Decides nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Literal

import duckdb
import pyarrow as pa

from auditor.data.database import Asked, Database
from auditor.sql import Plan, Unsupported, understand

FIXTURES = Path(__file__).parent / "fixtures"
ROOT = Path(__file__).parents[3]

STAFF = """
CREATE TABLE staff (
    id INTEGER, age INTEGER, sex VARCHAR, dept VARCHAR, hired DATE, "Büro Ort" VARCHAR, bonus DECIMAL(8,2),
    active BOOLEAN, "select" SMALLINT, secret_note VARCHAR, salary DECIMAL(10,2));
INSERT INTO staff SELECT i, 20 + i * 7 % 45, CASE WHEN i % 3 = 0 THEN 'f' WHEN i % 3 = 1 THEN 'm' END,
    CASE WHEN i % 11 <> 0 THEN ['IT', 'HR', 'Ops', 'R&D'][1 + i % 4] END,
    DATE '2015-01-31' + CAST(i * 37 AS INTEGER),
    ['Köln', 'Zürich', 'O''Fallon'][1 + i % 3], (i * 13 % 100) / 4, i % 5 <> 0, i % 4, 'x' || i,
    CASE WHEN i % 9 <> 0 THEN (1000 + hash(i) % 90000) / 100 END FROM range(120) t(i);
CREATE TABLE regions (dept VARCHAR, region VARCHAR, size INTEGER);
INSERT INTO regions VALUES ('IT', 'north', 3), ('HR', 'south', 5), ('Ops', 'north', NULL), (NULL, 'west', 1);
CREATE SCHEMA hr;
CREATE TABLE hr.grades (grade INTEGER, name VARCHAR);
INSERT INTO hr.grades VALUES (1, 'a'), (2, 'b');
CREATE VIEW adults AS SELECT * FROM staff WHERE age >= 30;
"""
PUBLIC = ["id", "age", "sex", "dept", "hired", "Büro Ort", "bonus", "active", "select"]


@dataclass(frozen=True)
class Protection:
    table: str
    column: str
    public: list[str] | Literal["all"]
    key: str | None = None
    unit: str | None = None


PROTECT = Protection("staff", "salary", PUBLIC, "id")


def make(path: Path, statements: str = STAFF) -> Path:
    connection = duckdb.connect(str(path))
    connection.execute(statements)
    connection.close()
    return path


def open_staff(path: Path) -> Database:
    return Database.open(path, [PROTECT], public_tables=["regions", "hr.grades"], views=["adults"])


def compute(database: Database, asked: Asked) -> Fraction:
    vault = database.vaults[asked.protected]
    chosen = [int(value) for value in vault.integers[asked.records]]
    if asked.statistic is not None:
        return statistic(asked, sorted(value * vault.scale for value in chosen))
    if asked.kind == "sum":
        signs = [1] * len(chosen) if asked.signs is None else [int(sign) for sign in asked.signs]
        return sum(s * v for s, v in zip(signs, chosen, strict=True)) * vault.scale
    return (max(chosen) if asked.kind == "max" else min(chosen)) * vault.scale


def statistic(asked: Asked, values: list[Fraction]) -> Fraction:
    """By its meaning in SQL, and in no other way."""
    assert asked.statistic is not None
    if asked.kind == "count":
        found = 0
        for value in values:
            for each in asked.statistic.region:
                above = (
                    each.least is None or value > each.least or (each.least_counts and value == each.least)
                )
                below = each.most is None or value < each.most or (each.most_counts and value == each.most)
                found += above and below
        return Fraction(found)
    part = asked.statistic.fraction
    if not asked.statistic.continuous:
        return values[max(math.ceil(part * len(values)) - 1, 0)]
    place = part * (len(values) - 1)
    low, high = values[math.floor(place)], values[math.ceil(place)]
    return low + (place - math.floor(place)) * (high - low)


def answer(database: Database, plan: Plan) -> pa.Table:
    return database.finish(plan, [compute(database, asked) for asked in database.ask(plan)])


def understood(database: Database, sql: str, parameters: object = None) -> Plan:
    plan = understand(sql, parameters, database.schema)  # type: ignore[arg-type]
    assert not isinstance(plan, Unsupported), f"{plan}\n{sql}"
    return plan


def statements(name: str) -> list[str]:
    """The statements of a fixture file: separated by a semicolon at the end of a line."""
    return [text.strip() for text in (FIXTURES / name).read_text("utf-8").split(";\n") if text.strip()]


def failures(name: str) -> Iterator[tuple[str, str]]:
    """Code and statement: lines `-- code`, then the statements that get it, each ended by a semicolon."""
    code = ""
    for statement in statements(name):
        lines = statement.split("\n")
        while lines and lines[0].startswith("-- code: "):
            code = lines.pop(0).removeprefix("-- code: ").strip()
        if "\n".join(lines).strip():
            yield code, "\n".join(lines)


def same_tables(left: pa.Table, right: pa.Table, ordered: bool) -> None:
    assert left.column_names == right.column_names
    assert left.schema.types == right.schema.types
    rows = [
        list(zip(*(column.to_pylist() for column in table.columns), strict=True)) for table in (left, right)
    ]
    if not ordered:
        rows = [sorted(each, key=_sort_key) for each in rows]
    assert len(rows[0]) == len(rows[1])
    for a, b in zip(*rows, strict=True):
        for x, y in zip(a, b, strict=True):
            if isinstance(x, float) and isinstance(y, float):
                assert math.isclose(x, y, rel_tol=1e-12, abs_tol=1e-12) or (
                    math.isnan(x) and math.isnan(y)
                ), (a, b)
            else:
                assert x == y, (a, b)


def _sort_key(row: tuple[object, ...]) -> list[tuple[bool, str]]:
    return [(value is None, f"{value:.6e}" if isinstance(value, float) else _text(value)) for value in row]


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, date) else f"{value!s:>40}"
