"""TLS at once, as PostgreSQL 17's clients begin it with `sslnegotiation=direct`: for this protocol alone."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from pathlib import Path

import pytest

from auditor.proxy.protocol import Connection, events
from auditor.proxy.protocol.states import State
from tests.auditor.proxy.protocol.wire import startup
from tests.auditor.proxy.serving import Running, running
from tests.clocks import soon

HELLO = b"\x16\x03\x01\x00\x05hello"


def context(server: Running, *protocols: str) -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=str(server.certificate))
    if protocols:
        made.set_alpn_protocols(list(protocols))
    return made


def said(server: Running, made: ssl.SSLContext) -> bytes:
    """What a client is told that begins TLS at once."""
    with (
        contextlib.suppress(OSError),
        socket.create_connection(("127.0.0.1", server.port), 60) as plain,
        made.wrap_socket(plain, server_hostname="localhost") as client,
    ):
        client.sendall(startup("3.0", {"user": "ana", "database": "staff"}))
        return client.recv(4096)
    return b""


@pytest.mark.slow
def test_tls_may_begin_at_once(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        assert b"SCRAM-SHA-256-PLUS" in said(server, context(server, "postgresql"))
        assert b"SCRAM-SHA-256-PLUS" in said(server, context(server, "other", "postgresql"))
        assert soon(lambda: server.server.metrics.connections == 0)
        assert server.events("internal error") == []


@pytest.mark.slow
def test_tls_at_once_for_no_protocol_or_another_is_refused(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        assert said(server, context(server)) == b""
        assert said(server, context(server, "h2", "http/1.1")) == b""
        assert soon(lambda: server.server.metrics.connections == 0)
        assert server.events("internal error") == []


@pytest.mark.slow
def test_a_handshake_may_come_in_pieces(tmp_path: Path) -> None:
    with running(tmp_path) as server, socket.create_connection(("127.0.0.1", server.port), 60) as plain:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        made = context(server, "postgresql")
        client = made.wrap_bio(incoming, outgoing, server_hostname="localhost")
        while True:
            try:
                client.do_handshake()
                break
            except ssl.SSLWantReadError:
                for byte in outgoing.read():
                    plain.sendall(bytes([byte]))
                    time.sleep(0.0005)
                incoming.write(plain.recv(4096))
        assert client.selected_alpn_protocol() == "postgresql"


@pytest.mark.slow
def test_libpq_begins_tls_at_once(tmp_path: Path) -> None:
    psycopg = pytest.importorskip("psycopg", reason="the client of this test")
    if psycopg.pq.version() < 170000:
        pytest.skip("this libpq cannot")
    with running(tmp_path) as server:
        asked = server.psycopg | {"sslnegotiation": "direct"}
        with psycopg.connect(**asked, channel_binding="require", autocommit=True) as connection:
            assert connection.pgconn.ssl_in_use
            assert connection.execute("SELECT count(*) FROM staff").fetchone() == (60,)


@pytest.mark.slow
def test_a_server_without_tls_takes_such_a_client_for_no_client(tmp_path: Path) -> None:
    with running(tmp_path, tls=False) as server:
        with socket.create_connection(("127.0.0.1", server.port), 60) as plain:
            plain.sendall(HELLO)
            assert b"08P01" in plain.recv(4096)
        assert soon(lambda: server.server.metrics.connections == 0)


@pytest.mark.parametrize("tls", ["offered", "required"])
def test_the_first_byte_of_a_connection_says_so_and_no_later_one(tls: str) -> None:
    connection = Connection(tls=tls)  # type: ignore[arg-type]
    connection.receive(HELLO)
    assert connection.next_event() == events.StartTLS(HELLO)
    assert connection.state is State.TLS_HANDSHAKE
    connection.tls_established()
    connection.receive(HELLO)  # within TLS
    assert isinstance(connection.next_event(), events.Rejected)


def test_without_tls_to_offer_it_is_a_packet_of_impossible_length() -> None:
    connection = Connection(tls="none")
    connection.receive(HELLO)
    assert isinstance(connection.next_event(), events.Rejected)
