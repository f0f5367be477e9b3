"""Who is who: what a ledger keeps of persons, so that a later edition of the data can be laid on this one.

Promise: of each record there are two digests under a salt that is the ledger's own, of its key, and of its
key and value. They tell equal from different; who reads a ledger can find by trial which values they are of,
so it is guarded as the data are. Packing and unpacking give back the same, or `Unreadable`. No I/O.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

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

    def __add__(self, more: Names) -> Names:
        return Names(self.keys + more.keys, self.values + more.values)

    def pack(self) -> bytes:
        """As one text of bytes."""
        return self.keys + self.values

    @classmethod
    def unpack(cls, packed: bytes) -> Names:
        """What `pack` gave."""
        if len(packed) % (2 * WIDTH):
            raise Unreadable("names of records cannot be read")
        half = len(packed) // 2
        return cls(packed[:half], packed[half:])


def _split(digests: bytes) -> list[bytes]:
    return [digests[place : place + WIDTH] for place in range(0, len(digests), WIDTH)]


def named(salt: bytes, keys: Iterable[object], values: NDArray[np.int64]) -> Names:
    """Digests of records by their keys and their values in units of the grid."""
    by_key = [blake2b(str(key).encode(), key=salt, digest_size=WIDTH).digest() for key in keys]
    units = np.ascontiguousarray(values, dtype="<i8").tobytes()
    by_value = [
        blake2b(key + units[8 * place : 8 * place + 8], key=salt, digest_size=WIDTH).digest()
        for place, key in enumerate(by_key)
    ]
    return Names(b"".join(by_key), b"".join(by_value))


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
        head = {"salt": self.salt.hex(), "schema": self.schema, "counts": [each.count for each in self.names]}
        return json.dumps(head).encode() + b"\n" + b"".join(each.pack() for each in self.names)

    @classmethod
    def unpack(cls, packed: bytes) -> Base:
        """What `pack` gave."""
        try:
            text, _, rest = packed.partition(b"\n")
            head = json.loads(text)
            names, start = list[Names](), 0
            for count in head["counts"]:
                names.append(Names.unpack(rest[start : start + 2 * WIDTH * count]))
                start += 2 * WIDTH * count
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

    @property
    def total(self) -> int:
        """Records of all editions up to this one."""
        return self.first + self.names.count


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
            [each.first, each.carried.unchanged, each.carried.new, each.carried.changed, each.carried.left]
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
            for (first, *counts), pairs, (table, column, numbers, names) in told:
                again = np.array(pairs, dtype=np.int64).reshape(-1, 2)
                found, numbered = Names.unpack(names or b""), unpack_numbers(numbers)
                columns.append(Numbered(table, column, numbered, first, found, Carried(*counts), again))
            return cls(said["edition"], said["fingerprint"], sizes, tuple(columns))
        except (ValueError, KeyError, TypeError) as error:
            raise Unreadable("an edition cannot be read") from error


def follow(known: Names, current: Sequence[bool], now: Names, name: tuple[str, str]) -> Numbered:
    """Lay the records of a new edition on those of all before.

    Who has the value that she had in some edition is that record again; everybody else is a new one.

    Args:
        known: Of all records so far.
        current: By record so far, whether the last edition has it.
        now: Of the records of the new edition.
        name: Table and column.
    """
    numbers_of = {digest: place for place, digest in enumerate(known.by_value())}
    last = {digest: place for place, digest in enumerate(known.by_key())}
    again = list[tuple[int, int]]()
    numbers = np.empty(now.count, dtype=np.int64)
    new_keys, new_values = list[bytes](), list[bytes]()
    unchanged = 0
    for place, (key, value) in enumerate(zip(now.by_key(), now.by_value(), strict=True)):
        number = numbers_of.get(value)
        if number is None:
            number = known.count + len(new_keys)
            new_keys.append(key)
            new_values.append(value)
            if key in last:
                again.append((number, last[key]))
        else:
            unchanged += 1
        numbers[place] = number
    were = {key for key, there in zip(known.by_key(), current, strict=True) if there}
    left = len(were.difference(now.by_key()))
    carried = Carried(unchanged, len(new_keys) - len(again), len(again), left)
    names = Names(b"".join(new_keys), b"".join(new_values))
    return Numbered(
        *name, numbers, known.count, names, carried, np.array(again, dtype=np.int64).reshape(-1, 2)
    )


def persons_of(editions: Sequence[Numbered]) -> NDArray[np.int64]:
    """The person of each record, of one protected column, numbered from 0 by their first records."""
    found = np.arange(editions[-1].total)
    for each in editions:
        for number, earlier in each.again.tolist():
            found[number] = found[earlier]
    numbers: NDArray[np.int64] = np.unique(found, return_inverse=True)[1]
    return numbers
