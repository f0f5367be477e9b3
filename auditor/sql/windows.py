"""Window functions: which node is one, and which hang on the order of rows that ORDER BY leaves equal.

Pure questions about a tree. Where a protected value is passed on, a function that breaks ties would choose
among rows that are alike in public by something that is not public.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

# Peers get the same result: rows that are equal in ORDER BY are never told apart.
_SAME_FOR_PEERS = (
    exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Count,
)  # fmt: skip


def is_windowed(node: exp.Expr) -> bool:
    """Whether a function is the one that a window is over, FILTER and IGNORE NULLS around it included."""
    while isinstance(node.parent, exp.Filter | exp.IgnoreNulls | exp.RespectNulls) and node.arg_key == "this":
        node = node.parent
    return isinstance(node.parent, exp.Window) and node.arg_key == "this"


def breaks_ties(window: exp.Window, select: exp.Select, unique: Collection[tuple[str, str]]) -> bool:
    """Whether a window's result may hang on the order of rows that are equal in its ORDER BY.

    Args:
        window: The window, or one of the statement's named ones.
        select: Its SELECT.
        unique: Alias and column of what tells all rows apart.
    """
    named = {each.this.name: each for each in select.args.get("windows") or [] if each is not window}
    base = window.args.get("alias")
    definitions = [window] + ([named[base.name]] if base is not None and base.name in named else [])
    for each in definitions:
        order = each.args.get("order")
        for ordered in order.expressions if order is not None else []:
            column = ordered.this
            if isinstance(column, exp.Column) and (column.table, column.name) in unique:
                return False
    if isinstance(window.this, exp.Identifier):
        return False  # a definition; those who use it are looked at
    function = window.this
    while isinstance(function, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        function = function.this
    if not isinstance(function, _SAME_FOR_PEERS):
        return True
    specs = [each.args["spec"] for each in definitions if each.args.get("spec") is not None]
    return any(str(spec.args.get("kind") or "").upper() != "RANGE" for spec in specs)
