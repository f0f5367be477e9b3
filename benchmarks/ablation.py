"""What does each way of showing somebody win, and what does it cost? Every one switched off in turn.

Run as `python -m benchmarks.ablation`. Lines of `benchmarks.usefulness` are asked of a gate with an empty
ledger, first with all that the engine has (the rival), then without each of the ways of
`cae_sql.inference.ways`, five seeds each: other data where something is drawn, elsewhere other worlds. Groups
told exactly, surprises, and CPU seconds of both threads are counted. What wins nothing on any line should go.

A difference says something only where it has the same sign with every seed; the table says which do not. One
seed says nothing. With `--pairs` weak ways are switched off two at a time: each may stand in for the other.

`--lines "crossing: 25 values, 300"` and `--without payments bases` ask for some of it. Ways whose names end
in `_benchmark_only` are parts of the promise: what is told without them is not safe, and the table marks it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks import _results
from benchmarks.usefulness.asking import asked
from benchmarks.usefulness.counting import counts
from benchmarks.usefulness.day import Line
from benchmarks.usefulness.lines import FULL, QUICK
from benchmarks.usefulness.switched import switched
from cae_sql.inference.ways import ALL, PROMISED, names
from cae_sql.warming import warm

SEEDS = 5
LINES = (
    "groups: 25 values, 60 of 12",
    "groups: 0/1, 60 of 20, rate 0.3",
    "crossing: 25 values, 300",
    "crossing: 25 values, 2,000",
    "attack: first 100, insiders = 1",
    "sums: 100 of 25 values, 10,000",
    "day: wages, its own policy",
    "day: ACS, its own policy",
)
"""What is asked where nobody says otherwise: hours."""
WEAK = (("single_answers", "further_bases", "search"),)
"""Ways that won little alone, and any two of which may stand in for each other."""
COLUMNS = ("without", "exact", "with all", "told", "surprises", "cut", "CPU", "CPU / with all", "")


@dataclass(frozen=True)
class Outcome:
    """A line without some ways. By seed."""

    line: str
    without: tuple[str, ...]
    exact: tuple[int, ...]
    told: tuple[int, ...]
    surprises: tuple[int, ...]
    cpu: tuple[float, ...]
    cut: int
    """How many runs came to no end."""

    @property
    def name(self) -> str:
        """Of the row."""
        return " and ".join(self.without) or "nothing"

    def beside(self, whole: Outcome) -> str:
        """What the difference to all ways says, in words."""
        unsafe = "; not safe" if any(each.endswith(PROMISED) for each in self.without) else ""
        if len(self.exact) == 1:
            return "one seed: says nothing" + unsafe
        found = [
            word
            for word, mine, theirs in (
                ("fewer", whole.exact, self.exact),
                ("more", self.exact, whole.exact),
                ("more surprises", self.surprises, whole.surprises),
                ("fewer surprises", whole.surprises, self.surprises),
            )
            if all(a > b for a, b in zip(mine, theirs, strict=True))
        ]
        return (", ".join(found) or "says nothing") + unsafe


def without(line: Line, ways: Sequence[str], seeds: int, seconds: float | None) -> Outcome:
    """Ask a line, some ways switched off."""
    runs = []
    for seed in range(seeds):
        of_gate, of_data = (0, seed) if line.drawn else (seed, 0)
        with tempfile.TemporaryDirectory() as place, switched(ALL.without(*ways), of_gate):
            day = line.day(of_data, Path(place))
            runs.append(asked(day, Path(place) / "day.ledger", line.budget if seconds is None else seconds))
    each = [counts(run) for run in runs]
    exact, told, surprises = (tuple(one[name] for one in each) for name in ("exact", "told", "surprises"))
    cpu = tuple(round(run.cpu, 2) for run in runs)
    return Outcome(line.name, tuple(ways), exact, told, surprises, cpu, sum(run.cut for run in runs))


def row(one: Outcome, whole: Outcome) -> list[str]:
    """As the table shows it."""
    sums = (sum(one.exact), sum(whole.exact), sum(one.told), sum(one.surprises), one.cut or "")
    return [
        *(
            one.name,
            *map(str, sums),
            f"{sum(one.cpu):.1f} s",
            f"{sum(one.cpu) / max(sum(whole.cpu), 1e-9):.2f}",
        ),
        *([""] if one is whole else [one.beside(whole)]),
    ]


def asked_for(given: Sequence[str], pairs: bool) -> list[tuple[str, ...]]:
    """What is switched off, nothing first."""
    if given:
        return [(), *(tuple(each.split("+")) for each in given)]
    if pairs:
        return [(), *(pair for weak in WEAK for pair in combinations(weak, 2))]
    return [(), *((name,) for name in names())]


def main(arguments: list[str] | None = None) -> None:
    parser = _results.options("ablation", __doc__)
    parser.add_argument("--lines", nargs="+", default=list(LINES), metavar="NAME", help="of usefulness")
    parser.add_argument(
        "--without", nargs="+", default=[], metavar="WAY", help="names, or two with a + between"
    )
    parser.add_argument("--pairs", action="store_true", help="weak ways, two at a time")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--seconds", type=float, help="CPU seconds for one seed, in place of the line's own")
    given = parser.parse_args(arguments)
    if given.quick:
        given.lines, given.seeds = ["quick groups: 25 values, 12 of 12"], 1
        given.without = given.without or ["payments", "bases"]
    known, console, found = {line.name: line for line in (*FULL, *QUICK)}, Console(width=150), list[Outcome]()
    for name in given.lines:
        if name not in known:
            parser.error(f"no line is called {name!r}; python -m benchmarks.usefulness --list shows them")
    for ways in asked_for(given.without, given.pairs):
        for way in ways:
            if way not in set(names()):
                parser.error(f"no way is called {way!r}; there are {', '.join(names())}")
    warm()
    for line in (known[name] for name in given.lines):
        if line.absent:
            console.print(f"{line.name}: {line.absent}", markup=False)
            continue
        table = Table(title=f"{line.name}: {given.seeds} seeds, sums over them")
        for column in COLUMNS:
            table.add_column(column, justify="left" if column in ("without", "") else "right")
        mine = list[Outcome]()
        for ways in track(asked_for(given.without, given.pairs), line.name, console=Console(stderr=True)):
            mine.append(without(line, ways, given.seeds, given.seconds))
            table.add_row(*row(mine[-1], mine[0]))
            found.append(mine[-1])
            # after each: a long run may be cut short
            _results.write(given.json, [_line(each) for each in found], [asdict(each) for each in found])
        console.print(table)


def _line(one: Outcome) -> _results.Line:
    size = f"{len(one.exact)} seeds"
    return _results.Line(f"ablation: without {one.name}", one.line, size, sum(one.exact), unit="groups")


if __name__ == "__main__":
    main()
