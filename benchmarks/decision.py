"""How long a decision takes on a hundred records, after a thousand earlier queries.

Run as `python -m benchmarks.decision`. Random SUM queries reach a gate that protects 100 persons, each the
conjunction of one to three conditions on public columns; then random subsets, each record a member with
probability ½, reach `auditor.deciding.decide.decide` itself. Measured are the last hundred of 1,100, with
everything that was answered before them known. The rival is a published auditor of SUM queries over as many
records: 7.5 ms in the median and 5.1 s at worst, for a weaker check (whether a real-valued interval stays
wide enough). Its figures are quoted from print, not measured here, so they are from another machine.

`settled` are queries that past answers already decide: most of what random conditions repeat. The median
over the *fresh* ones, which need a judgement, is given beside the median over all.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from auditor import Gate, Policy, QueryRefused
from auditor.data.database import Database
from auditor.deciding.decide import decide
from auditor.parties.party import Knowledge
from benchmarks._data import drawn_values, shown, timed
from benchmarks._results import Line, options, write

PERSONS, EARLIER, MEASURED = 100, 1_000, 100
SEED = 20130527
RIVAL = 0.0075, 5.1
"""Median and worst seconds of the published auditor."""
COLUMNS = (
    "way",
    "limit",
    "earlier: answered",
    "settled",
    "refused",
    "last: fresh",
    "median",
    "median, fresh",
    "worst",
    "worst of all",
)
POLICY = """
[protect]
table = "staff"
column = "salary"
minimum = 10
maximum = 250
step = 10
public = "all"
[limit]
risk = {risk}
"""


@dataclass(frozen=True)
class Row:
    way: str
    risk: float
    answered: int
    settled: int
    refused: int
    fresh: int
    median: float
    median_fresh: float
    worst: float
    worst_of_all: float


def build(path: Path, values: str) -> None:
    """A hundred persons."""
    rng = np.random.default_rng(SEED)
    salaries = drawn_values(values, PERSONS, SEED)
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE staff (id INTEGER, age INTEGER, sex VARCHAR, dept VARCHAR, town VARCHAR, "
            "years INTEGER, salary INTEGER)"
        )
        rows = [
            (
                number,
                int(rng.integers(18, 66)),
                "fm"[rng.integers(2)],
                "ABCDEF"[rng.integers(6)],
                "KLMN"[rng.integers(4)],
                int(rng.integers(0, 30)),
                int(salaries[number]),
            )
            for number in range(PERSONS)
        ]
        connection.executemany("INSERT INTO staff VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def conditions(rng: np.random.Generator) -> str:
    """One to three random conditions, each on another public column."""
    found = []
    for name in rng.choice(["age", "years", "sex", "dept", "town"], rng.integers(1, 4), replace=False):
        if name == "age":
            low = int(rng.integers(18, 60))
            found.append(f"age BETWEEN {low} AND {low + int(rng.integers(5, 40))}")
        elif name == "years":
            found.append(f"years {'<' if rng.random() < 0.5 else '>='} {int(rng.integers(2, 28))}")
        else:
            letters = {"sex": "fm", "dept": "ABCDEF", "town": "KLMN"}[name]
            chosen = sorted(rng.choice(list(letters), rng.integers(1, len(letters)), replace=False).tolist())
            found.append(f"{name} IN ({', '.join(map(repr, chosen))})")
    return " AND ".join(found)


def statements(count: int) -> Iterator[str]:
    """Random SUM queries; the same ones in every run."""
    rng = np.random.default_rng(SEED + 1)
    for _ in range(count):
        yield f"SELECT SUM(salary) FROM staff WHERE {conditions(rng)}"


def row(way: str, risk: float, verdicts: list[str], seconds: list[float], measured: int) -> Row:
    """Figures of the last `measured` decisions; verdicts of the earlier ones."""
    earlier = Counter(verdicts[:-measured])
    last = np.array(seconds[-measured:])
    fresh = last[[verdict != "settled" for verdict in verdicts[-measured:]]]
    median_fresh = float(np.median(fresh)) if len(fresh) else float("nan")
    return Row(
        *(way, risk, earlier["answered"], earlier["settled"], earlier["refused"]),
        *(len(fresh), float(np.median(last)), median_fresh, float(last.max()), max(seconds)),
    )


def through_gate(database: Path, policy: Policy, risk: float, earlier: int, measured: int) -> Row:
    """From SQL text to verdict, with the ledger's commit."""
    verdicts, seconds = [], []
    with Gate.open(database, policy, database.with_suffix(f".{risk}.ledger")) as gate:
        for sql in statements(earlier + measured):
            with timed() as watch:
                try:
                    code = gate.execute(sql).decision.code
                except QueryRefused:
                    code = "refused"
            verdicts.append({"known": "settled"}.get(code, code))
            seconds.append(watch.seconds)
    return row("gate, conditions", risk, verdicts, seconds, measured)


def without_gate(database: Path, policy: Policy, risk: float, earlier: int, measured: int) -> Row:
    """The decision alone, on random subsets."""
    rng = np.random.default_rng(SEED + 2)
    verdicts, seconds = [], []
    with Database.open(database, policy.protects) as data:
        knowledge = Knowledge(policy, data)
        party = knowledge.of("analyst")
        for _ in range(earlier + measured):
            members: NDArray[np.int64] = np.flatnonzero(rng.random(PERSONS) < 0.5)
            queries = [party.columns[0].system.query("sum", members)]
            with timed() as watch:
                outcome = decide([party.columns[0].case(queries)], knowledge.rules)
                if outcome.verdict == "safe":
                    party.accept({0: queries}, outcome)
            names = {"known": "settled", "safe": "answered"}
            verdicts.append(names.get(outcome.verdict, "refused"))
            seconds.append(watch.seconds)
    return row("decide, random subsets", risk, verdicts, seconds, measured)


def cells(found: Row) -> list[str]:
    counts = found.answered, found.settled, found.refused, found.fresh
    times = found.median, found.median_fresh, found.worst, found.worst_of_all
    return [found.way, f"{found.risk:g}", *map(str, counts), *map(shown, times)]


def main(arguments: list[str] | None = None) -> None:
    parser = options("decision", __doc__)
    parser.add_argument("--risks", type=float, nargs="+", default=[0.5], help="limits of the policy")
    parser.add_argument("--earlier", type=int, default=EARLIER, help="queries before the measured ones")
    parser.add_argument("--values", choices=("uniform", "lognormal"), default="lognormal")
    given = parser.parse_args(arguments)
    earlier, measured = (6, 2) if given.quick else (given.earlier, MEASURED)
    table = Table(
        title=f"Decisions on {PERSONS} records: the last {measured} after {earlier:,} random SUM queries"
    )
    for name in COLUMNS:
        table.add_column(name, justify="left" if name == "way" else "right")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "staff.duckdb"
        build(database, given.values)
        for risk in given.risks[: 1 if given.quick else None]:
            policy = Policy.parse(POLICY.format(risk=risk))
            for way in (through_gate, without_gate):
                rows.append(found := way(database, policy, risk, earlier, measured))
                table.add_row(*cells(found))
    table.add_row("published rival", *["–"] * 5, shown(RIVAL[0]), "–", shown(RIVAL[1]), "–")
    Console(width=130).print(table)
    lines = []
    for each in rows:
        size = f"{PERSONS} records, {each.answered} answers, {each.way}, limit {each.risk:g}"
        for what, ours, theirs in (("median", each.median, RIVAL[0]), ("worst", each.worst, RIVAL[1])):
            name = "published auditor of sums (elsewhere)"
            lines.append(Line(f"a decision, {what}", given.values, size, ours, name, theirs))
    write(given.json, lines, [asdict(each) for each in rows])


if __name__ == "__main__":
    main()
