"""What the tests of whole tools share: a database with tables beside the protected one, and their Pythons.

Not a test. A tool that has a Python of its own is found by an environment variable, which `.ci/run` sets, or
in the Python that runs the tests; where it is not there, its tests are skipped.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from tests.auditor.proxy.serving import PASSWORD, Running, running
from tests.auditor.staff import build, people

CLIENTS = Path(__file__).parent / "clients"
TABLES = """
CREATE TABLE department (dept VARCHAR, title VARCHAR, budget DECIMAL(12, 2), founded DATE, opened TIMESTAMP);
INSERT INTO department VALUES
    ('a', 'Sales', 1000.5, '1999-01-01', '1999-01-01 10:00'),
    ('b', 'Law', 2000, '2001-02-03', '2001-02-03 11:30'),
    ('c', 'Finance', NULL, NULL, NULL), ('d', 'Research', 1, '2020-02-29', '2020-02-29 00:00');
ALTER TABLE staff ADD COLUMN hired DATE;
ALTER TABLE staff ADD COLUMN seen TIMESTAMP;
UPDATE staff SET hired = DATE '2020-01-01' + id * 11 % 731;
UPDATE staff SET seen = TIMESTAMP '2024-05-01' + INTERVAL 7 MINUTE * id;
CREATE SCHEMA hr;
CREATE TABLE hr.grade (dept VARCHAR, pay BIGINT);
INSERT INTO hr.grade VALUES ('a', 3), ('b', 4);
"""


def filled(folder: Path) -> Path:
    """The database that `served` serves."""
    path = build(folder / "staff.duckdb", people(200))
    with duckdb.connect(str(path)) as connection:
        connection.execute(TABLES)
    return path


@contextmanager
def served(folder: Path) -> Iterator[Running]:
    """A server over 200 people with dates, their departments and a table of another schema, without TLS."""
    filled(folder)
    more = '[tables]\npublic = ["department", "hr.grade"]\n'
    with running(folder, tls=False, more=more, before='dialect = "postgres"\n') as server:
        yield server


def python_with(variable: str, *modules: str) -> str:
    """The Python that has some modules, or a skip."""
    python = os.environ.get(variable) or sys.executable
    wanted = "; ".join(f"import {module}" for module in modules)
    if subprocess.run([python, "-c", wanted], capture_output=True, check=False).returncode:
        pytest.skip(f"{', '.join(modules)}: not installed where {variable} says, nor here")
    return python


def said(*command: str, seconds: float = 120, **more: str) -> list[str]:
    """The lines that a program prints."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=seconds, check=False, encoding="utf-8",
        env={**os.environ, "CAE_PASSWORD": PASSWORD, **more},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return [line.rstrip() for line in done.stdout.splitlines()]
