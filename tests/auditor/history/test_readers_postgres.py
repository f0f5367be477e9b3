"""What a PostgreSQL server's log says: each statement once, with its values, and whether it was answered."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from auditor.errors import LogError
from auditor.history.readers import read, sessions
from auditor.history.readers.prefix import COMMON, compiled, detect
from auditor.history.statement import Logged, Reading

FORMATS = ("log", "csv", "jsonl")
Message = tuple[str, str] | tuple[str, str, dict[str, str]]
"""Severity, message, and what else: detail, statement, context, tag, user, session."""


def moment(number: int) -> str:
    return (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number)).strftime(
        "%Y-%m-%d %H:%M:%S.000 UTC"
    )


def written(format: str, messages: Sequence[Message]) -> str:
    """A server's log in one of its formats."""
    out = io.StringIO()
    for number, (severity, message, *more) in enumerate(messages):
        about = more[0] if more else {}
        user, session = about.get("user", "anna"), about.get("session", "6b00246c.6e00")
        if format == "log":
            before = f"{moment(number)} [{session}] {user}@acs psql "
            parts = [(severity, message)] + [
                (name, about[name.lower()])
                for name in ("DETAIL", "CONTEXT", "STATEMENT")
                if name.lower() in about
            ]
            for level, text in parts:
                out.write(f"{before}{level}:  " + text.replace("\n", "\n\t") + "\n")
        elif format == "csv":
            row = [moment(number), user, "acs", "7", "", session, "1", about.get("tag", ""), moment(0), "",
                   "0",
                   severity, "00000", message, about.get("detail", ""), "", "", "", about.get("context", ""),
                   about.get("statement", ""), about.get("position", ""), "", "psql", "client backend", "",
                   "0",
                   ]  # fmt: skip
            csv.writer(out, lineterminator="\n").writerow(row)
        else:
            found = {"timestamp": moment(number), "user": user, "dbname": "acs", "session_id": session,
                     "ps": about.get("tag"), "error_severity": severity, "message": message,
                     "detail": about.get("detail"), "context": about.get("context"),
                     "statement": about.get("statement"), "application_name": "psql",
                     "cursor_position": int(about["position"]) if "position" in about else None}  # fmt: skip
            out.write(json.dumps({name: value for name, value in found.items() if value is not None}) + "\n")
    return out.getvalue()


def told(folder: Path, format: str, messages: Sequence[Message]) -> list[Logged]:
    path = folder / f"server.{format}"
    path.write_text(written(format, messages), encoding="utf-8")
    return list(read([path], "postgres", {"prefix": "%m [%c] %u@%d %a "} if format == "log" else None))


def outcomes(found: Sequence[Logged]) -> list[tuple[str, tuple[str | None, ...] | None, bool | None]]:
    return [(each.sql, each.parameters, each.answered) for each in found]


def statement(sql: str, **about: str) -> Message:
    return ("LOG", f"statement: {sql}", about)


def audit(
    number: int, sql: str, parameters: str = "<none>", command: str = "SELECT", part: int = 1
) -> Message:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(
        ["SESSION", number, part, "READ", command, "TABLE", "public.p", sql, parameters]
    )
    return ("LOG", "AUDIT: " + out.getvalue())


# The real log


def test_the_three_formats_of_one_server_say_the_same(shared_data: Path) -> None:
    name = "log_statement_all_pgaudit"
    found = {
        format: [
            dataclasses.replace(each, source="") for each in read([shared_data / "logs" / f"{name}.{format}"])
        ]
        for format in FORMATS
    }
    assert found["log"] == found["csv"] == found["jsonl"]
    statements = found["log"]
    assert [each.number for each in statements] == list(range(1, 96))
    assert {each.user for each in statements} == {"postgres", "analyst1", "analyst2", "dash_app"}
    assert all(each.time and each.time.tzinfo and each.dialect == "postgres" for each in statements)
    failed = [each.sql for each in statements if each.answered is False]
    assert failed == [
        "SELECT avg(salry) FROM person;",
        "DECLARE c CURSOR FOR SELECT 1;",
        "SELECT sum(salary) FROM person WHERE age > $1",
    ]
    assert all(each.answered for each in statements if each.sql not in failed)


def test_the_real_log_is_read_as_it_was_sent(shared_data: Path) -> None:
    reading = Reading()
    found = list(read([shared_data / "logs" / "log_statement_all_pgaudit.log"], reading=reading))
    by_user = {user: [each for each in found if each.user == user] for user in ("analyst1", "dash_app")}
    # EXECUTE q('MED', 15) is what it runs
    prepared = [each for each in by_user["analyst1"] if each.parameters]
    assert [(each.sql, each.parameters) for each in prepared] == [
        ("SELECT sum(salary), count(*) FROM person WHERE industry = $1 AND education = $2", ("MED", value))
        for value in ("15", "16")
    ]
    # the same text with the same value twice is two executions
    pgbench = [each.parameters for each in by_user["dash_app"] if each.application == "pgbench"]
    assert pgbench == [("66",), ("78",), ("46",), ("46",), ("39",)]
    several = next(each for each in found if each.sql.startswith("SELECT occupation"))
    assert several.sql.splitlines()[1:3] == [
        "       COUNT(*)            AS n,",
        "       SUM(salary)         AS total_salary   -- in thousands",
    ]
    assert any('"Ø salaire (k€)"' in each.sql for each in found)
    assert reading.bytes_read == reading.bytes_in_all > 0
    assert not reading.broken
    assert not reading.odd
    assert found[8].source.endswith("log_statement_all_pgaudit.log:29")


def test_pgaudit_alone_gives_the_same_answers_about_the_table(shared_data: Path, tmp_path: Path) -> None:
    whole = shared_data / "logs" / "log_statement_all_pgaudit.csv"
    rows = list(csv.reader(io.StringIO(whole.read_text(encoding="utf-8"))))
    kept = [row for row in rows if not row[13].startswith(("statement: ", "execute "))]
    path = tmp_path / "audit.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(kept)

    def answers(path: Path) -> list[tuple[str, str, tuple[str | None, ...] | None]]:
        return sorted(
            (each.user, each.sql, each.parameters or ())
            for each in read([path])
            if each.answered and "from person" in each.sql.lower()
        )

    assert answers(path) == answers(whole)


# One execution is one statement


@pytest.mark.parametrize("format", FORMATS)
def test_a_duration_beside_a_statement_is_that_statements_own(tmp_path: Path, format: str) -> None:
    messages: list[Message] = [
        statement("SELECT 1"),
        ("LOG", "duration: 0.123 ms"),
        statement("SELECT 2"),
        ("LOG", "duration: 0.123 ms  statement: SELECT 2"),
        ("LOG", "duration: 0.123 ms  statement: SELECT 2"),
    ]
    assert outcomes(told(tmp_path, format, messages)) == [
        ("SELECT 1", None, True),
        ("SELECT 2", None, True),
        ("SELECT 2", None, True),
    ]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("word", ["parameters", "Parameters"])
def test_of_the_extended_protocol_only_executions_count(tmp_path: Path, format: str, word: str) -> None:
    sql = "SELECT sum(v) FROM p WHERE x = $1 AND y = $2 AND z = $3"
    about = {"detail": f"{word}: $1 = 'it''s, $2 = ''x''', $2 = NULL, $3 = ''"}
    messages: list[Message] = [
        ("LOG", f"duration: 0.1 ms  parse S_1: {sql}"),
        ("LOG", f"duration: 0.1 ms  bind S_1: {sql}", about),
        ("LOG", f"duration: 0.1 ms  execute S_1: {sql}", about),
        ("LOG", f"duration: 0.1 ms  execute fetch from S_1/C_2: {sql}", about),
    ]
    assert outcomes(told(tmp_path, format, messages)) == [(sql, ("it's, $2 = 'x'", None, ""), True)]


@pytest.mark.parametrize("format", FORMATS)
def test_pgaudit_beside_log_statement_tells_no_second_statement(tmp_path: Path, format: str) -> None:
    sql = "SELECT sum(v) FROM p WHERE x = $1"
    about = {"detail": "parameters: $1 = '3'"}
    messages = [
        statement("SELECT count(*), 1 FROM p"),
        audit(1, "SELECT count(*), 1 FROM p"),
        audit(1, "SELECT count(*), 1 FROM p", part=2),
        statement("SELECT count(*), 1 FROM p"),
        audit(2, "SELECT count(*), 1 FROM p"),
        audit(3, sql, "3"),
        ("LOG", f"execute S: {sql}", about),
        audit(4, sql, "3"),
        ("LOG", f"execute S: {sql}", about),
        audit(5, sql, "4"),
    ]
    assert outcomes(told(tmp_path, format, messages)) == [
        ("SELECT count(*), 1 FROM p", None, True),
        ("SELECT count(*), 1 FROM p", None, True),
        (sql, ("3",), True),
        (sql, ("3",), True),
        (sql, ("4",), None),
    ]


@pytest.mark.parametrize("format", FORMATS)
def test_pgaudit_with_values_of_another_execution_is_another_statement(tmp_path: Path, format: str) -> None:
    sql = "SELECT sum(v) FROM p WHERE x = $1"
    messages = [audit(1, sql, "3"), ("LOG", f"execute S: {sql}", {"detail": "parameters: $1 = '4'"})]
    assert [each.parameters for each in told(tmp_path, format, messages)] == [("3",), ("4",)]


def test_what_a_function_runs_inside_is_not_a_statement_of_the_client(tmp_path: Path) -> None:
    messages = [
        statement("SELECT f()"),
        audit(1, "SELECT f()"),
        audit(1, "SELECT sum(v) FROM p", part=2),
        audit(2, "DO $$ x $$", command="DO"),
        audit(2, "SELECT max(v) FROM p", part=2),
    ]
    assert [each.sql for each in told(tmp_path, "csv", messages)] == ["SELECT f()", "DO $$ x $$"]


def test_what_pgaudit_does_not_log_again_is_not_lost(tmp_path: Path) -> None:
    messages: list[Message] = [
        audit(1, "SELECT v FROM p"),
        ("LOG", "AUDIT: SESSION,1,2,READ,SELECT,TABLE,public.q,<previously logged>,<previously logged>"),
        audit(2, "SELECT sum(v) FROM p WHERE x = $1", "<not logged>"),
        ("LOG", "AUDIT: OBJECT,3,1,READ,SELECT,TABLE,public.p,SELECT v FROM p,<none>"),
    ]
    found = told(tmp_path, "csv", messages)
    assert [(each.sql, each.parameters) for each in found] == [
        ("SELECT v FROM p", None),
        ("SELECT sum(v) FROM p WHERE x = $1", None),
        ("SELECT v FROM p", None),
    ]


# PREPARE and EXECUTE


@pytest.mark.parametrize("format", FORMATS)
def test_execute_is_what_was_prepared_in_that_session(tmp_path: Path, format: str) -> None:
    messages = [
        statement("PREPARE q(numeric(8,2), text) AS SELECT sum(v) FROM p WHERE x = $1 AND y = $2;"),
        statement("PREPARE Q AS SELECT max(v) FROM p", session="6b00246c.7777"),
        statement("EXECUTE q(-1.5::numeric, 'it''s');"),
        statement("EXECUTE Q", session="6b00246c.7777"),
        statement("EXECUTE q(1 + 1, NULL)"),
        statement('EXECUTE "Q"(1)'),
        statement(
            "EXECUTE elsewhere(1)", detail="prepare: PREPARE elsewhere AS SELECT min(v) FROM p WHERE x = $1"
        ),
    ]
    sql = "SELECT sum(v) FROM p WHERE x = $1 AND y = $2"
    assert [(each.sql, each.parameters) for each in told(tmp_path, format, messages)] == [
        (sql, ("-1.5", "it's")),
        ("SELECT max(v) FROM p", None),
        ("SELECT sum(v) FROM p WHERE x = (1 + 1) AND y = (NULL)", None),
        ('EXECUTE "Q"(1)', None),
        ("SELECT min(v) FROM p WHERE x = $1", ("1",)),
    ]


@pytest.mark.parametrize("format", FORMATS)
def test_a_prepare_that_failed_prepares_nothing(tmp_path: Path, format: str) -> None:
    messages: list[Message] = [
        statement("PREPARE q AS SELECT v FROM p"),
        statement("PREPARE q AS SELECT 1"),
        ("ERROR", 'prepared statement "q" already exists', {"statement": "PREPARE q AS SELECT 1"}),
        statement("EXECUTE q"),
    ]
    assert outcomes(told(tmp_path, format, messages)) == [
        ("PREPARE q AS SELECT 1", None, False),
        ("SELECT v FROM p", None, None),
    ]


@pytest.mark.parametrize("with_statement", [True, False])
def test_pgaudit_tells_what_an_execute_ran_and_with_which_values(
    tmp_path: Path, with_statement: bool
) -> None:
    prepared = "PREPARE q AS SELECT sum(v) FROM p WHERE x = $1"
    messages: list[Message] = [audit(1, prepared, command="PREPARE")]
    messages += [statement("EXECUTE q(1 + 1)")] if with_statement else []
    messages += [audit(2, prepared, "2"), ("LOG", "duration: 1.5 ms  statement: EXECUTE q(1 + 1)")]
    found = told(tmp_path, "csv", messages)
    assert [(each.sql, each.parameters) for each in found] == [("SELECT sum(v) FROM p WHERE x = $1", ("2",))]


def test_an_execute_without_values_that_pgaudit_alone_tells_is_not_taken_for_the_prepare(
    tmp_path: Path,
) -> None:
    prepared = "PREPARE q AS SELECT v FROM p"
    messages = [audit(1, prepared, command="PREPARE"), audit(2, prepared)]
    assert [each.sql for each in told(tmp_path, "csv", messages)] == ["SELECT v FROM p"]


def test_binding_to_what_sql_has_prepared_runs_it(tmp_path: Path) -> None:
    messages: list[Message] = [("LOG", "execute q: PREPARE q AS SELECT v FROM p")]
    assert [each.sql for each in told(tmp_path, "csv", messages)] == ["SELECT v FROM p"]


# Errors


@pytest.mark.parametrize("format", FORMATS)
def test_an_error_is_of_the_statement_of_its_session(tmp_path: Path, format: str) -> None:
    messages: list[Message] = [
        statement("SELECT 1/0"),
        statement("SELECT 1/0", user="otto", session="6b00246c.7777"),
        ("ERROR", "division by zero", {"statement": "SELECT 1/0"}),
        ("LOG", "duration: 0.1 ms", {"user": "otto", "session": "6b00246c.7777"}),
    ]
    assert [(each.user, each.answered) for each in told(tmp_path, format, messages)] == [
        ("anna", False),
        ("otto", True),
    ]


@pytest.mark.parametrize("format", FORMATS)
def test_a_statement_that_is_known_only_by_its_error_was_not_answered(tmp_path: Path, format: str) -> None:
    messages: list[Message] = [("ERROR", "division by zero", {"statement": "SELECT 1/0"})]
    assert outcomes(told(tmp_path, format, messages)) == [("SELECT 1/0", None, False)]


@pytest.mark.parametrize("format", FORMATS)
def test_an_error_while_binding_is_not_that_of_the_execution_before(tmp_path: Path, format: str) -> None:
    sql = "SELECT sum(v) FROM p WHERE x = $1"
    messages: list[Message] = [
        ("LOG", f"execute S: {sql}", {"detail": "parameters: $1 = '3'"}),
        ("ERROR", "invalid input syntax", {
            "statement": sql, "context": "unnamed portal parameter $1 = '...'", "tag": "BIND"}),
    ]  # fmt: skip
    assert outcomes(told(tmp_path, format, messages)) == [(sql, ("3",), True), (sql, None, False)]


@pytest.mark.parametrize(("format", "answered"), [("log", None), ("csv", False), ("jsonl", False)])
def test_whether_an_execution_failed_is_open_where_the_log_does_not_say_what_failed(
    tmp_path: Path, format: str, answered: bool | None
) -> None:
    sql = "SELECT sum(v) FROM p WHERE x = $1"
    messages: list[Message] = [
        ("LOG", f"execute S: {sql}", {"detail": "parameters: $1 = '3'"}),
        ("ERROR", "division by zero", {"statement": sql, "tag": "SELECT"}),
    ]
    assert outcomes(told(tmp_path, format, messages)) == [(sql, ("3",), answered)]


@pytest.mark.parametrize("format", FORMATS)
def test_an_error_after_what_pgaudit_alone_tells_may_be_that_of_another_execution(
    tmp_path: Path, format: str
) -> None:
    # the second one may have failed before pgaudit saw it
    messages: list[Message] = [
        audit(1, "SELECT 1/0"),
        ("ERROR", "division by zero", {"statement": "SELECT 1/0"}),
    ]
    assert outcomes(told(tmp_path, format, messages)) == [("SELECT 1/0", None, None)]
    bind = (
        "ERROR",
        "wrong",
        {"statement": "SELECT $1", "tag": "BIND", "context": "unnamed portal parameter $1"},
    )
    assert [each.answered for each in told(tmp_path, format, [audit(1, "SELECT $1", "3"), bind])] == [
        True,
        False,
    ]


@pytest.mark.parametrize("format", FORMATS)
def test_the_last_statement_of_a_log_may_have_been_answered(tmp_path: Path, format: str) -> None:
    assert outcomes(told(tmp_path, format, [statement("SELECT 1")])) == [("SELECT 1", None, None)]


def test_statements_come_out_although_a_session_never_says_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "WAITING", 5)
    messages = [statement("SELECT 0", session="6b00246c.7777")]
    messages += [statement(f"SELECT {number}") for number in range(1, 20)]
    messages.append(("ERROR", "late", {"statement": "SELECT 0", "session": "6b00246c.7777"}))
    found = told(tmp_path, "csv", messages)
    assert [each.sql for each in found] == [f"SELECT {number}" for number in range(20)] + ["SELECT 0"]
    assert [found[0].answered, found[-1].answered] == [None, False]


# Several statements in one message


@pytest.mark.parametrize("format", FORMATS)
def test_a_message_of_several_statements_is_cut(tmp_path: Path, format: str) -> None:
    sql = "SELECT 'a;b', $x$;$x$, \"c;d\"; -- e;f\nSELECT E'\\';' /* /* ; */ ; */;;\n SELECT 3 ; "
    messages = [statement(sql), audit(1, sql), audit(2, sql), audit(3, sql), statement("SELECT 4")]
    assert [each.sql for each in told(tmp_path, format, messages)] == [
        "SELECT 'a;b', $x$;$x$, \"c;d\"",
        "-- e;f\nSELECT E'\\';' /* /* ; */ ; */",
        "SELECT 3",
        "SELECT 4",
    ]


@pytest.mark.parametrize(
    ("message", "position", "answered"),
    [
        ("division by zero", "", [None, None, False]),
        ('column "b" does not exist', "18", [None, False, False]),
        ('syntax error at or near "b"', "18", [False, False, False]),
    ],
)
def test_what_stood_before_an_error_in_one_message_may_have_been_answered(
    tmp_path: Path, message: str, position: str, answered: list[bool | None]
) -> None:
    sql = "SELECT 1; SELECT b; SELECT 3"
    about = {"statement": sql, **({"position": position} if position else {})}
    assert [
        each.answered for each in told(tmp_path, "csv", [statement(sql), ("ERROR", message, about)])
    ] == answered
    at = f"{message} at character {position}" if position else message
    stderr = told(tmp_path, "log", [statement(sql), ("ERROR", at, about)])
    assert [each.answered for each in stderr] == answered


# Who


def test_a_process_number_that_is_used_again_is_another_session(tmp_path: Path) -> None:
    messages: list[Message] = [
        statement("PREPARE q AS SELECT v FROM p"),
        ("LOG", "connection received: host=[local]", {"user": ""}),
        ("LOG", "connection authorized: user=otto database=acs application_name=psql", {"user": "otto"}),
        statement("EXECUTE q", user="otto"),
    ]
    assert [each.sql for each in told(tmp_path, "csv", messages)] == ["EXECUTE q"]


def test_the_user_is_known_from_the_connection_where_the_prefix_does_not_say(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(
        "2026-01-01 00:00:00.000 UTC [7] LOG:  connection received: host=[local]\n"
        "2026-01-01 00:00:00.000 UTC [7] LOG:  connection authorized: user=anna database=acs"
        " application_name=my app\n"
        "2026-01-01 00:00:01.000 UTC [7] LOG:  statement: SELECT 1\n"
    )
    (found,) = read([path])
    assert (found.user, found.database, found.application) == ("anna", "acs", "my app")


# Prefixes


def shown(setting: str) -> str:
    parts = {"%m": "2026-01-01 00:00:00.123 CET", "%t": "2026-01-01 00:00:00 CET", "%n": "1767222000.123",
             "%p": "4711", "%q": "", "%u": "anna", "%d": "acs", "%a": "my app", "%h": "::1",
             "%r": "::1(5432)",
             "%l": "3", "%c": "6b00246c.6e00", "%e": "00000", "%s": "2026-01-01 00:00:00 CET", "%v": "3/7",
             "%x": "0"}  # fmt: skip
    for name, value in parts.items():
        setting = setting.replace(name, value)
    return setting


@pytest.mark.parametrize("setting", [each for each in COMMON if each])
def test_a_common_prefix_is_found_and_read(tmp_path: Path, setting: str) -> None:
    path = tmp_path / "server.log"
    path.write_text(f"{shown(setting)}LOG:  statement: SELECT 1\n\n{shown(setting)}LOG:  duration: 1.0 ms\n")
    reading = Reading()
    (found,) = read([path], reading=reading)
    assert (found.sql, found.answered) == ("SELECT 1", True)
    assert not reading.broken
    assert found.user == ("anna" if "%u" in setting else "")
    assert found.application == ("my app" if "%a" in setting else "")
    assert found.database == ("acs" if "%d" in setting else "")
    if "%m" in setting or "%t" in setting or "%n" in setting:
        assert found.time is not None
        assert found.time.astimezone(UTC).isoformat()[:19] == "2025-12-31T23:00:00"


def test_an_uncommon_prefix_is_read_by_its_parts_or_as_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text("app=x y|db=acs|2026-01-01 00:00:00 UTC|user=anna|pid=4711| LOG:  statement: SELECT 1\n")
    (loose,) = read([path])
    assert (loose.user, loose.sql) == ("anna", "SELECT 1")
    (named,) = read([path], "postgres", {"prefix": "app=%a|db=%d|%t|user=%u|pid=%p| "})
    assert (named.user, named.database, named.application) == ("anna", "acs", "x y")


def test_lines_of_the_server_itself_fit_the_prefix_of_sessions() -> None:
    match = detect(["2026-01-01 00:00:00.000 UTC [7] LOG:  starting"] * 50 + [
        "2026-01-01 00:00:00.000 UTC [8] anna@acs my app LOG:  statement: SELECT 1"
    ])  # fmt: skip
    assert match is not None
    found = match("2026-01-01 00:00:00.000 UTC [8] anna@acs my app LOG:  statement: SELECT 1")
    assert found is not None
    assert found[:5] == ("2026-01-01 00:00:00.000 UTC", "anna", "acs", "my app", "8")


def test_a_prefix_with_a_part_that_there_is_none_of_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="%z"):
        compiled("%z")
    path = tmp_path / "server.log"
    path.write_text("x\n")
    with pytest.raises(LogError, match="%z"):
        list(read([path], "postgres", {"prefix": "%z"}))
