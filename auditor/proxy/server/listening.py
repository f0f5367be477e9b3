"""The server: where it listens, TLS, limits on connections, cancel requests, signals.

Promises that it does not listen beyond loopback without TLS, and there takes no client without it; that
connections in all and for each user are limited; that a cancel request stops a statement only if it knows the
connection's own secret; and that SIGTERM ends it in bounded time, with an error to whoever is connected.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import secrets
import signal
import ssl
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from auditor.errors import AuditorError, ServingError
from auditor.proxy.observing import Log, Metrics, Watcher
from auditor.proxy.protocol import TLS, CancelRequest, Connection
from auditor.proxy.scram import certificate_hash
from auditor.proxy.server.client import Client, Times
from auditor.proxy.server.status import Status
from auditor.proxy.server.wire import ALPN, Wire
from auditor.proxy.server.works import Works
from auditor.proxy.session.cursors import MOST, Holding
from auditor.proxy.session.login import Door
from auditor.proxy.session.session import Peer, Session
from auditor.proxy.sources import Sources
from auditor.proxy.users import Users, read_users

if TYPE_CHECKING:
    from auditor.gate.gate import Gate

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_OTHER_FILES = 256
"""Descriptors for what is not a client's socket: the ledger, DuckDB, who reads the metrics."""


@dataclass(frozen=True)
class Address:
    """Where to listen."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Serving:
    """How to serve."""

    listen: Address
    users: Path
    """The users file."""
    certificate: Path | None = None
    key: Path | None = None
    status: Address | None = None
    """Where /metrics and /health are; nowhere by default."""
    connections: int = 100
    """Of those who have come in, in all."""
    per_user: int = 20
    waiting: int = 500
    """Of those who have not; when there are more, the oldest is let go."""
    held: int = MOST
    """Bytes of results that wait for their readers, of all clients together."""
    drain: float = 10.0
    """Seconds that running statements get when the server stops."""
    times: Times = field(default_factory=Times)

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise ServingError("TLS needs a certificate and its key: give --tls-cert and --tls-key")
        if self.certificate is None and not self.listen.loopback:
            raise ServingError(
                f"{self.listen} can be reached from other machines: give --tls-cert and --tls-key, or "
                "listen on 127.0.0.1"
            )


class Server:
    """Serves one database to many clients."""

    def __init__(
        self,
        sources: Sources,
        serving: Serving,
        log: Log,
        metrics: Metrics | None = None,
        reopen: Callable[[], Gate | None] = lambda: None,
    ) -> None:
        """Read users and certificate; nothing is listened on yet.

        Args:
            sources: What is served; closed by its owner.
            serving: How.
            log: Where events are written.
            metrics: What is counted.
            reopen: At a reload, gives the gate under the policy as it is now; None: nothing has changed.

        Raises:
            UsersError: the users file cannot be used.
            ServingError: the certificate cannot.
        """
        self._sources, self._serving, self._log, self._reopen = sources, serving, log, reopen
        self._reloading = asyncio.Lock()
        self.metrics = metrics or Metrics()
        self._users: Users = read_users(serving.users)
        self._tls: tuple[ssl.SSLContext, bytes | None] | None = _tls(serving)
        self._clients: dict[int, tuple[int, Client]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: dict[int, Client] = {}
        self._by_user: Counter[str] = Counter()
        self._holding = Holding(serving.held)
        self._numbers = count(1)
        # statements that wait for a decision keep their threads: known and public ones need others
        self._pool = ThreadPoolExecutor(2 * serving.connections, "statement")
        self._works = Works(self._pool, sources.cancel, sources.ahead, serving.per_user)
        self._started = datetime.now(UTC)
        self._listeners: list[asyncio.Server] = []
        self.stopping = False

    async def start(self) -> Address:
        """Listen; gives the address, with the port that was free where 0 was asked for.

        Raises:
            ServingError: it cannot listen there.
        """
        loop = asyncio.get_running_loop()
        listen, status = self._serving.listen, self._serving.status
        try:
            server = await loop.create_server(self._accepted, listen.host, listen.port, backlog=512)
            self._listeners.append(server)
            if status is not None:
                answers = Status(self.metrics.text, lambda: not self.stopping)
                self._listeners.append(await asyncio.start_server(answers.serve, status.host, status.port))
        except OSError as error:
            raise ServingError(f"cannot listen on {listen}: {error.strerror or error}") from error
        port = int(server.sockets[0].getsockname()[1])
        self._log.write("listening", address=str(Address(listen.host, port)), tls=self._tls is not None)
        return Address(listen.host, port)

    def reload(self) -> None:
        """Read users file, certificate and policy again; where one cannot be used, all stay as they were.

        Connections of users who are not as they were end; all others stay, under the new policy.
        """
        task = asyncio.get_running_loop().create_task(self._reload())
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def _reload(self) -> None:
        loop = asyncio.get_running_loop()
        async with self._reloading:
            try:
                tls = _tls(self._serving)
                users = await loop.run_in_executor(None, self._renewed)
            except AuditorError as error:
                self._log.write("reload failed", reason=str(error))
                return
            self._users, self._tls = users, tls
            for _, client in list(self._clients.values()):
                if client.user is not None and users.get(client.user.name) != client.user:
                    client.shut_down()
            self._log.write("reloaded", users=len(users.by_name))

    def _renewed(self) -> Users:
        users = read_users(self._serving.users)
        self._sources.renew(list(users.by_name), self._reopen())
        return users

    async def stop(self) -> None:
        """Let idle clients go at once, running statements end or be interrupted, and close."""
        self.stopping = True
        self._log.write("stopping", connections=len(self._clients))
        for listener in self._listeners:
            listener.close()
        for _, client in list(self._clients.values()):
            client.shut_down()
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=self._serving.drain)
        for _, client in list(self._clients.values()):
            client.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=self._serving.drain)
        for task in list(self._tasks):
            task.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._log.write("stopped")

    # --- one client

    def _accepted(self) -> Wire:
        return _Accepted(self._begin)

    def _begin(self, wire: Wire) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(wire))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Nothing may fail there but for a mistake of ours, of which asyncio would print the values."""
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            Watcher(self._log, self.metrics, 0).failed(error)

    async def _serve(self, wire: Wire) -> None:
        number, secret = next(self._numbers) & 0x7FFFFFFF, secrets.randbits(32)
        offer: TLS = "none" if self._tls is None else "offered"
        connection = Connection(tls=offer if self._serving.listen.loopback else "required")
        if self.stopping:
            wire.abort()
            return
        while len(self._waiting) >= self._serving.waiting:
            self._waiting.pop(next(iter(self._waiting))).drop()
            self.metrics.count("turned_away")
        watcher = Watcher(self._log, self.metrics, number)
        admitted: list[str] = []
        door = Door(
            lambda: self._users,
            lambda user: self._admit(number, user, admitted),
            self._sources.database,
            None if self._tls is None else self._tls[1],
        )
        peer = Peer(number, secret, wire.address("sockname"), wire.address("peername"), self._started)
        session = Session(connection, self._sources, door, peer, watcher, holding=self._holding)
        client = Client(wire, connection, session, self._works, self._serving.times)
        context = None if self._tls is None else self._tls[0]
        self._clients[number] = (secret, client)
        self._waiting[number] = client
        self.metrics.connections = len(self._clients)
        self._log.write("connected", connection=number, client=peer.client[0] if peer.client else "")
        try:
            await client.serve(lambda: context)
            if client.canceled is not None:
                self._cancel(client.canceled)
        finally:
            del self._clients[number]
            self._waiting.pop(number, None)
            self.metrics.connections = len(self._clients)
            for user in admitted:
                self._by_user[user] -= 1
            self._log.write("disconnected", connection=number)

    def _admit(self, number: int, user: str, admitted: list[str]) -> bool:
        if self._by_user[user] >= self._serving.per_user:
            return False
        if self._by_user.total() >= self._serving.connections:
            return False
        self._waiting.pop(number, None)
        self._by_user[user] += 1
        admitted.append(user)
        return True

    def _cancel(self, request: CancelRequest) -> None:
        secret, client = self._clients.get(request.process_id, (secrets.randbits(32), None))
        same = hmac.compare_digest(secret.to_bytes(4, "big"), request.secret_key.to_bytes(4, "big"))
        if client is not None and same:
            client.cancel()


class _Accepted(Wire):
    """A wire that says when it is there."""

    def __init__(self, begin: Callable[[Wire], None]) -> None:
        super().__init__()
        self._begin = begin

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is open."""
        super().connection_made(transport)
        self._begin(self)


def _tls(serving: Serving) -> tuple[ssl.SSLContext, bytes | None] | None:
    """The TLS side of a server, and the channel binding of its certificate."""
    if serving.certificate is None or serving.key is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols([ALPN])
    try:
        context.load_cert_chain(serving.certificate, serving.key, password=lambda: "")
        text = serving.certificate.read_text(encoding="ascii")
        start = text.index(ssl.PEM_HEADER)
        end = text.index(ssl.PEM_FOOTER, start) + len(ssl.PEM_FOOTER)
        binding = certificate_hash(ssl.PEM_cert_to_DER_cert(text[start:end]))
    except (OSError, ssl.SSLError, ValueError) as error:
        reason = (
            getattr(error, "reason", None) or getattr(error, "strerror", None) or "no certificate and key"
        )
        raise ServingError(
            f"certificate {serving.certificate} and key {serving.key} cannot be used: {reason}"
        ) from error
    return context, binding


def _make_room(sockets: int) -> None:
    """Allow as many files as the limits on connections may need, as far as the system lets us."""
    if resource is None:
        return
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = sockets + _OTHER_FILES
    if most != resource.RLIM_INFINITY:
        wanted = min(wanted, most)
    if now != resource.RLIM_INFINITY and now < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _unexpected(log: Log, about: dict[str, Any]) -> None:
    """What asyncio would print: its texts may hold values, so the type of the exception must do."""
    error = about.get("exception")
    if not isinstance(error, OSError):  # sockets that break are the clients' affair
        log.write("internal error", type=type(error).__name__, traceback=[])


def run(
    sources: Sources,
    serving: Serving,
    log: Log,
    ready: Callable[[Address], None] | None = None,
    reopen: Callable[[], Gate | None] = lambda: None,
) -> None:
    """Serve until SIGTERM or SIGINT; SIGHUP reads users, certificate and policy again.

    Args:
        sources: What is served.
        serving: How.
        log: Where events are written.
        ready: Is told the address once it is listened on.
        reopen: At SIGHUP, gives the gate under the policy as it is now; None: nothing has changed.

    Raises:
        ServingError: it cannot listen there, or the certificate cannot be used.
        UsersError: the users file cannot be used.
    """
    server = Server(sources, serving, log, reopen=reopen)
    _make_room(serving.connections + serving.waiting)

    async def main() -> None:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        loop.set_exception_handler(lambda _, about: _unexpected(log, about))
        address = await server.start()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, ended.set)
        loop.add_signal_handler(signal.SIGHUP, server.reload)
        if ready is not None:
            ready(address)
        await ended.wait()
        await server.stop()

    try:
        asyncio.run(main())
    finally:
        log.close()
