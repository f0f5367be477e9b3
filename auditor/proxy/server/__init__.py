"""The sockets of `cae-sql serve`: the only package that knows asyncio, sockets and TLS.

wire.py       the bytes of one socket
client.py     one client: bytes, jobs, deadlines
listening.py  who may listen where, TLS, limits, signals; `run`
status.py     /metrics and /health
"""

from __future__ import annotations

from auditor.proxy.server.client import Times
from auditor.proxy.server.listening import Address, Server, Serving, run

__all__ = ["Address", "Server", "Serving", "Times", "run"]
