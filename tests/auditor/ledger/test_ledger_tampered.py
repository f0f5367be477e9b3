"""What is done to a ledger while a gate has it open is found before the next answer is released."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from auditor.errors import LedgerError
from auditor.ledger import Ledger
from tests.auditor.ledger.test_ledger import BINDING, DIFFERENCE, TOTAL, ask

NOTHING: dict[str, object] = {"user": "eve", "sql": "SELECT 1", "verdict": "answered", "code": "known"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "x.ledger"


def tamper(place: Path, *statements: str) -> None:
    """What somebody who may write the file does, without a trace in its tables: triggers come back."""
    connection = sqlite3.connect(place, isolation_level=None)
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    connection.execute("BEGIN")
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    for each in [*statements, *(sql for _, sql in triggers)]:
        connection.execute(each)
    connection.execute("COMMIT")
    connection.close()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE ledger_answer SET value = '1/1' WHERE statement = 1",
        "UPDATE ledger_statement SET user_name = 'bob' WHERE number = 1",
        "UPDATE ledger_binding SET insiders = 1",
        "DELETE FROM ledger_answer WHERE statement = 1",
        "INSERT INTO ledger_answer SELECT 2, 7, table_name, column_name, kind, records, signs, value "
        "FROM ledger_answer WHERE statement = 1",
    ],
)
def test_an_entry_that_is_altered_while_the_ledger_is_open_ends_all_answers(place: Path, change: str) -> None:
    with Ledger.open(place, BINDING) as ledger:
        for _ in range(3):
            ask(ledger, TOTAL)
        tamper(place, change)
        for _ in range(2):
            with pytest.raises(LedgerError, match="restore"):
                ledger.append(**NOTHING)  # type: ignore[arg-type]
        assert ledger.length == 3


VANISHING = (
    "CREATE TRIGGER quiet AFTER INSERT ON ledger_statement WHEN NEW.number > 2 "
    "BEGIN DELETE FROM ledger_answer WHERE statement = NEW.number - 1; END"
)
PLANTED = {
    "trigger": "CREATE TRIGGER late AFTER INSERT ON ledger_answer BEGIN SELECT 1; END",
    "changed trigger": (
        "CREATE TRIGGER ledger_answer_no_delete BEFORE DELETE ON ledger_answer BEGIN SELECT 1; END"
    ),
    "view": "CREATE VIEW answers AS SELECT * FROM ledger_answer",
    "index": "CREATE UNIQUE INDEX odd ON ledger_answer (substr(value, 1, 1))",
    "table": "CREATE TABLE more (x)",
    "column": "ALTER TABLE ledger_answer ADD COLUMN x TEXT",
    "generated column": "ALTER TABLE ledger_answer ADD COLUMN x TEXT GENERATED ALWAYS AS (value || 'x')",
}


@pytest.mark.parametrize("kind", PLANTED)
def test_a_ledger_whose_tables_are_not_ours_is_neither_used_nor_opened(place: Path, kind: str) -> None:
    with Ledger.open(place, BINDING) as ledger:
        ask(ledger, TOTAL)
        connection = sqlite3.connect(place)
        if kind == "changed trigger":
            connection.execute("DROP TRIGGER ledger_answer_no_delete")
        connection.execute(PLANTED[kind])
        connection.commit()
        connection.close()
        with pytest.raises(LedgerError, match="find out who could write to it"):
            ask(ledger, DIFFERENCE)
        assert "find out who could write to it" in ledger.verify().problems[0]
        assert ledger.length == 1
    with pytest.raises(LedgerError, match="find out who could write to it"):
        Ledger.open(place, BINDING)


def test_no_trigger_makes_a_row_vanish_after_its_answer_was_released(place: Path) -> None:
    with Ledger.open(place, BINDING) as ledger:
        ask(ledger, TOTAL)
        ask(ledger, TOTAL)
        tamper(place, "DROP TABLE IF EXISTS none")
        connection = sqlite3.connect(place)
        connection.execute("DROP TRIGGER ledger_answer_no_delete")
        connection.execute(VANISHING)
        connection.commit()
        connection.close()
        with pytest.raises(LedgerError):
            ask(ledger, DIFFERENCE)
        assert sqlite3.connect(place).execute("SELECT count(*) FROM ledger_answer").fetchone() == (2,)


def test_a_table_that_ignores_what_is_written_releases_nothing(place: Path) -> None:
    Ledger.open(place, BINDING).close()
    connection = sqlite3.connect(place)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute(
        "UPDATE sqlite_master SET sql = replace(sql, 'PRIMARY KEY (number)', "
        "'PRIMARY KEY (number) ON CONFLICT IGNORE') WHERE name = 'ledger_statement'"
    )
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match="table ledger_statement was changed"):
        Ledger.open(place, BINDING)


def test_bytes_that_are_changed_past_sqlite_are_found(place: Path) -> None:
    with Ledger.open(place, BINDING) as ledger:
        for number in range(3):
            ask(ledger, TOTAL, sql=f"SELECT marked{number}")
        with sqlite3.connect(place) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        other.close()
        ask(ledger, TOTAL)
        for part in (place, place.with_name("x.ledger-wal")):
            content = part.read_bytes()
            with part.open("r+b") as file:
                file.write(content.replace(b"marked1", b"Marked1"))
        with pytest.raises(LedgerError, match="entry 2 was altered"):
            ledger.append(**NOTHING)  # type: ignore[arg-type]


def test_another_file_in_its_place_is_not_taken_for_the_ledger(place: Path) -> None:
    with Ledger.open(place, BINDING) as ledger:
        ask(ledger, TOTAL)
        shutil.copy(place, place.with_name("copy"))
        os.replace(place.with_name("copy"), place)
        with pytest.raises(LedgerError, match="another file is in its place"):
            ask(ledger, TOTAL)


def test_two_who_append_in_turn_find_each_others_entries_good(place: Path) -> None:
    with Ledger.open(place, BINDING) as one, Ledger.open(place, BINDING) as two:
        for _ in range(5):
            ask(one, TOTAL)
            ask(two, DIFFERENCE)
        assert one.verify().problems == ()
        assert two.length == 10


def test_what_nobody_else_touched_is_not_read_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from auditor.ledger import rows

    read: list[int] = []
    entries = rows.linked

    def counted(place: object, connection: object, after: int, head: bytes) -> object:
        for row in entries(place, connection, after, head):  # type: ignore[arg-type]
            read.append(1)
            yield row

    with Ledger.open(place, BINDING) as ledger:
        for _ in range(20):
            ask(ledger, TOTAL)
        monkeypatch.setattr(rows, "linked", counted)
        ask(ledger, TOTAL)
        assert len(read) == 1, "the new one alone"
