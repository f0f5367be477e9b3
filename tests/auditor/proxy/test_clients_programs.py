"""node's `pg`, pgjdbc and R's RPostgreSQL, over TLS; skipped where they are not installed.

`pg` is found by node itself (NODE_PATH), pgjdbc by PGJDBC_JAR or in Maven's folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.auditor.proxy.serving import PASSWORD, Running, running

CLIENTS = Path(__file__).parent / "clients"
REFUSED = "42501 Verdict: refused, code: risk. hint"
UNSUPPORTED = "0A000 Verdict: unsupported, code: row-level. hint"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("programs")) as made:
        yield made


def lines(command: list[str], server: Running) -> list[str]:
    return said_by(command, server)[0]


def said_by(command: list[str], server: Running) -> tuple[list[str], str]:
    """The lines of a client's output, and what it wrote on stderr."""
    assert server.certificate is not None
    done = subprocess.run(
        [*command, str(server.port), PASSWORD, str(server.certificate)],
        capture_output=True, text=True, timeout=60, check=False, encoding="utf-8",
        env={**os.environ, "JAVA_TOOL_OPTIONS": "-Dstdout.encoding=UTF-8 -Dfile.encoding=UTF-8"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


def test_node(server: Running) -> None:
    node = shutil.which("node")
    if (
        node is None
        or subprocess.run([node, "-e", "require('pg')"], capture_output=True, check=False).returncode
    ):
        pytest.skip("node or its package pg is not installed")
    assert lines([node, str(CLIENTS / "client.js")], server) == [
        "count 5 0",
        'kept {"a":7,"b":"é"}',
        'kept {"a":null,"b":"é"}',
        REFUSED,
        UNSUPPORTED,
        "pool 0,1,2,3,4,5,6,7,8,9",
    ]


@pytest.mark.slow
def test_pgjdbc(server: Running) -> None:
    java = shutil.which("java")
    there = sorted((Path.home() / ".m2/repository/org/postgresql/postgresql").glob("*/postgresql-*.jar"))
    jar = os.environ.get("PGJDBC_JAR") or (str(there[-1]) if there else "")
    if java is None or not jar:
        pytest.skip("java or pgjdbc is not installed")
    said = lines([java, "-XX:TieredStopAtLevel=1", "-cp", jar, str(CLIENTS / "Client.java")], server)
    assert said == [
        "table public.staff",
        "column id int4", "column age int4", "column sex text", "column dept text", "column salary int4",
        "count 5 é null",
        "count 0 é null",
        REFUSED,
        UNSUPPORTED,
        "fetched 60",
        "57014",
        "valid true",
    ]  # fmt: skip
    assert server.events("internal error") == []


@pytest.mark.slow
def test_r(server: Running) -> None:
    r = shutil.which("Rscript")
    wanted = "requireNamespace('RPostgreSQL', quietly = TRUE) || quit(status = 1)"
    if (
        r is None
        or subprocess.run([r, "--vanilla", "-e", wanted], capture_output=True, check=False).returncode
    ):
        pytest.skip("R or its package RPostgreSQL is not installed")
    said, wrong = said_by([r, "--vanilla", str(CLIENTS / "client.R")], server)
    assert [line.rstrip() for line in said] == [
        "rows a b c d 60 TRUE é 1.5 2020-02-29",
        "tables staff",
        "fields id age sex dept salary",
        "nothing TRUE",
        "nothing TRUE",
        "again 60",
    ]
    assert "somebody's salary. Hint: Drop the condition id = 1." in wrong
    assert "DETAIL:  Verdict: refused, code: risk." in wrong
    assert "HINT:" not in wrong
    assert "DETAIL:  Verdict: unsupported, code: row-level." in wrong
    assert server.events("internal error") == []
