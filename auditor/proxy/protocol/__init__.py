"""PostgreSQL's protocol 3.0 from the server's side: a core without I/O, threads or clock.

`Connection` takes bytes and gives `events`; its owner answers each with the methods of `Connection` and
sends what `data_to_send` returns. The rules and tables of `states` say what may follow what; `sqlstate` says
what an error is called. See `connection` for the loop.
"""

from auditor.proxy.protocol.backend import Column
from auditor.proxy.protocol.connection import TLS, Connection
from auditor.proxy.protocol.limits import Limits
from auditor.proxy.protocol.messages import CancelRequest, Parse, Query
from auditor.proxy.protocol.sqlstate import ErrorFields, ProtocolError, SqlState
from auditor.proxy.protocol.statements import Portal, Statement
from auditor.proxy.protocol.states import OutOfTurn, State, Transaction

__all__ = [
    "TLS",
    "CancelRequest",
    "Column",
    "Connection",
    "ErrorFields",
    "Limits",
    "OutOfTurn",
    "Parse",
    "Portal",
    "ProtocolError",
    "Query",
    "SqlState",
    "State",
    "Statement",
    "Transaction",
]
