"""Which functions a statement about the catalogue may call: the rows of `rows/functions.csv`.

Promises that no other function is reached. `ABOUT` are PostgreSQL's functions about its catalogue and
session: a statement without tables that calls one of them is about the catalogue. `PLAIN` are functions of
values, which say nothing about whose a statement is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from auditor.proxy.catalogue.relations import rows


@dataclass(frozen=True)
class Function:
    """What stands for a function of PostgreSQL."""

    target: str
    """DuckDB's function or macro; empty: `calling` has a rule of its own for it, or it is not called."""
    type: str = ""
    """PostgreSQL's type of its result; empty: read off DuckDB's; "=": that of its first argument."""
    rows: str = ""
    """The relation whose rows it gives in FROM, or, with their types, the columns of which it has none."""


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def _of(*about: str) -> dict[str, Function]:
    """The functions of some parts of the file; in its targets, * stands for the name."""
    return {
        name: Function((row["target"] or "").replace("*", name), row["type"] or "", row["rows"] or "")
        for row in rows("functions")
        if row["about"] in about
        for name in (row["names"] or "").split()
    }


SESSION = frozenset(_of("session"))
"""Functions whose values the session decides; `calling` writes them out."""
ABOUT: Mapping[str, Function] = _of("session", "catalogue")
PLAIN: Mapping[str, Function] = _of("value")
DENIED = words("""
    pg_authid pg_shadow pg_statistic pg_statistic_ext_data pg_user_mapping pg_largeobject
    pg_hba_file_rules pg_ident_file_mappings pg_file_settings pg_config pg_backend_memory_contexts
    pg_shmem_allocations pg_replication_origin_status
""")
"""Relations that PostgreSQL shows to superusers only."""
