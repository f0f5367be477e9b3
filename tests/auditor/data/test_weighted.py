"""Sums with public weights: each record has its own weight, however the engine lists them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from auditor.data import database as module
from auditor.data import relations
from auditor.data.database import Database, StatementFailed
from auditor.data.relations import Groups
from auditor.sql import Block, Unsupported, understand
from auditor.sql.dialects import Dialect
from tests.auditor.sql.gate_double import Protection, make

PEOPLE = """
CREATE TABLE staff AS SELECT i AS id, 20 + (hash(i) % 40)::INTEGER AS age, (hash(i + 3) % 5)::INTEGER AS dept,
    CASE WHEN hash(i + 1) % 9 <> 0 THEN (hash(i + 2) % 90)::INTEGER * 10 END AS salary
    FROM range({count}) t(i);
CREATE TABLE places AS SELECT * FROM (VALUES (0, 3), (1, 1), (2, 4), (3, 1), (4, 5)) t(dept, size);
"""
STATEMENTS = {
    "groups": "SELECT dept, {}(SUM(salary * age)) AS x FROM staff GROUP BY dept ORDER BY dept",
    "filter": "SELECT {}(SUM(salary * (age - 40)) FILTER (WHERE age <> 33)) AS x FROM staff",
    "join": "SELECT s.dept, {}(SUM(s.salary * p.size * s.age)) AS x "
    "FROM places p JOIN staff s ON s.dept = p.dept GROUP BY s.dept ORDER BY s.dept",
}


def opened(path: Path, count: int) -> Database:
    make(path, PEOPLE.format(count=count))
    protects = [Protection("staff", "salary", ["id", "age", "dept"], "id")]
    return Database.open(path, protects, public_tables=["places"])


def sums(database: Database, sql: str, dialect: Dialect) -> list[Fraction]:
    """What the statement asks, worked out from the records and weights that were read."""
    plan = understand(sql.format("AT_LEAST"), None, database.schema, dialect=dialect)
    assert not isinstance(plan, Unsupported), plan
    found, (vault,) = list[Fraction](), database.vaults
    for asked in database.ask(plan):
        assert asked.weights is not None
        values = vault.integers[asked.records].tolist()
        weighed = sum(w * v for w, v in zip(asked.weights.tolist(), values, strict=True))
        found.append(asked.value(weighed * vault.scale))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
@pytest.mark.parametrize("name", STATEMENTS)
@pytest.mark.parametrize("count", [3_000, 120_000])
def test_weights_belong_to_their_records(count: int, name: str, dialect: Dialect, tmp_path: Path) -> None:
    """Of tables that have cells, too."""
    database, sql = opened(tmp_path / "staff.duckdb", count), STATEMENTS[name]
    with duckdb.connect(str(tmp_path / "staff.duckdb"), read_only=True) as connection:
        true = [Fraction(row[-1]) for row in connection.execute(sql.format("")).fetchall()]
    assert sums(database, sql, dialect) == true


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
@pytest.mark.parametrize("name", STATEMENTS)
def test_in_whatever_order_an_engine_lists_records_their_weights_are_the_same(
    name: str, dialect: Dialect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, sql = opened(tmp_path / "staff.duckdb", 3_000), STATEMENTS[name]
    true = sums(database, sql, dialect)
    chance = np.random.default_rng(0)

    def shuffled(block: Block, position: int, result: pa.Table, sizes: Sequence[int], *rest: Any) -> Groups:
        for aggregate in block.aggregates:
            lists = [
                chance.permutation(each).tolist() for each in result.column(aggregate.column).to_pylist()
            ]
            name = result.column_names[aggregate.column]
            kind = result.schema.field(aggregate.column).type
            result = result.set_column(aggregate.column, name, pa.array(lists, kind))
        return relations.read_groups(block, position, result, sizes, *rest)

    monkeypatch.setattr(module, "read_groups", shuffled)
    assert sums(database, sql, dialect) == true


@pytest.mark.parametrize(
    "call", ["SUM(salary / (age // 10))", "AVG(salary / (dept + 1)) FILTER (WHERE age <> 33)"]
)
def test_one_by_a_public_number_is_a_weight(call: str, tmp_path: Path) -> None:
    database, sql = opened(tmp_path / "staff.duckdb", 3_000), f"SELECT {{}}({call}) AS x FROM staff"
    with duckdb.connect(str(tmp_path / "staff.duckdb"), read_only=True) as connection:
        [(true,)] = connection.execute(sql.format("")).fetchall()
    (found,) = sums(database, sql, "duckdb")
    assert abs(found - Fraction(true)) < 1e-9 * abs(true)


@pytest.mark.parametrize("divisor", ["dept", "age", "age / 7", "sqrt(age)"])
def test_by_zero_or_by_numbers_without_a_common_multiple_nothing_is_divided(
    divisor: str, tmp_path: Path
) -> None:
    database = opened(tmp_path / "staff.duckdb", 3_000)
    plan = understand(f"SELECT AT_LEAST(SUM(salary / ({divisor}))) FROM staff", None, database.schema)
    assert not isinstance(plan, Unsupported), plan
    with pytest.raises(StatementFailed) as failed:
        database.ask(plan)
    assert failed.value.code == "uneven"
