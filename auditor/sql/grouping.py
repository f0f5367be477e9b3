"""GROUP BY: its keys, and its clause written for another query over the same rows.

Promises that `keys` are the expressions that rows are grouped by, positions written out, and that `clause`
makes the same groups, grouping sets included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from auditor.sql.scopes import own_nodes
from auditor.sql.understood import NotUnderstood

Copy = Callable[[exp.Expr], exp.Expr]

SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
CALLS = (exp.Grouping, exp.GroupingId)


@dataclass(frozen=True)
class Grouping:
    """A SELECT's grouping."""

    keys: tuple[exp.Expr, ...]
    """The expressions, each once, in the order of first mention."""
    sets: tuple[exp.Expr, ...]
    """The elements of GROUP BY where ROLLUP, CUBE or GROUPING SETS stand among them; else empty."""

    def clause(self, copy: Copy) -> exp.Group | None:
        """GROUP BY for a query whose first columns are the keys, in their order."""
        if self.sets:
            return exp.Group(expressions=[copy(element) for element in self.sets])
        if not self.keys:
            return None
        # A position names a column even where the key is a constant.
        return exp.Group(expressions=[exp.Literal.number(i + 1) for i in range(len(self.keys))])

    def level(self) -> exp.Expr | None:
        """What tells the grouping sets of a group apart: NULL keys alone do not."""
        if not self.sets or not self.keys:
            return None
        return exp.Grouping(expressions=[key.copy() for key in self.keys])


def groups_all(node: exp.Expr) -> bool:
    """Whether GROUP BY ALL groups by a projection."""
    return not _own(node, exp.AggFunc) and _own(node, exp.Column)


def _own(root: exp.Expr, kind: type[exp.Expr]) -> bool:
    """Whether an expression has a node of a class outside the queries inside it."""
    return any(isinstance(node, kind) for node in own_nodes(root)) and not isinstance(root, exp.Query)


def grouping(select: exp.Select, groups_all: Callable[[exp.Expr], bool] = groups_all) -> Grouping:
    """Read a GROUP BY.

    Args:
        select: A qualified SELECT.
        groups_all: Whether GROUP BY ALL groups by a projection.

    Raises:
        NotUnderstood: code "construct", for a key that is a subquery.
    """
    group = select.args.get("group")
    if group is None:
        return Grouping((), ())
    if group.args.get("all"):
        _require_keys(select)
        # As DuckDB does it, constants are no keys: without other keys there is one group, rows or not.
        plain = [projection.unalias() for projection in select.expressions]
        return Grouping(_distinct([node for node in plain if groups_all(node)]), ())
    projections = [projection.unalias() for projection in select.expressions]
    elements = [_written_out(element, projections) for element in group.expressions]
    leaves = [_bare(leaf) for element in elements for leaf in _leaves(element)]
    if not any(isinstance(element, SETS) for element in elements):
        return Grouping(_distinct(leaves), ())
    for number, leaf in enumerate(leaves):
        if leaf.find(exp.Column) is None:
            raise NotUnderstood("construct", name="A constant in ROLLUP, CUBE or GROUPING SETS")
        for other in leaves[:number]:
            # DuckDB goes by how a key is spelled
            if other == leaf and not _spelled_alike(other, leaf):
                raise NotUnderstood(
                    "construct", name="One key in two spellings in ROLLUP, CUBE or GROUPING SETS"
                )
    return Grouping(_distinct(leaves), tuple(elements))


SPELLED = "spelled"
"""Where a node keeps how it was written before its names were resolved."""


def note_spelling(tree: exp.Query) -> None:
    """Keep how the keys of grouping sets are written, for `grouping` to compare."""
    for element in tree.find_all(*SETS):
        for leaf in _leaves(element):
            bare = _bare(leaf)
            bare.meta[SPELLED] = bare.sql(dialect="duckdb")


def _spelled_alike(one: exp.Expr, other: exp.Expr) -> bool:
    # aliases and positions lose it, on both sides
    return one.meta.get(SPELLED) == other.meta.get(SPELLED)


def _require_keys(select: exp.Select) -> None:
    """GROUP BY ALL groups by the columns of HAVING too, which is more than meets the eye."""
    having = select.args.get("having")
    for column in having.find_all(exp.Column) if having is not None else ():
        if column.find_ancestor(exp.AggFunc, exp.Query) in (None, select):
            raise NotUnderstood("construct", name="HAVING with columns under GROUP BY ALL")


def _distinct(nodes: list[exp.Expr]) -> tuple[exp.Expr, ...]:
    keys: list[exp.Expr] = []
    for node in nodes:
        key = _bare(node)
        if key.find(exp.Query):
            raise NotUnderstood("construct", name="GROUP BY with a subquery")
        if key not in keys:
            keys.append(key)
    return tuple(keys)


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _leaves(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, (*SETS, exp.Tuple)):
        return [leaf for part in node.expressions for leaf in _leaves(part)]
    return [node]


def _written_out(node: exp.Expr, projections: list[exp.Expr]) -> exp.Expr:
    """An element with positions replaced by what they stand for."""
    if isinstance(node, (*SETS, exp.Tuple)):
        parts = [_written_out(part, projections) for part in node.expressions]
        return type(node)(expressions=parts)
    node = _bare(node)
    if isinstance(node, exp.Literal) and node.is_int:
        place = int(node.name)
        if not 1 <= place <= len(projections):
            raise NotUnderstood("translation")
        return _bare(projections[place - 1]).copy()
    return node.copy()
