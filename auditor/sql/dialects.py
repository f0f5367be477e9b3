"""The dialect that a statement is written in: the first thing that happens to its text.

Promises DuckDB's SQL with the meaning that the statement has in its dialect, or a refusal. Which parts of it
are answered is decided afterwards, from what comes out of here.
"""

from __future__ import annotations

from typing import Literal

from auditor.sql.rules.write_rows import as_select
from auditor.sql.schema import Schema
from auditor.sql.understood import NotUnderstood

Dialect = Literal["duckdb", "postgres"]
"""Names of the dialects, as policies and connections spell them."""


def translate(text: str, dialect: Dialect, schema: Schema) -> str:
    """A statement in DuckDB's SQL.

    Args:
        text: One statement.
        dialect: What it is written in.
        schema: The tables and types that it may name.

    Raises:
        NotUnderstood: if it does not parse, or means something that cannot be carried over.
    """
    text = as_select(text)
    if dialect == "duckdb":
        return text
    from auditor.sql.postgres import translate as translate_postgres

    try:
        return translate_postgres(text, schema)
    except RecursionError:
        raise NotUnderstood("too-large") from None
