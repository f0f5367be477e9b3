"""`cae-sql sql` and `cae-sql curve`: SQL functions without Python, H(ε) to look at, one line for errors."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb
import pytest

from auditor.cli import main
from auditor.cli.measuring import BAR, bars
from cae_sql import cae_area, cae_curve


@pytest.fixture
def staff(tmp_path: Path) -> Path:
    path = tmp_path / "staff.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(
            "CREATE TABLE staff AS "
            "SELECT ['Sales', 'Finance'][1 + i % 2] AS dept, 50 + i % 4 * 19 AS salary, "
            "1 + i % 3 AS weight FROM range(40) t(i)"
        )
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = 0
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
    out, err = capsys.readouterr()
    return status, out, err


def test_sql_has_the_functions_and_the_aggregates(staff: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT dept, cae_area_agg(salary) AS area FROM staff GROUP BY dept ORDER BY dept"
    status, out, _ = run(capsys, "sql", staff, sql, "--format", "json")
    found = json.loads(out)
    assert status == 0
    assert found["columns"] == ["dept", "area"]
    assert found["rows"] == [["Finance", cae_area([69, 107])], ["Sales", cae_area([50, 88])]]
    assert run(capsys, "sql", ":memory:", "SELECT cae_area([50, 107])", "--format", "csv")[1].endswith(
        "57.0\n"
    )


def test_sql_writes_nothing(staff: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "sql", staff, "CREATE TABLE t AS SELECT 1")
    assert status == 2
    assert "read-only" in err


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (
            "SELECT cae_area([1, NULL])",
            "cae-sql: cae_area: row 0: values[1] is NULL; every value must be a number\n",
        ),
        ("SELEC 1", "cae-sql: Parser Error"),
        (
            "SELECT error('no InvalidInput: of ours')",
            "cae-sql: Invalid Input Error: no InvalidInput: of ours",
        ),
        ("", "cae-sql: there is no statement"),
    ],
)
def test_what_goes_wrong_is_one_line(sql: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "sql", ":memory:", sql)
    assert (status, out) == (2, "")
    assert err.startswith(said)
    assert err.count("\n") == 1


def test_curve_shows_steps_bars_or_a_picture(
    staff: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sql = "SELECT salary, weight FROM staff WHERE dept = 'Sales' ORDER BY weight"
    with duckdb.connect(staff, read_only=True) as connection:
        values, weights = zip(*connection.execute(sql).fetchall(), strict=True)
    wanted = cae_curve(values, weights)
    status, out, _ = run(capsys, "curve", staff, sql, "--format", "json")
    found = json.loads(out)
    assert status == 0
    assert found["area"] == pytest.approx(wanted.area)
    assert found["rows"] == [list(step) for step in zip(wanted.epsilon, wanted.entropy, strict=True)]
    status, out, _ = run(capsys, "curve", staff, sql)
    assert status == 0
    assert "area = " in out.splitlines()[-1]
    status, out, err = run(capsys, "curve", staff, sql, "-o", tmp_path / "curve.svg")
    assert (status, out) == (0, "")
    assert (tmp_path / "curve.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert err.startswith("wrote ")


def test_a_picture_without_matplotlib_is_one_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    status, _, err = run(capsys, "curve", ":memory:", "SELECT 1", "-o", tmp_path / "a.png")
    assert (status, err) == (2, "cae-sql: a picture needs matplotlib: pip install 'cae-sql[plot]'\n")


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT 1, 2, 3", "the statement gives 3 columns"),
        ("SELECT NULL", "no row without NULL"),
        ("SELECT 'a'", "values[0] must be a number, not 'a'"),
        ("SELECT 1, -1", "probabilities[0] is negative"),
    ],
)
def test_what_has_no_curve_is_one_line(sql: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "curve", ":memory:", sql)
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_file_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "curve", tmp_path / "none.duckdb", "SELECT 1")
    assert status == 2
    assert "none.duckdb: no such file" in err


def test_single_floats_are_the_decimals_that_they_print_as(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "curve", ":memory:", "SELECT unnest([0.1, 0.2, 0.3, NULL])::FLOAT", "--format", "csv")[
        1
    ]
    assert [line.split(",")[0] for line in out.split()] == ["epsilon", "0.0", "0.1", "0.2"]


def test_bars_fall_with_epsilon_and_end_in_nothing() -> None:
    lines = list(bars(cae_curve([1, 3, 8, 9], [0.15, 0.1, 0.7, 0.05])))[1:]
    lengths = [len(line) for line in lines]
    assert lengths == sorted(lengths, reverse=True)
    assert lines[-1].split() == ["8", "0.000"]
    assert list(bars(cae_curve([1, 3], [1, 2])))[1].endswith(" " + "█" * BAR)
    assert list(bars(cae_curve([5])))[1].split() == ["0", "0.000"]
