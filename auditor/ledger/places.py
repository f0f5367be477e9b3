"""Where a ledger is kept: an SQLite file, or tables on a PostgreSQL server that several machines share.

Promise: whatever the place, a write is one transaction that has the write lock from its first statement, a
read is one snapshot, one at a time decides, and a ledger appears there whole or not at all.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from filelock import Timeout

from auditor import private
from auditor.errors import LedgerError
from auditor.ledger.connection import Connection
from auditor.ledger.store import Connections, FileConnection, create, explained, reading, writing


class Place(Protocol):
    """Where a ledger is kept. Its text names it in messages, without a password."""

    def exists(self) -> bool:
        """Whether a ledger, or a part of one, is there."""

    def begin(self, row: Mapping[str, object]) -> None:
        """Put a new ledger there, bound as the row says, unless somebody else is first."""

    def check(self) -> None:
        """Look whether what is there can be used; raises `LedgerError`."""

    def reading(self) -> AbstractContextManager[Connection]:
        """One snapshot."""

    def writing(self, durable: bool) -> AbstractContextManager[Connection]:
        """One transaction that holds the write lock; `durable`: it survives a power cut once it is left."""

    def kept(self, connection: Connection) -> tuple[int, bytes] | None:
        """The last entry that was `keep`t, if no row up to it can have changed since; within `writing`."""

    def keep(self, connection: Connection, number: int, head: bytes) -> None:
        """All up to this entry is verified; counts once the transaction is on disk."""

    def deciding(self, timeout: float) -> AbstractContextManager[None]:
        """The lock of who decides, for `timeout` seconds of waiting; raises `LedgerError`."""

    def settle(self) -> None:
        """Have everything on disk that is committed."""

    def close(self) -> None:
        """Let go of all connections."""


_CONNECTION = re.compile(r"(?i)^postgres\w*:/?(?!/)|\bpassword\s*=\s*(?!.*://)|^(?!.*://).*\bhost\s*=.*=")
"""What libpq takes and SQLAlchemy does not, and what lacks a stroke."""
_WANTED = "give a file, sqlite:///FILE or postgresql://USER@HOST/DATABASE"


def place_of(location: str | Path) -> Place:
    """The place that a path or a SQLAlchemy URL names; only a URL needs SQLAlchemy.

    Raises:
        LedgerError: a URL of a database that is neither SQLite nor PostgreSQL, or of none.
    """
    text = str(location)
    if _CONNECTION.search(text):
        # nothing of it is shown: a password may stand anywhere in it
        raise LedgerError(f"ledger: neither a file nor a SQLAlchemy URL; {_WANTED}")
    if "://" not in text:
        return File(Path(text).resolve())
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    from auditor.ledger.postgres import Server, shown

    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise LedgerError(f"ledger {text.partition('://')[0]}://…: not a SQLAlchemy URL; {_WANTED}") from None
    if any("@" in str(part) for part in (url.username, url.host, url.database) if part):
        # of a password with an @, the rest would be taken for the host, and shown
        raise LedgerError(f"ledger {url.drivername}://…: an @ in user name or password is written %40")
    if url.get_backend_name() == "postgresql":
        return Server(url)
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        raise LedgerError(
            f"ledger {shown(url)}: a ledger is kept in an SQLite file or on a "
            "PostgreSQL server; give a path, sqlite:///FILE or postgresql://USER@HOST/DATABASE"
        )
    return File(Path(str(url.database)).resolve())


@dataclass(frozen=True)
class _Kept:
    """An entry, and what tells whether anything can have changed since it was verified."""

    number: int
    head: bytes
    version: int
    files: tuple[tuple[int, ...], ...] = ()


def _version(connection: Connection) -> int:
    """A number that another connection's transaction changes, and this one's does not."""
    return int(connection.value("PRAGMA data_version"))


def _own(connection: Connection) -> FileConnection:
    assert isinstance(connection, FileConnection)
    return connection


class File:
    """A ledger in an SQLite file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.readers = Connections(file)
        self.writer = Connections(file, alone=True)
        self._opened: tuple[int, int] | None = None
        self._lock_file = file.with_name(f"{file.name}.lock")
        self.lock = private.lock(self._lock_file)

    def __str__(self) -> str:
        return str(self.file)

    def exists(self) -> bool:
        """Whether the file is there."""
        return self.file.exists()

    def begin(self, row: Mapping[str, object]) -> None:
        """Put a new ledger in place, unless a part of an old one is still there."""
        file = self.file
        if not file.parent.is_dir():
            raise LedgerError(f"ledger {file}: its folder does not exist; create it, or name another path")
        try:
            private.tighten(self._lock_file)
            with private.lock(self._lock_file, 30):
                if file.exists():
                    return  # another process was first
                if Path(f"{file}-wal").exists():
                    text = "is missing, and a part of it (-wal) is still there; restore it from a copy"
                    raise LedgerError(f"ledger {file}: {text}")
                with explained(file):
                    create(file, row)
        except Timeout as error:
            text = "another process has been creating it for 30 seconds"
            raise LedgerError(f"ledger {file}: {text}") from error
        except OSError as error:
            text = f"cannot be created: {error.strerror or error}"
            if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
                text += "; name one in a folder that can be written (path under [ledger] in the policy)"
            raise LedgerError(f"ledger {file}: {text}") from error

    def check(self) -> None:
        """One ledger, one name, one owner: what is new lies beside the name (-wal), and so does the lock."""
        file = self.file
        try:
            linked = file.is_file() and file.stat().st_nlink > 1
        except OSError as error:
            raise LedgerError(f"ledger {file}: cannot be opened: {error.strerror or error}") from error
        if linked:
            text = "has another name too (a hard link), whose users would not see its answers"
            raise LedgerError(f"ledger {file}: {text}; remove one of them")
        self._tighten()

    def _tighten(self) -> None:
        """Take it away from others, who could read its figures or hold its lock."""
        if not os.access(self.file, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            return  # which is told where it is written
        for suffix in ("", "-wal", "-shm", ".lock"):
            part = self.file.with_name(f"{self.file.name}{suffix}")
            try:
                private.tighten(part)
            except OSError as error:
                raise LedgerError(f"ledger {self.file}: {part} is {error.strerror or error}") from error

    def reading(self) -> AbstractContextManager[Connection]:
        """One snapshot."""
        return reading(self.readers)

    @contextmanager
    def writing(self, durable: bool) -> Iterator[Connection]:
        """One transaction, on a connection that makes all of this object's: it knows who else made one."""
        with writing(self.writer, durable, self._committed) as connection:
            yield connection

    def kept(self, connection: Connection) -> tuple[int, bytes] | None:
        """By SQLite's word that no other connection has written, and by the files where SQLite was passed by.

        Raises:
            LedgerError: another file is in its place, which SQLite would not notice.
        """
        self._require_same_file()
        kept = _own(connection).kept
        if isinstance(kept, _Kept) and (kept.version, kept.files) == (_version(connection), self._files()):
            return kept.number, kept.head
        connection.run("PRAGMA shrink_memory")  # what is in memory may not be what is in the file
        return None

    def keep(self, connection: Connection, number: int, head: bytes) -> None:
        """Noted within the transaction; how the files look then is only known afterwards."""
        _own(connection).kept = _Kept(number, head, _version(connection))

    def _committed(self, connection: FileConnection) -> None:
        if isinstance(connection.kept, _Kept):
            connection.kept = replace(connection.kept, files=self._files())

    def _require_same_file(self) -> None:
        try:
            file = os.stat(self.file)
            same = self._opened in (None, (file.st_dev, file.st_ino))
            self._opened = (file.st_dev, file.st_ino) if same else self._opened
        except FileNotFoundError:
            same = False
        if not same:
            text = "was removed, or another file is in its place; restore it, and open it again"
            raise LedgerError(f"ledger {self.file}: {text}")

    def _files(self) -> tuple[tuple[int, ...], ...]:
        """What changes when somebody writes to the file or its log, or puts another in its place."""
        found: list[tuple[int, ...]] = []
        for suffix in ("", "-wal"):
            try:
                file = os.stat(f"{self.file}{suffix}")
                found.append((file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns, file.st_ctime_ns))
            except FileNotFoundError:
                found.append(())
        return tuple(found)

    def close(self) -> None:
        """Let go of the file."""
        self.writer.close()
        self.readers.close()

    @contextmanager
    def deciding(self, timeout: float) -> Iterator[None]:
        """The lock beside the file, across threads and processes."""
        try:
            self.lock.acquire(timeout=timeout)
        except Timeout as error:
            text = f"others have been deciding for {timeout:g} seconds; ask again"
            raise LedgerError(f"ledger {self}: {text}") from error
        except OSError as error:
            text = f"cannot be used: {error.strerror or error}; it and its folder must be writable"
            raise LedgerError(f"ledger {self}: its lock file {self.lock.lock_file} {text}") from error
        except BaseException:
            # interrupted, perhaps between taking the lock and saying so
            self.lock.release(force=True)
            raise
        try:
            yield
        finally:
            try:
                self.lock.release()
            except BaseException:
                self.lock.release(force=True)  # whoever interrupts one does not keep all others waiting
                raise

    def settle(self) -> None:
        """Write the log into the file."""
        with self.readers.connection() as connection:
            connection.rows("PRAGMA wal_checkpoint(FULL)")
