"""Bytes from a socket, cut into packets and messages.

Promises: each byte is moved a bounded number of times, however it arrives; a length is checked against the
limit before a byte of the body is waited for, so nothing is ever allocated on a client's word.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from struct import Struct

from auditor.proxy.protocol.limits import HEADER, Limits
from auditor.proxy.protocol.sqlstate import ProtocolError, SqlState
from auditor.proxy.protocol.states import MESSAGE_TYPES, Frontend

_LENGTH = Struct(">I")
_HANDSHAKE = b"\x16"
"""The type of TLS's first record."""


class Inbox:
    """What has arrived and is not read yet."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._by_message: Mapping[Frontend, int] = limits.by_message
        # CPython drops bytes at the front of a bytearray without moving the rest.
        self._bytes = bytearray()

    def __len__(self) -> int:
        return len(self._bytes)

    def add(self, data: bytes) -> None:
        """Append what has arrived."""
        self._bytes += data

    def clear(self) -> None:
        """Drop everything."""
        self._bytes = bytearray()

    def tls(self) -> bytes:
        """All of it, taken out, where it begins a handshake of TLS; else nothing.

        As the length of a packet such a first byte would be more than 300 MB.
        """
        if self._bytes[:1] != _HANDSHAKE:
            return b""
        taken = bytes(self._bytes)
        self.clear()
        return taken

    def packet(self) -> bytes | None:
        """The next packet of the startup, without its length; None while it is incomplete.

        Raises:
            ProtocolError: the length is none of a packet.
        """
        if len(self._bytes) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._bytes)
        size = length - _LENGTH.size
        if not _LENGTH.size <= size <= self._limits.startup:
            raise ProtocolError(
                SqlState.PROTOCOL_VIOLATION,
                "invalid length of startup packet",
                hint="This port speaks PostgreSQL's protocol, from version 3.0 on.",
            )
        return self._take(_LENGTH.size, size)

    def message(self, expected: Collection[Frontend]) -> tuple[Frontend, bytes] | None:
        """The next message's type and body; None while it is incomplete.

        Args:
            expected: The types that may come. Another one is refused as soon as its first byte is here.

        Raises:
            ProtocolError: the type does not exist or belong here, or the length is out of bounds.
        """
        if not self._bytes:
            return None
        kind = MESSAGE_TYPES.get(self._bytes[0])
        if kind is None:
            raise ProtocolError(
                SqlState.PROTOCOL_VIOLATION, f"invalid frontend message type {self._bytes[0]}"
            )
        if kind not in expected:
            raise ProtocolError(
                SqlState.PROTOCOL_VIOLATION,
                f"expected {' or '.join(each.value for each in expected)}, got {kind.value}"
                if len(expected) == 1
                else f"{kind.value} is not possible here",
            )
        if len(self._bytes) < HEADER:
            return None
        (length,) = _LENGTH.unpack_from(self._bytes, 1)
        size = length - _LENGTH.size
        # A negative length reads as one of more than 2 GiB.
        if size < 0 or length > 0x7FFFFFFF:
            raise ProtocolError(SqlState.PROTOCOL_VIOLATION, f"invalid length of {kind.value} message")
        if size > self._by_message[kind]:
            raise ProtocolError(
                SqlState.PROGRAM_LIMIT_EXCEEDED,
                f"{kind.value} message of {size} bytes is too long",
                hint=f"A {kind.value} message may have {self._by_message[kind]} bytes here.",
            )
        body = self._take(HEADER, size)
        return None if body is None else (kind, body)

    def _take(self, header: int, size: int) -> bytes | None:
        end = header + size
        if len(self._bytes) < end:
            return None
        body = bytes(memoryview(self._bytes)[header:end])
        del self._bytes[:end]
        return body
