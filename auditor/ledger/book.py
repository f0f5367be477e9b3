"""The ledger: open, read, append, verify.

Promise: what was opened is the ledger of these data, [[protect]], scope and insiders, whole from its first
entry and not shorter than its anchor. `append` returns once the entry is on disk and anchored. Several
threads and processes may append at once; one at a time decides.
"""

from __future__ import annotations

import errno
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from filelock import FileLock, Timeout
from sqlalchemy import Connection, Engine, func, inspect, select

from auditor.errors import LedgerError
from auditor.ledger import rows
from auditor.ledger.anchor import Anchored, read_anchor, write_anchor
from auditor.ledger.chain import BINDING_FIELDS, FORMAT, first_hash
from auditor.ledger.entries import Binding, Entry, KnownAnswer
from auditor.ledger.rows import compare
from auditor.ledger.store import (
    ANSWER,
    BINDING,
    METADATA,
    STATEMENT,
    connect,
    create,
    explained,
    ledger_file,
    reading,
    writing,
)


class LedgerMoved(LedgerError):
    """Someone else's answer was recorded since the caller last looked: what it decided may not hold."""


@dataclass(frozen=True)
class LedgerReport:
    """What a full check of the chain found."""

    entries: int
    """Entries found good, from the first on."""
    answers: int
    """Answers among them."""
    head: str
    """Hex hash of the last of them."""
    problems: tuple[str, ...]
    """What is wrong, in plain words; empty where nothing is."""


class Ledger:
    """A hash-chained, append-only record of statements and answers. A context manager; see `open`."""

    def __init__(self, file: Path, engine: Engine, stored: rows.StoredBinding, anchor: Path | None) -> None:
        self._file, self._engine, self._stored, self._anchor = file, engine, stored, anchor
        self._lock = FileLock(f"{file}.lock", poll_interval=0.01)
        self._seen = (0, first_hash(stored.row))  # the furthest entry verified by this object
        self._seen_guard = threading.Lock()

    @classmethod
    def open(cls, path_or_url: str | Path, binding: Binding, anchor: str | Path | None = None) -> Ledger:
        """The ledger at a place, created where there was none, verified whole.

        Raises:
            DataChanged: it was begun on other data.
            LedgerError: missing while its anchor exists, shorter than its anchor, altered, of other columns,
                another [[protect]], scope or insiders, unreadable, or in a folder that cannot be written.
        """
        file = ledger_file(path_or_url)
        anchor = None if anchor is None else Path(anchor).resolve()
        # The anchor is read first: others may append, and anchor, while the ledger is read.
        anchored = None if anchor is None else read_anchor(anchor)
        if not file.exists():
            if anchored is not None:
                text = f"is missing, and its anchor {anchor} says there was one; restore it from a copy"
                raise LedgerError(f"ledger {file}: {text}")
            _begin(file, binding)
        _check_name(file)
        engine = connect(file)
        try:
            with explained(file):
                stored = _read_binding(file, engine)
                compare(file, stored.binding, binding)
                ledger = cls(file, engine, stored, anchor)
                with writing(engine, durable=True):
                    pass  # what cannot be written is better known now than after the first decision
                ledger._check_chain()
                ledger._check_anchor(anchored)
        except LedgerError:
            engine.dispose()
            raise
        return ledger

    def close(self) -> None:
        """Let go of the file."""
        self._engine.dispose()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def id(self) -> str:
        """Which ledger this is: drawn at random when it was begun."""
        return self._stored.id

    @property
    def binding(self) -> Binding:
        """What it was bound to when it was begun."""
        return self._stored.binding

    @property
    def length(self) -> int:
        """How many entries it has now, those of other processes included."""
        return self._last()[0]

    @property
    def head(self) -> str:
        """Hex hash of the last entry; of the binding where there is none yet."""
        return self._last()[1].hex()

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """The entries with numbers above `after`, in order, each verified against the chain.

        Raises:
            LedgerError: the chain is broken; what was yielded before is good.
        """
        number, head = after, self._hash_of(after)
        while True:
            batch, broken = list[Entry](), None
            with explained(self._file), reading(self._engine) as connection:
                try:
                    for entry in rows.verified(self._file, connection, number, head):
                        batch.append(entry)
                except LedgerError as error:
                    broken = error
            for entry in batch:
                self._remember(entry.number, bytes.fromhex(entry.hash))
                yield entry
            if broken is not None:
                raise broken
            if len(batch) < rows.BATCH:
                return
            number, head = batch[-1].number, bytes.fromhex(batch[-1].hash)

    def append(
        self,
        *,
        user: str,
        sql: str,
        verdict: str,
        code: str,
        parameters: str = "",
        normalised: str = "",
        check: bool = False,
        risk_before: float | None = None,
        risk_after: float | None = None,
        leak: bool = False,
        answers: Sequence[KnownAnswer] = (),
        expected_length: int | None = None,
    ) -> Entry:
        """Add an entry at the present end, also where others appended meanwhile; on disk when it returns.

        Args:
            expected_length: The length up to which the caller knows the answers. Answers recorded since then
                raise `LedgerMoved`; other entries do not matter.

        Raises:
            LedgerMoved: see `expected_length`; nothing was recorded.
            LedgerError: it could not be recorded or anchored; nothing may be released.
        """
        entry = Entry(0, datetime.now(UTC), user, sql, parameters, normalised, verdict, code, check,
                      risk_before, risk_after, leak, tuple(answers), "")  # fmt: skip
        # An entry that teaches nothing may be lost in a power cut, unless the anchor counts it.
        durable = bool(answers) or self._anchor is not None
        with explained(self._file), writing(self._engine, durable) as connection:
            number, head = self._catch_up(connection)
            if expected_length is not None and rows.answers_after(connection, expected_length):
                raise LedgerMoved(f"ledger {self._file}: another answer was recorded meanwhile; decide again")
            entry = rows.insert(connection, replace(entry, number=number + 1), head)
        self._remember(entry.number, bytes.fromhex(entry.hash))
        if self._anchor is not None:
            write_anchor(self._anchor, Anchored(self.id, entry.number, entry.hash))
        return entry

    @contextmanager
    def deciding(self, timeout: float = 60.0) -> Iterator[None]:
        """One decider at a time, across threads and processes.

        Raises:
            LedgerError: others kept deciding for `timeout` seconds.
        """
        try:
            self._lock.acquire(timeout=timeout)
        except Timeout as error:
            text = f"others have been deciding for {timeout:g} seconds; ask again"
            raise LedgerError(f"ledger {self._file}: {text}") from error
        except OSError as error:
            text = f"cannot be used: {error.strerror or error}; it and its folder must be writable"
            raise LedgerError(f"ledger {self._file}: its lock file {self._lock.lock_file} {text}") from error
        except BaseException:
            # interrupted, perhaps between taking the lock and saying so
            self._lock.release(force=True)
            raise
        try:
            yield
        finally:
            try:
                self._lock.release()
            except BaseException:
                self._lock.release(force=True)  # whoever interrupts one does not keep all others waiting
                raise

    def verify(self) -> LedgerReport:
        """Go through the whole chain, and report rather than raise."""
        count = answers = 0
        head, problems = self._hash_of(0).hex(), list[str]()
        try:
            for entry in self.entries():
                count, answers, head = entry.number, answers + len(entry.answers), entry.hash
            self._check_whole()
        except LedgerError as error:
            problems.append(str(error))
        return LedgerReport(count, answers, head, tuple(problems))

    def _last(self) -> tuple[int, bytes]:
        with explained(self._file), reading(self._engine) as connection:
            return rows.last(connection) or (0, self._hash_of(0))

    def _hash_of(self, number: int) -> bytes:
        if number == 0:
            return first_hash(self._stored.row)
        with explained(self._file), reading(self._engine) as connection:
            found = connection.execute(select(STATEMENT.c.hash).where(STATEMENT.c.number == number)).scalar()
        if found is None:
            raise LedgerError(
                f"ledger {self._file}: entry {number} is missing; restore the ledger from a copy"
            )
        return bytes(found)

    def _remember(self, number: int, head: bytes) -> None:
        """Hold the chain to what this object has seen of it."""
        with self._seen_guard:
            seen, seen_head = self._seen
            if number == seen and head != seen_head:
                raise LedgerError(
                    f"ledger {self._file}: entry {number} was replaced while the ledger was open"
                )
            if number > seen:
                self._seen = (number, head)

    def _catch_up(self, connection: Connection) -> tuple[int, bytes]:
        """Verify what others appended since this object last looked; the present end."""
        with self._seen_guard:
            number, head = self._seen
        found = rows.last(connection)
        if (0 if found is None else found[0]) < number:
            raise LedgerError(
                f"ledger {self._file}: became shorter while it was open; restore it from a copy"
            )
        if number and found is not None and found[0] == number and found[1] != head:
            raise LedgerError(f"ledger {self._file}: entry {number} was replaced while the ledger was open")
        while found is not None and number < found[0]:
            for entry in rows.verified(self._file, connection, number, head):
                number, head = entry.number, bytes.fromhex(entry.hash)
        return number, head

    def _check_chain(self) -> None:
        for _ in self.entries():
            pass
        self._check_whole()

    def _check_whole(self) -> None:
        """Rows that the chain does not reach do not belong."""
        numbers, answers = STATEMENT.c.number, STATEMENT.c.answers
        every = select(func.count(), func.coalesce(func.max(numbers), 0), func.coalesce(func.sum(answers), 0))
        with explained(self._file), reading(self._engine) as connection:
            count, greatest, answered = connection.execute(every.select_from(STATEMENT)).one()
            told = connection.execute(select(func.count()).select_from(ANSWER)).scalar_one()
        if count != greatest or told != answered:
            raise LedgerError(
                f"ledger {self._file}: it has rows that its chain does not; restore it from a copy"
            )

    def _check_anchor(self, anchored: Anchored | None) -> None:
        if self._anchor is None:
            return
        number, head = self._seen
        if anchored is not None:
            if anchored.id != self.id:
                text = f"is not the ledger of anchor {self._anchor}; restore the one it names"
                raise LedgerError(f"ledger {self._file}: {text}")
            if anchored.length > number:
                text = f"has {number} entries where its anchor says {anchored.length}; restore it from a copy"
                raise LedgerError(f"ledger {self._file}: {text}")
            if self._hash_of(anchored.length).hex() != anchored.head:
                text = f"entry {anchored.length} differs from what its anchor says; restore it from a copy"
                raise LedgerError(f"ledger {self._file}: {text}")
        with self._engine.connect() as connection:
            # Entries written without an anchor may not be synced; the anchor must not be ahead of the disk.
            connection.exec_driver_sql("PRAGMA wal_checkpoint(FULL)")
        write_anchor(self._anchor, Anchored(self.id, number, head.hex()))


def _begin(file: Path, binding: Binding) -> None:
    """Put a new ledger in place, unless a part of an old one is still there."""
    if not file.parent.is_dir():
        raise LedgerError(f"ledger {file}: its folder does not exist; create it, or name another path")
    try:
        with FileLock(f"{file}.lock", timeout=30):
            if file.exists():
                return  # another process was first
            if Path(f"{file}-wal").exists():
                text = "is missing, and a part of it (-wal) is still there; restore it from a copy"
                raise LedgerError(f"ledger {file}: {text}")
            row = rows.binding_row(binding, uuid.uuid4().hex, datetime.now(UTC))
            with explained(file):
                create(file, row)
    except Timeout as error:
        raise LedgerError(f"ledger {file}: another process has been creating it for 30 seconds") from error
    except OSError as error:
        text = f"cannot be created: {error.strerror or error}"
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            text += "; name one in a folder that can be written (path under [ledger] in the policy)"
        raise LedgerError(f"ledger {file}: {text}") from error


def _check_name(file: Path) -> None:
    """One ledger, one name: what is new lies beside the name (-wal), and so does the lock."""
    try:
        linked = file.is_file() and file.stat().st_nlink > 1
    except OSError as error:
        raise LedgerError(f"ledger {file}: cannot be opened: {error.strerror or error}") from error
    if linked:
        text = "has another name too (a hard link), whose users would not see its answers; remove one of them"
        raise LedgerError(f"ledger {file}: {text}")


def _read_binding(file: Path, engine: Engine) -> rows.StoredBinding:
    with reading(engine) as connection:
        present = set(inspect(connection).get_table_names())
        if not present >= set(METADATA.tables):
            raise LedgerError(f"ledger {file}: not a ledger, or an emptied one; restore it from a copy")
        formats = connection.execute(select(BINDING.c.format)).scalars().all()
        if any(each not in BINDING_FIELDS for each in formats):
            text = (
                f"of format {formats[0]}; this version reads {' and '.join(map(str, BINDING_FIELDS))}: "
                "go on with the version that began it"
            )
            raise LedgerError(
                f"ledger {file}: {text}, or begin another if none of its answers is still known"
            )
        fields = BINDING_FIELDS[min(formats, default=FORMAT)]
        found = connection.execute(select(*(BINDING.c[name] for name in fields))).mappings().all()
    if len(found) != 1:
        raise LedgerError(
            f"ledger {file}: says {len(found)} times what it is bound to; restore it from a copy"
        )
    return rows.stored_binding(found[0])
