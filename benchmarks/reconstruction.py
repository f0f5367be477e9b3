"""The real reconstruction attack (Cohen & Nissim 2020), all of it, against the gate: 73 loans, 73 bits.

Run as `python -m benchmarks.reconstruction`. The 3,994 queries that were asked of a commercial system are
asked of a gate with an empty ledger, in their order, in both modes of decision and with and without insiders.
Afterwards integer programs (SciPy's, over the ledger's sums alone; no code of the package's inference) look
for a table for each record and either value: a record with only one is *determined*. Then for each two
records and each pair of values: if knowing one bit settles another, that pair is *determined by an insider*
(which only `insiders = 1` promises to prevent). What no program decides in time is looked up among the
tables that the gate has and mixes, each of them checked against every sum. And the attack itself is run:
the least-error bits for all answers, rounded; *guessed* counts those that are right, *chance* what the
commoner value for everybody gets.

Some refusals are looked at in the same way: *harmless* are those of which the true answer, beside what was
known then, would have determined nobody. In the simulatable mode some of them are refused for good reason,
since hypothetical answers decide.

The rivals, from the same run: a database without a gate (all sums, exact), and the attacked system, with the
noisy answers that it gave.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations, product
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import optimize, sparse

from auditor import Gate, Policy, QueryRefused
from benchmarks._data import peak_megabytes, shown, timed
from benchmarks._results import Line, options, write
from cae_sql import AnsweredSystem

ATTACK = Path(__file__).resolve().parents[2] / "shared" / "data" / "attack"
LOANS, QUERIES = ATTACK / "loans_2000_3000.csv.gz", ATTACK / "queries_2000_3000.csv.gz"
MODES = ("simulatable", "answer-dependent")
PROGRAM_SECONDS, CHECK_SECONDS = 30.0, 240.0
"""Limits of one integer program, and of all pairs of one outcome; what is not solved stays undecided."""
MIXED = 400
"""Times that the gate's tables are mixed to see what they show."""
LOOKED_AT, PROBE_SECONDS = 5, 30.0
"""Refusals that are looked at, and the limit for the pairs of each."""
COLUMNS = (
    *(
        "against",
        "insiders",
        "answered",
        "new",
        "rank",
        "risk",
        "time",
        "surprises",
        "determined",
        "by an insider",
    ),
    *("undecided", "unseen", "harmless : not", "guessed", "median", "worst", "all", "checked in"),
)
POLICY = """
[protect]
table = "loans"
column = "good"
minimum = 0
maximum = 1
step = 1
public = ["client_id"]
[intruder]
insiders = {insiders}
[limit]
risk = 0.5
[decision]
mode = "{mode}"
timeout = {timeout}
"""

Matrix = NDArray[np.float64]


@dataclass
class Outcome:
    """What became of the attack against one opponent."""

    against: str
    insiders: int
    codes: Counter[str] = field(default_factory=Counter)
    sums: int = 0
    """New answers on record."""
    rank: int = 0
    surprises: int = 0
    determined: int = 0
    """Records that have one possible value."""
    pairs: int = 0
    """Pairs of records of which knowing the one may settle the other."""
    undecided: int = 0
    """Values and pairs for which programs came to no end in time ..."""
    unseen: int = 0
    """... and for which no table was at hand either."""
    guessed: int = 0
    harmless: int = 0
    """Of the refusals looked at, those whose true answer would have determined nobody."""
    harmful: int = 0
    seconds: list[float] = field(default_factory=list)
    checking: float = 0.0
    peak_megabytes: float = 0.0


def tables(matrix: Matrix, sums: Matrix, fixed: dict[int, int]) -> NDArray[np.int64] | bool:
    """A table of bits that agrees with all sums and has these values; False: there is none, True: unknown."""
    count = matrix.shape[1]
    low, high = np.zeros(count), np.ones(count)
    for record, value in fixed.items():
        low[record] = high[record] = value
    constraints = [optimize.LinearConstraint(sparse.csr_array(matrix), sums, sums)] if len(sums) else []
    found = optimize.milp(
        np.zeros(count),
        constraints=constraints,
        integrality=np.ones(count),
        bounds=optimize.Bounds(low, high),
        options={"time_limit": PROGRAM_SECONDS},
    )
    if found.x is None:
        return bool(found.status != 2)
    table: NDArray[np.int64] = np.rint(found.x).astype(np.int64)
    if (matrix @ table != sums).any():
        return True
    return table


def independent(matrix: Matrix, sums: Matrix) -> tuple[Matrix, Matrix]:
    """Rows that say what all rows say: independent modulo a prime. Tables are checked with all rows."""
    kept: list[int] = []
    basis: list[list[int]] = []
    prime = 2**61 - 1
    for place, row in enumerate(matrix.astype(np.int64).tolist()):
        rest = row
        for known in basis:
            lead = next(at for at, value in enumerate(known) if value)
            if rest[lead]:
                factor = rest[lead]
                rest = [(a - factor * b) % prime for a, b in zip(rest, known, strict=True)]
        first = next((at for at, value in enumerate(rest) if value), None)
        if first is not None:
            inverse = pow(rest[first], -1, prime)
            basis.append([value * inverse % prime for value in rest])
            kept.append(place)
    return matrix[kept], sums[kept]


def wanted(records: int) -> Iterator[dict[int, int]]:
    """Values that some table must have: each of each record, then each two of each two records."""
    for record, value in product(range(records), (0, 1)):
        yield {record: value}
    for one, other in combinations(range(records), 2):
        for values in product((0, 1), repeat=2):
            yield dict(zip((one, other), values, strict=True))


def determine(
    outcome: Outcome,
    whole: Matrix,
    told: Matrix,
    seconds: float = CHECK_SECONDS,
    listed: NDArray[np.int8] | None = None,
) -> None:
    """Count who is determined; a table that was found serves everything that it has.

    Args:
        outcome: Filled.
        whole: (q, n) coefficients of all sums.
        told: (q,) the sums.
        seconds: For all pairs.
        listed: (m, n) tables that somebody else came to, for what programs leave undecided.
    """
    if listed is not None and (listed @ whole.T.astype(np.int64) != told).any():
        raise AssertionError("a listed table that does not agree with the sums")
    matrix, sums = independent(whole, told)
    outcome.rank = len(sums)
    seen = np.zeros((0, matrix.shape[1]), dtype=np.int64)
    single: dict[int, int] = {}
    pairs = set[tuple[int, ...]]()
    end = time.monotonic() + seconds
    for fixed in wanted(matrix.shape[1]):
        names, values = list(fixed), list(fixed.values())
        if len(fixed) == 2 and any(name in single for name in names):
            continue  # a value that is known already tells nothing; that record is counted
        if (seen[:, names] == values).all(axis=1).any():
            continue
        late = len(fixed) == 2 and time.monotonic() > end
        found = True if late else tables(matrix, sums, fixed)
        if isinstance(found, np.ndarray):
            if (whole @ found != told).any():
                raise AssertionError("a table that agrees with some answers and not with the rest")
            seen = np.vstack([seen, found])
        elif found:
            outcome.undecided += 1
            outcome.unseen += int(listed is None or not (listed[:, names] == values).all(axis=1).any())
        elif len(fixed) == 1:
            single[names[0]] = 1 - values[0]
        else:
            pairs.add(tuple(names))
    outcome.determined, outcome.pairs = len(single), len(pairs)


def attacked(matrix: Matrix, answers: Matrix) -> NDArray[np.int64]:
    """The attack: bits in [0, 1] with the least sum of errors, rounded."""
    rows, count = matrix.shape
    if not rows:
        return np.zeros(count, dtype=np.int64)
    one = sparse.identity(rows)
    A = sparse.vstack([sparse.hstack([matrix, -one]), sparse.hstack([-matrix, -one])])
    solved = optimize.linprog(
        np.concatenate([np.zeros(count), np.ones(rows)]),
        A_ub=A.tocsr(),
        b_ub=np.concatenate([answers, -answers]),
        bounds=[(0, 1)] * count + [(0, None)] * rows,
    )
    bits: NDArray[np.int64] = (solved.x[:count] > 0.5).astype(np.int64)
    return bits


def asked(
    database: Path, statements: Sequence[str], everything: Matrix, mode: str, insiders: int, timeout: float
) -> Outcome:
    """The whole attack against a gate, and what can be said of its records afterwards."""
    outcome, refused = Outcome(mode, insiders), list[tuple[int, int]]()
    policy = Policy.parse(POLICY.format(mode=mode, insiders=insiders, timeout=timeout))
    with Gate.open(database, policy, database.with_suffix(f".{mode}.{insiders}.ledger")) as gate:
        for number, sql in enumerate(statements):
            with timed() as watch:
                try:
                    code = gate.execute(sql).decision.code
                except QueryRefused as error:
                    code = error.decision.code
                    refused.append((number, outcome.codes["answered"]))
            outcome.codes[code] += 1
            outcome.seconds.append(watch.seconds)
        outcome.peak_megabytes = peak_megabytes()
        outcome.surprises = int(gate.history()["surprise"].sum())
        known = [each for entry in gate._ledger.entries() for each in entry.answers if each.kind == "sum"]
        values = gate._database.vaults[0].integers
        system = gate._knowledge.of("analyst").columns[0].system
        listed = mixed(system)[:, : len(values)] if system.pool().knowledge is not None else None
    matrix = np.zeros((len(known), len(values)))
    for place, each in enumerate(known):
        matrix[place, each.records] = 1 if each.signs is None else each.signs
    sums = np.array([float(each.value) for each in known])
    if (matrix @ values != sums).any():
        raise AssertionError("what was released is not exact")
    judged(outcome, matrix, sums, values, listed)
    if len(sums) != outcome.codes["answered"]:
        return outcome  # which answers were known at a refusal is not plain then
    for place in np.random.default_rng(1).permutation(len(refused))[:LOOKED_AT].tolist():
        number, known = refused[place]
        row = everything[number]
        probe = Outcome(mode, insiders)
        determine(
            probe, np.vstack([matrix[:known], row]), np.append(sums[:known], row @ values), PROBE_SECONDS
        )
        harm = probe.determined > 0 or (insiders > 0 and probe.pairs > 0)
        outcome.harmful += harm
        outcome.harmless += not harm and not probe.undecided
    return outcome


def mixed(system: AnsweredSystem) -> NDArray[np.int8]:
    """Tables at hand, and what moves make of them: whether they agree with the answers is seen later.

    Without spare records.
    """
    pool = system.pool()
    found = [pool.drawn_from(len(pool.values), turn, system.roomy_table).values for turn in range(MIXED)]
    return np.unique(np.vstack(found).astype(np.int8), axis=0)


def judged(
    outcome: Outcome,
    matrix: Matrix,
    sums: Matrix,
    values: NDArray[np.int64],
    listed: NDArray[np.int8] | None = None,
) -> None:
    """What the sums give away."""
    with timed() as checking:
        outcome.sums = len(sums)
        determine(outcome, matrix, sums, listed=listed)
        outcome.guessed = int((attacked(matrix, sums) == values).sum())
    outcome.checking = checking.seconds


def rivals(database: Path, statements: Sequence[str], noisy: Matrix) -> tuple[Matrix, Outcome, Outcome]:
    """Whom each statement covers; without a gate; and the attacked system, by the answers that it gave."""
    with duckdb.connect(str(database), read_only=True) as connection:
        ids = [row[0] for row in connection.execute("SELECT client_id FROM loans ORDER BY rowid").fetchall()]
        place = {name: at for at, name in enumerate(ids)}
        matrix = np.zeros((len(statements), len(ids)))
        plain = Outcome("no gate", 0)
        for row, sql in enumerate(statements):
            found = connection.execute(sql.replace("sum(good)", "list(client_id)", 1)).fetchall()[0][0]
            matrix[row, [place[name] for name in found or []]] = 1
            with timed() as watch:
                connection.execute(sql).fetchall()
            plain.seconds.append(watch.seconds)
        bits = connection.execute("SELECT good FROM loans ORDER BY rowid").fetchnumpy()["good"]
    values = np.asarray(bits, dtype=np.int64)
    plain.codes["answered"] = len(statements)
    judged(plain, matrix, matrix @ values, values)
    attackable = Outcome("the attacked system (noise)", 0, sums=len(statements))
    attackable.codes["answered"] = len(statements)
    with timed() as checking:
        attackable.guessed = int((attacked(matrix, noisy) == values).sum())
    attackable.checking = checking.seconds
    return matrix, plain, attackable


def answered(outcome: Outcome) -> int:
    """Statements, those that past answers settled among them."""
    return outcome.codes["answered"] + outcome.codes["known"]


def cells(outcome: Outcome) -> list[str]:
    """As the table shows them."""
    codes, seconds = outcome.codes, outcome.seconds
    noisy = outcome.against.startswith("the attacked")
    times = (
        [f"{np.median(seconds) * 1e3:.1f} ms", shown(max(seconds)), shown(sum(seconds))]
        if seconds
        else ["–"] * 3
    )
    judged_counts = outcome.determined, outcome.pairs, outcome.undecided, outcome.unseen
    return [
        *(
            outcome.against,
            str(outcome.insiders),
            str(answered(outcome)),
            str(outcome.sums),
            str(outcome.rank),
        ),
        *(str(codes["risk"]), str(codes["time"]), str(outcome.surprises)),
        *(["–"] * 4 if noisy else map(str, judged_counts)),
        f"{outcome.harmless} : {outcome.harmful}" if outcome.codes["risk"] + outcome.codes["time"] else "–",
        *(str(outcome.guessed), *times, shown(outcome.checking)),
    ]


def lines(outcomes: Sequence[Outcome], plain: Outcome) -> list[Line]:
    """Of the table of all benchmarks."""
    told = []
    for each in outcomes:
        size = f"73 records, {sum(each.codes.values()):,} queries, {each.against}, insiders {each.insiders}"
        told.append(
            Line(
                *("real attack: records determined", "loans", size, each.determined, "no gate"),
                *(plain.determined, "records"),
            )
        )
        told.append(
            Line(
                *("real attack: time in all", "loans", size, sum(each.seconds), "no gate"),
                sum(plain.seconds),
                peak_megabytes=each.peak_megabytes,
            )
        )
        told.append(
            Line(
                "real attack: queries answered",
                "loans",
                size,
                answered(each),
                "no gate",
                answered(plain),
                "queries",
            )
        )
        looked = each.harmless + each.harmful
        if looked:
            size = f"{looked} refusals, {each.against}, insiders {each.insiders}"
            what = "real attack: harmless refusals"
            told.append(Line(what, "loans", size, each.harmless / looked, "unlimited MILP", 0.0, "share"))
    return told


def main(arguments: list[str] | None = None) -> None:
    parser = options("reconstruction", __doc__)
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--insiders", type=int, nargs="+", choices=(0, 1), default=[0, 1])
    parser.add_argument("--queries", type=int, help="only so many of the 3,994")
    parser.add_argument("--timeout", type=float, default=10.0, help="of a decision")
    given = parser.parse_args(arguments)
    console = Console(width=190)
    if not LOANS.is_file():
        console.print("the data are not beside the project (../shared/data)")
        return
    if given.quick:
        given.queries, given.timeout, given.modes, given.insiders = 3, 0.3, ["simulatable"], [1]
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as reading:
        database = Path(folder) / "loans.duckdb"
        with duckdb.connect(str(database)) as connection:
            connection.execute(f"CREATE TABLE loans AS SELECT client_id, good FROM read_csv('{LOANS}')")
        found = reading.execute(
            "SELECT sum_sql, noisy_answer FROM read_csv(?) ORDER BY number", [str(QUERIES)]
        ).fetchall()[: given.queries]
        statements, noisy = [row[0] for row in found], np.array([float(row[1]) for row in found])
        outcomes = []
        everything, plain, attackable = rivals(database, statements, noisy)
        for mode in given.modes:
            for insiders in given.insiders:
                outcomes.append(
                    outcome := asked(database, statements, everything, mode, insiders, given.timeout)
                )
                console.print(f"{mode}, insiders {insiders}: {shown(sum(outcome.seconds))}", style="dim")
                kept = [asdict(each) for each in (plain, attackable, *outcomes)]
                write(given.json, lines(outcomes, plain), kept)  # after each: a long run may be cut short
        with duckdb.connect(str(database), read_only=True) as connection:
            ones = connection.execute("SELECT sum(good), count(*) FROM loans").fetchall()[0]
    table = Table(title=f"The real attack: {len(statements):,} queries about {ones[1]} records")
    for number, name in enumerate(COLUMNS):
        table.add_column(name, justify="left" if not number else "right")
    for outcome in (*outcomes, plain, attackable):
        table.add_row(*cells(outcome))
    console.print(table)
    console.print(f"Guessed by chance: {max(ones[0], ones[1] - ones[0])} of {ones[1]}.")


if __name__ == "__main__":
    main()
