"""What `Connection.next_event` gives to its owner, in the order in which the client sent it.

Each docstring says what the owner answers; an event without such a sentence needs no answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from auditor.proxy.protocol.messages import CancelRequest, Parse, Query
from auditor.proxy.protocol.sqlstate import ErrorFields
from auditor.proxy.protocol.statements import Portal, Statement


@dataclass(frozen=True)
class StartTLS:
    """Send what is queued, wrap the socket, then call `tls_established`."""

    hello: bytes = b""
    """What arrived of TLS already, where the client began it at once: it counts only if both agree by ALPN on
    this protocol."""


@dataclass(frozen=True)
class Startup:
    """Somebody would like to connect. Answer with `authentication_sasl`, or with `fatal`."""

    user: str
    """As claimed; nothing is shown yet."""
    database: str
    """The user's name where the client names none."""
    parameters: Mapping[str, str]
    """Settings as sent, without `user`, `database` and `replication`; `options` may be among them."""
    encrypted: bool
    """Whether TLS is up."""


@dataclass(frozen=True)
class SASLInitialResponse:
    """Answer with `authentication_sasl_continue`, `authentication_sasl_final` or `fatal`."""

    mechanism: str
    """One of those that were offered."""
    data: bytes | None = field(repr=False)
    """None where the mechanism has the server begin."""


@dataclass(frozen=True)
class SASLResponse:
    """Answer as a `SASLInitialResponse`."""

    data: bytes = field(repr=False)


@dataclass(frozen=True)
class BindPortal:
    """Answer with `bind_complete` or `error`."""

    portal: Portal
    """Not kept before `bind_complete`; its `state` is the owner's."""


@dataclass(frozen=True)
class DescribeStatement:
    """Answer with `row_description` (formats 0), `no_data` or `error`; the parameters are told before it."""

    statement: Statement


@dataclass(frozen=True)
class DescribePortal:
    """Answer with `row_description`, `no_data` or `error`."""

    portal: Portal


@dataclass(frozen=True)
class ExecutePortal:
    """Answer with rows and `command_complete`, `portal_suspended` or `empty_query_response`; or `error`.

    Portals of a failed block are still here: it is the owner's to refuse all but the block's end.
    """

    portal: Portal
    max_rows: int
    """0 for all."""


@dataclass(frozen=True)
class Closed:
    """A Close was answered: here is what is gone, or None where there was nothing of that name."""

    gone: Portal | Statement | None


@dataclass(frozen=True)
class Flush:
    """The client waits for what is queued."""


@dataclass(frozen=True)
class Sync:
    """End the implicit transaction, then answer with `ready_for_query`; with `error` before it on failure."""


@dataclass(frozen=True)
class Rejected:
    """The connection has answered something itself, with this error; nothing is left to do but to note it.

    If it is fatal, the connection is closed once what is queued has been sent.
    """

    error: ErrorFields


@dataclass(frozen=True)
class Terminate:
    """The client says goodbye. Close the socket."""


@dataclass(frozen=True)
class Disconnected:
    """The client's bytes ended without goodbye. Close the socket."""


Event = (
    StartTLS
    | Startup
    | CancelRequest
    | SASLInitialResponse
    | SASLResponse
    | Query
    | Parse
    | BindPortal
    | DescribeStatement
    | DescribePortal
    | ExecutePortal
    | Closed
    | Flush
    | Sync
    | Rejected
    | Terminate
    | Disconnected
)
"""`Query`: answer with results or `error`, then `ready_for_query`. `Parse`: with `parse_complete` or `error`.
`CancelRequest`: stop what it names, say nothing, close the socket."""
