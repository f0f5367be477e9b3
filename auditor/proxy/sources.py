"""What statements are answered from: the catalogue, the administrators' tables, then the gate.

Promises that a statement about data reaches the gate under the name of the user who logged in; that the
administrators' tables are made from `Gate.risk` and `Gate.history` for administrators alone and read in an
instance of their own, without files, network or settings; and that describing a statement looks at no data.
Everything here blocks: a session hands it out as jobs. Thread-safe.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from auditor.errors import AuditorError, QueryRefused, QueryUnsupported
from auditor.proxy import administration, requests
from auditor.proxy.catalogue import Catalogue, CatalogueError, Change, Context
from auditor.proxy.protocol.sqlstate import (
    ErrorFields,
    ProtocolError,
    SqlState,
    notice_of_decision,
    of_error,
)
from auditor.proxy.session.lexing import in_main
from auditor.proxy.session.spelling import listed_arrays, spread, without_casts, without_database
from auditor.proxy.values import types
from auditor.proxy.values.errors import ValueProblem
from auditor.proxy.values.inference import infer
from auditor.proxy.values.placeholders import spaced
from auditor.proxy.values.results import ResultType, result_type
from auditor.sql.explaining import explained

if TYPE_CHECKING:
    from auditor.gate.gate import Gate

MAX_TEXT = 64 << 10
"""Bytes of a statement that is read at all; the gate's own limit."""
_REMEMBERED = 512
_SAMPLES: dict[int, object] = {
    types.BOOL.oid: True,
    **dict.fromkeys((types.INT2.oid, types.INT4.oid, types.INT8.oid, types.OID.oid), 1),
    **dict.fromkeys((types.FLOAT4.oid, types.FLOAT8.oid), 1.5),
    types.NUMERIC.oid: Decimal("1.5"),
    types.DATE.oid: date(2000, 1, 1),
    types.TIME.oid: time(12),
    **dict.fromkeys((types.TIMESTAMP.oid, types.TIMESTAMPTZ.oid), datetime(2000, 1, 1)),
}
"""Values that stand for parameters where a statement is described; for all other types, the text 1."""


@dataclass(frozen=True)
class Result:
    """The rows of an answered statement."""

    names: tuple[str, ...]
    types: tuple[ResultType, ...]
    rows: pa.Table
    notice: ErrorFields | None = None
    """To be said beside the rows."""
    changes: tuple[Change, ...] = ()
    """Settings that the session carries out."""
    code: str = "answered"
    """Of the decision, for the log."""


@dataclass(frozen=True)
class Described:
    """What a statement takes and gives, before it runs."""

    parameters: tuple[int, ...]
    """OIDs of the parameters' types."""
    names: tuple[str, ...] = ()
    types: tuple[ResultType, ...] | None = None
    """None: it cannot be told before the values of the parameters are known."""


class Sources:
    """Everything that one server answers from; what it holds may be renewed while it is used."""

    def __init__(self, gate: Gate, database: str, users: Sequence[str] = ()) -> None:
        """Make the catalogue; takes a second.

        Args:
            gate: The open gate, which is closed with the sources.
            database: The database's name.
            users: Names of those who may log in.
        """
        self.database = database
        self._lock = threading.Lock()
        self._now = _Opened(gate, database, users)
        self._alive = [self._now]

    @property
    def gate(self) -> Gate:
        """The gate that is asked now."""
        return self._now.gate

    def renew(self, users: Sequence[str], gate: Gate | None = None) -> None:
        """Answer from another gate, or show other users, from the next statement on; blocks for a second.

        Statements that run go on with what they began with; then a gate that was replaced is closed.
        """
        try:
            made = _Opened(gate or self._now.gate, self.database, users)
        except BaseException:
            if gate is not None:
                gate.close()
            raise
        with self._lock:
            self._now = made
            self._alive.append(made)
        self._clear()

    def cancel(self, thread: int) -> None:
        """Interrupt the statement that a thread runs, as `Gate.cancel`."""
        with self._lock:
            gates = [each.gate for each in self._alive]
        for gate in gates:
            gate.cancel(thread)

    def ahead(self, thread: int) -> int | None:
        """How many decisions come before a thread's own, as `Gate.ahead`."""
        with self._lock:
            gates = [each.gate for each in self._alive]
        return next((ahead for gate in gates if (ahead := gate.ahead(thread)) is not None), None)

    def close(self) -> None:
        """Forget the catalogue, and close the gate."""
        with self._lock:
            alive, self._alive = self._alive, []
        for each in alive:
            each.catalogue.close()
            each.gate.close()

    @contextmanager
    def _used(self) -> Iterator[_Opened]:
        with self._lock:
            found = self._now
            found.uses += 1
        try:
            yield found
        finally:
            with self._lock:
                found.uses -= 1
            if found is not self._now:
                self._clear()

    def _clear(self) -> None:
        """Close what nothing uses any more."""
        with self._lock:
            over = [each for each in self._alive if each is not self._now and not each.uses]
            self._alive = [each for each in self._alive if each not in over]
            kept = {id(each.gate) for each in self._alive}
        for each in over:
            each.catalogue.close()
            if id(each.gate) not in kept:
                each.gate.close()

    def answer(self, sql: str, values: Sequence[object], context: Context) -> Result:
        """Answer one statement.

        Args:
            sql: The statement.
            values: Of its parameters.
            context: Who asks.

        Raises:
            ProtocolError: with the fields of what went wrong.
            AuditorError: the gate's; see `told`.
        """
        checked(sql)
        with self._used() as opened:
            return opened.answer(sql, values, context)

    def describe(self, sql: str, given: Sequence[int], context: Context) -> Described:
        """Say what one statement takes and gives; looks at no data, and records only what is not supported.

        Args:
            sql: The statement.
            given: OIDs of the parameters' types as the client stated them; 0 where it did not.
            context: Who asks.

        Raises:
            ProtocolError: it has no parameters, or mistyped ones, and cannot be answered.
        """
        checked(sql)
        with self._used() as opened:
            return opened.describe(sql, given, context)

    def reject(self, sql: str, given: Sequence[int], context: Context) -> None:
        """Put a statement on record that is described as not supported, and raise what is told of it.

        Raises:
            QueryUnsupported: always, as long as the gate finds the same as when it was described.
        """
        with self._used() as opened:
            opened.described_by_gate(sql, given, context, record=True)


class _Opened:
    """A gate and its catalogue, as long as statements use them."""

    def __init__(self, gate: Gate, database: str, users: Sequence[str]) -> None:
        self.gate = gate
        self.uses = 0
        self._schema = gate.schema
        self._dialect = gate.policy.dialect
        self._database = database
        self._schemas = {"public"} | {table.path[0] for table in gate.schema.tables}
        self._schemas |= {view.path[0] for view in gate.schema.views}
        self.catalogue = Catalogue(self._schema, database, users, administration=administration.tables(gate))
        self._described: OrderedDict[object, Described] = OrderedDict()
        self._lock = threading.Lock()

    def answer(self, sql: str, values: Sequence[object], context: Context) -> Result:
        """As `Sources.answer`."""
        request = requests.called(sql)
        if request is not None:
            rows = requests.file(self.gate, request, values, context.user)
            return Result((requests.NAME,), (result_type("VARCHAR"),), rows, code="request")
        listing = self.catalogue.answer(sql, values, context)
        if listing is not None:
            return Result(
                listing.names, listing.types, listing.rows, changes=listing.changes, code="catalogue"
            )
        sql = self._unqualified(sql)
        named = administration.named(sql)
        if named:
            administrator, zone = context.administrator, context.zone
            names, kinds, rows = administration.answer(self.gate, sql, values, administrator, zone)
            return Result(names, tuple(map(result_type, kinds)), rows, code="administration")
        text, given = spread(sql, values)
        asked = self._respelled(text, given)
        answer = self.gate.execute(asked, given or None, context.user, self._dialect, context.zone)
        kinds_found = tuple(map(result_type, answer.types))
        notice = notice_of_decision(answer.decision, answer.ranges)
        return Result(tuple(answer.columns), kinds_found, answer.arrow(), notice, code=answer.decision.code)

    def describe(self, sql: str, given: Sequence[int], context: Context) -> Described:
        """As `Sources.describe`."""
        request = requests.called(sql)
        if request is not None:
            texts = sum(not isinstance(each, exp.Literal) for each in request)
            return Described((types.TEXT.oid,) * texts, (requests.NAME,), (result_type("VARCHAR"),))
        found = self.catalogue.describe(sql, given, context)
        if found is not None:
            return Described(found.parameters, found.names, found.types)
        sql = self._unqualified(sql)
        if administration.named(sql):
            names, kinds = administration.describe(self.gate, sql, context.administrator)
            return Described((), names, tuple(map(result_type, kinds)))
        key = (sql, tuple(given), context.zone)
        with self._lock:
            if key in self._described:
                self._described.move_to_end(key)
                return self._described[key]
        described = self.described_by_gate(sql, given, context)
        with self._lock:
            self._described[key] = described
            while len(self._described) > _REMEMBERED:
                self._described.popitem(last=False)
        return described

    def described_by_gate(
        self, sql: str, given: Sequence[int], context: Context, record: bool = False
    ) -> Described:
        """The description of a statement for the gate; `record`: one that is not supported is recorded."""
        sql = self._unqualified(sql)
        behind = explained(sql)
        statement = sql if behind is None else behind.statement
        parameters = tuple(infer(statement, self._schema, self._dialect, given))
        text, samples = spread(sql, [_sample(oid) for oid in parameters])
        # Without parameters it will not come to be executed: here it is put on record.
        asker = context.user if record or not parameters else None
        try:
            columns = self.gate.describe(
                self._respelled(text, samples), samples or None, self._dialect, asker, context.zone
            )
        except QueryUnsupported:
            if asker is not None:
                raise
            return Described(parameters)
        kinds = tuple(result_type(kind) for _, kind in columns)
        return Described(parameters, tuple(name for name, _ in columns), kinds)

    def _unqualified(self, sql: str) -> str:
        return without_database(sql, self._database, self._schemas)

    def _respelled(self, sql: str, values: Sequence[object]) -> str:
        text = spaced(without_casts(sql, values))
        return text if self._dialect == "postgres" else in_main(listed_arrays(text))


def _sample(oid: int) -> object:
    """A value that stands for a parameter; of an array, one element."""
    element = types.BY_OID[oid].element if oid in types.BY_OID else 0
    return [_SAMPLES.get(element, "1")] if element else _SAMPLES.get(oid, "1")


def checked(sql: str) -> None:
    """Refuse a text that is too long to be looked at.

    Raises:
        ProtocolError: 54000.
    """
    if len(sql) > MAX_TEXT:
        raise ProtocolError(
            SqlState.PROGRAM_LIMIT_EXCEEDED,
            f"a statement may have {MAX_TEXT} bytes at most",
            hint="Send long lists as tables, or in several statements.",
        )


def told(error: AuditorError | ProtocolError | ValueProblem) -> ErrorFields:
    """What a client is told of an error that is raised on purpose."""
    if isinstance(error, ProtocolError):
        return error.fields
    if isinstance(error, ValueProblem | CatalogueError):
        return ErrorFields(error.sqlstate, str(error), hint=error.hint)
    fields = of_error(error)
    if isinstance(error, QueryRefused) and error.decision.code in requests.CODES:
        return replace(fields, hint=requests.offered(fields.hint))
    return fields
