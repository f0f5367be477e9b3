"""The ledger: open, read, append, verify.

Promise: what was opened is the ledger of these data, [[protect]], scope and insiders, whole from its first
entry and not shorter than its anchor. `append` returns once the entry is on disk and anchored, was read back,
and all before it is as it was. Several threads and processes may append at once; one at a time decides.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import TracebackType

from auditor.errors import LedgerError, NewerEdition
from auditor.ledger import rows
from auditor.ledger.anchor import Anchored, read_anchor, write_anchor
from auditor.ledger.chain import BINDING_FIELDS, FORMAT, first_hash
from auditor.ledger.connection import TABLES, Connection
from auditor.ledger.entries import Binding, Entry, KnownAnswer
from auditor.ledger.packing import Unreadable
from auditor.ledger.people import Base, Edition
from auditor.ledger.places import Place, place_of
from auditor.ledger.rows import EDITION, compare, compare_data
from auditor.ledger.schema import require_ours
from auditor.ledger.store import explained

_HASH = "SELECT hash FROM ledger_statement WHERE number = :number"
_WHOLE = (
    "SELECT count(*) AS entries, coalesce(max(number), 0) AS greatest, coalesce(sum(answers), 0) AS answers, "
    "(SELECT count(*) FROM ledger_answer) AS told FROM ledger_statement"
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

    def __init__(self, place: Place, stored: rows.StoredBinding, anchor: Path | None) -> None:
        self._place, self._stored, self._anchor = place, stored, anchor
        self._seen = (0, first_hash(stored.row))  # the furthest entry verified by this object
        self._seen_guard = threading.Lock()
        self._own = set[int]()
        """Entries with answers that this object appended."""
        self._opened = 0
        """The entry that opened the last edition; 0: there is none but what it was begun on."""
        self._editions: tuple[Edition, ...] = ()
        self._looked = 0
        """The entry up to which nobody opened a newer one."""

    @classmethod
    def open(
        cls,
        path_or_url: str | Path,
        binding: Binding,
        anchor: str | Path | None = None,
        people: Callable[[], Base | None] = lambda: None,
        renewing: bool = False,
    ) -> Ledger:
        """The ledger at a place, created where there was none, verified whole.

        Args:
            path_or_url: The place.
            binding: What it is to be bound to.
            anchor: The file that proves it whole.
            people: Who is who in the data, asked for where a ledger is begun.
            renewing: Whether a new edition is to be opened: of a ledger that is there, for whatever data.

        Raises:
            DataChanged: its last edition is of other data.
            LedgerError: missing while its anchor exists, shorter than its anchor, altered, of other columns,
                another [[protect]], scope or insiders, unreadable, or in a folder that cannot be written.
        """
        place = place_of(path_or_url)
        anchor = None if anchor is None else Path(anchor).resolve()
        # The anchor is read first: others may append, and anchor, while the ledger is read.
        anchored = None if anchor is None else read_anchor(anchor)
        try:
            if not place.exists():
                if anchored is not None:
                    text = f"is missing, and its anchor {anchor} says there was one; restore it from a copy"
                    raise LedgerError(f"ledger {place}: {text}")
                if renewing:
                    text = "there is none, so there is nothing to renew; whoever asks first begins one"
                    raise LedgerError(f"ledger {place}: {text}")
                who = people()
                packed = None if who is None else who.pack()
                place.begin(rows.binding_row(binding, uuid.uuid4().hex, datetime.now(UTC), packed))
            place.check()
            with explained(place):
                with place.reading() as connection:
                    stored = _read_binding(place, connection)
                compare(place, stored.binding, binding)
                ledger = cls(place, stored, anchor)
                # what cannot be written is better known now than after the first decision
                with place.writing(durable=True) as connection:
                    place.keep(connection, *ledger._catch_up(connection))
                ledger._read_editions()
                if not renewing:
                    compare_data(place, stored.binding, ledger.edition, binding)
                ledger._check_anchor(anchored)
        except LedgerError:
            place.close()
            raise
        return ledger

    def close(self) -> None:
        """Let go of the place."""
        self._place.close()

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
    def edition(self) -> Edition | None:
        """The last edition of the data when it was opened; None: what it was begun on."""
        return self._editions[-1] if self._editions else None

    @property
    def editions(self) -> tuple[Edition, ...]:
        """All of them after the first, in order."""
        return self._editions

    @property
    def renewed(self) -> bool:
        """Whether somebody has opened a newer edition since."""
        with explained(self._place), self._place.reading() as connection:
            return rows.edition_after(connection, self._opened) is not None

    def people(self) -> Base:
        """Who is who in what it was begun on.

        Raises:
            LedgerError: the ledger does not hold it.
        """
        with explained(self._place), self._place.reading() as connection:
            kept = self._stored.row.get("people")
            packed = None if kept is None else connection.value("SELECT people FROM ledger_binding")
        if packed is None:
            text = (
                "it does not hold who is who: it was begun by an earlier version, or without protect.key, or "
                "with editions = false under [ledger]; begin another if none of its answers is still known"
            )
            raise LedgerError(f"ledger {self._place}: {text}")
        try:
            return Base.unpack(bytes(packed))
        except Unreadable as error:
            raise LedgerError(f"ledger {self._place}: {error}; restore it from a copy") from error

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
            with explained(self._place), self._place.reading() as connection:
                try:
                    for entry in rows.verified(self._place, connection, number, head):
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

    def checks(self, user: str, day: date) -> int:
        """How many checks of a user are on record of a day (UTC), but those refused for being too many."""
        with explained(self._place), self._place.reading() as connection:
            return rows.checks(connection, user, day)

    def append(
        self,
        *,
        user: str,
        sql: str,
        verdict: str,
        code: str,
        parameters: str = "",
        zone: str = "UTC",
        normalised: str = "",
        check: bool = False,
        risk_before: float | None = None,
        risk_after: float | None = None,
        surprises: int = 0,
        answers: Sequence[KnownAnswer] = (),
        expected_length: int | None = None,
        because: str = "",
        by: str = "",
    ) -> Entry:
        """Add an entry at the present end, also where others appended meanwhile; on disk when it returns.

        Args:
            expected_length: The length up to which the caller knows the answers. Answers that others than
                this object recorded since then raise `LedgerMoved`; other entries do not matter.

        Raises:
            LedgerMoved: see `expected_length`; nothing was recorded.
            LedgerError: it could not be recorded or anchored; nothing may be released.
        """
        entry = Entry(0, datetime.now(UTC), user, sql, parameters, normalised, verdict, code, check,
                      risk_before, risk_after, surprises, tuple(answers), "", zone=zone,
                      because=because, by=by)  # fmt: skip
        # An entry that teaches nothing may be lost in a power cut, unless the anchor counts it.
        durable = bool(answers) or self._anchor is not None
        place = self._place
        with explained(place), self._owned() as own, place.writing(durable) as connection:
            number, head = self._catch_up(connection)
            self._require_last_edition(connection, number)
            if expected_length is not None and rows.answers_after(connection, expected_length) - self._own:
                raise LedgerMoved(
                    f"ledger {self._place}: another answer was recorded meanwhile; decide again"
                )
            entry = self._insert(connection, replace(entry, number=number + 1), head)
            if answers:
                own.add(entry.number)
        self._commit(entry)
        return entry

    @contextmanager
    def _owned(self) -> Iterator[set[int]]:
        """Entries that are appended, for those that are on disk in the end."""
        own = set[int]()
        yield own
        self._own |= own

    def renew(self, edition: Edition) -> Entry:
        """Open an edition: all of it is on disk when this returns, or nothing is.

        Raises:
            NewerEdition: somebody else opened one meanwhile.
            LedgerError: it could not be recorded or anchored.
        """
        said = f"edition {edition.number}"
        entry = Entry(0, datetime.now(UTC), "owner", said, "", edition.text, EDITION, EDITION, False,
                      None, None, 0, (), "", edition)  # fmt: skip
        with explained(self._place), self._place.writing(True) as connection:
            number, head = self._catch_up(connection)
            self._require_last_edition(connection, number)
            entry = self._insert(connection, replace(entry, number=number + 1), head)
        self._commit(entry)
        self._opened, self._looked, self._editions = entry.number, entry.number, (*self._editions, edition)
        return entry

    def _insert(self, connection: Connection, entry: Entry, before: bytes) -> Entry:
        entry = rows.insert(connection, entry, before)
        self._check_written(connection, entry, before)
        self._place.keep(connection, entry.number, bytes.fromhex(entry.hash))
        return entry

    def _commit(self, entry: Entry) -> None:
        """What is on disk is remembered, and anchored."""
        self._remember(entry.number, bytes.fromhex(entry.hash))
        if self._anchor is not None:
            write_anchor(self._anchor, Anchored(self.id, entry.number, entry.hash))

    def _require_last_edition(self, connection: Connection, last: int) -> None:
        """Turn away whoever holds the data of an edition that is the past; `last` is the last entry."""
        if rows.edition_after(connection, self._looked) is not None:
            raise NewerEdition(
                f"ledger {self._place}: a newer edition of the data was opened; nothing was released: open "
                "the gate again with those data"
            )
        self._looked = max(self._looked, last)

    def _read_editions(self) -> None:
        with explained(self._place), self._place.reading() as connection:
            found = rows.editions(self._place, connection)
        self._opened = self._looked = max((number for number, _ in found), default=0)
        self._editions = tuple(edition for _, edition in found)

    @contextmanager
    def deciding(self, timeout: float = 60.0) -> Iterator[None]:
        """One decider at a time, across threads and processes.

        Raises:
            LedgerError: others kept deciding for `timeout` seconds.
        """
        with self._place.deciding(timeout):
            yield

    def verify(self) -> LedgerReport:
        """Go through the whole chain, and report rather than raise."""
        count = answers = 0
        head, problems = self._hash_of(0).hex(), list[str]()
        try:
            for entry in self.entries():
                count, answers, head = entry.number, answers + len(entry.answers), entry.hash
            with explained(self._place), self._place.reading() as connection:
                self._check_whole(connection)
        except LedgerError as error:
            problems.append(str(error))
        return LedgerReport(count, answers, head, tuple(problems))

    def _last(self) -> tuple[int, bytes]:
        with explained(self._place), self._place.reading() as connection:
            return rows.last(connection) or (0, self._hash_of(0))

    def _hash_of(self, number: int) -> bytes:
        if number == 0:
            return first_hash(self._stored.row)
        with explained(self._place), self._place.reading() as connection:
            found = connection.value(_HASH, number=number)
        if found is None:
            raise LedgerError(
                f"ledger {self._place}: entry {number} is missing; restore the ledger from a copy"
            )
        return bytes(found)

    def _remember(self, number: int, head: bytes) -> None:
        """Hold the chain to what this object has seen of it."""
        with self._seen_guard:
            seen, seen_head = self._seen
            if number == seen and head != seen_head:
                raise LedgerError(
                    f"ledger {self._place}: entry {number} was replaced while the ledger was open"
                )
            if number > seen:
                self._seen = (number, head)

    def _catch_up(self, connection: Connection) -> tuple[int, bytes]:
        """Verify what may have changed since this object last wrote: all, or what came after; the end."""
        with self._seen_guard:
            seen = self._seen
        last = rows.last(connection)
        if (0 if last is None else last[0]) < seen[0]:
            raise LedgerError(
                f"ledger {self._place}: became shorter while it was open; restore it from a copy"
            )
        kept = self._place.kept(connection)
        number, head = kept or (0, first_hash(self._stored.row))
        while last is not None and number < last[0]:
            for row, _ in rows.linked(self._place, connection, number, head):
                number, head = row["number"], bytes(row["hash"])
                self._remember(number, head)
        if kept is None:
            self._check_whole(connection)
        return number, head

    def _check_written(self, connection: Connection, entry: Entry, before: bytes) -> None:
        """Read back what was written, in the same transaction: what a server or file makes of it counts."""
        found = list(rows.linked(self._place, connection, entry.number - 1, before))
        if [bytes(row["hash"]).hex() for row, _ in found] != [entry.hash]:
            text = f"entry {entry.number} is not what was written; find out who could write to it"
            raise LedgerError(f"ledger {self._place}: {text}, and restore it from a copy")
        if connection.on_server:
            self._require_ours(connection)  # nobody can change the tables now: a row of them is being written

    def _check_whole(self, connection: Connection) -> None:
        """What the chain does not reach does not belong: other rows, another binding, other tables."""
        if _read_binding(self._place, connection).row != self._stored.row:
            text = "what it is bound to was changed while it was open; restore it from a copy"
            raise LedgerError(f"ledger {self._place}: {text}")
        [found] = connection.rows(_WHOLE)
        if found["entries"] != found["greatest"] or found["told"] != found["answers"]:
            raise LedgerError(
                f"ledger {self._place}: it has rows that its chain does not; restore it from a copy"
            )
        self._require_ours(connection)

    def _require_ours(self, connection: Connection) -> None:
        version = self._stored.row["format"]
        assert isinstance(version, int)
        require_ours(self._place, connection, version)

    def _check_anchor(self, anchored: Anchored | None) -> None:
        if self._anchor is None:
            return
        number, head = self._seen
        if anchored is not None:
            if anchored.id != self.id:
                text = f"is not the ledger of anchor {self._anchor}; restore the one it names"
                raise LedgerError(f"ledger {self._place}: {text}")
            if anchored.length > number:
                text = f"has {number} entries where its anchor says {anchored.length}; restore it from a copy"
                raise LedgerError(f"ledger {self._place}: {text}")
            if self._hash_of(anchored.length).hex() != anchored.head:
                text = f"entry {anchored.length} differs from what its anchor says; restore it from a copy"
                raise LedgerError(f"ledger {self._place}: {text}")
        # Entries written without an anchor may not be synced; the anchor must not be ahead of the disk.
        self._place.settle()
        write_anchor(self._anchor, Anchored(self.id, number, head.hex()))


def _listed(formats: Iterable[int]) -> str:
    *others, last = map(str, formats)
    return f"{', '.join(others)} and {last}"


def _read_binding(place: Place, connection: Connection) -> rows.StoredBinding:
    if not connection.tables() >= TABLES.keys():
        raise LedgerError(f"ledger {place}: not a ledger, or an emptied one; restore it from a copy")
    formats = [row["format"] for row in connection.rows("SELECT format FROM ledger_binding")]
    if any(each not in BINDING_FIELDS for each in formats):
        text = (
            f"of format {formats[0]}; this version reads {_listed(BINDING_FIELDS)}: "
            "go on with the version that began it"
        )
        raise LedgerError(f"ledger {place}: {text}, or begin another if none of its answers is still known")
    fields = BINDING_FIELDS[min(formats, default=FORMAT)]
    found = connection.rows(f"SELECT {', '.join(fields)} FROM ledger_binding")
    if len(found) != 1:
        raise LedgerError(
            f"ledger {place}: says {len(found)} times what it is bound to; restore it from a copy"
        )
    try:
        return rows.stored_binding(found[0])
    except (ValueError, TypeError, RecursionError) as error:
        text = "what it is bound to cannot be read; restore it from a copy"
        raise LedgerError(f"ledger {place}: {text}") from error
