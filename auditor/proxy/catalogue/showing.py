"""Results as they are sent: names instead of the OIDs of objects, vectors as texts, and PostgreSQL's type
OIDs.

Promises an OID for every column that fits the column's values: where the statement's own type is not certain,
that of DuckDB's type. All are types that `auditor.proxy.values` writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from auditor.proxy.catalogue.columns import Columns
from auditor.proxy.catalogue.errors import CatalogueError
from auditor.proxy.catalogue.functions import words
from auditor.proxy.catalogue.relations import OBJECT_NAMES, VECTORS, stored_as
from auditor.proxy.values.errors import NotRepresentable
from auditor.proxy.values.results import ResultType, result_type
from auditor.proxy.values.types import BY_NAME, array_of

_AS_THEY_ARE = words("""
    bool int2 int4 int8 float4 float8 text varchar name char oid date timestamp timestamptz interval json
    jsonb _bool _int2 _int4 _int8 _text _varchar _name _char _oid
""")
"""Types that are sent under their own OID; others go as what their values are."""

_ERRORS = {
    "regclass": ("42P01", "relation"), "regtype": ("42704", "type"), "regproc": ("42883", "function"),
    "regprocedure": ("42883", "function"), "regnamespace": ("3F000", "schema"),
}  # fmt: skip


@dataclass(frozen=True)
class Names:
    """What OIDs of objects are shown as, and what names of objects mean."""

    texts: Mapping[str, Mapping[int, str]]
    """By type and OID."""
    oids: Mapping[str, Mapping[str, int]]
    """By type and name."""

    @classmethod
    def of(cls, connection: duckdb.DuckDBPyConnection) -> Names:
        """Read them off a catalogue's database."""
        shown_as = {
            "regclass": "SELECT cae_shown_class, cae_shown FROM c.cae_shown_classes",
            "regtype": "SELECT cae_kind, cae_spelled || cae_ending || cae_brackets FROM c.cae_spellings",
            "regproc": "SELECT oid, proname FROM c.pg_proc",
            "regnamespace": "SELECT oid, nspname FROM c.pg_namespace",
        }
        meant = {
            "regclass": "SELECT cae_class_name, arg_min(cae_class, cae_rank) FROM c.cae_classes GROUP BY ALL",
            "regtype": "SELECT cae_type_name, min(cae_type) FROM c.cae_types GROUP BY ALL",
            "regproc": "SELECT proname, min(oid) FROM c.pg_proc GROUP BY ALL",
            "regnamespace": "SELECT nspname, oid FROM c.pg_namespace",
        }
        texts = {kind: dict(connection.execute(query).fetchall()) for kind, query in shown_as.items()}
        oids = {kind: dict(connection.execute(query).fetchall()) for kind, query in meant.items()}
        return cls(
            {**texts, "regprocedure": texts["regproc"], "regrole": {}},
            {**oids, "regprocedure": oids["regproc"]},
        )

    def meant(self, kind: str, text: str) -> int:
        """The OID of an object that a statement names.

        Raises:
            CatalogueError: if there is none.
        """
        if text.isdecimal() and len(text) < 10:
            return int(text)
        if text == "-":
            return 0
        name = text if '"' in text else text.strip().lower()
        if kind != "regclass":
            name = name.replace('"', "").removeprefix("pg_catalog.")
        found = self.oids.get(kind, {}).get(name)
        if found is None:
            state, what = _ERRORS.get(kind, ("42704", "object"))
            raise CatalogueError(f'{what} "{text[:100]}" does not exist', state)
        return found


def shown(
    table: pa.Table, types: Sequence[str], columns: Columns, names: Names
) -> tuple[pa.Table, tuple[ResultType, ...]]:
    """A result as it is sent, and the types of its columns.

    Args:
        table: What DuckDB answers.
        types: DuckDB's types of its columns.
        columns: PostgreSQL's types, as far as they are known.
        names: What OIDs of objects are shown as.

    Raises:
        CatalogueError: for a value that has no type in PostgreSQL.
    """
    known = [kind for _, kind in columns] if len(columns) == len(types) else [""] * len(types)
    made, found = [], []
    for number, (stored, kind) in enumerate(zip(types, known, strict=True)):
        column, type_ = _column(table.column(number), stored, kind, names)
        made.append(column)
        found.append(type_)
    return pa.table(made, names=[str(number) for number in range(len(made))]), tuple(found)


def _column(
    column: pa.ChunkedArray, stored: str, kind: str, names: Names
) -> tuple[pa.ChunkedArray, ResultType]:
    if kind in OBJECT_NAMES and stored == "UINTEGER":
        texts = names.texts[kind]
        found = [
            None if oid is None else texts.get(oid, str(oid) if oid else "-") for oid in column.to_pylist()
        ]
        return pa.chunked_array([pa.array(found, pa.string())]), ResultType(BY_NAME["text"], -1, "VARCHAR")
    if kind in VECTORS and stored == stored_as(kind):
        found = [None if each is None else " ".join(map(str, each)) for each in column.to_pylist()]
        return pa.chunked_array([pa.array(found, pa.string())]), ResultType(BY_NAME["text"], -1, "VARCHAR")
    if stored in ("HUGEINT", "UBIGINT"):
        # Sums of numbers, which PostgreSQL holds in 64 bits.
        try:
            return column.cast(pa.int64()), ResultType(BY_NAME["int8"], -1, "BIGINT")
        except pa.ArrowInvalid:
            raise CatalogueError("a number is out of range", "22003") from None
    certain = kind if kind in _AS_THEY_ARE and stored == stored_as(kind) else ""
    return column, _sent(stored, certain)


def _sent(stored: str, kind: str) -> ResultType:
    """The type of a column by DuckDB's, and PostgreSQL's where it is certain."""
    if stored.endswith("[]"):
        inner = _sent(stored[:-2], kind.removeprefix("_"))
        return ResultType(array_of(inner.type), -1, stored, inner.element or inner)
    if kind:
        return ResultType(BY_NAME[kind], -1, stored)
    if stored == "UINTEGER":
        return ResultType(BY_NAME["oid"], -1, stored)
    if stored.startswith(("STRUCT", "MAP", "UNION")):
        raise CatalogueError("a whole row is not sent", hint="Name its columns.")
    try:
        return result_type(stored)
    except (NotRepresentable, KeyError):
        raise CatalogueError("a row, or a value of this type, is not sent") from None
