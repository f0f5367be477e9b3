"""PostgreSQL's dialect: a statement as PostgreSQL reads it, in DuckDB's words.

    text --reading--> tree with PostgreSQL's functions --queries, scopes--> names and clauses
      --expressions--> values: DuckDB's text with PostgreSQL's type

Promises that what is translated means in DuckDB what it means in PostgreSQL, up to the differences that
`docs/dialects.md` lists; everything else is refused. Safety does not rest on it: the translated text is read
like any other.
"""

from __future__ import annotations

from sqlglot import exp

from auditor.sql.limits import MAX_BYTES
from auditor.sql.postgres import series
from auditor.sql.postgres.queries import translated
from auditor.sql.postgres.reading import read
from auditor.sql.postgres.scopes import Scope
from auditor.sql.schema import Schema
from auditor.sql.understood import NotUnderstood

__all__ = ["translate"]


def translate(text: str, schema: Schema) -> str:
    """A statement of PostgreSQL in DuckDB's SQL.

    Raises:
        NotUnderstood: with the code of the first thing that is not understood.
    """
    tree: exp.Expr = read(text)
    while isinstance(tree, exp.Subquery) and isinstance(tree.this, exp.Query) and not tree.args.get("alias"):
        if any(tree.args.get(each) for each in ("with_", "order", "limit", "offset")):
            break
        tree = tree.this
    series.in_from(tree)
    made = translated(tree, Scope(schema)).text
    if len(made.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise NotUnderstood("too-large")
    return made
