"""pgbench with a script of one's own, and what it says: transactions a second, latencies."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Measured:
    """What one run gave."""

    per_second: float
    """Transactions, without the time to connect."""
    median: float
    """Seconds."""
    late: float
    """Seconds that 95 of 100 transactions stayed below."""
    count: int


def program(name: str) -> str | None:
    """A program of PostgreSQL's, where it is installed."""
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))
    return found[-1] if found else shutil.which(name)


def pgbench(
    script: str, mode: str, clients: int, seconds: float, place: Sequence[str], environment: Mapping[str, str]
) -> Measured:
    """Run a script.

    Args:
        script: As pgbench reads it; one statement.
        mode: "simple" or "prepared".
        clients: Connections at once, one thread for four of them.
        seconds: How long; of less than half a second so many transactions of each connection as it would
            have time for at 100 a second.
        place: Options that say where: -h, -p, -U and the database.
        environment: PGPASSWORD and the like.

    Raises:
        RuntimeError: it failed, or a statement of it did.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "script.sql"
        file.write_text(script)
        lasting = (
            ("-t", str(max(1, round(100 * seconds))))
            if seconds < 0.5
            else ("-T", str(max(1, round(seconds))))
        )
        command = [program("pgbench") or "pgbench", "-n", "-f", str(file), "-M", mode, "-c", str(clients),
                   "-j", str(max(1, min(4, clients // 4))), *lasting,
                   "-l", "--log-prefix", f"{folder}/log", "--random-seed", "7", *place]  # fmt: skip
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
        )
        said = re.search(r"tps = ([\d.]+)", done.stdout)
        if done.returncode or said is None:
            raise RuntimeError(f"pgbench: {done.stderr.strip()[-500:] or done.stdout}")
        lines = [line for log in Path(folder).glob("log*") for line in log.read_text().splitlines()]
    took = np.array([int(line.split()[2]) for line in lines]) / 1e6
    return Measured(float(said[1]), float(np.median(took)), float(np.quantile(took, 0.95)), len(took))
