"""Opening: from a source to a locked public instance and the exact protected values.

Promises that the source is let go again, that the public instance never stores a
protected value, that no view shows a protected column under another name, and that rows and record numbers
follow what can be read of the public columns, down to the binary form of values that are equal and differ.
Rows that nobody can tell apart follow their key, then a digest of the value, which nothing but the
fingerprint can see. The order of rows in the source counts nowhere. Runs before any client's text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal

import duckdb
import numpy as np
import pyarrow as pa

from auditor.data import arrow, vault
from auditor.data.celled import Made, make
from auditor.data.cells import Celled, group
from auditor.data.far_moments import marked
from auditor.data.ordering import finer, told_apart
from auditor.data.python_values import python_values
from auditor.data.sources import Celling, Needed, Protection, Source, Wanted, celling, wanted_of
from auditor.data.vault import Vault
from auditor.errors import DatabaseError
from auditor.sql import macros
from auditor.sql.names import nearest
from auditor.sql.schema import Column, Protected, Schema, Table, folded, quoted
from auditor.sql.shape import DATA
from auditor.sql.views import Stored

_SOURCE = "source"
_SORTED = "sorted"


@dataclass(frozen=True, eq=False)
class Loaded:
    """An opened database."""

    connection: duckdb.DuckDBPyConnection
    """The public instance, locked."""
    schema: Schema
    """What statements may name."""
    vaults: tuple[Vault, ...]
    """By protected column, in the order of the schema's."""
    fingerprint: str
    """Hash of the content."""
    cells: Celled
    """The cells of the protected tables."""


def load(
    source: Source,
    protects: Sequence[Protection],
    public_tables: Sequence[str],
    views: Sequence[str],
    memory_limit: str,
    cells: Celling | None = None,
) -> Loaded:
    """Open a source. Arguments and errors as for `Database.open`."""
    # No folder for what memory cannot hold: by default it is in the working directory, for all to read.
    connection = duckdb.connect(":memory:", config={"memory_limit": memory_limit, "temp_directory": ""})
    try:
        wanted = wanted_of(protects, public_tables, views, cells)
        if cells is not None:
            celling.begin(connection)
        source.attach(connection, _SOURCE, wanted)
        loaded = _Loader(connection, source.name, wanted).load(protects, public_tables, views)
        connection.execute(f"DETACH {_SOURCE}")
        if cells is not None:
            connection.execute(f"DETACH {celling.CATALOG}")
        for macro in macros.STATEMENTS:
            connection.execute(macro)
        if any(told_apart(connection, each, f"{DATA}.{quoted(each.name)}") for each in loaded.schema.tables):
            # Which of two equal values stands for both in a group hangs on which thread meets it first.
            connection.execute("SET threads = 1")
        # What reckons in a time zone gives the same on every machine; who asks in another one has it on the
        # cursor that runs the statement alone. In this order: without external access the next settings
        # could no longer be made.
        connection.execute(
            "SET GLOBAL TimeZone = 'UTC'; SET temp_directory = ''; SET allowed_configs = ['TimeZone']; "
            "SET enable_external_access = false; SET lock_configuration = true"
        )
    except DatabaseError:
        connection.close()
        raise
    except duckdb.Error as error:
        connection.close()
        raise DatabaseError(f"{source.name} could not be read: {str(error).splitlines()[0]}") from None
    return loaded


@dataclass(frozen=True)
class _Confidential:
    """A table with protected columns, as found in the source."""

    name: str
    shown: tuple[Column, ...]
    protected: tuple[Column, ...]
    key: Column | None
    unit: Column | None
    """Whose rows they are."""
    order: tuple[str, ...]
    finer: tuple[str, ...]
    """What orders rows that are equal in all public columns and can be told apart."""
    finer_key: tuple[str, ...]
    """The same for the key."""
    needed: Needed
    """What is wanted of it."""


class _Loader:
    """Reads tables of the attached source into the public instance."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, name: str, wanted: Wanted) -> None:
        self._connection, self._wanted = connection, wanted
        self._stored = Stored(connection, _SOURCE, name)
        connection.execute(f"CREATE SCHEMA {DATA}")

    def load(
        self, protects: Sequence[Protection], public_tables: Sequence[str], views: Sequence[str]
    ) -> Loaded:
        """Copy the tables and read the vaults."""
        held = self._confidential(protects)
        self._stored.require_apart([each.name for each in held])
        tables, protected, vaults = [], list[Protected](), list[Vault]()
        keys: list[pa.ChunkedArray] = []
        made = list[Made]()
        for each in held:
            if each.needed.lattices and not each.needed.by_value:
                taken = [
                    *(other.name for other in held),
                    *public_tables,
                    *(other.table.name for other in made),
                ]
                found = self._made(each, taken)
                made.append(found)
                tables.append(Table(each.name, found.columns, each.order))
                protected += [Protected(each.name, column.name, column.type) for column in each.protected]
                vaults += found.vaults
                continue
            tables.append(Table(each.name, self._marked(each), each.order))
            with self._sorted(each) as source:
                for column in each.protected:
                    vault_, named = self._vault(each, column, source)
                    protected.append(Protected(each.name, column.name, column.type))
                    vaults.append(vault_)
                    keys += [] if named is None else [named]
                self._copy_protected(each, source)
        confidential = {each.name for each in held}
        # what a protected view reads holds the protected values, too
        confidential |= {read for each in held for read in self._stored.read_by(each.name)}
        for other in dict.fromkeys(self._stored.table(each) for each in public_tables):
            if other in confidential:
                raise DatabaseError(
                    f"table {other} is protected, or holds what is, and cannot be public as well"
                )
            self._stored.require_public(other, confidential)
            tables.append(Table(other, tuple(self._columns(other))))
            self._connection.execute(
                f"CREATE TABLE {DATA}.{quoted(other)} AS SELECT * FROM {self._source(other)} "
                f"ORDER BY {self._whole_order(other)}"
            )
        # in the policy's order, whatever tables the columns are of
        order = self._positions(protects, protected)
        tables = [marked(self._connection, each, f"{DATA}.{quoted(each.name)}") for each in tables]
        schema = Schema(tuple(tables), tuple(protected[i] for i in order), self._stored.views(views))
        ordered = tuple(vaults[i] for i in order)
        fingerprint = _fingerprint(self._connection, schema, ordered, keys, made)
        of_protected = [cells for each in made for cells in each.cells]
        celled = (
            Celled(
                {folded(each.name): each.table for each in made},
                tuple(of_protected[i] for i in order),
                {folded(each.name): each.rows for each in made},
            )
            if made
            else group(self._connection, schema)
        )
        return Loaded(self._connection, schema, ordered, fingerprint, celled)

    def _made(self, table: _Confidential, taken: Sequence[str]) -> Made:
        """A table that exists as cells alone: made by its source, or here of a DuckDB file's."""
        connection, needed = self._connection, table.needed
        if not celling.is_there(connection, needed.table):
            listed = ", ".join(quoted(each.name) for each in (*table.shown, *table.protected))
            celling.put(connection, None, needed, f"SELECT {listed} FROM {self._source(table.name)}")
        return make(connection, needed, table.name, table.shown, table.protected, taken)

    def _confidential(self, protects: Sequence[Protection]) -> list[_Confidential]:
        """The tables that hold protected columns, each once."""
        by_table: dict[str, list[Protection]] = {}
        for protect in protects:
            by_table.setdefault(self._stored.table(protect.table), []).append(protect)
        return [self._one(name, group) for name, group in by_table.items()]

    def _one(self, name: str, group: Sequence[Protection]) -> _Confidential:
        columns = self._columns(name)
        protected = [_column(columns, protect.column, name) for protect in group]
        if len({each.name for each in protected}) < len(protected):
            raise DatabaseError(f"column {protected[0].name} of table {name} is protected twice")
        shown = {self._shown(columns, protected, protect.public, name) for protect in group}
        if len(shown) > 1:
            raise DatabaseError(
                f"table {name} is given different public columns by its protected columns; list the same"
            )
        for each in protected:
            if not vault.supported(each.type):
                raise DatabaseError(
                    f"column {each.name} has type {each.type}, which is not supported: "
                    "integers, DECIMAL, DOUBLE, FLOAT and BOOLEAN are"
                )
        named = {_column(columns, protect.key, name) for protect in group if protect.key is not None}
        if len(named) > 1:
            raise DatabaseError(f"table {name} is given different keys; name one")
        units = {_column(columns, protect.unit, name) for protect in group if protect.unit is not None}
        if len(units) > 1:
            raise DatabaseError(f"table {name} is given different units; name one")
        readable = shown.pop()
        for computed in self._stored.computed(name, [each.name for each in protected]):
            if computed in [each.name for each in readable]:
                raise DatabaseError(
                    f"column {computed} of table {name} is computed from a protected column, so it cannot be "
                    "public; list the public columns without it"
                )
        order = tuple(each.name for each in columns if each in readable or each in protected)
        key = next(iter(named), None)
        source = self._source(name)
        told_apart = finer(self._connection, source, [each.name for each in readable])
        by_key = [] if key is None else finer(self._connection, source, [key.name])
        needed = next(
            each for each in self._wanted.tables if self._stored.table(each.table) == name and each.protected
        )
        if needed.by_value:
            celling.require_few(self._connection, needed.table, f"SELECT count(*) FROM {source}")
        return _Confidential(
            name,
            readable,
            tuple(protected),
            key,
            next(iter(units), None),
            order,
            tuple(told_apart),
            tuple(by_key),
            needed,
        )

    def _shown(
        self,
        columns: Sequence[Column],
        protected: Sequence[Column],
        public: Sequence[str] | Literal["all"],
        name: str,
    ) -> tuple[Column, ...]:
        if public == "all":
            return tuple(each for each in columns if each not in protected)
        wanted = {_column(columns, each, name) for each in public}
        for each in protected:
            if each in wanted:
                raise DatabaseError(f"column {each.name} cannot be protected and public")
        return tuple(each for each in columns if each in wanted)

    def _marked(self, table: _Confidential) -> tuple[Column, ...]:
        """The public columns, those that tell all rows apart marked."""
        if not table.shown:
            return ()
        source = self._source(table.name)
        guesses = ", ".join(f"approx_count_distinct({quoted(each.name)})" for each in table.shown)
        (rows, *about) = self._only(f"SELECT count(*), {guesses} FROM {source}")
        # the guess spares the exact count of columns that are far from it
        likely = [each for each, n in zip(table.shown, about, strict=True) if n >= 0.8 * rows]
        if not likely:
            return table.shown
        counts = self._only(
            f"SELECT {', '.join(f'count(DISTINCT {quoted(each.name)})' for each in likely)} FROM {source}"
        )
        unique = {each for each, n in zip(likely, counts, strict=True) if n == rows}
        return tuple(replace(each, unique=each in unique) for each in table.shown)

    def _only(self, sql: str) -> tuple[int, ...]:
        (row,) = self._connection.execute(sql).fetchall()
        return tuple(row)

    def _positions(self, protects: Sequence[Protection], protected: Sequence[Protected]) -> list[int]:
        places = {(each.table, folded(each.column)): i for i, each in enumerate(protected)}
        return [places[self._stored.table(protect.table), folded(protect.column)] for protect in protects]

    def _source(self, name: str) -> str:
        schema, table = Table(name, ()).path
        return f"{_SOURCE}.{quoted(schema)}.{quoted(table)}"

    def _columns(self, name: str) -> list[Column]:
        rows = self._connection.execute(f"DESCRIBE SELECT * FROM {self._source(name)}").fetchall()
        return [Column(str(row[0]), str(row[1])) for row in rows]

    # --- protected tables

    def _whole_order(self, name: str) -> str:
        """An order of all rows of a public table in which ties are rows that are alike."""
        columns = [each.name for each in self._columns(name)]
        return ", ".join([*map(quoted, columns), *finer(self._connection, self._source(name), columns)])

    def _order(self, table: _Confidential, protected: Sequence[Column]) -> str:
        # First all that a statement can read, so that nothing is left to the values where rows can be told
        # apart: which columns of a row have a value is among it. Then the key, so that a unique one decides;
        # and a digest of the value, so that numbers of records that are alike in all else do not rank them.
        shown = [quoted(each.name) for each in table.shown]
        missing = [f"{quoted(each.name)} IS NULL" for each in protected]
        others = [f"{quoted(each.name)} IS NULL" for each in table.protected if each not in protected]
        key = [quoted(each.name) for each in (table.unit, table.key) if each is not None]
        digests = [f"md5(CAST({quoted(each.name)} AS VARCHAR))" for each in protected]
        return ", ".join([*missing, *shown, *others, *table.finer, *key, *table.finer_key, *digests])

    @contextmanager
    def _sorted(self, table: _Confidential) -> Iterator[str | None]:
        """The rows in the order of the table's only protected column, sorted once; None for several columns.

        They stand in a database of its own, which is gone before any client's text is seen.
        """
        if len(table.protected) > 1:
            yield None
            return
        beside = [each for each in (table.key, table.unit) if each is not None]
        columns = dict.fromkeys([*table.shown, *table.protected, *beside])
        self._connection.execute(f"ATTACH ':memory:' AS {_SORTED}")
        try:
            self._connection.execute(
                f"CREATE TABLE {_SORTED}.data AS SELECT {', '.join(quoted(each.name) for each in columns)} "
                f"FROM {self._source(table.name)} ORDER BY {self._order(table, table.protected)}"
            )
            yield f"{_SORTED}.data"
        finally:
            self._connection.execute(f"DETACH {_SORTED}")

    def _vault(
        self, table: _Confidential, column: Column, in_order: str | None
    ) -> tuple[Vault, pa.ChunkedArray | None]:
        value = quoted(column.name)
        keyed = f", {quoted(table.key.name)} AS k" if table.key else ""
        keyed += f", {quoted(table.unit.name)} AS u" if table.unit else ""
        source, order = in_order or self._source(table.name), self._order(table, [column])
        result = self._connection.sql(
            f"SELECT {value} AS v{keyed} FROM {source} WHERE {value} IS NOT NULL "
            f"ORDER BY {'rowid' if in_order else order}"
        ).to_arrow_table()
        if not result.num_rows:
            raise DatabaseError(f"table {table.name} has no row with a value in {column.name}")
        if table.key:
            self._require_unique(table, table.key, f"{source} WHERE {value} IS NOT NULL")
        integers, scale = vault.exact(result.column("v"), column.type, column.name)
        integers.flags.writeable = False
        keys = result.column("k") if table.key else None
        named = None if keys is None else python_values(keys)
        units, names = None, None
        if table.unit is not None:
            units, names = vault.units_of(result.column("u"), table.unit.name)
        key_type = table.key.type if table.key else None
        return Vault(integers, scale, named, key_type, units=units, unit_names=names), keys

    def _require_unique(self, table: _Confidential, key: Column, source: str) -> None:
        rows, names = self._only(f"SELECT count(*), count(DISTINCT {quoted(key.name)}) FROM {source}")
        if names < rows:
            raise DatabaseError(
                f"column {key.name} does not name each record of table {table.name} once, so it is no key: "
                f"{rows:,} records have {names:,} keys. If these are several rows of one person, write "
                f'unit = "{key.name}" in place of key; else name another protect.key'
            )

    def _copy_protected(self, table: _Confidential, in_order: str | None) -> None:
        columns = "".join(f"{quoted(each.name)}, " for each in table.shown)
        target = f"CREATE TABLE {DATA}.{quoted(table.name)} AS SELECT {columns}"
        if in_order:
            # rows without a value come last, so the others' places are their records' numbers
            value = quoted(table.protected[0].name)
            self._connection.execute(
                f"{target}CASE WHEN {value} IS NOT NULL THEN rowid END::BIGINT AS {value} FROM {in_order}"
            )
            return
        numbers = ", ".join(
            f"CASE WHEN {quoted(each.name)} IS NOT NULL "
            f"THEN row_number() OVER (ORDER BY {self._order(table, [each])}) - 1 END::BIGINT "
            f"AS {quoted(each.name)}"
            for each in table.protected
        )
        self._connection.execute(
            f"{target}{numbers} "
            f"FROM {self._source(table.name)} ORDER BY {self._order(table, table.protected)}"
        )


def _fingerprint(
    connection: duckdb.DuckDBPyConnection,
    schema: Schema,
    vaults: Sequence[Vault],
    keys: Sequence[pa.ChunkedArray],
    made: Sequence[Made],
) -> str:
    digest = hashlib.blake2b(digest_size=32)
    digest.update(repr((schema, [each.scale for each in vaults])).encode())
    for each in vaults:
        # of cells, into which units they are split too: a ledger names units by their numbers
        cells = each.cells
        held = (each.integers,) if cells is None else (*cells.columns, cells.units.times)
        for values in held:
            digest.update(values.astype("<i8").tobytes())
        if cells is not None:
            digest.update(cells.units.of_cell.astype("<i8").tobytes())
    for part in _texts(connection, schema, keys, made):
        digest.update(part)
    return digest.hexdigest()


def _texts(
    connection: duckdb.DuckDBPyConnection,
    schema: Schema,
    keys: Sequence[pa.ChunkedArray],
    made: Sequence[Made],
) -> Iterable[bytes | memoryview]:
    """Every public value and key as text, by column, with lengths so that no two contents look alike.

    Of tables that exist as cells alone those of the cells, and how many rows these have.
    """
    columns = []
    cells = {each.name: each.table for each in made}
    for table in schema.tables:
        names, holder = [each.name for each in table.columns], table.name
        if table.name in cells:
            names, holder = [*names, cells[table.name].weight], cells[table.name].name
        for name in names:
            relation = connection.sql(f"SELECT {quoted(name)}::VARCHAR AS c FROM {DATA}.{quoted(holder)}")
            columns.append(relation.to_arrow_table().column("c"))
    for named in keys:
        texts = [None if key is None else str(key) for key in python_values(named)]
        columns.append(pa.chunked_array([arrow.texts(texts)]))
    for each in columns:
        chunks = [arrow.bytes_of(chunk) for chunk in each.chunks]
        lengths = [np.where(there, np.diff(ends), -1) for ends, _, there in chunks]
        yield np.concatenate([np.zeros(0, dtype="<i8"), *lengths]).astype("<i8").tobytes()
        for _, content, _ in chunks:
            yield content


def _column(columns: Sequence[Column], name: str, table: str) -> Column:
    for column in columns:
        if folded(column.name) == folded(name):
            return column
    raise DatabaseError(
        f"table {table} has no column {name}. {nearest(name, [each.name for each in columns])}"
    )
