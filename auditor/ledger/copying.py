"""A copy of a ledger, whole and consistent whoever is writing, for those who want to try something on it.

Promise: the original is read and nothing else; what is only in its -wal is in the copy too.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from auditor.errors import LedgerError
from auditor.ledger.store import explained, ledger_file


def copy_ledger(location: str | Path, to: Path) -> bool:
    """Copy a ledger to a new file.

    Returns:
        Whether there was one.

    Raises:
        LedgerError: it cannot be read, or the copy cannot be written.
    """
    file = ledger_file(location)
    if not file.exists():
        return False
    if to.exists():
        raise LedgerError(f"ledger {to}: is there already; a copy would replace it")
    with (
        explained(file),
        closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as original,
        closing(sqlite3.connect(to)) as copy,
    ):
        original.backup(copy)
    return True
