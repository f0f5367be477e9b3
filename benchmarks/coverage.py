"""How often the true answer is none of the hypothetical ones, on real data, and how often that is a surprise.

Run as `python -m benchmarks.coverage`. A simulatable decision judges the answers of hypothetical tables; it
is only as good as those are like the true one. SUM and MAX over random range queries on the public columns of
ACS and Adult are asked of a gate with an empty ledger; before each the answers that it thinks possible are
read, and counted is how often the true one lies outside their range. *Spread*: how far from their mean it
lies, in their standard deviations, in the median.

The rival is an intruder's ideal, tables that are exchangeable with the true one: then it lies outside N of
them 2 times in N + 1, and its median distance is some 0.7 standard deviations. It needs no run.

Each way of telling the gate beforehand what everybody knows is a run of its own: nothing; the mean, by
`intruder.published`; how values are spread, by `intruder.prior`, in the few round figures that a statistical
yearbook would have (`--prior` gives others); both. Leak events are refusals that told something. They are
counted and the table stays open.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import duckdb
import numpy as np
from rich.console import Console
from rich.table import Table

from auditor import Gate, Policy, PolicyError, QueryRefused
from benchmarks._data import peak_megabytes, shown, timed
from benchmarks._inside import Offer, offer
from benchmarks._people import RangeQueries
from benchmarks._results import Line, options, write
from benchmarks.honest import STUDIES as HONEST
from benchmarks.honest import Study

ASKED_ALIKE = ("SUM", "MAX")
NOTHING, MEAN, PRIOR, BOTH = "nothing", "published mean", "prior", "prior and mean"
PRIORS = {
    "acs": '{ shape = "lognormal", median = 30, sigma = 0.8 }',
    "adult": "[[1, 1], [10, 4], [20, 7], [30, 11], [40, 45], [41, 12], [50, 12], [60, 6], [70, 2]]",
}
STUDIES = tuple(study for study in HONEST if study.name in PRIORS)
COLUMNS = (
    *("data", "asked for", "known beforehand", "decisions", "outside", "below", "above", "ideal", "spread"),
    *("answered", "refused", "surprises", "per 1,000", "median"),
)


@dataclass
class Run:
    """One kind of aggregate on one data set, with one thing known beforehand."""

    study: str
    aggregate: str
    beforehand: str
    worlds: int
    decisions: int = 0
    """New questions; what past answers settle needs none."""
    below: int = 0
    above: int = 0
    spreads: list[float] = field(default_factory=list)
    codes: Counter[str] = field(default_factory=Counter)
    surprises: int = 0
    seconds: list[float] = field(default_factory=list)
    peak_megabytes: float = 0.0

    @property
    def outside(self) -> float:
        """Share of the decisions."""
        return (self.below + self.above) / self.decisions if self.decisions else float("nan")

    @property
    def ideal(self) -> float:
        """The same if the true table were one more hypothetical one."""
        return 2 / (self.worlds + 1)

    @property
    def surprises_per_thousand(self) -> float:
        """Decisions."""
        return 1_000 * self.surprises / self.decisions if self.decisions else float("nan")

    @property
    def spread(self) -> float:
        """Median distance of the true answer from the mean of the hypothetical ones, in their deviations."""
        return float(np.median(self.spreads)) if self.spreads else float("nan")

    def count(self, thought: Offer) -> None:
        """Take in one decision."""
        self.decisions += 1
        possible = np.array([float(answers[0]) for answers in thought.hypothetical])
        true = float(thought.truth[0])
        self.below += bool(true < possible.min())
        self.above += bool(true > possible.max())
        deviation = float(possible.std())
        if deviation > 0:
            self.spreads.append(abs(true - float(possible.mean())) / deviation)


def policy(study: Study, beforehand: str, worlds: int, insiders: int, timeout: float, prior: str) -> Policy:
    """The policy of a run.

    Raises:
        PolicyError: the prior is none for this column.
    """
    low, high, step = study.domain
    published = f'published = ["SELECT AVG({study.column}) FROM {study.table}"]\n'
    spread = f"prior = {prior or PRIORS[study.name]}\n"
    known = {NOTHING: "", MEAN: published, PRIOR: spread, BOTH: spread + published}
    return Policy.parse(
        f'[protect]\ntable = "{study.table}"\ncolumn = "{study.column}"\nminimum = {low}\nmaximum = {high}\n'
        f"step = {step}\npublic = {list(study.public)}\n[intruder]\ninsiders = {insiders}\n"
        f"{known[beforehand]}[limit]\nrisk = 0.5\n[decision]\nworlds = {worlds}\ntimeout = {timeout}\n"
        ""
    )


def queries(study: Study, database: Path) -> RangeQueries:
    """Over the public columns, as they are in the file."""
    with duckdb.connect(str(database), read_only=True) as connection:
        names = ", ".join(study.public)
        return RangeQueries(connection.execute(f"SELECT {names} FROM {study.table}").fetchnumpy())


def asked(run: Run, study: Study, database: Path, rules: Policy, count: int, most_seconds: float) -> None:
    """Ask, so many new questions or so long."""
    draws = queries(study, database)
    ledger = database.with_suffix(f".{run.aggregate}.{len(list(database.parent.iterdir()))}.ledger")
    end = time.monotonic() + most_seconds
    with Gate.open(database, rules, ledger) as gate:
        while run.decisions < count and time.monotonic() < end:
            sql = draws.draw().sql(f"{run.aggregate}({study.column})", study.table)
            with timed() as before:  # what is worked out here, the decision need not work out again
                thought = offer(gate, sql, run.worlds)
            if thought is None or thought.derivable:
                run.codes["known"] += 1
                continue
            run.count(thought)
            with timed() as watch:
                try:
                    code = gate.execute(sql).decision.code
                except QueryRefused as error:
                    code = error.decision.code
            run.codes[code] += 1
            run.seconds.append(before.seconds + watch.seconds)
        run.surprises = int(gate.history()["surprise"].sum())
    run.peak_megabytes = peak_megabytes()


def cells(run: Run) -> list[str]:
    """As the table shows them."""
    refused = ", ".join(f"{code} {number}" for code, number in run.codes.items() if code in ("risk", "time"))
    spread = "–" if not run.spreads else f"{run.spread:.1f}"
    median = shown(float(np.median(run.seconds))) if run.seconds else "–"
    return [
        *(run.study, run.aggregate, run.beforehand, str(run.decisions), f"{run.outside:.0%}"),
        *(str(run.below), str(run.above), f"{run.ideal:.0%}", spread, str(run.codes["answered"])),
        *(refused or "–", str(run.surprises), f"{run.surprises_per_thousand:.0f}", median),
    ]


def lines(runs: Sequence[Run]) -> list[Line]:
    """Of the table of all benchmarks."""
    told = []
    for run in runs:
        size = f"{run.decisions} decisions on {run.aggregate}, known before: {run.beforehand}"
        told.append(
            Line(
                *("true answer outside the hypothetical", run.study.upper(), size, run.outside),
                *("exchangeable tables", run.ideal, "share"),
            )
        )
        rate = run.surprises_per_thousand
        told.append(Line("surprises per 1,000 decisions", run.study.upper(), size, rate, unit="surprises"))
    return told


def main(arguments: list[str] | None = None) -> None:
    parser = options("coverage", __doc__)
    parser.add_argument("--studies", nargs="+", choices=[study.name for study in STUDIES])
    parser.add_argument("--aggregates", nargs="+", choices=ASKED_ALIKE, default=list(ASKED_ALIKE))
    parser.add_argument("--beforehand", nargs="+", choices=(NOTHING, MEAN, PRIOR, BOTH))
    parser.add_argument("--prior", default="", help="intruder.prior as it stands in a policy")
    parser.add_argument("--decisions", type=int, default=100, help="new questions in each run")
    parser.add_argument("--worlds", type=int, default=20)
    parser.add_argument("--insiders", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=5.0, help="of a decision")
    parser.add_argument("--most-seconds", type=float, default=600.0, help="of a run")
    given = parser.parse_args(arguments)
    if given.quick:
        given.decisions, given.timeout, given.most_seconds = 2, 0.5, 5.0
    ways = given.beforehand or [NOTHING, MEAN, PRIOR, BOTH]
    console = Console(width=150)
    runs: list[Run] = []
    with tempfile.TemporaryDirectory() as folder:
        for study in STUDIES:
            if given.studies and study.name not in given.studies:
                continue
            if study.absent:
                console.print(f"{study.name}: {study.absent}")
                continue
            database = Path(folder) / f"{study.name}.duckdb"
            study.build(database, 300 if given.quick else None)
            for way in ways:
                try:
                    rules = policy(study, way, given.worlds, given.insiders, given.timeout, given.prior)
                except PolicyError as error:
                    console.print(f"{study.name}, {way}: {error}", style="dim")
                    continue
                for aggregate in given.aggregates:
                    runs.append(run := Run(study.name, aggregate, way, given.worlds))
                    asked(run, study, database, rules, given.decisions, given.most_seconds)
                    kept = [{**asdict(each), "outside": each.outside, "spread": each.spread} for each in runs]
                    write(given.json, lines(runs), kept)  # after each: a long run may be cut short
    table = Table(title=f"True answers outside {given.worlds} hypothetical ones")
    for number, name in enumerate(COLUMNS):
        table.add_column(name, justify="left" if number < 3 else "right")
    for run in runs:
        table.add_row(*cells(run))
    console.print(table)
    console.print(
        "Ideal: how often one of N + 1 exchangeable tables is the extreme one, 2 / (N + 1). Equal answers, "
        "as many maxima are, lie inside."
    )


if __name__ == "__main__":
    main()
