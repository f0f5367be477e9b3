"""How long a command takes to start, and what a fresh machine waits for: each figure a process of its own.

    python -m benchmarks.start [--turns 5]

Five figures: `--help`; a question that was answered before, by `cae-sql query`, over 150 rows; importing
`auditor` and opening the gate; the demonstration with all kernels in the cache; and the demonstration with a
cache that is empty, as on a machine on which the package has only just been installed. Wall-clock seconds,
medians (the last one is run once), and the processor's seconds beside them: a busy machine changes them less.

The rival of the first three is what cannot be done without: an interpreter that does nothing, and one that
imports DuckDB, sqlglot, pydantic and SQLAlchemy, turn by turn with them. For the two others it is the former
build, as it was measured on two idle cores. Bytecode is written in a folder of its own, as an installation
has it.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb
from rich.console import Console
from rich.table import Table

from benchmarks._data import shown
from benchmarks._results import Line, options, write

TURNS = 5
COMMAND = (sys.executable, "-c", "from auditor.cli import main; main()")
QUESTION = "SELECT dept, avg(salary) AS average FROM staff GROUP BY dept ORDER BY dept"
OPENING = "from auditor import Gate, Policy\nwith Gate.open('staff.duckdb', Policy.load('policy.toml')): pass"
NOTHING, IMPORTS = "python -c pass", "import duckdb, sqlglot, pydantic, numpy"
FORMER = {"help": 0.37, "known": 3.0, "open": 2.75, "warm demo": 11.5, "first demo": 38.8}
"""Seconds of the build before this benchmark was written, on two idle cores."""
AIMS = {"help": 0.3, "known": 1.0, "open": 1.0, "warm demo": 3.0, "first demo": 15.0}
WORDS = {
    "help": "--help",
    "known": "a known question",
    "open": "import and open",
    "warm demo": "demo, compiled before",
    "first demo": "demo on a fresh machine",
}
POLICY = """
[protect]
table = "staff"
column = "salary"
minimum = 0
maximum = 250
step = 10
public = ["age", "sex", "dept"]
[limit]
risk = 0.5
"""


@dataclass(frozen=True)
class Taken:
    """What a process took."""

    seconds: float
    processor: float
    """User and system, its children's among them."""


def taken(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Taken:
    """Run a command to its end.

    Raises:
        CalledProcessError: it failed.
    """
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
    seconds, after = time.perf_counter() - start, os.times()
    return Taken(
        seconds,
        after.children_user - before.children_user + after.children_system - before.children_system,
    )


def measure(folder: Path, turns: int, demos: bool, apart: bool = True) -> dict[str, list[Taken]]:
    """Every figure, turn by turn.

    Args:
        folder: An empty one.
        turns: How often each but the first demonstration.
        demos: Whether demonstrations are run too.
        apart: Whether bytecode is written in a folder of its own, and not beside the modules.
    """
    with duckdb.connect(str(folder / "staff.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE staff AS SELECT i AS id, 20 + (i * 7) % 45 AS age, ['F', 'M'][1 + i % 2] AS sex, "
            "['Sales', 'Research', 'Finance'][1 + (i * 5) % 3] AS dept, 20 + (i * 37) % 23 * 10 AS salary "
            "FROM range(150) t(i)"
        )
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if apart:
        plain["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    fresh = {**plain, "NUMBA_CACHE_DIR": str(folder / "kernels")}
    known = (*COMMAND, "query", "staff.duckdb", QUESTION, "-p", "policy.toml")
    commands = {
        NOTHING: (sys.executable, "-c", "pass"),
        IMPORTS: (sys.executable, "-c", IMPORTS),
        "help": (*COMMAND, "--help"),
        "open": (sys.executable, "-c", OPENING),
        "known": known,
        **({"warm demo": (*COMMAND, "demo")} if demos else {}),
    }
    found: dict[str, list[Taken]] = {}
    taken(
        (sys.executable, "-c", "import auditor.cli.app, auditor.gate.gate, auditor.cli.demo"), folder, plain
    )
    taken(known, folder, plain)  # asked, and answered
    if demos:
        found["first demo"] = [taken(commands["warm demo"], folder, fresh)]
    for command in (commands["help"], commands["open"], known):
        taken(command, folder, plain)
    for _ in range(turns):
        for name, command in commands.items():
            found.setdefault(name, []).append(taken(command, folder, fresh if "demo" in name else plain))
    return found


def lines(found: Mapping[str, Sequence[Taken]]) -> list[Line]:
    """Of the table of all benchmarks."""
    seconds = {name: statistics.median(each.seconds for each in all_) for name, all_ in found.items()}
    told = []
    for name, words in WORDS.items():
        if name not in seconds:
            continue
        processor = statistics.median(each.processor for each in found[name])
        note = f"processor {processor:.2f} s; aim {AIMS[name]:g} s"
        rivals = {"the former build, two idle cores": FORMER[name]}
        if "demo" not in name:
            rivals |= {each: seconds[each] for each in (NOTHING, IMPORTS)}
        for rival, theirs in rivals.items():
            told.append(Line(f"start: {words}", "–", "150 rows", seconds[name], rival, theirs, note=note))
    return told


def main(arguments: list[str] | None = None) -> None:
    """Measure, and show."""
    parser = options("start", __doc__)
    parser.add_argument("--turns", type=int, default=TURNS, help="of everything but the first demonstration")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), 1 if given.quick else given.turns, not given.quick, not given.quick)
    told = lines(found)
    table = Table("what", "seconds", "processor and aim", "rival", "the rival's", "rival / this")
    for each in told:
        assert each.ours is not None
        assert each.theirs is not None
        ratio = f"{each.ratio:.2f}" if each.ratio else "–"
        table.add_row(each.what, shown(each.ours), each.note, each.rival, shown(each.theirs), ratio)
    Console(width=150).print(table)
    write(given.json, told, {name: [asdict(each) for each in all_] for name, all_ in found.items()})


if __name__ == "__main__":
    main()
