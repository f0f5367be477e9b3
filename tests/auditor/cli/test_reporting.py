"""`cae-sql report`: one page; the ledger left as it is; a page too where the ledger is no good."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import duckdb
import pytest

from auditor import Gate, QueryRefused
from auditor.cli import main
from tests.auditor.staff import build, people, policy_text

ONE = "SELECT sum(salary) FROM staff WHERE id = 3"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    build(tmp_path / "staff.duckdb", people(60))
    more = '[ledger]\npath = "staff.ledger"\nanchor = "staff.anchor"\n'
    (tmp_path / "policy.toml").write_text(policy_text(more, public='["sex", "dept"]'))
    return tmp_path


def ask(folder: Path, *statements: str) -> None:
    with Gate.open(folder / "staff.duckdb", folder / "policy.toml") as gate:
        for sql in statements:
            with suppress(QueryRefused):
                gate.execute(sql, user="ana")


def report(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str, str]:
    """Exit status, the page, and what stands on stderr."""
    output = folder / "gate.html"
    status = 0
    try:
        main(
            [
                "report",
                str(folder / "staff.duckdb"),
                "-p",
                str(folder / "policy.toml"),
                "-o",
                str(output),
                *options,
            ]
        )
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else 0
    err = capsys.readouterr().err
    return status, output.read_text(encoding="utf-8") if output.exists() else "", err


def test_the_page_is_written_and_neither_ledger_nor_anchor_changes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(
        folder,
        "SELECT dept, avg(salary) FROM staff GROUP BY dept",
        "SELECT sex, avg(salary) FROM staff GROUP BY sex",
    )

    def kept() -> tuple[object, ...]:
        with closing(sqlite3.connect(folder / "staff.ledger")) as ledger:
            rows = ledger.execute("SELECT * FROM ledger_statement").fetchall()
        return rows, (folder / "staff.anchor").read_text()

    before = kept()
    status, page, err = report(folder, capsys)
    assert (status, err) == (0, f"wrote {folder / 'gate.html'}\n")
    assert "Nobody’s risk is above 0." in page
    assert "SELECT dept, avg(salary) FROM staff GROUP BY dept" in page
    assert "The chain is whole" in page
    assert kept() == before
    assert (folder / "gate.html").stat().st_mode & 0o77 == 0


def test_what_comes_next_can_be_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask(folder, "SELECT avg(salary) FROM staff")
    status, page, _ = report(folder, capsys, "--no-next")
    assert status == 0
    assert "What would be refused next was not looked at." in page
    assert "FROM staff GROUP BY sex" not in page


def test_an_empty_ledger_is_said_to_be_empty(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask(folder)
    status, page, _ = report(folder, capsys)
    assert status == 0
    assert "<h1>Nobody has asked anything yet</h1>" in page
    assert "What would be refused next" in page
    assert "How the highest risk grew" not in page


def test_where_there_is_no_ledger_the_page_says_so_and_none_is_begun(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, page, err = report(folder, capsys)
    assert status == 2
    assert "<h1>There is no ledger</h1>" in page
    assert f"cae-sql: ledger {folder / 'staff.ledger'}: there is none" in err
    assert not (folder / "staff.ledger").exists()


def test_a_ledger_that_was_altered_has_a_page_that_says_so_and_nothing_else(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(folder, "SELECT avg(salary) FROM staff", "SELECT max(salary) FROM staff")
    with closing(sqlite3.connect(folder / "staff.ledger")) as ledger:
        triggers = ledger.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            ledger.execute(f"DROP TRIGGER {name}")
        ledger.execute("UPDATE ledger_statement SET user_name = 'eve' WHERE number = 1")
        for _, sql in triggers:
            ledger.execute(sql)
        ledger.commit()
    status, page, err = report(folder, capsys)
    assert status == 2
    assert "<h1>The ledger cannot be trusted</h1>" in page
    assert "entry 1 was altered" in page
    assert "entry 1 was altered" in err
    assert "avg(salary)" not in page


def test_a_ledger_that_is_gone_is_known_by_its_anchor(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(folder, "SELECT avg(salary) FROM staff")
    for path in folder.glob("staff.ledger*"):
        path.unlink()
    status, page, _ = report(folder, capsys)
    assert status == 2
    assert "<h1>The ledger cannot be trusted</h1>" in page
    assert "its anchor" in page


def test_data_that_have_changed_since_are_said_to_have(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(folder, "SELECT avg(salary) FROM staff")
    with duckdb.connect(str(folder / "staff.duckdb")) as connection:
        connection.execute("UPDATE staff SET salary = 250 WHERE id = 1")
    status, page, _ = report(folder, capsys)
    assert status == 2
    assert "cae-sql renew DATABASE -p POLICY opens a new edition" in page


def test_a_page_that_cannot_be_written_is_known_before_the_work_begins(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(
            [
                "report",
                str(folder / "staff.duckdb"),
                "-p",
                str(folder / "policy.toml"),
                "-o",
                "nowhere/gate.html",
            ]
        )
    assert left.value.code == 2
    assert "there is no folder nowhere" in capsys.readouterr().err
