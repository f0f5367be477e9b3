"""Who is who: what a ledger keeps of persons, so that a later edition of the data can be laid on this one.

Promise: of each record there are two digests under a salt that is the ledger's own, of its key, and of its
key and value, and where the policy names a unit a third one, of that. They tell equal from different; who
reads a ledger can find by trial which values they are of, so it is guarded as the data are. Packing and
unpacking give back the same, or `Unreadable`. No I/O.

A person keeps her unit: a record that was in one unit, and is in another now, makes the two one.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from auditor.ledger.packing import Unreadable

WIDTH = 16
"""Bytes of a digest: two of 2^32 persons share one with a chance of 2^-65."""


@dataclass(frozen=True)
class Names:
    """Digests of the records of one protected column, by record."""

    keys: bytes = b""
    """Of keys, `WIDTH` bytes each."""
    values: bytes = b""
    """Of keys with values."""
    units: bytes = b""
    """Of the units that they first belonged to; empty where the policy names none."""

    @property
    def count(self) -> int:
        """Records."""
        return len(self.keys) // WIDTH

    def by_key(self) -> list[bytes]:
        """One digest of a key for each record."""
        return _split(self.keys)

    def by_value(self) -> list[bytes]:
        """One digest of key and value for each record."""
        return _split(self.values)

    def by_unit(self) -> list[bytes]:
        """One digest of a unit for each record; none where the policy names no unit."""
        return _split(self.units)

    def __add__(self, more: Names) -> Names:
        return Names(self.keys + more.keys, self.values + more.values, self.units + more.units)

    def pack(self) -> bytes:
        """As one text of bytes."""
        return self.keys + self.values + self.units

    @classmethod
    def unpack(cls, packed: bytes, count: int) -> Names:
        """What `pack` gave, of so many records."""
        size = WIDTH * count
        if len(packed) not in (2 * size, 3 * size):
            raise Unreadable("names of records cannot be read")
        return cls(packed[:size], packed[size : 2 * size], packed[2 * size :])


def _split(digests: bytes) -> list[bytes]:
    return [digests[place : place + WIDTH] for place in range(0, len(digests), WIDTH)]


def named(
    salt: bytes,
    keys: Iterable[object],
    values: NDArray[np.int64],
    units: Iterable[object] | None = None,
) -> Names:
    """Digests of records by their keys, their values in units of the grid, and the units they belong to.

    A record whose unit has no name (None) is a unit of its own, known again by the record's key.
    """
    by_key = [blake2b(str(key).encode(), key=salt, digest_size=WIDTH).digest() for key in keys]
    numbers = np.ascontiguousarray(values, dtype="<i8").tobytes()
    by_value = [
        blake2b(key + numbers[8 * place : 8 * place + 8], key=salt, digest_size=WIDTH).digest()
        for place, key in enumerate(by_key)
    ]
    by_unit = [] if units is None else [_unit(salt, *each) for each in zip(by_key, units, strict=True)]
    return Names(b"".join(by_key), b"".join(by_value), b"".join(by_unit))


def _unit(salt: bytes, key: bytes, name: object) -> bytes:
    text = b"without a name " + key if name is None else b"named " + str(name).encode()
    return blake2b(text, key=salt, digest_size=WIDTH, person=b"unit").digest()


@dataclass(frozen=True)
class Base:
    """Who is who in the data that a ledger was begun on."""

    salt: bytes
    """Of all its digests."""
    schema: str
    """Names and types of all that can be read, and of keys: editions have the same."""
    names: tuple[Names, ...]
    """By protected column, in the order of the binding's sizes."""

    def pack(self) -> bytes:
        """As one text of bytes."""
        head = {"salt": self.salt.hex(), "schema": self.schema, "counts": [each.count for each in self.names],
                "units": [bool(each.units) for each in self.names]}  # fmt: skip
        return json.dumps(head).encode() + b"\n" + b"".join(each.pack() for each in self.names)

    @classmethod
    def unpack(cls, packed: bytes) -> Base:
        """What `pack` gave."""
        try:
            text, _, rest = packed.partition(b"\n")
            head = json.loads(text)
            names, start = list[Names](), 0
            # ledgers of before units were known say nothing of them
            for count, units in zip(head["counts"], head.get("units") or repeat(False), strict=False):
                end = start + (3 if units else 2) * WIDTH * count
                names.append(Names.unpack(rest[start:end], count))
                start = end
            return cls(bytes.fromhex(head["salt"]), head["schema"], tuple(names))
        except (ValueError, KeyError, TypeError) as error:
            raise Unreadable("who is who cannot be read") from error


def pack_numbers(numbers: NDArray[np.int64]) -> bytes:
    """Record numbers in any order."""
    return zlib.compress(np.ascontiguousarray(numbers, dtype="<u4").tobytes(), 1)


def unpack_numbers(packed: bytes) -> NDArray[np.int64]:
    """What `pack_numbers` was given."""
    try:
        return np.frombuffer(zlib.decompress(packed), dtype="<u4").astype(np.int64)
    except (ValueError, zlib.error) as error:
        raise Unreadable("record numbers cannot be read") from error


@dataclass(frozen=True)
class Carried:
    """How the records of one protected column follow from the edition before. Counts alone."""

    unchanged: int
    """Persons with the value that they had before, in whatever edition: all that is known stays."""
    new: int
    """Persons of whom nothing is known."""
    changed: int
    """Persons with another value: a record of its own, of which nothing is known."""
    left: int
    """Persons of the edition before who are not in this one; what is known of them stays."""
    joined: int = 0
    """How many units there are fewer, since records of one are another's now: a new name is none."""


@dataclass(frozen=True, eq=False)
class Numbered:
    """Which records of the answered system the rows of an edition are, for one protected column."""

    table: str
    """The table, as `Protect.name` has it."""
    column: str
    """The protected column."""
    numbers: NDArray[np.int64]
    """By record of the edition, its number in the system of all editions."""
    first: int
    """How many records all editions before have."""
    names: Names
    """Of the records from `first` on."""
    carried: Carried
    """Counts."""
    again: NDArray[np.int64]
    """(k, 2) new records of persons who had one before, with that one."""
    joined: bytes = b""
    """Digests of units that are one from now on, in pairs."""

    @property
    def total(self) -> int:
        """Records of all editions up to this one."""
        return self.first + self.names.count

    def pack(self) -> bytes:
        """Names of the new records, and of units that are one from now on, as one text of bytes."""
        return self.names.pack() + self.joined


@dataclass(frozen=True, eq=False)
class Edition:
    """A state of the data under a ledger that had others."""

    number: int
    """From 2: the first is what the ledger was begun on."""
    fingerprint: str
    """As `Binding.fingerprint`."""
    sizes: tuple[tuple[str, str, int], ...]
    """As `Binding.sizes`: records of this edition alone."""
    columns: tuple[Numbered, ...]
    """By protected column, in that order."""

    @property
    def text(self) -> str:
        """What the entry says besides: canonical JSON."""
        counts = [
            [
                each.first,
                each.carried.unchanged,
                each.carried.new,
                each.carried.changed,
                each.carried.left,
                *filter(None, [each.carried.joined]),
            ]
            for each in self.columns
        ]
        again = [each.again.tolist() for each in self.columns]
        said = {"edition": self.number, "fingerprint": self.fingerprint, "sizes": self.sizes,
                "counts": counts, "again": again}  # fmt: skip
        return json.dumps(said, separators=(",", ":"))

    @classmethod
    def read(cls, text: str, parts: Sequence[tuple[str, str, bytes, bytes | None]]) -> Edition:
        """From what an entry says, and by protected column: table, column, packed numbers, packed names.

        Raises:
            Unreadable: it is not what was written.
        """
        try:
            said = json.loads(text)
            sizes = tuple((table, column, size) for table, column, size in said["sizes"])
            columns = []
            told = zip(said["counts"], said["again"], parts, strict=True)
            for (first, unchanged, new, changed, left, *fewer), pairs, (table, column, packed, names) in told:
                again = np.array(pairs, dtype=np.int64).reshape(-1, 2)
                found, joined = _apart(names or b"", new + changed)
                carried = Carried(unchanged, new, changed, left, sum(fewer))
                numbers = unpack_numbers(packed)
                columns.append(Numbered(table, column, numbers, first, found, carried, again, joined))
            return cls(said["edition"], said["fingerprint"], sizes, tuple(columns))
        except (ValueError, KeyError, TypeError) as error:
            raise Unreadable("an edition cannot be read") from error


def _apart(packed: bytes, count: int) -> tuple[Names, bytes]:
    """What `Numbered.pack` gave, of so many new records."""
    size = 2 * WIDTH * count
    if len(packed) > size:
        size = 3 * WIDTH * count
    if (len(packed) - size) % (2 * WIDTH):
        raise Unreadable("names of units cannot be read")
    return Names.unpack(packed[:size], count), packed[size:]


class Joined:
    """Names of units, and which of them are one unit's: those that a record had one after the other."""

    def __init__(self, editions: Iterable[Numbered] = ()) -> None:
        """Those that were joined in these editions."""
        self._up = dict[bytes, bytes]()
        for each in editions:
            pairs = _split(each.joined)
            for one, other in zip(pairs[::2], pairs[1::2], strict=True):
                self.join(one, other)

    def of(self, name: bytes) -> bytes:
        """The name that stands for its unit."""
        while (up := self._up.get(name)) is not None:
            self._up[name] = self._up.get(up, up)
            name = up
        return name

    def join(self, one: bytes, other: bytes) -> bool:
        """Two names are one unit's; whether that is new."""
        one, other = self.of(one), self.of(other)
        if one != other:
            self._up[other] = one
        return one != other


def follow(
    known: Names,
    current: Sequence[bool],
    now: Names,
    name: tuple[str, str],
    editions: Sequence[Numbered] = (),
) -> Numbered:
    """Lay the records of a new edition on those of all before.

    Who has the value that she had in some edition is that record again; everybody else is a new one.

    Args:
        known: Of all records so far.
        current: By record so far, whether the last edition has it.
        now: Of the records of the new edition.
        name: Table and column.
        editions: Those before, after the first.
    """
    numbers_of = {digest: place for place, digest in enumerate(known.by_value())}
    last = {digest: place for place, digest in enumerate(known.by_key())}
    again = list[tuple[int, int]]()
    numbers = np.empty(now.count, dtype=np.int64)
    new_keys, new_values, new_units = list[bytes](), list[bytes](), list[bytes]()
    were_in, are_in, same, joined = known.by_unit(), now.by_unit(), Joined(editions), list[bytes]()
    unchanged, had = 0, {same.of(unit) for unit in were_in}
    for place, (key, value) in enumerate(zip(now.by_key(), now.by_value(), strict=True)):
        number = numbers_of.get(value)
        if number is None:
            number = known.count + len(new_keys)
            new_keys.append(key)
            new_values.append(value)
            new_units += are_in[place : place + 1]
            if key in last:
                again.append((number, last[key]))
        else:
            unchanged += 1
        if are_in and key in last and same.join(were_in[last[key]], are_in[place]):
            joined += [were_in[last[key]], are_in[place]]
        numbers[place] = number
    were = {key for key, there in zip(known.by_key(), current, strict=True) if there}
    left = len(were.difference(now.by_key()))
    fewer = len(had) - len({same.of(unit) for unit in had})
    carried = Carried(unchanged, len(new_keys) - len(again), len(again), left, fewer)
    names = Names(b"".join(new_keys), b"".join(new_values), b"".join(new_units))
    pairs = np.array(again, dtype=np.int64).reshape(-1, 2)
    return Numbered(*name, numbers, known.count, names, carried, pairs, b"".join(joined))


def persons_of(editions: Sequence[Numbered]) -> NDArray[np.int64]:
    """The person of each record, of one protected column, numbered from 0 by their first records."""
    found = np.arange(editions[-1].total)
    for each in editions:
        for number, earlier in each.again.tolist():
            found[number] = found[earlier]
    numbers: NDArray[np.int64] = np.unique(found, return_inverse=True)[1]
    return numbers


def units_of(first: Names, editions: Sequence[Numbered]) -> NDArray[np.int64]:
    """The unit of each record, of one protected column, numbered from 0 by their first records.

    Args:
        first: Of the records that the ledger was begun on.
        editions: Those after.
    """
    same, numbers = Joined(editions), dict[bytes, int]()
    names = [name for each in (first, *(edition.names for edition in editions)) for name in each.by_unit()]
    return np.array([numbers.setdefault(same.of(name), len(numbers)) for name in names], dtype=np.int64)
