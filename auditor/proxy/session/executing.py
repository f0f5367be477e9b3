"""Carries out one statement of a session: queries from the sources, everything else here.

Promises that a failed transaction block carries out nothing but its end, and that an unexpected failure of a
source is one fixed text to the client and a traceback without values in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial

import pyarrow as pa

from auditor.errors import AuditorError
from auditor.proxy.catalogue import Context
from auditor.proxy.protocol import Connection, Portal, Statement, Transaction
from auditor.proxy.protocol.sqlstate import IN_FAILED_TRANSACTION, ErrorFields, ProtocolError, SqlState
from auditor.proxy.session import commands as c
from auditor.proxy.session.cursors import Cursor, Holding
from auditor.proxy.session.preparing import parse_of, prepare_by_name, prepared_of, values_of
from auditor.proxy.session.settings import Kept, Settings, shown
from auditor.proxy.session.steps import Job, Steps
from auditor.proxy.sources import Result, Sources
from auditor.proxy.values.errors import ValueProblem
from auditor.proxy.values.results import result_type

TOLD = (ProtocolError, AuditorError, ValueProblem)
"""What is raised on purpose; `auditor.proxy.sources.told` says what a client is told of it."""
INTERNAL = ErrorFields(
    SqlState.INTERNAL_ERROR,
    "internal error",
    hint="The administrator finds the reason in the server's log.",
)
_TEXT = result_type("VARCHAR")


class Executor:
    """What one session has open: its transaction, its settings, its cursors."""

    def __init__(
        self,
        connection: Connection,
        sources: Sources,
        settings: Settings,
        context: Callable[[], Context],
        failed: Callable[[Exception], None],
        holding: Holding,
    ) -> None:
        """Prepare.

        Args:
            connection: The client's.
            sources: What queries are answered from.
            settings: The session's.
            context: Who asks, with the settings as they are.
            failed: Is told of every unexpected failure.
            holding: The results that wait in all sessions.
        """
        self._connection, self._sources = connection, sources
        self.settings = settings
        self._context, self._failed, self._holding = context, failed, holding
        self._before: Kept = settings.kept
        self._savepoints: list[tuple[str, Kept]] = []

    def job(self, work: Callable[[], object], user: str = "", asks: Hashable = None) -> Steps[object]:
        """Have the server run something; see `Job`.

        Raises:
            ProtocolError: XX000, where it fails unexpectedly.
        """
        milliseconds = int(self.settings["statement_timeout"])
        try:
            return (yield Job(work, milliseconds / 1000 if milliseconds else None, user, asks))
        except TOLD:
            raise
        except Exception as error:  # noqa: BLE001 -- a mistake of ours ends the statement, not the session
            self._failed(error)
            failure = ProtocolError(INTERNAL.sqlstate, INTERNAL.message, hint=INTERNAL.hint)
            raise failure from None

    def check(self, command: c.Command | None) -> None:
        """Refuse what a failed block does not carry out.

        Raises:
            ProtocolError: 25P02.
        """
        if self._connection.transaction is Transaction.FAILED and not isinstance(
            command, c.End | c.RollbackTo
        ):
            said = IN_FAILED_TRANSACTION
            raise ProtocolError(said.sqlstate, said.message, hint=said.hint)

    def run(self, command: c.Command, values: Sequence[object] = ()) -> Steps[Cursor | str]:
        """Carry out a command: rows to be sent, or the tag of CommandComplete.

        Raises:
            ProtocolError, AuditorError, ValueProblem: with what is to be told.
        """
        self.check(command)
        match command:
            case c.Select(text):
                return (yield from self._select(text, values))
            case c.Copy(query, form):
                return Cursor((yield from self._select(query, values)).result, "COPY", form)
            case c.Declare():
                return (yield from self._declare(command, values))
            case c.Prepare():
                return (yield from self._prepare(command))
            case c.Execute(name, given):
                statement = self.statement(name)
                found = prepared_of(statement).command
                assert isinstance(found, c.Select)
                text = found.text
                return (yield from self._select(text, values_of(statement, given, self.settings["TimeZone"])))
            case c.Set(name, value, local, tag):
                return self._set(name, value, local, tag)
            case c.Show(name):
                return self._show(name)
            case c.Fetch(name, count, move):
                return self._fetch(name, count, move)
        return self._ended_or_closed(command)

    def _ended_or_closed(self, command: c.Command) -> str:
        match command:
            case c.Begin(tag):
                self._begin()
                return tag
            case c.End(commit):
                return self._end(commit)
            case c.Savepoint() | c.Release() | c.RollbackTo():
                return self._savepoint(command)
            case c.Close(name):
                return self._close(name)
            case c.Deallocate(name):
                return self._deallocate(name)
            case c.Discard(what):
                return self._discard(what)
            case c.ResetAll():
                self.settings.reset_all()
                return "RESET"
            case c.Tolerated(tag):
                return tag
        raise AssertionError(f"no such command: {type(command).__name__}")

    # --- queries and cursors

    def _select(self, text: str, values: Sequence[object]) -> Steps[Cursor]:
        context = self._context()
        work = partial(self._sources.answer, text, tuple(values), context)
        asks = context.user, context.zone, text, repr(tuple(values))
        result = yield from self.job(work, context.user, asks)
        assert isinstance(result, Result)
        for change in result.changes:
            self.settings.change(change.name, change.value, change.local)
        if result.notice is not None:
            self._connection.notice(result.notice)
        cursor = Cursor(result)
        self._holding.add(cursor)
        return cursor

    def _declare(self, command: c.Declare, values: Sequence[object]) -> Steps[str]:
        if not command.hold and self._connection.transaction is Transaction.IDLE:
            raise ProtocolError(
                SqlState.NO_ACTIVE_SQL_TRANSACTION,
                "DECLARE CURSOR can only be used in transaction blocks",
                hint="Send BEGIN before it, or declare it WITH HOLD.",
            )
        cursor = yield from self._select(command.query, values)
        statement = Statement("", command.query, (), len(cursor.result.types))
        portal = Portal(command.name, statement, hold=command.hold, state=cursor)
        self._connection.statements.declare(portal)
        return "DECLARE CURSOR"

    # --- statements by name

    def _prepare(self, command: c.Prepare) -> Steps[str]:
        statements = self._connection.statements
        parse = parse_of(command)
        statements.check_parse(parse)
        made = yield from self.job(partial(prepare_by_name, self._sources, parse, self._context()))
        assert isinstance(made, Statement)
        statements.add_statement(made)
        return "PREPARE"

    def statement(self, name: str) -> Statement:
        """The statement of a name, for EXECUTE.

        Raises:
            ProtocolError: 26000; or it is none that EXECUTE can run.
        """
        found = self._connection.statements.statement(name)
        if not isinstance(prepared_of(found).command, c.Select):
            raise ProtocolError(
                SqlState.FEATURE_NOT_SUPPORTED, "EXECUTE runs queries here", hint="Send the command itself."
            )
        return found

    def cursor(self, name: str) -> Cursor:
        """The cursor of a name.

        Raises:
            ProtocolError: 34000.
        """
        found = self._connection.statements.portal(name).state
        if not isinstance(found, Cursor):
            raise ProtocolError(
                SqlState.OBJECT_NOT_IN_PREREQUISITE_STATE, f'"{name[:63]}" is no cursor that FETCH can read'
            )
        return found

    def _fetch(self, name: str, count: int | None, move: bool) -> Cursor | str:
        taken = self.cursor(name).take(count)
        return f"MOVE {taken.rows.num_rows}" if move else Cursor(taken, "FETCH")

    def _close(self, name: str | None) -> str:
        if name is None:
            self._connection.statements.close_all_portals()
            return "CLOSE CURSOR ALL"
        if self._connection.statements.close_portal(name) is None:
            raise ProtocolError(SqlState.INVALID_CURSOR_NAME, f'cursor "{name[:63]}" does not exist')
        return "CLOSE CURSOR"

    def _deallocate(self, name: str | None) -> str:
        if name is None:
            self._connection.statements.close_all_statements()
            return "DEALLOCATE ALL"
        self._connection.statements.statement(name)
        self._connection.statements.close_statement(name)
        return "DEALLOCATE"

    def _discard(self, what: str) -> str:
        if what == "all":
            if self._connection.transaction is not Transaction.IDLE:
                raise ProtocolError(
                    SqlState.ACTIVE_SQL_TRANSACTION, "DISCARD ALL cannot run inside a transaction block"
                )
            self.settings.reset_all()
            self._connection.statements.close_all_portals()
            self._connection.statements.close_all_statements()
        return f"DISCARD {what.upper()}"

    # --- settings

    def _set(self, name: str, value: str | None, local: bool, tag: str) -> str:
        if local and self._connection.transaction is Transaction.IDLE:
            self._warn(SqlState.NO_ACTIVE_SQL_TRANSACTION, "SET LOCAL can only be used in transaction blocks")
            return tag
        self.settings.change(name, value, local)
        return tag

    def _show(self, name: str) -> Cursor:
        if name.lower() == "all":
            rows = [(each, self.settings.shown(each)) for each in sorted(self.settings.all(), key=str.lower)]
            names: tuple[str, ...] = ("name", "setting", "description")
            content = [[each[0] for each in rows], [each[1] for each in rows], [""] * len(rows)]
        else:
            names, content = (shown(name),), [[self.settings.shown(name)]]
        table = pa.table([pa.array(each, pa.string()) for each in content], names=list(names))
        return Cursor(Result(names, (_TEXT,) * len(names), table, code="show"), "SHOW")

    # --- transactions

    def _warn(self, state: SqlState, message: str) -> None:
        self._connection.notice(ErrorFields(state, message, severity="WARNING"))

    def _begin(self) -> None:
        if self._connection.transaction is not Transaction.IDLE:
            self._warn(SqlState.ACTIVE_SQL_TRANSACTION, "there is already a transaction in progress")
            return
        self._connection.set_transaction(Transaction.BLOCK)
        self._before = self.settings.kept
        self._savepoints.clear()

    def _end(self, commit: bool) -> str:
        status = self._connection.transaction
        if status is Transaction.IDLE:
            self._warn(SqlState.NO_ACTIVE_SQL_TRANSACTION, "there is no transaction in progress")
            return "COMMIT" if commit else "ROLLBACK"
        kept = commit and status is Transaction.BLOCK
        if not kept:
            self.settings.restore(self._before)
        self.settings.end_transaction()
        self._savepoints.clear()
        self._connection.set_transaction(Transaction.IDLE, committed=kept)
        return "COMMIT" if kept else "ROLLBACK"

    def _savepoint(self, command: c.Savepoint | c.Release | c.RollbackTo) -> str:
        if self._connection.transaction is Transaction.IDLE:
            said = {c.Savepoint: "SAVEPOINT", c.Release: "RELEASE SAVEPOINT"}.get(
                type(command), "ROLLBACK TO SAVEPOINT"
            )
            raise ProtocolError(
                SqlState.NO_ACTIVE_SQL_TRANSACTION, f"{said} can only be used in transaction blocks"
            )
        if isinstance(command, c.Savepoint):
            if len(self._savepoints) >= _SAVEPOINTS:
                raise ProtocolError(SqlState.PROGRAM_LIMIT_EXCEEDED, "there are too many savepoints")
            self._savepoints.append((command.name[:63], self.settings.kept))
            return "SAVEPOINT"
        names = [name for name, _ in self._savepoints]
        if command.name[:63] not in names:
            raise ProtocolError(
                SqlState.INVALID_SAVEPOINT_SPECIFICATION, f'savepoint "{command.name[:63]}" does not exist'
            )
        place = len(names) - 1 - names[::-1].index(command.name[:63])
        if isinstance(command, c.Release):
            del self._savepoints[place:]
            return "RELEASE"
        self.settings.restore(self._savepoints[place][1])
        del self._savepoints[place + 1 :]
        self._connection.set_transaction(Transaction.BLOCK)
        return "ROLLBACK"


_SAVEPOINTS = 1_000
