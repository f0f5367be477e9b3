"""What a statement about the catalogue may be made of, and how large it may be.

Promises that a tree that passes has only nodes that are on the list, and that DuckDB plans what comes of
it in little time and memory: planning heeds few interrupts.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from auditor.proxy.catalogue.columns import type_name
from auditor.proxy.catalogue.errors import TOO_MUCH, CatalogueError, not_imitated
from auditor.proxy.catalogue.functions import ABOUT, PLAIN, words
from auditor.proxy.catalogue.relations import OBJECT_NAMES, VECTORS

MOST_TABLES = 100
"""Of one statement."""
MOST_JOINED = 30
"""Texts that `||` and concat() of one statement join."""
MOST_NESTED = 4
"""Calls of macros within each other: an argument's text stands several times in what a macro makes."""

_JOINING = words("concat concat_ws format lpad rpad initcap string_to_array row_to_json")
"""Functions that make a text, or several, of others; their arguments are counted."""
_ALLOWED = words("""
    Select Union Intersect Except Subquery From Table TableAlias Alias Identifier Column Where Group
    Having Order Ordered Limit Offset Distinct With CTE Join Star Literal Null Boolean Paren Tuple Filter
    Case If Cast DataType DataTypeParam ObjectIdentifier Interval Var Exists In Between Is Parameter Any
    Escape Window WindowSpec Array Values Lateral Unnest And Or Not EQ NEQ GT GTE LT LTE NullSafeEQ
    NullSafeNEQ Like ILike RegexpLike RegexpILike Add Sub Mul Div Mod Neg DPipe BitwiseAnd BitwiseOr
    BitwiseNot BitwiseLeftShift BitwiseRightShift Collate Operator Bracket Dot Anonymous CurrentUser
    SessionUser CurrentSchema CurrentCatalog CurrentTimestamp CurrentDate Substring Trim StrPosition
    ArrayContainsAll ArrayContainedBy ArrayOverlaps Fetch Extract AtTimeZone
""")


def check(tree: exp.Expr) -> None:
    """Hold a statement to the list and the sizes.

    Raises:
        CatalogueError: for the first thing that is not allowed.
    """
    tables = joined = 0
    for node in tree.walk():
        if type(node).__name__ not in _ALLOWED:
            raise not_imitated(type(node).__name__)
        tables += isinstance(node, exp.Table | exp.Unnest | exp.Values)
        joined += (len(node.expressions) or 1) if _joins(node) else 0
        if _is_macro(node) and sum(map(_is_macro, _ancestors(node))) >= MOST_NESTED:
            raise CatalogueError(f"calls may be nested {MOST_NESTED} deep", TOO_MUCH)
    if tables > MOST_TABLES:
        raise CatalogueError(f"a statement may read {MOST_TABLES} tables at most", TOO_MUCH)
    if joined > MOST_JOINED:
        raise CatalogueError(f"a statement may join {MOST_JOINED} texts at most", TOO_MUCH)


def _ancestors(node: exp.Expr) -> Iterator[exp.Expr]:
    while node.parent is not None:
        node = node.parent
        yield node


def _is_macro(node: exp.Expr) -> bool:
    if isinstance(node, exp.Cast):
        return type_name(node.args["to"]) in OBJECT_NAMES | VECTORS
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else ""
    found = ABOUT.get(name) or PLAIN.get(name)
    return found is not None and (found.target.startswith("cae_") or not found.target)


def _joins(node: exp.Expr) -> bool:
    called = isinstance(node, exp.Anonymous) and str(node.this).lower() in _JOINING
    return called or isinstance(node, exp.DPipe)
