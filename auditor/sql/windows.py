"""Window functions: which node is one, and which hang on the order of rows that ORDER BY leaves equal.

Pure questions about a tree. Where a protected value is passed on, a function that breaks ties would choose
among rows that are alike in public by something that is not public.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

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


_OF_ALL_ROWS = (exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Count)


def rows_are_public(
    select: exp.Select, windows: Collection[exp.Window], is_public: Callable[[exp.Expr], bool]
) -> bool:
    """Whether public values alone choose the groups that each window of a SELECT over groups reads.

    Then a mark of each group says, under the same window, whether one that is not given has a part in what
    it makes. Such windows are aggregates in columns of the answer; no group may be left out before them by
    what is withheld of it.

    Args:
        select: With GROUP BY.
        windows: Those in it, and its named ones.
        is_public: Whether no protected aggregate has a part in an expression.
    """
    if select.args.get("qualify") or (windows and select.args.get("distinct")):
        return False
    if not windows:
        return True
    having, order = select.args.get("having"), select.args.get("order")
    if having is not None and not is_public(having):
        return False
    if order is not None and order.find(exp.Window):
        return False
    return all(is_public(each) or _reads_public_rows(each, is_public) for each in windows)


def _reads_public_rows(window: exp.Window, is_public: Callable[[exp.Expr], bool]) -> bool:
    """The same of one window whose function reads what may be withheld."""
    others = [value for name, value in window.args.items() if name != "this"]
    parts = [each for value in others for each in (value if isinstance(value, list) else [value])]
    public = all(is_public(part) for part in parts if isinstance(part, exp.Expr))
    return public and isinstance(window.this, _OF_ALL_ROWS)
