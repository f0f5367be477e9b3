"""How well a crowd's worlds are mixed from answer to answer, and whether the truth looks like one of them.

Run as `python -m benchmarks.mixing`. An `AnsweredSystem` of 20,000 records (`benchmarks/_people.py`; hardest
public columns) is told 40 random range sums at once, as from a ledger, or one by one (`--start`), then 30
more one by one. After each of these, single records' values and random range sums that are not answered are
looked at in every world:

- *lag 1*: correlation of a world's value after one answer with that after the next, over worlds and
  statistics, each less its mean over worlds; *effective*: how many of the answers count as independent looks,
  as a share, (1 − ρ) / (1 + ρ);
- *covered*: how often the true answer of a new random range query lies inside the range of the answers of
  all worlds; were the truth exchangeable with w worlds it would be (w − 1) / (w + 1).

True values are uniform or lognormal; with `prior` worlds know their distribution, without they start from
all values being alike. Sequence and seed are fixed.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks._data import timed
from benchmarks._people import SEED, People, RangeQueries
from benchmarks._results import Line, options, write
from cae_sql import AnsweredSystem
from cae_sql.inference.tables.priors import Prior

TOP, LOW, STEP = 24, 10, 10
SINGLES, SUMS, NEW = 400, 60, 100
"""Records and sums followed, and new queries by which coverage is measured after each answer."""
COLUMNS = (
    *("values", "prior", "start", "records", "answers", "lag 1, records", "effective", "lag 1, sums"),
    *("effective", "covered", "ideal", "learning"),
)


@dataclass(frozen=True)
class Row:
    """What one setting gave."""

    values: str
    prior: bool
    start: str
    records: int
    answers: int
    lag_records: float
    lag_sums: float
    covered: float
    """Of all new queries asked of the worlds."""
    ideal: float
    seconds: float
    """For the answers that began it."""

    @property
    def effective(self) -> tuple[float, float]:
        """Share of answers that count as independent looks: at records, at sums."""
        one, two = ((1 - rho) / (1 + rho) for rho in (self.lag_records, self.lag_sums))
        return min(one, 1.0), min(two, 1.0)


def prior_of(units: NDArray[np.int64]) -> Prior:
    """The distribution of the values, as somebody may know it."""
    odds = np.bincount(units, minlength=TOP + 1) + 1.0
    odds /= odds.sum()

    def draw(count: int, seed: int) -> NDArray[np.int64]:
        return np.random.default_rng(seed).choice(TOP + 1, count, p=odds)

    return Prior.of(draw, odds)


def lag(looks: Sequence[NDArray[np.float64]]) -> float:
    """Correlation of (worlds, statistics) after one answer with the same after the next."""
    off = [look - look.mean(axis=0) for look in looks]
    along = sum(float((one * two).sum()) for one, two in itertools.pairwise(off))
    squares = [float((one * one).sum()) for one in off]
    return along / max(sum(squares[:-1]) ** 0.5 * sum(squares[1:]) ** 0.5, 1e-12)


def measured(records: int, first: int, then: int, values: str, prior: bool, start: str) -> Row:
    """One setting."""
    people = People.draw(records, "uniform", values)
    units = (people.income - LOW) // STEP
    queries, rng = RangeQueries(people.columns), np.random.default_rng([SEED, 11])
    sets = [np.flatnonzero(queries.draw().members) for _ in range(first + then)]
    others = [np.flatnonzero(queries.draw().members) for _ in range(SUMS)]
    singles = rng.choice(records, min(SINGLES, records), replace=False)
    system = AnsweredSystem(records, LOW, 250, STEP, prior=prior_of(units) if prior else None)

    def tell(members: NDArray[np.int64]) -> None:
        query = system.query("sum", members)
        system.accept([query.answered(int(units[members].sum()))])

    with timed() as watch:
        for members in sets[:first]:
            tell(members)
            if start == "one by one":
                system.pool()
        system.pool()
    each, sums, inside = [], [], []
    for members in sets[first:]:
        tell(members)
        worlds = system.pool().values
        if not system.roomy_table.usable:
            raise AssertionError("no table was found that agrees")
        each.append(worlds[:, singles].astype(np.float64))
        sums.append(
            np.stack([worlds[:, other].sum(axis=1, dtype=np.int64) for other in others], axis=1) / 1.0
        )
        for _ in range(NEW // then + 1):
            new = np.flatnonzero(queries.draw().members)
            told = worlds[:, new].sum(axis=1, dtype=np.int64)
            inside.append(told.min() <= units[new].sum() <= told.max())
    count = len(system.pool().values)
    return Row(
        *(values, prior, start, records, first + then, lag(each), lag(sums)),
        *(float(np.mean(inside)), (count - 1) / (count + 1), watch.seconds),
    )


def lines_of(row: Row) -> list[Line]:
    """For the table of all benchmarks."""
    size = f"{row.records:,} records, {row.answers} answers, {row.start}"
    data = f"{row.values}, {'its' if row.prior else 'no'} prior"
    ideal = "exchangeable worlds"
    return [
        Line("mixing: true answers inside the worlds'", data, size, row.covered, ideal, row.ideal, "share"),
        Line("mixing: effective looks at a record", data, size, row.effective[0], ideal, 1.0, "share"),
        Line("mixing: effective looks at a sum", data, size, row.effective[1], ideal, 1.0, "share"),
    ]


def main(arguments: list[str] | None = None) -> None:
    parser = options("mixing", __doc__)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--answers", type=int, nargs=2, default=(40, 30), help="at the start, and followed")
    parser.add_argument("--start", choices=("at once", "one by one"), help="default: both")
    parser.add_argument("--values", choices=("uniform", "lognormal"), help="default: both")
    given = parser.parse_args(arguments)
    if given.quick:
        given.records, given.answers = 6_000, (12, 4)
    rows = [
        measured(given.records, *given.answers, values, prior, start)
        for values in ([given.values] if given.values else ("uniform", "lognormal"))
        for prior in (False, True)
        for start in ([given.start] if given.start else ("at once", "one by one"))
    ]
    table = Table(title="Mixing of a crowd's worlds, from answer to answer")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    for row in rows:
        one, two = row.effective
        table.add_row(
            *(row.values, "yes" if row.prior else "no", row.start, f"{row.records:,}", str(row.answers)),
            *(f"{row.lag_records:.2f}", f"{one:.0%}", f"{row.lag_sums:.2f}", f"{two:.0%}"),
            *(f"{row.covered:.0%}", f"{row.ideal:.0%}", f"{row.seconds:.1f} s"),
        )
    Console(width=150).print(table)
    write(given.json, [line for row in rows for line in lines_of(row)], [asdict(row) for row in rows])


if __name__ == "__main__":
    main()
