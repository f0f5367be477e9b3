"""Groups that stand beside the rows of an answer: where one is withheld, the others are given all the same.

    SELECT staff.id, g._v0 FROM staff LEFT JOIN (SELECT _k0, _a0 AS _v0 FROM _block0) g ON staff.dept = g._k0

Promise: what is found is a block that one LEFT JOIN of the whole statement reads, of whose aggregates nothing
but cells of the answer is made: no condition, no order, no total, no row more or less hangs on them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from sqlglot import exp

from auditor.sql.statement import Block, aggregate_name, end_name

_NONE_INSIDE = frozenset(["expressions", "from_"])
_NONE_AROUND = ("group", "having", "qualify", "distinct", "windows", "limit", "offset", "with_")


@dataclass(frozen=True)
class Beside:
    """Where a block stands beside rows."""

    rows: exp.Select
    """The SELECT whose rows are those of the answer."""
    groups: exp.Select
    """The one that reads the block."""
    name: str
    """What that is joined as."""
    outputs: dict[str, int]
    """By name of its column, which aggregate that is."""

    def reads(self, node: exp.Expr, aggregates: Collection[int] | None = None) -> set[int]:
        """The aggregates that an expression reads, of those or of all."""
        found = {
            self.outputs.get(each.name, -1) for each in node.find_all(exp.Column) if each.table == self.name
        }
        return {each for each in found if each >= 0 and (aggregates is None or each in aggregates)}


def beside(tree: exp.Expr, block: Block) -> Beside | None:
    """Where a block stands in a statement, if it is beside rows."""
    read = [node for node in tree.find_all(exp.Table) if node.name == block.name]
    if len(read) != 1 or not isinstance(tree, exp.Select):
        return None
    groups = read[0].find_ancestor(exp.Select)
    holder = groups.parent if groups is not None else None
    join = holder.parent if isinstance(holder, exp.Subquery) else None
    if groups is None or holder is None or not isinstance(join, exp.Join) or join.parent is not tree:
        return None
    if join.side != "LEFT" or join.kind or join.args.get("using") or join.args.get("method"):
        return None
    if {name for name, value in groups.args.items() if value} != _NONE_INSIDE:
        return None
    shown = {each.alias_or_name: each.unalias() for each in groups.expressions}
    if not all(isinstance(each, exp.Column) for each in shown.values()):
        return None
    names = {aggregate_name(i): i for i in range(len(block.aggregates))}
    ends = {end_name(word, i) for word in ("AT_LEAST", "AT_MOST") for i in names.values()}
    keys = {each.name for each in shown.values()} - set(names)
    if keys & ends or not any(key.startswith("_k") for key in keys):
        return None
    outputs = {name: names[node.name] for name, node in shown.items() if node.name in names}
    found = Beside(tree, groups, holder.alias_or_name, outputs)
    return found if _cells_alone(found) else None


def _cells_alone(found: Beside) -> bool:
    """Whether nothing but cells of the answer is made of the aggregates."""
    rows = found.rows
    if any(rows.args.get(clause) for clause in _NONE_AROUND):
        return False
    for clause in ("from_", "where", "order"):
        part = rows.args.get(clause)
        if part is not None and found.reads(part):
            return False
    if any(found.reads(join.args["on"]) for join in rows.args["joins"] if join.args.get("on")):
        return False
    shown = {each.alias_or_name for each in rows.expressions if found.reads(each)}
    order = rows.args.get("order")
    if order is not None and any(
        not each.table and each.name in shown for each in order.find_all(exp.Column)
    ):
        return False
    if order is not None and any(isinstance(each.this, exp.Literal | exp.Var) for each in order.expressions):
        return False
    return not any(_counts_rows(each) for each in rows.expressions if found.reads(each))


def _counts_rows(node: exp.Expr) -> bool:
    return node.find(exp.Window, exp.AggFunc, exp.Query) is not None


def guarded(found: Beside, marks: dict[int, str]) -> Iterator[tuple[int, exp.Expr, set[int]]]:
    """Take marks out to the rows, in place; columns of the answer, and of which aggregates each is made.

    Args:
        found: Where the block stands.
        marks: By aggregate that some group lacks, the name of its mark in the block's relation.
    """
    table = found.groups.args["from_"].this.alias_or_name
    for name in marks.values():
        mark = exp.alias_(exp.column(name, table=table, quoted=True), name, quoted=True)
        found.groups.append("expressions", mark)
    for place, projection in enumerate(found.rows.expressions):
        lacking = found.reads(projection, marks)
        if lacking:
            yield place, projection, lacking
