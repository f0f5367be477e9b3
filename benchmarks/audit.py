"""Audits of logs: a real reconstruction attack, a server's log, a million statements, 99 % of them repeats.

Run as `python -m benchmarks.audit`. The attack (Cohen & Nissim 2020, `sum_sql`, exact answers) is audited in
the order in which it was asked: after how many statements the first and the last of the 73 were located, by
integers and by reals. The rival solves two linear programs for each record after each statement, over all
answers so far (SciPy's HiGHS); its time is extrapolated from a sample of records at a sample of statements.

The synthetic log asks of Adult's hours per week: 200 dashboard statements by groups, repeated by a program,
and 1 % analysts' statements, all different, by six people. There is no rival: the time of all of it, and the
peak of memory. The server's log is PostgreSQL's, with pgaudit, of ACS: two analysts, a dashboard, a
differencing attack. Seconds are those of the processor.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import numpy as np
from rich.console import Console
from scipy.optimize import linprog

from auditor import Policy, audit
from auditor.history.findings import Findings
from auditor.history.readers import read
from auditor.history.statement import Logged
from benchmarks._data import ACS, ADULT, peak_megabytes, shown, timed
from benchmarks._results import Line, options, write

ATTACK = Path(__file__).resolve().parents[2] / "shared" / "data" / "attack"
LOANS, QUERIES = ATTACK / "loans_2000_3000.csv.gz", ATTACK / "queries_2000_3000.csv.gz"
LOG = ATTACK.parent / "logs" / "log_statement_all_pgaudit.log"
POLICY = """
[protect]
table = "{table}"
column = "{column}"
minimum = {low}
maximum = {high}
step = 1
public = "all"
key = "{key}"
[intruder]
insiders = 0
knows = {knows}
[limit]
risk = 0.5
"""
SAMPLED, RECORDS = 12, 4
"""Statements of the attack at which the rival is timed, and records at each."""
GATE = 60.0
"""Seconds for asking a gate what it would have done, as is the default."""
DASHBOARDS, USERS = 200, 6
GROUPS = ("sex", "race", "workclass", "education", "marital_status", "relationship", "income", "occupation")


@dataclass
class Figures:
    """What came out."""

    seconds: dict[str, float] = field(default_factory=dict)
    found: dict[str, object] = field(default_factory=dict)


# --- the attack


def attack(folder: Path, most: int, figures: Figures) -> Line:
    """Audit it, and time the rival on a sample."""
    database = folder / "loans.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE TABLE loans AS SELECT client_id, good FROM read_csv(?)", [str(LOANS)])
        asked = [
            row[0]
            for row in connection.execute(
                "SELECT sum_sql FROM read_csv(?) ORDER BY number", [str(QUERIES)]
            ).fetchall()
        ][:most]
    rules = POLICY.format(table="loans", column="good", low=0, high=1, key="client_id", knows='["client_id"]')
    log = [Logged(number, sql, user="attacker") for number, sql in enumerate(asked, 1)]
    with timed(time.process_time) as watch:
        found = audit(database, Policy.parse(rules), log, gate_seconds=0)
    figures.seconds["attack"] = watch.seconds
    figures.found["attack"] = _fallen(found)
    theirs = _rival(database, asked)
    figures.seconds["attack, two programs a record"] = theirs
    size = f"{len(asked):,} statements, 73 records"
    return Line("audit of an attack", "Cohen & Nissim", size, watch.seconds, "two programs a record", theirs)


def _fallen(found: Findings) -> dict[str, object]:
    own = [each for each in found.findings if each.party == "everyone"]
    integers = sorted(each.first.number for each in own)
    reals = sorted(each.by_reals.number for each in own if each.by_reals is not None)
    terms = sorted(len(each.certificate.terms) for each in own)
    return {
        "located": len(own),
        "by integers, first and last": integers[:1] + integers[-1:],
        "by reals, first and last": reals[:1] + reals[-1:],
        "by reals": len(reals),
        "answers in a certificate, least, median, most": [terms[0], terms[len(terms) // 2], terms[-1]]
        if terms
        else [],
        "proofs": sorted({each.certificate.proof for each in own}),
    }


def _rival(database: Path, asked: list[str]) -> float:
    """Seconds for two programs for each record after each statement."""
    rows, sums = _answers(database, asked)
    places = np.unique(np.linspace(1, len(asked), SAMPLED).astype(int))
    each = []
    count = rows.shape[1]
    for place in places.tolist():
        began = time.process_time()
        for record in range(RECORDS):
            costs = np.zeros(count)
            for sign in (1, -1):
                costs[record * count // RECORDS] = sign
                linprog(costs, A_eq=rows[:place], b_eq=sums[:place], bounds=(0, 1))
        each.append((time.process_time() - began) / RECORDS)
    return float(np.trapezoid(each, places) * count)


def _answers(database: Path, asked: list[str]) -> tuple[np.ndarray, np.ndarray]:
    rows, sums = [], []
    with duckdb.connect(str(database), read_only=True) as connection:
        everybody = [
            row[0] for row in connection.execute("SELECT client_id FROM loans ORDER BY client_id").fetchall()
        ]
        place = {client: number for number, client in enumerate(everybody)}
        for sql in asked:
            row = np.zeros(len(everybody))
            total = 0.0
            found = connection.execute(sql.replace("sum(good)", "client_id, good")).fetchall()
            for client, good in found:
                row[place[client]] = 1
                total += good
            rows.append(row)
            sums.append(total)
    return np.array(rows), np.array(sums)


# --- a server's log


def server(folder: Path, figures: Figures, gate_seconds: float, most: int | None) -> Line:
    """Audit what a PostgreSQL server has logged, or so many of its statements."""
    database = folder / "acs.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE TABLE person AS SELECT * FROM read_csv(?)", [str(ACS)])
    rules = POLICY.format(table="person", column="salary", low=10, high=250, key="id", knows='["id"]')
    rules = rules.replace("step = 1\n", "step = 10\n")
    log = list(read([LOG]))[:most]
    with timed() as wall, timed(_of_all_processes) as watch:
        found = audit(database, Policy.parse(rules), log, gate_seconds=gate_seconds)
    figures.seconds["server's log"], figures.seconds["server's log, by the clock"] = (
        watch.seconds,
        wall.seconds,
    )
    figures.found["server's log"] = {
        "parties": [(each.party, each.statements, each.answers, each.located) for each in found.parties],
        "likely": [(each.party, each.likely) for each in found.parties],
        "gate": str(found.parties[0].gate),
        "kinds": dict(found.kinds),
        "partial": found.partial,
    }
    size = f"{len(log)} statements, 2,435 records"
    return Line("audit of a server's log", "ACS", size, watch.seconds, peak_megabytes=peak_megabytes())


def _of_all_processes() -> float:
    """Seconds of the processor, of processes that have ended too: a gate is asked in one of its own."""
    return sum(os.times()[:4])


# --- a million statements


def dashboards() -> list[str]:
    """What a program asks again and again: sums and averages by one or two groups, some under a condition."""
    pairs = [(one, other) for place, one in enumerate(GROUPS[:7]) for other in GROUPS[place + 1 : 7]]
    found = [f"SELECT {one}, COUNT(*), AVG(hours_per_week) FROM adult GROUP BY {one}" for one in GROUPS]
    found += [
        f"SELECT {one}, {other}, SUM(hours_per_week) FROM adult GROUP BY {one}, {other} HAVING COUNT(*) >= 10"
        for one, other in pairs
    ]
    found += [
        f"SELECT {one}, AVG(hours_per_week) AS hours FROM adult WHERE age BETWEEN {age} AND {age + 9} "
        f"GROUP BY {one} ORDER BY hours"
        for one in ("sex", "race", "income") for age in range(20, 70, 5)
    ]  # fmt: skip
    extra = [
        f"SELECT COUNT(*), SUM(hours_per_week) FROM adult WHERE education_num >= {n} AND sex = '{sex}'"
        for n in range(2, 17)
        for sex in ("Male", "Female")
    ]
    found += extra + [
        f"SELECT {one}, COUNT(*) FROM adult WHERE age > {age} GROUP BY {one}"
        for one in GROUPS
        for age in range(20, 80, 4)
    ]
    return found[:DASHBOARDS]


def statements(count: int, seed: int = 7) -> Iterator[Logged]:
    """So many statements; one in a hundred an analyst's own."""
    chance = np.random.default_rng(seed)
    often = dashboards()
    own = set(chance.choice(count, count // 100, replace=False).tolist())
    picks = chance.integers(0, len(often), count)
    seen = 0
    for number in range(count):
        if number not in own:
            yield Logged(number + 1, often[int(picks[number])], user="dashboard", application="board")
            continue
        seen += 1
        low = 17 + int(chance.integers(0, 60))
        high = low + int(chance.integers(3, 30))
        sex, least = ("Male", "Female")[int(chance.integers(0, 2))], int(chance.integers(1, 14))
        sql = (
            f"SELECT AVG(hours_per_week) FROM adult /* {seen} */ WHERE age BETWEEN {low} AND {high} "
            f"AND sex = '{sex}' AND education_num >= {least}"
        )
        yield Logged(number + 1, sql, user=f"analyst{seen % USERS}")


def repeats(folder: Path, count: int, figures: Figures) -> Line:
    """Audit the synthetic log."""
    database = folder / "adult.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute(
            "CREATE TABLE adult AS SELECT row_number() OVER () AS id, age, sex, race, workclass, "
            "education, education_num, marital_status, relationship, occupation, income, hours_per_week "
            "FROM read_csv(?)",
            [str(ADULT)],
        )
    rules = POLICY.format(
        table="adult", column="hours_per_week", low=1, high=99, key="id", knows='["age", "sex", "education"]'
    )
    with timed() as wall, timed(time.process_time) as watch:
        found = audit(database, Policy.parse(rules), statements(count), gate_seconds=0)
    figures.seconds["repeats"], figures.seconds["repeats, by the clock"] = watch.seconds, wall.seconds
    figures.found["repeats"] = {
        "parties": [
            (each.party, each.statements, each.answers, each.located, each.open) for each in found.parties
        ],
        "kinds": dict(found.kinds),
        "partial": found.partial,
    }
    size = f"{count:,} statements, 45,222 records"
    return Line("audit of a dashboard's log", "Adult", size, watch.seconds, peak_megabytes=peak_megabytes())


def main(arguments: list[str] | None = None) -> None:
    """Run both, print the lines."""
    parser = options("audit", __doc__)
    parser.add_argument("--studies", default="attack,repeats,server", help="which, with commas between")
    parser.add_argument("--statements", type=int, default=1_000_000, help="of the synthetic log")
    given = parser.parse_args(arguments)
    console = Console(width=140)
    figures, lines = Figures(), []
    with tempfile.TemporaryDirectory() as name:
        if "repeats" in given.studies and ADULT.is_file():
            lines.append(repeats(Path(name), 100 if given.quick else given.statements, figures))
        if "server" in given.studies and LOG.is_file():
            lines.append(server(Path(name), figures, *((0.5, 12) if given.quick else (GATE, None))))
        if "attack" in given.studies and QUERIES.is_file():
            lines.append(attack(Path(name), 4 if given.quick else 10**6, figures))
    for line in lines:
        console.print(*line.cells(), sep=" | ")
    for what, found in figures.found.items():
        console.print(what, found)
    console.print({what: shown(seconds) for what, seconds in figures.seconds.items()})
    write(given.json, lines, {"seconds": figures.seconds, "found": figures.found})


if __name__ == "__main__":
    main()
