"""Statements as analysts and BI tools write them: answered as DuckDB does, and asked by public data alone."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from gate_double import answer, make, open_staff, same_tables
from people_write import Statement

from auditor.data.database import Database
from auditor.sql import Plan, Schema, understand
from benchmarks import analysts
from benchmarks.corpora import SHARED
from tests.quick import rounds

SEEDS = range(rounds(600))
ALL = range(0, 2_000, int(os.environ.get("CAE_EVERY", "10")))
"""What `-m slow` asks: every tenth, or with CAE_EVERY=1 all."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("people") / "staff.duckdb")


@pytest.fixture(scope="module")
def database(path: Path) -> Iterator[Database]:
    with open_staff(path) as opened:
        yield opened


def with_domain(schema: Schema) -> Schema:
    known = [replace(each, least=Fraction(0), most=Fraction(1_000)) for each in schema.protected]
    return replace(schema, protected=tuple(known))


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [ALL], ids=["all"])
def test_generated_statements_are_answered_as_duckdb_answers_them(
    seeds: range, database: Database, path: Path
) -> None:
    verdicts: Counter[str] = Counter()
    schema = with_domain(database.schema)
    with duckdb.connect(str(path), read_only=True) as plain:
        for seed in seeds:
            sql = Statement(seed).text
            plan = understand(sql, None, schema)
            if not isinstance(plan, Plan):
                verdicts[plan.code] += 1
                continue
            names = [str(row[0]) for row in plain.sql(f"DESCRIBE {sql}").fetchall()]
            expected = plain.sql(sql).to_arrow_table().rename_columns(names)
            try:
                same_tables(answer(database, plan), expected, ordered=False)
            except AssertionError as error:
                raise AssertionError(f"{sql}\n{error}") from None
            verdicts["same"] += 1
    print(dict(verdicts))
    # otherwise this would say little
    assert verdicts["same"] >= 0.9 * len(seeds), verdicts


@pytest.mark.slow
def test_what_they_ask_does_not_hang_on_values(database: Database, tmp_path: Path) -> None:
    """Another table, with the values shuffled among people, is asked about the same people."""
    shuffled = make(tmp_path / "b.duckdb")
    with duckdb.connect(str(shuffled)) as connection:
        held = connection.execute("SELECT id, salary FROM staff WHERE salary IS NOT NULL").fetchall()
        values = [salary for _, salary in held]
        random.Random(5).shuffle(values)
        for (number, _), salary in zip(held, values, strict=True):
            connection.execute("UPDATE staff SET salary = ? WHERE id = ?", [salary, number])
    schema = with_domain(database.schema)
    with open_staff(shuffled) as other:
        for seed in SEEDS:
            plan = understand(Statement(seed).text, None, schema)
            if isinstance(plan, Plan):
                one, two = database.ask(plan), other.ask(plan)
                assert [each.records.tolist() for each in one] == [each.records.tolist() for each in two]
                numbers = [Fraction(1000 + i) for i in range(len(one))]
                same_tables(database.finish(plan, numbers), other.finish(plan, numbers), ordered=False)


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.exists(), reason="the statements are not here: ../shared/data/sql")
def test_what_people_wrote_is_answered_as_duckdb_answers_it(tmp_path: Path) -> None:
    found = [each for each in analysts.told(tmp_path) if each.verdict not in ("catalogue", "no query")]
    assert not [each for each in found if each.verdict == "DIFFERENT"]
    answered = Counter(each.source.partition("/")[0] for each in found if each.verdict == analysts.ANSWERED)
    asked = Counter(each.source.partition("/")[0] for each in found)
    assert answered["analysts"] >= 0.7 * asked["analysts"]
    assert answered["bi"] >= 0.9 * asked["bi"]
