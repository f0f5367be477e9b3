"""Logs that are damaged, endless or no logs at all are counted or refused with one message."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.errors import LogError
from auditor.history.readers import FORMATS, read
from auditor.history.statement import Logged, Reading

LOG = (
    "2026-01-01 00:00:00.000 UTC [7] anna@acs psql LOG:  statement: SELECT sum(v),\n\t count(*) FROM p\n"
    "2026-01-01 00:00:01.000 UTC [7] anna@acs psql LOG:  statement: SELECT 'ä'\n"
    "2026-01-01 00:00:02.000 UTC [7] anna@acs psql LOG:  execute S: SELECT $1\n"
    "2026-01-01 00:00:02.000 UTC [7] anna@acs psql DETAIL:  parameters: $1 = '3'\n"
    "2026-01-01 00:00:03.000 UTC [7] anna@acs psql ERROR:  division by zero\n"
    "2026-01-01 00:00:03.000 UTC [7] anna@acs psql STATEMENT:  SELECT 1/0\n"
).encode()
CSVLOG = "".join(
    f'2026-01-01 00:00:0{number}.000 UTC,"anna","acs",7,"",6b00246c.6e00,1,"idle",2026-01-01 00:00:00 UTC,,0,'
    f'LOG,00000,"statement: {sql}",,,,,,,,,"psql","client backend",,0\n'
    for number, sql in enumerate(["SELECT sum(v),\n count(*) FROM p", "SELECT ''ä ''", "SELECT 3"])
).encode()
JSONLOG = (
    b'{"timestamp":"2026-01-01 00:00:00.000 UTC","user":"anna","error_severity":"LOG",'
    b'"message":"statement: SELECT 1"}\n'
) * 2
TABLE = "time,user,sql\n2026-01-01,anna,\"SELECT 1,\n'ä'\"\n2026-01-02,anna,SELECT 2\n".encode()
LINES = '{"time": "2026-01-01", "user": "anna", "sql": "SELECT \\"ä\\""}\n{"sql": "SELECT 2"}\n'.encode()
SCRIPT = "SELECT 1; /* ; */ SELECT $$;$$;\n-- ä\nSELECT 'x';\n".encode()
LOGS = {"log": LOG, "csvlog": CSVLOG, "jsonlog": JSONLOG, "csv": TABLE, "jsonl": LINES, "sql": SCRIPT}
NAMED = {"log": "postgres", "csvlog": "postgres", "jsonlog": "postgres"}


def outcome(path: Path, format: str) -> tuple[list[Logged], str]:
    """The statements, and the one message where there is an error of ours."""
    found: list[Logged] = []
    try:
        found.extend(read([path], format))
    except LogError as error:
        return found, str(error)
    return found, ""


@pytest.mark.parametrize("kind", LOGS)
@pytest.mark.parametrize("packed", [False, True])
def test_a_log_that_ends_anywhere_is_read_as_far_as_it_goes(tmp_path: Path, kind: str, packed: bool) -> None:
    content = gzip.compress(LOGS[kind]) if packed else LOGS[kind]
    path = tmp_path / "log"
    counts = []
    for size in range(len(content) + 1):
        path.write_bytes(content[:size])
        found, message = outcome(path, NAMED.get(kind, kind))
        counts.append(len(found))
        # a header that is cut has not the columns that are needed
        assert not message or (kind == "csv" and "there is no column 'sql'" in message)
    assert counts[0] == 0
    assert counts[-1] == {"log": 4, "csvlog": 3, "jsonlog": 2, "csv": 2, "jsonl": 2, "sql": 3}[kind]


@pytest.mark.parametrize("kind", ["log", "csvlog", "jsonlog"])
def test_a_server_log_that_ends_anywhere_is_found_to_be_one(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "server"
    for size in range(len(LOGS[kind]) + 1):
        path.write_bytes(LOGS[kind][:size])
        reading = Reading()
        list(read([path], reading=reading))
        if LOGS[kind][:size].endswith(b"\n") or not size:
            assert not reading.odd
            assert not reading.lost
        else:
            assert reading.broken or reading.lost or kind != "log"


# in a script anything may be a statement
@pytest.mark.parametrize("kind", sorted(LOGS.keys() - {"sql"}))
def test_junk_between_lines_costs_those_lines_alone(tmp_path: Path, kind: str) -> None:
    whole = tmp_path / "whole"
    whole.write_bytes(LOGS[kind])
    expected = [each.sql for each in read([whole], NAMED.get(kind, kind))]
    path = tmp_path / "log"
    first, rest = LOGS[kind].split(b"\n", 1) if kind == "csv" else (b"", LOGS[kind])
    junk = bytes(range(256)).replace(b"\n", b"").replace(b";", b"").replace(b"'", b"") + b"\n"
    # after the last line, and before the first
    path.write_bytes(
        (first + b"\n" if first else b"") + junk.replace(b'"', b"") + rest + junk.replace(b'"', b"")
    )
    reading = Reading()
    assert [each.sql for each in read([path], NAMED.get(kind, kind), reading=reading)] == expected
    assert sum(reading.broken.values()) == 2
    assert len(reading.examples) == 2


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_that_is_no_log_is_one_clear_error(tmp_path: Path, format: str) -> None:
    path = tmp_path / "junk"
    path.write_bytes(bytes(range(256)) * 40)
    with pytest.raises(
        LogError, match=r"junk: (is no log that is known|nothing in it is|is not a Parquet file)"
    ):
        list(read([path], format))


@pytest.mark.parametrize(
    "text",
    [
        "Dear all,\nplease find attached the minutes.\n",
        "a,b,c\n1,2,3\n",
        "<html>\n<body>\n</body>\n",
        "[protect]\na = 1\n",
    ],
)
def test_a_text_that_is_no_log_is_one_clear_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "letter.txt"
    path.write_text(text)
    with pytest.raises(LogError, match="is no log that is known; if it is one, name its format"):
        list(read([path]))


def test_a_file_that_is_not_there_or_a_format_that_is_not_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="cannot be opened: No such file"):
        list(read([tmp_path / "none"]))
    with pytest.raises(LogError, match="there is no format 'oracle'; one of auto, sql"):
        read([tmp_path / "none"], "oracle")


def test_an_empty_file_has_no_statements(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    assert list(read([path])) == []


@pytest.mark.parametrize("kind", sorted(LOGS.keys() - {"jsonlog"}))
def test_bytes_that_are_not_utf_8_are_replaced_and_counted(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "log"
    path.write_bytes(LOGS[kind].decode().encode("latin-1"))
    reading = Reading()
    found = list(read([path], NAMED.get(kind, kind), reading=reading))
    assert any("\ufffd" in each.sql for each in found)
    assert reading.odd == {"line with bytes that are not UTF-8, replaced": 1}


@pytest.mark.slow
def test_damaged_gzip_is_read_up_to_the_damage(tmp_path: Path) -> None:
    content = bytearray(
        gzip.compress(b"".join(b"SELECT %d;\n" % number for number in range(100_000)), mtime=0)
    )
    content[len(content) // 2] ^= 255
    path = tmp_path / "log.sql.gz"
    path.write_bytes(content)
    reading = Reading()
    assert 1000 < len(list(read([path], reading=reading))) < 100_000
    assert reading.broken == {"the compressed data end in the middle or are damaged": 1}


def test_times_out_of_order_are_counted_and_the_order_kept(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("time,user,sql\n2026-01-02,a,SELECT 1\n2026-01-01,a,SELECT 2\n2026-01-03,a,SELECT 3\n")
    reading = Reading()
    assert [each.sql for each in read([path], reading=reading)] == ["SELECT 1", "SELECT 2", "SELECT 3"]
    assert reading.odd == {"time earlier than that of a statement before it": 1}
    assert reading.earliest is not None
    assert reading.latest is not None
    assert (reading.earliest.day, reading.latest.day) == (1, 3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["log", "csvlog", "jsonlog", "csv", "jsonl", "sql", "json list"])
def test_a_line_of_100_megabytes_is_cut_off_and_memory_stays_small(tmp_path: Path, kind: str) -> None:
    name = NAMED.get(kind, "jsonl" if kind == "json list" else kind)
    path = tmp_path / "log"
    opening = {"log": b"2026-01-01 00:00:00.000 UTC [7] anna@acs psql LOG:  statement: SELECT '",
               "csvlog": b'2026-01-01 00:00:00.000 UTC,"anna","acs",7,"', "jsonlog": b'{"timestamp": "',
               "csv": b'2026-01-01,anna,"SELECT ', "jsonl": b'{"sql": "', "sql": b"SELECT '",
               "json list": b'[{"sql": "SELECT 1"}, {"sql": "'}[kind]  # fmt: skip
    before = {"csv": b"time,user,sql\n2026-01-01,anna,SELECT 0\n", "json list": b""}.get(
        kind, LOGS.get(kind, b"")
    )
    with path.open("wb") as file:
        file.write(before + opening)
        for _ in range(100):
            file.write(b"x" * (1 << 20))
        file.write(b"'\"\n" + (b"" if kind in ("csv", "json list") else LOGS[kind]))
        file.write(b"2026-01-01,anna,SELECT 1\n" if kind == "csv" else b"")
    code = textwrap.dedent(f"""
        import resource
        from pathlib import Path
        from auditor.history.readers import read
        from auditor.history.statement import Logged, Reading
        import auditor.history.readers.tables
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        reading = Reading()
        count = sum(1 for _ in read([Path({str(path)!r})], {name!r}, reading=reading))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(count, peak // 1024, sum(reading.broken.values()))
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, megabytes, broken = map(int, done.stdout.split())
    assert broken >= 1
    assert (
        count == {"log": 8, "csvlog": 6, "jsonlog": 4, "csv": 2, "jsonl": 4, "sql": 6, "json list": 1}[kind]
    )
    assert megabytes < 100


@given(st.sampled_from(FORMATS), st.binary(max_size=300))
def test_random_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, format: str, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "random"
    path.write_bytes(content)
    found, message = outcome(path, format)
    assert not message or message.startswith(f"log {path}: ")
    assert all(each.sql.strip() for each in found)


@given(st.sampled_from(sorted(LOGS)), st.data())
def test_a_log_with_random_bytes_in_it_is_read(
    tmp_path_factory: pytest.TempPathFactory, kind: str, data: st.DataObject
) -> None:
    content = bytearray(LOGS[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content)))
        content[place : place + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
    path = tmp_path_factory.getbasetemp() / "random"
    path.write_bytes(bytes(content))
    _, message = outcome(path, NAMED.get(kind, kind))
    assert not message or "there is no column" in message or "nothing in it is" in message


def test_standard_input_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LOG)))
    reading = Reading()
    assert len(list(read([Path("-")], reading=reading))) == 4
    assert (reading.bytes_in_all, reading.bytes_read) == (0, len(LOG))
