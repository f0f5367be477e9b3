"""psql, over TLS: what people see."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.auditor.proxy.serving import PASSWORD, Running, running

if shutil.which("psql") is None:
    pytest.skip("psql is not installed", allow_module_level=True)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("psql")) as made:
        yield made


def place_of(server: Running, user: str = "ana") -> str:
    wanted = server.psycopg | {"user": user}
    wanted.pop("password")
    return " ".join(f"{key}={value}" for key, value in wanted.items())


def psql(server: Running, *statements: str, user: str = "ana", password: str = PASSWORD) -> tuple[str, str]:
    place = place_of(server, user)
    commands = [word for each in statements for word in ("-c", each)]
    done = subprocess.run(
        ["psql", "-X", "-A", "-t", "-v", "VERBOSITY=verbose", place, *commands],
        capture_output=True, text=True, timeout=60, check=False,
        env={"PGPASSWORD": password, "PATH": "/usr/bin:/bin", "LC_ALL": "C"},
    )  # fmt: skip
    return done.stdout, done.stderr


def test_a_query_is_answered_over_tls(server: Running) -> None:
    said, wrong = psql(
        server, "SELECT dept, COUNT(*), NULL FROM staff GROUP BY dept ORDER BY dept", r"\conninfo"
    )
    assert said.splitlines()[:2] == ["a|15|", "b|15|"]
    assert "SSL connection" in said
    assert wrong == ""


def test_a_refusal_shows_code_detail_and_hint(server: Running) -> None:
    _, wrong = psql(server, "SELECT AVG(salary) FROM staff WHERE id = 1")
    assert "ERROR:  42501: Together with earlier answers" in wrong
    assert "DETAIL:  Verdict: refused, code: risk." in wrong
    assert "HINT:  Drop the condition id = 1." in wrong


def test_statements_of_one_text_are_answered_up_to_the_first_error(server: Running) -> None:
    said, wrong = psql(server, "BEGIN; SELECT 'a;b'; SELECT salary FROM staff; SELECT 3")
    assert said.splitlines() == ["BEGIN", "a;b"]
    assert "0A000" in wrong


@pytest.mark.parametrize("command", [r"\d", r"\dt", r"\d staff", r"\l", r"\du", r"\df", r"\dn"])
def test_the_catalogue_is_described(server: Running, command: str) -> None:
    said, wrong = psql(server, command)
    assert wrong == ""
    assert said or command == r"\df"


def test_a_cursor_is_fetched_piece_by_piece(server: Running) -> None:
    said, wrong = psql(
        server, "BEGIN", "DECLARE c CURSOR FOR SELECT id FROM staff ORDER BY id", "FETCH 2 FROM c",
        "MOVE 3 IN c", "FETCH FORWARD 1 FROM c", "CLOSE c", "COMMIT",
    )  # fmt: skip
    assert said.splitlines() == ["BEGIN", "DECLARE CURSOR", "0", "1", "MOVE 3", "5", "CLOSE CURSOR", "COMMIT"]
    assert wrong == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("INSERT INTO staff VALUES (1)", "42501"),
        ("COPY staff TO STDOUT", "0A000"),
        ("LISTEN x", "0A000"),
        ("SELECT * FROM nowhere", "42P01"),
        ("SELECT nothing FROM staff", "42703"),
        ("SELEC 1", "0A000"),
        ("SELECT FROM WHERE", "42601"),
        ("SHOW nothing", "42704"),
        ("SET client_encoding TO 'LATIN1'", "22023"),
        ("FETCH 1 FROM nowhere", "34000"),
    ],
)
def test_what_is_not_answered_has_its_code(server: Running, statement: str, code: str) -> None:
    said, wrong = psql(server, statement)
    assert said == ""
    assert f"ERROR:  {code}:" in wrong


def test_a_wrong_password_and_an_unknown_user_are_told_the_same(server: Running) -> None:
    answers = {
        psql(server, "SELECT 1", user=user, password=password)[1].replace(user, "…")
        for user, password in [("ana", "x"), ("nobody", "x"), ("nobody", PASSWORD)]
    }
    assert len(answers) == 1
    assert "password authentication failed" in answers.pop()


def test_an_administrator_reads_risk_and_history_and_nobody_else(server: Running) -> None:
    psql(server, "SELECT SUM(salary) FROM staff")
    said, wrong = psql(
        server, "SELECT \"user\" FROM cae_sql.history WHERE sql LIKE 'SELECT SUM(salary) FROM staff'",
        "SELECT COUNT(*) > 0, MAX(risk) <= 0.5 FROM cae_sql.risk", user="grace",
    )  # fmt: skip
    assert wrong == ""
    assert said.splitlines()[0] == "ana"
    assert said.splitlines()[-1] == "t|t"
    for statement in ("SELECT * FROM cae_sql.history", 'SELECT * FROM "cae_sql"."risk"'):
        assert "ERROR:  42501" in psql(server, statement)[1]
    _, wrong = psql(server, "SELECT * FROM cae_sql.risk, read_csv('/etc/passwd')", user="grace")
    assert "ERROR:" in wrong


def test_the_log_holds_no_values(server: Running, tmp_path: Path) -> None:
    psql(server, "SELECT COUNT(*) FROM staff WHERE dept = 'sesame'", "SELECT 'sesame' FROM nowhere")
    assert server.events("statement")
    assert "sesame" not in server.log.getvalue()
    assert not server.events("internal error")


def test_control_c_cancels(server: Running) -> None:
    """The cancel request comes over a connection of its own, with the key of the first."""
    slow = """SELECT COUNT(*) FROM staff a, staff b, staff c, staff d, staff e, staff f
    WHERE a.id * b.id > c.id * d.id * e.id + f.id"""
    with subprocess.Popen(
        ["psql", "-X", "-A", "-t", place_of(server), "-c", slow],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={"PGPASSWORD": PASSWORD, "PATH": "/usr/bin:/bin", "LC_ALL": "C"},
    ) as process:  # fmt: skip
        try:
            end = time.monotonic() + 60
            while not server.gate._database._cursors and time.monotonic() < end:
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            _, wrong = process.communicate(timeout=60)
        finally:
            process.kill()
    assert "canceling statement due to user request" in wrong
