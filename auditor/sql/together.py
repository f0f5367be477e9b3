"""Withheld groups together, as one more row of the answer: what is asked of it, and how its row looks.

Promise: the row is there only where all that the statement does with its groups is to show them. A LIMIT
that leaves out rows, a condition on what is told, DISTINCT, windows, set operations and queries around or
inside of it leave it out.
Nothing that is worked out from a key, or from aggregates that are about different groups, stands in it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from auditor.sql.grouping import CALLS
from auditor.sql.limits import reread
from auditor.sql.statement import Block, Plan
from auditor.sql.withheld import GROUP, Rest
from auditor.sql.writing import bracketed

ROWS = "_rows"
"""Of the groups query of groups together: how many rows they have; it comes after the public columns."""
_KEY, _PUBLIC = re.compile(r"_k\d+"), re.compile(r"_p\d+")
_OF_AGGREGATE = re.compile(r"_(?:a|x|least|most)(\d+)")
_OF_ARITHMETIC = re.compile(r"_t(\d+)")


@dataclass(frozen=True)
class Grouped:
    """How a block groups: what its columns of the groups query are."""

    keys: tuple[str, ...]
    """Names of the keys."""
    levels: tuple[str, ...]
    """Names of the columns that say which grouping set a group is of: alike in all of its groups."""
    level: str | None
    """The one of them that is about all keys, in their order; None: there is one grouping set."""


def grouped_of(block: Block) -> Grouped:
    """Read how a block groups."""
    projections = {each.alias_or_name: each.unalias() for each in _select(block.groups_sql).expressions}
    keys = {name: node for name, node in projections.items() if _KEY.fullmatch(name)}
    levels = {name: node for name, node in projections.items() if isinstance(node, CALLS)}
    whole = (name for name, node in levels.items() if node.expressions == list(keys.values()))
    return Grouped(tuple(keys), tuple(levels), next(whole, None))


def has_place(plan: Plan) -> bool:
    """Whether one more row of a statement's groups means what it seems to mean."""
    if len(plan.blocks) != 1 or not plan.blocks[0].grouped:
        return False
    block, tree = plan.blocks[0], reread(plan.final_sql)
    groups = _select(block.groups_sql)
    bounded = any(each.args.get("offset") for each in (groups, tree)) or room(plan) == 0
    source = tree.args.get("from_")
    if bounded or not isinstance(tree, exp.Select) or source is None or source.this.name != block.name:
        return False
    if any(tree.args.get(clause) for clause in ("distinct", "qualify", "windows", "joins", "with_")):
        return False
    if tree.find(exp.Window) or any(node is not tree for node in tree.find_all(exp.Query)):
        return False
    where = tree.args.get("where")
    return bool(grouped_of(block).keys) and not (where and _read(where, block).aggregates)


def room(plan: Plan) -> int | None:
    """How many rows its LIMIT leaves, tools write one anyway; None: it has none, 0: that is not plain."""
    found = list[int]()
    for each in (_select(plan.blocks[0].groups_sql), reread(plan.final_sql)):
        limit = each.args.get("limit")
        if limit is not None:
            count = limit.expression if isinstance(limit, exp.Limit) else None
            found.append(int(count.name) if isinstance(count, exp.Literal) and count.is_int else 0)
    return min(found, default=None)


def query_of(block: Block, level: int | None, chosen: str, constants: Mapping[str, object]) -> str:
    """The groups query for some groups of one grouping set together, with `ROWS`.

    Args:
        block: The block.
        level: The grouping set, as GROUPING of all keys has it; None: there is one.
        chosen: A relation with the keys of these groups, in their own types.
        constants: By name what tells grouping sets apart, as these groups have it.
    """
    select = _select(block.groups_sql)
    types, keys = dict(block.public_columns), _keys_in(block, level)
    values = {each.alias_or_name: each.unalias() for each in select.expressions}
    for projection in list(select.expressions):
        name = projection.alias_or_name
        if _KEY.fullmatch(name):
            projection.set("this", exp.cast(exp.null(), types[name], dialect="duckdb"))
        elif name in constants:
            projection.set("this", exp.cast(exp.convert(constants[name]), types[name], dialect="duckdb"))
        elif name not in types:
            for node in list(projection.find_all(exp.ArrayAgg)):  # as lowering calls it
                node.replace(exp.Anonymous(this="LIST", expressions=[node.this]))
    public, lists = select.expressions[: len(types)], select.expressions[len(types) :]
    select.set("expressions", [*public, exp.alias_(exp.Count(this=exp.Star()), ROWS, quoted=True), *lists])
    same = [
        exp.NullSafeEQ(this=exp.column(name, table=chosen, quoted=True), expression=values[name].copy())
        for name in keys
    ]
    inside = exp.select("1").from_(exp.table_(chosen, quoted=True)).where(*same)
    select.where(exp.Exists(this=inside), copy=False)
    for clause in ("group", "having", "order"):
        select.set(clause, None)
    return bracketed(select)


def _keys_in(block: Block, level: int | None) -> tuple[str, ...]:
    """The keys of a grouping set: bits of GROUPING say which are not, the first key's being the highest."""
    keys = grouped_of(block).keys
    if level is None:
        return keys
    return tuple(key for place, key in enumerate(reversed(keys)) if not level >> place & 1)[::-1]


@dataclass(frozen=True)
class Row:
    """One more row, as far as the final statement has to know it."""

    group: int
    """Its position among the groups."""
    level: int | None
    """Its grouping set."""
    about: Mapping[int, Collection[int]]
    """By aggregate, the withheld groups that are told together in it; of others nothing is."""
    groups: Collection[int]
    """What its public columns are about."""

    @property
    def alike(self) -> bool:
        """Whether all of it is about the same groups."""
        return {frozenset(each) for each in self.about.values()} == {frozenset(self.groups)}


def with_rows(plan: Plan, rest: Rest, rows: Sequence[Row], label: str | None) -> Rest:
    """What is left to run of a statement, over a relation that has further rows.

    Args:
        plan: The statement.
        rest: What is left to run of it without them; its last column has the groups' positions.
        rows: The further rows.
        label: What stands in place of keys that are texts; None: NULL.
    """
    tree, block = reread(rest.sql), plan.blocks[0]
    projections = reread(plan.final_sql).expressions
    position = exp.column(GROUP, table=block.name, quoted=True)
    for shown, original, type_ in zip(tree.expressions, projections, plan.types, strict=False):
        case = exp.Case()
        read = _read(original.unalias(), block)
        named = label is not None and type_ == "VARCHAR" and not (read.aggregates or read.public)
        for row in rows:
            keyed = bool(read.keys & set(_keys_in(block, row.level)))
            if keyed or not _can_be_told(read, row):
                value = exp.Literal.string(label) if keyed and named else exp.null()
                case = case.when(position.copy().eq(row.group), value)
        if case.args.get("ifs"):
            holder = shown if isinstance(shown, exp.Alias) else exp.alias_(shown.copy(), shown.alias_or_name)
            holder.set("this", case.else_(holder.this.copy()))
            if holder is not shown:
                shown.replace(holder)
    where = tree.args.get("where")
    if where is not None:  # of the groups it was asked before
        where.set("this", exp.or_(where.this, position.copy() >= min(row.group for row in rows), copy=False))
    return replace(rest, sql=bracketed(tree))


@dataclass(frozen=True)
class _Read:
    """What an expression reads of a block's relation."""

    keys: frozenset[str]
    public: bool
    """Whether it reads public aggregates."""
    aggregates: frozenset[int]
    """Which protected ones."""


def _read(node: exp.Expr, block: Block) -> _Read:
    names = {column.name for column in node.find_all(exp.Column) if column.table == block.name}
    levels = grouped_of(block).levels
    found = set[int]()
    for name in names:
        one, several = _OF_AGGREGATE.fullmatch(name), _OF_ARITHMETIC.fullmatch(name)
        place = int(one[1]) if one else len(block.aggregates) + int(several[1]) if several else None
        if place is not None and place < len(block.aggregates):
            found.add(place)
        elif place is not None:
            found |= block.arithmetic[place - len(block.aggregates)].places("told")
    public = any(_PUBLIC.fullmatch(name) and name not in levels for name in names)
    return _Read(frozenset(filter(_KEY.fullmatch, names)), public, frozenset(found))


def _can_be_told(read: _Read, row: Row) -> bool:
    """Whether what an expression reads is about the same groups in a row."""
    if not read.aggregates <= row.about.keys() or (read.public and not row.alike):
        return False
    return len({frozenset(row.about[each]) for each in read.aggregates}) < 2


def _select(sql: str) -> exp.Select:
    found = reread(sql)
    assert isinstance(found, exp.Select)
    return found
