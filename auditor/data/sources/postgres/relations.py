"""Which table a name means, and what else holds its rows.

Promise: a name is looked for as PostgreSQL does, by the role's search path, and one that two tables could
mean is an error. Of the tables that a policy names no two have a row in common by a view, a materialised view
or a partition, unless all are read for one protected table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from auditor.data.sources.postgres.columns import Carried, carried
from auditor.data.sources.wanted import Needed, same
from auditor.errors import DatabaseError
from auditor.sql.names import nearest
from auditor.sql.schema import folded, quoted

if TYPE_CHECKING:
    import psycopg

_OWN = ("pg_catalog", "information_schema", "pg_toast")
"""Schemas whose tables tell of others: `pg_stats` has the most common values of every column."""
_KINDS = "rpvmf"
"""Tables, partitioned ones, views, materialised views and foreign tables, as `pg_class.relkind` has them."""
_NAMED = b"""
SELECT c.oid::bigint, n.nspname, c.relname, array_position(pg_catalog.current_schemas(false), n.nspname)
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind = ANY (%(kinds)s) AND lower(c.relname) = lower(%(name)s) AND CASE WHEN %(schema)s = ''
    THEN n.nspname = ANY (pg_catalog.current_schemas(false)) ELSE lower(n.nspname) = lower(%(schema)s) END
"""
_ALL = b"""
SELECT CASE WHEN n.nspname = ANY (pg_catalog.current_schemas(false)) THEN c.relname
    ELSE n.nspname || '.' || c.relname END
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind = ANY (%(kinds)s) AND n.nspname NOT IN ('pg_catalog', 'information_schema')
    AND n.nspname NOT LIKE 'pg\\_%%' AND pg_catalog.has_table_privilege(c.oid, 'SELECT') ORDER BY 1
"""
_COLUMNS = b"""
WITH RECURSIVE kind AS (
    SELECT attnum, attname, atttypid AS type, atttypmod AS modifier FROM pg_catalog.pg_attribute
    WHERE attrelid = %(oid)s::bigint::oid AND attnum > 0 AND NOT attisdropped
    UNION ALL
    SELECT k.attnum, k.attname, t.typbasetype, t.typtypmod
    FROM kind AS k JOIN pg_catalog.pg_type AS t ON t.oid = k.type WHERE t.typtype = 'd')
SELECT k.attname,
    CASE WHEN t.typtype = 'e' THEN 'enum' WHEN n.nspname = 'pg_catalog' THEN t.typname ELSE '' END,
    k.modifier,
    ARRAY(SELECT e.enumlabel::text FROM pg_catalog.pg_enum AS e WHERE e.enumtypid = t.oid
        ORDER BY e.enumsortorder),
    pg_catalog.format_type(t.oid, NULL),
    pg_catalog.has_column_privilege(%(oid)s::bigint::oid, k.attnum, 'SELECT')
FROM kind AS k JOIN pg_catalog.pg_type AS t ON t.oid = k.type JOIN pg_catalog.pg_namespace AS n
    ON n.oid = t.typnamespace WHERE t.typtype <> 'd' ORDER BY k.attnum
"""
_GENERATED = b"""
SELECT a.attname, r.attname FROM pg_catalog.pg_attribute AS a
JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
JOIN pg_catalog.pg_depend AS p ON p.classid = 'pg_catalog.pg_attrdef'::regclass AND p.objid = d.oid
    AND p.refclassid = 'pg_catalog.pg_class'::regclass AND p.refobjid = a.attrelid
JOIN pg_catalog.pg_attribute AS r ON r.attrelid = a.attrelid AND r.attnum = p.refobjsubid
WHERE a.attrelid = %(oid)s::bigint::oid AND a.attgenerated <> '' AND r.attnum <> a.attnum
"""
_READS = b"""
WITH RECURSIVE reads AS (
    SELECT %(oid)s::bigint::oid AS oid
    UNION
    SELECT x.oid FROM reads AS r, LATERAL (
        SELECT d.refobjid AS oid FROM pg_catalog.pg_rewrite AS w JOIN pg_catalog.pg_depend AS d
            ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = w.oid
            AND d.refclassid = 'pg_catalog.pg_class'::regclass
        WHERE w.ev_class = r.oid
        UNION ALL SELECT i.inhrelid FROM pg_catalog.pg_inherits AS i WHERE i.inhparent = r.oid) AS x)
SELECT r.oid::bigint, r.oid < 16384 OR EXISTS (
    SELECT FROM pg_catalog.pg_rewrite AS w JOIN pg_catalog.pg_depend AS d
        ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = w.oid
        AND d.refclassid IN ('pg_catalog.pg_proc'::regclass, 'pg_catalog.pg_operator'::regclass)
    WHERE w.ev_class = r.oid)
FROM reads AS r
"""


@dataclass(frozen=True)
class Relation:
    """A table of the server."""

    needed: Needed
    oid: int
    full: str
    """As SQL names it there."""
    columns: tuple[Carried, ...]
    """Those that are read."""


def found(connection: psycopg.Connection[Any], name: str, needed: Needed) -> Relation:
    """The table that is meant, and how it is read.

    Args:
        connection: The server's, in its transaction.
        name: The server's, for messages.
        needed: What is meant.

    Raises:
        DatabaseError: there is none, or several, or the role may not read it whole.
    """
    schema, _, bare = same(needed.table).rpartition(".")
    written = needed.table.rpartition(".")[2]
    asked = {"kinds": list(_KINDS), "name": bare, "schema": schema}
    rows = connection.execute(_NAMED, asked).fetchall()
    if not rows:
        known = [str(row[0]) for row in connection.execute(_ALL, asked).fetchall()]
        near = nearest(needed.table, known) if known else "The role may read none."
        raise DatabaseError(f"{name} has no table {needed.table}. {near}")
    first = min(row[3] or 0 for row in rows)
    rows = [row for row in rows if (row[3] or 0) == first]
    rows = [row for row in rows if row[2] == written] or rows
    if len(rows) > 1:
        raise DatabaseError(f"{name} has tables {rows[0][2]} and {rows[1][2]}; write one as it is spelled")
    oid, home, relation, _ = rows[0]
    if home in _OWN:
        raise DatabaseError(
            f"{needed.table} is the server's own, and may tell what is in others; leave it out"
        )
    _whole(connection, name, needed, oid)
    return Relation(
        needed, oid, f"{quoted(home)}.{quoted(relation)}", _columns(connection, name, needed, oid)
    )


def _whole(connection: psycopg.Connection[Any], name: str, needed: Needed, oid: int) -> None:
    ((active,),) = connection.execute(
        b"SELECT pg_catalog.row_security_active(%s::bigint::oid)", [oid]
    ).fetchall()
    if active:
        raise DatabaseError(
            f"{name} shows the role a part of table {needed.table} only (row security); read it as a role "
            "with BYPASSRLS"
        )


def _columns(connection: psycopg.Connection[Any], name: str, needed: Needed, oid: int) -> tuple[Carried, ...]:
    rows = {row[0]: row for row in connection.execute(_COLUMNS, {"oid": oid}).fetchall()}
    read = []
    for column in needed.chosen(list(rows)):
        _, type_, modifier, labels, shown, allowed = rows[column]
        if not allowed:
            raise DatabaseError(
                f"{name} does not let the role read column {column} of table {needed.table}; "
                f"GRANT SELECT ON {needed.table} to it"
            )
        how = carried(column, type_, modifier, tuple(labels))
        if how is None:
            raise DatabaseError(
                f"column {column} of table {needed.table} has PostgreSQL's type {shown}, which is not "
                "carried over; leave it out of public, or name a view that casts it"
            )
        read.append(how)
    _not_computed(connection, needed, oid, [each.name for each in read])
    return tuple(read)


def _not_computed(connection: psycopg.Connection[Any], needed: Needed, oid: int, read: Sequence[str]) -> None:
    for column, of in connection.execute(_GENERATED, {"oid": oid}).fetchall():
        if column in read and needed.protects(of) and not needed.protects(column):
            raise DatabaseError(
                f"column {column} of table {needed.table} is computed from a protected column, so it cannot "
                "be public; list the public columns without it"
            )


def require_apart(connection: psycopg.Connection[Any], relations: Sequence[Relation]) -> None:
    """Check that no protected table's rows come in by another table too.

    Raises:
        DatabaseError: answers about the two would not be counted together, or one would be shown whole.
    """
    if len(relations) < 2:
        return
    reads: dict[int, set[int]] = {}
    for each in relations:
        rows = connection.execute(_READS, {"oid": each.oid}).fetchall()
        if any(calls for _, calls in rows):
            raise DatabaseError(
                f"{each.needed.table} calls a function, or reads the server's own tables, and may so show "
                "what is protected; copy what it shows into a table"
            )
        reads[each.oid] = {oid for oid, _ in rows}
    for one, other in combinations(relations, 2):
        if not (one.needed.protected or other.needed.protected):
            continue
        if folded(one.full) == folded(other.full) or reads[one.oid] & reads[other.oid]:
            raise DatabaseError(
                f"tables {one.needed.table} and {other.needed.table} have rows in common, and one of them is "
                "protected; name one alone"
            )
