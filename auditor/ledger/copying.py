"""A copy of a ledger, whole and consistent whoever is writing, for those who want to try something on it.

Promise: the original is read and nothing else; what is only in its -wal is in the copy too. A copy is an
SQLite file, wherever the original is.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from auditor import private
from auditor.errors import LedgerError
from auditor.ledger.connection import ANSWER, BINDING, STATEMENT
from auditor.ledger.places import File, Place, place_of
from auditor.ledger.store import Connections, create, explained, writing


def copy_ledger(location: str | Path, to: Path) -> bool:
    """Copy a ledger to a new file.

    Returns:
        Whether there was one.

    Raises:
        LedgerError: it cannot be read, or the copy cannot be written.
    """
    place = place_of(location)
    try:
        if not place.exists():
            return False
        if to.exists():
            raise LedgerError(f"ledger {to}: is there already; a copy would replace it")
        with explained(place):
            if isinstance(place, File):
                _copy_file(place.file, to)
            else:
                _copy_rows(place, to)
        return True
    finally:
        place.close()


def _copy_file(file: Path, to: Path) -> None:
    private.create(to)
    with (
        closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as original,
        closing(sqlite3.connect(to)) as copy,
    ):
        original.backup(copy)


def _copy_rows(place: Place, to: Path) -> None:
    with place.reading() as original:
        version = int(original.value(f"SELECT format FROM {BINDING.name}"))
        [binding] = original.rows(f"SELECT {BINDING.of(version).names} FROM {BINDING.name}")
        create(to, binding)
        connections = Connections(to)
        try:
            with writing(connections, durable=True) as copy:
                for table in (STATEMENT, ANSWER):
                    if rows := original.rows(f"SELECT {table.names} FROM {table.name}"):
                        copy.run(table.insert, *rows)
        finally:
            connections.close()
