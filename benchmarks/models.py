"""Deciding by a candidate model: what it costs, and how often the truth surprises it.

Run as `python -m benchmarks.models`. Cost: over the census table some tens of sums are known, of ranges of
age or of random halves, which leave everybody alone, and one more is judged under `tilted` with 20
hypothetical answers, as the gate does it: the refined system and the model of past answers are shared. In CPU
seconds, with a new `ModelKnowledge` (*cold*: nothing is there yet, as after each answer) and with the past
model at hand (*warm*: as for a second question). The rival does what a report would: for each hypothetical
answer a system is built anew and `model_risks` called. Both find the same risks.

Surprise: the overall mean is known, and then the mean of one group is asked, each time of a gate with an
empty ledger, with `candidates = "interval"` and `"tilted"`, in both modes, without and with a public prior.
What share is answered, and what share is a surprise: hypothetical answers passed and the true one broke the
limit?
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb
import numpy as np
from rich.console import Console
from rich.table import Table

from auditor import Gate, Policy, QueryRefused
from benchmarks._data import ACS, shown, timed
from benchmarks._results import Line, options, write
from cae_sql import AnsweredSystem, Domain
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.query import Query
from cae_sql.inference.posterior.figures import model_risks
from cae_sql.inference.posterior.judging import ModelKnowledge, ModelStandard
from cae_sql.risk import Limit

DOMAIN = Domain(10, 250, 10)
LIMIT = Limit(risk=0.5, epsilon=20, min_entropy=0.5)
SEED, HYPOTHETICAL = 20130527, 20
PRIOR = '{ shape = "lognormal", median = 40, sigma = 0.8 }'
"""What anybody might say of American salaries without having seen the table."""
GROUPS = ("education", "industry", "occupation", "floor(age / 10)", "sex", "travel_time >= 30")
LEAST = 10
"""Members of a group that is asked about."""


@dataclass(frozen=True)
class Cost:
    """Seconds of CPU for 20 hypothetical answers."""

    sums: int
    atoms: int
    cold: float
    warm: float
    anew: float
    """The rival's."""
    difference: float
    """Greatest difference between the two ways' risks."""


def system_of(sums: int, units: np.ndarray, order: np.ndarray, halves: bool) -> AnsweredSystem:
    """Random ranges of an order of the records have been summed up, or random halves of them."""
    rng, size = np.random.default_rng(SEED), len(units)
    system = AnsweredSystem(size, 10, 250, resolution=10)
    asked = [np.arange(size)]
    while len(asked) < sums:
        first, last = np.sort(rng.integers(0, size, 2))
        asked.append(np.flatnonzero(rng.random(size) < 0.5) if halves else np.sort(order[first : last + 1]))
    for members in asked:
        query = system.query("sum", members)
        system.accept([query.answered(int(query.of(units)))])
    return system


def answers_to(query: Query, units: np.ndarray) -> list[int]:
    """Around the true one: worlds of so many overlapping sums would take longer than what is measured."""
    true = int(query.of(units))
    return [true + 7 * (place - HYPOTHETICAL // 2) for place in range(HYPOTHETICAL)]


def cost(sums: int, units: np.ndarray, order: np.ndarray, halves: bool) -> Cost:
    """Judge one more sum."""
    system = system_of(sums, units, order, halves)
    one, other = (system.query("sum", np.sort(order[a:b])) for a, b in ((300, 900), (1_000, 1_500)))
    standard, allowance = ModelStandard("tilted", LIMIT, DOMAIN), Allowance()

    def judged(past: ModelKnowledge, query: Query) -> list[float]:
        question = past.question([query])
        return [question.judge((value,), allowance).risk or 0.0 for value in answers_to(query, units)]

    judged(ModelKnowledge(system, standard), one)  # compiles
    with timed(time.process_time) as cold:
        past = ModelKnowledge(system, standard)
        ours = judged(past, one)
    with timed(time.process_time) as warm:
        judged(past, other)
    theirs, labels = [], np.zeros(system.size, dtype=np.int64)
    with timed(time.process_time) as anew:
        for value in answers_to(one, units):
            after = AnsweredSystem(system.size, 10, 250, resolution=10)
            after.accept([*system.answers, one.answered(value)])
            figures = model_risks(after, "tilted", labels, DOMAIN, LIMIT.epsilon)
            theirs.append(float(figures.worst_risk[0]))
    off = float(np.abs(np.array(ours) - theirs).max())
    atoms = past.known[0].count
    return Cost(len(system.answers), atoms, cold.seconds, warm.seconds, anew.seconds, off)


@dataclass(frozen=True)
class Surprise:
    """What became of one question each about many groups."""

    candidates: str
    mode: str
    prior: str
    insiders: int
    asked: int
    answered: int
    refused: int
    surprises: int
    """Leak events among the refused."""
    median: float
    """Seconds."""


def policy(candidates: str, mode: str, prior: str, insiders: int) -> Policy:
    given = f"prior = {prior}\n" if prior else ""
    return Policy.parse(
        '[protect]\ntable = "person"\ncolumn = "salary"\nminimum = 10\nmaximum = 250\nstep = 10\n'
        'public = ["age", "sex", "education", "industry", "occupation", "travel_time"]\n'
        f'[intruder]\npublished = ["SELECT AVG(salary) FROM person"]\ncandidates = "{candidates}"\n'
        f'insiders = {insiders}\n{given}[limit]\nrisk = 0.5\n[decision]\nmode = "{mode}"\n'
    )


def questions(database: Path, quick: bool) -> list[str]:
    """The mean of every group of enough members."""
    found = []
    with duckdb.connect(str(database), read_only=True) as connection:
        for key in GROUPS[: 1 if quick else None]:
            having = f"GROUP BY ALL HAVING count(*) >= {LEAST} ORDER BY ALL"
            levels = connection.execute(f"SELECT {key} FROM person {having}").fetchall()
            found += [
                f"SELECT AVG(salary) FROM person WHERE ({key}) = {literal(level)}"
                for (level,) in levels
                if level is not None
            ]
    return found[: 3 if quick else None]


def literal(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


def surprise(database: Path, rules: Policy, asked: list[str], insiders: int) -> Surprise:
    """Each question to a gate that has answered nothing but the overall mean."""
    codes, surprises, seconds = Counter[str](), 0, []
    for number, sql in enumerate(asked):
        ledger = database.parent / f"{time.monotonic_ns()}.{number}.ledger"
        with Gate.open(database, rules, ledger) as gate:
            with timed() as watch:
                try:
                    codes[gate.execute(sql).decision.verdict] += 1
                except QueryRefused:
                    codes["refused"] += 1
            surprises += int(gate.history()["surprise"].sum())
            seconds.append(watch.seconds)
    prior = "" if rules.intruder.prior is None else PRIOR
    given = rules.intruder.candidates, rules.decision.mode, prior, insiders
    return Surprise(
        *given, len(asked), codes["answered"], codes["refused"], surprises, float(np.median(seconds))
    )


def surprises(database: Path, quick: bool, insiders: int) -> list[Surprise]:
    """All ways of deciding on the same questions."""
    asked, found = questions(database, quick), []
    for mode in ("simulatable", "answer-dependent")[: 1 if quick else None]:
        for candidates, prior in (("interval", ""), ("tilted", ""), ("interval", PRIOR), ("tilted", PRIOR)):
            rules = policy(candidates, mode, prior, insiders)
            found.append(surprise(database, rules, asked, insiders))
    return found


def main(arguments: list[str] | None = None) -> None:
    parser = options("models", __doc__)
    parser.add_argument("--sums", type=int, nargs="+", default=[10, 40, 80])
    parser.add_argument("--costs", action="store_true", help="the first part alone")
    parser.add_argument("--insiders", type=int, choices=(0, 1), default=0, help="of the second part")
    given = parser.parse_args(arguments)
    console = Console(width=130)
    if not ACS.is_file():
        console.print("the census table is not beside the project (../shared/data)")
        return
    warnings.simplefilter("ignore")
    with duckdb.connect() as connection:
        columns = connection.execute(
            "SELECT salary, age, travel_time FROM read_csv(?)", [str(ACS)]
        ).fetchnumpy()
    order = np.lexsort((columns["travel_time"], columns["age"]))
    units = (columns["salary"].astype(np.int64) - 10) // 10
    costs = [
        cost(sums, units, order, halves)
        for halves in (False, True)[: 1 if given.quick else None]
        for sums in given.sums[: 1 if given.quick else None]
    ]
    table = Table(title=f"{HYPOTHETICAL} hypothetical answers to a sum under tilted, {len(order):,} records")
    for name in ("sums known", "atoms", "cold", "warm", "each anew", "anew / cold", "risks differ by"):
        table.add_column(name, justify="right")
    for each in costs:
        times = shown(each.cold), shown(each.warm), shown(each.anew), f"{each.anew / each.cold:.1f}"
        table.add_row(str(each.sums), str(each.atoms), *times, f"{each.difference:.1e}")
    console.print(table)
    if given.costs:
        write(given.json, lines(costs, []), [*map(asdict, costs)])
        return
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "acs.duckdb"
        with duckdb.connect(str(database)) as connection:
            connection.execute(f"CREATE TABLE person AS SELECT * FROM read_csv('{ACS}')")
        found = surprises(database, given.quick, given.insiders)
    table = Table(title="The mean of one group, the overall mean known, limit 0.5")
    for name in (
        "mode",
        "candidates",
        "prior",
        "insiders",
        "asked",
        "answered",
        "refused",
        "surprises",
        "median",
    ):
        table.add_column(name, justify="right")
    for one in found:
        counts = one.asked, one.answered, one.refused, one.surprises
        prior = "lognormal" if one.prior else "none"
        table.add_row(
            one.mode, one.candidates, prior, str(one.insiders), *map(str, counts), shown(one.median)
        )
    console.print(table)
    write(given.json, lines(costs, found), [*map(asdict, costs), *map(asdict, found)])


def lines(costs: list[Cost], found: list[Surprise]) -> list[Line]:
    """Of the table of all benchmarks."""
    told = [
        Line(
            f"{HYPOTHETICAL} hypothetical answers under tilted",
            *("ACS", f"{each.sums} sums, {each.atoms} atoms", each.cold),
            *("model_risks of each system anew", each.anew),
        )
        for each in costs
    ]
    for one in found:
        way = f"{one.candidates}, {one.mode}, {'lognormal prior' if one.prior else 'no prior'}"
        size = f"{one.asked} means of groups, {way}"
        told.append(Line("surprises", "ACS", size, one.surprises / one.asked, unit="share"))
        told.append(Line("means of groups answered", "ACS", size, one.answered / one.asked, unit="share"))
    return told


if __name__ == "__main__":
    main()
