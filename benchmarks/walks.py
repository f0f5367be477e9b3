"""Posteriors of thousands of real records beside long random walks over the tables that agree with every sum.

Run as `python -m benchmarks.walks`. Nothing can be counted there, so the rival is a walk that shares no code
with the formula: two pairs of records with the same difference of sums exchange one to three units, all such
exchanges alike, so that all tables that they reach are equally likely in the long run. It begins once at the
true table and once at one that the engine has thought up; how far the two are apart says how well it has
mixed, and no agreement with the formula can be asked for that is better than that.

Sums are by one and two public columns of the census table, groups of fewer than 25 persons left out.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numba
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks._data import ACS, timed
from benchmarks._results import Line, options, write
from cae_sql import AnsweredSystem, Domain
from cae_sql.inference.posterior.areas import areas_of_rows
from cae_sql.inference.posterior.members import against, posterior_risks

COLUMNS = ("sex", "education", "industry", "occupation")
SALARY = Domain(10, 250, 10)
LEAST = 25
MILLIONS = 100
"""Exchanges that are tried, from each beginning; half as many before anything is counted."""
FARTHEST = 3
"""Units that one exchange moves, at most."""
LIMIT = 0.5
SEED = 11

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """One history."""

    sums: int
    records: int
    between: tuple[float, float]
    """Total variation between the two walks: median and 99th percentile of the records."""
    variation: tuple[float, float]
    """The same between the formula and both walks together."""
    highest: float
    """The greatest risk by the formula."""
    walked: float
    """The greatest risk by the walks."""
    less: float
    """By how much the formula's risk is below that of the walks, 99th percentile."""
    beyond: int
    """Records whose risk by the walks is beyond 0.5, and by the formula is not."""
    ours: float
    """CPU seconds of the formula."""
    theirs: float


@numba.njit(nogil=True)
def walk(
    x: Ints, first: Ints, second: Ints, starts: Ints, alike: Ints, top: int, steps: int, seed: int,
    counts: Ints,
) -> int:  # fmt: skip
    """Exchange; how often it was possible.

    Args:
        x: (n,) a table in units; changed.
        first: (p,) of ordered pairs of records, those with one difference of sums side by side; `second`.
        starts: Where each difference begins.
        alike: (p,) the number of each pair's difference.
        top: Greatest unit.
        steps: Exchanges that are tried.
        seed: Of the walk.
        counts: (n, top + 1) how long each record has had each unit; added to.
    """
    np.random.seed(seed)
    since, made = np.zeros(len(x), np.int64), 0
    who, by = np.empty(4, np.int64), np.array([1, -1, -1, 1])
    for step in range(steps):
        one = np.random.randint(0, len(first))
        group = alike[one]
        other = np.random.randint(starts[group], starts[group + 1])
        who[0], who[1], who[2], who[3] = first[one], second[one], first[other], second[other]
        if who[0] == who[2] or who[0] == who[3] or who[1] == who[2] or who[1] == who[3]:
            continue
        far = np.random.randint(1, FARTHEST + 1)
        possible = True
        for place in range(4):
            value = x[who[place]] + far * by[place]
            possible = possible and 0 <= value <= top
        if possible:
            made += 1
            for place in range(4):
                i = who[place]
                counts[i, x[i]] += step - since[i]
                since[i] = step
                x[i] += far * by[place]
    for i in range(len(x)):
        counts[i, x[i]] += steps - since[i]
    return made


def groups(table: pd.DataFrame, count: int) -> list[Ints]:
    """Query sets: by one column, then by two, as many as are wanted."""
    found = []
    for size in (1, 2):
        for names in itertools.combinations(COLUMNS, size):
            members = table.groupby(list(names), observed=True).indices.values()
            found += [each for each in members if len(each) >= LEAST]
    return found[:count]


def exchanges(sets: Sequence[Ints], size: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Ordered pairs whose difference of sums another pair has too, as `walk` takes them."""
    rng, names = np.random.default_rng(SEED), np.zeros(size, dtype=np.int64)
    for members in sets:
        names[members] += rng.integers(1, 2**62)  # modulo 2⁶⁴: equal sums have equal names
    first, second = (each.ravel() for each in np.indices((size, size)))
    difference = names[first] - names[second]
    difference[first == second] = rng.integers(1, 2**62, size)
    order = np.argsort(difference, kind="stable")
    _, alike, often = np.unique(difference[order], return_inverse=True, return_counts=True)
    kept = often[alike] > 1
    first, second = first[order][kept], second[order][kept]
    sizes = often[often > 1]
    return first, second, np.append(0, np.cumsum(sizes)), np.repeat(np.arange(len(sizes)), sizes)


def row(table: pd.DataFrame, wanted: int, millions: int) -> Row:
    """The formula beside walks."""
    units, size = ((table.salary - 10) // 10).to_numpy().astype(np.int64), len(table)
    system, sets = AnsweredSystem(size, 10, 250, 10), groups(table, wanted)
    for members in sets:
        system.add_sum(members, int(table.salary.to_numpy()[members].sum()))
    with timed(time.process_time) as watch:
        likely = system._likely(SALARY, None)
        risks = posterior_risks(likely, SALARY)
    labels = likely.known.atoms.labels[:size]
    begun = [units, np.asarray(system.worlds(1, seed=1)[0] - 10) // 10]
    pairs, walks = exchanges(sets, size), list[Floats]()
    with timed(time.process_time) as walked:
        for number, beginning in enumerate(begun):
            x, counts = beginning.astype(np.int64), np.zeros((size, 25), dtype=np.int64)
            walk(x, *pairs, 24, millions * 500_000, 2 * number, counts)
            counts[:] = 0
            made = walk(x, *pairs, 24, millions * 1_000_000, 2 * number + 1, counts)
            assert all(x[members].sum() == units[members].sum() for members in sets)
            print(f"{len(sets)} sums: {made:,} exchanges made", file=sys.stderr)
            walks.append(counts / counts.sum(axis=1, keepdims=True))
    both, mine = np.mean(walks, axis=0), likely.rows[labels]
    theirs, ours = against(areas_of_rows(both, SALARY), risks.baseline[labels], SALARY), risks.risk[labels]
    return Row(
        len(sets), size, _apart(walks[0], walks[1]), _apart(mine, both),
        float(ours.max()), float(theirs.max()), float(np.percentile(theirs - ours, 99)),
        int(((theirs > LIMIT) & (ours <= LIMIT)).sum()), watch.seconds, walked.seconds,
    )  # fmt: skip


def _apart(one: Floats, other: Floats) -> tuple[float, float]:
    """Total variation, record by record: its median and 99th percentile."""
    variation = np.abs(one - other).sum(axis=1) / 2
    return float(np.median(variation)), float(np.percentile(variation, 99))


def main(arguments: list[str] | None = None) -> None:
    parser = options("walks", __doc__)
    parser.add_argument("--sums", type=int, nargs="+", default=[10, 25, 50])
    parser.add_argument("--millions", type=int, default=MILLIONS, help="exchanges tried, in millions")
    given = parser.parse_args(arguments)
    if not ACS.is_file():
        print(f"{ACS.name} is not among the shared data: nothing is measured", file=sys.stderr)
        write(given.json, [], [])
        return
    table = pd.read_csv(ACS)
    rows = [row(table, wanted, 2 if given.quick else given.millions) for wanted in given.sums]
    shown = Table(title=f"ACS, {len(table):,} records: posteriors by formula, and by walks over tables")
    for name in (
        *("sums", "apart: the walks", "formula and walks", "greatest risk", "by walks"),
        *("formula less by", "beyond by walks alone", "formula", "walks"),
    ):
        shown.add_column(name, justify="right")
    for each in rows:
        shown.add_row(
            str(each.sums), *(f"{low:.3f}, {high:.3f}" for low, high in (each.between, each.variation)),
            *(f"{figure:.3f}" for figure in (each.highest, each.walked, each.less)), str(each.beyond),
            f"{each.ours:.2f} s", f"{each.theirs:.1f} s",
        )  # fmt: skip
    Console(width=150).print(shown)
    lines = [
        Line("posteriors of everybody", "ACS", f"{each.sums} sums", each.ours, "walk", each.theirs)
        for each in rows
    ]
    write(given.json, lines, [asdict(each) for each in rows])


if __name__ == "__main__":
    main()
