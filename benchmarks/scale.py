"""What a new decision costs at scale: many records, many answers, through the real gate.

Run as `python -m benchmarks.scale --records 100000 --answers 100 --values lognormal`. Random range queries
(SUM over conjunctions of one to three ranges over six public columns, `benchmarks/_people.py`) are asked
until so many were answered; then the next `--measured` are timed, from SQL text to verdict, the ledger's
commit included. Every released sum is compared with NumPy's over the same records, and at the end every
world that the gate keeps with every answer. `--answers 10 100 300` measures after each of these in turn.

The rival is the exact method without worlds: linear programs for the interval of each record (`_exact.py`).
The first is timed in the same process over the same answers, then some more that start where the one before
ended, and the time for all atoms is extrapolated: that is what *one* hypothetical answer costs to judge, and
in the real numbers only. Memory is the process's peak before the rival begins, the data and DuckDB included.

Surprises are counted: values that were not shown to be safe once the true answer was looked at.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from auditor import Gate, Policy, QueryRefused
from benchmarks._data import peak_megabytes, shown, timed
from benchmarks._exact import Exact, exact_intervals
from benchmarks._inside import Phases, worlds
from benchmarks._people import People, RangeQueries, RangeQuery
from benchmarks._results import Line, options, write

LOW, STEP, TOP = 10, 10, 24
MOST_TRIES = 20
"""Queries asked for each answer that is wanted, before the measurement begins with fewer."""
POLICY = """
[protect]
table = "people"
column = "income"
minimum = 10
maximum = 250
step = 10
public = "all"
[intruder]
insiders = {insiders}
candidates = "{candidates}"
[limit]
risk = {risk}
[decision]
mode = "{mode}"
worlds = 20
timeout = {timeout}
"""
COLUMNS = (
    *("answers", "asked", "measured", "answered", "risk", "time", "median", "worst", "SQL", "inference"),
    *("known", "decide", "accept", "figures", "ledger", "surprises", "peak MB"),
)


@dataclass(frozen=True)
class Setting:
    """What is measured."""

    records: int
    public: str
    values: str
    risk: float
    insiders: int
    mode: str
    timeout: float
    measured: int
    candidates: str

    @property
    def policy(self) -> Policy:
        """The policy of the gate."""
        return Policy.parse(
            POLICY.format(
                risk=self.risk,
                insiders=self.insiders,
                mode=self.mode,
                timeout=self.timeout,
                candidates=self.candidates,
            )
        )


@dataclass(frozen=True)
class Asked:
    """A statement and what became of it."""

    code: str
    seconds: float
    covered: int
    """Records."""
    phases: dict[str, float]

    @property
    def inference(self) -> float:
        """All that is neither SQL nor ledger."""
        return self.seconds - self.phases["sql"] - self.phases["ledger"]


@dataclass
class Stage:
    """What was measured with so many answers known."""

    answers: int
    asked: int
    """Until then."""
    answered: int
    """Of those, newly; what past answers settle is not among them."""
    seconds: float
    """Until then, all asking."""
    measured: list[Asked] = field(default_factory=list)
    surprises: int = 0
    peak_megabytes: float = 0.0

    @property
    def decided(self) -> list[Asked]:
        """Measured statements that were new."""
        return [each for each in self.measured if each.code != "known"]

    def share(self, *codes: str) -> float:
        """Of the measured new statements."""
        found = self.decided
        return sum(each.code in codes for each in found) / len(found) if found else float("nan")

    def of(self, phase: str) -> float:
        """Median seconds of a measured new statement in a phase."""
        found = [each.phases[phase] for each in self.decided]
        return float(np.median(found)) if found else float("nan")

    @property
    def inference(self) -> float:
        """Median of what is neither SQL nor ledger."""
        return float(np.median([each.inference for each in self.decided])) if self.decided else float("nan")

    @property
    def median(self) -> float:
        """Seconds of a measured new statement."""
        return float(np.median([each.seconds for each in self.decided])) if self.decided else float("nan")

    @property
    def worst(self) -> float:
        """Seconds."""
        return max((each.seconds for each in self.decided), default=float("nan"))


class Asking:
    """A gate that is asked random range queries."""

    def __init__(self, setting: Setting, people: People, gate: Gate) -> None:
        self.setting, self.people, self.gate = setting, people, gate
        self.queries = RangeQueries(people.columns)
        self.phases = Phases()
        self.all: list[Asked] = []
        self.given: list[tuple[RangeQuery, int]] = []
        """Newly answered, with the answers."""
        self.seconds = 0.0
        self.surprises = 0

    def ask(self) -> Asked:
        """Ask the next query, and check what is released."""
        query = self.queries.draw()
        self.phases.begin()
        released = None
        with timed() as watch, self.phases.of(self.gate):
            try:
                answer = self.gate.execute(query.sql("SUM(income)", "people"))
                code, value = answer.decision.code, answer.fetchall()[0][0]
                released = None if value is None else int(value)  # NULL: told as an end
            except QueryRefused as error:
                code = error.decision.code
        members = query.members
        if released is not None and released != self.people.income[members].sum():
            raise AssertionError(f"released {released} for {query.sql('SUM(income)', 'people')}")
        if code == "answered":
            assert released is not None
            self.given.append((query, released))
        self.seconds += watch.seconds
        found = Asked(code, watch.seconds, int(np.count_nonzero(members)), dict(self.phases.seconds))
        self.all.append(found)
        return found

    def until(self, answers: int, most_seconds: float) -> None:
        """Ask until so many are answered, or it takes too long."""
        end = time.monotonic() + most_seconds
        for number in range(MOST_TRIES * answers):
            if len(self.given) >= answers or time.monotonic() > end:
                return
            self.ask()
            if (number + 1) % 10 == 0:
                said = f"{len(self.given)} of {len(self.all)} answered, {self.seconds:.0f} s"
                print(f"  {said}, {peak_megabytes():.0f} MB", file=sys.stderr, flush=True)

    def stage(self, answers: int, most_seconds: float) -> Stage:
        """Measure with so many answers known."""
        self.until(answers, most_seconds)
        codes = Counter(each.code for each in self.all)
        stage = Stage(len(self.given), len(self.all), codes["answered"], self.seconds)
        end = time.monotonic() + most_seconds
        while len(stage.decided) < self.setting.measured and time.monotonic() < end:
            stage.measured.append(self.ask())
        stage.surprises = int(self.gate.history()["surprise"].sum())
        stage.peak_megabytes = peak_megabytes()
        return stage

    def atoms(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Each record's atom, and the sizes of the atoms: worked out from the queries alone."""
        rng, names = np.random.default_rng(1), np.zeros(len(self.people.income), dtype=np.uint64)
        for query, _ in self.given:
            names[query.members] += rng.integers(0, 2**64, dtype=np.uint64)
        _, labels, sizes = np.unique(names, return_inverse=True, return_counts=True)
        return labels.ravel(), sizes

    def wrong_worlds(self) -> tuple[int, int]:
        """How many worlds the gate keeps, and how many of them break an answer or the domain."""
        kept = worlds(self.gate)
        broken = ((kept < 0) | (kept > TOP)).any(axis=1)
        for query, value in self.given:
            members = np.flatnonzero(query.members)
            units = (value - LOW * len(members)) // STEP
            broken |= np.array([int(world[members].sum(dtype=np.int64)) != units for world in kept])
        return len(kept), int(broken.sum())


def rival(asking: Asking, seconds: float, labels: NDArray[np.int64], sizes: NDArray[np.int64]) -> Exact:
    """The exact method, under everything that was answered."""
    first = np.zeros(len(sizes), dtype=np.int64)
    first[labels] = np.arange(len(labels))
    rows, sums = list[NDArray[np.int64]](), list[int]()
    for query, value in asking.given:
        members = query.members
        rows.append(np.flatnonzero(members[first]))
        sums.append((value - LOW * int(np.count_nonzero(members))) // STEP)
    return exact_intervals(rows, sums, sizes, TOP, seconds)


def measure(setting: Setting, answers: Sequence[int], given: argparse.Namespace) -> dict[str, object]:
    """Everything about one setting."""
    people = People.draw(setting.records, setting.public, setting.values)
    found: dict[str, object] = {**asdict(setting), "stages": []}
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "people.duckdb"
        people.build(database)
        found["megabytes_before"] = peak_megabytes()
        with timed() as opening:
            gate = Gate.open(database, setting.policy)
        with gate, timed() as whole:
            asking = Asking(setting, people, gate)
            stages = [asking.stage(each, given.most_seconds) for each in answers]
            with timed() as checking:
                kept, wrong = asking.wrong_worlds()
        labels, sizes = asking.atoms()
        found |= {"opening": opening.seconds, "seconds": whole.seconds, "checking": checking.seconds}
        found |= {"atoms": len(sizes), "alone": int((sizes == 1).sum())}
        found |= {"worlds": kept, "wrong_worlds": wrong, "stages": stages}
        timed_rival = asking.given and given.rival_seconds > 0
        found["rival"] = rival(asking, given.rival_seconds, labels, sizes) if timed_rival else None
    return found


def lines(found: dict[str, object]) -> list[Line]:
    """What the table of all benchmarks shows of it."""
    told = []
    program, records, stages = found["rival"], found["records"], found["stages"]
    assert isinstance(records, int)
    assert isinstance(stages, list)
    name = "exact intervals by LPs over atoms (HiGHS), extrapolated"
    for stage in stages:
        size = f"{records:,} records, {stage.answers} answers"
        data = f"{found['values']}, {found['public']} columns"
        naive = program.everybody if isinstance(program, Exact) else None
        stopped = isinstance(program, Exact) and not program.solved
        memory, note = stage.peak_megabytes, f"insiders {found['insiders']}, {found['mode']}"
        rest = {"at_least": stopped, "peak_megabytes": memory, "note": note}
        told += [
            Line("a new decision, median", data, size, stage.median, name, naive, **rest),
            Line("a new decision, worst", data, size, stage.worst, name, naive, **rest),
            Line("share answered", data, size, stage.share("answered"), "no gate", 1.0, "share", **rest),
        ]
    return told


def tell(console: Console, found: dict[str, object]) -> None:
    """For people."""
    stages, program, records = found["stages"], found["rival"], found["records"]
    assert isinstance(stages, list)
    assert isinstance(records, int)
    title = f"{records:,} records, {found['values']} values, {found['public']} columns, "
    title += f"{found['candidates']}, insiders "
    table = Table(title=f"{title}{found['insiders']}, {found['mode']}, risk {found['risk']}")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    for stage in stages:
        shares = (f"{stage.share(*codes):.0%}" for codes in (("answered",), ("risk",), ("time",)))
        seconds = stage.median, stage.worst, stage.of("sql"), stage.inference
        counts = str(stage.answers), str(stage.asked), str(len(stage.decided))
        parts = (stage.of(phase) for phase in ("known", "decide", "accept", "figures", "ledger"))
        times = [shown(each) for each in (*seconds, *parts)]
        table.add_row(*counts, *shares, *times, str(stage.surprises), f"{stage.peak_megabytes:,.0f}")
    console.print(table)
    console.print(
        f"{found['atoms']:,} atoms, {found['alone']:,} of one record. Opening {shown(found['opening'])}, "  # type: ignore[arg-type]
        f"all {shown(found['seconds'])}; {found['megabytes_before']:,.0f} MB before opening. "  # type: ignore[arg-type]
        f"{found['worlds']} worlds checked against every answer, {found['wrong_worlds']} wrong."
    )
    if isinstance(program, Exact) and stages:
        mark, median = "" if program.solved else "at least ", stages[-1].median
        more = "none" if program.warm is None else f"{program.warmed}, {shown(program.warm)} each,"
        first, every = program.first / median, program.everybody / median
        console.print(
            f"Rival: an exact LP of {program.variables:,} variables and {program.rows} rows took {mark}"
            f"{shown(program.first)}, {mark}{first:.3g} times a decision here; {more} more in time; all "
            f"intervals {mark}{shown(program.everybody)}, {every:,.0f} times."
        )


def main(arguments: list[str] | None = None) -> None:
    parser = options("scale", __doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--answers", type=int, nargs="+", default=[100], help="known when it is measured")
    parser.add_argument("--measured", type=int, default=50)
    parser.add_argument("--public", choices=("census", "uniform"), default="census")
    parser.add_argument("--values", choices=("uniform", "lognormal"), default="lognormal")
    parser.add_argument("--risk", type=float, default=0.5)
    parser.add_argument("--insiders", type=int, default=1)
    parser.add_argument("--mode", choices=("simulatable", "answer-dependent"), default="simulatable")
    parser.add_argument("--timeout", type=float, default=30.0, help="of a decision")
    parser.add_argument("--candidates", choices=("posterior", "interval"), default="posterior")
    parser.add_argument(
        "--most-seconds", type=float, default=3_600.0, help="asking, then measuring, each stage"
    )
    parser.add_argument("--rival-seconds", type=float, default=60.0, help="limit of the rival's program")
    given = parser.parse_args(arguments)
    if given.quick:
        given.records, given.answers, given.measured = 1_000, [3], 3
        given.most_seconds, given.rival_seconds, given.timeout = 30.0, 5.0, 3.0
    setting = Setting(
        *(given.records, given.public, given.values, given.risk, given.insiders, given.mode),
        *(given.timeout, given.measured, given.candidates),
    )
    found = measure(setting, sorted(given.answers), given)
    tell(Console(width=165), found)
    stages = [
        {
            **asdict(stage),
            **{name: getattr(stage, name) for name in ("median", "worst", "inference")},
            **{f"share_{code}": stage.share(code) for code in ("answered", "risk", "time")},
        }
        for stage in found["stages"]  # type: ignore[attr-defined]
    ]
    program = found["rival"]
    plain = asdict(program) if isinstance(program, Exact) else None
    write(given.json, lines(found), {**found, "stages": stages, "rival": plain})
    if found["wrong_worlds"]:
        sys.exit("a world that the gate keeps does not agree with an answer")


if __name__ == "__main__":
    main()
