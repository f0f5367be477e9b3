"""What a statement tells as ends instead of values: for people, and for the rest of the statement.

Promise: every value that is not given exactly and of which an end was told has one `Range`; its group is
named by public keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import pyarrow as pa
from sqlglot import exp

from auditor.data.database import Asked, Database
from auditor.parties.party import Knowledge
from auditor.sql import Plan
from auditor.sql.limits import reread
from auditor.sql.withheld import Rest, rest_of
from auditor.told import Range, Told

Fates = Sequence[Told[Fraction] | None]
"""By asked, in column units; None where it is withheld."""


def ranges_of(
    plan: Plan,
    asked: Sequence[Asked],
    told: Fates,
    database: Database,
    knowledge: Knowledge,
    label: str | None = None,
) -> tuple[Range, ...]:
    """What is told as ends, in the order in which it is asked; `label` names withheld groups together."""
    found = []
    for each, ends in zip(asked, told, strict=True):
        if ends is None or ends.exact:
            continue
        value = _saying(ends, knowledge.columns[each.protected].possible(each))
        value = value.under(each.value, rising=each.coefficient >= 0)
        name, group = aggregate_of(plan, each, database), group_of(plan, each, database, label)
        found.append(Range(name, group, value.least, value.most))
    return tuple(found)


def aggregate_of(plan: Plan, asked: Asked, database: Database) -> str:
    """What is asked, as SQL: "sum(salary)"."""
    aggregate = plan.blocks[asked.block].aggregates[asked.column]
    return f"{aggregate.function}({database.schema.protected[aggregate.protected].column})"


def group_of(plan: Plan, asked: Asked, database: Database, label: str | None = None) -> dict[str, object]:
    """Of which group it is asked: its public keys with their values, or the label of groups together."""
    names = _names(plan.blocks[asked.block].groups_sql)
    keys = database.keys(plan, asked.block, asked.group)
    return dict.fromkeys(names, label) if keys is None else dict(zip(names, keys, strict=False))


def around(
    asked: Sequence[Asked], told: Fates, knowledge: Knowledge
) -> list[tuple[Fraction, Fraction] | None]:
    """Between which SQL values each asked one is told to lie; what is not told is known from the domain."""
    found = list[tuple[Fraction, Fraction] | None]()
    for each, ends in zip(asked, told, strict=True):
        if ends is None:
            found.append(None)
            continue
        least, most = knowledge.columns[each.protected].possible(each)
        ends = _saying(ends, (least, most))
        known = Told(least if ends.least is None else ends.least, most if ends.most is None else ends.most)
        value = known.under(each.value, rising=each.coefficient >= 0)
        assert value.least is not None
        assert value.most is not None
        found.append((value.least, value.most))
    return found


def _saying(ends: Told[Fraction], possible: tuple[Fraction, Fraction]) -> Told[Fraction]:
    """Without the end that the domain says anyway: the last cell of a ladder reaches beyond it."""
    least = None if ends.least is None or ends.least <= possible[0] else ends.least
    most = None if ends.most is None or ends.most >= possible[1] else ends.most
    return ends if ends.exact or least is most is None else Told(least, most)


def lacking(plan: Plan, asked: Sequence[Asked], told: Fates) -> bool:
    """Whether some value that was told as an end is read itself: it is NULL then."""
    return any(plan.shows(each.block, each.column) for each in _ended(asked, told))


def unseen(plan: Plan, asked: Sequence[Asked], told: Fates) -> bool:
    """Whether the statement reads of some such value neither AT_LEAST nor AT_MOST."""
    return not all(plan.blocks[each.block].aggregates[each.column].ranged for each in _ended(asked, told))


def _ended(asked: Sequence[Asked], told: Fates) -> Iterator[Asked]:
    """What is told as an end."""
    for each, ends in zip(asked, told, strict=True):
        if ends is not None and not ends.exact:
            yield each


@lru_cache(maxsize=64)
def _names(groups_sql: str) -> list[str]:
    """What a block is grouped by, as SQL. A statement has one for thousands of groups."""
    select = reread(groups_sql).find(exp.Select)
    names = []
    for projection in () if select is None else select.expressions:
        if projection.alias_or_name.startswith("_k"):
            value = projection.unalias()
            bare = value.transform(lambda node: exp.column(node.name) if _is_column(node) else node)
            names.append(value.name if _is_column(value) else bare.sql(dialect="duckdb"))
    return names


def _is_column(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column)


def rest(plan: Plan, asked: Sequence[Asked], told: Fates) -> Rest | None:
    """What is left to run of a statement that lacks values; None where more hangs on these."""
    lacking: dict[int, set[int]] = {}
    for each, ends in zip(asked, told, strict=True):
        if ends is None or not ends.exact:
            lacking.setdefault(each.block, set()).add(each.column)
    return rest_of(plan, {block: sorted(found) for block, found in lacking.items()})


def placed(
    ranges: Sequence[Range],
    asked: Sequence[Asked],
    told: Fates,
    plan: Plan,
    rest: Rest,
    table: pa.Table,
) -> tuple[pa.Table, tuple[Range, ...]]:
    """The answer without its further column, and the ranges with their cells."""
    rows: Mapping[int, int] = {}
    if rest.numbered is not None:
        last = table.num_columns - 1
        rows = {group: row for row, group in enumerate(table.column(last).to_pylist())}
        table = table.select(range(last))
    ends = [each for each, fate in zip(asked, told, strict=True) if fate is not None and not fate.exact]
    found = []
    for one, each in zip(ranges, ends, strict=True):
        column = rest.cells.get((each.block, each.column))
        row = rows.get(each.group) if each.block == rest.numbered else None
        name = None if column is None else plan.columns[column]
        found.append(replace(one, column=name, row=row if column is not None else None))
    return table, tuple(found)
