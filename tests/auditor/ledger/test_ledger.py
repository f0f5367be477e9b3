"""An entry that was appended stays: through crashes, writers at once, full disks and people with editors."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.errors import DataChanged, LedgerError
from auditor.ledger import Binding, Entry, KnownAnswer, Ledger, LedgerMoved
from auditor.ledger.packing import (
    Unreadable,
    pack_records,
    pack_signs,
    pack_value,
    unpack_records,
    unpack_signs,
    unpack_value,
)
from auditor.ledger.places import File
from auditor.told import Told

CANONICAL = '[{"column":"salary","maximum":"250","step":"10"}]'
SIZES = (("staff", "salary", 1000),)
BINDING = Binding("digest", "fingerprint", SIZES, "everyone", CANONICAL)
STAFF = ("staff", "salary")
TOTAL = KnownAnswer("sum", np.arange(1000), None, Fraction(123450), *STAFF)
DIFFERENCE = KnownAnswer(
    "sum", np.array([3, 7, 900]), np.array([1, -1, 1], dtype=np.int8), Fraction(-7, 3), *STAFF
)
EXTREME = KnownAnswer("max", np.array([0, 500]), None, Fraction(240), "staff", "bonus")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "staff.ledger"


def ask(
    ledger: Ledger, *answers: KnownAnswer, user: str = "ann", sql: str = "SELECT sum(salary) FROM staff"
) -> Entry:
    return ledger.append(user=user, sql=sql, verdict="answered", code="answered", answers=answers)


ASIDE = KnownAnswer("aside", np.array([3, 7]), None, Fraction(0), *STAFF)


def release(ledger: Ledger) -> Entry:
    """An answer on the owner's word, and a request that is turned down."""
    found = ledger.append(
        user="ann", sql="SELECT 1", verdict="answered", code="released", parameters="[1]",
        zone="Europe/Berlin", answers=[TOTAL, ASIDE], because="a\nline, Zoë", by="olga",
    )  # fmt: skip
    ledger.append(user="ann", sql="SELECT 2", verdict="request", code="declined", because="no", by="olga")
    return found


def altered(place: Path, *statements: str) -> None:
    """Change a ledger the way someone with write access could: triggers dropped first."""
    connection = sqlite3.connect(place)
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
    for statement in [*(f"DROP TRIGGER {name}" for name in names), *statements]:
        connection.execute(statement)
    connection.commit()
    connection.close()


def filled(place: Path, anchor: Path | None = None) -> None:
    with Ledger.open(place, BINDING, anchor) as ledger:
        ask(ledger, TOTAL)
        ask(ledger, DIFFERENCE, EXTREME)
        ledger.append(
            user="bob", sql="SELECT 1", verdict="refused", code="risk", risk_before=0.2, risk_after=0.9
        )
        ask(ledger, EXTREME)


def test_what_was_appended_is_read_back(place: Path) -> None:
    with Ledger.open(place, BINDING) as ledger:
        first = ledger.append(
            user="ann",
            sql="SELECT 'é\x00\n'",
            parameters='{"a": 1}',
            normalised="SELECT …",
            verdict="answered",
            code="answered",
            check=False,
            risk_before=0.1,
            risk_after=1 / 3,
            answers=[DIFFERENCE, EXTREME, TOTAL],
        )
        second = ledger.append(user="bob", sql="x", verdict="refused", code="risk", surprises=2, check=True)
        assert (ledger.length, ledger.head) == (2, second.hash)
    with Ledger.open(place, BINDING) as ledger:
        assert list(ledger.entries()) == [first, second]
        assert list(ledger.entries(after=1)) == [second]
        assert list(ledger.entries(after=2)) == []
        read = next(ledger.entries())
        assert read.answers[0].signs is not None
        assert read.answers[0].signs.tolist() == [1, -1, 1]
        assert read.time.tzinfo == UTC
        assert abs((datetime.now(UTC) - read.time).total_seconds()) < 60
        report = ledger.verify()
        assert (report.entries, report.answers, report.head, report.problems) == (2, 3, second.hash, ())


@pytest.mark.parametrize(
    ("least", "most", "kind"),
    [(None, 34, "sum at most"), (34, None, "sum at least"), (34, 68, "sum between"), (34, 34, "sum")],
)
def test_an_end_that_was_told_is_read_back_as_one(
    place: Path, least: int | None, most: int | None, kind: str
) -> None:
    ends = Told(None if least is None else Fraction(least), None if most is None else Fraction(most))
    answer = KnownAnswer.told("sum", np.arange(3), None, ends, STAFF)
    assert (answer.kind, answer.asked) == (kind, "sum")
    with Ledger.open(place, BINDING) as ledger:
        ask(ledger, answer)
    with Ledger.open(place, BINDING) as ledger:
        (read,) = next(ledger.entries()).answers
        assert (read, read.ends) == (answer, ends)
        assert ledger.verify().problems == ()


def test_a_leak_event_of_version_0_1_counts_as_a_surprise(place: Path) -> None:
    told = KnownAnswer("leak", np.arange(3), None, Fraction(0), *STAFF)
    with Ledger.open(place, BINDING) as ledger:
        ask(ledger, told, told)
    with Ledger.open(place, BINDING) as ledger:
        assert next(ledger.entries()).surprises == 2


def test_an_answer_of_a_kind_that_is_not_known_is_one_clear_error(place: Path) -> None:
    with Ledger.open(place, BINDING) as ledger:
        ask(ledger, replace(TOTAL, kind="median"))  # type: ignore[arg-type]
        with pytest.raises(LedgerError, match="'median' is of a later version"):
            list(ledger.entries())


def test_entries_come_in_order_across_batches(place: Path) -> None:
    with Ledger.open(place, BINDING) as ledger:
        for number in range(600):
            ask(ledger, *([EXTREME] if number % 3 == 0 else []), sql=str(number))
        assert [entry.sql for entry in ledger.entries()] == [str(number) for number in range(600)]
        assert [entry.number for entry in ledger.entries(after=255)] == list(range(256, 601))


def test_a_url_names_the_same_file(place: Path) -> None:
    with Ledger.open(f"sqlite:///{place}", BINDING) as ledger:
        ask(ledger, TOTAL)
    with Ledger.open(place, BINDING) as ledger:
        assert ledger.length == 1


@pytest.mark.parametrize(
    "url", ["mysql://u:hidden@host/db", "postgresql+asyncpg://u:hidden@host/db", "sqlite://",
            "sqlite:///:memory:", "what://u:hidden@"]
)  # fmt: skip
def test_other_databases_and_drivers_are_told_what_would_do(url: str) -> None:
    with pytest.raises(LedgerError, match=r"SQLite file|SQLAlchemy|psycopg alone") as caught:
        Ledger.open(url, BINDING)
    assert "hidden" not in str(caught.value)


def test_a_path_may_have_any_characters(tmp_path: Path) -> None:
    place = tmp_path / "a b?mode=ro#é%20.ledger"
    with Ledger.open(place, BINDING) as ledger:
        ask(ledger, TOTAL)
    assert place.exists()


# What a ledger belongs to


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"sizes": (("people", "salary", 1000),)}, "for staff.salary, the policy protects people.salary"),
        ({"sizes": (("staff", "age", 1000),)}, "for staff.salary, the policy protects staff.age"),
        ({"sizes": (("staff", "bonus", 9), *SIZES)}, "the policy protects staff.bonus, staff.salary"),
        (
            {"protect_digest": "other", "protect": CANONICAL.replace("250", "260")},
            "maximum of salary was 250, is 260",
        ),
        ({"protect_digest": "other", "protect": ""}, "[protect] has changed"),
        ({"scope": "user"}, 'scope = "everyone", the policy says "user"'),
    ],
)
def test_a_ledger_of_something_else_is_not_opened(place: Path, change: dict[str, object], part: str) -> None:
    filled(place)
    with pytest.raises(LedgerError) as caught:
        Ledger.open(place, replace(BINDING, **change))  # type: ignore[arg-type]
    assert part in str(caught.value)
    assert not isinstance(caught.value, DataChanged)


@pytest.mark.parametrize(
    "change", [{"fingerprint": "other"}, {"fingerprint": "other", "sizes": (("staff", "salary", 999),)}]
)
def test_other_data_are_told_apart(place: Path, change: dict[str, object]) -> None:
    filled(place)
    with pytest.raises(DataChanged, match="has changed since"):
        Ledger.open(place, replace(BINDING, **change))  # type: ignore[arg-type]


# What may not happen to it


def test_rows_cannot_be_changed_or_removed_by_accident(place: Path) -> None:
    filled(place)
    connection = sqlite3.connect(place)
    for table in ("ledger_statement", "ledger_answer", "ledger_binding"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(f"DELETE FROM {table}")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute("UPDATE ledger_statement SET sql = 'x'")
    connection.close()


ALTERATIONS = {
    "text": "UPDATE ledger_statement SET sql = 'other' WHERE number = 2",
    "user": "UPDATE ledger_statement SET user_name = 'eve' WHERE number = 1",
    "time": "UPDATE ledger_statement SET time = '2020-01-01T00:00:00.000000+00:00' WHERE number = 1",
    "leak": "UPDATE ledger_statement SET leak = 1 WHERE number = 3",
    "risk": "UPDATE ledger_statement SET risk_after = NULL WHERE number = 3",
    "value": "UPDATE ledger_answer SET value = '1/1' WHERE statement = 2 AND position = 0",
    "records": "UPDATE ledger_answer SET records = x'31' WHERE statement = 1",
    "column": "UPDATE ledger_answer SET column_name = 'bonus' WHERE statement = 1",
    "scope": "UPDATE ledger_binding SET scope = 'user'",
    "insiders": "UPDATE ledger_binding SET insiders = 1",
    "format": "UPDATE ledger_binding SET format = 2",
    "signs": "UPDATE ledger_answer SET signs = NULL WHERE statement = 2",
    "binding": "UPDATE ledger_binding SET created = '2020-01-01T00:00:00+00:00'",
    "answer removed": "DELETE FROM ledger_answer WHERE statement = 2 AND position = 1",
    "answer moved": "UPDATE ledger_answer SET statement = 3 WHERE statement = 4",
    "answer added": (
        "INSERT INTO ledger_answer SELECT 3, 0, table_name, column_name, kind, records, signs, value "
        "FROM ledger_answer LIMIT 1"
    ),
    "answer without statement": (
        "INSERT INTO ledger_answer SELECT 9, 0, table_name, column_name, kind, records, signs, value "
        "FROM ledger_answer LIMIT 1"
    ),
    "statement removed": "DELETE FROM ledger_statement WHERE number = 2",
    "first removed": "DELETE FROM ledger_statement WHERE number = 1",
    "statement before the first": (
        "INSERT INTO ledger_statement SELECT 0, time, user_name, sql, parameters, normalised, verdict, code, "
        "is_check, risk_before, risk_after, leak, 0, hash FROM ledger_statement WHERE number = 3"
    ),
    "hash": "UPDATE ledger_statement SET hash = zeroblob(32) WHERE number = 4",
    "table removed": "DROP TABLE ledger_answer",
    "no binding": "DELETE FROM ledger_binding",
}


@pytest.mark.parametrize("kind", ALTERATIONS)
def test_an_altered_ledger_is_not_opened(place: Path, kind: str) -> None:
    filled(place)
    altered(place, ALTERATIONS[kind])
    with pytest.raises(LedgerError, match="was begun with" if kind in ("scope", "insiders") else "restore"):
        Ledger.open(place, BINDING)


def test_insiders_cannot_be_altered_to_what_a_policy_says(place: Path) -> None:
    filled(place)
    altered(place, ALTERATIONS["insiders"])
    with pytest.raises(LedgerError, match="entry 1 was altered"):
        Ledger.open(place, replace(BINDING, insiders=1))


def test_a_ledger_begun_without_an_insider_goes_on_with_one(place: Path) -> None:
    """What is new is judged more strictly; what the ledger is bound to stays as it was."""
    with Ledger.open(place, BINDING) as ledger:
        ask(ledger, TOTAL)
    with Ledger.open(place, replace(BINDING, insiders=1)) as ledger:
        assert ledger.binding.insiders == 0
        ask(ledger, TOTAL)
    with Ledger.open(place, BINDING) as ledger:
        assert (ledger.length, ledger.verify().problems) == (2, ())


def test_a_ledger_begun_with_an_insider_is_opened_with_one_alone(place: Path) -> None:
    with Ledger.open(place, replace(BINDING, insiders=1)) as ledger:
        entry = ask(ledger, TOTAL)
    with Ledger.open(place, replace(BINDING, insiders=1)) as ledger:
        assert (list(ledger.entries()), ledger.binding.insiders) == ([entry], 1)
    with pytest.raises(LedgerError, match=r"set insiders = 1 under \[intruder\]"):
        Ledger.open(place, BINDING)


def test_reordered_statements_are_not_opened(place: Path) -> None:
    filled(place)
    swap = "UPDATE ledger_statement SET number = {} WHERE number = {}"
    altered(place, swap.format(99, 3), swap.format(3, 4), swap.format(4, 99))
    with pytest.raises(LedgerError, match="restore"):
        Ledger.open(place, BINDING)


def test_an_alteration_while_it_is_open_is_seen_and_reported(place: Path) -> None:
    filled(place)
    with Ledger.open(place, BINDING) as ledger:
        altered(place, ALTERATIONS["value"])
        report = ledger.verify()
        assert report.entries == 1
        assert len(report.problems) == 1
        assert "entry 2 was altered" in report.problems[0]
        with pytest.raises(LedgerError, match="entry 2"):
            list(ledger.entries())


def test_a_ledger_cut_while_it_is_open_takes_no_more(place: Path) -> None:
    filled(place)
    with Ledger.open(place, BINDING) as ledger:
        altered(
            place,
            "DELETE FROM ledger_answer WHERE statement = 4",
            "DELETE FROM ledger_statement WHERE number = 4",
        )
        with pytest.raises(LedgerError, match="became shorter"):
            ask(ledger, TOTAL)


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100])
def test_a_file_that_is_not_a_ledger_is_left_alone(place: Path, content: bytes) -> None:
    place.write_bytes(content)
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger.open(place, BINDING)
    assert place.read_bytes() == content


def test_another_sqlite_file_is_left_alone(place: Path) -> None:
    connection = sqlite3.connect(place)
    connection.execute("CREATE TABLE t (a)")
    connection.close()
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger.open(place, BINDING)


def test_a_damaged_file_is_said_to_be_damaged(place: Path) -> None:
    filled(place)
    content = bytearray(place.read_bytes())
    content[100:-100] = bytes(len(content) - 200)
    place.write_bytes(content)
    with pytest.raises(LedgerError, match=r"damaged|not a ledger"):
        Ledger.open(place, BINDING)


def test_a_ledger_of_a_later_format_is_not_opened(place: Path) -> None:
    filled(place)
    altered(place, "UPDATE ledger_binding SET format = 5")
    with pytest.raises(LedgerError, match="format 5; this version reads 2, 3 and 4"):
        Ledger.open(place, BINDING)


def test_a_ledger_of_the_second_format_goes_on_as_one_without_insiders(place: Path) -> None:
    """What an earlier version wrote, kept as SQL; that version knew no insiders."""
    connection = sqlite3.connect(place)
    written = Path(__file__).with_name("ledger_format_2.sql").read_text(encoding="utf-8")
    connection.executescript(written)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    with Ledger.open(place, replace(BINDING, insiders=1)) as ledger:
        assert ledger.binding.insiders == 0
    with Ledger.open(place, BINDING) as ledger:
        assert [len(entry.answers) for entry in ledger.entries()] == [2, 0]
        ask(ledger, TOTAL)
    with Ledger.open(place, BINDING) as ledger:
        assert (ledger.length, ledger.verify().problems) == (3, ())
    altered(place, "UPDATE ledger_binding SET fingerprint = 'other'")
    with pytest.raises(LedgerError, match="entry 1 was altered"):
        Ledger.open(place, replace(BINDING, fingerprint="other"))


def test_a_ledger_of_the_first_format_is_one_clear_error(place: Path) -> None:
    """Its answers do not say which protected column they are about, nor its binding whose answers count."""
    filled(place)
    drops = [f"ALTER TABLE ledger_binding DROP COLUMN {name}" for name in ("scope", "sizes")]
    drops += [f"ALTER TABLE ledger_answer DROP COLUMN {name}" for name in ("table_name", "column_name")]
    altered(place, *drops, "UPDATE ledger_binding SET format = 1")
    with pytest.raises(LedgerError, match="format 1; this version reads 2, 3 and 4: go on with the version"):
        Ledger.open(place, BINDING)


# The anchor


def test_the_anchor_follows_every_entry(place: Path, tmp_path: Path) -> None:
    anchor = tmp_path / "kept.anchor"
    with Ledger.open(place, BINDING, anchor) as ledger:
        assert json.loads(anchor.read_text())["length"] == 0
        for _ in range(3):
            ask(ledger, TOTAL)
            kept = json.loads(anchor.read_text())
            assert kept == {"id": ledger.id, "length": ledger.length, "head": ledger.head}


def test_a_missing_ledger_is_not_begun_anew_while_its_anchor_exists(place: Path, tmp_path: Path) -> None:
    filled(place, tmp_path / "kept.anchor")
    place.unlink()
    with pytest.raises(LedgerError, match="is missing, and its anchor"):
        Ledger.open(place, BINDING, tmp_path / "kept.anchor")
    assert not place.exists()


def test_a_ledger_shorter_than_its_anchor_is_not_opened(place: Path, tmp_path: Path) -> None:
    anchor = tmp_path / "kept.anchor"
    filled(place, anchor)
    shutil.copy(place, tmp_path / "old")
    with Ledger.open(place, BINDING, anchor) as ledger:
        ask(ledger, TOTAL)
    shutil.copy(tmp_path / "old", place)
    with pytest.raises(LedgerError, match="has 4 entries where its anchor says 5"):
        Ledger.open(place, BINDING, anchor)


def test_an_anchor_of_another_ledger_is_told_apart(place: Path, tmp_path: Path) -> None:
    anchor = tmp_path / "kept.anchor"
    filled(place, anchor)
    with pytest.raises(LedgerError, match="anchor"):
        Ledger.open(tmp_path / "second.ledger", BINDING, anchor)
    filled(tmp_path / "third.ledger")
    with pytest.raises(LedgerError, match="is not the ledger of anchor"):
        Ledger.open(tmp_path / "third.ledger", BINDING, anchor)


def test_another_history_of_the_same_length_is_told_apart(place: Path, tmp_path: Path) -> None:
    anchor = tmp_path / "kept.anchor"
    with Ledger.open(place, BINDING, anchor):
        pass
    shutil.copy(place, tmp_path / "old")
    with Ledger.open(place, BINDING, anchor) as ledger:
        ask(ledger, TOTAL)
    shutil.copy(tmp_path / "old", place)
    with Ledger.open(place, BINDING) as ledger:
        ask(ledger, EXTREME)
    with pytest.raises(LedgerError, match="entry 1 differs"):
        Ledger.open(place, BINDING, anchor)


def test_an_anchor_that_lags_after_a_crash_is_brought_up_to_date(place: Path, tmp_path: Path) -> None:
    anchor = tmp_path / "kept.anchor"
    filled(place, anchor)
    before = anchor.read_text()
    with Ledger.open(place, BINDING, anchor) as ledger:
        ask(ledger, TOTAL)
    anchor.write_text(before)
    with Ledger.open(place, BINDING, anchor) as ledger:
        assert json.loads(anchor.read_text())["length"] == ledger.length == 5


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"id": 1, "length": "x", "head": 2}'])
def test_a_broken_anchor_is_an_error(place: Path, tmp_path: Path, content: str) -> None:
    anchor = tmp_path / "kept.anchor"
    filled(place, anchor)
    anchor.write_text(content)
    with pytest.raises(LedgerError, match="not an anchor"):
        Ledger.open(place, BINDING, anchor)


def test_nothing_is_returned_where_the_anchor_cannot_be_written(place: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    with Ledger.open(place, BINDING, folder / "anchor") as ledger:
        shutil.rmtree(folder)
        folder.write_text("now a file")
        with pytest.raises(LedgerError, match="anchor"):
            ask(ledger, TOTAL)


# Where it cannot be written


def test_a_part_left_behind_is_a_sign_that_there_was_a_ledger(place: Path) -> None:
    Path(f"{place}-wal").write_bytes(b"rest")
    with pytest.raises(LedgerError, match="is missing, and a part of it"):
        Ledger.open(place, BINDING)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="folder does not exist"):
        Ledger.open(tmp_path / "absent" / "x.ledger", BINDING)


def test_a_folder_is_not_a_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger.open(tmp_path, BINDING)


def test_a_full_disk_is_one_clear_error_and_nothing_is_lost(place: Path) -> None:
    filled(place)
    with Ledger.open(place, BINDING) as ledger:
        assert isinstance(ledger._place, File)
        with ledger._place.writer.connection() as writer:
            # SQLite's own limit gives the very error of a full disk, and ends with the connection.
            assert writer.value("PRAGMA max_page_count = 6") == 6
        with pytest.raises(LedgerError, match="disk is full; nothing was released"):
            ask(ledger, TOTAL, sql="x" * 100_000)
        assert ledger.length == 4
        assert ask(ledger, TOTAL).number == 5
        assert ledger.verify().problems == ()


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder that the present user may not write, also where tests run as the superuser."""
    if os.name != "posix":
        pytest.skip("file permissions are POSIX's")
    folder = Path(tempfile.mkdtemp())
    user = os.geteuid()
    try:
        yield folder
    finally:
        os.seteuid(user)
        folder.chmod(0o755)
        shutil.rmtree(folder)


def as_someone_else(folder: Path) -> None:
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)
    if os.geteuid() == 0:
        os.seteuid(65534)


def test_a_read_only_folder_is_one_clear_error(unprivileged: Path) -> None:
    as_someone_else(unprivileged)
    with pytest.raises(LedgerError, match=r"ledger .*(writable|cannot be created|Permission)"):
        Ledger.open(unprivileged / "x.ledger", BINDING)


def test_a_read_only_ledger_is_not_opened(unprivileged: Path) -> None:
    filled(unprivileged / "x.ledger")
    as_someone_else(unprivileged)
    with pytest.raises(LedgerError, match="writable"):
        Ledger.open(unprivileged / "x.ledger", BINDING)


def test_a_lock_held_for_long_is_one_clear_error(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(place)
    monkeypatch.setattr("auditor.ledger.store.PATIENCE", 0.1)
    other = sqlite3.connect(place, isolation_level=None)
    with Ledger.open(place, BINDING) as ledger:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="another process kept it locked"):
            ask(ledger, TOTAL)
        other.execute("ROLLBACK")
        assert ask(ledger, TOTAL).number == 5
    other.close()


def test_a_statement_that_is_not_unicode_is_not_recorded(place: Path) -> None:
    with Ledger.open(place, BINDING) as ledger:
        with pytest.raises(LedgerError, match="Unicode"):
            ask(ledger, sql="SELECT '\ud800'")
        assert ledger.length == 0


def test_a_risk_that_is_no_number_is_not_recorded(place: Path) -> None:
    with Ledger.open(place, BINDING) as ledger:
        with pytest.raises(LedgerError, match="risk_after"):
            ledger.append(user="u", sql="s", verdict="refused", code="risk", risk_after=float("nan"))
        assert ledger.length == 0


# Several at once


def test_new_knowledge_since_the_caller_looked_is_told(place: Path) -> None:
    with Ledger.open(place, BINDING) as mine, Ledger.open(place, BINDING) as other:
        ask(mine, TOTAL)
        ask(other)  # teaches nothing
        assert mine.append(user="u", sql="s", verdict="answered", code="x", expected_length=1).number == 3
        ask(other, EXTREME)
        with pytest.raises(LedgerMoved):
            mine.append(user="u", sql="s", verdict="answered", code="x", answers=[TOTAL], expected_length=3)
        assert [entry.number for entry in mine.entries(after=3)] == [4]
        entry = mine.append(
            user="u", sql="s", verdict="answered", code="x", answers=[TOTAL], expected_length=4
        )
        assert entry.number == 5


def test_own_answers_move_nobody_and_one_that_was_not_committed_is_not_taken_for_own(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What this object recorded beside is about other columns, or another party's. An answer of others that
    got the number of one that was undone is not."""
    said = {"user": "u", "sql": "s", "verdict": "answered", "code": "x"}
    with Ledger.open(place, BINDING) as mine, Ledger.open(place, BINDING) as other:
        mine.append(**said, answers=[TOTAL], expected_length=0)  # type: ignore[arg-type]
        mine.append(**said, answers=[EXTREME], expected_length=0)  # type: ignore[arg-type]
        real = mine._place.writing

        @contextmanager
        def undone(durable: bool) -> Iterator[object]:
            with real(durable) as connection:
                yield connection
                raise OSError("the server went away")

        with monkeypatch.context() as patched:
            patched.setattr(mine._place, "writing", undone)
            with pytest.raises((OSError, LedgerError)):
                mine.append(**said, answers=[DIFFERENCE], expected_length=0)  # type: ignore[arg-type]
        assert ask(other, TOTAL).number == 3
        with pytest.raises(LedgerMoved):
            mine.append(**said, answers=[DIFFERENCE], expected_length=2)  # type: ignore[arg-type]


def _append_many(place: str, name: str, count: int) -> None:
    with Ledger.open(place, BINDING, f"{place}.anchor") as ledger:
        for number in range(count):
            ask(ledger, *([TOTAL] if number % 2 else []), user=name)


@pytest.mark.slow
def test_four_processes_begin_and_append_at_once(place: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_append_many, args=(str(place), f"p{i}", 25)) for i in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0] * 4
    with Ledger.open(place, BINDING, f"{place}.anchor") as ledger:
        users = [entry.user for entry in ledger.entries()]
        assert len(users) == 100
        assert {name: users.count(name) for name in set(users)} == {f"p{i}": 25 for i in range(4)}
        assert json.loads(Path(f"{place}.anchor").read_text())["length"] == 100


def test_threads_append_to_one_ledger(place: Path) -> None:
    with Ledger.open(place, BINDING) as ledger:
        threads = [
            threading.Thread(target=lambda: [ask(ledger, EXTREME) for _ in range(20)]) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert ledger.length == 80
        assert ledger.verify().problems == ()


def test_one_decides_at_a_time(place: Path) -> None:
    with Ledger.open(place, BINDING) as one, Ledger.open(place, BINDING) as two:
        inside = most = 0

        def decide(ledger: Ledger) -> None:
            nonlocal inside, most
            for _ in range(5):
                with ledger.deciding():
                    inside += 1
                    most = max(most, inside)
                    time.sleep(0.002)
                    inside -= 1

        threads = [threading.Thread(target=decide, args=(ledger,)) for ledger in (one, one, two, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert most == 1


def test_waiting_to_decide_ends(place: Path) -> None:
    with Ledger.open(place, BINDING) as one, Ledger.open(place, BINDING) as two:
        told: list[LedgerError] = []

        def impatient() -> None:
            try:
                with two.deciding(timeout=0.05):
                    pass
            except LedgerError as error:
                told.append(error)

        with one.deciding():
            thread = threading.Thread(target=impatient)
            thread.start()
            thread.join()
        assert "have been deciding" in str(told[0])


# Crashes

KILLED = """
import sys
from fractions import Fraction
import numpy as np
from auditor.ledger import Binding, KnownAnswer, Ledger
binding = Binding("digest", "fingerprint", (("staff", "salary", 1000),))
answer = KnownAnswer("sum", np.arange(1000), None, Fraction(1), "staff", "salary")
with Ledger.open(sys.argv[1], binding, sys.argv[1] + ".anchor") as ledger:
    while True:
        entry = ledger.append(user="u", sql="s", verdict="answered", code="x", answers=[answer])
        print(entry.number, flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9 is POSIX's")
def test_killed_at_any_moment_it_opens_again_with_all_that_was_returned(place: Path) -> None:
    returned = 0
    for round_number in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(place)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        time.sleep(0.013 * round_number)
        os.kill(process.pid, signal.SIGKILL)
        lines += process.stdout.readlines()
        process.wait()
        process.stdout.close()
        returned = max([returned, *(int(line) for line in lines if line.endswith("\n"))])
        with Ledger.open(place, BINDING_KILLED, f"{place}.anchor") as ledger:
            assert ledger.length >= returned
            assert ledger.verify().problems == ()


BINDING_KILLED = Binding("digest", "fingerprint", SIZES)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9 is POSIX's")
def test_killed_while_it_is_begun_it_can_be_begun_again(tmp_path: Path) -> None:
    for round_number in range(4):
        place = tmp_path / f"{round_number}.ledger"
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(place)], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while not list(tmp_path.glob(f"{round_number}.ledger*")) and time.monotonic() < deadline:
            time.sleep(0.0005)
        time.sleep(0.002 * round_number)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with Ledger.open(place, BINDING_KILLED, f"{place}.anchor") as ledger:
            assert ledger.verify().problems == ()


# Packing


@given(st.sets(st.integers(0, 2**40)), st.integers(-(2**80), 2**80), st.integers(1, 2**70))
def test_packing_loses_nothing(numbers: set[int], numerator: int, denominator: int) -> None:
    records = np.array(sorted(numbers), dtype=np.int64)
    assert unpack_records(pack_records(records)).tolist() == records.tolist()
    signs = np.where(records % 2 == 0, 1, -1).astype(np.int8)
    read = unpack_signs(pack_signs(signs))
    assert read is not None
    assert read.tolist() == signs.tolist()
    value = Fraction(numerator, denominator)
    assert unpack_value(pack_value(value)) == (value, None)
    assert unpack_value(pack_value(value, 2 * value)) == (value, 2 * value)


def test_consecutive_records_take_little_room() -> None:
    assert len(pack_records(np.arange(1_000_000))) < 2_000


@pytest.mark.parametrize("records", [[2, 1], [1, 1], [-1, 0]])
def test_records_must_ascend(records: list[int]) -> None:
    with pytest.raises(ValueError, match="ascending"):
        pack_records(np.array(records))


def test_what_packing_never_wrote_is_unreadable() -> None:
    for broken in (b"", b"9abc", b"1abc"):
        with pytest.raises(Unreadable):
            unpack_records(broken)
    with pytest.raises(Unreadable):
        unpack_signs(b"abc")
    for text in ("", "1/0", "x/y"):
        with pytest.raises(Unreadable):
            unpack_value(text)


def test_a_release_keeps_its_reason_and_who_is_set_aside(place: Path) -> None:
    with Ledger.open(place, BINDING) as ledger:
        release(ledger)
    with Ledger.open(place, BINDING) as ledger:
        first, second = ledger.entries()
        assert (first.because, first.by) == ("a\nline, Zoë", "olga")
        assert (first.parameters, first.zone) == ("[1]", "Europe/Berlin")
        assert first.answers == (TOTAL, ASIDE)
        assert (second.because, second.by, second.parameters) == ("no", "olga", "")
        assert ledger.verify().problems == ()


def test_a_reason_that_was_altered_is_found(place: Path) -> None:
    with Ledger.open(place, BINDING) as ledger:
        release(ledger)
    altered(place, "UPDATE ledger_statement SET parameters = replace(parameters, 'olga', 'emil')")
    with pytest.raises(LedgerError, match="entry 1 was altered"):
        Ledger.open(place, BINDING)
