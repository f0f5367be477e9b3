"""What every attack's test shares: a small table, the attack with and without the gate, and who checks it.

`Onlooker` knows the domain and every answer on record, and finds for each record the values that it still can
have, one integer program after the other. It uses scipy and nothing of the package; every table it finds is
put to the answers once more in whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from auditor import Decision, Gate, Policy, QueryRefused, QueryUnsupported
from auditor.attacks import ATTACKS, Attack
from auditor.attacks.runner import DECISIONS, Report, run_attacks
from auditor.ledger import Entry
from tests.auditor.staff import COLUMNS
from tests.auditor.staff import build as build

LOW, HIGH, STEP = 10, 250, 10
LEAST_RUN = 14
"""Neighbouring values of 25 that a risk of 0.5 needs; `test_the_arena.py` derives it."""

Row = tuple[object, ...]


def people(count: int, seed: int = 0) -> list[Row]:
    """Persons with ids from 0, ages that are not all different, and salaries anywhere in the domain."""
    salaries = np.random.default_rng(seed).integers(1, 26, count) * 10
    return [(i, 20 + i * 7 % 31, "mf"[i % 2], "abcd"[i * 3 % 7 % 4], int(salaries[i])) for i in range(count)]


def paid(rows: Sequence[Row], salaries: dict[int, int]) -> list[Row]:
    """The same persons, some of them paid otherwise."""
    return [(*row[:-1], salaries.get(int(str(row[0])), row[-1])) for row in rows]


def policy(more: str = "", limit: str = "risk = 0.5", **protect: object) -> Policy:
    """A policy for `build`; keywords change [protect]. Decisions are short: a refusal for time is safe."""
    section: dict[str, object] = {
        "table": '"staff"', "column": '"salary"', "minimum": LOW, "maximum": HIGH, "step": STEP,
        "public": '"all"',
    }  # fmt: skip
    lines = "\n".join(f"{key} = {value}" for key, value in (section | protect).items())
    decision = "" if "[decision]" in more else "[decision]\ntimeout = 1\n"
    return Policy.parse(f"[protect]\n{lines}\n[limit]\n{limit}\n{decision}{more}\n")


def named(name: str) -> Attack:
    """One of the attacks."""
    return next(each for each in ATTACKS if each.name == name)


def verdict(gate: Gate, sql: str, user: str = "eve") -> Decision:
    """What became of a statement."""
    try:
        return gate.execute(sql, user=user).decision
    except (QueryRefused, QueryUnsupported) as error:
        return error.decision


@dataclass
class Onlooker:
    """Knows the domain and some answers; finds which values records can have."""

    size: int
    low: int = LOW
    high: int = HIGH
    step: int = STEP
    told: list[tuple[str, NDArray[np.int64], int]] = field(default_factory=list)
    """Kind, weights by record, value in column units."""
    seen: list[set[int]] = field(init=False)
    """By record: values, in steps above `low`, that it has in some table found."""

    def __post_init__(self) -> None:
        self.seen = [set() for _ in range(self.size)]

    def hears(self, kind: str, records: Sequence[int], value: object, signs: object = None) -> None:
        """One more answer."""
        weights = np.zeros(self.size, dtype=np.int64)
        weights[list(records)] = 1 if signs is None else np.asarray(signs)
        exact = Fraction(str(value))
        assert exact.denominator == 1, "these tables have whole values"
        self.told.append((kind, weights, int(exact)))

    def reads(self, entries: Iterator[Entry] | Sequence[Entry]) -> None:
        """Everything on record."""
        for entry in entries:
            for answer in entry.answers:
                ends, asked = answer.ends, answer.asked
                how = [(asked, ends.value)] if ends.exact else []
                if not ends.exact:
                    how = [(f"{asked} at most", ends.most), (f"{asked} at least", ends.least)]
                for kind, value in how:
                    if value is not None and answer.tells:
                        self.hears(kind, answer.records.tolist(), value, answer.signs)

    @property
    def top(self) -> int:
        return (self.high - self.low) // self.step

    def everybody_keeps(self, least_run: int) -> list[int]:
        """Records that do not keep so many neighbouring values, each of them in some table."""
        self._prepare()
        return [record for record in range(self.size) if not self._keeps(record, least_run)]

    def range_of(self, record: int) -> tuple[int, int]:
        """Least and greatest value that a record can have."""
        self._prepare()
        cost = np.zeros(self.size)
        cost[record] = 1
        ends = []
        for sign in (1, -1):
            table = self._solve(sign * cost, self.lower, self.upper)
            assert table is not None, "no table agrees with what was told"
            ends.append(self.low + self.step * int(table[record]))
        return ends[0], ends[1]

    def width_of_total(self, records: Sequence[int]) -> int:
        """How far apart the least and the greatest total are that some records can have, in steps."""
        self._prepare()
        cost = np.zeros(self.size)
        cost[list(records)] = 1
        ends = []
        for sign in (1, -1):
            table = self._solve(sign * cost, self.lower, self.upper)
            assert table is not None, "no table agrees with what was told"
            ends.append(int(table[list(records)].sum()))
        return ends[1] - ends[0]

    def _keeps(self, record: int, least_run: int) -> bool:
        if longest_run(self.seen[record]) >= least_run:
            return True
        impossible: set[int] = set()
        for value in self._order(record):
            if value in self.seen[record] or value in impossible:
                continue
            lower, upper = self.lower.copy(), self.upper.copy()
            lower[record] = upper[record] = value
            if not (self.lower[record] <= value <= self.upper[record]):
                continue
            if self._solve(self.generator.normal(size=self.size), lower, upper) is None:
                impossible.add(value)
            if longest_run(self.seen[record]) >= least_run:
                return True
        return False

    def _order(self, record: int) -> list[int]:
        """Values near those already found first."""
        found = self.seen[record] or {self.top // 2}
        return sorted(range(self.top + 1), key=lambda value: min(abs(value - each) for each in found))

    def _prepare(self) -> None:
        """One variable per record, one switch per record and MAX or MIN."""
        self.generator = np.random.default_rng(7)
        self.lower = np.zeros(self.size, dtype=np.int64)
        self.upper = np.full(self.size, self.top, dtype=np.int64)
        extremes = [each for each in self.told if each[0] in ("max", "min")]
        self.switches = sum(int((weights != 0).sum()) for _, weights, _ in extremes)
        rows: list[tuple[dict[int, int], float, float]] = []
        place = self.size
        for kind, weights, value in self.told:
            members = np.flatnonzero(weights).tolist()
            if kind.startswith("sum"):
                units, rest = divmod(value - self.low * int(weights.sum()), self.step)
                assert rest == 0
                least = -np.inf if kind == "sum at most" else units
                most = np.inf if kind == "sum at least" else units
                rows.append(({i: int(weights[i]) for i in members}, least, most))
                continue
            units = (value - self.low) // self.step
            if kind == "max at most":
                self.upper[members] = np.minimum(self.upper[members], units)
                continue
            if kind == "min at least":
                self.lower[members] = np.maximum(self.lower[members], units)
                continue
            for i in members:
                if kind == "max":
                    self.upper[i] = min(self.upper[i], units)
                    rows.append(({i: 1, place: -units}, 0, np.inf))
                else:
                    self.lower[i] = max(self.lower[i], units)
                    rows.append(({i: 1, place: self.top - units}, -np.inf, self.top))
                place += 1
            rows.append((dict.fromkeys(range(place - len(members), place), 1), 1, np.inf))
        self.constraints = []
        if rows:
            triples = [(i, j, w) for i, (row, _, _) in enumerate(rows) for j, w in row.items()]
            i, j, w = (np.array(each) for each in zip(*triples, strict=True))
            matrix = sparse.csr_matrix((w, (i, j)), shape=(len(rows), self.size + self.switches))
            ends = [row[1] for row in rows], [row[2] for row in rows]
            self.constraints = [optimize.LinearConstraint(matrix, *ends)]

    def _solve(
        self, cost: NDArray[np.float64], lower: NDArray[np.int64], upper: NDArray[np.int64]
    ) -> NDArray[np.int64] | None:
        """A table of least cost that agrees with every answer, or None; what it shows is remembered."""
        found = optimize.milp(
            np.concatenate([cost, np.zeros(self.switches)]),
            constraints=self.constraints,
            bounds=optimize.Bounds(
                np.concatenate([lower, np.zeros(self.switches)]),
                np.concatenate([upper, np.ones(self.switches)]),
            ),
            integrality=np.ones(self.size + self.switches),
            options={"time_limit": 60},
        )
        assert found.status in (0, 2), found.message
        if found.status == 2:
            return None
        table: NDArray[np.int64] = np.rint(found.x[: self.size]).astype(np.int64)
        self._agrees(table)
        for record, value in enumerate(table.tolist()):
            self.seen[record].add(value)
        return table

    def _agrees(self, table: NDArray[np.int64]) -> None:
        assert ((table >= 0) & (table <= self.top)).all()
        values = self.low + self.step * table
        for kind, weights, value in self.told:
            chosen = values[weights != 0]
            asked, _, how = kind.partition(" ")
            reached = {"sum": int(weights @ values), "max": chosen.max(), "min": chosen.min()}[asked]
            assert {"": reached == value, "at most": reached <= value, "at least": reached >= value}[how]


def longest_run(values: set[int]) -> int:
    """The most neighbouring numbers in a set."""
    best = here = 0
    for value in range(min(values, default=0), max(values, default=-1) + 1):
        here = here + 1 if value in values else 0
        best = max(best, here)
    return best


@dataclass
class Outcome:
    """What an attack came to, and what the gate told all in all."""

    report: Report
    entries: list[Entry]
    onlooker: Onlooker


def attacked(
    folder: Path,
    attack: str,
    rows: Sequence[Row],
    rules: Policy | None = None,
    columns: str = COLUMNS,
    unit: str | None = None,
    released: str | None = None,
    decisions: int = DECISIONS,
) -> Outcome:
    """Run one attack on a table, then read what its gate has on record.

    Args:
        folder: Where the table's file goes.
        attack: The attack's name.
        rows: The table's.
        rules: The policy; by default `policy()`.
        columns: The table's, with their types.
        unit: Whose rows they are, where the policy does not say.
        released: A statement that the owner has released before; the intruder knows its answer.
        decisions: That the attack may cause.
    """
    rules = policy() if rules is None else rules
    database = build(folder / "staff.duckdb", rows, columns)
    if released is not None:
        with Gate.open(database, rules) as gate:
            gate.release(released, "the board agreed")
    kept: list[Entry] = []
    original = Gate.close

    def close(gate: Gate) -> None:
        kept.extend(gate._ledger.entries())
        original(gate)

    Gate.close = close  # type: ignore[method-assign]
    try:
        (report,) = run_attacks(
            database,
            rules,
            [named(attack)],
            after_history=released is not None,
            decisions=decisions,
            unit=unit,
        )
    finally:
        Gate.close = original  # type: ignore[method-assign]
    domain = rules.protects[0].domain
    onlooker = Onlooker(len(rows), int(domain.minimum), int(domain.maximum), int(domain.step))
    onlooker.reads(kept)
    return Outcome(report, kept, onlooker)


def locates_nobody(outcome: Outcome, least_run: int = LEAST_RUN, answered: bool | None = True) -> None:
    """The whole statement of an attack's test.

    Args:
        outcome: Of `attacked`.
        least_run: Neighbouring values that everybody must keep.
        answered: Whether the gate answered some of it; None: no matter.
    """
    report = outcome.report
    assert report.reason is None, report.reason
    assert report.without is not None
    assert report.without.located >= 1, "without the gate the attack must succeed, or this test cannot fail"
    assert report.gate is not None
    assert report.gate.located == 0, report.gate.achieved
    if answered is not None:
        assert bool(report.gate.tally.answered) is answered
    assert outcome.onlooker.everybody_keeps(least_run) == []
