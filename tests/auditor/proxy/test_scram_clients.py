"""Real clients prove their passwords to the exchange, over a plain socket and bound to TLS."""

from __future__ import annotations

import asyncio
import importlib
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from auditor.proxy.scram import SCRAM, SCRAM_PLUS, Exchange, ScramError, Verifier, certificate_hash

PASSWORD = "pässwörd of ana"
VERIFIER = Verifier.of_password(PASSWORD)
SSL_REQUEST = 80877103


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


class Server(threading.Thread):
    """As much of a server as it takes to log in; one client after the other."""

    def __init__(self, verifier: Verifier, tls: Path | None = None, forget_plus: bool = False) -> None:
        super().__init__(daemon=True)
        self._verifier, self._tls, self._forget_plus = verifier, tls, forget_plus
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.mechanisms: list[str] = []
        self.flags: list[bytes] = []

    def run(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            client.settimeout(60)
            try:
                self._serve(client)
            except (OSError, ScramError, EOFError, struct.error):
                client.close()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _serve(self, client: Any) -> None:
        (length, code) = struct.unpack("!ii", self._read(client, 8))
        binding = None
        if code == SSL_REQUEST:
            if self._tls is None:
                client.sendall(b"N")
            else:
                client.sendall(b"S")
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(self._tls)
                client = context.wrap_socket(client, server_side=True)
                binding = certificate_hash(
                    ssl.PEM_cert_to_DER_cert(self._tls.read_text().split("KEY-----\n")[-1])
                )
                assert binding is not None
            (length, code) = struct.unpack("!ii", self._read(client, 8))
        self._read(client, length - 8)
        self._log_in(client, Exchange(self._verifier, binding))
        client.sendall(
            _message(b"S", b"server_version\x0015.0\0") + _message(b"S", b"client_encoding\0UTF8\0")
        )
        client.sendall(_message(b"K", bytes(8)) + _message(b"Z", b"I"))
        while client.recv(4096):
            pass

    def _log_in(self, client: Any, exchange: Exchange) -> None:
        offered = [each for each in exchange.mechanisms if each == SCRAM or not self._forget_plus]
        names = b"".join(each.encode() + b"\0" for each in offered) + b"\0"
        client.sendall(_message(b"R", struct.pack("!i", 10) + names))
        mechanism, _, rest = self._answer(client).partition(b"\0")
        self.mechanisms.append(mechanism.decode())
        self.flags.append(rest[4:5])
        try:
            first = exchange.begin(mechanism.decode(), rest[4:])
            client.sendall(_message(b"R", struct.pack("!i", 11) + first))
            final = exchange.finish(self._answer(client))
        except ScramError as error:
            fields = f"SFATAL\0VFATAL\0C{error.sqlstate}\0M{error}\0\0"
            client.sendall(_message(b"E", fields.encode()))
            raise
        client.sendall(_message(b"R", struct.pack("!i", 12) + final) + _message(b"R", struct.pack("!i", 0)))

    def _answer(self, client: Any) -> bytes:
        kind, length = struct.unpack("!ci", self._read(client, 5))
        assert kind == b"p"
        return self._read(client, length - 4)

    def _read(self, client: Any, size: int) -> bytes:
        content = b""
        while len(content) < size:
            piece = client.recv(size - len(content))
            if not piece:
                raise EOFError
            content += piece
        return content


@contextmanager
def serving(*arguments: Any, **more: Any) -> Iterator[Server]:
    server = Server(*arguments, **more)
    server.start()
    try:
        yield server
    finally:
        server.close()
        server.join(10)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    command = [
        "openssl",
        "req",
        "-x509",
        "-nodes",
        "-newkey",
        "rsa:2048",
        "-sha384",
        "-subj",
        "/CN=localhost",
        "-days",
        "2",
        "-keyout",
        str(folder / "key"),
        "-out",
        str(folder / "certificate"),
    ]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("there is no openssl to make a certificate with")
    both = folder / "both"
    both.write_text((folder / "key").read_text() + (folder / "certificate").read_text())
    return both


def _psycopg(port: int, password: str, **more: Any) -> None:
    psycopg = importlib.import_module("psycopg")
    options = {"sslmode": "disable", "connect_timeout": 60, **more}
    connection = psycopg.connect(
        host="127.0.0.1", port=port, user="ana", password=password, dbname="x", **options
    )
    connection.pgconn.finish()


def _pg8000(port: int, password: str, context: ssl.SSLContext | None = None) -> None:
    module = importlib.import_module("pg8000.native")
    connection = module.Connection(
        "ana", host="127.0.0.1", port=port, password=password, ssl_context=context or False, timeout=60
    )
    connection.close()


def _asyncpg(port: int, password: str, context: ssl.SSLContext | None = None) -> None:
    module = importlib.import_module("asyncpg")

    async def connect() -> None:
        connection = await module.connect(
            host="127.0.0.1", port=port, user="ana", password=password, database="x",
            ssl=context or False, timeout=60,
        )  # fmt: skip
        connection.terminate()

    asyncio.run(connect())


CLIENTS: dict[str, Callable[..., None]] = {"psycopg": _psycopg, "pg8000": _pg8000, "asyncpg": _asyncpg}


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_gets_in_with_the_password_and_not_without(name: str) -> None:
    pytest.importorskip(name, reason="the client of this test")
    with serving(VERIFIER) as server:
        CLIENTS[name](server.port, PASSWORD)
        with pytest.raises(Exception, match="password authentication failed"):
            CLIENTS[name](server.port, PASSWORD + "!")
    with (
        serving(Verifier.of_nobody("ana", b"secret")) as server,
        pytest.raises(Exception, match="password auth"),
    ):
        CLIENTS[name](server.port, PASSWORD)


def test_libpq_binds_to_the_certificate(certificate: Path) -> None:
    pytest.importorskip("psycopg", reason="libpq is the client of this test")
    with serving(VERIFIER, certificate) as server:
        for binding in ("require", "prefer"):
            _psycopg(server.port, PASSWORD, sslmode="require", channel_binding=binding)
        assert server.mechanisms == [SCRAM_PLUS] * 2
        _psycopg(server.port, PASSWORD, sslmode="require", channel_binding="disable")
        assert (server.mechanisms[-1], server.flags[-1]) == (SCRAM, b"n")


@pytest.mark.parametrize("client", [_pg8000, _asyncpg])
def test_other_clients_get_in_over_tls(client: Callable[..., None], certificate: Path) -> None:
    """pg8000 binds; asyncpg cannot, and says so."""
    pytest.importorskip(client.__name__[1:], reason="the client of this test")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with serving(VERIFIER, certificate) as server:
        client(server.port, PASSWORD, context)
        assert (server.mechanisms[-1] == SCRAM_PLUS) is (client is _pg8000)
        assert server.flags[-1] in (b"p", b"n")


def test_who_takes_the_binding_off_the_list_is_found_out(certificate: Path) -> None:
    """libpq says that it could have bound; the server knows that it offered to."""
    psycopg = pytest.importorskip("psycopg", reason="libpq is the client of this test")
    with serving(VERIFIER, certificate, forget_plus=True) as server:
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            _psycopg(server.port, PASSWORD, sslmode="require", channel_binding="prefer")
        assert server.flags == [b"y"]
