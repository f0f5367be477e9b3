"""A log that was cut or damaged is never taken for one that was read: what is missing is counted."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from auditor.errors import LogError
from auditor.history.readers import read
from auditor.history.readers.prefix import compiled
from auditor.history.readers.wholeness import flaw
from auditor.history.statement import Reading

HEAD = "2026-01-01 00:00:0{}.000 UTC [7] anna@acs psql "
RECORD = (
    '2026-01-05 09:00:0{0}.000 UTC,"anna","hr",71,"[local]",5f2b7d84.197f2,{0},"SELECT",2026-01-05 08:48:20 UTC,3/90,0,'  # noqa: E501
    'LOG,00000,"statement: SELECT {0}",,,,,,,,,"psql","client backend",,0\n'
)
SAMPLE = "log_statement_all_pgaudit"
Told = Counter[tuple[str, tuple[str | None, ...] | None, str, bool]]


def told(path: Path, content: bytes | str, format: str = "auto") -> tuple[list[str], Reading]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    reading = Reading()
    return [each.sql for each in read([path], format, reading=reading)], reading


def damaged(content: bytes, how: str, chance: random.Random) -> bytes:
    """The content with one thing wrong with it, at a random place."""
    place, size = chance.randrange(len(content)), chance.randrange(1, 400)
    return {
        "end": content[:place],
        "start": content[place:],
        "zeros": content[:place] + bytes(size) + content[place + size :],
        "bytes": content[:place] + b"\xff\xfe" * size + content[place + 2 * size :],
        "junk": content[:place] + b"\n%PDF-1.4 \x89\xff junk\n" + content[place:],
        "hole": content[:place] + content[place + size :],
    }[how]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "log"])
@pytest.mark.parametrize("how", ["end", "start", "zeros", "bytes", "junk", "hole"])
def test_damage_anywhere_leaves_the_statements_or_is_counted(
    tmp_path: Path, shared_data: Path, kind: str, how: str
) -> None:
    whole = shared_data / "logs" / f"{SAMPLE}.{kind}"
    content, path = whole.read_bytes(), tmp_path / f"server.{kind}"
    expected: Told = Counter(
        (each.sql, each.parameters, each.user, each.answered is not False) for each in read([whole])
    )
    chance = random.Random(f"{kind} {how}")
    for _ in range(40):
        broken = damaged(content, how, chance)
        if how in ("end", "start") and _at_an_end(broken, content, how, kind):
            continue
        if how == "hole" and kind == "log" and _joined_well(broken):
            continue
        path.write_bytes(broken)
        reading = Reading()
        try:
            found: Told = Counter(
                (each.sql, each.parameters, each.user, each.answered is not False)
                for each in read([path], reading=reading)
            )
        except LogError:
            continue
        # a text that pgaudit repeats is still there, though a hole in it makes another of it
        assert not expected - found or reading.broken or reading.lost, (how, len(broken))


def _at_an_end(broken: bytes, content: bytes, how: str, kind: str) -> bool:
    """Whether a log was cut between two messages: it is a log that ends, or begins, there."""
    if how == "start":
        return broken.startswith(b"\n") or content[: -len(broken)].endswith(b"\n")
    # a record of the other formats shows that it is whole
    return broken.endswith(b"\n") or (kind != "log" and content[len(broken) :].startswith(b"\n"))


def _joined_well(broken: bytes) -> bool:
    """Whether every line looks like one of a log: stderr has no numbers, two halves may make one line."""
    fits = compiled("%m [%p] %q%u@%d %a ")
    return all(
        line.startswith("\t") or not line or fits(line)
        for line in broken.decode("utf-8", "replace").split("\n")
    )


@pytest.mark.parametrize("glue", ["", "\n"])
def test_the_record_after_one_that_was_cut_is_read(tmp_path: Path, glue: str) -> None:
    whole = RECORD.format(2).replace("SELECT 2", 'INSERT ""content""')
    cut = whole[: whole.index("content") + 4] + glue
    found, reading = told(tmp_path / "log.csv", RECORD.format(1) + cut + RECORD.format(3) + RECORD.format(4))
    assert found == ["SELECT 1", "SELECT 3", "SELECT 4"]
    assert sum(reading.broken.values()) == 1
    assert reading.unread_bytes == len(cut.rstrip())
    assert not reading.lost


def test_a_row_of_a_table_that_was_cut_does_not_swallow_the_next(tmp_path: Path) -> None:
    text = 'time,user,sql\n2026-01-01,anna,"SELECT su\n2026-01-02,anna,"SELECT 2"\n2026-01-03,anna,SELECT 3\n'
    found, reading = told(tmp_path / "log.csv", text)
    assert found == ["SELECT 2", "SELECT 3"]
    assert sum(reading.broken.values()) == 1


def test_records_that_are_missing_by_their_numbers_are_counted(tmp_path: Path) -> None:
    _, reading = told(tmp_path / "log.csv", RECORD.format(1) + RECORD.format(5) + RECORD.format(6))
    assert reading.lost == {"message that is missing by the server's own count": 3}


LOST = {
    "LOG:  Anweisung: SELECT sum(x) FROM t": "message that is not known and may hold a statement",
    "LOG:  duration: 0.4 ms": "duration of a statement whose text is not in the log",
    "LOG:  duration: 0.4 ms  plan:\n\tQuery Text: SELECT sum(x) FROM t\n\tAggregate": "query of a plan that no other message tells",  # noqa: E501
    "LOG:  statement: FETCH ALL FROM before": "rows of a cursor whose declaration is not in the log",
    'LOG:  fastpath function call: "lo_get" (OID 3458)': "function that was called by the fast path",
    "LOG:  statement: SELECT sum(x) FROM t WHERE (id": "statement whose text ends in its middle",
    "LOG:  statement: SELECT sum(x) FROM t WHERE a = 'M\ufffdnchen'": "statement with bytes that are no text",
    "LOG:  statement: SELECT sum(x) FROM t WHERE a = '\0'": "statement with bytes that are no text",
    "LOG:  statement: <insufficient privilege>": "text that is no statement",
    "LOG:  statement: SELECT " + "x, " * 338 + "yz": "statement whose text ends in its middle",
    "LOG:  statement: SELECT su2026-01-01 00:00:00 UTC [8] b@c d LOG:  statement: SELECT 2": "message with another one in it",  # noqa: E501
}  # fmt: skip


@pytest.mark.parametrize(("message", "reason"), LOST.items())
def test_what_a_log_shows_to_be_missing_is_counted(tmp_path: Path, message: str, reason: str) -> None:
    text = HEAD.format(0) + "LOG:  checkpoint starting: time\n" + HEAD.format(1) + message + "\n"
    _, reading = told(tmp_path / "log", text)
    assert reading.lost[reason] == 1, reading.lost


def test_a_value_that_was_cut_makes_its_statement_one_that_is_not_whole(tmp_path: Path) -> None:
    text = (
        HEAD.format(1)
        + "LOG:  execute q: SELECT $1\n"
        + HEAD.format(1)
        + "DETAIL:  parameters: $1 = 'abc...'\n"
    )
    assert told(tmp_path / "log", text)[1].lost == {"statement with a value that was cut or left out": 1}


def test_a_log_that_is_whole_has_lost_nothing(shared_data: Path) -> None:
    for kind in ("csv", "jsonl", "log"):
        reading = Reading()
        list(read([shared_data / "logs" / f"{SAMPLE}.{kind}"], reading=reading))
        assert not reading.broken
        assert not reading.lost


@pytest.mark.parametrize(
    "sql",
    ["SELECT 1", "SELECT '(' -- it's", "/* ' */ SELECT 1;", "SELECT $$'($$", "SELECT E'\\''", 'SELECT "a(" FROM t', "(SELECT 1)",  # noqa: E501
     "SELECT ':)'", "SELECT $a$ $$ ' $a$", "-- only (a\nSELECT 1", "SELECT 1 -- (", "SELECT U&'d\\0061t'", "SELECT 'a''b'''"],  # noqa: E501
)  # fmt: skip
def test_a_text_that_is_whole_has_no_flaw(sql: str) -> None:
    assert flaw(sql, None, "postgres") == ""


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 'a",
        "SELECT 'a''",
        'SELECT "a',
        "SELECT $$a",
        "SELECT $a$ $$",
        "SELECT (1",
        "SELECT 1 /* a",
        "SELECT E'a\\'",
        "SELECT …",
    ],
)
def test_a_text_that_is_not_whole_has_one(sql: str) -> None:
    assert flaw(sql, None, "postgres")


def test_files_that_are_empty_or_another_format_are_not_clean(tmp_path: Path) -> None:
    assert told(tmp_path / "empty", "")[1].broken == {"empty file": 1}
    server = HEAD.format(0) + "LOG:  statement: SELECT 1\n"
    with pytest.raises(LogError, match="is a PostgreSQL server's log, not a script"):
        told(tmp_path / "log", server, "sql")
    with pytest.raises(LogError, match="cannot be opened: Is a directory"):
        list(read([tmp_path]))
    assert told(tmp_path / "log", server.replace("\n", "\r\n").encode("utf-16"))[0] == ["SELECT 1"]
    assert told(tmp_path / "log", server.rstrip("\n"))[1].lost == {
        "last line without an end, which may have been cut": 1
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [("SELECT 1;\n\\i more.sql\n", "psql command that runs what is not in the file"), ("SELECT 1", "last statement without an end, which may have been cut")],  # noqa: E501
)  # fmt: skip
def test_what_a_script_leaves_out_is_counted(tmp_path: Path, text: str, reason: str) -> None:
    assert told(tmp_path / "a.sql", text)[1].lost == {reason: 1}


def test_rows_of_a_copy_that_never_end_are_counted(tmp_path: Path) -> None:
    _, reading = told(tmp_path / "a.sql", "COPY t FROM stdin;\n1\n2\nSELECT 1;\n")
    assert reading.broken == {"rows of a COPY that never end": 1}


def test_an_export_that_has_null_for_a_text_is_counted(tmp_path: Path) -> None:
    _, reading = told(tmp_path / "a.csv", "user,sql\nanna,NULL\nanna,\nanna,SELECT 1\n")
    assert reading.broken == {"without a statement": 2}
