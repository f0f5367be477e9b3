"""Editions: a later state of the same tables, opened under the ledger of the earlier ones.

Promise: who is who is told by the policy's key alone; whoever has the value that the ledger knows of her is
the same record in the same system, everybody else a new one, and no record ever leaves it. An edition is on
disk whole, or it is not. Only counts are shown. That somebody's value changed is taken as known to everybody.
"""

from __future__ import annotations

import json
import os
import secrets
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from auditor.data.database import Database
from auditor.data.sources import Given, source_of
from auditor.errors import DataChanged, NotRenewableWarning, PolicyError
from auditor.ledger import Base, Binding, Carried, Edition, Ledger
from auditor.ledger.people import Names, Numbered, follow, named, units_of
from auditor.parties.celling import celling_of
from auditor.parties.party import Knowledge
from auditor.policy.policy import Policy

if TYPE_CHECKING:
    from auditor.parties.confidential import Confidential

FEWEST_VALUES = 3
"""Of a column with two values a change gives the new one away to whoever knows the old one, and turns the sum
of those who changed into what the sum of their old values was: nothing that is judged here knows that."""


@dataclass(frozen=True)
class Renewal:
    """What became of `Gate.renew`."""

    edition: int
    """The ledger's edition now."""
    opened: bool
    """Whether it is new; else the data are those of the edition that the ledger is at."""
    carried: tuple[tuple[str, str, Carried], ...]
    """Table, column and counts, by protected column; empty where nothing was opened."""


@dataclass(frozen=True)
class Opened:
    """Data as a policy reads them, before a ledger says what is known of them."""

    policy: Policy
    """The policy."""
    data: Database
    """The data."""
    knowledge: Knowledge
    """Nothing is known yet."""
    binding: Binding
    """What a ledger of them is bound to."""
    location: str
    """Where it is."""

    @property
    def schema(self) -> str:
        """Names and types of all that can be read, and of the keys and units."""
        schema = self.data.schema
        tables = [
            [each.name, [[column.name, column.type] for column in each.columns]] for each in schema.tables
        ]
        protected = [
            # of ledgers without units it is as it was before these were known
            [each.table, each.column, each.type, vault.key_type, *filter(None, [vault.unit_type])]
            for each, vault in zip(schema.protected, self.data.vaults, strict=True)
        ]
        return json.dumps([tables, protected], separators=(",", ":"))

    @property
    def keyed(self) -> bool:
        """Whether every protected column's table has a key."""
        return all(vault.keys is not None for vault in self.data.vaults)

    def people(self) -> Base | None:
        """Who is who, for a ledger that is begun; None where the policy, or the place, is not for that."""
        wanted = self.policy.ledger.editions
        if wanted and not self.keyed:
            raise PolicyError(
                "ledger.editions = true: nothing tells who is who; name the column that does, in [protect]: "
                'key = "id"'
            )
        if wanted is False:
            return None
        on_server = "://" in self.location and wanted is None
        if on_server or not self.keyed:
            self._say_not_renewable(on_server)
            return None
        salt = secrets.token_bytes(32)
        return Base(salt, self.schema, self.named(salt))

    def _say_not_renewable(self, on_server: bool) -> None:
        """Say so while nothing was answered, since later it takes another ledger. Cells have no keys."""
        if self.binding.cells:
            return
        lacking = [] if self.keyed else ['name the column that names each row once, key = "id" in [protect]']
        lacking += ["write editions = true under [ledger]"] if on_server else []
        warnings.warn(
            "the ledger is begun without who is who: when the table has changed, `cae-sql renew` cannot open "
            f"it under this ledger. Before anyone asks, {' and '.join(lacking)}, and begin the ledger anew; "
            "or write editions = false under [ledger] if the table never changes",
            NotRenewableWarning,
            stacklevel=2,
        )

    def named(self, salt: bytes) -> tuple[Names, ...]:
        """Digests of all records, by protected column."""
        return tuple(
            named(salt, vault.keys or (), column.units, vault.called)
            for vault, column in zip(self.data.vaults, self.knowledge.columns, strict=True)
        )


def opened(
    stack: ExitStack,
    source: Given,
    policy: Policy | str | os.PathLike[str],
    ledger: str | os.PathLike[str] | None,
) -> Opened:
    """Read data under a policy. Arguments and errors as for `Gate.open`."""
    rules = policy if isinstance(policy, Policy) else Policy.load(Path(policy))
    protects = sorted(rules.protects, key=lambda each: each.name)  # their order in the text means nothing
    place, tables = source_of(source), rules.tables
    cells = celling_of(rules, protects, place)
    data = stack.enter_context(
        Database.open(place, protects, public_tables=tables.public, views=tables.views, cells=cells)
    )
    knowledge = Knowledge(rules, data)
    binding = Binding(
        rules.protect_digest,
        data.fingerprint,
        tuple((*column.name, column.size) for column in knowledge.columns),
        rules.ledger.scope,
        rules.protect_canonical,
        insiders=rules.intruder.insiders,
        cells=any(vault.cells is not None for vault in data.vaults),
    )
    where = rules.ledger_location(place.beside) if ledger is None else os.fspath(ledger)
    return Opened(rules, data, knowledge, binding, where)


def renew(
    source: Given, policy: Policy | str | os.PathLike[str], ledger: str | os.PathLike[str] | None
) -> Renewal:
    """Open an edition. As `Gate.renew`."""
    with ExitStack() as stack:
        new = opened(stack, source, policy, ledger)
        if not new.keyed:
            raise PolicyError(
                "protect.key: missing; nothing tells who is who in two states of the data. A ledger that was "
                'begun without a key cannot be renewed: write key = "id" in [protect], a column that names '
                "each row once, and begin another ledger if none of its answers is still known"
            )
        anchor = new.policy.anchor_path
        book = stack.enter_context(Ledger.open(new.location, new.binding, anchor, renewing=True))
        with book.deciding():
            last = book.binding if book.edition is None else book.edition
            number = 1 if book.edition is None else book.edition.number
            if (last.fingerprint, last.sizes) == (new.binding.fingerprint, new.binding.sizes):
                return Renewal(number, False, ())
            base, editions = book.people(), book.editions
            _require_same_schema(new, base)
            found = tuple(
                _followed(column, place, now, base, editions)
                for place, (column, now) in enumerate(
                    zip(new.knowledge.columns, new.named(base.salt), strict=True)
                )
            )
            book.renew(Edition(number + 1, new.binding.fingerprint, new.binding.sizes, found))
    return Renewal(number + 1, True, tuple((each.table, each.column, each.carried) for each in found))


def _followed(
    column: Confidential, place: int, now: Names, base: Base, editions: Sequence[Edition]
) -> Numbered:
    """Where the records of a protected column are in the system of all editions."""
    known, before = base.names[place], [edition.columns[place] for edition in editions]
    for edition in before:
        known += edition.names
    current = np.ones(known.count, dtype=np.bool_)
    if editions:
        current[:] = False
        current[before[-1].numbers] = True
    found = follow(known, current.tolist(), now, column.name, before)
    steps = int((column.protect.maximum - column.protect.minimum) // column.protect.grid)
    if found.carried.changed and steps + 1 < FEWEST_VALUES:
        raise PolicyError(
            f"{'.'.join(column.name)} has two values: whoever knows the old one, and that it changed, knows "
            "the new one, so such a change is not supported; begin another ledger if none of the answers is "
            "still known"
        )
    if now.units and len(np.unique(units_of(base.names[place], [*before, found]))) < 2:
        raise DataChanged(
            f"nothing was opened: so many rows of table {column.protect.table} have another "
            f"{column.protect.unit} now that all would be one person's; give persons the names that they "
            "had, or begin another ledger if none of the answers is still known"
        )
    return found


def _require_same_schema(new: Opened, base: Base) -> None:
    """Hold an edition to the names and types of the first.

    Raises:
        DataChanged: names the first that differs.
    """
    if base.schema == new.schema:
        return
    (tables, protected), (tables_now, protected_now) = json.loads(base.schema), json.loads(new.schema)
    for (table, column, was, *types), (_, _, now, *types_now) in zip(protected, protected_now, strict=True):
        for what, then, since in zip(("key", "unit"), types, types_now, strict=False):
            if then != since:
                raise _differs(new, f"the {what} of table {table} was of type {then}, is {since}")
        if was != now:
            raise _differs(new, f"column {column} of table {table} was of type {was}, is {now}")
    for (table, columns), (table_now, columns_now) in zip(tables, tables_now, strict=False):
        if (table, columns) != (table_now, columns_now):
            was, now = (
                ", ".join(f"{name} {kind}" for name, kind in each if [name, kind] not in other)
                for each, other in ((columns, columns_now), (columns_now, columns))
            )
            changed = (
                f"had {was or 'none of these'}, has {now or 'no longer'}"
                if was or now
                else "is ordered otherwise"
            )
            raise _differs(new, f"table {table} {changed}")
    raise _differs(new, "the policy names other public tables")


def _differs(new: Opened, text: str) -> DataChanged:
    return DataChanged(
        f"ledger {new.location}: {text}: an edition has the public columns, types and tables that the ledger "
        "was begun with; put them back, or begin another ledger if none of its answers is still known"
    )
