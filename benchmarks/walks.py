"""Posteriors of thousands of real records beside long random walks over the tables that agree with every sum.

Run as `python -m benchmarks.walks`. Nothing can be counted there, so the rival is a walk that shares no code
with the formula: two pairs of records with the same difference of sums exchange a few units, all such
exchanges alike, so that all tables that they reach are equally likely in the long run. It begins once at the
true table and once at one that the engine has thought up; how far the two are apart says how well it has
mixed, and no agreement with the formula can be asked for that is better than that.

Sums are by one and two public columns, groups of fewer than 25 persons left out: of the census table, or with
`--table adult` of hours per week of 4,000 persons of the Adult table, chosen once, since all 45,222 make too
many pairs. With `--prior` unit v has odds 1 / (1 + v), and the walk takes an exchange with the chance that it
makes its table likelier (Metropolis): there the formula's risks with skewness and without are shown besides.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numba
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks._data import ACS, ADULT, timed
from benchmarks._results import Line, options, write
from cae_sql import AnsweredSystem, Domain
from cae_sql.inference.posterior.baselines import against, areas_of_rows, held, posterior_risks
from cae_sql.inference.posterior.likely import Likely
from cae_sql.inference.tables.priors import Prior

LEAST = 25
MILLIONS = 100
"""Exchanges that are tried, from each beginning; half as many before anything is counted."""
FARTHEST = 8
"""The greatest unit is so many times what one exchange moves at most."""
LIMIT = 0.5
SEED = 11
PERSONS = 4_000
"""Of the Adult table."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Study:
    """A table, what is asked of it, and by which columns."""

    name: str
    source: Path
    column: str
    by: tuple[str, ...]
    domain: Domain

    def read(self, most: int = PERSONS) -> pd.DataFrame:
        table = pd.read_csv(self.source)
        if len(table) <= most:
            return table
        return table.sample(most, random_state=SEED).sort_index().reset_index(drop=True)


STUDIES = {
    "acs": Study("ACS", ACS, "salary", ("sex", "education", "industry", "occupation"), Domain(10, 250, 10)),
    "adult": Study(
        "Adult", ADULT, "hours_per_week", ("sex", "education", "workclass", "occupation"), Domain(1, 99, 1)
    ),
}


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
    skewed: tuple[float, float]
    """By how much the risk with skewness is too low, and too great, against the walks: 99th percentiles."""
    straight: tuple[float, float]
    """The same without."""
    ours: float
    """CPU seconds of the formula."""
    theirs: float


@numba.njit(nogil=True)
def walk(
    x: Ints, first: Ints, second: Ints, starts: Ints, alike: Ints, top: int, farthest: int, steps: int,
    seed: int, odds: Floats, counts: Ints,
) -> int:  # fmt: skip
    """Exchange; how often it was possible.

    Args:
        x: (n,) a table in units; changed.
        first: (p,) of ordered pairs of records, those with one difference of sums side by side; `second`.
        starts: Where each difference begins.
        alike: (p,) the number of each pair's difference.
        top: Greatest unit.
        farthest: Units that one exchange moves at most.
        steps: Exchanges that are tried.
        seed: Of the walk.
        odds: (top + 1,) of each unit, up to a factor.
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
        far = np.random.randint(1, farthest + 1)
        possible = True
        for place in range(4):
            value = x[who[place]] + far * by[place]
            possible = possible and 0 <= value <= top
        if possible:
            ratio = 1.0
            for place in range(4):
                ratio *= odds[x[who[place]] + far * by[place]] / odds[x[who[place]]]
            possible = ratio >= 1.0 or np.random.random() < ratio
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


def groups(table: pd.DataFrame, by: Sequence[str], count: int) -> list[Ints]:
    """Query sets: by one column, then by two, as many as are wanted."""
    found = []
    for size in (1, 2):
        for names in itertools.combinations(by, size):
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


def row(study: Study, table: pd.DataFrame, wanted: int, millions: int, with_prior: bool) -> Row:
    """The formula beside walks."""
    domain, size = study.domain, len(table)
    low, high, step = (int(each) for each in (domain.minimum, domain.maximum, domain.step))
    values, top = table[study.column].to_numpy().astype(np.int64), (high - low) // step
    units, farthest = (values - low) // step, max(1, top // FARTHEST)
    odds = 1.0 / (1.0 + np.arange(top + 1)) if with_prior else np.ones(top + 1)
    prior = prior_of(odds / odds.sum()) if with_prior else None
    system, sets = AnsweredSystem(size, low, high, step, prior=prior), groups(table, study.by, wanted)
    for members in sets:
        system.add_sum(members, int(values[members].sum()))
    with timed(time.process_time) as watch:
        likely = system._likely(domain, None)
        risks = posterior_risks(likely, domain)
    labels = likely.known.atoms.labels[:size]
    begun = [units, np.asarray(system.worlds(1, seed=1)[0] - low) // step]
    pairs, walks = exchanges(sets, size), list[Floats]()
    with timed(time.process_time) as walked:
        for number, beginning in enumerate(begun):
            x, counts = beginning.astype(np.int64), np.zeros((size, top + 1), dtype=np.int64)
            walk(x, *pairs, top, farthest, millions * 500_000, 2 * number, odds, counts)
            counts[:] = 0
            made = walk(x, *pairs, top, farthest, millions * 1_000_000, 2 * number + 1, odds, counts)
            assert all(x[members].sum() == units[members].sum() for members in sets)
            print(f"{len(sets)} sums: {made:,} exchanges made", file=sys.stderr)
            walks.append(counts / counts.sum(axis=1, keepdims=True))
    both, mine = np.mean(walks, axis=0), likely.rows[labels]
    theirs, ours = against(areas_of_rows(both, domain), risks.baseline[labels], domain), risks.risk[labels]
    each = [risk[labels] for risk in forms(likely, domain)]
    return Row(
        len(sets), size, _apart(walks[0], walks[1]), _apart(mine, both),
        float(ours.max()), float(theirs.max()), float(np.percentile(theirs - ours, 99)),
        int(((theirs > LIMIT) & (ours <= LIMIT)).sum()), _off(theirs, each[0]), _off(theirs, each[-1]),
        watch.seconds, walked.seconds,
    )  # fmt: skip


def prior_of(odds: Floats) -> Prior:
    """Units drawn by odds, (top + 1,) of sum 1."""

    def draw(count: int, seed: int) -> Ints:
        return np.random.default_rng(seed).choice(len(odds), count, p=odds)

    return Prior.of(draw, odds)


def forms(likely: Likely, domain: Domain) -> list[Floats]:
    """Risks by atom, of the formula with skewness and without."""
    baselines = held(likely.tilt, likely.top, domain, "members")
    return [against(areas_of_rows(each.rows, domain), baselines.of(each), domain) for each in likely.both]


def _off(theirs: Floats, ours: Floats) -> tuple[float, float]:
    """By how much risks are too low, and too great: each the 99th percentile."""
    return float(np.percentile(theirs - ours, 99)), float(np.percentile(ours - theirs, 99))


def _apart(one: Floats, other: Floats) -> tuple[float, float]:
    """Total variation, record by record: its median and 99th percentile."""
    variation = np.abs(one - other).sum(axis=1) / 2
    return float(np.median(variation)), float(np.percentile(variation, 99))


def main(arguments: list[str] | None = None) -> None:
    parser = options("walks", __doc__)
    parser.add_argument("--sums", type=int, nargs="+", default=[10, 25, 50])
    parser.add_argument("--millions", type=int, default=MILLIONS, help="exchanges tried, in millions")
    parser.add_argument("--table", choices=STUDIES, default="acs")
    parser.add_argument("--prior", action="store_true", help="unit v has odds 1 / (1 + v)")
    given = parser.parse_args(arguments)
    study = STUDIES[given.table]
    if not study.source.is_file():
        print(f"{study.source.name} is not among the shared data: nothing is measured", file=sys.stderr)
        write(given.json, [], [])
        return
    table = study.read(600) if given.quick else study.read()
    rows = [
        row(study, table, wanted, 1 if given.quick else given.millions, given.prior) for wanted in given.sums
    ]
    shown = Table(
        title=f"{study.name}, {len(table):,} records: posteriors by formula, and by walks over tables"
    )
    for name in (
        *("sums", "apart: the walks", "formula and walks", "greatest risk", "by walks"),
        *(
            "formula less by",
            "beyond by walks alone",
            "with skewness less, more",
            "without",
            "formula",
            "walks",
        ),
    ):
        shown.add_column(name, justify="right")
    for each in rows:
        shown.add_row(
            str(each.sums), *(f"{low:.3f}, {high:.3f}" for low, high in (each.between, each.variation)),
            *(f"{figure:.3f}" for figure in (each.highest, each.walked, each.less)), str(each.beyond),
            *(f"{low:.3f}, {high:.3f}" for low, high in (each.skewed, each.straight)),
            f"{each.ours:.2f} s", f"{each.theirs:.1f} s",
        )  # fmt: skip
    Console(width=190).print(shown)
    lines = [
        Line("posteriors of everybody", study.name, f"{each.sums} sums", each.ours, "walk", each.theirs)
        for each in rows
    ]
    write(given.json, lines, [asdict(each) for each in rows])


if __name__ == "__main__":
    main()
