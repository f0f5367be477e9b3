"""A server of the tests' own, over the small table of `tests.auditor.staff`, in a thread."""

from __future__ import annotations

import asyncio
import io
import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from auditor import Gate, Policy
from auditor.proxy.observing import Log
from auditor.proxy.scram import Verifier
from auditor.proxy.server import Address, Server, Serving, Times
from auditor.proxy.sources import Sources
from auditor.proxy.users import Role, User, add_user
from tests.auditor.staff import build, people, policy_text

PASSWORD = "a password of twelve"
VERIFIER = Verifier.of_password(PASSWORD)
USERS = {"ana": Role.ANALYST, "bob": Role.ANALYST, "grace": Role.ADMINISTRATOR}


def users_file(folder: Path) -> Path:
    """A users file of `USERS`, who share one password."""
    file = folder / "users"
    if not file.exists():
        for name, role in USERS.items():
            add_user(file, User(name, role, VERIFIER))
    return file


def opened(folder: Path, more: str = "", ledger: str | None = None, before: str = "") -> Gate:
    """The gate over the small table; its ledger is in the folder, or where a URL says.

    Args:
        folder: Where the database is, or is made.
        more: Sections of the policy, after those of `policy_text`.
        ledger: A URL.
        before: Lines of the policy before its sections.
    """
    path = folder / "staff.duckdb"
    if not path.exists():
        build(path, people(60))
    return Gate.open(path, Policy.parse(before + policy_text(more)), ledger or folder / "ledger")


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for localhost, and its key."""
    certificate, key = folder / "certificate", folder / "key"
    command = ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
               "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-days", "2",
               "-keyout", str(key), "-out", str(certificate)]  # fmt: skip
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("there is no openssl to make a certificate with")
    return certificate, key


@dataclass
class Running:
    """A server that runs."""

    address: Address
    server: Server
    loop: asyncio.AbstractEventLoop
    certificate: Path | None
    log: io.StringIO
    sources: Sources
    writer: Log
    stopped: bool = field(default=False)

    @property
    def port(self) -> int:
        return self.address.port

    @property
    def gate(self) -> Gate:
        return self.sources.gate

    def events(self, name: str) -> list[dict[str, Any]]:
        """The log's lines of one kind."""
        self.writer.close()
        lines = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [line for line in lines if line["event"] == name]

    def call(self, work: Any, *arguments: Any) -> None:
        """Have the server's loop do something."""
        self.loop.call_soon_threadsafe(work, *arguments)

    def stop(self) -> None:
        if not self.stopped:
            self.stopped = True
            asyncio.run_coroutine_threadsafe(self.server.stop(), self.loop).result(60)

    @property
    def psycopg(self) -> dict[str, Any]:
        """What psycopg.connect takes."""
        tls = {"sslmode": "disable"}
        if self.certificate is not None:
            tls = {"sslmode": "verify-full", "sslrootcert": str(self.certificate)}
        return {
            "host": "localhost", "hostaddr": "127.0.0.1", "port": self.port, "user": "ana",
            "password": PASSWORD, "dbname": "staff", "connect_timeout": 60, **tls,
        }  # fmt: skip


@contextmanager
def running(
    folder: Path,
    tls: bool = True,
    more: str = "",
    listen: str = "127.0.0.1",
    ledger: str | None = None,
    before: str = "",
    **options: Any,
) -> Iterator[Running]:
    """Start a server on a free port of loopback, and stop it."""

    def reopen() -> Gate | None:
        file = folder / "policy.toml"
        return opened(folder, file.read_text(), ledger) if file.exists() else None

    with (
        opened(folder, more, ledger, before) as gate,
        running_with(gate, folder, tls, listen, reopen, **options) as made,
    ):
        yield made


@contextmanager
def running_with(
    gate: Gate,
    folder: Path,
    tls: bool = True,
    listen: str = "127.0.0.1",
    reopen: Callable[[], Gate | None] = lambda: None,
    **options: Any,
) -> Iterator[Running]:
    """The same over a gate that is open."""
    pair = certificate(folder) if tls else (None, None)
    log = io.StringIO()
    options.setdefault("times", Times(startup=60, statement=60, reader=60))
    serving = Serving(Address(listen, 0), users_file(folder), *pair, drain=2.0, **options)
    sources = Sources(gate, "staff", list(USERS))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    writer = Log(log.write)
    server = Server(sources, serving, writer, reopen=reopen)
    address = asyncio.run_coroutine_threadsafe(server.start(), loop).result(60)
    made = Running(address, server, loop, pair[0], log, sources, writer)
    try:
        yield made
    finally:
        made.stop()
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
        sources.close()
