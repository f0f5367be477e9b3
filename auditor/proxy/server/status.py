"""`/metrics` and `/health` over HTTP, for who watches the server. One request a connection, nothing else."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

_PATIENCE = 5.0
_MAX_HEAD = 8_192
_MOST = 64
"""Requests at once; who watches needs one."""
_TEXT = "text/plain; version=0.0.4; charset=utf-8"


class Status:
    """Answers two paths."""

    def __init__(self, metrics: Callable[[], str], healthy: Callable[[], bool]) -> None:
        self._metrics, self._healthy = metrics, healthy
        self._open = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request; where too many wait, none."""
        if self._open >= _MOST:
            writer.close()
            return
        self._open += 1
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _PATIENCE)
            writer.write(self._answer(head))
            await asyncio.wait_for(writer.drain(), _PATIENCE)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            self._open -= 1
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def _answer(self, head: bytes) -> bytes:
        words = head.split(b"\r\n", 1)[0].split(b" ")
        if len(words) != 3 or len(head) > _MAX_HEAD or words[0] not in (b"GET", b"HEAD"):
            return _response("400 Bad Request", "only GET\n")
        path = words[1].split(b"?")[0]
        if path == b"/metrics":
            return _response("200 OK", self._metrics())
        if path == b"/health":
            healthy = self._healthy()
            return (
                _response("200 OK", "ok\n") if healthy else _response("503 Service Unavailable", "stopping\n")
            )
        return _response("404 Not Found", "there are /metrics and /health\n")


def _response(status: str, text: str) -> bytes:
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: {_TEXT}\r\nContent-Length: {len(body)}\r\n"
    head += "Connection: close\r\n\r\n"
    return head.encode() + body
