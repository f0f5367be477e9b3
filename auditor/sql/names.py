"""Names: tables that may be read, what names of WITH queries stand for, and what is near to a wrong name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

from sqlglot import exp

from auditor.sql.schema import Schema, folded
from auditor.sql.spelling import written_table


def readable(schema: Schema) -> str:
    """The readable tables, for hints."""
    names = [*(each.name for each in schema.tables), *(each.name for each in schema.views)]
    return ", ".join(map(written_table, names))


def drop_unread(tree: exp.Query) -> None:
    """Leave out WITH queries that nothing reads: DuckDB does not look at them either."""
    dropped = True
    while dropped:
        dropped = False
        read = {id(cte_of(table)) for table in tree.find_all(exp.Table)}
        for with_ in list(tree.find_all(exp.With)):
            kept = [cte for cte in with_.expressions if id(cte) in read]
            if len(kept) < len(with_.expressions):
                dropped = True
                if kept:
                    with_.set("expressions", kept)
                else:
                    with_.pop()


def cte_of(table: exp.Table) -> exp.CTE | None:
    """The WITH query that a table's name stands for, or None."""
    if table.db:
        return None
    node: exp.Expr | None = table
    path = {id(table)}
    while node is not None:
        with_ = node.args.get("with_")
        if isinstance(with_, exp.With):
            visible: list[exp.CTE] = []
            for cte in with_.expressions:
                if id(cte) in path:
                    break
                visible.append(cte)
            for cte in reversed(visible):
                if cte.alias == table.name:
                    return cte
        node = node.parent
        path.add(id(node))
    return None


def nearest(name: str, known: Iterable[str], write: Callable[[str], str] = str) -> str:
    """A hint that lists the names nearest to one that is unknown, as `write` writes them."""
    spelled = {folded(each): write(each) for each in known}
    # a name without its schema is near to all of that name
    alike = [each for each in spelled if each.rpartition(".")[2] == folded(name)]
    near = alike[:3] or difflib.get_close_matches(folded(name), list(spelled), n=3, cutoff=0.5)
    if near:
        return "Did you mean " + " or ".join(spelled[each] for each in near) + "?"
    return "There are: " + ", ".join(list(spelled.values())[:20]) + "."
