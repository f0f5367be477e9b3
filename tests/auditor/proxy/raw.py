"""A client of the tests' own that sends any bytes: connects, shows its password, then does as it is told."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import socket
import struct
from functools import cache
from types import TracebackType

from tests.auditor.proxy.protocol.wire import CLIENT, startup


@cache
def _salted(password: str, salt: bytes, iterations: int) -> bytes:
    return hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)


class Closed(Exception):
    """The server has ended the connection."""


class Raw:
    """One connection without TLS."""

    def __init__(self, port: int, timeout: float = 60.0) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.received = bytearray()

    def __enter__(self) -> Raw:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            raise Closed from None

    def more(self) -> None:
        """Take in what comes next.

        Raises:
            Closed: nothing does.
            TimeoutError: the server says nothing.
        """
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        if not data:
            raise Closed
        self.received += data

    def until(self, mark: bytes) -> bytes:
        """Everything up to a mark."""
        while mark not in self.received:
            self.more()
        end = self.received.index(mark) + len(mark)
        found = bytes(self.received[:end])
        del self.received[:end]
        return found

    def message(self) -> tuple[bytes, bytes]:
        """Kind and body of the next message."""
        while (
            len(self.received) < 5 or len(self.received) < 1 + struct.unpack_from("!I", self.received, 1)[0]
        ):
            self.more()
        end = 1 + struct.unpack_from("!I", self.received, 1)[0]
        kind, body = bytes(self.received[:1]), bytes(self.received[5:end])
        del self.received[:end]
        return kind, body

    def log_in(self, user: str, password: str, database: str = "staff") -> bytes:
        """Show the password; the kind and body of what ends it, `Z…` or `E…`."""
        self.send(startup("3.0", {"user": user, "database": database}))
        self.message()
        bare = f"n=,r={base64.b64encode(os.urandom(18)).decode()}"
        self.send(CLIENT["SASLInitialResponse"]("SCRAM-SHA-256", f"n,,{bare}".encode()))
        kind, body = self.message()
        if kind != b"R":
            return kind + body
        first = body[4:].decode()
        told = dict(part.split("=", 1) for part in first.split(","))
        salted = _salted(password, base64.b64decode(told["s"]), int(told["i"]))
        key = hmac.digest(salted, b"Client Key", "sha256")
        without = f"c=biws,r={told['r']}"
        signature = hmac.digest(hashlib.sha256(key).digest(), f"{bare},{first},{without}".encode(), "sha256")
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()
        self.send(CLIENT["SASLResponse"](f"{without},p={proof}".encode()))
        while True:
            kind, body = self.message()
            if kind in (b"Z", b"E"):
                return kind + body
