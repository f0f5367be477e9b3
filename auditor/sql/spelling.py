"""Names as statements write them: what a hint names can be copied into a statement of either dialect.

Promises quotes around every name that DuckDB or PostgreSQL would read otherwise without them.
"""

from __future__ import annotations

import re
from functools import cache

from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.postgres import Postgres

from auditor.sql.instance import empty
from auditor.sql.schema import DEFAULT_SCHEMA, Table, quoted

_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")


def written(name: str) -> str:
    """A column's name, quoted if need be.

    >>> written("age"), written("Büro Ort"), written("order")
    ('age', '"Büro Ort"', '"order"')
    """
    return name if _PLAIN.fullmatch(name) and name not in _keywords() else quoted(name)


def written_table(name: str) -> str:
    """A table's name, `table` or `schema.table`, each part quoted if need be."""
    schema, bare = Table(name, ()).path
    return written(bare) if schema == DEFAULT_SCHEMA else f"{written(schema)}.{written(bare)}"


@cache
def _keywords() -> frozenset[str]:
    rows = empty().rows("SELECT keyword_name FROM duckdb_keywords()")
    sqlglots = {*DuckDB.tokenizer_class.KEYWORDS, *Postgres.tokenizer_class.KEYWORDS}
    return frozenset(str(name).lower() for (name,) in rows) | {each.lower() for each in sqlglots}
