"""An owner of a `Connection` that knows a handful of statements, and says to them what PostgreSQL 15 says."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from auditor.proxy.protocol import Column, Connection, Parse, Query, Transaction, events
from auditor.proxy.protocol.sqlstate import IN_FAILED_TRANSACTION, ErrorFields, SqlState
from tests.auditor.proxy.protocol.wire import data_rows

INT4, TEXT = 23, 25
MECHANISMS = ("SCRAM-SHA-256",)
FORMS = {
    r"SELECT (\d+)": "?column?",
    r"SELECT \$1::(int4|text)": "",
    r"SELECT generate_series\(1, (\d+)\)": "generate_series",
    r"(BEGIN|COMMIT|ROLLBACK)": "",
    r"()": "",
}


class Failure(Exception):
    """A statement that is none of these."""

    def __init__(self, fields: ErrorFields) -> None:
        super().__init__(fields.message)
        self.fields = fields


@dataclass(frozen=True)
class Known:
    """A statement that is one of these."""

    sql: str
    column: Column | None = None
    parameters: tuple[int, ...] = ()
    numbers: range = range(0)

    def rows(self, values: tuple[bytes | None, ...], binary: bool, sent_binary: bool) -> list[bytes | None]:
        if not self.parameters:
            return [n.to_bytes(4, "big") if binary else b"%d" % n for n in self.numbers]
        (value,) = values
        if value is None or self.parameters == (TEXT,) or binary == sent_binary:
            return [value]
        try:
            return [int(value).to_bytes(4, "big") if binary else b"%d" % int.from_bytes(value, "big")]
        except (ValueError, OverflowError):
            raise Failure(ErrorFields("22P02", "no integer")) from None


def known(sql: str) -> Known:
    sql = sql.strip()
    for form, name in FORMS.items():
        found = re.fullmatch(form, sql)
        if found is None:
            continue
        if not sql or (found[1].isalpha() and "SELECT" not in sql):
            return Known(sql)
        if "$1" in sql:
            type_oid, size = (INT4, 4) if found[1] == "int4" else (TEXT, -1)
            return Known(sql, Column(found[1], type_oid, size), (type_oid,))
        last = int(found[1])
        numbers = range(1, last + 1) if "generate" in sql else range(last, last + 1)
        return Known(sql, Column(name, INT4, 4), (), numbers)
    raise Failure(ErrorFields(SqlState.SYNTAX_ERROR, f"syntax error in {sql}", hint="Ask something else."))


@dataclass
class Owner:
    """Answers events; `seen` has them all."""

    seen: list[events.Event] = field(default_factory=list)

    def serve(self, connection: Connection, limit: int = 1_000_000) -> None:
        """Answer everything that is there."""
        # The turn stays the owner's in a TLS handshake, which a transcript ends.
        while not connection.owner_turn and (event := connection.next_event()) is not None:
            self.seen.append(event)
            self.answer(connection, event)
            assert len(self.seen) <= limit

    def answer(self, connection: Connection, event: events.Event) -> None:
        try:
            self._answer(connection, event)
        except Failure as failure:
            connection.error(failure.fields)
        if isinstance(event, Query | events.Sync):
            connection.ready_for_query()

    def _answer(self, connection: Connection, event: events.Event) -> None:
        match event:
            case events.Startup():
                connection.authentication_sasl(MECHANISMS)
            case events.SASLInitialResponse():
                connection.authentication_sasl_continue(b"challenge")
            case events.SASLResponse():
                connection.authentication_sasl_final(b"verified")
                connection.authentication_ok()
                connection.parameter_status("server_version", "15.0")
                connection.backend_key_data(17, 4)
                connection.ready_for_query()
            case Query():
                self._query(connection, event.query)
            case Parse():
                if ";" in event.query.rstrip(" ;"):
                    raise Failure(ErrorFields(SqlState.SYNTAX_ERROR, "several statements"))
                plan = self._known(connection, event.query.rstrip(" ;"))
                connection.parse_complete(plan.parameters, 1 if plan.column else None, plan)
            case events.BindPortal():
                self._plan(connection, event.portal.statement.plan)
                connection.bind_complete()
            case events.DescribeStatement():
                self._describe(connection, event.statement.plan, 0)
            case events.DescribePortal():
                self._describe(connection, event.portal.statement.plan, sum(event.portal.formats(1)))
            case events.ExecutePortal():
                self._execute(connection, event)
            case _:
                pass

    def _known(self, connection: Connection, sql: str) -> Known:
        return self._plan(connection, known(sql))

    def _plan(self, connection: Connection, plan: object) -> Known:
        assert isinstance(plan, Known)
        if connection.transaction is Transaction.FAILED and plan.sql not in ("COMMIT", "ROLLBACK"):
            raise Failure(IN_FAILED_TRANSACTION)
        return plan

    def _query(self, connection: Connection, text: str) -> None:
        statements = [each for each in text.split(";") if each.strip()]
        for sql in statements:
            plan = self._known(connection, sql)
            if plan.column is None:
                self._command(connection, plan.sql)
                continue
            connection.row_description([plan.column])
            rows = plan.rows((), False, False)
            connection.data_row_messages(data_rows([[value] for value in rows]))
            connection.command_complete(f"SELECT {len(rows)}")
        if not statements:
            connection.empty_query_response()

    def _command(self, connection: Connection, sql: str) -> None:
        if not sql:
            connection.empty_query_response()
            return
        failed = connection.transaction is Transaction.FAILED
        connection.set_transaction(Transaction.BLOCK if sql == "BEGIN" else Transaction.IDLE)
        connection.command_complete("ROLLBACK" if failed else sql)

    def _describe(self, connection: Connection, plan: object, form: int) -> None:
        assert isinstance(plan, Known)
        if plan.column is None:
            connection.no_data()
            return
        column = plan.column
        connection.row_description([Column(column.name, column.type_oid, column.type_size, format=form)])

    def _execute(self, connection: Connection, event: events.ExecutePortal) -> None:
        portal = event.portal
        plan = self._plan(connection, portal.statement.plan)
        if plan.column is None:
            self._command(connection, plan.sql)
            return
        (binary,) = portal.formats(1)
        rows = plan.rows(portal.values, bool(binary), any(portal.parameter_formats))
        left = rows[portal.rows_sent :]
        now = left[: event.max_rows] if event.max_rows else left
        connection.data_row_messages(data_rows([[value] for value in now]))
        portal.rows_sent += len(now)
        if event.max_rows and len(now) == event.max_rows:
            connection.portal_suspended()
        else:
            connection.command_complete(f"SELECT {len(now)}")
