"""What `cae-sql init` makes of keys, persons with several rows, skewed values, and files without a table."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pytest

from auditor import DatabaseError, Gate, Policy
from auditor.policy.grid import grid_of
from auditor.policy.suggest import Suggestion, suggest

VISITS = (
    "CREATE TABLE visits AS SELECT i AS id, i // 12 AS {who}, i % 7 AS ward, 10 * ((i * 37) % 26) AS x "
    "FROM range(720) r(i)"
)
"""Sixty persons, each in twelve rows."""


def made(folder: Path, *statements: str) -> Path:
    path = folder / "made.duckdb"
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


def public_of(suggestion: Suggestion) -> tuple[str, ...] | str:
    return Policy.parse(suggestion.text).protects[0].public


@pytest.mark.parametrize("who", ["patient", "Employee", "person_no", "customerId", "clients", "case_id"])
def test_a_column_that_names_persons_with_several_rows_is_left_out_and_said(tmp_path: Path, who: str) -> None:
    found = suggest(made(tmp_path, VISITS.format(who=who)), "visits", "x")
    assert public_of(found) == ("ward",)
    (warning,) = [each for each in found.warnings if each.startswith(f"{who}: ")]
    assert "60 values recur in 720 rows" in warning
    assert "one row is one person" in warning
    (line,) = [line for line in found.text.splitlines() if f'"{who}"' in line]
    assert "one row is one person" in line
    assert Policy.parse(found.text).protects[0].key == "id"


@pytest.mark.parametrize("who", ["ward_size", "age", "patient_type", "casino", "score"])
def test_a_column_that_recurs_and_reads_like_no_key_stays_public(tmp_path: Path, who: str) -> None:
    found = suggest(made(tmp_path, VISITS.format(who=who)), "visits", "x")
    assert public_of(found) == (who, "ward")
    assert found.warnings == ()


def test_a_foreign_key_of_few_rows_each_names_persons_whatever_it_is_called(tmp_path: Path) -> None:
    path = made(
        tmp_path,
        "CREATE TABLE those AS SELECT i AS them FROM range(60) r(i)",
        "CREATE TABLE people (them BIGINT PRIMARY KEY)",
        "INSERT INTO people FROM those",
        "CREATE TABLE visits (id BIGINT, who BIGINT REFERENCES people, ward BIGINT, x BIGINT)",
        "INSERT INTO visits SELECT i, i // 12, i % 7, 10 * ((i * 37) % 26) FROM range(720) r(i)",
    )
    found = suggest(path, "visits", "x")
    assert public_of(found) == ("ward",)
    assert "it is a foreign key" in found.warnings[0]


def test_text_that_nearly_tells_rows_apart_is_left_out(tmp_path: Path) -> None:
    names = VISITS.format(who="n").replace("i // 12", "'Name ' || i % 400")
    found = suggest(made(tmp_path, names), "visits", "x")
    assert public_of(found) == ("ward",)


def test_a_department_with_a_hundred_people_stays_public(tmp_path: Path) -> None:
    table = VISITS.format(who="dept_id").replace("i // 12", "i % 24").replace("720", "2400")
    assert public_of(suggest(made(tmp_path, table), "visits", "x")) == ("dept_id", "ward")


def test_every_column_that_names_rows_is_left_out_and_the_key_among_them(tmp_path: Path) -> None:
    table = VISITS.format(who="tag").replace("i // 12", "'tag ' || i")
    found = suggest(made(tmp_path, table), "visits", "x")
    assert public_of(found) == ("ward",)
    assert Policy.parse(found.text).protects[0].key == "id"
    assert [each for each in found.warnings if "names each row once" in each and each.startswith("tag")]


def test_without_a_key_it_is_said_what_that_costs(tmp_path: Path) -> None:
    table = VISITS.format(who="age").replace("i AS id, ", "")
    found = suggest(made(tmp_path, table), "visits", "x")
    assert Policy.parse(found.text).protects[0].key is None
    assert any("no column names each row once" in each and "renewed" in each for each in found.warnings)


@pytest.mark.slow
def test_steps_follow_from_quantiles_and_skew_is_said(tmp_path: Path) -> None:
    """Weekly wages like those of CPS1988: the median is 522, hardly anybody has 2,000, somebody 18,777."""
    wages = np.exp(np.random.default_rng(5).normal(np.log(522), 0.65, 2000)).round(2)
    wages[0] = 18777.20
    values = {Fraction(str(each)): 1 for each in wages.tolist()}
    grid = grid_of(values)
    first_three = sum(value < grid.minimum + 3 * grid.step for value in values) / len(values)
    assert grid.step == 100
    assert first_three < 0.25
    assert grid.steps <= 200
    path = made(tmp_path, "CREATE TABLE t (id BIGINT, wage DECIMAL(9, 2))")
    with duckdb.connect(str(path)) as connection:
        rows = [[i, wage] for i, wage in enumerate(wages.tolist())]
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    found = suggest(path, "t", "wage")
    (warning,) = [each for each in found.warnings if "skewed" in each]
    assert "least(wage, " in warning
    assert "small part" in found.text
    assert "18777" not in found.text


def test_values_that_are_spread_have_no_warning() -> None:
    grid = grid_of({Fraction(value): 1 for value in range(1000)})
    assert (grid.cap, grid.step) == (None, 20)


@pytest.mark.parametrize(("name", "table"), [("people.csv", "people"), ("wages-2024.csv.gz", "wages-2024")])
def test_a_file_needs_no_table(tmp_path: Path, name: str, table: str) -> None:
    path = tmp_path / name
    with duckdb.connect() as connection:
        query = "SELECT i AS id, i % 40 AS age, i * 37 % 23 * 10 AS pay FROM range(300) r(i)"
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT csv, HEADER)")
    policy = Policy.parse(suggest(path, None, "pay").text)
    assert policy.protects[0].table == table
    assert policy.ledger.path == f"{table}.ledger"
    with Gate.open(path, policy, tmp_path / "l.ledger") as gate:
        assert gate.execute(f'SELECT count(pay) FROM "{table}"').fetchall() == [(300,)]


def test_a_database_of_one_table_needs_none_either_and_of_several_they_are_named(tmp_path: Path) -> None:
    path = made(tmp_path, VISITS.format(who="patient"))
    assert Policy.parse(suggest(path, None, "x").text).protects[0].table == "visits"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE wards AS SELECT 1 AS ward")
    with pytest.raises(DatabaseError, match="holds visits, wards; say which: --table visits"):
        suggest(path, None, "x")


def test_comments_are_one_line_each(tmp_path: Path) -> None:
    text = suggest(made(tmp_path, VISITS.format(who="age")), "visits", "x").text
    body = text[text.index("[protect]") :].splitlines()
    twice = [
        first
        for first, second in pairwise(body)
        if first.startswith("# ") and second.startswith("# ") and "=" not in first + second
    ]
    assert twice == []


def test_a_key_that_is_not_unique_is_an_error_that_speaks_of_persons(tmp_path: Path) -> None:
    path = made(tmp_path, VISITS.format(who="patient"))
    text = suggest(path, "visits", "x").text.replace('key = "id"', 'key = "patient"')
    with pytest.raises(DatabaseError, match=r"720 records have 60 keys.*several rows of one person"):
        Gate.open(path, Policy.parse(text), tmp_path / "l.ledger")
