"""The owner's half of a connection: answers in, bytes out, each where the tables of `states` allow it.

Promises: an answer that does not belong raises `OutOfTurn` and sends nothing; an error makes a transaction
block failed; the end of a transaction ends its portals; after a fatal error nothing more is said.
"""

from __future__ import annotations

from collections.abc import Sequence

from auditor.proxy.protocol import backend
from auditor.proxy.protocol.backend import Column
from auditor.proxy.protocol.limits import Limits
from auditor.proxy.protocol.messages import Parse
from auditor.proxy.protocol.sqlstate import ErrorFields
from auditor.proxy.protocol.statements import Portal, Statement, Statements
from auditor.proxy.protocol.states import (
    ASYNCHRONOUS,
    CLIENT,
    OWNER,
    UNSTARTED,
    Backend,
    OutOfTurn,
    State,
    Transaction,
)


class Answering:
    """Base of `Connection`; see there."""

    def __init__(self, limits: Limits) -> None:
        self.statements = Statements(limits)
        """What the client has prepared and bound; DEALLOCATE, DECLARE and CLOSE in SQL change it too."""
        self._state = State.STARTUP
        self._transaction = Transaction.IDLE
        self._outgoing: list[bytes] = []
        self._mechanisms: tuple[str, ...] = ()
        self._asked: Parse | Portal | Statement | None = None

    @property
    def state(self) -> State:
        """Where the connection is."""
        return self._state

    @property
    def closed(self) -> bool:
        """Whether it is over; close the socket once what is queued is sent."""
        return self._state is State.CLOSED

    @property
    def owner_turn(self) -> bool:
        """Whether an event is still to be answered."""
        return self._state in OWNER

    @property
    def transaction(self) -> Transaction:
        """What ReadyForQuery will say. An error makes BLOCK to FAILED by itself."""
        return self._transaction

    def set_transaction(self, status: Transaction, committed: bool = True) -> None:
        """Say how the transaction stands: after BEGIN, COMMIT, ROLLBACK. IDLE ends the portals."""
        self._transaction = status
        if status is Transaction.IDLE:
            self.statements.end_transaction(committed)

    @property
    def queued(self) -> int:
        """Bytes that wait to be sent: a slow reader is one for whom they do not go away."""
        return sum(map(len, self._outgoing))

    def data_to_send(self) -> bytes:
        """What is queued; it is the caller's now."""
        data = b"".join(self._outgoing)
        self._outgoing.clear()
        return data

    # --- authentication

    def authentication_sasl(self, mechanisms: Sequence[str]) -> None:
        """Ask for SASL, by one of these mechanisms."""
        self._answer(Backend.AUTHENTICATION_SASL, backend.authentication_sasl(mechanisms))
        self._mechanisms = tuple(mechanisms)

    def authentication_sasl_continue(self, data: bytes) -> None:
        """The mechanism's next message; the client answers."""
        self._answer(Backend.AUTHENTICATION_SASL_CONTINUE, backend.authentication_sasl_continue(data))

    def authentication_sasl_final(self, data: bytes) -> None:
        """The mechanism's last message: the client has shown who it is."""
        self._answer(Backend.AUTHENTICATION_SASL_FINAL, backend.authentication_sasl_final(data))

    def authentication_ok(self) -> None:
        """The user may come in; ParameterStatus, BackendKeyData and ReadyForQuery follow."""
        self._answer(Backend.AUTHENTICATION_OK, backend.authentication_ok())

    def backend_key_data(self, process_id: int, secret_key: int) -> None:
        """What a CancelRequest will have to say; both are unsigned and of 32 bits."""
        self._answer(Backend.BACKEND_KEY_DATA, backend.backend_key_data(process_id, secret_key))

    # --- statements and their results

    def parse_complete(
        self, parameter_types: Sequence[int], columns: int | None = None, plan: object = None
    ) -> Statement:
        """Keep the statement of a Parse.

        Args:
            parameter_types: OIDs of all its parameters.
            columns: How many it returns; None where that is not known, or nothing.
            plan: Anything to be found again on the statement.
        """
        asked = self._asked
        self._answer(Backend.PARSE_COMPLETE, backend.PARSE_COMPLETE)
        assert isinstance(asked, Parse)
        statement = Statement(asked.name, asked.query, tuple(parameter_types), columns, plan)
        self.statements.add_statement(statement)
        return statement

    def bind_complete(self) -> None:
        """Keep the portal of a Bind."""
        asked = self._asked
        self._answer(Backend.BIND_COMPLETE, backend.BIND_COMPLETE)
        assert isinstance(asked, Portal)
        self.statements.add_portal(asked)

    def row_description(self, columns: Sequence[Column]) -> None:
        """The columns of the rows to come, or of what is described."""
        self._answer(Backend.ROW_DESCRIPTION, *self._parameters(), backend.row_description(columns))

    def no_data(self) -> None:
        """What is described returns no rows."""
        self._answer(Backend.NO_DATA, *self._parameters(), backend.NO_DATA)

    def _parameters(self) -> list[bytes]:
        if self._state is not State.DESCRIBING_STATEMENT:
            return []
        assert isinstance(self._asked, Statement)
        return [backend.parameter_description(self._asked.parameter_types)]

    def data_row_messages(self, messages: bytes) -> None:
        """Rows as whole DataRow messages: `auditor.proxy.values.writing.RowWriter` makes them in a thread."""
        self._answer(Backend.DATA_ROW, messages)

    def copy_out_response(self, code: int, columns: int) -> None:
        """The rows of a COPY are to come, in text (0) or binary (1)."""
        self._answer(Backend.COPY_OUT_RESPONSE, backend.copy_out_response(code, columns))

    def copy_data_messages(self, messages: bytes) -> None:
        """Rows of a COPY as whole CopyData messages: `auditor.proxy.values.copying.CopyWriter` makes them."""
        self._answer(Backend.COPY_DATA, messages)

    def copy_done(self) -> None:
        """All rows of a COPY are sent."""
        self._answer(Backend.COPY_DONE, backend.COPY_DONE)

    def command_complete(self, tag: str) -> None:
        """The end of one result."""
        self._answer(Backend.COMMAND_COMPLETE, backend.command_complete(tag))

    def empty_query_response(self) -> None:
        """The text has no statement."""
        self._answer(Backend.EMPTY_QUERY_RESPONSE, backend.EMPTY_QUERY_RESPONSE)

    def portal_suspended(self) -> None:
        """The row limit of the Execute is reached and rows are left."""
        self._answer(Backend.PORTAL_SUSPENDED, backend.PORTAL_SUSPENDED)

    def ready_for_query(self) -> None:
        """The client's turn, under the transaction status as it stands."""
        self._answer(Backend.READY_FOR_QUERY, backend.ready_for_query(self._transaction))
        self._end_implicit_transaction()

    # --- errors, notices, settings

    def error(self, fields: ErrorFields) -> None:
        """What went wrong with what was asked; FATAL fields close the connection."""
        if fields.severity == "FATAL":
            self.fatal(fields)
            return
        self._answer(Backend.ERROR_RESPONSE, backend.error_response(fields))
        self._fail()

    def fatal(self, fields: ErrorFields) -> None:
        """Why the connection is closed, in any state; within a TLS handshake nothing can be said."""
        if self._state is State.CLOSED:
            return
        if self._state is not State.TLS_HANDSHAKE:
            self._outgoing.append(backend.error_response(fields.fatal()))
        self._close()

    def notice(self, fields: ErrorFields) -> None:
        """What is to be known beside an answer."""
        self._aside(Backend.NOTICE_RESPONSE, backend.notice_response(fields))

    def parameter_status(self, name: str, value: str) -> None:
        """A setting as it is now; some of them clients must know."""
        self._aside(Backend.PARAMETER_STATUS, backend.parameter_status(name, value))

    # --- the tables at work

    def _answer(self, kind: Backend, *messages: bytes) -> None:
        target = OWNER.get(self._state, {}).get(kind)
        if target is None:
            raise OutOfTurn(f"{kind.value} is no answer in state {self._state.value!r}")
        self._outgoing.extend(messages)
        self._state = target
        if target in CLIENT:
            self._asked = None

    def _aside(self, kind: Backend, message: bytes) -> None:
        if kind not in ASYNCHRONOUS or self._state in UNSTARTED or self.closed:
            raise OutOfTurn(f"{kind.value} cannot be sent in state {self._state.value!r}")
        self._outgoing.append(message)

    def _fail(self) -> None:
        """Rule 13. The block's portals stay: ROLLBACK TO SAVEPOINT brings back those of before."""
        if self._transaction is Transaction.BLOCK:
            self._transaction = Transaction.FAILED

    def _end_implicit_transaction(self) -> None:
        if self._transaction is Transaction.IDLE:
            self.statements.end_transaction()

    def _close(self) -> None:
        self._state = State.CLOSED
        self._asked = None
        self.statements.close_all_portals()
        self.statements.close_all_statements()
