"""What does each constant of the engine do? Every one halved and doubled in turn.

Run as `python -m benchmarks.constants`. Lines of `benchmarks.usefulness` are asked of a gate with an empty
ledger, first with the constants as they are (the rival), then with one of `cae_sql.inference` changed, each
in a process of its own. Groups told exactly, all groups told, surprises and CPU seconds are counted.

Constants of intervals and of the audit's look back are no part of decisions. For them two logs are audited,
of Adult and of sixty persons, and a system of 400 records is asked for intervals and proofs: counted are
records located, intervals narrower than the domain with the answers that prove them, and records left open.

Where nothing changes a constant bounds work, memory or rounding; of another one the table says what was tried
beside it. Some cannot be changed so: kernels have theirs compiled in, and what is no number (a tuple, a code)
has no half. `--file posterior` asks for some files, `--write` puts what was measured into
`benchmarks/constants.csv`, in the place of what stood there of the same constants.
"""

from __future__ import annotations

import ast
import csv
import importlib
import multiprocessing
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path

import duckdb
import numpy as np
from rich.console import Console
from rich.progress import track

from auditor import Policy, audit
from auditor.history.findings import PartyFindings
from auditor.history.statement import Logged
from benchmarks import _results
from benchmarks.audit import POLICY, Figures, repeats
from benchmarks.usefulness.asking import asked
from benchmarks.usefulness.counting import counts
from benchmarks.usefulness.lines import FULL, QUICK
from cae_sql import AnsweredSystem
from cae_sql.errors import CaeSqlError

ENGINE = Path(__file__).resolve().parents[1] / "cae_sql" / "inference"
TABLE = Path(__file__).with_name("constants.csv")
FACTORS = (0.5, 2.0)
LINES = (
    "quick crossing: 25 values, 150",
    "quick crossing: 0/1, 300",
    "quick sums: 8 of 25 values, 300",
    "quick attack: first 4, insiders = 1",
    "crossing: 25 values, 2,000",
)
"""Small systems and large ones, exact sets, insiders: some seconds."""
AUDITED = ("intervals/", "lookback/")
"""Files of constants that are looked at in an audit."""
STATEMENTS, PERSONS, RECORDS, SUMS, EXPLAINED = 100, 60, 400, 80, 10
"""Of the logs, and of the system whose intervals are asked for."""
SECONDS = 60.0
"""CPU seconds for one line; what takes longer is cut."""
HEAD = ("file", "constant", "value", "changed to", "exact", "told", "surprises", "CPU seconds")


@dataclass(frozen=True)
class Constant:
    """A number with a name, at the top of a file."""

    file: str
    name: str
    value: float
    compiled: bool
    """Whether a kernel of its file uses it."""

    def times(self, factor: float) -> float:
        """Another value of the same kind."""
        return max(1, round(self.value * factor)) if isinstance(self.value, int) else self.value * factor


@dataclass(frozen=True)
class Outcome:
    """What was told of all lines together."""

    exact: int
    told: int
    surprises: int
    cpu: float


def constants(only: Sequence[str]) -> Iterator[Constant]:
    """All of the engine, or of the files whose names begin with one of some."""
    for path in sorted(ENGINE.rglob("*.py")):
        file = path.relative_to(ENGINE).with_suffix("").as_posix()
        if only and not file.startswith(tuple(only)):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        module = importlib.import_module("cae_sql.inference." + file.replace("/", "."))
        in_kernels = {
            each.id
            for function in tree.body
            if isinstance(function, ast.FunctionDef) and function.decorator_list
            for each in ast.walk(function)
            if isinstance(each, ast.Name)
        }
        for name in _assigned(tree):
            value = getattr(module, name)
            if isinstance(value, int | float) and not isinstance(value, bool):
                yield Constant(file, name, value, name in in_kernels)


def _assigned(tree: ast.Module) -> Iterator[str]:
    for line in tree.body:
        if isinstance(line, ast.Assign):
            for each in (name for target in line.targets for name in ast.walk(target)):
                if isinstance(each, ast.Name) and each.id.isupper():
                    yield each.id


@cache
def _users() -> dict[tuple[str, str], list[str]]:
    """Which modules, of those that are loaded, take a name from a module of the engine, by both."""
    found = defaultdict[tuple[str, str], list[str]](list)
    for name, module in list(sys.modules.items()):
        if not name.startswith(("cae_sql", "auditor")) or not (module.__file__ or "").endswith(".py"):
            continue
        for line in ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")).body:
            if isinstance(line, ast.ImportFrom):
                for each in line.names:
                    found[str(line.module), each.name].append(name)
    return found


def _change(constant: Constant, value: float) -> None:
    """In its own module and in every one that takes it from there by its name."""
    home = "cae_sql.inference." + constant.file.replace("/", ".")
    for name in (home, *_users()[home, constant.name]):
        setattr(sys.modules[name], constant.name, value)


def _outcome(task: tuple[Constant, float]) -> tuple[object, ...]:
    """What comes of it with one constant changed."""
    constant, value = task
    _change(constant, value)
    try:
        return astuple(_audit() if constant.file.startswith(AUDITED) else _days())
    except (
        CaeSqlError,
        ValueError,
        LookupError,
        ArithmeticError,
    ) as error:  # a code has no half: that is what the table says then
        return f"fails: {type(error).__name__}", "", "", ""


def _days() -> Outcome:
    known, total, cpu = {line.name: line for line in (*FULL, *QUICK)}, Counter[str](), 0.0
    for line in (known[name] for name in LINES):
        with tempfile.TemporaryDirectory() as place:
            found = asked(line.day(0, Path(place)), Path(place) / "day.ledger", SECONDS)
        cpu += found.cpu
        total.update(counts(found))
    return Outcome(total["exact"], total["told"], total["surprises"], round(cpu, 1))


def _audit() -> Outcome:
    began, figures = time.process_time(), Figures()
    with tempfile.TemporaryDirectory() as place:
        repeats(Path(place), STATEMENTS, figures)
        few = _audit_of_few(Path(place) / "few.duckdb")
    (_, _, _, located, left), *_ = figures.found["repeats"]["parties"]  # type: ignore[index]
    chance = np.random.default_rng(0)
    values = np.minimum(chance.lognormal(2.5, 1.0, RECORDS).astype(np.int64), 100)
    system = AnsweredSystem(RECORDS, 0, 100, 1)
    for number in range(SUMS):
        first, size = int(chance.integers(0, RECORDS - 40)), int(chance.integers(2, 40))
        some = np.arange(first, first + size)
        if number % 8:
            system.add_sum(some, int(values[some].sum()))
        else:
            system.add_max(some, int(values[some].max()))
    bounds = system.bounds()
    narrower = np.flatnonzero((bounds.lower > 0) | (bounds.upper < 100))
    proofs = [system.explain(each, "upper") for each in narrower[:EXPLAINED].tolist()]
    told = len(narrower) + sum(len(each.terms) + len(each.boxes) for each in proofs)
    seconds = round(time.process_time() - began, 1)
    return Outcome(located + few.located, told, left + few.open, seconds)


def _audit_of_few(database: Path) -> PartyFindings:
    """Sums over windows of sixty persons, so that each is looked at closely after each statement."""
    with duckdb.connect(str(database)) as connection:
        connection.execute(
            f"CREATE TABLE t AS SELECT i AS id, hash(i) % 21 AS v FROM range({PERSONS}) each(i)"
        )
    chance, log = np.random.default_rng(1), []
    for number in range(PERSONS // 2):
        first, size = int(chance.integers(0, PERSONS - 12)), int(chance.integers(3, 13))
        log.append(Logged(number + 1, f"SELECT sum(v) FROM t WHERE id >= {first} AND id < {first + size}"))
    rules = POLICY.format(table="t", column="v", low=0, high=20, key="id", knows='["id"]')
    return audit(database, Policy.parse(rules), log, gate_seconds=0).parties[0]


def rows(only: Sequence[str], processes: int) -> Iterator[tuple[object, ...]]:
    """Of the table, as they come."""
    varied = [each for each in constants(only) if not each.compiled]
    tasks = [(each, each.times(factor)) for each in varied for factor in FACTORS]
    tasks = [(each, value) for each, value in tasks if value != each.value]
    _users()  # before there are children
    # a child for each task: it finds nothing that was worked out with another value
    with multiprocessing.get_context("fork").Pool(processes, maxtasksperchild=1) as pool:
        for name, whole in (("days", pool.apply_async(_days)), ("an audit", pool.apply_async(_audit))):
            yield ("", f"{name}, all as they are", "", "", *astuple(whole.get()))
        found = pool.imap(_outcome, tasks)
        console = Console(stderr=True)
        for (each, value), one in zip(track(tasks, "constants", console=console), found, strict=True):
            yield (each.file, each.name, each.value, value, *one)


def write(table: Path, measured: Sequence[tuple[object, ...]]) -> None:
    """Rows, in the place of those of the same constants with the same changes; others stay as they are.

    Rows of a constant whose value was another one go.
    """
    known = dict[tuple[str, ...], tuple[object, ...]]()
    values = {(str(row[0]), str(row[1])): str(row[2]) for row in measured}
    if table.exists():
        with table.open(encoding="utf-8", newline="") as stream:
            for row in list(csv.reader(stream))[1:]:
                if values.get((row[0], row[1]), row[2]) == row[2]:
                    known[row[0], row[1], row[3]] = tuple(row)
    known |= {(str(row[0]), str(row[1]), str(row[3])): row for row in measured}
    with table.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([HEAD, *(known[key] for key in sorted(known))])


def main(arguments: list[str] | None = None) -> None:
    parser = _results.options("constants", __doc__)
    parser.add_argument("--file", nargs="+", default=[], metavar="FILE", help="beginnings of names")
    parser.add_argument(
        "--processes", type=int, default=1, help="at once; seconds are then of a busy machine"
    )
    parser.add_argument("--write", action="store_true", help=f"keep what was measured in {TABLE.name}")
    given = parser.parse_args(arguments)
    if given.quick:
        given.file = ["tables/start"]
    kept = list[tuple[object, ...]]()
    for row in rows(given.file, given.processes):
        kept.append(row)
        print("  ".join(str(cell) for cell in row if cell != ""), flush=True)
        if given.write:
            write(TABLE, kept)
    counted = [row for row in kept if isinstance(row[4], int)]
    lines = [_results.Line(f"{row[0]}: {row[1]} {row[3]}", "all lines", "", row[4]) for row in counted]
    _results.write(given.json, lines, [dict(zip(HEAD, row, strict=True)) for row in kept])


if __name__ == "__main__":
    main()
