"""What a real PostgreSQL server writes, in all of its formats at once, is read as it was asked."""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from auditor.history.readers import read
from auditor.history.statement import Logged, Reading

SCRIPT = r"""
CREATE TABLE p (id int, v int, x text);
INSERT INTO p SELECT i, i * 10, 'A' FROM generate_series(1, 100) i;
SELECT sum(v),
   count(*)
FROM p -- it's; fine
;
SELECT 1 \; SELECT sum(v) FROM p \; SELECT 'a;b';
SELECT 2 \; SELECT 1/0 \; SELECT 3;
SELECT 4 \; SELECT nope FROM p \; SELECT 5;
SELECT 6 \; SELEC 7;
PREPARE q(text, int) AS SELECT sum(v) FROM p WHERE x = $1 AND id <= $2;
PREPARE q AS SELECT 1;
EXECUTE q('it''s', 7);
EXECUTE q('A', 3 + 4);
EXECUTE q(NULL, -3);
EXECUTE nope(3);
PREPARE r AS SELECT 1 / (v - 50) FROM p;
EXECUTE r;
SELECT $x$ a;b $x$;
SELECT sum(v) FROM p;
SELECT sum(v) FROM p;
SELECT E'tab\t\'x', 'Ünï';
"""
PREPARED = "\\set a random(1,1)\nSELECT sum(v) FROM p WHERE id >= :a;\nSELECT count(*) FROM p;\n"
FAILING = "\\set a 5\nSELECT sum(v) FROM p WHERE id >= :a;\nSELECT sum(v) / (:a - 5) FROM p;\n"
QUERY = "SELECT sum(v) FROM p WHERE x = $1 AND id <= $2"
ASKED = [
    ("CREATE TABLE p (id int, v int, x text);", None, True),
    ("INSERT INTO p SELECT i, i * 10, 'A' FROM generate_series(1, 100) i;", None, True),
    ("SELECT sum(v),\n   count(*)\nFROM p -- it's; fine\n;", None, True),
    ("SELECT 1", None, True),
    ("SELECT sum(v) FROM p", None, True),
    ("SELECT 'a;b'", None, True),
    ("SELECT 2", None, None),
    ("SELECT 1/0", None, None),
    ("SELECT 3", None, False),
    ("SELECT 4", None, None),
    ("SELECT nope FROM p", None, False),
    ("SELECT 5", None, False),
    ("SELECT 6", None, False),
    ("SELEC 7", None, False),
    ("PREPARE q AS SELECT 1;", None, False),
    (QUERY, ("it's", "7"), True),
    ("SELECT sum(v) FROM p WHERE x = ('A') AND id <= (3 + 4)", None, True),
    (QUERY, (None, "-3"), True),
    ("EXECUTE nope(3);", None, False),
    ("SELECT 1 / (v - 50) FROM p", None, False),
    ("SELECT $x$ a;b $x$;", None, True),
    ("SELECT sum(v) FROM p;", None, True),
    ("SELECT sum(v) FROM p;", None, True),
    ("SELECT E'tab\\t\\'x', 'Ünï';", None, True),
] + [("SELECT sum(v) FROM p WHERE id >= $1;", ("1",), True), ("SELECT count(*) FROM p;", None, True)] * 2
SETTINGS = {
    "statements": ("log_statement=all\nlog_connections=on\nlog_disconnections=on\n", "%m [%p] "),
    "durations": ("log_min_duration_statement=0\n", "%m [%p-%l] %q%u@%d "),
    "both": ("log_statement=all\nlog_min_duration_statement=0\nlog_duration=on\n", "%m [%p] %q%u@%d/%a %i "),
}


def program(name: str) -> str:
    return next(iter(sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), reverse=True)), "")


@contextlib.contextmanager
def logs(settings: str, prefix: str) -> Iterator[dict[str, Path]]:
    """The logs of a server that was asked all of it, by format."""
    user = None
    if os.geteuid() == 0:
        user = "postgres" if "postgres" in {each.pw_name for each in pwd.getpwall()} else "nobody"
    folder = tempfile.mkdtemp(prefix="pg", dir="/tmp")
    name = user or pwd.getpwuid(os.geteuid()).pw_name

    def run(*command: str, check: bool = True, text: str = "") -> None:
        subprocess.run(
            command, user=user, cwd=folder, check=check, capture_output=True, text=True, input=text
        )

    try:
        if user is not None:
            shutil.chown(folder, user)
        data = f"{folder}/data"
        run(program("initdb"), "-D", data, "-A", "trust", "--locale=C.UTF-8", "-E", "UTF8", "--no-sync",
            "-U", name)  # fmt: skip
        with open(f"{data}/postgresql.conf", "a", encoding="utf-8") as file:
            file.write(
                f"\nlogging_collector=on\nlog_destination='stderr,csvlog,jsonlog'\nlog_directory='{folder}/logs'\n"
                f"log_filename='x.log'\nlisten_addresses=''\nunix_socket_directories='{folder}'\nfsync=off\n"
                f"log_timezone='Europe/Berlin'\nshared_buffers=16MB\nlog_line_prefix='{prefix}'\n{settings}"
            )
        control = program("pg_ctl")
        subprocess.run([control, "-D", data, "-w", "-l", f"{folder}/start", "start"], user=user, cwd=folder,
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        try:
            run(program("psql"), "-h", folder, "-d", "postgres", "-qAtX", text=SCRIPT)
            for text in (PREPARED, FAILING):
                Path(folder, "s.sql").write_text(text)
                os.chmod(f"{folder}/s.sql", 0o644)
                run(program("pgbench"), "-n", "-h", folder, "-t", "2", "-M", "prepared", "-f",
                    f"{folder}/s.sql",
                    "postgres", check=False)  # fmt: skip
        finally:
            run(control, "-D", data, "-m", "fast", "stop", check=False)
        yield {format: Path(folder, "logs", f"x.{format}") for format in ("log", "csv", "json")}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
@pytest.mark.skipif(
    not (program("initdb") and program("pgbench")), reason="no PostgreSQL server is installed"
)
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_real_servers_log_is_read_as_it_was_asked(setting: str) -> None:
    found: dict[str, list[Logged]] = {}
    with logs(*SETTINGS[setting]) as paths:
        version = program("postgres")
        if "/1" not in version or int(version.split("/")[4]) < 15:
            pytest.skip("the server writes no jsonlog")
        for format, path in paths.items():
            reading = Reading()
            # %i in a prefix is none of the common ones
            named = {"prefix": SETTINGS[setting][1]} if (format, setting) == ("log", "both") else None
            found[format] = list(read([path], columns=named, reading=reading))
            assert not reading.broken, reading.examples
            assert not reading.odd
    for format, statements in found.items():
        told = [(each.sql, each.parameters, each.answered) for each in statements]
        assert told[: len(ASKED)] == ASKED
        first, failed = told[len(ASKED) :]
        assert first == ("SELECT sum(v) FROM p WHERE id >= $1;", ("5",), True)
        assert failed[0] == "SELECT sum(v) / ($1 - 5) FROM p;"
        # stderr says what a session was doing only with %i in its prefix
        assert failed[2] is (None if (format, setting) == ("log", "statements") else False)
        assert len({each.user for each in statements}) == 1
        assert all(each.user and each.database == "postgres" for each in statements)
        assert all(each.time is not None and each.time.utcoffset() for each in statements)
    plain = [
        [dataclasses.replace(each, source="", application="", answered=None) for each in statements]
        for statements in found.values()
    ]
    assert plain[0] == plain[1] == plain[2]
