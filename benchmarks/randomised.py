"""Randomised response on Adult: the tables and figures of paper 004, its statements, and the time it takes.

Run as `python -m benchmarks.randomised`. Limits on the risk are 1 / l. Rivals are anatomy and entropy
l-diversity; what each release is good for is measured by distances, errors of counts and uncertainty
coefficients, averaged over `--releases` releases. "Projected" is the reconstruction made a distribution.

The text of the paper that is at hand has its tables and figures as images. What its sentences print is in the
column *paper*; its other statements are checked as statements, and *no* is printed where they do not hold
here. `--records train` takes the 30,162 records of Adult's training part instead of all 45,222.

The last table has randomised response beside sampling on the scale of paper 000, see `_one_scale.py`.

The time is CPU time of RR-Both on ESGRO, from the original's frame to the released one with probabilities
found anew for each l (*search*: that alone), in turn with anatomy, from the frame to its two tables
(*groups*: forming groups alone, a heap in plain Python, which a compiled one would do sooner), and the search
for an l-diverse table. The pictures of the figures are what `cae-sql experiment --paper randomization` draws.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from itertools import pairwise

import pandas as pd
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks._data import ACS, ADULT, shown
from benchmarks._one_scale import PUBLIC, one_scale, shown_means
from benchmarks._randomising import LETTERS, SIZED_AT, Found, run
from benchmarks._results import Line, options, write
from cae_sql.releases.diversity import ADULT as LADDERS
from cae_sql.releases.optimal import Optimum
from cae_sql.releases.rivals import SIZES, Measured, Study

PRINTED = {
    "original": {1: 2.74},
    "RR-QI": {3: 2.41, 4: 2.27, 5: 2.17},
    "anatomy": {3: 0.20, 4: 0.12, 5: 0.05},
    "l-diversity": {3: 0.0, 4: 2.74, 5: 0.0},
}
"""U of salary and occupation, × 10⁻², as Section V-B3 prints it."""
SO = "income, occupation"
FIGURES = {
    "5: nearer, Euclidean": "euclidean",
    "5: nearer, KL": "kullback_leibler",
    "5: nearer, χ²": "chi_squared",
    "6a: errs less, group by": "group_by_error",
    "6b: errs less, cube": "cube_error",
}
"""What has to be smaller, in which figure."""


def probabilities(study: Study, found: Mapping[tuple[int, str], Optimum | None]) -> Table:
    """Table 3, with who binds."""
    table = Table(title=f"Table 3: probabilities of keeping a value, {study.name}")
    letters = [LETTERS[name] for name in study.domains]
    for name in ("l", "case", *letters, "Π‖P⁻¹‖²", "greatest risk", "at the limit"):
        table.add_column(name, justify="right")
    for (ell, case), optimum in found.items():
        if optimum is None:
            table.add_row(str(ell), case, *["–"] * len(letters), "–", "–", "none suffices")
            continue
        p = [f"{optimum.probabilities.get(name, 1):.3f}" for name in study.domains]
        rows = optimum.binding[["records", "of"]].to_numpy().tolist()
        binding = ", ".join(f"{records} of {of}" for records, of in rows)
        table.add_row(str(ell), case, *p, f"{optimum.objective:,.0f}", f"{optimum.risk:.6f}", binding)
    return table


def measures(title: str, first: str, found: Sequence[tuple[str, Measured]]) -> Table:
    """Distances and errors."""
    table = Table(title=title)
    names = ("Euclidean", "total variation", "KL", "χ²", "group-by error", "cube error")
    for name in (first, "technique", *names):
        table.add_column(name, justify="left" if name == "technique" else "right")
    for label, m in found:
        distance = (m.euclidean, m.total_variation, m.kullback_leibler, m.chi_squared)
        figures = (*distance, m.group_by_error, m.cube_error)
        table.add_row(label, m.technique, *(f"{each:.4f}" for each in figures))
    return table


def uncertainties(original: Measured, found: Sequence[Measured]) -> Table:
    """Tables 4 and 5, Figure 7."""
    table = Table(title="Tables 4 and 5, Figure 7: uncertainty coefficients, × 10⁻²")
    for name in (
        "l",
        "technique",
        *("".join(LETTERS[each] for each in key.split(", ")) for key in original.uncertainty),
        "SO, paper",
        "mean QI–S",
        "mean QI–QI",
    ):
        table.add_column(name, justify="left" if name == "technique" else "right")
    for m in (original, *found):
        paper = PRINTED.get(m.technique, {}).get(m.ell)
        cells = [f"{u:.2f}" for u in m.uncertainty.values()]
        cells += ["–" if paper is None else f"{paper:.2f}"]
        cells += [f"{u:.2f}" for u in (m.uncertainty_sensitive, m.uncertainty_quasi)]
        table.add_row("–" if m is original else str(m.ell), m.technique, *cells)
    return table


def seconds(found: Found) -> Table:
    """Sums over all l."""
    table = Table(title="CPU time for all l together, ESGRO")
    for name in found.seconds:
        table.add_column(name, justify="right")
    table.add_row(*(shown(sum(each)) for each in found.seconds.values()))
    return table


def statements(found: Found) -> list[tuple[str, str]]:
    """What the paper says, and whether it holds here."""
    ls = sorted({ell for ell, _ in found.optima})
    quasi = [{ell: _mean_quasi(found.optima[ell, case]) for ell in ls} for case in ("RR-QI", "RR-Both")]
    falls = all(each[b] < each[a] for each in quasi for a, b in pairwise(ls))
    nearer = [ell for ell in ls if quasi[1][ell] > quasi[0][ell] + 1e-6]
    # of the whole table, so that an attribute which is left alone has ‖I‖² = d
    whole = {(ell, case): found.whole_objective(ell, case) for ell in ls for case in ("RR-QI", "RR-Both")}
    best = sum(whole[ell, "RR-Both"] <= whole[ell, "RR-QI"] * (1 + 1e-6) for ell in ls)
    sizes = [m.euclidean for _, m in found.fig_4]
    original = found.original.uncertainty[SO]
    kept = [[m.uncertainty[SO] for m in found.rivals if m.technique == name] for name in ("RR-QI", "anatomy")]
    ratio = sum(found.seconds["RR-Both"]) / sum(found.seconds["anatomy"])
    told = ", ".join(f"{min(each):.2f} … {max(each):.2f}" for each in kept)
    return [
        ("Table 3: p falls with l (mean over QI)", _yes(falls)),
        ("Table 3: p of QI nearer 1 in RR-Both", f"{_yes(nearer == ls)}: at l in {nearer}, of {ls}"),
        ("Table 3: RR-S has probabilities", _yes(any(found.optima[ell, "RR-S"] for ell in ls))),
        ("Fig 3: RR-Both loses least, expected", f"{_yes(best == len(ls))}: at {best} of {len(ls)} l"),
        ("Fig 4: distances fall with size", _yes(sizes == sorted(sizes, reverse=True))),
        *((f"Fig {figure}, {ours}", _below(found.rivals, name, ours))
          for figure, name in FIGURES.items() for ours in ("RR-QI", "RR-QI, projected")),
        ("Table 5: U of SO is kept by RR-QI, lost by anatomy",
         f"{_yes(min(kept[0]) > original / 2 > max(kept[1]))}: {told}, of {original:.2f}"),
        ("RR-Both takes 10 times as long as the others", f"{_yes(ratio >= 10)}: {ratio:.2g} × anatomy"),
    ]  # fmt: skip


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def _mean_quasi(optimum: Optimum | None) -> float:
    """Mean probability of the quasi-identifiers."""
    assert optimum is not None
    return statistics.fmean(p for name, p in optimum.probabilities.items() if name != "workclass")


def _below(rivals: Sequence[Measured], name: str, ours: str) -> str:
    """Whether our figure is the smaller one, at how many l."""
    mine = [getattr(m, name) for m in rivals if m.technique == ours]
    told = []
    for other in ("anatomy", "l-diversity"):
        theirs = [getattr(m, name) for m in rivals if m.technique == other]
        count = sum(a < b for a, b in zip(mine, theirs, strict=True))
        told.append(f"{_yes(count == len(mine))}: below {other} at {count} of {len(mine)} l")
    return "; ".join(told)


def show(console: Console, emgrw: Study, esgro: Study, found: Found) -> list[Line]:
    """Print it, and what goes into the suite's table."""
    console.print(probabilities(emgrw, found.optima))
    console.print(probabilities(esgro, found.esgro_optima))
    console.print(measures("Figure 3: EMGRW", "l", [(str(m.ell), m) for m in found.fig_3]))
    sized = [(f"{size:g} N", m) for size, m in found.fig_4]
    console.print(measures(f"Figure 4: RR-Both, l = {SIZED_AT}, EMGRW", "size", sized))
    console.print(measures("Figures 5 and 6: ESGRO", "l", [(str(m.ell), m) for m in found.rivals]))
    console.print(uncertainties(found.original, found.rivals))
    console.print(seconds(found))
    said = Table("statement", "here", title="What the paper says")
    for row in statements(found):
        said.add_row(*row)
    console.print(said)
    mine = sum(found.seconds["RR-Both"])
    size = f"{len(esgro.frame):,} records, {len(found.seconds['anatomy'])} limits"
    rivals = {"anatomy, plain Python": "anatomy", "entropy l-diversity, the whole lattice": "l-diversity"}
    return [
        Line("RR-Both: probabilities and release", "Adult", size, mine, rival, sum(found.seconds[name]))
        for rival, name in rivals.items()
    ]


def main(arguments: list[str] | None = None) -> None:
    parser = options("randomised", __doc__)
    parser.add_argument("--releases", type=int, default=10, help="releases that figures are averaged over")
    parser.add_argument("--records", choices=("all", "train"), default="all", help="which of Adult's")
    given = parser.parse_args(arguments)
    console = Console(width=150)
    if not (ADULT.is_file() and ACS.is_file()):
        console.print("Adult and ACS are not beside the project (../shared/data): nothing to measure")
        write(given.json, [], {})
        return
    frame = pd.read_csv(ADULT)
    if given.records == "train":
        frame = frame[frame["split"] == "train"].reset_index(drop=True)
    ls = (2, 3) if given.quick else (2, 3, 4, 5, 6, 7)
    seeds = range(1 if given.quick else given.releases)
    emgrw = Study("EMGRW", frame, ("education", "marital_status", "sex", "race"), "workclass", LADDERS)
    esgro = Study("ESGRO", frame, ("education", "income", "sex", "race"), "occupation", LADDERS)
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("randomised response", total=9 * len(ls) + len(SIZES))
        found = run(emgrw, esgro, ls, seeds, 1 if given.quick else 7, lambda: progress.advance(task))
        task = progress.add_task("beside sampling", total=2 if given.quick else len(PUBLIC) + 1)
        means = one_scale(pd.read_csv(ACS), given.quick, lambda: progress.advance(task))
    lines = show(console, emgrw, esgro, found)
    console.print(shown_means(means))
    write(given.json, lines, {**found.plain(), "one scale": means})


if __name__ == "__main__":
    main()
