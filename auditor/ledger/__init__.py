"""What has been asked and answered: durable, append-only, hash-chained.

    entries.py      Binding, Entry, KnownAnswer: what is remembered, as values
    packing.py      record numbers, signs and exact values as bytes and text
    people.py       who is who over editions of the data: digests of keys and values, numbers of records
    chain.py        what the hash of an entry covers
    connection.py   the tables, and what is asked of a database: plain SQL
    store.py        SQLite files, by the standard library; database errors become `LedgerError`s
    schema.py       whether tables are as this package makes them
    postgres.py     a PostgreSQL server that several machines share, through SQLAlchemy
    places.py       where a ledger is: one of the two, by path or URL
    anchor.py       a small file kept elsewhere that proves the ledger whole
    book.py         Ledger: the façade

Promise: an entry that `Ledger.append` returned is on disk; an entry is never changed or removed unnoticed
(the last ones only where an anchor is kept); whatever is wrong with a ledger is one clear `LedgerError`.
"""

from __future__ import annotations

from auditor.ledger.book import Ledger, LedgerMoved, LedgerReport
from auditor.ledger.entries import Binding, Entry, KnownAnswer
from auditor.ledger.people import Base, Carried, Edition

__all__ = [
    "Base",
    "Binding",
    "Carried",
    "Edition",
    "Entry",
    "KnownAnswer",
    "Ledger",
    "LedgerMoved",
    "LedgerReport",
]
