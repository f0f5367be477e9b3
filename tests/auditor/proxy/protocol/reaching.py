"""A connection in any state, a right message of every type, every answer: for tests that walk the tables."""

from __future__ import annotations

from collections.abc import Callable

from auditor.proxy.protocol import Column, Connection, State, Transaction
from auditor.proxy.protocol.sqlstate import ErrorFields
from auditor.proxy.protocol.states import Backend, Frontend
from tests.auditor.proxy.protocol.wire import CLIENT as MAKE
from tests.auditor.proxy.protocol.wire import data_rows

ERROR = ErrorFields("XX000", "no")
STARTUP = MAKE["StartupMessage"]("3.0", {"user": "anna"})

SENT: dict[Frontend, bytes] = {
    Frontend.SSL_REQUEST: MAKE["SSLRequest"](),
    Frontend.GSSENC_REQUEST: MAKE["GSSENCRequest"](),
    Frontend.CANCEL_REQUEST: MAKE["CancelRequest"](1, 2),
    Frontend.STARTUP_MESSAGE: STARTUP,
    Frontend.PASSWORD_MESSAGE: MAKE["SASLInitialResponse"]("SCRAM-SHA-256", b"n"),
    Frontend.QUERY: MAKE["Query"]("q"),
    Frontend.PARSE: MAKE["Parse"]("fresh", "q"),
    Frontend.BIND: MAKE["Bind"]("fresh", "s"),
    Frontend.DESCRIBE: MAKE["Describe"]("S", "s"),
    Frontend.EXECUTE: MAKE["Execute"]("p"),
    Frontend.CLOSE: MAKE["Close"]("P", "nothing"),
    Frontend.FLUSH: MAKE["Flush"](),
    Frontend.SYNC: MAKE["Sync"](),
    Frontend.TERMINATE: MAKE["Terminate"](),
    Frontend.COPY_DATA: MAKE["CopyData"](b"x"),
    Frontend.COPY_DONE: MAKE["CopyDone"](),
    Frontend.COPY_FAIL: MAKE["CopyFail"]("x"),
    Frontend.FUNCTION_CALL: MAKE["FunctionCall"](1),
}
"""A message of each type that is right where it belongs; statement `s` and portal `p` are there."""

ANSWER: dict[Backend, Callable[[Connection], object]] = {
    Backend.AUTHENTICATION_SASL: lambda c: c.authentication_sasl(["SCRAM-SHA-256"]),
    Backend.AUTHENTICATION_SASL_CONTINUE: lambda c: c.authentication_sasl_continue(b""),
    Backend.AUTHENTICATION_SASL_FINAL: lambda c: c.authentication_sasl_final(b""),
    Backend.AUTHENTICATION_OK: lambda c: c.authentication_ok(),
    Backend.PARAMETER_STATUS: lambda c: c.parameter_status("a", "b"),
    Backend.BACKEND_KEY_DATA: lambda c: c.backend_key_data(1, 2),
    Backend.READY_FOR_QUERY: lambda c: c.ready_for_query(),
    Backend.ROW_DESCRIPTION: lambda c: c.row_description([Column("a", 23)]),
    Backend.NO_DATA: lambda c: c.no_data(),
    Backend.DATA_ROW: lambda c: c.data_row_messages(data_rows([[b"1"]])),
    Backend.COPY_OUT_RESPONSE: lambda c: c.copy_out_response(0, 2),
    Backend.COPY_DATA: lambda c: c.copy_data_messages(b"d\0\0\0\5x"),
    Backend.COPY_DONE: lambda c: c.copy_done(),
    Backend.COMMAND_COMPLETE: lambda c: c.command_complete("SELECT 1"),
    Backend.EMPTY_QUERY_RESPONSE: lambda c: c.empty_query_response(),
    Backend.PORTAL_SUSPENDED: lambda c: c.portal_suspended(),
    Backend.PARSE_COMPLETE: lambda c: c.parse_complete([]),
    Backend.BIND_COMPLETE: lambda c: c.bind_complete(),
    Backend.ERROR_RESPONSE: lambda c: c.error(ERROR),
    Backend.NOTICE_RESPONSE: lambda c: c.notice(ErrorFields("00000", "so", severity="NOTICE")),
}
"""How the owner gives each answer."""

WAY: dict[State, tuple[State, Frontend | Backend]] = {
    State.SSL_REFUSED: (State.STARTUP, Frontend.SSL_REQUEST),
    State.GSSENC_REFUSED: (State.STARTUP, Frontend.GSSENC_REQUEST),
    State.ENCRYPTION_REFUSED: (State.SSL_REFUSED, Frontend.GSSENC_REQUEST),
    State.TLS_HANDSHAKE: (State.STARTUP, Frontend.SSL_REQUEST),
    State.AUTHENTICATING: (State.STARTUP, Frontend.STARTUP_MESSAGE),
    State.SASL_INITIAL: (State.AUTHENTICATING, Backend.AUTHENTICATION_SASL),
    State.SASL_JUDGING: (State.SASL_INITIAL, Frontend.PASSWORD_MESSAGE),
    State.SASL_RESPONSE: (State.SASL_JUDGING, Backend.AUTHENTICATION_SASL_CONTINUE),
    State.AUTHENTICATED: (State.SASL_JUDGING, Backend.AUTHENTICATION_SASL_FINAL),
    State.STARTING: (State.AUTHENTICATED, Backend.AUTHENTICATION_OK),
    State.QUERYING: (State.READY, Frontend.QUERY),
    State.QUERY_ROWS: (State.QUERYING, Backend.ROW_DESCRIPTION),
    State.QUERY_ANSWERED: (State.QUERYING, Backend.COMMAND_COMPLETE),
    State.QUERY_COPYING: (State.QUERYING, Backend.COPY_OUT_RESPONSE),
    State.QUERY_COPIED: (State.QUERY_COPYING, Backend.COPY_DONE),
    State.COPYING: (State.EXECUTING, Backend.COPY_OUT_RESPONSE),
    State.COPIED: (State.COPYING, Backend.COPY_DONE),
    State.QUERY_FAILED: (State.QUERYING, Backend.ERROR_RESPONSE),
    State.PARSING: (State.READY, Frontend.PARSE),
    State.BINDING: (State.READY, Frontend.BIND),
    State.DESCRIBING_STATEMENT: (State.READY, Frontend.DESCRIBE),
    State.EXECUTING: (State.READY, Frontend.EXECUTE),
    State.SYNCING: (State.READY, Frontend.SYNC),
    State.SKIPPING: (State.PARSING, Backend.ERROR_RESPONSE),
    State.CLOSED: (State.STARTUP, Frontend.CANCEL_REQUEST),
}
"""How a state is reached from another; STARTUP, READY and two more are made by `reached`."""


def reached(state: State) -> Connection:
    """A connection in a state."""
    if state is State.STARTUP:
        return Connection()
    if state is State.TLS_STARTUP:
        connection = reached(State.TLS_HANDSHAKE)
        connection.data_to_send()
        connection.tls_established()
    elif state is State.READY:
        connection = reached(State.STARTING)
        connection.ready_for_query()
        connection.set_transaction(Transaction.BLOCK)
        for sent, answer in ((MAKE["Parse"]("s", "q"), Backend.PARSE_COMPLETE),
                             (MAKE["Bind"]("p", "s"), Backend.BIND_COMPLETE)):  # fmt: skip
            connection.receive(sent)
            connection.next_event()
            ANSWER[answer](connection)
    elif state is State.DESCRIBING_PORTAL:
        connection = reached(State.READY)
        connection.receive(MAKE["Describe"]("P", "p"))
        connection.next_event()
    else:
        before, step = WAY[state]
        connection = (
            reached(before)
            if before is not State.STARTUP
            else Connection(tls="offered" if state is State.TLS_HANDSHAKE else "none")
        )
        if isinstance(step, Backend):
            ANSWER[step](connection)
        else:
            connection.receive(SENT[step])
            connection.next_event()
    assert connection.state is state
    connection.data_to_send()
    return connection
