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


@pytest.mark.parametrize("who", ["clients", "case_id", "household_id", "dept_id"])
def test_a_column_that_may_name_persons_with_several_rows_is_left_out_and_said(
    tmp_path: Path, who: str
) -> None:
    found = suggest(made(tmp_path, VISITS.format(who=who)), "visits", "x")
    assert Policy.parse(found.text).protects[0].unit is None
    assert public_of(found) == ("ward",)
    (warning,) = [each for each in found.warnings if each.startswith(f"{who}: ")]
    assert "60 values recur in 720 rows" in warning
    assert "one row is one person" in warning
    (line,) = [line for line in found.text.splitlines() if f'"{who}"' in line]
    assert "one row is one person" in line
    assert Policy.parse(found.text).protects[0].key == "id"


@pytest.mark.parametrize(
    "who", ["patient", "Employee", "person_no", "customerId", "staff_no", "subject_code"]
)
def test_a_column_that_names_persons_is_the_unit_with_the_reason(tmp_path: Path, who: str) -> None:
    path = made(tmp_path, VISITS.format(who=who))
    found = suggest(path, "visits", "x")
    policy = Policy.parse(found.text)
    assert (policy.protects[0].unit, policy.protects[0].key, public_of(found)) == (who, "id", ("ward",))
    lines = found.text.splitlines()
    why = lines[lines.index(f'unit = "{who}"') - 1]
    assert why.startswith(
        "# The column that says whose rows they are: its 60 values recur in 720 rows and its"
    )
    assert "One row is one person" not in found.text
    (warning,) = [each for each in found.warnings if each.startswith(f"{who}: ")]
    assert warning.endswith("; it is taken for the unit; left out of public")
    # sixty persons, whose mean is not suggested as published though there are 720 rows
    assert policy.intruder.published == ()
    with Gate.open(path, policy, tmp_path / "l.ledger") as gate:
        assert gate.check("SELECT sum(x) FROM visits").verdict == "answered"


def test_the_number_of_a_panels_persons_is_the_unit(tmp_path: Path) -> None:
    table = VISITS.format(who="nr").replace("i AS id, ", "").replace("i % 7 AS ward", "i % 12 AS year")
    found = suggest(made(tmp_path, table), "visits", "x")
    assert (Policy.parse(found.text).protects[0].unit, public_of(found)) == ("nr", ("year",))


@pytest.mark.parametrize(
    ("who", "made_of"),
    [
        ("ward", "i % 24"),
        ("occupation", "'job ' || i % 200"),
        ("year", "1990 + i % 30"),
        ("postcode", "10000 + i % 300"),
        ("region_id", "i % 60"),
        ("worker", "'kind ' || i % 21"),
        ("resident", "'country ' || i % 25"),
        ("employees", "i % 90"),
        ("number_of_patients", "i % 90"),
        ("people", "i % 90"),
        ("account_code", "i % 26"),
        ("patient_type", "i % 60"),
        ("patient", "i % 700"),
    ],
)
def test_what_classes_or_counts_people_is_no_unit(tmp_path: Path, who: str, made_of: str) -> None:
    table = f"CREATE TABLE t AS SELECT i AS id, {made_of} AS {who}, 10 * ((i * 37) % 26) AS x"
    found = suggest(made(tmp_path, f"{table} FROM range(720) r(i)"), "t", "x")
    assert Policy.parse(found.text).protects[0].unit is None
    assert "unit" not in found.text
    assert "# One row is one person. Of a table with several rows for a person, protect one" in found.text


def test_where_a_row_is_a_person_who_has_a_doctor_or_a_manager_there_is_no_unit(tmp_path: Path) -> None:
    path = made(
        tmp_path,
        "CREATE TABLE staff (id BIGINT PRIMARY KEY, boss BIGINT REFERENCES staff, x BIGINT)",
        "INSERT INTO staff SELECT i, NULL, 0 FROM range(60) r(i)",
        "INSERT INTO staff SELECT i, i // 12, 10 * ((i * 37) % 26) FROM range(60, 720) r(i)",
        "CREATE TABLE people AS SELECT id AS patient_id, boss AS staff_id, x FROM staff",
        "CREATE TABLE notes (id BIGINT, written_by BIGINT REFERENCES staff, x BIGINT)",
        "INSERT INTO notes SELECT * FROM staff",
    )
    for table in ("staff", "people", "notes"):
        assert Policy.parse(suggest(path, table, "x").text).protects[0].unit is None


def test_of_several_the_unit_has_the_most_values_and_the_others_are_said(tmp_path: Path) -> None:
    table = VISITS.format(who="patient_id").replace("i % 7 AS ward", "i % 7 AS ward, i % 30 AS staff_id")
    found = suggest(made(tmp_path, table), "visits", "x")
    assert (Policy.parse(found.text).protects[0].unit, public_of(found)) == ("patient_id", ("ward",))
    (warning,) = [each for each in found.warnings if each.startswith("staff_id: ")]
    assert "since patient_id is taken for the unit" in warning


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
    assert Policy.parse(found.text).protects[0].unit == "who"


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
    with pytest.raises(DatabaseError, match=r"720 records have 60 keys\. patient says whose rows"):
        Gate.open(path, Policy.parse(text), tmp_path / "l.ledger")
    one = text.replace('unit = "patient"\n', "")
    with pytest.raises(DatabaseError, match='several rows of one person, write unit = "patient" in place of'):
        Gate.open(path, Policy.parse(one), tmp_path / "l.ledger")
