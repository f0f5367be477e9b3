"""Rows of the ledger's tables to values and back, verified on the way.

Promise: an entry that comes out of here follows, by its hash, the one it was asked to follow.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any

from auditor.errors import DataChanged, LedgerError
from auditor.ledger.chain import BINDING_FIELDS, FORMAT, digested, next_hash
from auditor.ledger.connection import ANSWER, STATEMENT, Connection, Row
from auditor.ledger.entries import KINDS, Binding, Entry, KnownAnswer
from auditor.ledger.packing import (
    Unreadable,
    pack_records,
    pack_signs,
    pack_value,
    unpack_records,
    unpack_signs,
    unpack_value,
)
from auditor.ledger.people import Edition, pack_numbers

OF = " of "
"""Between the kind of an answer and what else it takes to say which, in the same column."""
EDITION = "edition"
"""Verdict and code of an entry that opens an edition of the data, and the kind of its parts."""
_ZONE, _REASON = "TIME ZONE ", "BECAUSE "
BATCH = 256
"""Entries read in one snapshot."""

_LAST = "SELECT number, hash FROM ledger_statement ORDER BY number DESC LIMIT 1"
_EDITIONS = f"SELECT max(number) FROM ledger_statement WHERE verdict = '{EDITION}' AND number > :after"
_OPENINGS = f"SELECT number, normalised FROM ledger_statement WHERE verdict = '{EDITION}' ORDER BY number"
_ANSWERED = "SELECT number FROM ledger_statement WHERE number > :number AND answers > 0"
_CHECKS = (
    "SELECT count(*) FROM ledger_statement WHERE is_check = 1 AND user_name = :user AND code <> 'checks' "
    "AND time >= :first AND time < :next"
)
_NEXT = f"SELECT {STATEMENT.names} FROM ledger_statement WHERE number > :after ORDER BY number LIMIT {BATCH}"
_TOLD = (
    f"SELECT {ANSWER.names} FROM ledger_answer WHERE statement > :after AND statement <= :until "
    "ORDER BY statement, position"
)


@dataclass(frozen=True)
class StoredBinding:
    """The binding as found in a ledger."""

    id: str
    """Which ledger."""
    binding: Binding
    """What it is bound to."""
    row: Mapping[str, object]
    """The row itself, which the first entry's hash follows."""


def binding_row(
    binding: Binding, identity: str, created: datetime, people: bytes | None = None
) -> dict[str, object]:
    """The row of a new ledger, with who is who in its data."""
    return {
        "id": identity,
        "format": FORMAT,
        "protect_digest": binding.protect_digest,
        "fingerprint": binding.fingerprint,
        "sizes": json.dumps(binding.sizes, separators=(",", ":")),
        "scope": binding.scope,
        "protect": binding.protect,
        "created": created.isoformat(),
        "insiders": binding.insiders,
        "people": people,
    }


def stored_binding(row: Row) -> StoredBinding:
    """The binding in a row of any format that is read."""
    created = datetime.fromisoformat(row["created"])
    sizes = tuple((table, column, size) for table, column, size in json.loads(row["sizes"]))
    binding = Binding(
        row["protect_digest"],
        row["fingerprint"],
        sizes,
        row["scope"],
        row["protect"],
        created,
        row.get("insiders", 0),
    )
    fields = {name: digested(_plain(row[name])) for name in BINDING_FIELDS[row["format"]]}
    return StoredBinding(row["id"], binding, fields)


def _plain(value: object) -> object:
    return bytes(value) if isinstance(value, bytearray | memoryview) else value


def compare(place: object, stored: Binding, given: Binding) -> None:
    """Hold a ledger to the [[protect]], the scope and the insiders it was begun with.

    More insiders than it was begun with are allowed: what is new is then judged more strictly.

    Raises:
        LedgerError: other columns, another [[protect]], another scope or fewer insiders.
    """
    was, now = ([f"{table}.{column}" for table, column, _ in each.sizes] for each in (stored, given))
    if was != now:
        text = f"it was begun for {', '.join(was)}, the policy protects {', '.join(now)}"
        raise LedgerError(f"ledger {place}: {text}; give each its own ledger")
    if stored.scope != given.scope:
        text = (
            f'it was begun with scope = "{stored.scope}", the policy says "{given.scope}": what was told '
            "would count otherwise; put it back, or begin another ledger if none of its answers is known"
        )
        raise LedgerError(f"ledger {place}: {text}")
    if given.insiders < stored.insiders:
        text = (
            f"it was begun with insiders = {stored.insiders}, the policy says {given.insiders}: what was "
            f"answered was judged with {stored.insiders}; set insiders = {stored.insiders} under [intruder], "
            "or begin another ledger if none of its answers is known"
        )
        raise LedgerError(f"ledger {place}: {text}")
    if stored.protect_digest != given.protect_digest:
        text = (
            f"[protect] has changed since it was begun{_difference(stored.protect, given.protect)}; "
            "put it back, or begin another ledger if none of its answers is still known"
        )
        raise LedgerError(f"ledger {place}: {text}")


def compare_data(place: object, stored: Binding, edition: Edition | None, given: Binding) -> None:
    """Hold a ledger to the data it was begun on, or to those of its last edition.

    Raises:
        DataChanged: other data.
    """
    last = stored if edition is None else edition
    if (last.fingerprint, last.sizes) == (given.fingerprint, given.sizes):
        return
    if edition is not None and stored.fingerprint == given.fingerprint:
        text = f"these are the data that it was begun on, and it is at edition {edition.number} by now"
        raise DataChanged(f"ledger {place}: {text}; open it with those")
    if given.cells:  # sizes are those of units, which nobody has heard of, and cells have no editions
        raise DataChanged(
            f"ledger {place}: it was begun on other cells, or on records; its answers are about those. Of "
            "cells there are no editions: a new state of them needs a ledger of its own"
        )
    raise DataChanged(
        f"ledger {place}: {_grown(last, given)}; its answers are about the old data. If this is a new state "
        "of the same table, cae-sql renew DATABASE -p POLICY opens a new edition"
    )


def _grown(stored: Binding | Edition, given: Binding) -> str:
    changed = [
        (table, column, was, now)
        for (table, column, was), (_, _, now) in zip(stored.sizes, given.sizes, strict=True)
        if was != now
    ]
    tables = sorted({table for table, *_ in changed or given.sizes})
    sizes = ", ".join(f"{column}: {was} records then, {now} now" for _, column, was, now in changed)
    text = f"table {tables[0]!r} has" if len(tables) == 1 else f"tables {', '.join(tables)} have"
    when = "since it was begun" if isinstance(stored, Binding) else f"since edition {stored.number}"
    return f"{text} changed {when}{f' ({sizes})' if sizes else ''}"


def _difference(was: str, now: str) -> str:
    """What differs between two `Policy.protect_canonical` of the same columns."""
    if not was or not now:
        return ""
    said = []
    for old, new in zip(json.loads(was), json.loads(now), strict=True):
        keys = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
        said += [f"{key} of {new['column']} was {old.get(key)}, is {new.get(key)}" for key in keys]
    return " (" + ", ".join(said) + ")"


def last(connection: Connection) -> tuple[int, bytes] | None:
    """Number and hash of the last entry, or None where there is none."""
    found = connection.rows(_LAST)
    return (found[0]["number"], bytes(found[0]["hash"])) if found else None


def answers_after(connection: Connection, number: int) -> set[int]:
    """The entries above `number` that have answers."""
    return {row["number"] for row in connection.rows(_ANSWERED, number=number)}


def checks(connection: Connection, user: str, day: date) -> int:
    """How many checks of a user are on record of a day, but those refused for being too many."""
    first, after = day.isoformat(), (day + timedelta(days=1)).isoformat()
    return int(connection.value(_CHECKS, user=user, first=first, next=after))


def edition_after(connection: Connection, number: int) -> int | None:
    """The last entry above `number` that opens an edition, or None where there is none."""
    found = connection.value(_EDITIONS, after=number)
    return None if found is None else int(found)


def editions(place: object, connection: Connection) -> list[tuple[int, Edition]]:
    """Entries that open an edition, with it, in order; their rows are verified with all others.

    Raises:
        LedgerError: one cannot be read.
    """
    found = []
    for row in connection.rows(_OPENINGS):
        number = int(row["number"])
        parts = _answers(connection, number - 1, number).get(number, [])
        try:
            found.append((number, _edition(row, parts)))
        except Unreadable as error:
            raise LedgerError(f"ledger {place}: entry {number} cannot be read: {error}") from error
    return found


def insert(connection: Connection, entry: Entry, before: bytes) -> Entry:
    """Write an entry that follows the one whose hash is `before`; the entry with its own hash."""
    row = _entry_row(entry)
    if entry.edition is None:
        answers = [_answer_row(entry.number, place, answer) for place, answer in enumerate(entry.answers)]
    else:
        answers = _edition_rows(entry.number, entry.edition)
    digest = next_hash(before, row, answers)
    connection.run(STATEMENT.insert, {**row, "hash": digest})
    if answers:
        connection.run(ANSWER.insert, *answers)
    return replace(entry, hash=digest.hex())


def verified(place: object, connection: Connection, after: int, head: bytes) -> Iterator[Entry]:
    """At most `BATCH` entries above `after`, whose hash is `head`, each following the one before.

    Raises:
        LedgerError: an entry is missing, out of place or altered.
    """
    for row, answers in linked(place, connection, after, head):
        try:
            yield _entry(row, answers)
        except Unreadable as error:
            raise LedgerError(f"ledger {place}: entry {row['number']} cannot be read: {error}") from error


def linked(place: object, connection: Connection, after: int, head: bytes) -> Iterator[tuple[Row, list[Row]]]:
    """As `verified`, the rows as they are."""
    statements = connection.rows(_NEXT, after=after)
    if not statements:
        return
    told = _answers(connection, after, statements[-1]["number"])
    for row in statements:
        after += 1
        if row["number"] != after:
            raise LedgerError(f"ledger {place}: entry {after} is missing; restore the ledger from a copy")
        answers = told.pop(after, [])
        if row["answers"] != len(answers) or next_hash(head, row, answers) != bytes(row["hash"]):
            raise LedgerError(
                f"ledger {place}: entry {after} was altered, or one before it; restore it from a copy"
            )
        head = bytes(row["hash"])
        yield row, answers
    if told:
        raise LedgerError(f"ledger {place}: it has answers without a statement; restore it from a copy")


def _answers(connection: Connection, after: int, until: int) -> dict[int, list[Row]]:
    told: dict[int, list[Row]] = {}
    for row in connection.rows(_TOLD, after=after, until=until):
        told.setdefault(row["statement"], []).append(row)
    return told


def _entry_row(entry: Entry) -> dict[str, object]:
    for name, risk in (("risk_before", entry.risk_before), ("risk_after", entry.risk_after)):
        if risk is not None and not math.isfinite(risk):
            raise LedgerError(f"{name} = {risk} cannot be recorded: not a finite number")
    return {
        "number": entry.number,
        "time": entry.time.isoformat(timespec="microseconds"),
        "user_name": entry.user,
        "sql": entry.sql,
        "parameters": _with_zone(_with_reason(entry), entry.zone),
        "normalised": entry.normalised,
        "verdict": entry.verdict,
        "code": entry.code,
        "is_check": int(entry.check),
        "risk_before": None if entry.risk_before is None else float(entry.risk_before),
        "risk_after": None if entry.risk_after is None else float(entry.risk_after),
        "leak": entry.surprises,
        "answers": len(entry.answers) if entry.edition is None else len(entry.edition.columns),
    }


def _answer_row(statement: int, position: int, answer: KnownAnswer) -> dict[str, Any]:
    if answer.signs is not None and len(answer.signs) != len(answer.records):
        raise ValueError("an answer needs one sign per record")
    return {
        "statement": statement,
        "position": position,
        "table_name": answer.table,
        "column_name": answer.column,
        "kind": f"{answer.kind}{OF}{answer.detail}" if answer.detail else answer.kind,
        "records": pack_records(answer.records),
        "signs": pack_signs(answer.signs),
        "value": pack_value(answer.value, answer.most),
    }


def _edition_rows(statement: int, edition: Edition) -> list[dict[str, Any]]:
    """By protected column, which records its rows are, and who the new ones are."""
    return [
        {
            "statement": statement,
            "position": position,
            "table_name": each.table,
            "column_name": each.column,
            "kind": EDITION,
            "records": pack_numbers(each.numbers),
            "signs": each.pack(),
            "value": pack_value(Fraction(each.total)),
        }
        for position, each in enumerate(edition.columns)
    ]


def _edition(row: Row, parts: Sequence[Row]) -> Edition:
    return Edition.read(
        row["normalised"],
        [
            (each["table_name"], each["column_name"], bytes(each["records"]), bytes(each["signs"] or b""))
            for each in parts
        ],
    )


def _entry(row: Row, answers: Sequence[Row]) -> Entry:
    opens = row["verdict"] == EDITION
    known = () if opens else tuple(map(_known, answers))
    written, zone = _apart(row["parameters"])
    parameters, because, by = _reason(written)
    return Entry(
        number=row["number"],
        time=datetime.fromisoformat(row["time"]).astimezone(UTC),
        user=row["user_name"],
        sql=row["sql"],
        parameters=parameters,
        normalised=row["normalised"],
        verdict=row["verdict"],
        code=row["code"],
        check=bool(row["is_check"]),
        risk_before=row["risk_before"],
        risk_after=row["risk_after"],
        surprises=max(int(row["leak"]), sum(answer.kind == "leak" for answer in known)),
        answers=known,
        hash=bytes(row["hash"]).hex(),
        edition=_edition(row, answers) if opens else None,
        zone=zone,
        because=because,
        by=by,
    )


def _with_zone(parameters: str, zone: str) -> str:
    """Parameters and time zone in one column, so that ledgers of every format hold them.

    No parameters begin so: they are JSON of a list or a mapping, or a remark in parentheses.
    """
    return parameters if zone == "UTC" else f"{_ZONE}{zone}\n{parameters}"


def _with_reason(entry: Entry) -> str:
    """Parameters and a reason, in the same column, which begins as no parameters do."""
    if not (entry.because or entry.by):
        return entry.parameters
    reason = json.dumps([entry.because, entry.by], ensure_ascii=False)
    return f"{_REASON}{reason}\n{entry.parameters}"


def _reason(written: str) -> tuple[str, str, str]:
    """Parameters, a reason, and whose it is."""
    if not written.startswith(_REASON):
        return written, "", ""
    reason, _, parameters = written.removeprefix(_REASON).partition("\n")
    try:
        because, by = map(str, json.loads(reason))
    except ValueError as error:
        raise Unreadable("its reason cannot be read") from error
    return parameters, because, by


def _apart(written: str) -> tuple[str, str]:
    if not written.startswith(_ZONE):
        return written, "UTC"
    zone, _, parameters = written.removeprefix(_ZONE).partition("\n")
    return parameters, zone


def _known(answer: Row) -> KnownAnswer:
    value, most = unpack_value(answer["value"])
    name, _, detail = answer["kind"].partition(OF)
    kind = KINDS.get(name)
    if kind is None:
        raise Unreadable(f"an answer of kind {answer['kind']!r} is of a later version")
    records, signs = unpack_records(answer["records"]), unpack_signs(answer["signs"])
    return KnownAnswer(kind, records, signs, value, answer["table_name"], answer["column_name"], most, detail)
