"""A PostgreSQL 15 of the tests' own, on a Unix socket, as the oracle of what PostgreSQL does."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

BIN = Path(os.environ.get("POSTGRES_BIN", "/usr/lib/postgresql/15/bin"))


@contextmanager
def running() -> Iterator[dict[str, Any]]:
    """Start one, give what `psycopg.connect` needs, stop it and leave nothing behind."""
    if not (BIN / "initdb").exists():
        pytest.skip(f"PostgreSQL 15 is not installed in {BIN}")
    # A socket's path must be short.
    home = Path(tempfile.mkdtemp(prefix="cae-pg-"))
    as_owner: list[str] = []
    if os.geteuid() == 0:
        if shutil.which("runuser") is None:
            pytest.skip("PostgreSQL does not run as root, and there is no runuser")
        shutil.chown(home, "postgres", "postgres")
        as_owner = ["runuser", "-u", "postgres", "--"]
    run = [*as_owner, str(BIN / "pg_ctl"), "-D", str(home / "data"), "-w", "-s"]
    options = f"-c listen_addresses='' -c unix_socket_directories={home} -c fsync=off"
    try:
        subprocess.run(
            [*as_owner, str(BIN / "initdb"), "-D", str(home / "data"), "-U", "postgres", "-A", "trust",
             "-E", "UTF8", "--no-locale", "--no-sync"],
            check=True, capture_output=True, cwd=home,
        )  # fmt: skip
        subprocess.run([*run, "-l", str(home / "log"), "-o", options, "start"], check=True, cwd=home,
                       capture_output=True)  # fmt: skip
        try:
            yield {"host": str(home), "user": "postgres", "dbname": "postgres"}
        finally:
            subprocess.run([*run, "-m", "immediate", "stop"], check=False, cwd=home, capture_output=True)
    finally:
        shutil.rmtree(home, ignore_errors=True)
