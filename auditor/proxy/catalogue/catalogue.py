"""One server's catalogue: answers statements about tables and types from a database that holds nothing else.

Promises that an answer depends on the schema, the database's name, the users' names, the statement and the
session alone; that a statement takes bounded time, rows and memory; and that whatever a client sends, nothing
but a `Listing`, None or a `CatalogueError` comes out. Thread-safe.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TypeVar

import duckdb
import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import SqlglotError

from auditor.data.running import LargeResult, Limits, fetch, watched
from auditor.proxy.catalogue.building import build
from auditor.proxy.catalogue.columns import Columns, annotate
from auditor.proxy.catalogue.errors import NO_COLUMN, TOO_DEEP, TOO_MUCH, TOO_SLOW, CatalogueError
from auditor.proxy.catalogue.objects import PUBLIC, Described, described
from auditor.proxy.catalogue.parameters import kinds, unknown
from auditor.proxy.catalogue.reading import Subject, read_statement, subject
from auditor.proxy.catalogue.relations import relations, type_oids
from auditor.proxy.catalogue.session import Change, Context
from auditor.proxy.catalogue.shaping import shape
from auditor.proxy.catalogue.showing import Names, shown
from auditor.proxy.catalogue.translating import Translated, translate
from auditor.proxy.values.results import ResultType
from auditor.sql.schema import Schema, Table
from auditor.sql.time_zones import session_zone

LIMITS = Limits(seconds=5.0, rows=100_000, bytes=32 << 20)
"""Of one statement."""
MIXED = CatalogueError(
    "a statement that reads tables of the catalogue and others together is not answered",
    hint="Ask for the two apart.",
)
_Result = TypeVar("_Result")
_RAISED = re.compile(r"cae:(\w{5}):(.*)", re.DOTALL)


@dataclass(frozen=True)
class Listing:
    """What the catalogue answers."""

    names: tuple[str, ...]
    """Of the columns, as PostgreSQL names them; they may repeat."""
    types: tuple[ResultType, ...]
    """Of the columns, as `auditor.proxy.values` takes them."""
    rows: pa.Table
    """The columns in that order; names of objects and vectors are texts already."""
    changes: tuple[Change, ...] = ()
    """Settings that the statement changed by set_config, in order."""


@dataclass(frozen=True)
class Description:
    """What a statement will answer, before its parameters are known."""

    parameters: tuple[int, ...]
    """OIDs of the parameters' types."""
    names: tuple[str, ...]
    types: tuple[ResultType, ...]


class Catalogue:
    """The catalogue of one database."""

    def __init__(
        self,
        schema: Schema,
        database: str,
        users: Sequence[str] = (),
        version: str = "15.0",
        administration: Sequence[Table] = (),
        limits: Limits = LIMITS,
    ) -> None:
        """Make it; takes a second.

        Args:
            schema: What users may ask about.
            database: The database's name.
            users: Names of those who may log in.
            version: The version of PostgreSQL that is imitated, as `server_version` says it.
            administration: Tables that administrators see besides, such as `cae_sql.risk`.
            limits: Of one statement.
        """
        self._database, self._version, self._limits = database, version, limits
        self._everyone = _Side(described(schema), database, users)
        self._administrators = (
            _Side(described(schema, administration), database, users) if administration else self._everyone
        )

    def answer(self, sql: str, parameters: Sequence[object] | None, context: Context) -> Listing | None:
        """Answer a statement, if it is about the catalogue.

        Args:
            sql: One statement in PostgreSQL's SQL.
            parameters: Values of `$1`, `$2`, …: None, bool, int, str, date, UUID or a list of such.
            context: The session.

        Returns:
            None if the statement is about something else.

        Raises:
            CatalogueError: if it is about the catalogue, and is not answered.
        """
        with _saying(sql):
            return self._answer(sql, parameters, context)

    def _answer(self, sql: str, parameters: Sequence[object] | None, context: Context) -> Listing | None:
        side = self._side(context)
        tree = side.read(sql)
        if tree is None:
            return None
        translated = self._translated(tree, parameters or (), context)
        types, table = side.run(translated, self._limits, context.zone)
        columns, kinds_found = shown(table, types, translated.columns, side.names)
        names = tuple(name for name, _ in _named(translated.columns, table.column_names))
        return Listing(names, kinds_found, columns, translated.changes)

    def describe(self, sql: str, types: Sequence[int], context: Context) -> Description | None:
        """Say what a statement will answer; parameters as in `answer`, None if it is about something else.

        Args:
            sql: One statement in PostgreSQL's SQL.
            types: OIDs of the parameters' types as the client stated them; 0 where it did not.
            context: The session.

        Raises:
            CatalogueError: as `answer`.
        """
        with _saying(sql):
            return self._describe(sql, types, context)

    def _describe(self, sql: str, types: Sequence[int], context: Context) -> Description | None:
        side = self._side(context)
        tree = side.read(sql)
        if tree is None:
            return None
        found = _guarded(lambda: _parameter_kinds(tree))
        if found and max(found) > 1_000:
            raise CatalogueError("a statement may have 1000 parameters at most", TOO_MUCH)
        names = {oid: name for name, oid in type_oids().items()}
        count = max([len(types), *found], default=0)
        stated = [names.get(types[place], "") if place < len(types) else "" for place in range(count)]
        wanted = [stated[place] or found.get(place + 1, "text") for place in range(count)]
        wanted = [each if each in type_oids() else "text" for each in wanted]
        translated = self._translated(tree, [unknown(each) for each in wanted], context)
        duckdb_types, columns = side.describe(translated, self._limits)
        empty = pa.table(
            [pa.array([], pa.int64())] * len(columns), names=[str(i) for i in range(len(columns))]
        )
        _, found_types = shown(empty, duckdb_types, translated.columns, side.names)
        listed = tuple(name for name, _ in _named(translated.columns, columns))
        return Description(tuple(type_oids()[each] for each in wanted), listed, found_types)

    def tables(self, context: Context) -> tuple[Described, ...]:
        """The tables and views that this session sees, with their OIDs and types."""
        return self._side(context).tables

    def close(self) -> None:
        """Forget everything."""
        for side in {id(each): each for each in (self._everyone, self._administrators)}.values():
            side.connection.close()

    def _side(self, context: Context) -> _Side:
        return self._administrators if context.administrator else self._everyone

    def _translated(self, tree: exp.Expr, values: Sequence[object], context: Context) -> Translated:
        names = self._side(context).names
        return _guarded(lambda: translate(tree, values, context, names, self._database, self._version))


@contextmanager
def _saying(sql: str) -> Iterator[None]:
    """Whatever is not answered says what was asked."""
    try:
        yield
    except CatalogueError as error:
        error.statement = sql
        raise


def _guarded(work: Callable[[], _Result]) -> _Result:
    """Run what works on a tree; what sqlglot does not understand is an error like any other."""
    try:
        return work()
    except RecursionError:
        raise CatalogueError("the statement is nested too deeply", TOO_DEEP) from None
    except (SqlglotError, AttributeError, IndexError, KeyError, TypeError, ValueError):
        # A node of an unusual shape: the allow-list knows classes, not all of their arguments.
        raise CatalogueError("the statement could not be read") from None


def _parameter_kinds(tree: exp.Expr) -> dict[int, str]:
    annotate(tree, relations())
    return kinds(tree)


def _named(columns: Columns, found: Sequence[str]) -> Columns:
    """Names of the result: PostgreSQL's where they are known, else DuckDB's."""
    if len(columns) != len(found):
        return [(name, "") for name in found]
    return [(name or found[place], kind) for place, (name, kind) in enumerate(columns)]


class _Side:
    """The catalogue as administrators, or as all others, see it."""

    def __init__(self, tables: Sequence[Described], database: str, users: Sequence[str]) -> None:
        self.tables = tuple(tables)
        self.connection = build(tables, database, users)
        self.names = Names.of(self.connection)
        self._own = {table.name for table in tables if table.schema == PUBLIC}
        self._lock = threading.Lock()

    def read(self, sql: str) -> exp.Expr | None:
        """The tree of a statement about the catalogue."""
        tree = read_statement(sql)
        if tree is None:
            return None
        about = _guarded(lambda: subject(tree, self._own))
        if about is Subject.MIXED:
            raise CatalogueError(MIXED.message, hint=MIXED.hint)
        return _guarded(lambda: shape(tree)) if about is Subject.CATALOGUE else None

    def run(self, translated: Translated, limits: Limits, zone: str) -> tuple[list[str], pa.Table]:
        """DuckDB's types and the rows of a statement."""
        with self._cursor(limits) as cursor:
            cursor.execute(f"SET SESSION TimeZone = '{session_zone(zone).engine}'")
            types = [str(each) for each in cursor.sql(translated.sql).types]
            return types, fetch(cursor, translated.sql, limits)

    def describe(self, translated: Translated, limits: Limits) -> tuple[list[str], list[str]]:
        """DuckDB's types and names of the columns of a statement, which does not run."""
        with self._cursor(limits) as cursor:
            relation = cursor.sql(translated.sql)
            return [str(each) for each in relation.types], list(relation.columns)

    @contextmanager
    def _cursor(self, limits: Limits) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor for one statement, whose time is limited."""
        with self._lock:
            cursor = self.connection.cursor()
        with closing(cursor), watched(cursor, limits.seconds) as watch:
            try:
                yield cursor
            except LargeResult:
                raise CatalogueError("the result is too large for the catalogue", TOO_MUCH) from None
            except (duckdb.Error, pa.ArrowException, RuntimeError) as error:
                raise _told(error, watch.expired) from None


def _told(error: Exception, expired: bool) -> CatalogueError:
    if expired:
        return CatalogueError("canceling statement due to statement timeout", TOO_SLOW)
    text = str(error)
    raised = _RAISED.search(text)
    if raised:
        return CatalogueError(raised[2].strip(), raised[1])
    if isinstance(error, duckdb.BinderException) and "eferenced column" in text:
        return CatalogueError(text.splitlines()[0].removeprefix("Binder Error: "), NO_COLUMN)
    return CatalogueError("the catalogue does not understand this statement: " + text.splitlines()[0][:200])
