"""`python -m tests.fuzz.vectors --vectors 100000 --seed 1`: random Arrow columns into the SQL functions.

Each vector has any layout (types, chunks, slices, NULLs, fixed sizes) and any content: good rows, bad ones,
floats a rounding apart, extremes. What a function may do is return a column of as many rows or raise
`InvalidInput` in its own name; anything else, a crash of the process first of all, is a fault. Rows of a few
values are compared with the plain reference. Every so many vectors go through DuckDB. Status 1 when a fault
is found; each is told with the seed of its vector.
"""

from __future__ import annotations

import argparse
import faulthandler
import math
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from cae_sql import InvalidInput
from tests.udfs.sqls import plain_area, plain_curve, plain_entropy
from udfs import functions, register

TYPES = (pa.float64(), pa.float64(), pa.float64(), pa.float32(), pa.int8(), pa.int64(), pa.uint32(),
         pa.decimal128(12, 3), pa.decimal128(38, 0))  # fmt: skip
SHORT = 7
"""Rows of at most so many values are compared."""
IN_DUCKDB = 20
"""One vector of so many goes through DuckDB as well."""


@dataclass
class Tally:
    """What has happened so far."""

    outcomes: Counter[str] = field(default_factory=Counter)
    compared: int = 0
    faults: list[str] = field(default_factory=list)


class Vectors:
    """Random columns, by one generator."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.broken = rng.random() < 0.15
        """Whether rows may hold what is no distribution."""

    def pick(self, *options: Any) -> Any:
        return options[self.rng.integers(len(options))]

    def size(self) -> int:
        """How many values a row has: mostly few."""
        return int(self.pick(1, 1, 2, 3, 5, 7, 7, 25, 33, self.rng.integers(0 if self.broken else 1, 60)))

    def values(self, n: int) -> list[float]:
        rng = self.rng
        kind = int(rng.integers(9))
        if kind == 0:
            return (np.arange(n) * float(self.pick(1, 10, 0.1, 2.5))).tolist()
        if kind == 1:
            return rng.integers(-30, 30, n).astype(float).tolist()
        if kind == 2:
            return (rng.integers(0, 10_000, n) / 100).tolist()
        if kind == 3:
            return rng.random(n).tolist()
        if kind == 4:
            return rng.integers(-(10**12), 10**12, n).astype(float).tolist()
        if kind == 5:
            return rng.choice([0.1, 0.2, 0.3, 0.1 + 0.2, 0.7 - 0.4, 1.0], n).tolist()
        if kind == 6:
            return (rng.choice([1e308, -1e308, 1e-300, 0.0, 1.0, 2.0**53, 2.0**60 + 256], n)).tolist()
        if kind == 7:
            return (rng.lognormal(10, 1, n).round(2)).tolist()
        return rng.integers(0, 3, n).astype(float).tolist()

    def weights(self, n: int) -> list[float]:
        rng = self.rng
        kind = int(rng.integers(5))
        drawn = (rng.random(n), rng.integers(1, 9, n) * 1.0, rng.random(n) ** 30, np.ones(n),
                 rng.choice([0.0, 1.0, 1e-320, 1e308, 1e-17], n))[kind]  # fmt: skip
        found: list[float] = np.where(rng.random(n) < 0.1, 0.0, drawn).tolist()
        if n and not self.broken and not any(found):
            found[int(rng.integers(n))] = 1.0
        return found

    def spoiled(self, row: list[Any]) -> list[Any]:
        """Now and then something in it that must not be there."""
        if self.broken and row and self.rng.random() < 0.02:
            row[int(self.rng.integers(len(row)))] = self.pick(None, math.nan, math.inf, -1.0)
        return row

    def column(self, rows: list[list[Any] | None], kind: Any) -> Any:
        """The rows in some layout."""
        rng = self.rng
        if kind != pa.float64():
            rows = [None if row is None else [_as(value, kind) for value in row] for row in rows]
        lengths = {len(row) for row in rows if row is not None}
        if len(lengths) == 1 and rng.random() < 0.3:
            return pa.array(rows, pa.list_(kind, lengths.pop()))
        make = self.pick(pa.list_, pa.list_, pa.large_list)
        cuts = sorted(rng.integers(0, len(rows) + 1, int(rng.integers(0, 3))).tolist())
        parts = []
        for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True):
            before, after = int(rng.integers(0, 3)), int(rng.integers(0, 3))
            padded = [*([[_as(1, kind)]] * before), *rows[a:b], *([None] * after)]
            parts.append(pa.array(padded, make(kind)).slice(before, b - a))
        return pa.chunked_array(parts, make(kind))


def _as(value: Any, kind: Any) -> Any:
    """The value as a type can hold it."""
    if value is None or pa.types.is_floating(kind):
        return None if value is None else min(max(value, -1e30), 1e30) if kind == pa.float32() else value
    number = 0 if not math.isfinite(value) else round(min(max(value, -100), 100))
    return abs(number) if kind == pa.uint32() else number


def one(seed: int, tally: Tally, connection: duckdb.DuckDBPyConnection) -> None:
    """Make a vector of this seed, and hand it to a function."""
    rng = np.random.default_rng(seed)
    vectors = Vectors(rng)
    n = int(rng.integers(0, 12))
    kind = vectors.pick(*TYPES)
    rows: list[list[Any] | None] = []
    weights: list[list[Any] | None] = []
    for _ in range(n):
        size = vectors.size()
        other = size + (vectors.broken and rng.random() < 0.02)
        rows.append(None if rng.random() < 0.1 else vectors.spoiled(vectors.values(size)))
        weights.append(None if rng.random() < 0.05 else vectors.spoiled(vectors.weights(other)))
    x = vectors.column(rows, kind)
    weighted = bool(rng.random() < 0.7)
    w = [vectors.column(weights, pa.float64())] if weighted else []
    widths = rng.choice([0.0, 0.1, 0.3, 1.0, 2.5, 30.0, 1e9], n)
    if vectors.broken and n and rng.random() < 0.05:
        widths[int(rng.integers(n))] = vectors.pick(-1.0, math.nan)
    epsilon = pa.array(widths, mask=rng.random(n) < 0.05)
    name = str(
        vectors.pick("cae_area", "cae_entropy", "cae_entropy", "cae_curve", "cae_area_bounds", "cae_risk")
    )
    arguments = {"cae_entropy": [x, *w, epsilon], "cae_risk": [x, *w, *_domain(n, rng)]}.get(name, [x, *w])
    try:
        answer = getattr(functions, name)(*arguments)
    except InvalidInput as error:
        known = str(error).startswith(f"{name}: row ")
        tally.outcomes["refused" if known else "refused without a row"] += 1
        if not known:
            tally.faults.append(f"seed {seed}: {name}: {error}")
        return
    except Exception as error:  # noqa: BLE001 -- what else may come is what is looked for
        tally.faults.append(f"seed {seed}: {name}: {type(error).__name__}: {error}")
        return
    tally.outcomes["measured"] += 1
    if len(answer) != n:
        tally.faults.append(f"seed {seed}: {name}: {len(answer)} rows for {n}")
    found = answer.to_pylist()
    if kind == pa.float64():
        _compare(seed, name, found, rows, weights if weighted else None, epsilon.to_pylist(), tally)
    if seed % IN_DUCKDB == 0 and n:
        _through_duckdb(seed, name, arguments, found, connection, tally)


def _domain(n: int, rng: np.random.Generator) -> list[Any]:
    """A domain wide enough for most rows, the same for all or not."""
    high = np.where(rng.random(n) < 0.5, 1e13, 2e13) if rng.random() < 0.5 else np.full(n, 1e13)
    return [pa.array(np.full(n, -1e13)), pa.array(high), pa.array(np.full(n, 1e9))]


def _compare(
    seed: int, name: str, found: list[Any], rows: list[Any], weights: list[Any] | None, widths: list[Any],
    tally: Tally,
) -> None:  # fmt: skip
    """Against the plain reference, where a row is short and its numbers are of ordinary size."""
    for k, row in enumerate(rows):
        weight = None if weights is None else weights[k]
        if (
            row is None
            or (weights is not None and weight is None)
            or (name == "cae_entropy" and widths[k] is None)
        ):
            if found[k] is not None:
                tally.faults.append(f"seed {seed}: {name}: row {k} should be NULL, and is {found[k]}")
            continue
        if len(row) > SHORT or max(map(abs, row)) > 1e13 or 0 < min(map(abs, row)) < 1e-9:
            continue
        if name == "cae_risk":
            continue
        tally.compared += 1
        if not _right(name, found[k], row, weight, widths[k]):
            tally.faults.append(f"seed {seed}: {name}: row {k}: {row} {weight} {widths[k]}: {found[k]}")


def _right(name: str, found: Any, row: list[float], weight: list[float] | None, width: float) -> bool:
    """Entropies near 0 are differences of numbers near 1: right to 10⁻¹⁴, times the spread in an area."""
    slack = 1e-14 * max(1.0, max(row) - min(row))
    if name == "cae_entropy":
        return math.isclose(found, plain_entropy(row, weight, width), rel_tol=1e-9, abs_tol=1e-14)
    area = plain_area(row, weight)
    if name == "cae_curve":
        first = plain_curve(row, weight)[0][1]
        steps = [(step["epsilon"], step["entropy"]) for step in found]
        under = sum(h * (b - a) for (a, h), (b, _) in pairwise(steps))
        return math.isclose(steps[0][1], first, rel_tol=1e-9, abs_tol=1e-14) and math.isclose(
            under, area, rel_tol=1e-9, abs_tol=slack
        )
    lowest = found if name == "cae_area" else found["lower"]
    return math.isclose(lowest, area, rel_tol=1e-9, abs_tol=slack)


def _through_duckdb(
    seed: int, name: str, arguments: list[Any], found: list[Any], connection: duckdb.DuckDBPyConnection,
    tally: Tally,
) -> None:  # fmt: skip
    """The same columns as a table's: the same answer, in order."""
    table = pa.table({f"c{k}": argument for k, argument in enumerate(arguments)})
    connection.register("given", table)
    names = ", ".join(table.column_names)
    column = connection.execute(f"SELECT {name}({names}) FROM given").fetchall()
    connection.unregister("given")
    tally.outcomes["through DuckDB"] += 1
    if [value for (value,) in column] != found:
        tally.faults.append(f"seed {seed}: {name}: DuckDB's rows differ")


def fuzz(vectors: int, seed: int, seconds: float = math.inf) -> Tally:
    """So many vectors of consecutive seeds, or as many as the time allows."""
    tally = Tally()
    end = time.monotonic() + seconds
    with duckdb.connect() as connection:
        register(connection)
        for k in range(vectors):
            one(seed * 10_000_000 + k, tally, connection)
            if time.monotonic() > end:
                break
    return tally


def main() -> int:
    """Run, show, and say whether there were faults."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.vectors", description=__doc__)
    parser.add_argument("--vectors", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    faulthandler.enable()
    started = time.monotonic()
    tally = fuzz(given.vectors, given.seed)
    outcomes = ", ".join(f"{name} {count:,}" for name, count in tally.outcomes.most_common())
    print(f"{given.vectors:,} vectors, seed {given.seed}, {time.monotonic() - started:.0f} s: {outcomes}")
    print(f"rows compared with the plain reference: {tally.compared:,}")
    print(f"faults: {len(tally.faults)}")
    for fault in tally.faults[:20]:
        print(fault)
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
