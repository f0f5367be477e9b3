"""A ledger on a PostgreSQL server keeps what one in a file keeps, and two gates on two machines share it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from auditor import Gate, Policy, QueryRefused
from auditor.errors import LedgerError
from auditor.ledger import Ledger, LedgerMoved
from auditor.ledger.copying import copy_ledger
from tests.auditor.ledger.test_ledger import BINDING, DIFFERENCE, EXTREME, TOTAL, ask, release
from tests.auditor.proxy import postgres_server
from tests.auditor.staff import build, people, policy_text

psycopg = pytest.importorskip("psycopg", reason="what a ledger on a server is reached by")
_SCHEMAS = count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, Any]]:
    with postgres_server.running() as place:
        yield place


@pytest.fixture
def url(server: dict[str, Any]) -> str:
    """A schema of one's own."""
    schema = f"ledger_{next(_SCHEMAS)}"
    with psycopg.connect(**server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    return f"postgresql://postgres:hidden@/postgres?host={server['host']}&options=-csearch_path%3D{schema}"


def run(server: dict[str, Any], url: str, *statements: str) -> list[Any]:
    """What somebody with the server's password may do to a ledger."""
    with psycopg.connect(**server, autocommit=True) as connection:
        connection.execute(f"SET search_path = {url.rpartition('%3D')[2]}")
        return [connection.execute(each) for each in statements]


def test_what_was_appended_is_read_back_and_verified(url: str) -> None:
    with Ledger.open(url, BINDING) as ledger:
        entries = [
            ask(ledger, TOTAL),
            ask(ledger, DIFFERENCE, EXTREME, sql="SELECT 'Zoë ☃'"),
            ledger.append(user="bob", sql="SELECT 1", verdict="refused", code="risk", risk_before=0.1 + 0.2),
        ]
        identity = ledger.id
    with Ledger.open(url, BINDING) as ledger:
        found = list(ledger.entries())
        assert [each.hash for each in found] == [each.hash for each in entries]
        assert [each.sql for each in found] == [each.sql for each in entries]
        assert found[2].risk_before == 0.1 + 0.2
        assert [answer.value for answer in found[1].answers] == [DIFFERENCE.value, EXTREME.value]
        assert found[1].answers[0].records.tolist() == [3, 7, 900]
        assert (ledger.id, ledger.length, ledger.verify().problems) == (identity, 3, ())


def test_a_release_keeps_its_reason_and_who_is_set_aside(url: str) -> None:
    with Ledger.open(url, BINDING) as ledger:
        told = release(ledger)
    with Ledger.open(url, BINDING) as ledger:
        first = next(ledger.entries())
        assert (first.answers, first.because, first.by) == (told.answers, "a\nline, Zoë", "olga")
        assert ledger.verify().problems == ()


def test_rows_cannot_be_changed_or_removed_by_accident(server: dict[str, Any], url: str) -> None:
    with Ledger.open(url, BINDING) as ledger:
        ask(ledger, TOTAL)
    for statement in (
        "UPDATE ledger_statement SET sql = ''",
        "DELETE FROM ledger_answer",
        "TRUNCATE ledger_binding",
    ):
        with pytest.raises(psycopg.Error, match="append-only"):
            run(server, url, statement)


def test_an_altered_or_shortened_ledger_is_not_opened_and_takes_no_more(
    server: dict[str, Any], url: str, tmp_path: Path
) -> None:
    tables = ("ledger_binding", "ledger_statement", "ledger_answer")
    free = [f"ALTER TABLE {table} DISABLE TRIGGER ALL" for table in tables]
    bound = [each.replace("DISABLE", "ENABLE") for each in free]
    with Ledger.open(url, BINDING, tmp_path / "anchor") as ledger:
        for _ in range(3):
            ask(ledger, TOTAL)
        run(server, url, *free, "DELETE FROM ledger_answer WHERE statement = 3",
            "DELETE FROM ledger_statement WHERE number = 3", *bound)  # fmt: skip
        with pytest.raises(LedgerError, match="shorter"):
            ask(ledger, TOTAL)
    with pytest.raises(LedgerError, match="has 2 entries where its anchor says 3"):
        Ledger.open(url, BINDING, tmp_path / "anchor")
    run(server, url, *free, "UPDATE ledger_answer SET value = '1' WHERE statement = 1", *bound)
    with pytest.raises(LedgerError, match="altered"):
        Ledger.open(url, BINDING)
    run(server, url, "DROP TABLE ledger_answer, ledger_statement, ledger_binding")
    with pytest.raises(LedgerError, match="is missing, and its anchor"):
        Ledger.open(url, BINDING, tmp_path / "anchor")


@pytest.mark.slow
def test_many_begin_and_append_at_once(url: str) -> None:
    def append(name: int) -> list[int]:
        with Ledger.open(url, BINDING) as ledger:
            return [ask(ledger, TOTAL, user=str(name)).number for _ in range(20)]

    with ThreadPoolExecutor(6) as pool:
        numbers = [number for each in pool.map(append, range(6)) for number in each]
    assert sorted(numbers) == list(range(1, 121))
    with Ledger.open(url, BINDING) as ledger:
        assert ledger.verify().problems == ()


def test_one_decides_at_a_time_and_waiting_ends(url: str) -> None:
    with Ledger.open(url, BINDING) as one, Ledger.open(url, BINDING) as two:
        with one.deciding():
            late = r"others have been deciding for 0.2 seconds"
            with pytest.raises(LedgerError, match=late), two.deciding(timeout=0.2):
                pass
            append = ask(two, TOTAL)  # to append is another lock
        assert append.number == 1
        with pytest.raises(ZeroDivisionError), two.deciding(timeout=60):
            raise ZeroDivisionError
        with one.deciding(timeout=60):
            pass


def test_who_lost_the_lock_with_its_connection_is_turned_away_if_another_was_faster(
    server: dict[str, Any], url: str
) -> None:
    """The server ends the decider's connection: another decides meanwhile, and the first may not append."""
    with Ledger.open(url, BINDING) as one, Ledger.open(url, BINDING) as two:
        ask(one, TOTAL)
        with one.deciding():
            with psycopg.connect(**server, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
                )
            with two.deciding(timeout=60):
                assert two.append(user="b", sql="", verdict="answered", code="answered", answers=[DIFFERENCE],
                                  expected_length=1).number == 2  # fmt: skip
            with pytest.raises(LedgerMoved):
                one.append(user="a", sql="", verdict="answered", code="answered", answers=[EXTREME],
                           expected_length=1)  # fmt: skip
        assert one.length == 2
        with one.deciding(timeout=60):
            pass


def test_a_server_that_lets_go_of_all_connections_is_found_again(server: dict[str, Any], url: str) -> None:
    with Ledger.open(url, BINDING) as ledger:
        ask(ledger, TOTAL)
        with psycopg.connect(**server, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
        assert ask(ledger, TOTAL).number == 2
        assert ledger.verify().problems == ()


def test_who_may_not_write_and_who_is_not_there_are_told_so(server: dict[str, Any], url: str) -> None:
    with Ledger.open(url, BINDING):
        pass
    schema = url.rpartition("%3D")[2]
    run(server, url, "DROP ROLE IF EXISTS reader", "CREATE ROLE reader LOGIN",
        f"GRANT USAGE ON SCHEMA {schema} TO reader",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader")  # fmt: skip
    with pytest.raises(LedgerError, match="the role must be able"):
        Ledger.open(url.replace("//postgres:", "//reader:"), BINDING)
    run(server, url, f"REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM reader",
        f"REVOKE ALL ON SCHEMA {schema} FROM reader", "DROP ROLE reader")  # fmt: skip
    for wrong, said in [
        (url.replace("/postgres?", "/nowhere?"), "nowhere"),
        (url.replace(server["host"], "/nowhere"), "cannot be reached|server"),
        (url.replace(schema, "no_such_schema"), "names no schema"),
    ]:
        with pytest.raises(LedgerError, match=said) as caught:
            Ledger.open(wrong, BINDING)
        assert "hidden" not in str(caught.value)


def test_a_letter_that_a_server_cannot_keep_is_an_error_and_nothing_is_recorded(url: str) -> None:
    with Ledger.open(url, BINDING) as ledger:
        for text in ("SELECT '\0'", "SELECT '\ud800'"):
            with pytest.raises(LedgerError):
                ask(ledger, TOTAL, sql=text)
        assert ledger.length == 0
        assert ask(ledger, TOTAL).number == 1


def test_a_copy_is_a_file_with_the_same_history(url: str, tmp_path: Path) -> None:
    assert not copy_ledger(url, tmp_path / "copy")
    with Ledger.open(url, BINDING) as ledger:
        for number in range(5):
            ask(ledger, TOTAL if number % 2 else DIFFERENCE)
        head = ledger.head
    assert copy_ledger(url, tmp_path / "copy")
    with Ledger.open(tmp_path / "copy", BINDING) as copied:
        assert (copied.head, copied.verify().problems) == (head, ())


HALVES = ("SELECT SUM(salary) FROM staff", "SELECT SUM(salary) FROM staff WHERE id <> 7")


def halves(one: Gate, two: Gate) -> list[str]:
    """The verdicts of two halves of a tracker, asked of two gates at the same moment."""
    start = threading.Barrier(2)

    def asked(gate: Gate, sql: str) -> str:
        start.wait(10)
        try:
            return gate.execute(sql).decision.verdict
        except QueryRefused as error:
            return error.decision.verdict

    with ThreadPoolExecutor(2) as pool:
        return [each.result(60) for each in [pool.submit(asked, *pair) for pair in zip((one, two), HALVES)]]  # noqa: B905


@pytest.mark.slow
def test_two_gates_on_one_server_never_answer_both_halves_of_a_tracker(
    server: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "staff.duckdb"
    build(path, people(60))
    policy = Policy.parse(policy_text())
    for number in range(10):
        schema = f"race_{number}"
        with psycopg.connect(**server, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema}")
        place = f"postgresql://postgres@/postgres?host={server['host']}&options=-csearch_path%3D{schema}"
        with Gate.open(path, policy, place) as one, Gate.open(path, policy, place) as two:
            assert sorted(halves(one, two)) == ["answered", "refused"]
            assert one.verify().problems == ()
            assert len(two.history()) == 2


def test_a_policy_names_a_ledger_by_its_url(url: str, tmp_path: Path) -> None:
    path = tmp_path / "staff.duckdb"
    build(path, people(60))
    policy = Policy.parse(policy_text(f'[ledger]\npath = "{url}"\n'))
    with Gate.open(path, policy) as gate:
        gate.execute(HALVES[0])
    with Gate.open(path, policy) as again, pytest.raises(QueryRefused):
        again.execute(HALVES[1])


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("UPDATE ledger_answer SET value = '1/1' WHERE statement = 1", "entry 1 was altered"),
        ("UPDATE ledger_statement SET user_name = 'bob' WHERE number = 1", "entry 1 was altered"),
        ("UPDATE ledger_binding SET scope = 'user'", "bound to was changed"),
        ("ALTER TABLE ledger_answer ADD COLUMN x text DEFAULT 'x'", "column ledger_answer.x does not belong"),
        ("CREATE RULE quiet AS ON INSERT TO ledger_answer DO INSTEAD NOTHING", "entry 4 was altered"),
        ("ALTER TABLE ledger_answer ENABLE ROW LEVEL SECURITY", "table ledger_answer was changed"),
        ("CREATE UNIQUE INDEX odd ON ledger_answer (left(value, 1), statement)", "index odd does not belong"),
    ],
    ids=range(7),
)
def test_what_is_done_to_it_while_it_is_open_is_found_before_the_next_answer(
    server: dict[str, Any], url: str, what: str, said: str
) -> None:
    tables = ("ledger_binding", "ledger_statement", "ledger_answer")
    free = [f"ALTER TABLE {table} DISABLE TRIGGER ALL" for table in tables]
    with Ledger.open(url, BINDING) as ledger:
        for _ in range(3):
            ask(ledger, TOTAL)
        run(server, url, *free, what, *(each.replace("DISABLE", "ENABLE") for each in free))
        with pytest.raises(LedgerError, match=said):
            ask(ledger, TOTAL)
        assert ledger.length == 3
    with pytest.raises(LedgerError):
        Ledger.open(url, BINDING)


def test_a_trigger_that_would_take_a_row_away_at_the_end_is_found_before(
    server: dict[str, Any], url: str
) -> None:
    with Ledger.open(url, BINDING) as ledger:
        ask(ledger, TOTAL)
        run(
            server,
            url,
            "CREATE FUNCTION takes() RETURNS trigger LANGUAGE plpgsql AS "
            "$$BEGIN DELETE FROM ledger_answer WHERE statement = NEW.statement; RETURN NULL; END$$",
            "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON ledger_answer DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION takes()",
        )
        with pytest.raises(LedgerError, match="trigger late on ledger_answer does not belong"):
            ask(ledger, TOTAL)
        assert ledger.length == 1
