"""A session without sockets: a client's messages in, the server's messages out; jobs run where they are."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from auditor.errors import LedgerError
from auditor.proxy.protocol import Connection, State, Transaction, events
from auditor.proxy.session.login import Door
from auditor.proxy.session.session import Observer, Peer, Session
from auditor.proxy.session.steps import Job
from auditor.proxy.sources import Sources
from auditor.proxy.users import Role, User, Users
from tests.auditor.proxy.protocol.reaching import reached
from tests.auditor.proxy.protocol.wire import CLIENT, Reader
from tests.auditor.proxy.serving import VERIFIER, opened


class Listening(Observer):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.failures: list[Exception] = []
        self.statements: list[tuple[str, str]] = []

    def failed(self, error: Exception) -> None:
        self.failures.append(error)

    def answered(self, verdict: str, code: str, seconds: float) -> None:
        self.statements.append((verdict, code))


class Talk:
    """A client that has come in."""

    def __init__(self, sources: Any, role: Role = Role.ANALYST) -> None:
        self.connection: Connection = reached(State.READY)
        self.connection.data_to_send()
        self.connection.set_transaction(Transaction.IDLE)
        self.connection.statements.close_all_statements()
        self.connection.statements.close_all_portals()
        self.observer = Listening()
        door = Door(Users, lambda _: True, "staff")
        self.session = Session(self.connection, sources, door, Peer(1, 2), self.observer)
        self.session.user = User("ana", role, VERIFIER)
        self.session._told = self.session._settings.reported()
        self._reader = Reader()
        self._reader.startup = False

    def say(self, *messages: bytes) -> list[str]:
        """What is answered to messages that are sent at once."""
        self.connection.receive(b"".join(messages))
        while not self.connection.closed and (event := self.connection.next_event()) is not None:
            if isinstance(event, events.Rejected | events.Closed | events.Flush | events.Terminate):
                continue
            self._drive(self.session.handle(event))
        return list(self._reader.read(self.connection.data_to_send()))

    def _drive(self, steps: Any) -> None:
        try:
            step = next(steps)
            while True:
                if not isinstance(step, Job):
                    step = steps.send(None)
                    continue
                try:
                    given = step.work()
                except Exception as error:  # noqa: BLE001 -- as the server does
                    step = steps.throw(error)
                else:
                    step = steps.send(given)
        except StopIteration:
            return

    def query(self, sql: str) -> list[str]:
        """What is answered to a simple query, without descriptions and rows."""
        return [each for each in self.say(CLIENT["Query"](sql)) if not each.startswith(("RowD", "DataR"))]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sources]:
    with opened(tmp_path_factory.mktemp("session")) as gate:
        made = Sources(gate, "staff", ["ana"])
        yield made
        made.close()


@pytest.fixture
def talk(sources: Sources) -> Talk:
    return Talk(sources)


READY, BLOCK, FAILED = (f"ReadyForQuery({status!r})" for status in "ITE")


def error(code: str) -> str:
    return f"ErrorResponse('ERROR', '{code}')"


def warning(code: str) -> str:
    return f"NoticeResponse('WARNING', '{code}')"


def tag(text: str) -> str:
    return f"CommandComplete({text!r})"


@pytest.mark.parametrize(
    ("sql", "answered"),
    [
        ("", ["EmptyQueryResponse()", READY]),
        (" ; -- nothing\n ;", ["EmptyQueryResponse()", READY]),
        ("SELECT 1", [tag("SELECT 1"), READY]),
        ("SELECT ';' ; SELECT $$a;b$$, \"n\" FROM (SELECT 1 AS n) -- ;\n; /* ; /* ; */ ; */",
         [tag("SELECT 1"), tag("SELECT 1"), READY]),
        ("SELECT 1; SELECT salary FROM staff; SELECT 2", [tag("SELECT 1"), error("0A000"), READY]),
        ("BEGIN; SELECT 1", [tag("BEGIN"), tag("SELECT 1"), BLOCK]),
        ("START TRANSACTION READ ONLY; COMMIT", [tag("START TRANSACTION"), tag("COMMIT"), READY]),
        ("COMMIT", [warning("25P01"), tag("COMMIT"), READY]),
        ("ROLLBACK", [warning("25P01"), tag("ROLLBACK"), READY]),
        ("BEGIN; BEGIN", [tag("BEGIN"), warning("25001"), tag("BEGIN"), BLOCK]),
        ("SAVEPOINT a", [error("25P01"), READY]),
        ("BEGIN; RELEASE a", [tag("BEGIN"), error("3B001"), FAILED]),
        ("BEGIN; SAVEPOINT a; RELEASE SAVEPOINT A; END",
         [tag("BEGIN"), tag("SAVEPOINT"), tag("RELEASE"), tag("COMMIT"), READY]),
        ("SET search_path TO public, pg_catalog; SHOW search_path", [tag("SET"), tag("SHOW"), READY]),
        ("SET search_path TO secret", [error("22023"), READY]),
        ("SET nonsense = 1", [error("42704"), READY]),
        ("SET server_version = 1", [error("55P02"), READY]),
        ("SET my.own = 'x'; SHOW my.own; RESET my.own", [tag("SET"), tag("SHOW"), tag("RESET"), READY]),
        ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", [tag("SET"), READY]),
        ("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", [tag("SET"), READY]),
        ("SHOW TRANSACTION ISOLATION LEVEL", [tag("SHOW"), READY]),
        ("SET ROLE boss", [error("42501"), READY]),
        ("RESET ALL; UNLISTEN *; CLOSE ALL; DISCARD ALL; DEALLOCATE ALL",
         [*map(tag, ("RESET", "UNLISTEN", "CLOSE CURSOR ALL", "DISCARD ALL", "DEALLOCATE ALL")), READY]),
        ("SET LOCAL jit = off", [warning("25P01"), tag("SET"), READY]),
        ("DECLARE c CURSOR FOR SELECT 1", [error("25P01"), READY]),
        ("DECLARE c CURSOR WITH HOLD FOR SELECT ';'; FETCH ALL c; FETCH c",
         [tag("DECLARE CURSOR"), tag("FETCH 1"), tag("FETCH 0"), READY]),
        ("FETCH BACKWARD 1 FROM c", [error("55000"), READY]),
        ("DEALLOCATE nothing", [error("26000"), READY]),
        ("CLOSE nothing", [error("34000"), READY]),
        ("CREATE TABLE x (a int)", [error("42501"), READY]),
        ("DELETE FROM staff", [error("42501"), READY]),
        ("PREPARE x AS SELECT 1; EXECUTE x; DEALLOCATE x; EXECUTE x",
         [tag("PREPARE"), tag("SELECT 1"), tag("DEALLOCATE"), error("26000"), READY]),
        ("PREPARE x AS SELECT 1; PREPARE x AS SELECT 2", [tag("PREPARE"), error("42P05"), READY]),
        ("PREPARE x (int, numeric(9, 2), double precision, timestamp(3) with time zone, text[]) AS SELECT 1",
         [tag("PREPARE"), READY]),
        ("PREPARE x (nonsense) AS SELECT $1", [error("42704"), READY]),
        ("PREPARE x AS COMMIT", [error("42601"), READY]),
        ("PREPARE x AS SELECT salary FROM staff", [error("0A000"), READY]),
        ('PREPARE "" AS SELECT 1', [error("42601"), READY]),
        ("PREPARE TRANSACTION 'x'", [error("0A000"), READY]),
        ("PREPARE x AS SELECT $1; EXECUTE x", [tag("PREPARE"), error("42601"), READY]),
        ("PREPARE x AS SELECT $1::int; EXECUTE x ('a')", [tag("PREPARE"), error("22P02"), READY]),
        ("PREPARE x AS SELECT $1::int; EXECUTE x (1 + 1)", [tag("PREPARE"), error("42601"), READY]),
        ("PREPARE x AS SELECT $1::int; EXECUTE x ((SELECT MAX(salary) FROM staff))",
         [tag("PREPARE"), error("0A000"), READY]),
        ("BEGIN; SELECT nonsense; COMMIT", [tag("BEGIN"), error("42703"), FAILED]),
        ("SELECT $1", [error("42P02"), READY]),
        ("SELECT 'open", [error("42601"), READY]),
        ("; ".join(["SELECT 1"] * 200), [error("54000"), READY]),
        ("SELECT '" + "x" * 70_000 + "'", [error("54000"), READY]),
    ],
)  # fmt: skip
def test_a_simple_query_is_answered(talk: Talk, sql: str, answered: list[str]) -> None:
    assert talk.query(sql) == answered
    assert not talk.observer.failures


def test_a_failed_block_answers_its_end_alone(talk: Talk) -> None:
    assert talk.query("BEGIN; SAVEPOINT a; SELECT 1 FROM nowhere")[-1] == FAILED
    for sql in ("SELECT 1", "SHOW jit", "SET jit = on", "INSERT INTO x VALUES (1)", "nonsense"):
        assert talk.query(sql) in ([error("25P02"), FAILED], [error("42501"), FAILED])
    assert talk.query("ROLLBACK TO a; SELECT 1") == [tag("ROLLBACK"), tag("SELECT 1"), BLOCK]
    talk.query("SELECT 1 FROM nowhere")
    assert talk.query("COMMIT") == [tag("ROLLBACK"), READY]


def test_settings_go_with_their_transaction(talk: Talk) -> None:
    def shown() -> str:
        said = talk.say(CLIENT["Query"]("SHOW application_name"))
        return next(each for each in said if each.startswith("DataRow"))

    talk.query("SET application_name = 'a'; BEGIN; SET application_name = 'b'; SAVEPOINT s")
    talk.query("SET LOCAL application_name = 'c'")
    assert "b'c'" in shown()
    talk.query("ROLLBACK TO s")
    assert "b'b'" in shown()
    talk.query("ROLLBACK")
    assert "b'a'" in shown()
    assert "ParameterStatus('application_name', 'x')" in talk.query(
        "SELECT set_config('application_name', 'x', false)"
    )
    assert "b'x'" in shown()


def extended(sql: str, rows: int = 0, values: Any = (), describe: str = "P") -> bytes:
    return b"".join(
        [
            CLIENT["Parse"]("", sql),
            CLIENT["Bind"](values=values),
            CLIENT["Describe"](describe, ""),
            CLIENT["Execute"]("", rows),
        ]
    )


def test_an_extended_query_is_described_before_it_runs(talk: Talk) -> None:
    said = talk.say(CLIENT["Parse"]("s", "SELECT id, dept FROM staff WHERE age > $1 LIMIT $2"),
                    CLIENT["Describe"]("S", "s"), CLIENT["Sync"]())  # fmt: skip
    assert said == [
        "ParseComplete()",
        "ParameterDescription([23, 20])",
        "RowDescription([('id', 23, 4, 0), ('dept', 25, -1, 0)])",
        READY,
    ]
    assert talk.observer.statements == []


def test_rows_come_in_portions_and_the_statement_runs_once(talk: Talk) -> None:
    begun = extended("SELECT id FROM staff ORDER BY id LIMIT 5", rows=2)
    said = talk.say(begun, CLIENT["Execute"]("", 2), CLIENT["Execute"]("", 2), CLIENT["Sync"]())
    assert [each for each in said if not each.startswith("DataRow")] == [
        "ParseComplete()", "BindComplete()", "RowDescription([('id', 23, 4, 0)])",
        "PortalSuspended()", "PortalSuspended()", tag("SELECT 1"), READY,
    ]  # fmt: skip
    assert sum(each.startswith("DataRow") for each in said) == 5
    assert talk.observer.statements == [("answered", "public")]


@pytest.mark.parametrize(
    ("sql", "values", "code"),
    [
        ("SELECT 1; SELECT 2", (), "42601"),
        ("SELECT id FROM staff WHERE id = $1", (b"x",), "22P02"),
        ("SELECT salary FROM staff", (), "0A000"),
        ("SELECT AVG(salary) FROM staff WHERE id = $1", (b"1",), "42501"),
        ("SELECT $1 FROM nowhere", (b"1",), "42P01"),
        ("COPY staff TO STDOUT", (), "0A000"),
        ("SELECT oid FROM pg_class, staff", (), "0A000"),
    ],
)
def test_after_an_error_everything_is_skipped_to_the_next_sync(
    talk: Talk, sql: str, values: Any, code: str
) -> None:
    said = talk.say(extended(sql, values=values), CLIENT["Query"]("SELECT 1"), CLIENT["Sync"]())
    assert said[-2:] == [error(code), READY]
    assert talk.query("SELECT 1")[-1] == READY
    assert not talk.observer.failures


def test_commands_and_empty_texts_go_through_the_extended_query_too(talk: Talk) -> None:
    said = talk.say(
        extended("BEGIN"), extended(""), extended("SHOW jit"), extended("DECLARE c CURSOR FOR SELECT 7 AS n"),
        extended("FETCH 1 FROM c"), extended("COMMIT"), CLIENT["Sync"](),
    )  # fmt: skip
    assert not [each for each in said if each.startswith("Error")]
    assert "EmptyQueryResponse()" in said
    assert "RowDescription([('n', 23, 4, 0)])" in said
    assert said[-2:] == [tag("COMMIT"), READY]
    assert talk.connection.transaction is Transaction.IDLE


class Broken:
    """Sources of which every one fails, with a value in the message."""

    def answer(self, *_: object) -> None:
        raise RuntimeError("salary of ana: 90")

    describe = answer


def test_a_mistake_of_ours_is_one_fixed_text_and_the_session_lives_on() -> None:
    talk = Talk(Broken())
    talk.connection.receive(CLIENT["Query"]("SELECT 1") + extended("SELECT 1") + CLIENT["Sync"]())
    while (event := talk.connection.next_event()) is not None:
        talk._drive(talk.session.handle(event))
    data = talk.connection.data_to_send()
    assert b"ana" not in data
    assert data.count(b"XX000") == 2
    assert len(talk.observer.failures) == 2
    assert talk.query("SHOW jit") == [tag("SHOW"), READY]


class Unavailable(Broken):
    """Sources whose ledger cannot be written."""

    def answer(self, *_: object) -> None:
        raise LedgerError("ledger /srv/secret place: disk full")


def test_what_is_out_of_order_is_told_to_the_operator_alone() -> None:
    talk = Talk(Unavailable())
    assert talk.query("SELECT 1") == [error("58000"), READY]
    assert [str(each) for each in talk.observer.failures] == ["ledger /srv/secret place: disk full"]


def test_every_unsupported_statement_stands_in_the_history_once(sources: Sources) -> None:
    talk = Talk(sources)
    talk.query("SELECT salary AS a FROM staff")
    talk.say(extended("SELECT salary AS b FROM staff"), CLIENT["Sync"]())
    history = sources.gate.history()
    for name in "ab":
        found = history[history["sql"] == f"SELECT salary AS {name} FROM staff"]
        assert found["verdict"].tolist() == ["unsupported"]
        assert found["user"].tolist() == ["ana"]


def test_what_is_prepared_in_sql_is_executed_under_its_values_and_recorded_with_them(
    sources: Sources,
) -> None:
    talk = Talk(sources, Role.ADMINISTRATOR)
    talk.query("PREPARE older (int, date) AS SELECT COUNT(*), $2 IS NULL, 'x' FROM staff WHERE age > $1")
    for values, row in (
        ("(50, NULL)", ["9", "t", "x"]),
        ("('-1'::int, DATE '2020-01-01')", ["60", "f", "x"]),
    ):
        said = talk.say(CLIENT["Query"](f"EXECUTE older {values}"))
        assert said[1] == f"DataRow({[each.encode() for each in row]!r})"
        assert said[2:] == [tag("SELECT 1"), READY]
    history = sources.gate.history()
    assert len(history[history["sql"].str.startswith("SELECT COUNT(*), $2 IS NULL")]) == 2


def test_execute_in_the_extended_query_is_described_as_what_it_runs(talk: Talk) -> None:
    talk.query("PREPARE mine AS SELECT $1::int AS n")
    said = talk.say(extended("EXECUTE mine (7)"), CLIENT["Sync"]())
    assert "RowDescription([('n', 23, 4, 0)])" in said
    assert "DataRow([b'7'])" in said
    # a driver's statement and one of SQL share their names
    talk.say(CLIENT["Parse"]("his", "SELECT $1::int + 1", []), CLIENT["Sync"]())
    assert "DataRow([b'42'])" in talk.say(CLIENT["Query"]("EXECUTE his(41)"))


def test_an_unsupported_statement_with_parameters_stands_in_the_history_when_it_is_described(
    sources: Sources,
) -> None:
    """Drivers that ask for the description never come to execute it."""
    talk = Talk(sources)
    text = "SELECT salary AS c FROM staff WHERE id = $1"
    said = talk.say(
        CLIENT["Parse"]("", text, []), CLIENT["Describe"]("S", ""), CLIENT["Bind"]("", "", [], [b"1"]),
        CLIENT["Execute"]("", 0), CLIENT["Sync"](),
    )  # fmt: skip
    assert said == ["ParseComplete()", error("0A000"), READY]
    history = sources.gate.history()
    assert history[history["sql"] == text]["verdict"].tolist() == ["unsupported"]
    talk.say(extended(text, values=(b"1",)), CLIENT["Sync"]())
    history = sources.gate.history()
    assert len(history[history["sql"] == text]) == 2


TEXTS = [
    "SELECT 1", "SELECT $1::int", "SELECT id FROM staff WHERE age > $1", "SELECT SUM(salary) FROM staff",
    "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT a", "ROLLBACK TO a", "RELEASE a", "SET jit = off", "SHOW ALL",
    "DECLARE c CURSOR FOR SELECT id FROM staff", "FETCH 3 c", "MOVE ALL c", "CLOSE c", "DISCARD ALL",
    "DEALLOCATE ALL", "SELECT relname FROM pg_class", "SELECT", "", ";", "'", '"', "$$", "/*", "SELECT ((((",
    "PREPARE s AS SELECT $1::int", "EXECUTE s (1)", "EXECUTE s", "PREPARE", "EXECUTE s (", "DEALLOCATE s",
    "SET", "SET x", "SET TIME ZONE", "SHOW", "FETCH", "DECLARE", "RESET", "fetch 1.5 from c", "SET a.b.c = 1",
    "SELECT * FROM cae_sql.risk", "SELECT salary FROM staff", "ROLLBACK TO", "DECLARE c CURSOR FOR",
    "DECLARE c CURSOR FOR BEGIN", "SET TimeZone = 'Nowhere/At all'", "SET statement_timeout = -1",
]  # fmt: skip


def test_whatever_is_sent_in_whatever_order_is_answered(sources: Sources) -> None:
    """Every answer is well-formed, a Sync or a Query ends in ReadyForQuery, and nothing of ours breaks."""
    rng = random.Random(7)

    def text() -> str:
        chosen = rng.choice(TEXTS)
        if rng.random() < 0.2:
            place = rng.randrange(len(chosen) + 1)
            chosen = (
                chosen[:place] + rng.choice(["'", ";", "\\", "é", "$1", "--", " public."]) + chosen[place:]
            )
        return chosen + (rng.choice(["; ", " "]) + rng.choice(TEXTS) if rng.random() < 0.2 else "")

    def message() -> bytes:
        name, portal = rng.choice(["", "s", "t"]), rng.choice(["", "p", "c"])
        kind = rng.randrange(8)
        values = [rng.choice([b"1", None, b"x", b"\xff", b"\0\0\0\1"]) for _ in range(rng.randrange(3))]
        return [
            lambda: CLIENT["Query"](text()),
            lambda: CLIENT["Parse"](name, text(), [rng.choice([0, 23, 25, 99])] * rng.randrange(3)),
            lambda: CLIENT["Bind"](portal, name, [rng.randrange(2)], values, [rng.randrange(2)]),
            lambda: CLIENT["Describe"](rng.choice("SP"), rng.choice([name, portal])),
            lambda: CLIENT["Execute"](portal, rng.randrange(4)),
            lambda: CLIENT["Close"](rng.choice("SP"), rng.choice([name, portal])),
            CLIENT["Flush"],
            CLIENT["Sync"],
        ][kind]()

    for _ in range(25):
        talk = Talk(sources)
        for _ in range(40):
            talk.say(message())
        said = talk.say(CLIENT["Sync"](), CLIENT["Query"]("ROLLBACK"), CLIENT["Query"]("SELECT 1"))
        assert said[-2:] == [tag("SELECT 1"), READY]
        assert talk.observer.failures == []


def test_a_query_is_copied_out_as_it_is_answered_and_stands_in_the_history_once(
    talk: Talk, sources: Sources
) -> None:
    before = len(sources.gate.history())
    counted = "SELECT dept, COUNT(*) FROM staff GROUP BY dept ORDER BY dept LIMIT 2"
    assert talk.say(CLIENT["Query"](f"COPY ({counted}) TO STDOUT")) == [
        "CopyOutResponse(0, [0, 0])", r"CopyData(b'a\t15\n')", r"CopyData(b'b\t15\n')", "CopyDone()",
        tag("COPY 2"), "ReadyForQuery('I')",
    ]  # fmt: skip
    assert talk.observer.statements[-1][0] == "answered"
    copied = talk.say(
        CLIENT["Parse"]("", f"COPY ({counted}) TO STDOUT (FORMAT binary)"), CLIENT["Describe"]("S", ""),
        CLIENT["Bind"]("", ""), CLIENT["Execute"](""), CLIENT["Execute"](""), CLIENT["Sync"](),
    )  # fmt: skip
    assert copied[:5] == [
        "ParseComplete()", "ParameterDescription([])", "NoData()", "BindComplete()",
        "CopyOutResponse(1, [1, 1])",
    ]  # fmt: skip
    assert copied[-5:] == [
        r"CopyData(b'\xff\xff')",
        "CopyDone()",
        tag("COPY 2"),
        error("55000"),
        "ReadyForQuery('I')",
    ]
    assert list(sources.gate.history()["sql"][before:]) == [counted] * 2


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("COPY (SELECT salary FROM staff) TO STDOUT", "0A000"),
        ("COPY (SELECT AVG(salary) FROM staff WHERE id = 1) TO STDOUT", "42501"),
        ("COPY (SELECT id, salary FROM staff ORDER BY salary LIMIT 1) TO STDOUT (FORMAT binary)", "0A000"),
        ("COPY (SELECT relname FROM pg_class, staff) TO STDOUT", "0A000"),
        ("COPY (COPY (SELECT 1) TO STDOUT) TO STDOUT", "0A000"),
        ("COPY staff TO STDOUT", "0A000"),
        ("COPY staff FROM STDIN", "42501"),
        ("COPY (SELECT 1; SELECT salary FROM staff) TO STDOUT", "42601"),
    ],
)
def test_copy_is_refused_as_the_query_is(talk: Talk, sql: str, code: str) -> None:
    assert talk.say(CLIENT["Query"](sql)) == [error(code), "ReadyForQuery('I')"]


def test_a_cursor_with_hold_goes_with_a_transaction_that_is_rolled_back(talk: Talk) -> None:
    talk.query("BEGIN; DECLARE kept CURSOR WITH HOLD FOR SELECT 1; COMMIT")
    talk.query("BEGIN; DECLARE lost CURSOR WITH HOLD FOR SELECT 2; ROLLBACK")
    assert talk.query("FETCH 1 FROM kept") == [tag("FETCH 1"), "ReadyForQuery('I')"]
    assert talk.query("FETCH 1 FROM lost") == [error("34000"), "ReadyForQuery('I')"]


def test_a_statement_that_is_sent_again_under_its_name_is_the_same(talk: Talk) -> None:
    first, other = CLIENT["Parse"]("s", "SELECT 1"), CLIENT["Parse"]("s", "SELECT 2")
    assert talk.say(first, first, CLIENT["Sync"]()) == ["ParseComplete()"] * 2 + ["ReadyForQuery('I')"]
    assert talk.say(other, CLIENT["Sync"]()) == [error("42P05"), "ReadyForQuery('I')"]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("'+00:00' HOUR TO MINUTE", "<+00>-00"),
        ("'+02:00'", "<+02>-02"),
        ("'-03:30' HOUR TO MINUTE", "<-03:30>+03:30"),
    ],
)
def test_a_time_zone_may_be_an_interval(talk: Talk, written: str, shown: str) -> None:
    assert talk.query(f"SET TIME ZONE INTERVAL {written}")[0] == tag("SET")
    assert talk.session._settings["TimeZone"] == shown
    assert talk.query("SELECT now() IS NOT NULL AND version() <> ''")[-1] == "ReadyForQuery('I')"
    assert talk.query("SET TIME ZONE INTERVAL 'soon'")[0] == error("42601")
    assert talk.query("SET TIME ZONE LOCAL")[0] == tag("SET")
    assert talk.session._settings["TimeZone"] == "UTC"


def test_an_array_is_a_parameter(talk: Talk) -> None:
    sql = "SELECT COUNT(*) FROM staff.public.staff WHERE dept = ANY($1) AND age > $2::integer"
    found = talk.say(extended(sql, values=(b"{a,b}", b"25")), CLIENT["Sync"]())
    assert found[-3:] == ["DataRow([b'22'])", tag("SELECT 1"), "ReadyForQuery('I')"]
    nothing = talk.say(extended(sql, values=(b"{}", b"25")), CLIENT["Sync"]())
    assert nothing[-2:] == [error("0A000"), "ReadyForQuery('I')"]


def test_a_hint_stands_in_the_message_or_in_its_field_and_never_in_both(talk: Talk) -> None:
    def messages() -> list[bytes]:
        talk.connection.receive(CLIENT["Query"]("COPY staff FROM STDIN"))
        event = talk.connection.next_event()
        talk._drive(talk.session.handle(event))
        return [each for each in talk.connection.data_to_send().split(b"\0") if each.startswith((b"M", b"H"))]

    said = b"COPY FROM is not possible here"
    hint = b"This server answers queries; the database cannot be changed through it."
    both_in_one = [b"M" + said + b". Hint: " + hint]
    assert messages() == both_in_one
    for program in ("psql", "pgcli"):
        talk.query(f"SET application_name = '{program}'")
        assert messages() == [b"M" + said, b"H" + hint]
    talk.query("SET cae_sql.hint = 'message'")
    assert messages() == both_in_one
    talk.query("RESET application_name")
    talk.query("SET cae_sql.hint = field")
    assert messages() == [b"M" + said, b"H" + hint]
    assert talk.query("SET cae_sql.hint = 'nowhere'")[0] == error("22023")
    talk.query("SET cae_sql.hint TO DEFAULT")
    assert messages() == both_in_one
