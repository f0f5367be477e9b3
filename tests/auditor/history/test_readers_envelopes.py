"""A server's log in the envelopes of clouds, containers and loggers gives what the plain log gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from auditor.errors import LogError
from auditor.history.readers import read
from auditor.history.statement import Logged, Reading

PREFIX = "2022-07-30 05:04:3{} UTC [40757]: [{}-1] db=hr,user=anna "
PLAIN = [
    PREFIX.format(0, 1) + "LOG:  duration: 11.446 ms  statement: SELECT sum(x)\n\tFROM t",
    PREFIX.format(1, 2) + "LOG:  execute q: SELECT sum(x) FROM t WHERE id <> $1",
    PREFIX.format(1, 3) + "DETAIL:  parameters: $1 = '7'",
    PREFIX.format(2, 4) + "LOG:  AUDIT: SESSION,9,1,READ,SELECT,TABLE,public.t,SELECT max(x) FROM t,<none>",
]
WHOLE = [
    ("SELECT sum(x)\nFROM t", None),
    ("SELECT sum(x) FROM t WHERE id <> $1", ("7",)),
    ("SELECT max(x) FROM t", None),
]
SHORT = len("2022-07-30 05:04:30 UTC ")


def objects(made: Callable[[str], dict[str, object]]) -> str:
    return "".join(json.dumps(made(each)) + "\n" for each in PLAIN)


def by_line(made: Callable[[int, int, str], str], texts: list[str] = PLAIN) -> str:
    """Each line of each message with its number, as those that take lines apart write it."""
    return "".join(
        made(number, part, line) + "\n"
        for number, text in enumerate(texts, 1)
        for part, line in enumerate(text.split("\n"), 1)
    )


def syslog(head: str, cut: int = 0) -> str:
    joined = [PLAIN[0], PLAIN[1] + "\n" + PLAIN[2], PLAIN[3]]
    return by_line(
        lambda n, part, line: (
            f"{head} [{n}-{part}] {line[cut if not line.startswith(chr(9)) else 0 :]}".replace("\t", "#011")
        ),
        joined,
    )


def cloud(text: str) -> dict[str, object]:
    return {"textPayload": text, "insertId": "a", "severity": "INFO", "timestamp": "2022-07-30T05:04:31.061Z"}


WRAPPED = {
    "Google Cloud": objects(cloud),
    "Google Cloud, without the time": objects(lambda text: cloud(text[SHORT:])),
    "Google Cloud, one list": json.dumps([cloud(text) for text in PLAIN], indent=2),
    "Google Cloud, entries": json.dumps({"entries": [cloud(text) for text in PLAIN]}),
    "Google Cloud, one after the other": "\n".join(json.dumps(cloud(text), indent=1) for text in PLAIN),
    "Google Cloud, jsonPayload": objects(lambda text: {"jsonPayload": {"message": text}}),
    "Azure": objects(lambda text: {"properties": {"message": text, "errorLevel": "LOG"}, "category": "x"}),
    "CloudWatch": objects(lambda text: {"timestamp": 1659157471, "message": text}),
    "CloudWatch, events": json.dumps({"events": [{"timestamp": 1659157471, "message": text} for text in PLAIN]}),  # noqa: E501
    "CloudWatch, exported": "".join(f"2022-07-30T05:04:31.000Z {text}\n" for text in PLAIN),
    "Docker": by_line(lambda n, part, line: json.dumps({"log": line + "\n", "stream": "stderr", "time": "2022-07-30T05:04:31.1Z"})),  # noqa: E501
    "Docker, in parts": "".join(
        json.dumps({"log": piece, "stream": "stderr"}) + "\n"
        for text in PLAIN for line in text.split("\n") for piece in (line[:5] , line[5:] + "\n")
    ),
    "Fluentd": by_line(lambda n, part, line: json.dumps({"log": line, "kubernetes": {"pod_name": "db-0"}})),
    "CRI": by_line(lambda n, part, line: f"2022-07-30T05:04:31.061000000Z stderr P {line[:8]}\n2022-07-30T05:04:31.061000000Z stderr F {line[8:]}"),  # noqa: E501
    "CRI around JSON": "".join(f"2022-07-30T05:04:31.061000000Z stdout F {json.dumps(cloud(text))}\n" for text in PLAIN),  # noqa: E501
    "journald": objects(lambda text: {"MESSAGE": text[SHORT + len("[40757]: ") :], "_PID": "40757", "__REALTIME_TIMESTAMP": "1659157471000"}),  # noqa: E501
    "journald, bytes": objects(lambda text: {"MESSAGE": list(text.encode()), "_PID": "40757"}),
    "syslog, RFC 3164": syslog("Jul 30 05:04:31 db-8 postgres[40757]:"),
    "syslog, RFC 3164, without the prefix's time": syslog("Jul 30 05:04:31 db-8 postgres[40757]:", SHORT),
    "syslog, RFC 3164, without the process": syslog("Nov 24 16:38:58 my-db-8 postgresql-11:", SHORT),
    "syslog, RFC 5424": syslog("<134>1 2022-07-30T05:04:31.061Z db-8 postgres 40757 - -", SHORT),
    "syslog, ISO times": syslog("2022-07-30T05:04:31.061+02:00 db-8 postgres[40757]:", SHORT),
}  # fmt: skip


def told(folder: Path, text: str, reading: Reading | None = None, format: str = "auto") -> list[Logged]:
    path = folder / "log"
    path.write_text(text, encoding="utf-8")
    return list(read([path], format, reading=reading))


def outcomes(found: list[Logged]) -> list[tuple[str, tuple[str | None, ...] | None]]:
    return [(each.sql, each.parameters) for each in found]


@pytest.mark.parametrize("name", WRAPPED)
@pytest.mark.parametrize("format", ["auto", "postgres"])
def test_a_log_in_an_envelope_is_read_as_without(tmp_path: Path, name: str, format: str) -> None:
    reading = Reading()
    found = told(tmp_path, WRAPPED[name], reading, format)
    assert outcomes(found) == WHOLE
    assert {each.user for each in found} == {"anna"}
    assert not reading.broken
    assert not reading.lost


@pytest.mark.parametrize("kind", ["log", "csv", "jsonl"])
@pytest.mark.parametrize("wrap", ["text", "docker", "cri", "object"])
def test_each_of_the_servers_formats_is_read_in_an_envelope(
    tmp_path: Path, shared_data: Path, kind: str, wrap: str
) -> None:
    path = shared_data / "logs" / f"log_statement_all_pgaudit.{kind}"
    made: Callable[[str], str] = {
        "text": lambda line: json.dumps({"textPayload": line}),
        "docker": lambda line: json.dumps({"log": line + "\n"}),
        "cri": lambda line: f"2022-07-30T05:04:31.061Z stderr F {line}",
        "object": lambda line: json.dumps(
            {"jsonPayload": json.loads(line) if kind == "jsonl" else {"message": line}}
        ),
    }[wrap]
    reading = Reading()
    found = told(tmp_path, "".join(made(line) + "\n" for line in path.read_text().splitlines()), reading)
    assert outcomes(found) == outcomes(list(read([path])))
    assert not reading.broken


def test_a_detail_that_stands_apart_belongs_to_its_message(tmp_path: Path) -> None:
    # as Azure writes it: pgbadger's issue 752
    said = {"message": PLAIN[1], "errorLevel": "LOG", "detail": "parameters: $1 = '7'"}
    assert outcomes(told(tmp_path, json.dumps({"properties": said}) + "\n")) == WHOLE[1:2]


def test_records_of_an_operator_and_of_googles_pgaudit_are_read(tmp_path: Path) -> None:
    record = {
        "log_time": "2025-12-09 00:32:20.822 UTC",
        "user_name": "anna",
        "session_id": "69376dbf.fa3",
        "error_severity": "LOG",
    }
    audit = {
        "audit_type": "SESSION",
        "statement_id": "1",
        "substatement_id": "1",
        "class": "READ",
        "command": "SELECT",
        "parameter": "<none>",
        "statement": "SELECT 'a\"b'",
    }
    lines = [
        {"logger": "postgres", "msg": "record", "record": {**record, "session_line_num": "1", "message": "statement: SELECT 1"}},  # noqa: E501
        {"logger": "pgaudit", "msg": "record", "record": {**record, "session_line_num": "2", "audit": audit}},
        {"logger": "instance-manager", "msg": "hello"},
    ]  # fmt: skip
    assert [each.sql for each in told(tmp_path, "".join(json.dumps(each) + "\n" for each in lines))] == [
        "SELECT 1",
        "SELECT 'a\"b'",
    ]
    request = {
        "auditClass": "READ",
        "auditType": "SESSION",
        "chunkCount": "1",
        "chunkIndex": "1",
        "command": "SELECT",
        "databaseSessionId": 2209692,
        "parameter": "[not logged]",
        "statement": "SELECT 2",
        "statementId": 2,
        "substatementId": 1,
        "user": "alice",
    }
    (found,) = told(
        tmp_path,
        json.dumps({"protoPayload": {"request": request}, "timestamp": "2022-07-30T05:04:31Z"}, indent=1),
    )
    assert (found.sql, found.user) == ("SELECT 2", "alice")


def test_sessions_between_each_other_in_syslog_are_put_together_by_their_process(tmp_path: Path) -> None:
    head = "Jul 30 05:04:31 db postgres[{}]: [{}-{}] "
    text = (
        head.format(1, 1, 1) + "user=a,db=d LOG:  statement: SELECT sum(x)\n" + head.format(2, 1, 1)
        + "user=b,db=d LOG:  statement: SELECT 2,\n" + head.format(1, 1, 2) + "#011FROM t WHERE a =\n"
        + head.format(2, 1, 2) + "#011 3\n" + head.format(1, 1, 3) + " 'long'\n" + "Jul 30 05:04:31 db sshd[9]: hello\n"  # noqa: E501
    )  # fmt: skip
    reading = Reading()
    assert [(each.user, each.sql) for each in told(tmp_path, text, reading)] == [
        ("a", "SELECT sum(x)\nFROM t WHERE a = 'long'"),
        ("b", "SELECT 2,\n 3"),
    ]
    assert not reading.broken
    assert not reading.lost


def test_what_an_envelope_lacks_is_counted(tmp_path: Path) -> None:
    reading = Reading()
    told(tmp_path, json.dumps({"entries": [cloud(text) for text in PLAIN], "nextPageToken": "x"}), reading)
    assert reading.lost == {"page of an export that is not in the file": 1}
    reading = Reading()
    head = "Jul 30 05:04:31 db postgres[7]: "
    told(tmp_path, "".join(f"{head}[{n}] {PLAIN[1]}\n" for n in ("1-1", "4-1", "4-3", "6-2")), reading)
    assert reading.lost["message of syslog that is missing by its number"] == 2
    assert reading.lost["line of syslog that is missing before another of its message"] == 1
    assert sum(reading.broken.values()) == 1


def test_an_envelope_that_is_not_known_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="there is no column 'sql'"):
        told(tmp_path, objects(lambda text: {"blah": text}))
