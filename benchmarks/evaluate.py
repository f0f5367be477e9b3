"""`cae-sql evaluate` against the same measure class by class with pandas: techniques, on tables of all sizes.

Run as `python -m benchmarks.evaluate`. Adult (45,222 records, hours per week from 1 to 99 confidential; sex,
race, education, marital status and age public and known) where it is beside the project, and tables that are
drawn: 25 values, sex, age, region and education. Ours is what the command does between reading and printing:
the release is made, what is believed of every class worked out, measured and held against a limit. The rival
takes the same release and does as one would by hand: for each class it selects records with pandas, writes
down the candidate distribution, and gives it to `cae_area`. It does `--classes` of them, drawn, and the time
is extrapolated; their risks must agree. CPU seconds; the first call compiles and is not timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
import pandas as pd
from rich.console import Console

from auditor.evaluation.evaluate import Evaluation, evaluate
from auditor.evaluation.releases import Grouped, Noisy, Randomised, Sample
from auditor.evaluation.subject import Subject
from auditor.evaluation.techniques import TECHNIQUES, Settings
from benchmarks._data import ADULT, drawn_salaries, shown
from benchmarks._results import Line, options, write
from cae_sql import Domain, cae_area, cae_entropy
from cae_sql.releases.attributes import attribute_of
from cae_sql.risk import Limit

Floats = np.ndarray
ByHand = Callable[["Case", Evaluation, pd.DataFrame], Floats]


@dataclass(frozen=True)
class Case:
    """A table to be released."""

    name: str
    subject: Subject

    @property
    def values(self) -> Floats:
        return self.subject.domain.values


def adult() -> Case | None:
    """Adult, where it is."""
    if not ADULT.is_file():
        return None
    public = ("sex", "race", "education", "marital_status", "age")
    table = pd.read_csv(ADULT)[[*public, "hours_per_week"]]
    domain = Domain(1, 99, 1)
    return Case("Adult", Subject("adult", table, "hours_per_week", public, public, domain, Limit(risk=0.5)))


def drawn(records: int) -> Case:
    """A table of salaries."""
    rng = np.random.default_rng(0)
    public = ("sex", "age", "region", "education")
    table = pd.DataFrame({
        "sex": rng.choice(["f", "m"], records), "age": rng.integers(16, 85, records),
        "region": rng.integers(0, 20, records), "education": rng.integers(1, 17, records),
        "salary": drawn_salaries(records, 1),
    })  # fmt: skip
    domain = Domain(10, 250, 10)
    return Case("lognormal", Subject("drawn", table, "salary", public, public, domain, Limit(risk=0.5)))


def of_sample(case: Case, found: Evaluation, members: pd.DataFrame) -> Floats:
    """p_d = f_d / |M_o| + (|M_o| − |M_s|) / |M_o| · 1/|D|."""
    assert isinstance(found.release, Sample)
    there = _alike(found.release.table, case, members)
    share = _counted(there[case.subject.column], case) + (len(members) - len(there)) / len(case.values)
    return share / len(members)


def of_noise(case: Case, found: Evaluation, members: pd.DataFrame) -> Floats:
    """Bayes' rule over all released records."""
    assert isinstance(found.release, Noisy)
    s, table = case.subject, found.release.table
    weight = np.ones(len(table))
    for name in s.known:
        attribute = attribute_of(s.table, name)
        away = attribute.places(table[name], "") - attribute.places(members[name].iloc[:1], "")[0]
        weight *= _binomial(away, attribute.largest_noise(found.release.noise))
    most = int(2 * round(found.release.noise * (len(case.values) - 1) / 200))
    heard, by_value = np.unique(table[s.column].to_numpy(), return_inverse=True)
    weights = np.bincount(by_value, weight)
    step = case.values[1] - case.values[0]
    said = np.stack([_binomial(np.rint((heard - d) / step).astype(int), most) for d in case.values], axis=1)
    p = (weights[:, None] * said / said.sum(axis=1, keepdims=True)).sum(axis=0)
    return np.asarray(p / p.sum())


def of_randomised(case: Case, found: Evaluation, members: pd.DataFrame) -> Floats:
    """The released records that have the known values, each telling what the distortion leaves."""
    assert isinstance(found.release, Randomised)
    d = len(case.values)
    p = found.release.probabilities[case.subject.column]
    there = _counted(_alike(found.release.table, case, members)[case.subject.column], case)
    share = there / there.sum()
    return np.asarray(share * p + (1 - share) * (1 - p) / (d - 1))


def of_groups(case: Case, found: Evaluation, members: pd.DataFrame) -> Floats:
    """The values of each member's group, averaged over the members."""
    assert isinstance(found.release, Grouped)
    label, s = found.release.group, case.subject
    p = np.zeros(len(case.values))
    for record in members.index:
        group = s.table[s.column][label == label[record]]
        p += _counted(group, case) / len(group) / len(members)
    return p


def _alike(table: pd.DataFrame, case: Case, members: pd.DataFrame) -> pd.DataFrame:
    keep = np.ones(len(table), dtype=bool)
    for name in case.subject.known:
        keep &= (table[name] == members[name].iloc[0]).to_numpy()
    return table[keep]


def _counted(column: pd.Series, case: Case) -> Floats:
    return column.value_counts().reindex(case.values, fill_value=0).to_numpy().astype(float)


def _binomial(away: Floats, most: int) -> Floats:
    chances = np.array([comb(most, j) / 2**most for j in range(most + 1)])
    place = away + most // 2
    return np.where((place >= 0) & (place <= most), chances[place.clip(0, most)], 0.0)


WORK: Sequence[tuple[str, Settings, ByHand]] = (
    ("sampling", Settings(percent=20), of_sample),
    ("noise", Settings(noise=20), of_noise),
    ("randomised-response", Settings(), of_randomised),
    ("generalisation", Settings(k=10), of_groups),
    ("anatomy", Settings(ell=2), of_groups),
)


def race(case: Case, name: str, settings: Settings, by_hand: ByHand, classes: int) -> Line:
    """One technique on one table."""
    s = case.subject
    if name == "randomised-response":
        settings = Settings(probability={s.column: 0.7})
    start = time.process_time()
    found = evaluate(s, TECHNIQUES[name], settings)
    ours = time.process_time() - start
    chosen = np.random.default_rng(0).choice(
        len(found.classes), min(classes, len(found.classes)), replace=False
    )
    prior = cae_area(case.values)
    start, risks = time.process_time(), []
    for row in found.classes[list(s.known)].iloc[chosen].itertuples(index=False):
        alike = np.ones(len(s.table), dtype=bool)
        for column, value in zip(s.known, row, strict=True):
            alike &= (s.table[column] == value).to_numpy()
        p = by_hand(case, found, s.table[alike])
        cae_entropy(case.values, p)
        risks.append(1 - cae_area(case.values, p) / prior)
    theirs = (time.process_time() - start) * len(found.classes) / len(chosen)
    away = float(np.abs(found.classes["risk"].to_numpy()[chosen] - risks).max())
    if away > 1e-9:
        raise SystemExit(f"{name}, {case.name}: the rival's risks differ by {away:.1e}")
    size = f"{len(s.table):,} records, {len(found.classes):,} classes, {len(case.values)} values"
    note = f"rival: {len(chosen)} classes, extrapolated; risks agree to {away:.0e}"
    return Line(f"evaluate, {name}", case.name, size, ours, "pandas, class by class", theirs, note=note)


def main(arguments: list[str] | None = None) -> None:
    parser = options("evaluate", __doc__)
    parser.add_argument("--records", type=int, nargs="*", default=[45_000, 1_000_000], help="of drawn tables")
    parser.add_argument("--classes", type=int, default=40, help="that the rival does")
    given = parser.parse_args(arguments)
    console = Console(width=170)
    warm = drawn(400)
    for name, settings, by_hand in WORK:
        race(warm, name, settings, by_hand, 3)
    cases = (
        [drawn(2_000)] if given.quick else [each for each in (adult(), *map(drawn, given.records)) if each]
    )
    lines = []
    for case in cases:
        for name, settings, by_hand in WORK:
            line = race(case, name, settings, by_hand, 5 if given.quick else given.classes)
            lines.append(line)
            console.print(
                f"{line.what}, {line.data}, {line.size}: {shown(line.ours or 0)}, {line.rival} "
                f"{shown(line.theirs or 0)}: {line.ratio:,.0f} times; {line.note}"
            )
    write(given.json, lines)


if __name__ == "__main__":
    main()
