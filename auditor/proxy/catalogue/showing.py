"""Results as they are sent: names instead of the OIDs of objects, vectors as texts, and PostgreSQL's type OIDs.

Promises an OID for every column that fits the column's values: where the statement's own type is not certain,
that of DuckDB's type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from auditor.proxy.catalogue.columns import Columns
from auditor.proxy.catalogue.errors import CatalogueError
from auditor.proxy.catalogue.relations import OBJECT_NAMES, VECTORS, stored_as, type_oids

_TEXT = 25
_OF_DUCKDB = {
    "BOOLEAN": "bool", "TINYINT": "int2", "SMALLINT": "int2", "INTEGER": "int4", "BIGINT": "int8", "HUGEINT": "int8",
    "UINTEGER": "oid", "UTINYINT": "int2", "USMALLINT": "int4", "UBIGINT": "int8", "FLOAT": "float4",
    "DOUBLE": "float8", "VARCHAR": "text", "DATE": "date", "TIMESTAMP": "timestamp", "INTERVAL": "interval",
    "TIMESTAMP WITH TIME ZONE": "timestamptz", "TIME": "time", "JSON": "json", '"NULL"': "text", "NULL": "text",
}  # fmt: skip
_AS_THEY_ARE = frozenset("""
    bool int2 int4 int8 float4 float8 text varchar name char oid date timestamp timestamptz interval json jsonb
    _bool _int2 _int4 _int8 _text _varchar _name _char _oid
""".split())
"""Types that are sent under their own OID; others go as what their values are."""

OIDS = frozenset(type_oids()[name] for name in _AS_THEY_ARE | {"numeric", *_OF_DUCKDB.values()})
"""Every OID that a `Listing` may have."""


@dataclass(frozen=True)
class Names:
    """What OIDs of objects are shown as, by type and OID."""

    texts: Mapping[str, Mapping[int, str]]

    @classmethod
    def of(cls, connection: duckdb.DuckDBPyConnection) -> Names:
        """Read them off a catalogue's database."""
        queries = {
            "regclass": "SELECT cae_shown_class, cae_shown FROM c.cae_shown_classes",
            "regtype": "SELECT cae_kind, cae_spelled || cae_ending || cae_brackets FROM c.cae_spellings",
            "regproc": "SELECT oid, proname FROM c.pg_proc",
            "regprocedure": "SELECT oid, proname FROM c.pg_proc",
            "regnamespace": "SELECT oid, nspname FROM c.pg_namespace",
            "regrole": "SELECT NULL, NULL WHERE false",
        }
        return cls({kind: dict(connection.execute(query).fetchall()) for kind, query in queries.items()})


def shown(table: pa.Table, types: Sequence[str], columns: Columns, names: Names) -> tuple[pa.Table, tuple[int, ...]]:
    """A result as it is sent, and its OIDs.

    Args:
        table: What DuckDB answers.
        types: DuckDB's types of its columns.
        columns: PostgreSQL's types, as far as they are known.
        names: What OIDs of objects are shown as.

    Raises:
        CatalogueError: for a value that has no type in PostgreSQL.
    """
    known = [kind for _, kind in columns] if len(columns) == len(types) else [""] * len(types)
    made, oids = [], []
    for number, (stored, kind) in enumerate(zip(types, known, strict=True)):
        column, oid = _column(table.column(number), stored, kind, names)
        made.append(column)
        oids.append(oid)
    return pa.table(made, names=[str(number) for number in range(len(made))]), tuple(oids)


def _column(column: pa.ChunkedArray, stored: str, kind: str, names: Names) -> tuple[pa.ChunkedArray, int]:
    if kind in OBJECT_NAMES and stored == "UINTEGER":
        texts = names.texts[kind]
        found = [None if oid is None else texts.get(oid, "-" if oid == 0 else str(oid)) for oid in column.to_pylist()]
        return pa.chunked_array([pa.array(found, pa.string())]), _TEXT
    if kind in VECTORS and stored == stored_as(kind):
        found = [None if each is None else " ".join(map(str, each)) for each in column.to_pylist()]
        return pa.chunked_array([pa.array(found, pa.string())]), _TEXT
    if kind in _AS_THEY_ARE and stored == stored_as(kind):
        return column, type_oids()[kind]
    if stored.startswith("DECIMAL"):
        return column, type_oids()["numeric"]
    if stored == "HUGEINT":
        return column.cast(pa.int64()) if column.type != pa.null() else column, type_oids()["int8"]
    element = _OF_DUCKDB.get(stored.removesuffix("[]"))
    if element is None:
        raise CatalogueError("a row, or a value of this type, is not sent")
    return column, type_oids()[f"_{element}" if stored.endswith("[]") else element]
