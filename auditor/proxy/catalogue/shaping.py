"""What is written in FROM, in one shape: functions become relations or subqueries, before types are found.

Promises a tree that means the same, in which a function stands in FROM only where it spreads an array or a
series.
"""

from __future__ import annotations

from sqlglot import exp

from auditor.proxy.catalogue.columns import ACCESS
from auditor.proxy.catalogue.functions import ABOUT, PLAIN, words
from auditor.proxy.catalogue.relations import CATALOG, fields_of, rows

_SETTINGS = frozenset(str(row["name"]) for row in rows("pg_settings"))
_SPREADING = words("unnest generate_series generate_subscripts _pg_expandarray pg_get_keywords cae_keywords")


def shape(tree: exp.Expr) -> exp.Expr:
    """Bring the functions in FROM into shape; the tree is changed."""
    for node in list(tree.find_all(exp.Lateral, exp.Table)):
        function = node.this
        if not isinstance(function, exp.Anonymous):
            continue
        made = _made(function, node.args.get("alias"))
        if made is None:
            continue
        made.set("joins", node.args.get("joins"))
        node.replace(made)  # DuckDB's subqueries see the tables before them without LATERAL
    if isinstance(tree, exp.Select) and _sets_what_there_is(tree):
        tree.set("from_", None)
        tree.set("where", None)
    return tree


def _sets_what_there_is(tree: exp.Select) -> bool:
    """Whether set_config() is asked for where a setting exists, as pgAdmin asks, and there is one."""
    from_, where = tree.args.get("from_"), tree.args.get("where")
    if (
        from_ is None
        or where is None
        or not isinstance(from_.this, exp.Table)
        or from_.this.args.get("joins")
    ):
        return False
    if any(value for key, value in tree.args.items() if key not in ("expressions", "from_", "where")):
        return False
    same = where.this
    return (
        from_.this.name.lower() == "pg_settings"
        and isinstance(same, exp.EQ)
        and isinstance(same.this, exp.Column)
        and same.this.name.lower() == "name"
        and isinstance(same.expression, exp.Literal)
        and same.expression.name in _SETTINGS
        and all(each.find(exp.Anonymous) and not each.find(exp.Column) for each in tree.expressions)
    )


def _made(function: exp.Anonymous, alias: exp.TableAlias | None) -> exp.Expr | None:
    """What stands for a function in FROM; None if it stays."""
    name = str(function.this).lower()
    called = alias if alias is not None and alias.this else None
    shown = called.this.copy() if called is not None else exp.to_identifier(name)
    named = exp.TableAlias(this=shown, columns=list(called.args.get("columns") or ()) if called else [])
    known = ABOUT.get(name) or PLAIN.get(name)
    given = known.rows if known is not None else ""
    if ":" in given:
        nulls = [
            (each.name, exp.DataType.build(each.type, dialect="postgres", udt=True))
            for each in fields_of(given)
        ]
        columns = [exp.alias_(exp.Cast(this=exp.null(), to=kind), each) for each, kind in nulls]
        return exp.Subquery(this=exp.Select(expressions=columns).where(exp.false()), alias=named)
    if given:
        # What such a function takes is not looked at.
        return exp.Table(this=exp.to_identifier(given), db=exp.to_identifier(CATALOG), alias=named)
    if name == "aclexplode":
        inner = exp.Select(expressions=[exp.alias_(function.copy(), "cae_item")])
        fields = [
            exp.alias_(
                exp.Dot(this=exp.paren(exp.column("cae_item")), expression=exp.to_identifier(each)), each
            )
            for each in ACCESS
        ]
        return exp.Subquery(
            this=exp.Select(expressions=fields).from_(inner.subquery("cae_items")), alias=named
        )
    if name in _SPREADING or known is None:
        return None
    # A column is called as the table is, unless it has a name of its own.
    column = exp.alias_(function.copy(), shown.copy())
    return exp.Subquery(this=exp.Select(expressions=[column]), alias=named)
