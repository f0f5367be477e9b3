"""What answers make likely of each record: the formula by leverage beside exact counting, and what it costs.

Run as `python -m benchmarks.posterior`. Three parts, in one run:

- stars (one record in many sums, each with others of its own): CAE risk by the formula beside the exact one,
  by convolution, without skewness, and by the tilt alone; total variation, and how far what is judged, the
  greater of the two, was ever below. Its time is for everybody, that of the convolution for one record. Also
  under public priors of rare and of falling values, where risk is against the prior.
- dense systems of a few records: the same beside every table listed.
- tables grouped by several columns, 2,435 to a million records: leverage and posteriors from nothing; then
  one more sum with hypothetical answers, from the kept factor (`asked`) and, as rival, worked out anew each
  time. And everybody with an insider at either end of the domain.

CPU seconds, so that what else the machine does hardly counts; kernels are compiled before.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks._data import drawn_values, shown, timed
from benchmarks._results import Line, options, write
from cae_sql.domain import Domain
from cae_sql.inference.facts.query import Query
from cae_sql.inference.posterior.baselines import Baselines, posterior_risks
from cae_sql.inference.posterior.insiders import Measure, risks_with_insider
from cae_sql.inference.posterior.likely import Asked, Likely
from cae_sql.inference.system import AnsweredSystem
from cae_sql.inference.tables.priors import Prior
from cae_sql.risk import risk_of

SEED = 20261123
DRAWS = 10
STARS = (
    (2, 10, 12),
    (2, 60, 12),
    (2, 60, 50),
    (4, 5, 4),
    (4, 200, 50),
    (25, 8, 4),
    (25, 60, 12),
    (25, 190, 25),
    (25, 800, 12),
    (100, 60, 12),
    (100, 190, 50),
)
"""Values, sums, others in each."""
UNDER_A_PRIOR = ((2, 5, 12), (2, 10, 40), (25, 8, 12), (25, 30, 12), (25, 10, 40))
"""The same. Of two values three in a hundred have the second, and record 0 has it; of 25 each is e^¼ times as
rare as the last."""
DENSE = ((8, 1, 3), (14, 1, 4), (14, 1, 7), (9, 2, 4), (6, 4, 3), (4, 24, 2))
"""Records, greatest value, sums."""
TABLES = ((2_435, 7), (100_000, 8), (1_000_000, 8))
"""Records, and by how many columns they are grouped."""
LEVELS = (10, 16, 18, 25, 5, 7, 9, 10)
HYPOTHETICAL = 8


@dataclass(frozen=True)
class Accuracy:
    """The formula beside the exact posterior."""

    what: str
    leverage: float
    exact: float
    """CAE risk against all values alike, on average."""
    formula: float
    straight: float
    """By the formula without skewness."""
    tilted: float
    variation: float
    worst_variation: float
    below: float
    """The most by which what is judged, the greater of both, was below the exact one."""
    ours: float
    """CPU seconds, of everybody."""
    theirs: float


@dataclass(frozen=True)
class Cost:
    """CPU seconds of one table."""

    records: int
    sums: int
    atoms: int
    knowledge: float
    first: float
    """λ, factor, leverage and posteriors, from nothing."""
    risks: float
    insiders: float
    asked: float
    """For each hypothetical answer, the first one's border included."""
    anew: float
    off: float
    """Greatest total variation between the two."""


def odds_of(values: int) -> np.ndarray:
    """A prior whose values fall off."""
    found = np.array([0.97, 0.03]) if values == 2 else np.exp(-np.arange(values) / 4.0)
    return found / found.sum()


def star(
    values: int, sums: int, others: int, seed: int, odds: np.ndarray | None = None
) -> tuple[AnsweredSystem, np.ndarray]:
    """Record 0 in all sums; under a prior all are drawn from it."""
    chance = np.random.default_rng(seed)
    true, prior = chance.integers(0, values, 1 + sums * others), None
    if odds is not None:
        true = chance.choice(values, len(true), p=odds)
        true[0] = 1 if values == 2 else true[0]  # who has the rare value

        def draw(count: int, seed: int) -> np.ndarray:
            return np.random.default_rng(seed).choice(values, count, p=odds)

        prior = Prior.of(draw, odds)
    system = AnsweredSystem(len(true), 0, values - 1, 1, prior=prior)
    for place in range(sums):
        query = system.query("sum", np.append(0, 1 + place * others + np.arange(others)))
        system.accept([query.answered(int(query.of(true)))])
    return system, true


def convolved(
    values: int, sums: int, others: int, true: np.ndarray, odds: np.ndarray | None = None
) -> np.ndarray:
    """The exact posterior of record 0."""
    ways, one = np.ones(1), np.ones(values) / values if odds is None else odds
    for _ in range(others):
        ways = np.convolve(ways, one)
    told = true[0] + true[1:].reshape(sums, others).sum(axis=1)
    rest = told[:, None] - np.arange(values)
    inside = (rest >= 0) & (rest < len(ways))
    with np.errstate(divide="ignore"):
        logs = np.log(one) + np.log(np.where(inside, ways[np.clip(rest, 0, len(ways) - 1)], 0.0)).sum(axis=0)
    p = np.exp(logs - logs.max())
    found: np.ndarray = p / p.sum()
    return found


def risk(p: np.ndarray, odds: np.ndarray | None = None) -> float:
    """Against all values alike, or a prior."""
    some = np.flatnonzero(p)
    found = risk_of(some, p[some], Domain(0, len(p) - 1, 1)).risk
    return found if odds is None else 1 - (1 - found) / (1 - risk(odds))


def likely_of(system: AnsweredSystem) -> Likely:
    """Anew, whatever the system has kept."""
    fresh = AnsweredSystem(system.size, 0, int(system.grid.top), 1, prior=system.prior)
    fresh.accept(system.answers)
    return fresh._likely(None, None)


def of_stars(shape: tuple[int, int, int], draws: int, odds: np.ndarray | None = None) -> Accuracy:
    """Averages over draws."""
    values, sums, others = shape
    rows, ours, theirs = [], 0.0, 0.0
    for seed in range(draws):
        system, true = star(*shape, seed, odds)
        found = likely_of(system)
        with timed(time.process_time) as watch:
            formula = found.formula
        ours += watch.seconds
        with timed(time.process_time) as watch:
            exact = convolved(*shape, true, odds)
        theirs += watch.seconds
        atom = found.known.atoms.labels[0]
        rows.append(compared(found, formula, atom, exact, odds))
    under = "" if odds is None else ", a prior"
    return averaged(f"star: {values} values, {sums} sums over {others} others{under}", rows, ours, theirs)


def of_dense(shape: tuple[int, int, int], draws: int) -> Accuracy:
    """Averages over draws and records, beside every table listed."""
    size, top, sums = shape
    rows, ours, theirs = [], 0.0, 0.0
    for seed in range(draws):
        chance = np.random.default_rng(seed)
        true, system = chance.integers(0, top + 1, size), AnsweredSystem(size, 0, top, 1)
        for _ in range(sums):
            query = system.query("sum", np.sort(chance.choice(size, size // 2, replace=False)))
            system.accept([query.answered(int(query.of(true)))])
        found = likely_of(system)
        with timed(time.process_time) as watch:
            formula = found.formula
        ours += watch.seconds
        with timed(time.process_time) as watch:
            tables = np.array(list(itertools.product(range(top + 1), repeat=size)))
            for answer in system.answers:
                tables = tables[answer.of(tables) == int(answer.value)]
        theirs += watch.seconds
        for record, atom in enumerate(found.known.atoms.labels.tolist()):
            exact = np.bincount(tables[:, record], minlength=top + 1) / len(tables)
            rows.append(compared(found, formula, atom, exact))
    return averaged(f"dense: {size} records, {top + 1} values, {sums} sums", rows, ours, theirs)


def compared(
    found: Likely, formula: np.ndarray, atom: int, exact: np.ndarray, odds: np.ndarray | None = None
) -> list[float]:
    each = exact, formula[atom], found.straight.formula[atom], found.tilted[atom]
    off = float(np.abs(exact - formula[atom]).sum() / 2)
    return [found.leverage[atom], *(risk(p, odds) for p in each), off]


def averaged(what: str, rows: Sequence[Sequence[float]], ours: float, theirs: float) -> Accuracy:
    table = np.array(rows)
    below = float((table[:, 1] - table[:, 2:4].max(axis=1)).max())
    return Accuracy(what, *table.mean(axis=0).tolist(), float(table[:, 5].max()), below, ours, theirs)


def grouped(records: int, columns: int) -> tuple[AnsweredSystem, np.ndarray, np.ndarray]:
    """Sums by each of some columns; and the first two of them."""
    chance, true = np.random.default_rng(SEED), drawn_values("lognormal", records, SEED) // 10 - 1
    system, keys = AnsweredSystem(records, 10, 250, 10), []
    for levels in LEVELS[:columns]:
        key = chance.integers(0, levels, records)
        keys.append(key)
        for level in range(levels):
            query = system.query("sum", np.flatnonzero(key == level))
            system.accept([query.answered(int(query.of(true)))])
    return system, true, np.stack(keys[:2])


def cost(records: int, columns: int, insiders: bool) -> Cost:
    """One table, and one more sum: of a cell of two columns."""
    system, true, keys = grouped(records, columns)
    domain = Domain(10, 250, 10)
    with timed(time.process_time) as knowledge:
        found = system._likely(domain, None)
    with timed(time.process_time) as first:
        found.rows  # noqa: B018 -- worked out as it is asked for
    with timed(time.process_time) as risks:
        posterior_risks(found, domain)
    values = np.tile([0.0, 24.0], (len(found.fit.observed.sizes), 1))
    with timed(time.process_time) as told:
        if insiders:
            risks_with_insider(
                found, values, Measure(domain, Baselines(found.tilt, found.top, domain, "members")), 0.5
            )
    query = system.query("sum", np.flatnonzero((keys[0] == 1) & (keys[1] < 8)))
    answers = [int(query.of(true)) + 3 * place for place in range(HYPOTHETICAL)]
    with timed(time.process_time) as asked:
        question = Asked(found, [query])
        ours = [question.given([value]).formula for value in answers]
    labels = question.given(answers[:1]).known.atoms.labels
    with timed(time.process_time) as anew:
        off = max(
            far(system, query, value, rows, labels)
            for value, rows in list(zip(answers, ours, strict=True))[: 2 if records > 10_000 else None]
        )
    count = 2 if records > 10_000 else HYPOTHETICAL
    return Cost(
        *(records, len(found.sums), found.known.count, knowledge.seconds, first.seconds, risks.seconds),
        told.seconds if insiders else float("nan"),
        *(asked.seconds / HYPOTHETICAL, anew.seconds / count, off),
    )


def far(system: AnsweredSystem, query: Query, value: int, rows: np.ndarray, labels: np.ndarray) -> float:
    """The rival: everything from nothing; and how far the other way is from it."""
    after = AnsweredSystem(system.size, 10, 250, 10)
    after.accept([*system.answers, query.answered(value)])
    found = after._likely(Domain(10, 250, 10), None)
    theirs = found.formula
    pairs = np.unique(np.stack([labels, found.known.atoms.labels]), axis=1)
    return float(np.abs(rows[pairs[0]] - theirs[pairs[1]]).sum(axis=1).max() / 2)


def main(arguments: list[str] | None = None) -> None:
    parser = options("posterior", __doc__)
    parser.add_argument("--records", type=int, nargs="+", default=[size for size, _ in TABLES])
    given = parser.parse_args(arguments)
    console = Console(width=150)
    grouped(500, 2)[0].posterior()  # compiles
    stars, few, draws = (STARS[:3], DENSE[:1], 2) if given.quick else (STARS, DENSE, DRAWS)
    priors = UNDER_A_PRIOR[:1] if given.quick else UNDER_A_PRIOR
    found = [
        *(of_stars(shape, draws) for shape in stars),
        *(of_stars(shape, draws, odds_of(shape[0])) for shape in priors),
        *(of_dense(shape, draws) for shape in few),
    ]
    table = Table(title="The formula beside exact posteriors: CAE risk against all values alike")
    table.add_column("system")
    for name in (
        "leverage",
        "exact",
        "formula",
        "without skew",
        "tilted",
        "variation",
        "at most",
        "below by",
    ):
        table.add_column(name, justify="right")
    for name in ("formula takes", "counting takes"):
        table.add_column(name, justify="right")
    for each in found:
        risks = each.exact, each.formula, each.straight, each.tilted
        off = each.variation, each.worst_variation, each.below
        table.add_row(
            *(each.what, *(f"{x:.3f}" for x in (each.leverage, *risks, *off))),
            *(shown(each.ours), shown(each.theirs)),
        )
    console.print(table)
    sizes = [2_435] if given.quick else given.records
    costs = [cost(size, dict(TABLES).get(size, 8), size <= 100_000) for size in sizes]
    table = Table(
        title=f"Tables grouped by several columns; one more sum, {HYPOTHETICAL} hypothetical answers"
    )
    for name in ("records", "sums", "atoms", "knowledge", "from nothing", "risks", "insiders"):
        table.add_column(name, justify="right")
    for name in ("asked, each", "anew, each", "anew / asked", "differ by"):
        table.add_column(name, justify="right")
    for one in costs:
        seconds = one.knowledge, one.first, one.risks
        table.add_row(
            *(f"{one.records:,}", str(one.sums), f"{one.atoms:,}", *map(shown, seconds)),
            *("–" if np.isnan(one.insiders) else shown(one.insiders), shown(one.asked), shown(one.anew)),
            *(f"{one.anew / one.asked:.1f}", f"{one.off:.1e}"),
        )
    console.print(table)
    write(given.json, lines(found, costs), [*map(asdict, found), *map(asdict, costs)])


def lines(found: list[Accuracy], costs: list[Cost]) -> list[Line]:
    """Of the table of all benchmarks."""
    told = [
        Line("risk by leverage", "uniform", each.what, each.formula, "counted", each.exact, unit="of 1")
        for each in found
    ]
    for one in costs:
        size = f"{one.records:,} records, {one.sums} sums, {one.atoms:,} atoms"
        told.append(Line("posteriors of everybody", "lognormal", size, one.first))
        told.append(
            Line(
                "a hypothetical answer's posteriors",
                "lognormal",
                size,
                one.asked,
                "worked out anew",
                one.anew,
            )
        )
    return told


if __name__ == "__main__":
    main()
