"""A table of people whose public columns cut it up finely, and random range queries over any public columns.

`people(id, age, sex, education, industry, occupation, travel, income)`: values of the census columns fall off
like a power of their rank (education, industry, occupation, travel) or rise and fall (age). With `uniform`
public columns each of the six has a million different values, so that after a few queries nearly everybody
is alone in an atom: the hardest case. Protected values are uniform or skewed like salaries, 10 … 250 in steps
of 10, and independent of the public ones.

Range queries are conjunctions of one to three ranges over different columns; each covers 5 to 60 % of the
records by itself, and all together at least two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks._data import drawn_values

SEED = 20130527
DIFFERENT = 1_000_000
"""Values of each public column of the hardest case."""
NARROWEST, WIDEST = 0.05, 0.6
"""Share of the records that a range covers."""
QUANTILES = 1_000
TRIES = 50
"""Draws of a range until one covers as much as it should: some columns have few values."""

Columns = Mapping[str, NDArray[np.generic]]


def power(rng: np.random.Generator, count: int, values: int, exponent: float) -> NDArray[np.int32]:
    """Draws from 0 … values − 1, the k-th as likely as k^−exponent."""
    weights = np.arange(1, values + 1) ** -exponent
    return np.searchsorted(np.cumsum(weights / weights.sum())[:-1], rng.random(count)).astype(np.int32)


def census(rng: np.random.Generator, count: int) -> dict[str, NDArray[np.int32]]:
    """Six public columns with 2 to 177 values."""
    return {
        "age": rng.triangular(16, 40, 85, count).astype(np.int32),
        "sex": rng.integers(1, 3, count, dtype=np.int32),
        "education": power(rng, count, 16, 0.7),
        "industry": power(rng, count, 18, 0.7),
        "occupation": power(rng, count, 25, 0.7),
        "travel": power(rng, count, 177, 0.8),
    }


def different(rng: np.random.Generator, count: int) -> dict[str, NDArray[np.int32]]:
    """Six public columns with a million values."""
    names = ("age", "sex", "education", "industry", "occupation", "travel")
    return {name: rng.integers(0, DIFFERENT, count, dtype=np.int32) for name in names}


@dataclass(frozen=True)
class People:
    """A table that is known to whoever measures."""

    columns: dict[str, NDArray[np.int32]]
    income: NDArray[np.int64]

    @classmethod
    def draw(cls, count: int, public: str = "census", values: str = "lognormal", seed: int = SEED) -> People:
        """The same people for the same arguments."""
        columns = {"census": census, "uniform": different}[public](np.random.default_rng(seed), count)
        return cls(columns, drawn_values(values, count, seed + 1))

    def build(self, path: Path) -> None:
        """A DuckDB file with the table."""
        table = pa.table({"id": np.arange(len(self.income)), **self.columns, "income": self.income})
        with duckdb.connect(str(path)) as connection:
            connection.register("drawn", table)
            connection.execute("CREATE TABLE people AS SELECT * FROM drawn")


@dataclass(frozen=True)
class Range:
    """column BETWEEN low AND high."""

    column: str
    low: object
    high: object
    codes: NDArray[np.int32]
    """The column, as codes in the order of its values; shared by all ranges over it."""
    ends: tuple[int, int]
    """The codes of low and high."""

    @property
    def members(self) -> NDArray[np.bool_]:
        """Whom it covers; worked out anew each time, since hundreds of these would fill the memory."""
        covered: NDArray[np.bool_] = (self.codes >= self.ends[0]) & (self.codes <= self.ends[1])
        return covered

    def __str__(self) -> str:
        return f"{self.column} BETWEEN {_literal(self.low)} AND {_literal(self.high)}"


def _literal(value: object) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


@dataclass(frozen=True)
class RangeQuery:
    """A conjunction of ranges."""

    ranges: tuple[Range, ...]

    @property
    def members(self) -> NDArray[np.bool_]:
        """Whom it covers; worked out anew each time."""
        return np.logical_and.reduce([each.members for each in self.ranges])

    def sql(self, aggregate: str, table: str) -> str:
        """SELECT aggregate FROM table WHERE …"""
        return f"SELECT {aggregate} FROM {table} WHERE " + " AND ".join(map(str, self.ranges))


class RangeQueries:
    """Random range queries over public columns, the same ones for the same seed."""

    def __init__(self, columns: Columns, seed: int = SEED) -> None:
        self.rng = np.random.default_rng([seed, 7])
        self.names = list(columns)
        # as codes, whatever the type: a range of codes is a range of values
        self.values: dict[str, NDArray[np.generic]] = {}
        self.codes: dict[str, NDArray[np.int32]] = {}
        self.quantiles: dict[str, NDArray[np.int32]] = {}
        for name, column in columns.items():
            self.values[name], codes = np.unique(column, return_inverse=True)
            self.codes[name] = codes.ravel().astype(np.int32)
            places = np.linspace(0, len(codes) - 1, QUANTILES + 1).astype(np.int64)
            self.quantiles[name] = np.sort(self.codes[name])[places]

    def draw(self) -> RangeQuery:
        """The next one."""
        while True:
            chosen = self.rng.choice(len(self.names), self.rng.integers(1, 4), replace=False)
            parts = [self._range(self.names[place]) for place in chosen]
            found = RangeQuery(tuple(part for part in parts if part is not None))
            if len(found.ranges) == len(parts) and np.count_nonzero(found.members) >= 2:
                return found

    def _range(self, name: str) -> Range | None:
        """None where the column has no range that covers as much as it should, or chance finds none."""
        codes, quantiles, values = self.codes[name], self.quantiles[name], self.values[name]
        for _ in range(TRIES):
            share = self.rng.uniform(NARROWEST, WIDEST)
            start = self.rng.uniform(0, 1 - share)
            low, high = (int(quantiles[int(at * QUANTILES)]) for at in (start, start + share))
            found = Range(name, *(values[[at]].tolist()[0] for at in (low, high)), codes, (low, high))
            if NARROWEST <= np.count_nonzero(found.members) / len(codes) <= WIDEST:
                return found
        return None
