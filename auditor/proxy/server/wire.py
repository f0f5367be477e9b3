"""The bytes of one socket: read when they are wanted, written no faster than the client takes them."""

from __future__ import annotations

import asyncio
import ssl

HELD = 256 << 10
"""Bytes that are read ahead of the session; then the socket is not read any more."""


ALPN = "postgresql"
"""This protocol's name within TLS."""


class Lost(Exception):
    """The client is gone."""


class Wire(asyncio.Protocol):
    """One socket, before and after TLS."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.gone = asyncio.Event()
        """Set when nothing more will come from the client."""
        self._received = bytearray()
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._closed = self._encrypted = self._paused = False

    # --- asyncio's part

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is open."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        self._received += data
        if len(self._received) >= HELD and not self._paused and self._open:
            assert self.transport is not None
            self.transport.pause_reading()
            self._paused = True
        self._arrived.set()

    def eof_received(self) -> bool:
        """The client sends no more; what is queued may still be taken."""
        self.gone.set()
        self._arrived.set()
        return not self._encrypted  # within TLS there is no half of a connection

    def connection_lost(self, _: Exception | None) -> None:
        """The socket is closed."""
        self._closed = True
        self.gone.set()
        self._arrived.set()
        self._writable.set()

    def pause_writing(self) -> None:
        """The client is slow."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """The client has caught up."""
        self._writable.set()

    # --- the session's part

    async def read(self) -> bytes:
        """What has come; nothing at the end."""
        while not self._received and not self.gone.is_set():
            self._arrived.clear()
            await self._arrived.wait()
        data = bytes(self._received)
        self._received.clear()
        if self._paused and self._open:
            assert self.transport is not None
            self.transport.resume_reading()
            self._paused = False
        return data

    @property
    def _open(self) -> bool:
        return self.transport is not None and not self._closed and not self.transport.is_closing()

    def write(self, data: bytes) -> None:
        """Send without waiting.

        Raises:
            Lost: there is nobody to send to.
        """
        if not self._open:
            raise Lost
        assert self.transport is not None
        self.transport.write(data)

    async def send(self, data: bytes, patience: float) -> None:
        """Send, and wait until the client has taken most of it.

        Raises:
            Lost: there is nobody to send to, or not within the patience.
        """
        if data:
            self.write(data)
        try:
            await asyncio.wait_for(self._writable.wait(), patience)
        except TimeoutError:
            self.abort()
            raise Lost from None
        if self._closed:
            raise Lost

    async def start_tls(self, context: ssl.SSLContext, patience: float, hello: bytes = b"") -> None:
        """Speak TLS from here on; what was read before is refused.

        Args:
            context: The server's.
            patience: Seconds for the handshake.
            hello: What was read of TLS itself, where the client began it without asking.

        Raises:
            Lost: the handshake failed, or TLS was begun without asking and not for this protocol.
        """
        if not self._open or (self._received and not hello):
            raise Lost
        assert self.transport is not None
        # Nothing is awaited between the answer S and here: no byte can come in between unencrypted.
        loop = asyncio.get_running_loop()
        self.transport.pause_reading()
        given, plain = hello + bytes(self._received), self.transport
        self._received.clear()
        self._paused = False
        try:
            begun = asyncio.ensure_future(
                loop.start_tls(plain, self, context, server_side=True, ssl_handshake_timeout=patience)
            )
            if given:
                await _handed_on(given, plain)
            made = await begun
        except (OSError, ssl.SSLError, ValueError, RuntimeError):
            self.abort()
            raise Lost from None
        if made is None:
            raise Lost
        self.transport, self._encrypted = made, True
        agreed = made.get_extra_info("ssl_object").selected_alpn_protocol()
        if hello and agreed != ALPN:
            self.abort()
            raise Lost

    def close(self) -> None:
        """Close once what is queued is sent."""
        if self._open:
            assert self.transport is not None
            self.transport.close()

    def abort(self) -> None:
        """Close at once."""
        if self.transport is not None and not self._closed:
            self.transport.abort()

    def address(self, which: str) -> tuple[str, int] | None:
        """`sockname` or `peername`, where they are an address and a port."""
        found = None if self.transport is None else self.transport.get_extra_info(which)
        return (str(found[0]), int(found[1])) if isinstance(found, tuple) and len(found) >= 2 else None


async def _handed_on(data: bytes, transport: asyncio.Transport) -> None:
    """Give bytes that were read already to the protocol that has the transport from the next turn on."""
    await asyncio.sleep(0)  # now `start_tls` has put its protocol in our place
    await asyncio.sleep(0)  # and has told it of the connection
    protocol = transport.get_protocol()
    while data and isinstance(protocol, asyncio.BufferedProtocol):  # else the client is gone
        room = memoryview(protocol.get_buffer(len(data)))
        taken = min(len(room), len(data))
        room[:taken] = data[:taken]
        protocol.buffer_updated(taken)
        data = data[taken:]
