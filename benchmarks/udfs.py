"""The measure inside DuckDB: a million lists, one long list, ten million rows in groups.

Run as `python -m benchmarks.udfs`. The rivals run in the same process on the same tables, with two threads:

- DuckDB's own `list_aggregate(list, 'entropy')` and `entropy`, which do less: H(0) alone. They are the floor.
- a Python function called row by row (a native DuckDB UDF) around the recurrence compiled by numba as it is
  written; on a part of the lists, and taken to be as fast on the others;
- Algorithm 1 of the paper in plain Python; on fewer still;
- of areas to a tolerance the exact ones, by the same macro.

Results are compared on the parts that all compute.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import udfs
from benchmarks._data import peak_megabytes, shown
from benchmarks._results import Line, options, write
from benchmarks.curve import timed_plain
from cae_sql.compiled import compiled
from cae_sql.errors import ExactIsSlow
from cae_sql.measure import reference

VALUES = 25
THREADS = 2
COLUMNS = (
    "what",
    "data",
    "lists or rows",
    "this package",
    "rival",
    "rival's",
    "rival / this",
    "worst difference",
)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    what: str
    data: str
    size: str
    seconds: float
    rival: str
    rival_seconds: float | None = None
    worst: float | None = None
    """Greatest relative difference where both sides compute the same."""

    @property
    def line(self) -> Line:
        return Line(self.what, self.data, self.size, self.seconds, self.rival, self.rival_seconds)


@compiled()
def plain_entropy(x: Floats, p: Floats, epsilon: float) -> float:
    """The recurrence, one width, as the paper prints it."""
    n = x.size
    best = np.zeros(n + 1)
    for i in range(1, n + 1):
        best[i] = math.inf
        mass = 0.0
        j = i
        while j > 0 and x[i - 1] - x[j - 1] <= epsilon:
            mass += p[j - 1]
            best[i] = min(best[i], best[j - 1] - mass * math.log2(mass))
            j -= 1
    return max(float(best[n]), 0.0)


@compiled()
def plain_area(x: Floats, p: Floats) -> float:
    """All widths at which H can change, each solved anew."""
    n = x.size
    differences = np.zeros(n * (n - 1) // 2 + 1)
    k = 1
    for i in range(n):
        for j in range(i + 1, n):
            differences[k] = x[j] - x[i]
            k += 1
    widths = np.unique(differences)
    area = 0.0
    for k in range(widths.size - 1):
        area += plain_entropy(x, p, widths[k]) * (widths[k + 1] - widths[k])
    return area


def row_area(values: list[float], weights: list[float]) -> float:
    """What somebody would write who has the kernel, and no time."""
    x, p = _prepared(values, weights)
    return float(plain_area(x, p))


def row_entropy(values: list[float]) -> float:
    return float(plain_entropy(*_prepared(values, None), 0.0))


def _prepared(values: list[float], weights: list[float] | None) -> tuple[Floats, Floats]:
    x, places = np.unique(np.array(values), return_inverse=True)
    p = np.bincount(places, weights)
    return x, p / p.sum()


def database() -> duckdb.DuckDBPyConnection:
    """With the functions of both sides."""
    connection = duckdb.connect()
    connection.execute(f"SET threads = {THREADS}")
    udfs.register(connection)
    lists = ["DOUBLE[]", "DOUBLE[]"]
    connection.create_function("row_area", row_area, lists, "DOUBLE")
    connection.create_function("row_entropy", row_entropy, lists[:1], "DOUBLE")
    return connection


def fill(connection: duckdb.DuckDBPyConnection, kind: str, count: int) -> None:
    """A table `lists` of lists x of one kind, with weights p."""
    rng = np.random.default_rng(VALUES)
    connection.execute("CREATE OR REPLACE TABLE lists (x DOUBLE[], p DOUBLE[])").fetchall()
    for start in range(0, count, 100_000):
        size = min(100_000, count - start)
        columns = {"x": KINDS[kind](size, rng), "p": rng.random((size, VALUES))}
        offsets = pa.array(np.arange(size + 1, dtype=np.int32) * VALUES)
        part = {name: pa.ListArray.from_arrays(offsets, column.ravel()) for name, column in columns.items()}
        connection.register("part", pa.table(part))
        connection.execute("INSERT INTO lists SELECT * FROM part").fetchall()
        connection.unregister("part")


def equally_spaced(size: int, _: np.random.Generator) -> Floats:
    return np.tile(np.arange(1.0, VALUES + 1) * 10, (size, 1))


def drawn(size: int, rng: np.random.Generator) -> Floats:
    """In any order, with repetitions."""
    return rng.integers(1, VALUES + 1, (size, VALUES)) * 10.0


def irregular(size: int, rng: np.random.Generator) -> Floats:
    return np.sort(rng.integers(1, 10**6, (size, VALUES)).astype(float), axis=1)


KINDS: dict[str, Callable[[int, np.random.Generator], Floats]] = {
    "25 drawn from 25": drawn,
    "25 equally spaced": equally_spaced,
    "25 irregular": irregular,
}


def seconds(connection: duckdb.DuckDBPyConnection, sql: str, repeats: int = 3) -> float:
    """The least of a few runs, all rows computed."""
    least = math.inf
    for _ in range(repeats):
        start = time.perf_counter()
        connection.execute(sql).fetchall()
        least = min(least, time.perf_counter() - start)
    return least


def unweighted(connection: duckdb.DuckDBPyConnection, count: int, part: int) -> list[Row]:
    """Lists as they come, against DuckDB's own entropy, and the row UDF on a part."""
    data = "25 drawn from 25"
    fill(connection, data, count)
    size = f"{count:,} lists"
    own = "list_aggregate(x, 'entropy')"
    entropy = seconds(connection, "SELECT sum(cae_entropy(x)) FROM lists")
    area = seconds(connection, "SELECT sum(cae_area(x)) FROM lists")
    floor = seconds(connection, f"SELECT sum({own}) FROM lists")
    by_row = seconds(connection, f"SELECT sum(row_entropy(x)) FROM (FROM lists LIMIT {part})", 1)
    worst = (
        differ(connection, "cae_entropy(x)", own, count),
        differ(connection, "cae_entropy(x)", "row_entropy(x)", part),
    )
    return [
        Row("cae_entropy(x)", data, size, entropy, own, floor, worst[0]),
        Row("cae_entropy(x)", data, size, entropy, "row UDF, plain kernel", by_row * count / part, worst[1]),
        Row("cae_area(x)", data, size, area, own, floor),
    ]


def weighted(connection: duckdb.DuckDBPyConnection, data: str, count: int, part: int, few: int) -> list[Row]:
    """Lists with weights, against the row UDF on a part and plain Python on a few."""
    fill(connection, data, count)
    size = f"{count:,} lists"
    area = seconds(connection, "SELECT sum(cae_area(x, p)) FROM lists")
    by_row = seconds(connection, f"SELECT sum(row_area(x, p)) FROM (FROM lists LIMIT {part})", 1)
    worst = differ(connection, "cae_area(x, p)", "row_area(x, p)", part)
    plain, worst_of_few = in_plain_python(
        connection, connection.execute(f"SELECT x, p FROM lists LIMIT {few}").fetchall()
    )
    return [
        Row("cae_area(x, p)", data, size, area, "row UDF, plain kernel", by_row * count / part, worst),
        Row("cae_area(x, p)", data, size, area, "Algorithm 1 in plain Python", plain * count, worst_of_few),
    ]


def differ(connection: duckdb.DuckDBPyConnection, ours: str, theirs: str, count: int) -> float:
    """The greatest relative difference over the first lists."""
    found = connection.execute(
        f"SELECT max(abs({ours} - {theirs}) / {theirs}) FROM (FROM lists LIMIT {count})"
    ).fetchone()
    assert found is not None
    return float(found[0])


def in_plain_python(
    connection: duckdb.DuckDBPyConnection, sample: list[tuple[list[float], list[float]]]
) -> tuple[float, float]:
    """Seconds for one list, and the greatest relative difference."""
    spent, worst = 0.0, 0.0
    for values, weights in sample:
        x, p = _prepared(values, weights)
        positions, probabilities = [int(value) for value in x], p.tolist()
        start = time.perf_counter()
        area = reference.area(positions, probabilities)
        spent += time.perf_counter() - start
        found = connection.execute("SELECT cae_area(?, ?)", [values, weights]).fetchone()
        assert found is not None
        worst = max(worst, abs(found[0] - area) / area)
    return spent / len(sample), worst


def long_lists(connection: duckdb.DuckDBPyConnection, sizes: tuple[int, ...]) -> list[Row]:
    """One list of a thousand values, and one of ten thousand, in SQL."""
    rows = []
    for n in sizes:
        rng = np.random.default_rng(n)
        for data, x in (
            ("equally spaced", np.arange(n)),
            ("irregular", np.sort(rng.choice(10**9, n, replace=False))),
        ):
            p = rng.dirichlet(np.ones(n))
            arguments = [x.tolist(), p.tolist()]
            # kernels are loaded when they are first used
            connection.execute("SELECT cae_area(?, ?)", [each[:300] for each in arguments]).fetchall()
            start = time.perf_counter()
            connection.execute("SELECT cae_area(?, ?)", arguments).fetchall()
            spent = time.perf_counter() - start
            plain = None
            if n <= 1_000:
                widths = reference.breakpoints(x.tolist())
                few = widths[:: max(1, len(widths) // 6)]
                plain = timed_plain(*arguments, few)[0] * len(widths) / len(few)
            rows.append(
                Row("cae_area(x, p)", data, f"1 list of {n:,}", spent, "Algorithm 1 in plain Python", plain)
            )
            start = time.perf_counter()
            connection.execute("SELECT cae_entropy(?, ?, ?)", [*arguments, float(x[-1]) / 20]).fetchall()
            rows.append(
                Row("cae_entropy(x, p, ε)", data, f"1 list of {n:,}", time.perf_counter() - start, "none")
            )
    return rows


def groups(connection: duckdb.DuckDBPyConnection, count: int, many: int) -> list[Row]:
    """A GROUP BY with the aggregates, and DuckDB's own entropy beside it."""
    connection.execute(
        f"CREATE TABLE people AS SELECT (i * 7919) % {many} AS g, (1 + hash(i) % {VALUES}) * 10 AS salary "
        f"FROM range({count}) t(i)"
    )
    before = peak_megabytes()

    def of(aggregate: str) -> float:
        return seconds(connection, f"SELECT sum(a) FROM (SELECT {aggregate} AS a FROM people GROUP BY g)", 1)

    of("cae_area_agg(salary) + cae_entropy_agg(salary)")
    memory = peak_megabytes()
    floor = of("entropy(salary)")
    size = f"{count:,} rows, {many:,} groups"
    rows = [
        Row(name, "25 values drawn", size, of(f"{name}(salary)"), "entropy(…)", floor)
        for name in ("cae_entropy_agg", "cae_area_agg")
    ]
    Console().print(f"peak memory: the table alone {before:,.0f} MB, with the aggregates {memory:,.0f} MB")
    return rows


def tolerant(connection: duckdb.DuckDBPyConnection, many: int, distinct: int) -> list[Row]:
    """Areas to a tolerance, against the exact ones of the same groups in the same run."""
    rng = np.random.default_rng(distinct)
    x = np.concatenate([rng.choice(10**6, distinct, replace=False) for _ in range(many)])
    part = pa.table({"g": np.repeat(np.arange(many), distinct), "x": x})  # noqa: F841 (DuckDB reads it by name)
    connection.execute("CREATE OR REPLACE TABLE spread AS SELECT * FROM part").fetchall()

    def of(area: str) -> tuple[float, Floats]:
        start = time.perf_counter()
        found = connection.execute(f"SELECT {area} AS a FROM spread GROUP BY g ORDER BY g").fetchnumpy()
        return time.perf_counter() - start, np.asarray(found["a"])

    of("cae_area_agg(x, tolerance := 0.5)")  # kernels are loaded
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExactIsSlow)
        exact_seconds, exact = of("cae_area_agg(x)")
    rows = []
    for tolerance in (0.001, 0.01):
        ours, found = of(f"cae_area_agg(x, tolerance := {tolerance})")
        worst = float(np.max(np.abs(found / exact - 1)))
        assert worst <= tolerance
        size = f"{many:,} groups of {distinct:,} values"
        what = f"cae_area_agg(x, tolerance := {tolerance})"
        rows.append(Row(what, "irregular", size, ours, "cae_area_agg(x), exact", exact_seconds, worst))
    return rows


def table_of(rows: list[Row]) -> Table:
    table = Table(title=f"The measure in SQL, {THREADS} threads")
    for name in COLUMNS:
        table.add_column(name, justify="left" if name in COLUMNS[:3] or name == "rival" else "right")
    for row in rows:
        theirs = "–" if row.rival_seconds is None else shown(row.rival_seconds)
        ratio = "–" if row.rival_seconds is None else f"{row.rival_seconds / row.seconds:,.3g}"
        worst = "–" if row.worst is None else f"{row.worst:.0e}"
        table.add_row(row.what, row.data, row.size, shown(row.seconds), row.rival, theirs, ratio, worst)
    return table


def main(arguments: list[str] | None = None) -> None:
    given = options("udfs", __doc__).parse_args(arguments)
    scale = 1 if not given.quick else 500
    with database() as connection:
        connection.execute(
            "SELECT cae_area([0, 1, 3]), cae_entropy([0, 1], 1), row_area([0, 1], [1, 1]), row_entropy([1])"
        )
        connection.fetchall()
        rows = groups(connection, 10_000_000 // scale, 100_000 // scale)
        connection.execute("DROP TABLE people")
        rows += unweighted(connection, 1_000_000 // scale, 20_000 // scale)
        rows += weighted(
            connection, "25 equally spaced", 1_000_000 // scale, 20_000 // scale, 400 // min(scale, 50)
        )
        # two row groups at least, so that DuckDB gives both threads something to do
        rows += weighted(
            connection, "25 irregular", 300_000 // scale, 1_000 // min(scale, 50), 20 // min(scale, 10)
        )
        rows += tolerant(connection, *((500, 1_000) if not given.quick else (4, 200)))
        rows += long_lists(connection, (1_000, 10_000) if not given.quick else (100,))
    console = Console(width=170)
    console.print(table_of(rows))
    write(given.json, [row.line for row in rows], [asdict(row) for row in rows])


if __name__ == "__main__":
    main()
