"""A day of honest analysis through the gate: how much is answered, how long it takes, whether it holds.

Run as `python -m benchmarks.honest`. The statements in `benchmarks/statements/` are what an analyst of each
data set would write; they were written before any was tried. Two of the tables come inside of packages, see
`benchmarks/_packaged.py`; without these they are left out. Each data set is asked under three limits and
in both modes of decision, every run with a gate and an empty ledger of its own, in the order of the file.
The rival is a connection without a gate, which answers every statement: what is lost to protection stands
in the columns *risk*, *time* and *unsupported*.

Every run on the small data set is then checked from outside, see `benchmarks/_outside.py`: for the records
with the narrowest intervals, and some at random, integer programs over what the ledger holds look for
tables in which the record takes one value or another, until the values found keep the limit. With
`--checked 0 --judged 0` nothing of that is done, and the day's seconds are all that it takes.

Of the refused statements a sample is looked at in the same way, each with the answers that it might have got:
how many refusals would unlimited integer programs not have demanded? See `benchmarks/_needless.py`.

With `--partial suppress` a GROUP BY gives the groups that are safe; `--grouped` asks those statements only,
`--alone` each with an empty ledger, so that what one uses up is not missed by the next.
The column *groups* has how many groups were given exactly, told as ends in part, and withheld, all statements
together.

With `--candidates posterior` what is made likely decides too, with `exact` what is learned; `--prior` is a
key of the policy. The column *surprises* has values that were not shown to be safe once the true answer was
looked at.

With `--likelihood` each day is spent three times, on ledgers of their own: judged by what is excluded alone,
and besides by what is likely, against `members` and against `prior`; a line for each says how much of what
exclusion gives likelihood refuses. What is refused leaves room for later statements, so it may be below 0.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
from rich.console import Console
from rich.table import Table

from auditor import Answer, Gate, Policy
from benchmarks._data import ACS, ADULT, MICRODATA, peak_megabytes, shown, timed
from benchmarks._needless import Judged, Refusal, counted, judge, refusal
from benchmarks._outside import Checked, check
from benchmarks._packaged import MEPS, NLS, Packaged
from benchmarks._ranges import holds, pasted, tried
from benchmarks._results import Line, options, write
from cae_sql import Domain

RISKS = (0.25, 0.5, 0.75)
MODES = ("simulatable", "answer-dependent")
CHECKED_SECONDS = 600.0
"""For all records that are looked at from outside."""
STATEMENTS = Path(__file__).parent / "statements"
COLUMNS = (
    *("data", "mode", "limit", "asked", "answered", "partial", "risk", "time", "unsupported", "surprises"),
    *("groups",),
    *("median", "worst", "opening", "peak MB"),
)


CHECK_COLUMNS = ("mode", "limit", "answers", "record", "interval", "values", "undecided", "risk", "keeps")


@dataclass(frozen=True)
class Study:
    """One data set and what is asked of it."""

    name: str
    source: Path | Packaged
    table: str
    column: str
    public: tuple[str, ...]
    domain: tuple[float, float, float]
    """Minimum, maximum, step."""
    check: bool
    """Small enough to be checked by integer programs."""
    told: str = ""
    """Further lines at the top of the policy."""
    unit: str = ""
    """The column that names whose rows they are; empty where every row is a person."""
    tables: Path | None = None
    """A script that makes the table, and others beside it, with ACS where the path of the data belongs."""
    texts: tuple[Path, ...] = ()
    """Statements, where they are not in a file of the study's name."""

    def statements(self) -> list[str]:
        """In the order of the files."""
        return [each for path in self.texts or (STATEMENTS / f"{self.name}.sql",) for each in _split(path)]

    def policy(self, risk: float, mode: str, how: How) -> Policy:
        """The policy of a run."""
        return Policy.parse(self.text(risk, mode, how))

    def text(self, risk: float, mode: str, how: How) -> str:
        """The same as TOML."""
        low, high, step = self.domain
        unit = f'unit = "{self.unit}"\n' if self.unit else ""
        prior = f"prior = {how.prior}\n" if how.prior else ""
        return (
            f'{self.told}[protect]\ntable = "{self.table}"\ncolumn = "{self.column}"\nminimum = {low}\n'
            f"maximum = {high}\nstep = {step}\npublic = {json.dumps(self.public)}\n{unit}"
            f'[intruder]\ninsiders = {how.insiders}\ncandidates = "{how.candidates}"\n{prior}'
            f'baseline = "{how.baseline}"\n'
            f'[limit]\nrisk = {risk}\n[decision]\nmode = "{mode}"\npartial = "{how.partial}"\n'
        )

    @property
    def absent(self) -> str:
        """What to do where the data are not there; empty where they are."""
        if isinstance(self.source, Packaged):
            return self.source.absent
        return "" if self.source.is_file() else "the data are not beside the project (../shared/data)"

    def build(self, path: Path, rows: int | None) -> None:
        """A DuckDB file with the table; `rows`: only so many."""
        order = f"LIMIT {rows}" if rows is not None else ""
        with duckdb.connect(str(path)) as connection:
            if isinstance(self.source, Packaged):
                self.source.create(connection, self.table, rows)
                return
            if self.tables is not None:
                connection.execute(";".join(_split(self.tables)).replace("ACS", f"'{self.source}'"))
                return
            connection.execute(
                f"CREATE TABLE {self.table} AS SELECT * FROM read_csv('{self.source}') {order}"
            )


def _split(script: Path) -> list[str]:
    """Statements of a file, without lines that are comments."""
    lines = script.read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("--"))
    return [statement.strip() for statement in text.split(";") if statement.strip()]


BI = MICRODATA.parent / "sql" / "bi"
TOOLS = ("tableau", "power_bi", "superset", "metabase", "grafana")
STUDIES = (
    Study(
        *("acs", ACS, "person", "salary"),
        ("age", "sex", "education", "industry", "occupation", "travel_time"),
        (10, 250, 10),
        check=True,
    ),
    Study(
        *("adult", ADULT, "adult", "hours_per_week"),
        (
            *("age", "workclass", "education", "education_num", "marital_status", "occupation"),
            *("relationship", "race", "sex", "capital_gain", "capital_loss", "native_country", "income"),
        ),
        (1, 99, 1),
        check=False,
    ),
    Study(
        *("nls", NLS, "worker", "wage"),
        ("sex", "race", "region", "town", "school_rank", "degree", "college", "experience"),
        (2, 30, 0.5),
        check=False,
    ),
    Study(
        *("meps", MEPS, "patient", "spending"),
        (
            *("age", "sex", "race", "education", "married", "health", "income", "metropolitan", "chronic"),
            *("private", "employer"),
        ),
        (0, 7000, 100),
        check=False,
    ),
    Study(  # what dashboards send, one session for all of them
        *("bi", ACS, "persons", "salary"),
        (
            *("age", "sex", "education", "industry", "occupation", "travel_time", "hired", "created_at"),
            *("fulltime", "score"),
        ),
        (10, 250, 10),
        check=True,
        told='dialect = "postgres"\n',
        tables=BI / "persons.sql",
        texts=tuple(BI / f"{tool}.sql" for tool in TOOLS),
    ),
)


@dataclass(frozen=True)
class How:
    """How every day of a benchmark is spent."""

    partial: str
    insiders: int
    judged: int
    """Refusals that are looked at from outside."""
    candidates: str = "interval"
    prior: str = ""
    """As the policy has it."""
    baseline: str = "members"
    ranges: bool = False
    """Whether what is not told exactly is asked for again as a range, as the hint says."""
    checked: float = CHECKED_SECONDS
    """Of integer programs about records, once the day is over; 0: nobody is looked at from outside."""


@dataclass(frozen=True)
class Asked:
    """One statement and what became of it."""

    sql: str
    verdict: str
    code: str
    message: str
    seconds: float
    risk_after: float | None
    given: int = 0
    """Groups of the answer that have a value in every column."""
    withheld: int = 0
    """Groups that have NULL where plain DuckDB has a value."""
    ended: int = 0
    """Groups of which an aggregate is told as an end."""
    ranged: bool = False
    """Whether it was asked again for ranges: verdict and groups are of that, seconds of the slower one."""
    refused: bool = False
    """Whether it was refused before."""


@dataclass
class Run:
    """One day under one policy."""

    study: str
    mode: str
    limit: float
    opening: float = 0.0
    asked: list[Asked] = field(default_factory=list)
    surprises: int = 0
    answers: int = 0
    """Aggregates released that taught something."""
    peak_megabytes: float = 0.0
    checked: list[Checked] = field(default_factory=list)
    judged: list[Judged] = field(default_factory=list)
    """Refusals that were looked at from outside."""

    def counted(self, verdict: str, code: str | None = None) -> int:
        """Statements with a verdict, and a code."""
        return sum(each.verdict == verdict and code in (None, each.code) for each in self.asked)

    @property
    def seconds(self) -> list[float]:
        """Of each statement."""
        return [each.seconds for each in self.asked]


def counted_groups(answer: Answer) -> tuple[int, int, int]:
    """Groups given, withheld and told as ends; the verdict's message says how many are withheld."""
    words = answer.decision.message.split()
    withheld = int(words[0]) if answer.decision.code == "partial" else 0
    ended = len({tuple(each.group.items()) for each in answer.ranges})
    return max(0, len(answer.fetchall()) - withheld - ended), withheld, ended


def day(study: Study, database: Path, how: How, risk: float, mode: str, statements: Sequence[str]) -> Run:
    """Ask everything; check what was released, and what was refused."""
    run = Run(study.name, mode, risk)
    policy = study.policy(risk, mode, how)
    refusals: list[Refusal | None] = []
    number = len(list(database.parent.glob("*.ledger")))
    ledger = database.with_suffix(f".{number}.ledger")
    with timed() as opening:
        gate = Gate.open(database, policy, ledger)
    run.opening = opening.seconds
    with gate:
        for sql in statements:
            answer, decision, seconds = tried(gate, sql)
            refused = decision.verdict == "refused"
            again = pasted(decision) if how.ranges else None
            if again is not None:
                answer, decision, more = tried(gate, again)
                seconds = max(seconds, more)
                if answer is not None and not holds(answer, again, database):
                    raise AssertionError(f"a true value is outside of its range: {again}")
            groups = (0, 0, 0) if answer is None else counted_groups(answer)
            if decision.code in ("risk", "time") and how.judged:
                refusals.append(refusal(gate, sql, decision.code, mode == "simulatable"))
            message = f"{decision.message} {decision.hint}".strip()
            run.asked.append(
                Asked(
                    *(sql, decision.verdict, decision.code, message, seconds, decision.risk_after),
                    *(groups if is_grouped(sql) else (0, 0, 0)),
                    *(again is not None, refused),
                )
            )
        history = gate.history()
        run.surprises = int(history["surprise"].sum())
        run.peak_megabytes = peak_megabytes()
        released = [answer for entry in gate._ledger.entries() for answer in entry.answers]
        run.answers = len(released)
        vault, domain = gate._database.vaults[0], Domain(*study.domain)
        size = vault.size
    if study.check and len(statements) > 1 and how.checked:
        low, step = Fraction(domain.minimum), Fraction(domain.step)
        truth = np.array([int((each * vault.scale - low) / step) for each in vault.integers.tolist()])
        run.checked = check(released, size, domain, risk, how.insiders, how.checked, truth)
    noted = [each for each in refusals if each is not None]
    run.judged = judge(noted, released, size, domain, risk, how.insiders, how.judged)
    return run


def merged(runs: Sequence[Run]) -> Run:
    """Several days of one statement each as one run; what was checked of each is left out."""
    if len(runs) == 1:
        return runs[0]
    whole = Run(runs[0].study, runs[0].mode, runs[0].limit, max(run.opening for run in runs))
    whole.asked = [each for run in runs for each in run.asked]
    whole.surprises = sum(run.surprises for run in runs)
    whole.answers = sum(run.answers for run in runs)
    whole.peak_megabytes = max(run.peak_megabytes for run in runs)
    whole.judged = [each for run in runs for each in run.judged]
    return whole


JUDGED = (("interval", "members"), ("posterior", "members"), ("posterior", "prior"))
"""Candidates and baselines of three days beside each other."""


def refused_by_likelihood(runs: Sequence[Run]) -> list[str]:
    """Of runs as `JUDGED`, what is given in each, and which part of the first the others refuse."""
    found = []
    for (candidates, baseline), run in zip(JUDGED, runs, strict=True):
        full = run.counted("answered") - run.counted("answered", "partial")
        groups = sum(each.given + each.ended for each in run.asked)
        name = "exclusion alone" if candidates == "interval" else f"and likelihood, {baseline}"
        line = f"{run.study}, {run.mode}, {run.limit:g}, {name}: {full} statements in full, {groups} groups"
        if not found:
            first = full, groups
        else:
            less = (
                100 * (1 - now / max(before, 1)) for now, before in zip((full, groups), first, strict=True)
            )
            line += "; refused by likelihood {:.0f} % and {:.0f} %".format(*less)
        found.append(line)
    return found


def is_grouped(sql: str) -> bool:
    return "GROUP BY" in sql.upper()


def add(table: Table, run: Run) -> None:
    seconds = np.array(run.seconds)
    counts = (
        *(len(run.asked), run.counted("answered"), run.counted("answered", "partial")),
        run.counted("refused", "risk"),
        *(run.counted("refused", "time"), run.counted("unsupported"), run.surprises),
        "+".join(
            str(sum(getattr(each, kind) for each in run.asked)) for kind in ("given", "ended", "withheld")
        ),
    )
    times = shown(float(np.median(seconds))), shown(float(seconds.max())), shown(run.opening)
    name = f"{run.limit:g}"
    table.add_row(run.study, run.mode, name, *map(str, counts), *times, f"{run.peak_megabytes:,.0f}")


def tell(console: Console, runs: Sequence[Run]) -> None:
    """What was not answered, and what the check found."""
    for study in dict.fromkeys(run.study for run in runs):
        mine = [run for run in runs if run.study == study]
        console.print(f"\n[bold]{study}: not understood[/bold] (of {len(mine[0].asked)})")
        for each in mine[0].asked:
            if each.verdict == "unsupported":
                console.print(f"  {' '.join(each.sql.split())}\n    [dim]{each.code}: {each.message}[/dim]")
        ranged = [each for run in mine for each in run.asked if each.ranged and each.verdict == "answered"]
        if ranged:
            before = sum(each.refused for each in ranged)
            console.print(
                f"[bold]{study}: told as ranges[/bold] {len(ranged)} statements, {before} of which were "
                "refused before; every true value lies in its range"
            )
        console.print(f"[bold]{study}: refused[/bold] (in how many of the {len(mine)} runs)")
        refused = Counter(each.sql for run in mine for each in run.asked if each.verdict == "refused")
        for sql, times in refused.most_common():
            console.print(f"  {times}  {' '.join(sql.split())}", highlight=False)
    console.print("[bold]Refusals, looked at by integer programs[/bold]")
    for run in runs:
        console.print(f"  {run.study}, {run.mode}, {run.limit:g}: {counted(run.judged)}", highlight=False)
    checked = [(run, each) for run in runs for each in run.checked]
    if checked:
        table = Table(title="Checked from outside, by integer programs over the ledger's answers")
        for name in CHECK_COLUMNS:
            table.add_column(name, justify="left" if name in ("mode", "keeps") else "right")
        for run, each in checked:
            interval = f"{each.lower:g} … {each.upper:g}"
            told = run.mode, f"{run.limit:g}", str(run.answers), str(each.record), interval
            figures = str(each.values), str(each.undecided), f"{each.risk:.3f}"
            doubt = "[red]NO[/red]" if each.broken else "?"
            table.add_row(*told, *figures, "yes" if each.keeps else doubt)
        console.print(table)


def lines(runs: Sequence[Run]) -> list[Line]:
    """Of the table of all benchmarks."""
    told = []
    for run in runs:
        size = f"{len(run.asked)} statements, {run.mode}, limit {run.limit:g}"
        name, memory = run.study.upper(), run.peak_megabytes
        share = run.counted("answered") / len(run.asked) if run.asked else None
        median = float(np.median(run.seconds)) if run.asked else None
        told += [
            Line("honest: answered", name, size, share, "no gate", 1.0, "share", peak_megabytes=memory),
            Line("honest: a statement, median", name, size, median, peak_megabytes=memory),
            Line("honest: a statement, worst", name, size, max(run.seconds, default=None)),
        ]
        if run.judged:
            needless = sum(each.verdict == "needless" for each in run.judged) / len(run.judged)
            undecided = sum(each.verdict == "undecided" for each in run.judged)
            size = f"{len(run.judged)} refusals, {undecided} undecided; {run.mode}, limit {run.limit:g}"
            told.append(
                Line("honest: needless refusals", name, size, needless, "unlimited MILP", 0.0, "share")
            )
    return told


def _asked(arguments: list[str] | None) -> argparse.Namespace:
    """What is asked for on the command line."""
    parser = options("honest", __doc__)
    parser.add_argument("--studies", "--study", nargs="+", choices=[study.name for study in STUDIES])
    parser.add_argument("--risks", type=float, nargs="+", default=list(RISKS))
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--partial", choices=("refuse", "suppress"), default="suppress")
    parser.add_argument("--grouped", action="store_true", help="statements with GROUP BY only")
    parser.add_argument("--alone", action="store_true", help="each statement with an empty ledger")
    parser.add_argument("--insiders", type=int, choices=(0, 1), default=1)
    parser.add_argument("--judged", type=int, default=6, help="refusals to look at from outside, of each run")
    parser.add_argument("--candidates", choices=("interval", "posterior", "exact"), default="interval")
    parser.add_argument("--prior", default="", help="intruder.prior, as TOML")
    parser.add_argument("--baseline", choices=("members", "prior"), default="members")
    parser.add_argument("--ranges", action="store_true", help="ask again for ranges what is not told exactly")
    parser.add_argument("--likelihood", action="store_true", help="what likelihood alone refuses")
    parser.add_argument(
        "--checked", type=float, default=CHECKED_SECONDS, help="seconds of looking at records from outside"
    )
    given = parser.parse_args(arguments)
    if given.quick:
        given.judged, given.modes, given.risks = 1, given.modes[:1], given.risks[:1]
        given.checked = min(given.checked, 2.0)
    return given


def days(study: Study, given: argparse.Namespace, folder: Path) -> Iterator[list[Run]]:
    """The runs of a study: of each mode and limit those that belong beside each other."""
    how = How(
        *(given.partial, given.insiders, given.judged, given.candidates, given.prior, given.baseline),
        *(given.ranges, given.checked),
    )
    ways = [how]
    if given.likelihood:
        ways = [replace(how, candidates=judged, baseline=to) for judged, to in JUDGED]
    database = folder / f"{study.name}.duckdb"
    study.build(database, 300 if given.quick else None)
    statements = study.statements()[: 2 if given.quick else None]
    if given.grouped:
        statements = [sql for sql in statements if is_grouped(sql)]
    parts = [[sql] for sql in statements] if given.alone else [statements]
    for mode in given.modes:
        for risk in given.risks:
            yield [merged([day(study, database, way, risk, mode, each) for each in parts]) for way in ways]


def main(arguments: list[str] | None = None) -> None:
    given = _asked(arguments)
    console = Console(width=160)
    table = Table(title="A day of honest analysis")
    for name in COLUMNS:
        table.add_column(name, justify="left" if name in ("data", "mode") else "right")
    runs = list[Run]()
    with tempfile.TemporaryDirectory() as folder:
        for study in STUDIES:
            if given.studies and study.name not in given.studies:
                continue
            if study.absent:
                console.print(f"{study.name}: {study.absent}")
                continue
            start = time.perf_counter()
            for beside in days(study, given, Path(folder)):
                runs += beside
                for run in beside:
                    add(table, run)
                for line in refused_by_likelihood(beside) if given.likelihood else ():
                    console.print(line, highlight=False)
                seconds, start = time.perf_counter() - start, time.perf_counter()
                mode, limit = beside[0].mode, beside[0].limit
                console.print(f"{study.name}, {mode}, {limit:g}: {seconds:.0f} s", style="dim")
                # after each run: a long day may be cut short
                write(given.json, lines(runs), [asdict(each) for each in runs])
    console.print(table)
    tell(console, runs)


if __name__ == "__main__":
    main()
