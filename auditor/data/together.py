"""Withheld groups together: one more group for each grouping set, and what is to be asked of it.

Promise: what is asked of it is about the records of the groups that are meant, no more and no fewer, or
nothing is. Which groups are meant is public, and so is all that is read here: no protected value is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import duckdb
import numpy as np
import pyarrow as pa

from auditor.data.relations import Asked, Groups
from auditor.sql.schema import quoted
from auditor.sql.statement import Block
from auditor.sql.together import ROWS, Row, grouped_of, query_of

Places = frozenset[int]
"""Positions of groups."""
Read = Callable[[duckdb.DuckDBPyConnection, Block], tuple[Groups, list[Asked]]]
"""Runs the groups query of a block."""


@dataclass(frozen=True, eq=False)
class Together:
    """Withheld groups of one grouping set as one more group."""

    level: int | None
    """The grouping set, as GROUPING of all keys has it; None: there is one."""
    groups: Places
    """Those of which something is withheld."""
    about: Mapping[int, Places]
    """By aggregate, the groups that it is about."""
    rows: int
    """How many rows the groups have."""
    table: pa.Table
    """One row: its keys, which are NULL, and public aggregates."""
    asked: tuple[Asked, ...]
    """What is to be computed, in the order of the aggregates."""

    def as_row(self) -> Row:
        """What the final statement has to know of it."""
        group = self.asked[0].group
        return Row(group, self.level, self.about, self.groups)

    def of(self, group: int, kept: Collection[int]) -> Together:
        """The same in another position, with some of its aggregates alone."""
        asked = tuple(replace(each, group=group) for each in self.asked if each.column in kept)
        about = {each.column: self.about[each.column] for each in asked}
        return replace(self, about=about, asked=asked)


def meant(
    block: Block, groups: Groups, lost: Mapping[int, Collection[int]]
) -> Iterator[tuple[int | None, dict[int, Places]]]:
    """By grouping set the groups that are meant, by aggregate: at least two, as one is just that group.

    Args:
        block: The block.
        groups: Its groups.
        lost: By aggregate the groups of which it is withheld.
    """
    name = grouped_of(block).level
    levels = [None] * len(groups.entries) if name is None else groups.table.column(name).to_pylist()
    for level in dict.fromkeys(levels):
        about = {i: frozenset(group for group in some if levels[group] == level) for i, some in lost.items()}
        about = {i: some for i, some in about.items() if len(some) > 1}
        if about:
            yield level, about


def ask_together(
    cursor: duckdb.DuckDBPyConnection,
    block: Block,
    groups: Groups,
    asked: Mapping[tuple[int, int], Asked],
    level: int | None,
    about: Mapping[int, Places],
    read: Read,
) -> Together:
    """Ask about groups of one grouping set together.

    Args:
        cursor: Of the public instance.
        block: The block.
        groups: Its groups.
        asked: By group and aggregate what is asked of them.
        level: The grouping set.
        about: By aggregate, the groups that are meant.
        read: Runs a groups query.
    """
    every = frozenset[int]().union(*about.values())
    tables, found = list[pa.Table](), dict[int, Asked]()
    for some in dict.fromkeys([every, *about.values()]):
        row, more = read(cursor, _one_group(cursor, block, groups, level, some))
        tables.append(row.table)
        for each in more:
            own = [asked[group, each.column] for group in some if (group, each.column) in asked]
            if about.get(each.column) == some and _same_records(each, own):
                found[each.column] = each
    kept = {i: some for i, some in about.items() if i in found}
    rows = int(tables[0].column(ROWS)[0].as_py())
    public = tables[0].select(groups.table.column_names).cast(groups.table.schema)
    return Together(level, every, kept, rows, public, tuple(found[i] for i in sorted(found)))


def _one_group(
    cursor: duckdb.DuckDBPyConnection, block: Block, groups: Groups, level: int | None, some: Places
) -> Block:
    """A block whose one group is some groups of a grouping set together."""
    chosen = f"{block.name}_chosen"
    cursor.register(f"{chosen}_values", groups.table.take(pa.array(sorted(some))))
    casts = (f"CAST({quoted(name)} AS {type_}) AS {quoted(name)}" for name, type_ in block.public_columns)
    source = f"SELECT {', '.join(casts)} FROM {quoted(f'{chosen}_values')}"
    cursor.execute(f"CREATE OR REPLACE TEMP VIEW {quoted(chosen)} AS {source}")
    first = groups.table.slice(min(some), 1)
    constants = {name: first.column(name)[0].as_py() for name in grouped_of(block).levels}
    return replace(
        block,
        groups_sql=query_of(block, level, chosen, constants),
        public_columns=(*block.public_columns, (ROWS, "BIGINT")),
        aggregates=tuple(replace(each, column=each.column + 1) for each in block.aggregates),
    )


def _same_records(asked: Asked, of_groups: Sequence[Asked]) -> bool:
    """Whether what is asked is about just the records of some groups: keys may be alike and not equal."""
    records = [each.records for each in of_groups]
    return bool(records) and np.array_equal(np.unique(np.concatenate(records)), asked.records)


def extended(groups: Groups, more: Sequence[Together], first: int) -> Groups:
    """Groups with further ones.

    Args:
        groups: Those of the block.
        more: The further ones; what they ask comes after all else that is asked, in their order.
        first: How many others are asked.
    """
    tables, entries, place = [groups.table], list(groups.entries), first
    for each in more:
        places = {asked.column: place + i for i, asked in enumerate(each.asked)}
        place += len(places)
        entries.append(tuple(places.get(aggregate) for aggregate in range(len(groups.entries[0]))))
        tables.append(each.table)
    return Groups(pa.concat_tables(tables), tuple(entries))
