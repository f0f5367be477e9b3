"""How fast the intervals of the paper's query restriction are, against two linear programs for each record.

Run as `python -m benchmarks.query_restriction`. Paper 000, Section 5: records are shuffled; for query set
size Q = 2l there are ⌊2n/Q⌋ − 1 SUM queries, each over 2l consecutive records, shifted by l. This side:
`AnsweredSystem`, every answer added, then `bounds()` of all records. The rival: scipy.optimize.linprog
(HiGHS) with one variable per record and a sparse A_eq, minimising and maximising each record's value. The
rival is timed on a sample of records and extrapolated to all; on the sample the intervals of both are
compared.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import optimize, sparse

from benchmarks._data import acs_salaries, drawn_values, shown, timed
from benchmarks._results import Line, options, write
from cae_sql import AnsweredSystem

SIZES = (2, 4, 8, 16, 32)
SEED = 20130527
LOW, HIGH, STEP = 10, 250, 10
REPEATS = 3
"""Times that this side is run; the median counts."""
COLUMNS = (
    "Q",
    "answers",
    "adding",
    "bounds()",
    "this package",
    "rival, all records",
    "sample",
    "ratio",
    "max |Δ|",
)


@dataclass(frozen=True)
class Row:
    query_set_size: int
    answers: int
    adding: float
    bounding: float
    rival: float
    sampled: int
    worst: float

    @property
    def seconds(self) -> float:
        return self.adding + self.bounding

    @property
    def ratio(self) -> float:
        return self.rival / self.seconds


def query_sets(records: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    """The paper's query sets over shuffled records."""
    shift = size // 2
    count = 2 * len(records) // size - 1
    return [records[k * shift : k * shift + size] for k in range(count)]


def by_package(
    values: NDArray[np.int64], sets: list[NDArray[np.int64]]
) -> tuple[float, float, NDArray[np.float64]]:
    """Seconds to add and to bound, and the intervals (2, n)."""
    with timed(time.process_time) as adding:
        system = AnsweredSystem(len(values), LOW, HIGH, STEP)
        for members in sets:
            system.add_sum(members, int(values[members].sum()))
    with timed(time.process_time) as bounding:
        found = system.bounds()
    return adding.seconds, bounding.seconds, np.array([found.lower, found.upper])


def by_programs(
    values: NDArray[np.int64], sets: list[NDArray[np.int64]], sample: NDArray[np.int64]
) -> tuple[float, NDArray[np.float64]]:
    """Seconds for the sample, stating the programs left out, and its intervals (2, m)."""
    rows = np.repeat(np.arange(len(sets)), [len(members) for members in sets])
    columns = np.concatenate(sets)
    A = sparse.csr_array((np.ones(len(columns)), (rows, columns)), shape=(len(sets), len(values)))
    b = A @ values
    found = np.empty((2, len(sample)))
    with timed(time.process_time) as watch:
        for place, record in enumerate(sample):
            for end, sign in enumerate((1.0, -1.0)):
                cost = np.zeros(len(values))
                cost[record] = sign
                solved = optimize.linprog(cost, A_eq=A, b_eq=b, bounds=(LOW, HIGH), method="highs")
                if not solved.success:
                    raise AssertionError(f"HiGHS on record {record}: {solved.message}")
                found[end, place] = sign * solved.fun
    return watch.seconds, found


def compare(values: NDArray[np.int64], size: int, sampled: int) -> Row:
    rng = np.random.default_rng([SEED, size])
    sets = query_sets(rng.permutation(len(values)), size)
    sample = np.sort(rng.choice(len(values), sampled, replace=False))
    runs = [by_package(values, sets) for _ in range(REPEATS)]
    adding, bounding, ours = sorted(runs, key=lambda run: run[0] + run[1])[REPEATS // 2]
    seconds, theirs = by_programs(values, sets, sample)
    worst = float(np.abs(ours[:, sample] - theirs).max())
    return Row(size, len(sets), adding, bounding, seconds / sampled * len(values), sampled, worst)


def main(arguments: list[str] | None = None) -> None:
    parser = options("query_restriction", __doc__)
    parser.add_argument("--sample", type=int, default=12, help="records that the rival is timed on")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="query set sizes")
    parser.add_argument("--values", choices=("acs", "uniform", "lognormal"), default="acs")
    given = parser.parse_args(arguments)
    values = acs_salaries() if given.values == "acs" else None
    source = "ACS 2011" if values is not None else given.values.replace("acs", "lognormal")
    if values is None:
        values = drawn_values(source, 2_500, SEED)
    if given.quick:
        values, given.sample = values[:120], 3
    by_package(values[:50], query_sets(np.arange(50), 4))  # kernels are loaded once
    table = Table(title=f"Intervals under query restriction, {len(values):,} records ({source})")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    rows = []
    for size in given.sizes:
        rows.append(row := compare(values, size, given.sample))
        table.add_row(
            *(str(row.query_set_size), f"{row.answers:,}", shown(row.adding), shown(row.bounding)),
            *(
                shown(row.seconds),
                shown(row.rival),
                str(row.sampled),
                f"{row.ratio:,.0f}",
                f"{row.worst:.0e}",
            ),
        )
    console = Console(width=130)
    console.print(table)
    console.print(
        f"Rival: scipy.optimize.linprog, two programs per record, on a random sample (seed {SEED}) and "
        "extrapolated. CPU seconds, each side on one core. max |Δ|: of the intervals' ends."
    )
    lines = [
        Line(
            *("intervals of all records, with adding", source),
            f"{len(values):,} records, {row.answers:,} sums of {row.query_set_size}",
            *(row.seconds, "two LPs a record (SciPy), sampled", row.rival),
        )
        for row in rows
    ]
    write(given.json, lines, [asdict(row) for row in rows])


if __name__ == "__main__":
    main()
