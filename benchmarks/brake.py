"""A thousand random ranges against single persons, with the brake and without it.

    python -m benchmarks.brake [--ranges 1000] [--people 100] [--attack random]

Ranges hold the truth and are told again the same, so many of them can be solved like noisy answers are (Dinur
and Nissim 2003). Five attackers ask for `AT_LEAST` and `AT_MOST` alone: *star* for counts that are about one
person and forty others, each time others; *counts* for counts and medians of random halves of some people
with six values; *random* for sums as well; *weighted* for sums with public weights of 1 to 3 of random
halves; *real* puts the statements of the attack on 73 bits of 2019. Each asks a gate with
`candidates = "posterior"`, where what is made likely counts (the brake), and one with `"interval"`, where
exclusion alone does.

What they know then is worked out in four ways, none of which shares code with the gate:

- *star*: the posterior of the one is counted, since all others are independent then: *worst*.
- *programs*: the distribution of each person's value that is nearest the middles of all ranges and inside of
  them, by linear programming (LP decoding), and by bounded least squares; its likeliest values are the guess.
  *chance* is what the commonest value for everybody gets.
- *determined*: persons with one value left, by integer programs, of bits.
- *walks*: long random walks over the tables that agree with every range, of counts, medians and weighted
  sums, where single persons can move. *worst* is the greatest risk of one person, against the average of all;
  *beyond* how many are past the limit. Two walks begin at the truth with other seeds: *apart* is the greatest
  difference of the two in one person's risk.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import duckdb
import numba
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy import optimize, sparse, stats

from auditor import Gate, Policy, QueryRefused
from benchmarks._results import Line, options, write
from benchmarks.reconstruction import LOANS, QUERIES
from cae_sql import cae_area

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ATTACKS = ("star", "counts", "random", "weighted", "real")
LIMIT = 0.5
OTHERS = 40
"""Of each range of the star."""
VALUES = 6
"""From 0, in steps of 1."""
HEADS = (
    "attack", "candidates", "asked", "told", "exactly", "LP", "least squares", "chance", "determined",
    "worst", "beyond", "apart",
)  # fmt: skip
POLICY = """
[protect]
table = "people"
column = "x"
minimum = 0
maximum = {most}
step = 1
public = ["id", "w"]
[intruder]
candidates = "{candidates}"
[limit]
risk = {risk}
[decision]
timeout = 60
"""


@dataclass(frozen=True)
class Question:
    """A statistic of some people, between two functions that ask for its ends."""

    sql: str
    """The aggregate."""
    where: str
    members: Ints
    weights: tuple[float, ...]
    """What each value adds to a sum or a count; of a median empty."""
    by: Ints | None = None
    """Public weights of the members, if these count."""


@dataclass(frozen=True)
class Bound:
    """One thing that is known: a weighted count of some people's values lies between two numbers."""

    members: Ints
    weights: tuple[float, ...]
    low: float
    high: float
    by: Ints | None = None
    """(m,) how many times each member counts; None: once."""

    @property
    def times(self) -> Ints:
        return np.ones(len(self.members), np.int64) if self.by is None else self.by


@dataclass
class Row:
    """One attack on one gate."""

    attack: str
    candidates: str
    asked: int = 0
    told: int = 0
    exact: int = 0
    linear: float = float("nan")
    squares: float = float("nan")
    chance: float = float("nan")
    determined: int | None = None
    worst: float = float("nan")
    beyond: int | None = None
    apart: float = float("nan")
    bounds: list[Bound] = field(default_factory=list)

    def cells(self) -> list[str]:
        """As the table shows them."""
        found = []
        for value in list(self.__dict__.values())[: len(HEADS)]:
            shown = f"{value:.2f}" if isinstance(value, float) else "–" if value is None else str(value)
            found.append("–" if shown == "nan" else shown)
        return found


def random_questions(table: Ints, count: int, sums: bool, seed: int) -> Iterator[Question]:
    """Of random halves: sums, counts at random limits, medians."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        members = np.sort(rng.choice(len(table), len(table) // 2, replace=False))
        where = f"id IN ({', '.join(map(str, members.tolist()))})"
        kind = number % 3 if sums else 1 + (number % 4 == 3)
        limit = int(rng.integers(1, VALUES))
        if kind == 0:
            yield Question("SUM(x)", where, members, tuple(map(float, range(VALUES))))
        elif kind == 1:
            weights = tuple(float(value >= limit) for value in range(VALUES))
            yield Question(f"COUNT_IF(x >= {limit})", where, members, weights)
        else:
            yield Question("QUANTILE_DISC(x, 0.5)", where, members, ())


def weights_of(size: int) -> Ints:
    """A public column of 1 to 3."""
    return np.random.default_rng(size).integers(1, 4, size)


def weighted_questions(table: Ints, count: int, seed: int) -> Iterator[Question]:
    """Sums with public weights, of random halves."""
    rng, weights = np.random.default_rng(seed), weights_of(len(table))
    for _ in range(count):
        members = np.sort(rng.choice(len(table), len(table) // 2, replace=False))
        where = f"id IN ({', '.join(map(str, members.tolist()))})"
        yield Question("SUM(x * w)", where, members, tuple(map(float, range(VALUES))), weights[members])


def star_questions(ranges: int, seed: int) -> tuple[Ints, list[Question]]:
    """Counts about the first person and others, each time others, at limits that take turns."""
    rng, found = np.random.default_rng(seed), list[Question]()
    table = rng.integers(0, VALUES, 1 + ranges * OTHERS)
    for number in range(ranges):
        first, limit = 1 + number * OTHERS, 1 + number % (VALUES - 1)
        where = f"id = 0 OR id BETWEEN {first} AND {first + OTHERS - 1}"
        members = np.append(0, np.arange(first, first + OTHERS))
        weights = tuple(float(value >= limit) for value in range(VALUES))
        found.append(Question(f"COUNT_IF(x >= {limit})", where, members, weights))
    return table, found


def star_risk(bounds: Sequence[Bound]) -> float:
    """Of the first person, counted: each of the others has any value alike, and is in one range."""
    logs = np.zeros(VALUES)
    for each in bounds:
        chance = sum(each.weights) / VALUES
        for own, weight in enumerate(each.weights):
            ends = stats.binom.cdf([each.low - 1 - weight, each.high - weight], OTHERS, chance)
            logs[own] += np.log(max(ends[1] - ends[0], 1e-300))
    chances = np.exp(logs - logs.max())
    values = list(range(VALUES))
    return 1 - cae_area(values, (chances / chances.sum()).tolist()) / cae_area(values)


def real_questions(count: int) -> tuple[Ints, list[Question]]:
    """The bits of the real attack, and the first of its sums that are about somebody."""
    with duckdb.connect() as plain:
        plain.execute(
            f"CREATE TABLE loans AS SELECT client_id, good FROM read_csv('{LOANS}') ORDER BY client_id"
        )
        rows = plain.execute("SELECT client_id, good FROM loans ORDER BY client_id").fetchall()
        texts = plain.execute(f"SELECT sum_sql FROM read_csv('{QUERIES}') ORDER BY number").fetchall()
        place, found = {row[0]: number for number, row in enumerate(rows)}, list[Question]()
        for (text,) in texts:
            where = re.split(r"\bWHERE\b", text, maxsplit=1)[1].strip()
            chosen = plain.execute(f"SELECT client_id FROM loans WHERE {where}").fetchall()
            members = np.array(sorted(place[row[0]] for row in chosen), np.int64)
            if len(members):
                listed = f"id IN ({', '.join(map(str, members.tolist()))})"
                found.append(Question("SUM(x)", listed, members, (0.0, 1.0)))
            if len(found) == count:
                break
    return np.array([row[1] for row in rows], np.int64), found


def asked(
    row: Row, table: Ints, most: int, questions: Sequence[Question], console: Console, risk: float = LIMIT
) -> None:
    """Put all questions to a gate of its own; what is told must hold."""
    policy = Policy.parse(POLICY.format(most=most, candidates=row.candidates, risk=risk))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.duckdb"
        with duckdb.connect(str(path)) as plain:
            plain.execute("CREATE TABLE people (id INTEGER, x INTEGER, w INTEGER)")
            rows = zip(range(len(table)), table.tolist(), weights_of(len(table)).tolist(), strict=True)
            plain.executemany("INSERT INTO people VALUES (?, ?, ?)", [list(each) for each in rows])
        with Gate.open(path, policy) as gate:
            for each in track(questions, f"{row.attack}, {row.candidates}", console=console):
                row.asked += 1
                sql = f"SELECT AT_LEAST({each.sql}), AT_MOST({each.sql}) FROM people WHERE {each.where}"
                try:
                    ((low, high),) = gate.execute(sql).fetchall()
                except QueryRefused:
                    continue
                if low is None:
                    continue
                row.told += 1
                row.exact += low == high
                found = list(bounds_of(each, low, high, most))
                assert all(holds(bound, table) for bound in found), (sql, low, high)
                row.bounds += found


def bounds_of(question: Question, low: float, high: float, most: int) -> Iterator[Bound]:
    """A range as what it says of weighted counts: of a median two counts."""
    size, values = len(question.members), range(most + 1)
    if question.weights:
        yield Bound(question.members, question.weights, low, high, question.by)
        return
    middle = -(-size // 2)
    yield Bound(question.members, tuple(float(value < low) for value in values), 0, middle - 1)
    yield Bound(question.members, tuple(float(value <= high) for value in values), middle, size)


def holds(bound: Bound, table: Ints) -> bool:
    """Whether a bound is true of a table."""
    value = float(bound.times @ np.asarray(bound.weights)[table[bound.members]])
    return bound.low - 1e-9 <= value <= bound.high + 1e-9


def matrix(bounds: Sequence[Bound], size: int, most: int) -> tuple[sparse.csr_matrix, Floats, Floats]:
    """What is known as rows over the chances of each person's values, and that these add up to 1."""
    width = most + 1
    rows = np.zeros((len(bounds), size * width))
    for number, each in enumerate(bounds):
        for value, weight in enumerate(each.weights):
            rows[number, each.members * width + value] = weight * each.times
    own = sparse.kron(sparse.eye(size), np.ones((1, width)))
    low = np.concatenate([[each.low for each in bounds], np.ones(size)])
    high = np.concatenate([[each.high for each in bounds], np.ones(size)])
    return sparse.csr_matrix(sparse.vstack([sparse.csr_matrix(rows), own])), low, high


def decoded(bounds: Sequence[Bound], size: int, most: int) -> tuple[Ints, Ints]:
    """The likeliest values by linear programming, and by bounded least squares."""
    known, low, high = matrix(bounds, size, most)
    middle, count = (low + high) / 2, known.shape[1]
    off = sparse.eye(known.shape[0])
    result = optimize.linprog(
        np.concatenate([np.zeros(count), np.ones(known.shape[0])]),
        A_ub=sparse.vstack([sparse.hstack([known, -off]), sparse.hstack([-known, -off])]),
        b_ub=np.concatenate([middle, -middle]),
        bounds=[(0, 1)] * count + [(0, each) for each in (high - low) / 2 + 1e-9],
        method="highs-ipm",
    )
    linear = result.x[:count] if result.x is not None else np.zeros(count)
    squares = optimize.lsq_linear(known, middle, bounds=(0, 1), max_iter=200).x
    shape = size, most + 1
    return linear.reshape(shape).argmax(1), squares.reshape(shape).argmax(1)


def determined(bounds: Sequence[Bound], table: Ints) -> int:
    """People of whom one bit is impossible, by integer programs."""
    rows = np.zeros((len(bounds), len(table)))
    for number, each in enumerate(bounds):
        rows[number, each.members] = 1
    rule = optimize.LinearConstraint(rows, [each.low for each in bounds], [each.high for each in bounds])
    found = 0
    for person, bit in enumerate(table.tolist()):
        low, high = np.zeros(len(table)), np.ones(len(table))
        low[person] = high[person] = 1 - bit
        answer = optimize.milp(
            np.zeros(len(table)), integrality=np.ones(len(table)), bounds=optimize.Bounds(low, high),
            constraints=[rule], options={"time_limit": 20.0},
        )  # fmt: skip
        found += answer.status == 2
    return found


@numba.njit
def walked(
    table: Ints, inside: Ints, weights: Floats, low: Floats, high: Floats, steps: int, seed: int, counts: Ints
) -> int:  # fmt: skip
    """Walk from a table to others that agree with everything; how many steps were possible.

    Args:
        table: (n,) values; changed.
        inside: (n, q) how many times a person counts in a bound.
        weights: (values, q) what each value adds to each bound.
        low: (q,) of each bound; `high`.
        steps: Changes of one value, and exchanges of two people's, that are tried.
        seed: Of the walk.
        counts: (n, values) how often each was met after the first fifth; added to.
    """
    np.random.seed(seed)
    size, made = len(table), 0
    at = np.zeros(len(low))
    for i in range(size):
        at += inside[i] * weights[table[i]]
    for step in range(steps):
        i, j = np.random.randint(size), np.random.randint(size)
        one, other = np.random.randint(weights.shape[0]), table[j]
        if step % 2:
            one, other = table[j], table[i]
        if i != j or step % 2 == 0:
            possible = True
            for q in range(len(low)):
                change = inside[i, q] * (weights[one, q] - weights[table[i], q])
                if step % 2:
                    change += inside[j, q] * (weights[other, q] - weights[table[j], q])
                if change != 0 and (at[q] + change < low[q] - 1e-9 or at[q] + change > high[q] + 1e-9):
                    possible = False
                    break
            if possible:
                at += inside[i] * (weights[one] - weights[table[i]])
                table[i] = one
                if step % 2:
                    at += inside[j] * (weights[other] - weights[table[j]])
                    table[j] = other
                made += 1
        if step >= steps // 5 and step % size == 0:
            for k in range(size):
                counts[k, table[k]] += 1
    return made


def posteriors(bounds: Sequence[Bound], table: Ints, most: int, steps: int, seed: int) -> Floats:
    """How often each person has each value in tables that agree with everything; (n, values)."""
    inside = np.zeros((len(table), len(bounds)), np.int64)
    for number, each in enumerate(bounds):
        inside[each.members, number] = each.times
    weights = np.array([each.weights for each in bounds]).T.copy()
    counts = np.zeros((len(table), most + 1), np.int64)
    ends = np.array([[each.low, each.high] for each in bounds], float).T
    walked(table.copy(), inside, weights, ends[0].copy(), ends[1].copy(), steps, seed, counts)
    return counts / counts.sum(1, keepdims=True)


def risks(chances: Floats) -> Floats:
    """1 − A / A of the average of all, person by person."""
    values = list(range(chances.shape[1]))
    whole = cae_area(values, chances.mean(0).tolist())
    return np.array([1 - cae_area(values, row.tolist()) / whole for row in chances])


def worked_out(row: Row, table: Ints, most: int, steps: int) -> None:
    """What an attacker makes of what is told."""
    row.chance = float(np.bincount(table).max() / len(table))
    if row.attack == "star":
        row.worst = star_risk(row.bounds)
        row.beyond = int(row.worst > LIMIT)
        return
    if not row.bounds:
        return
    guesses = decoded(row.bounds, len(table), most)
    row.linear, row.squares = (float((guess == table).mean()) for guess in guesses)
    if most == 1:
        row.determined = determined(row.bounds, table)
    if row.attack in ("counts", "weighted"):
        both = [risks(posteriors(row.bounds, table, most, steps, seed)) for seed in (1, 2)]
        mean = (both[0] + both[1]) / 2
        row.worst, row.beyond = float(mean.max()), int((mean > LIMIT).sum())
        row.apart = float(np.abs(both[0] - both[1]).max())


def attack(
    name: str, candidates: str, ranges: int, people: int, steps: int, console: Console, seed: int = 3
) -> Row:
    """One attack on one gate, to its end."""
    row = Row(name, candidates)
    most = 1 if name == "real" else VALUES - 1
    if name == "real":
        table, questions = real_questions(ranges)
    elif name == "star":
        table, questions = star_questions(ranges, seed)
    else:
        table = np.random.default_rng(seed).integers(0, VALUES, people)
        questions = list(random_questions(table, ranges, name == "random", seed))
        if name == "weighted":
            questions = list(weighted_questions(table, ranges, seed))
    asked(row, table, most, questions, console)
    worked_out(row, table, most, steps)
    return row


def main(arguments: list[str] | None = None) -> None:
    """Ask, solve, compare."""
    parser = options("brake", __doc__)
    parser.add_argument("--ranges", type=int, default=1_000)
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--attack", choices=ATTACKS)
    parser.add_argument("--millions", type=float, default=20, help="steps of each walk, in millions")
    given = parser.parse_args(arguments)
    ranges = min(given.ranges, 4) if given.quick else given.ranges
    steps = 200_000 if given.quick else int(given.millions * 1e6)
    console, lines, rows = Console(width=150), list[Line](), list[Row]()
    for name in ATTACKS:
        if given.attack not in (None, name) or (name == "real" and not LOANS.exists()):
            continue
        for candidates in ("interval", "posterior"):
            people = min(given.people, 40) if given.quick else given.people
            rows.append(attack(name, candidates, ranges, people, steps, console))
            shown = Table(*HEADS, title=f"{ranges} ranges, risk {LIMIT}")
            for row in rows:
                shown.add_row(*row.cells())
            console.print(shown)
    for row in rows:
        size = f"{row.told} of {row.asked} told"
        rival = "commonest value"
        if row.attack == "star":
            text = f"{row.attack}: risk of one person, {row.candidates}"
            lines.append(Line(text, "–", size, row.worst, "the limit", LIMIT, "share"))
            continue
        lines.append(
            Line(f"{row.attack} by LP, {row.candidates}", "–", size, row.linear, rival, row.chance, "share")
        )
    figures = [{key: value for key, value in asdict(row).items() if key != "bounds"} for row in rows]
    write(given.json, lines, {"attacks": figures})


if __name__ == "__main__":
    main()
