"""How wide ranges of counts, shares, quantiles, deviations and correlations are, by the size of the group.

    python -m benchmarks.widths [--table acs] [--people 30 100] [--groups 5]

The rival needs `pip install opendp`, two of the four tables packages that bring them (`_packaged`).

Groups of one size are drawn at random, and of each the six statistics are asked in one day, one gate for
each size. The rival is differential privacy with ε = 1 in all for the day, spent evenly on its questions, by
OpenDP: integer Laplace noise for counts, the exponential mechanism among the domain's values for quantiles,
and for deviations and correlations (with a public column, such as age) noisy sums of values, squares and
products around the middle of the domain, a question's ε spent evenly on them. Half the width of a range, the
most that its middle is off, is held against the rival's error, which is less in half of the cases. Both in
terms of the group (counts), of the domain (quantiles, deviations) or as they are (shares, correlations). True
values must lie inside.

The two promise different things: the rival protects whatever is known besides, a gate against whoever knows
the answers and one value; the rival's day is over, the gate's goes on as long as there is room.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from auditor import Gate, Policy, QueryRefused
from benchmarks._packaged import MEPS, NLS, Packaged
from benchmarks._results import Line, options, write
from benchmarks.newcomer import PLACES, Place

SIZES = (30, 100, 1_000, 10_000)
RUNS = 200
"""Of the rival, for its median error."""
Noisy = Callable[[np.ndarray, np.ndarray, float], float]
"""From values, ages and a limit or fraction."""


class OfPackage(Place):
    """A table that comes inside of a package, in whole numbers."""

    @property
    def packaged(self) -> Packaged:
        """Where it is."""
        return NLS if self.name == "nls" else MEPS

    @property
    def there(self) -> bool:
        """Whether the package is installed."""
        return not self.packaged.absent

    def build(self, path: Path) -> None:
        """A DuckDB file with the table; wages are in half dollars."""
        with duckdb.connect(str(path)) as connection:
            self.packaged.create(connection, "raw_table", None)
            doubled = "* REPLACE ((2 * wage)::INTEGER AS wage)" if self.name == "nls" else "*"
            connection.execute(f"CREATE TABLE {self.name} AS SELECT {doubled} FROM raw_table")
            connection.execute(f"DROP TABLE raw_table; CREATE TABLE {self.lookup} (a INTEGER)")


TABLES = (
    *PLACES,
    OfPackage("nls", Path(), "", "wage", (4, 60, 1), "nothing"),
    OfPackage("meps", Path(), "", "spending", (0, 7000, 100), "nothing"),
)
BESIDE = {"acs": "age", "adult": "age", "nls": "school_rank", "meps": "age"}
"""A public column of each."""


def statistics(place: Place) -> dict[str, tuple[str, float]]:
    """By name, SQL and a limit, or a quantile's fraction."""
    limit = place.domain[0] + 0.4 * (place.domain[1] - place.domain[0])
    return {
        "count": (f"COUNT_IF({place.column} >= {limit:g})", limit),
        "share": (f"AVG(CASE WHEN {place.column} < {limit / 2:g} THEN 1.0 ELSE 0 END)", limit / 2),
        "median": (f"MEDIAN({place.column})", 0.5),
        "decile": (f"QUANTILE_DISC({place.column}, 0.9)", 0.9),
        "deviation": (f"STDDEV_POP({place.column})", 0.0),
        "correlation": (f"CORR({place.column}, {BESIDE[place.name]})", 0.0),
    }


def rivals(place: Place, epsilon: float) -> dict[str, Noisy] | None:
    """The same by OpenDP; None where it is not installed."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    low, high, step = place.domain
    laplace = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1 / epsilon)
    domain = dp.vector_domain(dp.atom_domain(T=int))
    values = list(range(low, high + 1, step))

    def noisy(value: float, most: float, parts: int) -> float:
        """A sum to which nobody adds more than `most`, by so much of ε."""
        scale = max(most, 1) * parts / epsilon
        made = dp.m.make_laplace(dp.atom_domain(T="i64"), dp.absolute_distance(T="i64"), scale=scale)
        return float(made(round(value)))

    half = (high - low) / 2

    def deviation(data: np.ndarray, _ages: np.ndarray, _detail: float) -> float:
        x, size = data - (low + high) / 2, len(data)
        first, second = noisy(x.sum(), half, 2), noisy((x**2).sum(), half**2, 2)
        return float(np.sqrt(np.clip(second / size - (first / size) ** 2, 0, half**2)))

    def correlation(data: np.ndarray, ages: np.ndarray, _detail: float) -> float:
        x, y, size = data - (low + high) / 2, ages - ages.mean(), len(data)
        first, second = noisy(x.sum(), half, 3), noisy((x**2).sum(), half**2, 3)
        product = noisy((x * y).sum(), half * float(np.abs(y).max()), 3)
        spread = np.sqrt(max(second / size - (first / size) ** 2, 1e-9))
        return float(np.clip(product / size / spread / max(y.std(), 1e-9), -1, 1))

    def quantile(data: np.ndarray, _ages: np.ndarray, fraction: float) -> float:
        released = dp.m.make_private_quantile(
            domain, dp.symmetric_distance(), dp.max_divergence(), candidates=values, alpha=fraction,
            scale=_scale(dp, domain, values, fraction, epsilon),
        )  # fmt: skip
        return float(released([int(each) for each in data]))

    return {
        "count": lambda data, _ages, limit: laplace(int((data >= limit).sum())),
        "share": lambda data, _ages, limit: laplace(int((data < limit).sum())) / len(data),
        "median": quantile,
        "decile": quantile,
        "deviation": deviation,
        "correlation": correlation,
    }


_SCALES: dict[tuple[float, float], float] = {}


def _scale(dp: object, domain: object, values: Sequence[int], fraction: float, epsilon: float) -> float:
    """The least noise of a quantile that spends no more than ε."""
    if (fraction, epsilon) not in _SCALES:

        def made(scale: float) -> object:
            return dp.m.make_private_quantile(  # type: ignore[attr-defined]
                domain, dp.symmetric_distance(), dp.max_divergence(),  # type: ignore[attr-defined]
                candidates=list(values), alpha=fraction, scale=scale,
            )  # fmt: skip

        _SCALES[fraction, epsilon] = dp.binary_search_param(made, d_in=1, d_out=epsilon, T=float)  # type: ignore[attr-defined]
    return _SCALES[fraction, epsilon]


def day(
    place: Place, path: Path, policy: Policy, size: int, groups: int, console: Console
) -> dict[str, tuple[list[float], int, float]]:
    """Half widths of what is told of each statistic, how many are not, and the rival's median error."""
    chance, other = np.random.default_rng(size), BESIDE[place.name]
    with duckdb.connect(str(path), read_only=True) as plain:
        known = plain.execute(f"SELECT {place.column}, {other} FROM {place.name} ORDER BY id").fetchnumpy()
        column, beside = known[place.column], known[other]
    drawn = [chance.choice(len(column), size, replace=False) for _ in range(groups)]
    path = _marked(place, path, drawn)
    asked = statistics(place)
    rival = rivals(place, 1 / (groups * len(asked)))
    found: dict[str, tuple[list[float], list[int], list[float]]] = {name: ([], [], []) for name in asked}
    span = place.domain[1] - place.domain[0]
    with Gate.open(path, policy, path.with_suffix(f".{size}.ledger")) as gate:
        for group, members in enumerate(track(drawn, f"{place.name}, {size}", console=console)):
            data, ages = (np.asarray(each[members]).astype(float) for each in (column, beside))
            where = f"in_{group}"
            for name, (sql, detail) in asked.items():
                scale = {"count": size, "share": 1, "correlation": 1}.get(name, span)
                try:
                    shown = f"SELECT AT_LEAST({sql}), AT_MOST({sql}) FROM {place.name} WHERE {where}"
                    ((low, high),) = gate.execute(shown).fetchall()
                    true = _true(name, data, ages, detail)
                    if name == "correlation" and low is not None:
                        low, high = max(low, -1.0), min(high, 1.0)
                    assert low is None or low - 1e-9 <= true <= high + 1e-9, (name, low, true, high)
                    found[name][1].extend([1] * (low is None))
                    found[name][0].extend([] if low is None else [(high - low) / 2 / scale])
                except QueryRefused:
                    found[name][1].append(1)
                if rival is not None:
                    true = _true(name, data, ages, detail)
                    off = [abs(rival[name](data, ages, detail) - true) for _ in range(RUNS // groups)]
                    found[name][2].append(float(np.median(off)) / scale)
    return {
        name: (widths, len(refused), float(np.median(errors)) if errors else float("nan"))
        for name, (widths, refused, errors) in found.items()
    }


def _marked(place: Place, path: Path, drawn: Sequence[np.ndarray]) -> Path:
    """A copy of the table with a public column for each group that says who is in it."""
    copy = path.with_suffix(f".{len(drawn[0])}.duckdb")
    shutil.copy(path, copy)
    with duckdb.connect(str(copy)) as made:
        for group, members in enumerate(drawn):
            made.execute(f"ALTER TABLE {place.name} ADD COLUMN in_{group} BOOLEAN DEFAULT FALSE")
            made.execute(
                f"UPDATE {place.name} SET in_{group} = TRUE WHERE id IN (SELECT unnest(?))",
                [members.tolist()],
            )
    return copy


def _true(name: str, data: np.ndarray, ages: np.ndarray, detail: float) -> float:
    """By numpy, not by what is measured."""
    if name == "deviation":
        return float(data.std())
    if name == "correlation":
        return float(np.corrcoef(data, ages)[0, 1])
    if name == "count":
        return float((data >= detail).sum())
    if name == "share":
        return float((data < detail).mean())
    if name == "median":
        return float(np.median(data))
    return float(np.sort(data)[max(int(np.ceil(detail * len(data))) - 1, 0)])


def main(arguments: list[str] | None = None) -> None:
    """Ask, measure, compare."""
    parser = options("widths", __doc__)
    parser.add_argument("--table", choices=[place.name for place in TABLES])
    parser.add_argument("--people", type=int, nargs="*", choices=SIZES, help="sizes of groups")
    parser.add_argument("--groups", type=int, default=5, help="of each size, in one day")
    given = parser.parse_args(arguments)
    sizes = SIZES[:1] if given.quick else given.people or SIZES
    groups = 1 if given.quick else given.groups
    console, lines = Console(width=140), list[Line]()
    heads = (
        "table",
        "people",
        "statistic",
        "told",
        "half the width, median",
        "OpenDP's error, median",
        "ratio",
    )
    table = Table(*heads, title=f"{groups} groups of each size, six statistics of each; ε = 1 for a day")
    with tempfile.TemporaryDirectory() as folder:
        for place in TABLES:
            there = place.there if isinstance(place, OfPackage) else place.source.exists()
            if given.table not in (None, place.name) or not there:
                continue
            path = Path(folder) / f"{place.name}.duckdb"
            place.build(path)
            with duckdb.connect(str(path)) as plain:
                plain.execute(
                    f"CREATE TABLE numbered AS SELECT row_number() OVER () - 1 AS id, * FROM {place.name}"
                )
                plain.execute(f"DROP TABLE {place.name}; ALTER TABLE numbered RENAME TO {place.name}")
                count = plain.execute(f"SELECT count(*) FROM {place.name}").fetchall()[0][0]
            policy = place.policy(0.5, "suppress", 10.0)
            for size in (each for each in sizes if each < count):
                for name, (widths, refused, error) in day(place, path, policy, size, groups, console).items():
                    half = float(np.median(widths)) if widths else float("nan")
                    told = f"{len(widths)} of {len(widths) + refused}"
                    ratio = f"{error / half:.2f}" if half else "–"
                    table.add_row(place.name, f"{size:,}", name, told, f"{half:.4f}", f"{error:.4f}", ratio)
                    size_text = f"{size:,} people, {told} told"
                    what = f"range of a {name}: half its width"
                    lines.append(
                        Line(what, place.name.upper(), size_text, half, "OpenDP, ε = 1 a day", error, "part")
                    )
    console.print(table)
    write(given.json, lines)


if __name__ == "__main__":
    main()
