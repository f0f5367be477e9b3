"""Small protected tables for the gate's tests, and what anybody can infer from answers, worked out apart.

`Intruder` uses scipy's integer programs and nothing of the package: it knows the domain, the answers and the
public data, and finds the least and the greatest value a record can have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from auditor import Decision, Gate, Policy, QueryRefused, QueryUnsupported
from auditor.ledger import Entry, KnownAnswer

Person = tuple[object, ...]
"""id, age, sex, dept, salary."""

COLUMNS = "id INTEGER, age INTEGER, sex VARCHAR, dept VARCHAR, salary INTEGER"
LOW, HIGH, STEP = 10, 250, 10
NEEDED = 130
"""Least spread of a record's possible values, in units of the column, that keeps a risk of 0.5 on this domain
where all values between are possible (14 of 25); `test_attacks.py` derives it."""

OUTSIDERS = "[intruder]\ninsiders = 0\n"
"""For tests that are about something else, and ask about groups of which a member would know too much."""


def people(count: int, seed: int = 0) -> list[Person]:
    """Persons with ids from 0, all different, of every age; salaries anywhere in the domain."""
    salaries = np.random.default_rng(seed).integers(1, 26, count) * 10
    return [(i, 20 + i % 40, "mf"[i % 2], "abcd"[i % 4], int(salaries[i])) for i in range(count)]


def build(path: Path, rows: Iterable[Person], columns: str = COLUMNS) -> Path:
    """A DuckDB file with a table staff. Hundreds of tests want the same few: made once and copied."""
    path.write_bytes(_made(tuple(map(tuple, rows)), columns))
    return path


@cache
def _made(rows: tuple[Person, ...], columns: str) -> bytes:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "staff.duckdb"
        with duckdb.connect(str(file)) as connection:
            connection.execute(f"CREATE TABLE staff ({columns})")
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                connection.executemany(f"INSERT INTO staff VALUES ({marks})", [list(row) for row in rows])
        return file.read_bytes()


def policy_text(more: str = "", limit: str = "risk = 0.5", **protect: object) -> str:
    """A policy for `build`, as TOML; keywords change [protect]."""
    section: dict[str, object] = {
        "table": '"staff"', "column": '"salary"', "minimum": LOW, "maximum": HIGH, "step": STEP,
        "public": '"all"',
    }  # fmt: skip
    lines = "\n".join(f"{key} = {value}" for key, value in (section | protect).items())
    return f"[protect]\n{lines}\n[limit]\n{limit}\n{more}\n"


def policy(more: str = "", limit: str = "risk = 0.5", **protect: object) -> Policy:
    """`policy_text`, read."""
    return Policy.parse(policy_text(more, limit, **protect))


def verdict(gate: Gate, sql: str, parameters: Sequence[object] | None = None, user: str = "eve") -> Decision:
    """What became of a statement; its answer is thrown away."""
    try:
        return gate.execute(sql, parameters, user).decision
    except (QueryRefused, QueryUnsupported) as error:
        return error.decision


def rows_or_none(gate: Gate, sql: str, user: str = "eve") -> list[tuple[object, ...]] | None:
    """The answer, or None where there is none."""
    try:
        return gate.execute(sql, user=user).fetchall()
    except (QueryRefused, QueryUnsupported):
        return None


def entries(gate: Gate) -> list[Entry]:
    """Everything on record."""
    return list(gate._ledger.entries())


def truth(path: Path, sql: str) -> list[tuple[object, ...]]:
    """What plain DuckDB says: no gate."""
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(sql).fetchall()


@dataclass
class Intruder:
    """Knows the domain and some answers over records 0..size-1; infers by integer programs."""

    size: int
    low: int = LOW
    high: int = HIGH
    step: int = STEP
    told: list[tuple[str, NDArray[np.int64], NDArray[np.int64], int]] = field(default_factory=list)
    """Kind, records, signs, value in column units."""

    def hears(
        self, kind: str, records: Iterable[int], value: Fraction | int, signs: Sequence[int] | None = None
    ) -> None:
        """One more answer."""
        numbers = np.fromiter(records, dtype=np.int64)
        weights = np.ones(len(numbers), np.int64) if signs is None else np.asarray(signs, dtype=np.int64)
        if Fraction(value).denominator != 1:
            raise ValueError("these tables have whole values")
        self.told.append((kind, numbers, weights, int(value)))

    def reads(self, gate: Gate) -> None:
        """Everything that the gate has released."""
        for entry in entries(gate):
            for answer in entry.answers:
                if answer.kind == "leak":
                    continue
                self.reads_answer(answer)

    def reads_answer(self, answer: KnownAnswer) -> None:
        """One of them: an end is another inequality."""
        signs = None if answer.signs is None else answer.signs.astype(int).tolist()
        ends = answer.ends
        how = [(answer.asked, ends.value)] if ends.exact else []
        if not ends.exact:
            how = [(f"{answer.asked} at most", ends.most), (f"{answer.asked} at least", ends.least)]
        for kind, value in how:
            if value is not None:
                self.hears(kind, answer.records.tolist(), value, signs)

    def range_of(self, record: int) -> tuple[int, int]:
        """Least and greatest value that the record has in any table that agrees with everything told."""
        return self._extreme(record, 1), self._extreme(record, -1)

    def ranges(self) -> list[tuple[int, int]]:
        """`range_of` for all; records that no answer tells apart are worked out once."""
        classes = self._classes()
        found: dict[int, tuple[int, int]] = {}
        for record in range(self.size):
            if int(classes[record]) not in found:
                found[int(classes[record])] = self.range_of(record)
        return [found[int(classes[record])] for record in range(self.size)]

    def narrowest(self) -> int:
        """The smallest spread over all records."""
        return min(high - low for low, high in self.ranges())

    def _classes(self) -> NDArray[np.int64]:
        marks = np.zeros((self.size, max(1, len(self.told))), dtype=np.int64)
        for place, (_, records, signs, _) in enumerate(self.told):
            marks[records, place] = signs
        classes: NDArray[np.int64] = np.unique(marks, axis=0, return_inverse=True)[1].ravel()
        return classes

    def _extreme(self, record: int, sign: int) -> int:
        """An integer program over units: one variable per record, one switch per record and MAX or MIN."""
        top, n = (self.high - self.low) // self.step, self.size
        upper, lower = np.full(n, top), np.zeros(n, dtype=np.int64)
        extremes = [told for told in self.told if told[0] in ("max", "min")]
        switches = sum(len(records) for _, records, _, _ in extremes)
        rows: list[dict[int, int]] = []
        least: list[float] = []
        most: list[float] = []
        for kind, records, signs, value in self.told:
            if kind.startswith("sum"):
                rows.append(dict(zip(records.tolist(), signs.tolist(), strict=True)))
                units = (value - self.low * int(signs.sum())) // self.step
                least.append(-np.inf if kind == "sum at most" else units)
                most.append(np.inf if kind == "sum at least" else units)
            elif kind.startswith("max"):
                upper[records] = np.minimum(upper[records], (value - self.low) // self.step)
            else:
                lower[records] = np.maximum(lower[records], (value - self.low) // self.step)
        at = n
        for kind, records, _, value in extremes:
            units = (value - self.low) // self.step
            for place, number in enumerate(records.tolist()):
                # switched on: the record attains the extreme
                if kind == "max":
                    rows.append({number: 1, at + place: -units})
                    least.append(0)
                    most.append(np.inf)
                else:
                    rows.append({number: 1, at + place: top - units})
                    least.append(-np.inf)
                    most.append(top)
            rows.append({at + place: 1 for place in range(len(records))})
            least.append(1)
            most.append(np.inf)
            at += len(records)
        cost = np.zeros(n + switches)
        cost[record] = sign
        constraints = []
        if rows:
            triples = [(i, j, w) for i, row in enumerate(rows) for j, w in row.items()]
            i, j, w = (np.array(each) for each in zip(*triples, strict=True))
            matrix = sparse.csr_matrix((w, (i, j)), shape=(len(rows), n + switches))
            constraints = [optimize.LinearConstraint(matrix, least, most)]
        bounds = optimize.Bounds(
            np.concatenate([lower, np.zeros(switches)]), np.concatenate([upper, np.ones(switches)])
        )
        found = optimize.milp(cost, constraints=constraints, bounds=bounds, integrality=np.ones(n + switches))
        if not found.success:
            raise AssertionError(f"no table agrees with what was told: {found.message}")
        return self.low + self.step * round(sign * found.fun)
