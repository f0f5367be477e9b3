"""A shortened ledger: the last entries removed, so that the rest is a chain without fault."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from auditor import LedgerError

from .ledgers import ALL, REST, Place


def cut(ledger: Path) -> None:
    """Remove the last entry that has an answer, and all that follow; triggers are in nobody's way."""
    connection = sqlite3.connect(ledger)
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    (last,) = connection.execute("SELECT MAX(statement) FROM ledger_answer").fetchone()
    connection.execute("DELETE FROM ledger_answer WHERE statement >= ?", [last])
    connection.execute("DELETE FROM ledger_statement WHERE number >= ?", [last])
    for _, sql in triggers:
        connection.execute(sql)
    connection.commit()
    connection.close()


def test_with_an_anchor_a_shortened_ledger_is_not_opened(tmp_path: Path) -> None:
    place = Place(tmp_path, anchored=True)
    assert place.asked(ALL) == ["answered"]
    cut(place.ledger)
    with pytest.raises(LedgerError, match="where its anchor says"):
        place.asked(REST)


def test_without_one_it_is_and_the_difference_is_told(tmp_path: Path) -> None:
    """Documented: a chain cannot show that its last entries are gone."""
    place = Place(tmp_path, anchored=False)
    assert place.asked(ALL, REST) == ["answered", "refused"]
    cut(place.ledger)
    assert place.asked(REST) == ["answered"]


def test_an_entry_cut_out_of_the_middle_is_found_without_an_anchor(tmp_path: Path) -> None:
    place = Place(tmp_path, anchored=False)
    assert place.asked(ALL, REST) == ["answered", "refused"]
    connection = sqlite3.connect(place.ledger)
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute("DELETE FROM ledger_answer WHERE statement = 1")
    connection.execute("DELETE FROM ledger_statement WHERE number = 1")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError):
        place.asked(REST)
