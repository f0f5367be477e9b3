"""The extended query: what Parse, Bind, Describe and Execute make of statements and portals.

A statement is described when it is parsed, without looking at data; it runs once, at the first Execute of its
portal, which keeps the rows for the next. Only where its columns cannot be told before the parameters are
known does it run when its portal is described.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from auditor.proxy.catalogue import Context
from auditor.proxy.protocol import Connection, Parse, Portal, events
from auditor.proxy.protocol.sqlstate import ProtocolError, SqlState
from auditor.proxy.session import commands as c
from auditor.proxy.session.cursors import Cursor, columns, copy_out, send
from auditor.proxy.session.executing import Executor
from auditor.proxy.session.preparing import Prepared, prepare, prepared_of
from auditor.proxy.session.settings import shown
from auditor.proxy.session.steps import Steps
from auditor.proxy.sources import Sources
from auditor.proxy.values.reading import read_parameter
from auditor.proxy.values.results import result_type

_TEXT = result_type("VARCHAR")
_INLINE = 4_096
"""Bytes of parameters that are read at once; more are read in a thread."""


@dataclass(frozen=True)
class Bound:
    """A portal that has not run: its values."""

    values: tuple[object, ...]


@dataclass(frozen=True)
class Done:
    """A portal that has run and has no rows."""


class Prepares:
    """The extended query of one session."""

    def __init__(self, connection: Connection, sources: Sources, executor: Executor) -> None:
        self._connection, self._sources, self._executor = connection, sources, executor

    def parse(self, parse: Parse, context: Context) -> Steps[None]:
        """Answer a Parse."""
        work = partial(prepare, self._sources, parse.query, parse.parameter_types, context)
        prepared = yield from self._executor.job(work)
        assert isinstance(prepared, Prepared)
        self._executor.check(prepared.command)
        described = prepared.described
        types = described.parameters if described else parse.parameter_types
        count = None
        if described and described.types is not None and isinstance(prepared.command, c.Select):
            count = len(described.types)
        self._connection.parse_complete(types, count, prepared)

    def bind(self, portal: Portal) -> Steps[None]:
        """Answer a Bind."""
        statement = portal.statement
        self._executor.check(prepared_of(statement).command)
        zone = self._executor.settings["TimeZone"]
        given = list(zip(statement.parameter_types, portal.parameter_formats, portal.values, strict=True))

        def read() -> tuple[object, ...]:
            return tuple(read_parameter(oid, code, value, zone) for oid, code, value in given)

        if sum(len(value or b"") for value in portal.values) <= _INLINE:
            values = read()
        else:
            values = yield from self._executor.job(read)  # type: ignore[assignment]
        portal.state = Bound(values)
        self._connection.bind_complete()

    def describe_statement(self, event: events.DescribeStatement, context: Context) -> Steps[None]:
        """Answer the Describe of a statement."""
        prepared = prepared_of(event.statement)
        command, described = prepared.command, prepared.described
        self._executor.check(command)
        if isinstance(command, c.Select) and described is not None and described.types is None:
            # It will not come to be executed: here it is put on record, which raises what is to be told.
            given = event.statement.parameter_types
            yield from self._executor.job(partial(self._sources.reject, command.text, given, context))
        self._describe(prepared, ())

    def describe_portal(self, event: events.DescribePortal) -> Steps[None]:
        """Answer the Describe of a portal."""
        portal = event.portal
        prepared = prepared_of(portal.statement)
        self._executor.check(prepared.command)
        state = portal.state
        described = prepared.described
        if isinstance(prepared.command, c.Select) and described is not None and described.types is None:
            state = yield from self._run(portal)
        if isinstance(state, Cursor):
            result = state.result
            formats = portal.formats(len(result.types))
            self._connection.row_description(columns(result.names, result.types, formats))
            return
        self._describe(prepared, portal.result_formats)

    def _describe(self, prepared: Prepared, formats: tuple[int, ...]) -> None:
        command, described = prepared.command, prepared.described
        if isinstance(command, c.Select) and described is not None and described.types is not None:
            found = columns(described.names, described.types)
        elif isinstance(command, c.Show):
            names = ("name", "setting", "description") if command.name == "all" else (shown(command.name),)
            found = columns(names, (_TEXT,) * len(names))
        elif isinstance(command, c.Execute):
            statement = self._executor.statement(command.name)
            self._describe(prepared_of(statement), formats)
            return
        elif isinstance(command, c.Fetch) and not command.move:
            result = self._executor.cursor(command.name).result
            found = columns(result.names, result.types)
        else:
            self._connection.no_data()
            return
        if formats:
            codes = formats if len(formats) == len(found) else (formats[0],) * len(found)
            found = [replace(each, format=code) for each, code in zip(found, codes, strict=True)]
        self._connection.row_description(found)

    def execute(self, event: events.ExecutePortal) -> Steps[str]:
        """Answer an Execute; the code of what was run, for the log, or nothing."""
        portal = event.portal
        prepared = prepared_of(portal.statement)
        if prepared.command is None:
            self._connection.empty_query_response()
            return ""
        self._executor.check(prepared.command)
        code = ""
        state = portal.state
        if isinstance(state, Bound):
            state = yield from self._run(portal)
            code = state.result.code if isinstance(state, Cursor) else ""
        elif isinstance(state, Done):
            raise ProtocolError(
                SqlState.OBJECT_NOT_IN_PREREQUISITE_STATE, f'portal "{portal.name[:63]}" cannot be run'
            )
        if not isinstance(state, Cursor):
            self._connection.command_complete(str(state))
            return code
        zone = self._executor.settings["TimeZone"]
        if state.copy is not None:
            sent = yield from copy_out(self._connection, state, zone)
            portal.state = Done()
            self._connection.command_complete(f"COPY {sent}")
            return code
        formats = portal.formats(len(state.result.types))
        sent = yield from send(self._connection, state, event.max_rows or None, formats, zone)
        portal.rows_sent += sent
        if state.left:
            self._connection.portal_suspended()
        else:
            portal.complete = True
            self._connection.command_complete(state.tag if state.tag == "SHOW" else f"{state.tag} {sent}")
        return code

    def _run(self, portal: Portal) -> Steps[Cursor | str]:
        """Run a portal that has not run."""
        prepared, bound = prepared_of(portal.statement), portal.state
        assert prepared.command is not None
        if not isinstance(bound, Bound):
            assert isinstance(bound, Cursor)
            return bound
        outcome = yield from self._executor.run(prepared.command, bound.values)
        if isinstance(outcome, str):
            portal.state = Done()
            return outcome
        described = prepared.described
        if described is not None and described.types is not None:
            told = [each.type.oid for each in described.types]
            if told != [each.type.oid for each in outcome.result.types]:
                raise ProtocolError(
                    SqlState.FEATURE_NOT_SUPPORTED,
                    "the types of the result depend on the values of the parameters",
                    hint="Cast the parameters, such as $1::numeric(10, 2).",
                )
        portal.state = outcome
        return outcome
