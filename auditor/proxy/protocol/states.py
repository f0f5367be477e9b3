"""The states of a connection, as tables that the code runs on and tests and docs read.

Rules
 1. A connection begins unencrypted in STARTUP. Before StartupMessage a client may ask once for TLS
    (SSLRequest) and once for GSSAPI (GSSENCRequest, always answered N), in either order.
 2. Where TLS is offered, SSLRequest is answered S and the connection waits in TLS_HANDSHAKE until its owner
    says that TLS is up. A byte that arrives with or after a request for encryption and before its answer took
    effect could have been put there by somebody else (CVE-2021-23214): the connection is closed.
    A client may also begin TLS at once, without asking (`sslnegotiation=direct`, PostgreSQL 17): its first
    byte then begins no length that a packet may have. The owner ends it unless the two agreed by ALPN on
    "postgresql": a client of another protocol could be led here otherwise (ALPACA).
 3. Inside TLS no encryption can be asked for.
 4. CancelRequest is taken in every startup state, encrypted or not, for clients send it unencrypted even
    where their own connection is encrypted; it is never answered, and the connection is over.
 5. Where TLS is required, an unencrypted StartupMessage is refused before its user is looked at.
 6. Authentication is SASL only. AuthenticationOk can be sent after AuthenticationSASLFinal and at no other
    time. A message that is not the awaited SASL message closes the connection.
 7. ReadyForQuery ends the start; from then on the connection is READY: the client's turn.
 8. Each message that needs an answer gives the turn to the owner; no further message is read before the
    answer is complete. So answers cannot get out of order, however many messages a client sends ahead.
 9. A Query's answer is a sequence of results (rows that end in CommandComplete; CommandComplete alone;
    EmptyQueryResponse), at least one, or an error, which ends it; then ReadyForQuery.
10. After an error in answer to a message of the extended query, messages are skipped unread up to the next
    Sync, which ReadyForQuery answers. Terminate is obeyed on the way.
11. A message whose frame is right and whose body is not is an error like any other: the connection goes on.
    A type that does not exist or does not belong here, or a length that is too small or too large, closes it.
12. CopyData, CopyDone and CopyFail are ignored, as PostgreSQL does out of copy mode: a client may send them
    before it has seen that its COPY failed. FunctionCall is an error.
13. An error in a transaction block makes the block failed (T becomes E); what may run in it is the owner's to
    say. When ReadyForQuery says I the transaction is over and its portals are gone.
14. Nothing is read, and nothing is sent, after CLOSED.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class State(Enum):
    """Where a connection is. The comment says whose turn it is and what is awaited."""

    STARTUP = "startup"  # the client's: the first packet
    SSL_REFUSED = "ssl refused"  # the client's: SSLRequest was answered N
    GSSENC_REFUSED = "gssenc refused"  # the client's: GSSENCRequest was answered N
    ENCRYPTION_REFUSED = "encryption refused"  # the client's: both were answered N
    TLS_HANDSHAKE = "tls handshake"  # the owner's: to wrap the socket
    TLS_STARTUP = "tls startup"  # the client's: the first packet inside TLS
    AUTHENTICATING = "authenticating"  # the owner's: to ask for SASL
    SASL_INITIAL = "sasl initial"  # the client's: SASLInitialResponse
    SASL_JUDGING = "sasl judging"  # the owner's: to judge a response
    SASL_RESPONSE = "sasl response"  # the client's: SASLResponse
    AUTHENTICATED = "authenticated"  # the owner's: AuthenticationOk
    STARTING = "starting"  # the owner's: settings, key, ReadyForQuery
    READY = "ready"  # the client's: anything
    QUERYING = "querying"  # the owner's: nothing of a Query is answered yet
    QUERY_ROWS = "query rows"  # the owner's: in the rows of one result
    QUERY_ANSWERED = "query answered"  # the owner's: a further result, or ReadyForQuery
    QUERY_COPYING = "query copying"  # the owner's: in the rows of a COPY
    QUERY_COPIED = "query copied"  # the owner's: the end of the COPY
    QUERY_FAILED = "query failed"  # the owner's: ReadyForQuery
    PARSING = "parsing"  # the owner's
    BINDING = "binding"  # the owner's
    DESCRIBING_STATEMENT = "describing statement"  # the owner's
    DESCRIBING_PORTAL = "describing portal"  # the owner's
    EXECUTING = "executing"  # the owner's
    COPYING = "copying"  # the owner's: in the rows of a COPY
    COPIED = "copied"  # the owner's: the end of the COPY
    SYNCING = "syncing"  # the owner's: ReadyForQuery
    SKIPPING = "skipping"  # the client's: Sync
    CLOSED = "closed"  # nobody's


class Frontend(Enum):
    """What a client sends: PostgreSQL's message names. PasswordMessage is the type of both SASL messages."""

    SSL_REQUEST = "SSLRequest"
    GSSENC_REQUEST = "GSSENCRequest"
    CANCEL_REQUEST = "CancelRequest"
    STARTUP_MESSAGE = "StartupMessage"
    PASSWORD_MESSAGE = "PasswordMessage"
    QUERY = "Query"
    PARSE = "Parse"
    BIND = "Bind"
    DESCRIBE = "Describe"
    EXECUTE = "Execute"
    CLOSE = "Close"
    FLUSH = "Flush"
    SYNC = "Sync"
    TERMINATE = "Terminate"
    COPY_DATA = "CopyData"
    COPY_DONE = "CopyDone"
    COPY_FAIL = "CopyFail"
    FUNCTION_CALL = "FunctionCall"


class Backend(Enum):
    """What the owner answers with: PostgreSQL's message names."""

    AUTHENTICATION_SASL = "AuthenticationSASL"
    AUTHENTICATION_SASL_CONTINUE = "AuthenticationSASLContinue"
    AUTHENTICATION_SASL_FINAL = "AuthenticationSASLFinal"
    AUTHENTICATION_OK = "AuthenticationOk"
    PARAMETER_STATUS = "ParameterStatus"
    BACKEND_KEY_DATA = "BackendKeyData"
    READY_FOR_QUERY = "ReadyForQuery"
    ROW_DESCRIPTION = "RowDescription"
    NO_DATA = "NoData"
    DATA_ROW = "DataRow"
    COPY_OUT_RESPONSE = "CopyOutResponse"
    COPY_DATA = "CopyData"
    COPY_DONE = "CopyDone"
    COMMAND_COMPLETE = "CommandComplete"
    EMPTY_QUERY_RESPONSE = "EmptyQueryResponse"
    PORTAL_SUSPENDED = "PortalSuspended"
    PARSE_COMPLETE = "ParseComplete"
    BIND_COMPLETE = "BindComplete"
    ERROR_RESPONSE = "ErrorResponse"
    NOTICE_RESPONSE = "NoticeResponse"


class Transaction(Enum):
    """The status that ReadyForQuery tells, by its byte."""

    IDLE = b"I"
    BLOCK = b"T"
    FAILED = b"E"


class OutOfTurn(RuntimeError):
    """The owner did what the state does not allow: a fault of the owner, whatever a client sent."""


MESSAGE_TYPES: Mapping[int, Frontend] = {
    ord("p"): Frontend.PASSWORD_MESSAGE,
    ord("Q"): Frontend.QUERY,
    ord("P"): Frontend.PARSE,
    ord("B"): Frontend.BIND,
    ord("D"): Frontend.DESCRIBE,
    ord("E"): Frontend.EXECUTE,
    ord("C"): Frontend.CLOSE,
    ord("H"): Frontend.FLUSH,
    ord("S"): Frontend.SYNC,
    ord("X"): Frontend.TERMINATE,
    ord("d"): Frontend.COPY_DATA,
    ord("c"): Frontend.COPY_DONE,
    ord("f"): Frontend.COPY_FAIL,
    ord("F"): Frontend.FUNCTION_CALL,
}
"""Messages that begin with a type byte. The four of the startup have none."""

_S, _F, _B = State, Frontend, Backend

CLIENT: Mapping[State, Mapping[Frontend, State]] = {
    State.STARTUP: {
        _F.SSL_REQUEST: _S.TLS_HANDSHAKE,
        _F.GSSENC_REQUEST: _S.GSSENC_REFUSED,
        _F.CANCEL_REQUEST: _S.CLOSED,
        _F.STARTUP_MESSAGE: _S.AUTHENTICATING,
    },
    State.SSL_REFUSED: {
        _F.GSSENC_REQUEST: _S.ENCRYPTION_REFUSED,
        _F.CANCEL_REQUEST: _S.CLOSED,
        _F.STARTUP_MESSAGE: _S.AUTHENTICATING,
    },
    State.GSSENC_REFUSED: {
        _F.SSL_REQUEST: _S.TLS_HANDSHAKE,
        _F.CANCEL_REQUEST: _S.CLOSED,
        _F.STARTUP_MESSAGE: _S.AUTHENTICATING,
    },
    State.ENCRYPTION_REFUSED: {
        _F.CANCEL_REQUEST: _S.CLOSED,
        _F.STARTUP_MESSAGE: _S.AUTHENTICATING,
    },
    State.TLS_STARTUP: {
        _F.CANCEL_REQUEST: _S.CLOSED,
        _F.STARTUP_MESSAGE: _S.AUTHENTICATING,
    },
    State.SASL_INITIAL: {_F.PASSWORD_MESSAGE: _S.SASL_JUDGING},
    State.SASL_RESPONSE: {_F.PASSWORD_MESSAGE: _S.SASL_JUDGING},
    State.READY: {
        _F.QUERY: _S.QUERYING,
        _F.PARSE: _S.PARSING,
        _F.BIND: _S.BINDING,
        _F.DESCRIBE: _S.DESCRIBING_STATEMENT,
        _F.EXECUTE: _S.EXECUTING,
        _F.CLOSE: _S.READY,
        _F.FLUSH: _S.READY,
        _F.SYNC: _S.SYNCING,
        _F.TERMINATE: _S.CLOSED,
        _F.COPY_DATA: _S.READY,
        _F.COPY_DONE: _S.READY,
        _F.COPY_FAIL: _S.READY,
        _F.FUNCTION_CALL: _S.READY,
    },
    State.SKIPPING: {
        _F.QUERY: _S.SKIPPING,
        _F.PARSE: _S.SKIPPING,
        _F.BIND: _S.SKIPPING,
        _F.DESCRIBE: _S.SKIPPING,
        _F.EXECUTE: _S.SKIPPING,
        _F.CLOSE: _S.SKIPPING,
        _F.FLUSH: _S.SKIPPING,
        _F.SYNC: _S.SYNCING,
        _F.TERMINATE: _S.CLOSED,
        _F.COPY_DATA: _S.SKIPPING,
        _F.COPY_DONE: _S.SKIPPING,
        _F.COPY_FAIL: _S.SKIPPING,
        _F.FUNCTION_CALL: _S.SKIPPING,
    },
}
"""In the client's turn: what may come, and where it leads. All else closes the connection (rules 6 and 11).
A state that is not listed is the owner's turn, or CLOSED."""

SSL_REFUSED: Mapping[State, State] = {
    State.STARTUP: _S.SSL_REFUSED,
    State.GSSENC_REFUSED: _S.ENCRYPTION_REFUSED,
}
"""Where SSLRequest leads when TLS is not offered."""

DESCRIBE_PORTAL = State.DESCRIBING_PORTAL
"""Where Describe leads when it names a portal."""

IGNORED = frozenset({_F.COPY_DATA, _F.COPY_DONE, _F.COPY_FAIL})
"""Messages that are read and dropped (rule 12)."""

AFTER_MALFORMED: Mapping[Frontend, State] = {
    _F.QUERY: _S.READY,
    _F.FUNCTION_CALL: _S.READY,
    _F.SYNC: _S.READY,
    _F.PARSE: _S.SKIPPING,
    _F.BIND: _S.SKIPPING,
    _F.DESCRIBE: _S.SKIPPING,
    _F.EXECUTE: _S.SKIPPING,
    _F.CLOSE: _S.SKIPPING,
    _F.FLUSH: _S.SKIPPING,
    _F.TERMINATE: _S.CLOSED,
}
"""Where an error in a message that READY took leads (rules 10 and 11). READY: ReadyForQuery goes with it."""

_RESULT = {
    _B.COPY_OUT_RESPONSE: _S.QUERY_COPYING,
    _B.ROW_DESCRIPTION: _S.QUERY_ROWS,
    _B.COMMAND_COMPLETE: _S.QUERY_ANSWERED,
    _B.EMPTY_QUERY_RESPONSE: _S.QUERY_ANSWERED,
    _B.ERROR_RESPONSE: _S.QUERY_FAILED,
}

OWNER: Mapping[State, Mapping[Backend, State]] = {
    State.TLS_HANDSHAKE: {},
    State.AUTHENTICATING: {_B.AUTHENTICATION_SASL: _S.SASL_INITIAL},
    State.SASL_JUDGING: {
        _B.AUTHENTICATION_SASL_CONTINUE: _S.SASL_RESPONSE,
        _B.AUTHENTICATION_SASL_FINAL: _S.AUTHENTICATED,
    },
    State.AUTHENTICATED: {_B.AUTHENTICATION_OK: _S.STARTING},
    State.STARTING: {_B.BACKEND_KEY_DATA: _S.STARTING, _B.READY_FOR_QUERY: _S.READY},
    State.QUERYING: _RESULT,
    State.QUERY_ANSWERED: {**_RESULT, _B.READY_FOR_QUERY: _S.READY},
    State.QUERY_ROWS: {
        _B.DATA_ROW: _S.QUERY_ROWS,
        _B.COMMAND_COMPLETE: _S.QUERY_ANSWERED,
        _B.ERROR_RESPONSE: _S.QUERY_FAILED,
    },
    State.QUERY_COPYING: {
        _B.COPY_DATA: _S.QUERY_COPYING,
        _B.COPY_DONE: _S.QUERY_COPIED,
        _B.ERROR_RESPONSE: _S.QUERY_FAILED,
    },
    State.QUERY_COPIED: {_B.COMMAND_COMPLETE: _S.QUERY_ANSWERED},
    State.QUERY_FAILED: {_B.READY_FOR_QUERY: _S.READY},
    State.PARSING: {_B.PARSE_COMPLETE: _S.READY, _B.ERROR_RESPONSE: _S.SKIPPING},
    State.BINDING: {_B.BIND_COMPLETE: _S.READY, _B.ERROR_RESPONSE: _S.SKIPPING},
    State.DESCRIBING_STATEMENT: {
        _B.ROW_DESCRIPTION: _S.READY,
        _B.NO_DATA: _S.READY,
        _B.ERROR_RESPONSE: _S.SKIPPING,
    },
    State.DESCRIBING_PORTAL: {
        _B.ROW_DESCRIPTION: _S.READY,
        _B.NO_DATA: _S.READY,
        _B.ERROR_RESPONSE: _S.SKIPPING,
    },
    State.COPYING: {
        _B.COPY_DATA: _S.COPYING,
        _B.COPY_DONE: _S.COPIED,
        _B.ERROR_RESPONSE: _S.SKIPPING,
    },
    State.COPIED: {_B.COMMAND_COMPLETE: _S.READY},
    State.EXECUTING: {
        _B.COPY_OUT_RESPONSE: _S.COPYING,
        _B.DATA_ROW: _S.EXECUTING,
        _B.COMMAND_COMPLETE: _S.READY,
        _B.EMPTY_QUERY_RESPONSE: _S.READY,
        _B.PORTAL_SUSPENDED: _S.READY,
        _B.ERROR_RESPONSE: _S.SKIPPING,
    },
    State.SYNCING: {_B.READY_FOR_QUERY: _S.READY, _B.ERROR_RESPONSE: _S.SYNCING},
}
"""In the owner's turn: what may be answered, and where it leads. All else raises `OutOfTurn`. A fatal
ErrorResponse is possible in every state and leads to CLOSED."""

ASYNCHRONOUS = frozenset({_B.NOTICE_RESPONSE, _B.PARAMETER_STATUS})
"""What may be sent at any time from STARTING on, and changes no state."""

UNSTARTED = frozenset(
    {
        _S.STARTUP,
        _S.SSL_REFUSED,
        _S.GSSENC_REFUSED,
        _S.ENCRYPTION_REFUSED,
        _S.TLS_HANDSHAKE,
        _S.TLS_STARTUP,
        _S.AUTHENTICATING,
        _S.SASL_INITIAL,
        _S.SASL_JUDGING,
        _S.SASL_RESPONSE,
        _S.AUTHENTICATED,
    }
)
"""States of a client that has not shown who it is."""

STARTUP_STATES = frozenset(
    {_S.STARTUP, _S.SSL_REFUSED, _S.GSSENC_REFUSED, _S.ENCRYPTION_REFUSED, _S.TLS_STARTUP}
)
"""States in which packets have no type byte."""
