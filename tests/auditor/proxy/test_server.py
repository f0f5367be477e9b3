"""The server on real sockets: TLS, limits, cancel, lost clients, slow readers, the end."""

from __future__ import annotations

import base64
import contextlib
import os
import random
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from auditor.errors import ServingError
from auditor.proxy.server import Address, Serving, Times
from tests.auditor.proxy.protocol.wire import CLIENT, startup
from tests.auditor.proxy.raw import Closed, Raw
from tests.auditor.proxy.serving import PASSWORD, Running, certificate, opened, running, users_file
from tests.auditor.staff import policy_text
from tests.clocks import PATIENCE, soon
from tests.quick import some

psycopg = pytest.importorskip("psycopg", reason="the client of these tests")

SSL_REQUEST = bytes.fromhex("0000000804d2162f")
SLOW = """SELECT COUNT(*) FROM staff a, staff b, staff c, staff d, staff e, staff f
WHERE a.id * b.id + c.id * d.id > e.id * f.id + 1"""
MANY = "SELECT a.id, b.id, c.id, a.dept FROM staff a, staff b, staff c"


def connect(server: Running, **more: Any) -> Any:
    return psycopg.connect(**(server.psycopg | {"autocommit": True} | more))


def test_it_does_not_listen_beyond_loopback_without_tls(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "192.0.2.1", "::", "example.org"):
        with pytest.raises(ServingError, match="give --tls-cert and --tls-key"):
            Serving(Address(host, 5432), tmp_path / "users")
    for host in ("127.0.0.1", "127.3.2.1", "::1", "localhost"):
        Serving(Address(host, 5432), tmp_path / "users")
    with pytest.raises(ServingError, match="certificate and its key"):
        Serving(Address("127.0.0.1", 1), tmp_path / "users", certificate=tmp_path)


@pytest.mark.slow
def test_beyond_loopback_nobody_comes_in_without_tls(tmp_path: Path) -> None:
    """`Serving` says 0.0.0.0; who connects to it over loopback is not excused."""
    with running(tmp_path, listen="0.0.0.0") as server:
        with pytest.raises(psycopg.OperationalError, match="connections without TLS are not accepted"):
            connect(server, sslmode="disable")
        with connect(server) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
            assert connection.pgconn.ssl_in_use


@pytest.mark.slow
def test_bytes_ahead_of_tls_are_refused(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        for ahead in (startup("3.0", {"user": "ana"}), b"x"):
            with socket.create_connection(("127.0.0.1", server.port), 60) as client:
                client.sendall(SSL_REQUEST + ahead)
                said = b""
                while piece := client.recv(4096):
                    said += piece
                assert not said.startswith(b"S")
                assert b"unencrypted data" in said


@pytest.mark.slow
def test_a_certificate_of_somebody_else_and_channel_binding(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        with connect(server, channel_binding="require") as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        (tmp_path / "other").mkdir()
        other, _ = certificate(tmp_path / "other")
        with pytest.raises(psycopg.OperationalError, match="certificate"):
            connect(server, sslrootcert=str(other))


@pytest.mark.slow
def test_a_wrong_database_is_told_to_who_has_shown_the_password_alone(tmp_path: Path) -> None:
    with running(tmp_path, tls=False) as server:
        with pytest.raises(psycopg.OperationalError, match='database "x" does not exist'):
            connect(server, dbname="x")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            connect(server, dbname="x", password="wrong")


@pytest.mark.slow
def test_connections_in_all_and_of_one_user_are_limited(tmp_path: Path) -> None:
    with running(tmp_path, tls=False, connections=4, per_user=2) as server, contextlib.ExitStack() as stack:
        first = [stack.enter_context(connect(server)) for _ in range(2)]
        with pytest.raises(psycopg.OperationalError, match="too many clients"):
            connect(server)
        [stack.enter_context(connect(server, user="bob")) for _ in range(2)]
        with pytest.raises(psycopg.OperationalError, match="too many clients"):
            connect(server, user="grace")
        first[0].close()
        assert soon(lambda: server.server.metrics.connections == 3)
        with connect(server) as again:
            assert again.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.slow
def test_those_who_do_not_come_in_take_no_place_of_those_who_do(tmp_path: Path) -> None:
    """500 half-open connections, with room for 100: the oldest go, and users come in all the while."""
    with running(tmp_path, tls=False, waiting=100) as server:
        idle = []
        for number in range(500):
            idle.append(socket.create_connection(("127.0.0.1", server.port), 60))
            if number % 50 == 0:
                with connect(server) as connection:
                    assert connection.execute("SELECT 1").fetchone() == (1,)
        assert soon(lambda: server.server.metrics.connections <= 100)
        for client in idle:
            client.close()
        assert soon(lambda: server.server.metrics.connections == 0)


@pytest.mark.slow
def test_results_that_wait_are_limited_for_all_together(tmp_path: Path) -> None:
    with running(tmp_path, tls=False, held=5 << 20) as server, contextlib.ExitStack() as stack:
        one, two = (stack.enter_context(connect(server)) for _ in range(2))
        one.execute(f"DECLARE a CURSOR WITH HOLD FOR {MANY}")
        with pytest.raises(psycopg.OperationalError, match="too many results wait"):
            two.execute(f"DECLARE a CURSOR WITH HOLD FOR {MANY}")
        assert two.execute("SELECT 1").fetchone() == (1,)
        one.execute("CLOSE a")
        two.execute(f"DECLARE a CURSOR WITH HOLD FOR {MANY}")


@pytest.mark.slow
def test_who_does_not_come_in_is_let_go_and_others_are_served_meanwhile(tmp_path: Path) -> None:
    times = Times(startup=3, statement=60, reader=60)
    with running(tmp_path, tls=False, times=times) as server:
        idle = [socket.create_connection(("127.0.0.1", server.port), 60) for _ in range(50)]
        idle[0].sendall(b"\0\0")
        with connect(server) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
            for client in idle:
                said = client.recv(4096)
                assert b"canceling authentication due to timeout" in said
                client.close()
            assert connection.execute("SELECT 2").fetchone() == (2,)


@pytest.mark.slow
def test_a_statement_has_a_time_and_the_session_lives_on(tmp_path: Path) -> None:
    times = Times(startup=60, statement=0.5, reader=60)
    with running(tmp_path, tls=False, times=times) as server, connect(server) as connection:
        with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
            connection.execute(SLOW)
        connection.execute("SET statement_timeout = 0")  # no more than the server allows
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute(SLOW)
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.slow
def test_only_the_secret_of_a_connection_cancels_and_others_go_on(tmp_path: Path) -> None:
    with running(tmp_path, tls=False) as server, connect(server) as slow, connect(server) as other:
        pid = slow.pgconn.backend_pid
        said: list[str] = []

        def ask() -> None:
            try:
                slow.execute(SLOW)
            except psycopg.errors.QueryCanceled as error:
                said.append(str(error))

        thread = threading.Thread(target=ask)
        thread.start()
        assert soon(lambda: server.gate._database._cursors)
        for secret in range(5):
            with socket.create_connection(("127.0.0.1", server.port), 60) as client:
                client.sendall(
                    (16).to_bytes(4, "big") + bytes.fromhex("04d2162e")
                    + pid.to_bytes(4, "big") + secret.to_bytes(4, "big")
                )  # fmt: skip
                assert client.recv(1) == b""
        assert thread.is_alive()
        assert other.execute("SELECT COUNT(*) FROM staff").fetchone() == (60,)
        slow.cancel_safe()
        thread.join(PATIENCE)
        assert said
        assert "user request" in said[0]


@pytest.mark.slow
@pytest.mark.parametrize("tls", some([False, True], 1))
def test_the_query_of_a_lost_client_is_stopped(tmp_path: Path, tls: bool) -> None:
    with running(tmp_path, tls=tls) as server:
        connection = connect(server)
        connection.pgconn.send_query(SLOW.encode())
        connection.pgconn.flush()
        assert soon(lambda: server.gate._database._cursors)
        connection.pgconn.finish()
        assert soon(lambda: not server.gate._database._cursors)
        assert soon(lambda: server.server.metrics.connections == 0)


@pytest.mark.slow
def test_a_slow_reader_takes_no_memory_and_a_stalled_one_is_let_go(tmp_path: Path) -> None:
    """216,000 rows wait at the gate, not in the socket's queue; others are served meanwhile."""
    times = Times(startup=60, statement=60, reader=3.0)
    with running(tmp_path, tls=False, times=times) as server, connect(server) as other:
        connection = connect(server)
        connection.pgconn.send_query(MANY.encode())
        connection.pgconn.flush()

        def queued() -> int:
            wires = [client._wire.transport for _, client in server.server._clients.values()]
            return max(wire.get_write_buffer_size() for wire in wires if wire)

        assert soon(queued)
        assert queued() < 2 << 20
        assert other.execute("SELECT 1").fetchone() == (1,)
        assert soon(lambda: server.server.metrics.connections == 1)
        connection.pgconn.finish()
        with connect(server) as quick:
            assert len(quick.execute(MANY).fetchall()) == 216_000


@pytest.mark.slow
def test_metrics_and_health_are_told_on_a_port_of_their_own(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with running(tmp_path, tls=False, status=Address("127.0.0.1", port)) as server:
        with connect(server) as connection:
            connection.execute("SELECT 1")
            with pytest.raises(psycopg.Error):
                connection.execute("SELECT salary FROM staff")
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
                text = answer.read().decode()
        assert "cae_sql_connections 1" in text
        assert 'cae_sql_statements_total{verdict="answered"} 1' in text
        assert 'cae_sql_statements_total{verdict="unsupported"} 1' in text
        assert 'cae_sql_authentications_total{result="ok"} 1' in text
        assert "cae_sql_statement_seconds_count 2" in text
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=60) as answer:
            assert answer.read() == b"ok\n"
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/etc/passwd", timeout=60)


@pytest.mark.slow
def test_users_and_certificate_are_read_again(tmp_path: Path) -> None:
    from auditor.proxy.users import remove_user

    with running(tmp_path) as server:
        with connect(server, user="bob"):
            pass
        remove_user(users_file(tmp_path), "bob")
        certificate(tmp_path)
        server.call(server.server.reload)
        assert soon(lambda: server.events("reloaded") != [])
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            connect(server, user="bob")
        with connect(server) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        (tmp_path / "key").write_text("nothing")
        server.call(server.server.reload)
        assert soon(lambda: server.events("reload failed") != [])
        with connect(server) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.slow
def test_a_policy_is_read_again_under_connections(tmp_path: Path) -> None:
    """Who is connected stays, and is judged by the new policy from the next statement on; a running statement
    goes on with the old. What was answered before counts; a policy that cannot be used changes nothing."""
    with running(tmp_path, tls=False) as server, connect(server) as connection:
        busy = connect(server)
        assert connection.execute("SELECT COUNT(*) FROM staff WHERE dept = 'a'").fetchone() == (15,)
        connection.execute("SELECT SUM(salary) FROM staff")
        busy.pgconn.send_query(SLOW.encode())
        busy.pgconn.flush()
        (tmp_path / "policy.toml").write_text('[intruder]\nknows = ["age"]\n')
        old = server.gate
        server.call(server.server.reload)
        assert soon(lambda: len(server.events("reloaded")) == 1)
        assert server.gate is not old
        assert server.gate.policy.intruder.knows == ("age",)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT SUM(salary) FROM staff WHERE id <> 7")
        assert connection.execute("SELECT COUNT(*) FROM staff").fetchone() == (60,)
        assert old._database._cursors  # what runs there is not closed under it
        busy.pgconn.finish()
        assert soon(lambda: old not in [each.gate for each in server.sources._alive])
        (tmp_path / "policy.toml").write_text("nonsense")
        server.call(server.server.reload)
        assert soon(lambda: len(server.events("reload failed")) == 1)
        assert connection.execute("SELECT COUNT(*) FROM staff").fetchone() == (60,)
        assert server.gate.verify().problems == ()


@pytest.mark.slow
def test_who_is_no_user_any_more_is_let_go_and_the_catalogue_shows_who_is(tmp_path: Path) -> None:
    from auditor.proxy.users import Role, User, add_user, remove_user
    from tests.auditor.proxy.serving import VERIFIER

    names = "SELECT rolname FROM pg_roles WHERE rolcanlogin ORDER BY 1"
    with running(tmp_path, tls=False) as server, contextlib.ExitStack() as stack:
        ana, bob, grace = (
            stack.enter_context(connect(server, user=each)) for each in ("ana", "bob", "grace")
        )
        assert [row[0] for row in grace.execute(names)] == ["ana", "bob", "grace"]
        file = users_file(tmp_path)
        remove_user(file, "bob")
        add_user(file, User("carol", Role.ANALYST, VERIFIER))
        server.call(server.server.reload)
        assert soon(lambda: server.events("reloaded") != [])
        assert [row[0] for row in grace.execute(names)] == ["ana", "carol", "grace"]
        assert ana.execute("SELECT 1").fetchone() == (1,)
        with pytest.raises(psycopg.OperationalError, match="administrator"):
            bob.execute("SELECT 1")
        remove_user(file, "grace")
        add_user(file, User("grace", Role.ANALYST, VERIFIER))  # an administrator no more
        server.call(server.server.reload)
        assert soon(lambda: len(server.events("reloaded")) == 2)
        with pytest.raises(psycopg.OperationalError, match="administrator"):
            grace.execute("SELECT * FROM cae_sql.history")
        with connect(server, user="grace") as again, pytest.raises(psycopg.errors.InsufficientPrivilege):
            again.execute("SELECT * FROM cae_sql.history")


@pytest.mark.slow
def test_the_end_is_told_to_idle_clients_and_running_statements_are_stopped(tmp_path: Path) -> None:
    with running(tmp_path, tls=False) as server:
        idle, busy = connect(server), connect(server)
        busy.pgconn.send_query(SLOW.encode())
        busy.pgconn.flush()
        assert soon(lambda: server.gate._database._cursors)
        server.stop()
        with pytest.raises(psycopg.OperationalError, match="terminating connection due to administrator"):
            idle.execute("SELECT 1")
        idle.close()
        busy.close()


def said_port(stderr: IO[str]) -> int:
    """Where a server listens, which it says after what its owner is warned of."""
    line = next(line for line in stderr if "127.0.0.1:" in line)
    return int(line.partition("127.0.0.1:")[2].partition('"')[0])


@pytest.mark.slow
def test_cae_sql_serve_runs_until_it_is_told_to_stop(tmp_path: Path) -> None:
    """The command itself, in a process of its own: SIGHUP, then SIGTERM while a statement runs."""
    opened(tmp_path).close()
    (tmp_path / "policy.toml").write_text(policy_text())
    command = [sys.executable, "-c", "from auditor.cli import main; main()", "serve",
               str(tmp_path / "staff.duckdb"), "-p", str(tmp_path / "policy.toml"),
               "--listen", "127.0.0.1:0", "--users", str(users_file(tmp_path))]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        try:
            assert process.stderr is not None
            port = said_port(process.stderr)
            with psycopg.connect(
                host="127.0.0.1", port=port, user="ana", password=PASSWORD, dbname="staff", autocommit=True
            ) as connection:
                assert connection.execute("SELECT COUNT(*) FROM staff").fetchone() == (60,)
                policy = tmp_path / "policy.toml"
                policy.write_text(policy.read_text().replace("risk = 0.5", "risk = 0.4"))
                process.send_signal(signal.SIGHUP)
                assert any('"reloaded"' in line for line in process.stderr)
                assert connection.execute("SELECT 1").fetchone() == (1,)
                process.send_signal(signal.SIGTERM)
                assert process.wait(20) == 0
            said = process.stderr.read()
            assert '"stopped"' in said
            assert "Traceback" not in said
        finally:
            process.kill()


@pytest.mark.slow
def test_noise_of_all_kinds_is_let_go_and_nothing_of_ours_breaks(tmp_path: Path) -> None:
    rng = random.Random(3)
    heads = [b"", SSL_REQUEST, bytes.fromhex("0000000804d21630"), startup("3.0", {"user": "ana"}),
             b"GET / HTTP/1.1\r\n\r\n", bytes.fromhex("160301020001")]  # fmt: skip
    with running(tmp_path) as server, connect(server) as connection:
        for number in range(300):
            with socket.create_connection(("127.0.0.1", server.port), 60) as client:
                client.sendall(rng.choice(heads))
                time.sleep(rng.choice([0, 0.001]))
                with contextlib.suppress(OSError):
                    client.sendall(rng.randbytes(rng.randrange(300)))
            if number % 50 == 0:
                assert connection.execute("SELECT 1").fetchone() == (1,)
        assert soon(lambda: server.server.metrics.connections == 1)
        assert server.events("internal error") == []


@pytest.mark.slow
def test_who_wants_tls_does_not_come_to_a_server_without(tmp_path: Path) -> None:
    with running(tmp_path, tls=False) as server:
        for mode in ("require", "verify-full"):
            with pytest.raises(psycopg.OperationalError, match="does not support SSL"):
                connect(server, sslmode=mode, sslrootcert="")
        with pytest.raises(psycopg.OperationalError, match="channel binding"):
            connect(server, sslmode="disable", channel_binding="require")


@contextlib.contextmanager
def between(server: Running, say: bytes) -> Iterator[int]:
    """Somebody on the wire who answers the request for TLS himself, and passes on the rest; his port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def pass_on(one: socket.socket, other: socket.socket) -> None:
            with contextlib.suppress(OSError):
                while data := one.recv(4096):
                    other.sendall(data)
            with contextlib.suppress(OSError):
                other.shutdown(socket.SHUT_WR)

        def run() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = listening.accept()
                    if client.recv(8) == SSL_REQUEST:
                        client.sendall(say)
                    behind = socket.create_connection(("127.0.0.1", server.port), 60)
                    for pair in ((client, behind), (behind, client)):
                        threading.Thread(target=pass_on, args=pair, daemon=True).start()

        threading.Thread(target=run, daemon=True).start()
        yield listening.getsockname()[1]


@pytest.mark.slow
def test_who_takes_tls_away_on_the_wire_gets_nowhere(tmp_path: Path) -> None:
    """The client who insists leaves; the one who does not is turned away by a server beyond loopback."""
    with running(tmp_path, listen="0.0.0.0") as server, between(server, b"N") as port:
        with pytest.raises(psycopg.OperationalError, match="does not support SSL"):
            connect(server, port=port)
        with pytest.raises(psycopg.OperationalError, match="connections without TLS are not accepted"):
            connect(server, port=port, sslmode="prefer")


@pytest.mark.slow
def test_old_versions_of_tls_and_plaintext_after_the_agreement_are_refused(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        with socket.create_connection(("127.0.0.1", server.port), 60) as client:
            client.sendall(SSL_REQUEST)
            assert client.recv(1) == b"S"
            client.sendall(startup("3.0", {"user": "ana", "database": "staff"}))
            said = b""
            with contextlib.suppress(OSError):
                while piece := client.recv(4096):
                    said += piece
            assert b"SCRAM" not in said
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
        context.set_ciphers("ALL:@SECLEVEL=0")
        with socket.create_connection(("127.0.0.1", server.port), 60) as client:
            client.sendall(SSL_REQUEST)
            assert client.recv(1) == b"S"
            with pytest.raises((ssl.SSLError, OSError)):
                context.wrap_socket(client)
        assert soon(lambda: server.server.metrics.connections == 0)
        assert server.events("internal error") == []


@pytest.mark.slow
def test_unknown_user_and_wrong_password_see_the_same_bytes(tmp_path: Path) -> None:
    """But for the name that was given, and what is drawn at random: nonce and salt."""

    def seen(port: int, user: str) -> list[str]:
        with Raw(port) as client:
            client.send(startup("3.0", {"user": user, "database": "staff"}))
            kinds = [client.message()]
            client.send(CLIENT["SASLInitialResponse"]("SCRAM-SHA-256", b"n,,n=,r=clientnonce"))
            kinds.append(client.message())
            nonce = kinds[-1][1].partition(b"r=")[2].partition(b",")[0]
            proof = base64.b64encode(bytes(32))
            client.send(CLIENT["SASLResponse"](b"c=biws,r=" + nonce + b",p=" + proof))
            kinds.append(client.message())
            with pytest.raises(Closed):
                client.message()
        said = [kind + body.replace(user.encode(), b"USER") for kind, body in kinds]
        return [
            re.sub(rb"(r=clientnonce|s=)[^,]*", lambda m: m[1] + b"#" * len(m[0]), each).hex()
            for each in said
        ]

    with running(tmp_path, tls=False) as server:
        found = {tuple(seen(server.port, user)) for user in ("ana", "bob", "eve", "zoe")}
        assert len(found) == 1
        for user in ("ana", "eve"):  # and the salt of a name is the same each time
            with Raw(server.port) as one, Raw(server.port) as two:
                salts = []
                for client in (one, two):
                    client.send(startup("3.0", {"user": user, "database": "staff"}))
                    client.message()
                    client.send(CLIENT["SASLInitialResponse"]("SCRAM-SHA-256", b"n,,n=,r=n"))
                    salts.append(client.message()[1].partition(b"s=")[2])
                assert salts[0] == salts[1]


@pytest.mark.slow
def test_who_is_removed_on_the_way_in_does_not_come_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Begun under the old users file, ended under the new."""
    from auditor.proxy.users import remove_user

    with running(tmp_path, tls=False) as server, Raw(server.port) as client:
        real = client.message
        seen = 0

        def message() -> tuple[bytes, bytes]:
            nonlocal seen
            found = real()
            seen += 1
            if seen == 2:  # the challenge is there
                remove_user(users_file(tmp_path), "bob")
                server.call(server.server.reload)
                assert soon(lambda: server.events("reloaded") != [])
            return found

        monkeypatch.setattr(client, "message", message)
        assert b"28P01" in client.log_in("bob", PASSWORD)


@pytest.mark.slow
def test_a_low_limit_on_open_files_is_raised_to_what_the_connections_need(tmp_path: Path) -> None:
    """Systems begin with 1,024 files or fewer for a process; a server that has none left hears nobody."""
    resource = pytest.importorskip("resource")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < 1_000:
        pytest.skip("the system allows too few files")
    opened(tmp_path).close()
    (tmp_path / "policy.toml").write_text(policy_text())
    start = (
        f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (100, {most})); "
        "from auditor.cli import main; main()"
    )
    command = [sys.executable, "-c", start, "serve", str(tmp_path / "staff.duckdb"), "-p",
               str(tmp_path / "policy.toml"), "--listen", "127.0.0.1:0", "--users",
               str(users_file(tmp_path))]  # fmt: skip
    with (
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process,
        contextlib.ExitStack() as stack,
    ):
        try:
            assert process.stderr is not None
            port = said_port(process.stderr)
            threading.Thread(target=process.stderr.read, daemon=True).start()
            for _ in range(200):
                stack.enter_context(socket.create_connection(("127.0.0.1", port), 5))
            with Raw(port) as client:
                assert client.log_in("ana", PASSWORD) == b"ZI"
        finally:
            process.kill()
