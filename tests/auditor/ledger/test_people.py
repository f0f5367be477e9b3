"""Who is who: records of a new edition are laid on those before by digests of key and value alone."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.ledger.packing import Unreadable
from auditor.ledger.people import (
    WIDTH,
    Base,
    Carried,
    Edition,
    Names,
    Numbered,
    follow,
    named,
    pack_numbers,
    persons_of,
    units_of,
    unpack_numbers,
)

SALT = bytes(range(32))
TABLES = st.lists(st.dictionaries(st.integers(0, 8), st.integers(0, 3), min_size=1), min_size=2, max_size=5)


def names(table: Mapping[int, int]) -> Names:
    return named(SALT, list(table), np.array(list(table.values()), dtype=np.int64))


def laid(tables: list[dict[int, int]]) -> tuple[Names, list[Numbered]]:
    known, found = names(tables[0]), list[Numbered]()
    current = [True] * known.count
    for table in tables[1:]:
        found.append(follow(known, current, names(table), ("staff", "salary")))
        known += found[-1].names
        current = [number in found[-1].numbers for number in range(known.count)]
    return known, found


@given(TABLES)
def test_a_record_is_one_person_with_one_value(tables: list[dict[int, int]]) -> None:
    """Told by a plain dictionary: two rows are one record exactly if key and value are the same."""
    record: dict[tuple[int, int], int] = {pair: place for place, pair in enumerate(tables[0].items())}
    _, found = laid(tables)
    for before, table, edition in zip(tables, tables[1:], found, strict=False):
        expected = [record.setdefault(pair, len(record)) for pair in table.items()]
        assert edition.numbers.tolist() == expected
        assert edition.total == len(record)
        assert edition.carried.left == len(before.keys() - table.keys())
    of, owner = persons_of(found), {number: key for (key, _), number in record.items()}
    for one in range(len(record)):
        for other in range(one):
            assert (of[one] == of[other]) == (owner[one] == owner[other])


UNITS = st.lists(
    st.dictionaries(
        st.integers(0, 8), st.tuples(st.integers(0, 2), st.none() | st.integers(0, 4)), min_size=1
    ),
    min_size=2, max_size=5,
)  # fmt: skip


@given(UNITS)
def test_records_are_in_one_unit_if_a_chain_of_keys_and_names_ties_them(
    tables: list[dict[int, tuple[int, int | None]]],
) -> None:
    """Told by walking along all keys and names of all states, and of editions that were read back."""
    first, *later = (
        named(
            SALT,
            list(table),
            np.array([value for value, _ in table.values()]),
            [n for _, n in table.values()],
        )
        for table in tables
    )
    known, found, current = first, list[Numbered](), [True] * first.count
    for now in later:
        each = follow(known, current, now, ("stays", "charge"), found)
        edition = Edition(2, "print", (("stays", "charge", now.count),), (each,))
        parts = [("stays", "charge", pack_numbers(each.numbers), each.pack())]
        [again] = Edition.read(edition.text, parts).columns
        assert (again.names, again.joined, again.carried) == (each.names, each.joined, each.carried)
        found.append(again)
        known += each.names
        current = [number in each.numbers for number in range(known.count)]
    owner = {
        digest: key for table, names in zip(tables, (first, *later), strict=True)
        for key, digest in zip(table, names.by_key(), strict=True)
    }  # fmt: skip
    # the name of each key's unit: the least key that it is tied to
    tied = {key: key for table in tables for key in table}
    for _ in tied:
        for one, other in ((a, b) for a in tied for b in tied if a > b):
            names = [{t[key][1] for t in tables if key in t} - {None} for key in (one, other)]
            if names[0] & names[1]:
                tied[one] = tied[other] = min(tied[one], tied[other])
    of, keys = units_of(first, found).tolist(), [owner[digest] for digest in known.by_key()]
    assert len(of) == known.count
    for i, one in enumerate(keys):
        for j, other in enumerate(keys):
            assert (of[i] == of[j]) == (tied[one] == tied[other])


@given(TABLES)
def test_counts_add_up(tables: list[dict[int, int]]) -> None:
    seen = set(tables[0])
    for table, edition in zip(tables[1:], laid(tables)[1], strict=True):
        carried = edition.carried
        assert carried.unchanged + carried.new + carried.changed == len(table)
        assert carried.new == len(table.keys() - seen)
        seen |= table.keys()


@given(TABLES)
def test_an_edition_is_read_as_it_was_written(tables: list[dict[int, int]]) -> None:
    for column in laid(tables)[1]:
        edition = Edition(2, "print", (("staff", "salary", len(column.numbers)),), (column,))
        parts = [(column.table, column.column, pack_numbers(column.numbers), column.pack())]
        again = Edition.read(edition.text, parts)
        assert (again.number, again.fingerprint, again.sizes) == (2, "print", edition.sizes)
        [found] = again.columns
        assert found.numbers.tolist() == column.numbers.tolist()
        assert found.again.tolist() == column.again.tolist()
        assert (found.first, found.names, found.carried) == (column.first, column.names, column.carried)


def test_who_is_who_is_read_as_it_was_written() -> None:
    base = Base(SALT, "[]", (names({1: 2, 3: 4}), names({5: 6})))
    assert Base.unpack(base.pack()) == base
    of_units = named(SALT, "abc", np.array([1, 2, 3]), ["x", None, "x"])
    base = Base(SALT, "[]", (names({1: 2, 3: 4}), of_units))
    assert Base.unpack(base.pack()) == base
    without = base.pack().replace(b', "units": [false, true]', b"")[
        : -3 * WIDTH
    ]  # as before units were known
    assert Base.unpack(without).names == (base.names[0], Names(of_units.keys, of_units.values))


def test_a_units_name_and_a_key_that_read_alike_have_other_digests() -> None:
    found = named(SALT, ["a", "b"], np.array([1, 2]), ["a", None])
    assert not {*found.by_unit()} & {*found.by_key(), *found.by_value()}
    assert found.by_unit() != named(bytes(32), ["a", "b"], np.array([1, 2]), ["a", None]).by_unit()


def test_another_salt_makes_other_digests() -> None:
    one, other = (named(salt, ["a"], np.array([7])) for salt in (SALT, bytes(32)))
    assert one.keys != other.keys
    assert one.values != other.values


def test_what_was_not_written_is_unreadable() -> None:
    for broken in (b"", b"{}\n", b"[]\nabc", b"no"):
        with pytest.raises(Unreadable):
            Base.unpack(broken)
    with pytest.raises(Unreadable):
        Names.unpack(bytes(31), 1)
    with pytest.raises(Unreadable):
        unpack_numbers(b"no")
    with pytest.raises(Unreadable):
        Edition.read("{}", [])


def test_a_new_table_of_strangers_is_all_new() -> None:
    _, [found] = laid([{1: 1, 2: 2}, {3: 1, 4: 2}])
    assert found.carried == Carried(0, 2, 0, 2)
