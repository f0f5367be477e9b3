"""How fast the paper's comparison of techniques is: its query-restriction experiment, and the whole of it.

Run as `python -m benchmarks.releases`. Paper 000, Section 5.

Query restriction: for each query set size (2, 4, 8, 16, 32) 30 systems of sums over shuffled records, and in
each the least and the greatest value of every record. This side: shuffling, then `windows.intervals`. Rivals:
scipy.optimize.linprog (HiGHS), two programs per record, timed on a sample of the records of one system per
size and extrapolated to all; and this package's own engine for any sums, `AnsweredSystem.bounds`, one system
per size. Intervals of all three are compared.

The whole experiment: sampling, query restriction and noise over all subsets of the public columns and all
combinations of values that occur, 30 repetitions, on all cores. Rival: the public functions' formulas
written plainly, one class after the other with pandas, and `cae_curve` of each distribution, timed on a
sample of classes of one release per parameter and extrapolated.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from scipy import optimize, sparse

from benchmarks._data import ACS, drawn_salaries, shown, timed
from benchmarks._results import Line, options, write
from cae_sql import AnsweredSystem, Domain, cae_curve
from cae_sql.releases import add_noise, draw_sample, query_sets
from cae_sql.releases.attributes import attribute_of
from cae_sql.releases.experiment import Parameters, prepare, run
from cae_sql.releases.restriction import shuffled
from cae_sql.releases.windows import intervals

SALARY = Domain(10, 250, 10)
PUBLIC = ("age", "sex", "education", "industry", "occupation", "travel_time")
SEED = 20130527
SIZES = (2, 4, 8, 16, 32)


def staff(size: int | None) -> tuple[pd.DataFrame, str]:
    """The paper-like records, or as many drawn ones, and what they are called."""
    if ACS.is_file():
        table = pd.read_csv(ACS)[["salary", *PUBLIC]]
        return table.head(size or len(table)), "ACS 2011"
    rng = np.random.default_rng(SEED)
    count = size or 2_435
    values = {
        name: rng.integers(0, top, count) for name, top in zip(PUBLIC, (69, 2, 16, 18, 25, 60), strict=True)
    }
    return pd.DataFrame({"salary": drawn_salaries(count, SEED), **values}), "lognormal"


@dataclass(frozen=True)
class Restriction:
    """Seconds of the query-restriction experiment, CPU, each side on one core."""

    ours: float
    engine: float
    """Extrapolated from one system per size."""
    programs: float
    """Extrapolated from a sample of records of one system per size."""
    worst: float
    """Largest difference of an interval's end."""


def restriction(values: np.ndarray, systems: int, sampled: int) -> Restriction:
    places = (values - 10) // 10
    n = len(values)
    intervals(places, 1, 24)
    with timed(time.process_time) as watch:
        for size in SIZES:
            for system in range(systems):
                order = shuffled(n, size, SEED + system)
                intervals(places[order], size // 2, 24)
    engine = programs = worst = 0.0
    for size in SIZES:
        order = shuffled(n, size, SEED)
        lower, upper = np.empty(n), np.empty(n)
        low, high = intervals(places[order], size // 2, 24)
        lower[order], upper[order] = 10 + 10 * low, 10 + 10 * high
        sets = query_sets(n, size, SEED)
        with timed(time.process_time) as gate:
            system = AnsweredSystem(n, 10, 250, 10)
            for members in sets:
                system.add_sum(members, int(values[members].sum()))
            bounds = system.bounds()
        engine += gate.seconds * systems
        chosen = np.random.default_rng(SEED).choice(n, sampled, replace=False)
        seconds, ends = by_programs(values, sets, chosen)
        programs += seconds / sampled * n * systems
        worst = max(
            worst,
            float(np.abs(bounds.lower - lower).max()), float(np.abs(bounds.upper - upper).max()),
            float(np.abs(ends[0] - lower[chosen]).max()), float(np.abs(ends[1] - upper[chosen]).max()),
        )  # fmt: skip
    return Restriction(watch.seconds, engine, programs, worst)


def by_programs(values: np.ndarray, sets: list[np.ndarray], chosen: np.ndarray) -> tuple[float, np.ndarray]:
    """Seconds for these records, stating the programs left out, and their intervals (2, m)."""
    rows = np.repeat(np.arange(len(sets)), [len(members) for members in sets])
    A = sparse.csr_array((np.ones(len(rows)), (rows, np.concatenate(sets))), shape=(len(sets), len(values)))
    b = A @ values
    found = np.empty((2, len(chosen)))
    with timed(time.process_time) as watch:
        for place, record in enumerate(chosen):
            for end, sign in enumerate((1.0, -1.0)):
                cost = np.zeros(len(values))
                cost[record] = sign
                solved = optimize.linprog(cost, A_eq=A, b_eq=b, bounds=(10, 250), method="highs")
                if not solved.success:
                    raise AssertionError(f"HiGHS on record {record}: {solved.message}")
                found[end, place] = sign * solved.fun
    return watch.seconds, found


def plainly(table: pd.DataFrame, sampled: int, repetitions: int, parameters: Parameters) -> float:
    """Seconds that the experiment would take class by class."""
    rng = np.random.default_rng(SEED)
    seconds = 0.0
    for believed in _believers(table, parameters):
        for size in range(len(PUBLIC) + 1):
            subsets = list(combinations(PUBLIC, size))
            known = list(subsets[rng.integers(len(subsets))])
            classes = table[known].drop_duplicates() if known else table[[]].iloc[:1]
            some = classes.sample(min(sampled, len(classes)), random_state=SEED)
            with timed(time.process_time) as watch:
                for _, target in some.iterrows():
                    curve = cae_curve(SALARY.values, believed(known, target))
                    _ = curve.initial_entropy, curve.area
            total = sum(len(table[list(each)].drop_duplicates()) if each else 1 for each in subsets)
            seconds += watch.seconds / len(some) * total * repetitions
    return seconds


def _believers(table: pd.DataFrame, parameters: Parameters) -> Iterator:
    for percent in parameters.sampling:
        yield _after_sample(table, draw_sample(table, percent, SEED))
    for size in parameters.query_set_sizes:
        yield _after_sums(table, size)
    for percent in parameters.noise:
        yield _after_noise(table, percent)


def _match(table: pd.DataFrame, known: list[str], target: pd.Series) -> np.ndarray:
    found = np.ones(len(table), dtype=bool)
    for name in known:
        found &= table[name].to_numpy() == target[name]
    return found


def _after_sample(table: pd.DataFrame, sample: pd.DataFrame):
    def believed(known, target):
        matches, seen = _match(table, known, target).sum(), sample[_match(sample, known, target)]
        counts = np.bincount(seen.salary.to_numpy() // 10 - 1, minlength=25)
        return (counts + (matches - len(seen)) / 25) / matches

    return believed


def _after_sums(table: pd.DataFrame, size: int):
    places = table.salary.to_numpy() // 10 - 1
    order = shuffled(len(table), size, SEED)
    lower, upper = np.empty(len(table), dtype=int), np.empty(len(table), dtype=int)
    lower[order], upper[order] = intervals(places[order], size // 2, 24)

    def believed(known, target):
        p = np.zeros(25)
        matches = np.flatnonzero(_match(table, known, target))
        for record in matches:
            low, high = lower[record], upper[record]
            p[low : high + 1] += 1 / (high - low + 1) / len(matches)
        return p

    return believed


def _after_noise(table: pd.DataFrame, percent: float):
    released = add_noise(table, "salary", PUBLIC, SALARY, percent, SEED)
    attributes = {name: attribute_of(table, name) for name in PUBLIC}
    chances = {name: _chances(each.largest_noise(percent)) for name, each in attributes.items()}
    places = {name: each.places(released[name], "it") for name, each in attributes.items()}
    pay = _chances(attribute_of(table, "salary", SALARY).largest_noise(percent))
    away = (released.salary.to_numpy() // 10 - 1)[:, None] - np.arange(25)
    said = _at(pay, away)
    said /= said.sum(axis=1, keepdims=True)

    def believed(known, target):
        weight = np.ones(len(released))
        for name in known:
            own = attributes[name].places(pd.Series([target[name]]), "it")[0]
            weight *= _at(chances[name], places[name] - own)
        return weight @ said / weight.sum()

    return believed


def _chances(most: int) -> np.ndarray:
    return np.array([comb(most, j) / 2**most for j in range(most + 1)])


def _at(chances: np.ndarray, steps: np.ndarray) -> np.ndarray:
    j = steps + len(chances) // 2
    return np.where((j >= 0) & (j < len(chances)), chances[j.clip(0, len(chances) - 1)], 0.0)


def main(arguments: list[str] | None = None) -> None:
    parser = options("releases", __doc__)
    parser.add_argument(
        "--sample", type=int, default=6, help="records of a system that the programs are timed on"
    )
    parser.add_argument("--classes", type=int, default=20, help="classes that the plain way is timed on")
    given = parser.parse_args(arguments)
    table, source = staff(120 if given.quick else None)
    systems, sample, classes = (2, 2, 2) if given.quick else (30, given.sample, given.classes)
    parameters = Parameters()
    found = restriction(table.salary.to_numpy(), systems, sample)
    prepared = prepare(table, "salary", PUBLIC, SALARY)
    run(prepared, parameters, 1, SEED)  # kernels are loaded once
    cores = os.cpu_count() or 1
    with timed() as wall, timed(time.process_time) as cpu:
        run(prepared, parameters, systems, SEED, jobs=cores)
    plain = plainly(table, classes, systems, parameters)
    levels = len(parameters.sampling + parameters.query_set_sizes + parameters.noise)
    measured = sum(len(known.members) for known in prepared.known) * systems * levels
    intervals_of = ("query restriction, all intervals", source)
    size = f"{len(table):,} records, 5 sizes × {systems} systems"
    lines = [
        Line(*intervals_of, size, found.ours, "two LPs a record (SciPy), sampled",
             found.programs),
        Line(*intervals_of, size, found.ours, "AnsweredSystem.bounds, sampled",
             found.engine),
        Line("the paper's experiment", source, f"{measured:,} distributions", cpu.seconds,
             "class by class with pandas, sampled", plain, note=f"{shown(wall.seconds)} on {cores} cores"),
    ]  # fmt: skip
    report = Table(title="The paper's comparison of techniques")
    for name in ("what", "size", "this package", "rival", "the rival's", "ratio"):
        report.add_column(name)
    for line in lines:
        report.add_row(line.what, line.size, shown(line.ours or 0), line.rival, shown(line.theirs or 0),
                       f"{line.ratio or 0:,.0f}")  # fmt: skip
    console = Console(width=150)
    console.print(report)
    console.print(
        f"CPU seconds, of sampled rivals extrapolated. The experiment took {shown(wall.seconds)} by the "
        f"clock, {cores} threads. Largest difference of an interval's end: {found.worst:.0e}."
    )
    write(given.json, lines, {"restriction": asdict(found), "wall": wall.seconds, "cpu": cpu.seconds})


if __name__ == "__main__":
    main()
