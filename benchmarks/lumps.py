"""Decisions over cells of which most records stand in lumps, by cells and not by records.

Run as `python -m benchmarks.lumps --cells 1000 --records 1e9 --kept 64 --asked 50`. Cells of lognormal sizes
have five public attributes; `in_lumps` leaves `kept` records or a few more of each one by one. Sums are asked
over cells that conditions choose, and answered where at least nineteen of twenty hypothetical answers are
shown to be safe with an insider (risk 0.5 of 101 values: runs of half the domain). `--sets` says which
conditions:

- *ranges*: of two attributes each;
- *few*: a twentieth of the cells, at random;
- *half*: half of the cells, at random.

Seconds are those of the clock, for questions and judgements, and for taking answers in.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks._data import peak_megabytes, shown
from benchmarks._results import Line, options, write
from cae_sql import AnsweredSystem
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.lumps import in_lumps
from cae_sql.inference.standard import Standard

TOP, NEED, MEAN = 100, 50, 20
WORLDS, ENOUGH = 20, 19
STEPS = 5 * 10**9
COLUMNS = (
    "sets",
    "cells",
    "records",
    "one by one",
    "lumps",
    "asked",
    "answered",
    "judging",
    "taking in",
    "peak",
)

Ints = NDArray[np.int64]


class Cells:
    """Records and lumps of cells, a hidden table, and conditions."""

    def __init__(self, cells: int, records: float, kept: int, sets: str) -> None:
        self.chance, self.count, self.sets = np.random.default_rng(1), cells, sets
        share = self.chance.lognormal(0, 1, cells)
        split = [in_lumps(max(int(each), 1), kept) for each in share / share.sum() * records]
        alone = np.repeat(np.arange(cells), [count for count, _ in split])
        lumps = np.concatenate([each for _, each in split])
        behind = np.repeat(np.arange(cells), [len(each) for _, each in split])
        self.cell: Ints = np.append(alone, behind)
        self.system = AnsweredSystem(len(alone), 0, TOP, 1, lumps=lumps)
        people = self.system.people
        some = np.rint(self.chance.normal(people * MEAN, np.sqrt(people * MEAN)))
        self.truth: Ints = np.clip(some, 0, people * TOP).astype(np.int64)
        side = max(2, int(cells**0.5))
        drawn = [self.chance.integers(0, size, cells) for size in (7, 12, 30)]
        self.attributes = [np.arange(cells) % side, np.arange(cells) // side, *drawn]

    def members(self) -> Ints:
        """Records and lumps of the next condition."""
        if self.sets == "ranges":
            chosen = np.ones(self.count, dtype=np.bool_)
            for place in self.chance.choice(len(self.attributes), 2, replace=False):
                values = self.attributes[place]
                low, high = np.sort(self.chance.integers(0, values.max() + 1, 2))
                chosen &= (low <= values) & (values <= high)
        else:
            chosen = self.chance.random(self.count) < (0.5 if self.sets == "half" else 0.05)
        return np.flatnonzero(chosen[self.cell])


def measured(cells: Cells, asked: int) -> dict[str, Any]:
    """Ask so many sums."""
    system, standard = cells.system, Standard(NEED, insiders=1)
    answered, judging, taking = 0, 0.0, 0.0
    for _ in range(asked):
        members = cells.members()
        if not len(members):
            continue
        query, start = system.query("sum", members), time.perf_counter()
        question = system.question([query])
        answers = question.hypothetical(WORLDS)
        found = question.judge_together(sorted(answers), standard, Allowance(STEPS), WORLDS - ENOUGH)
        safe = sum(len(answers[values]) for values, judgement in found.items() if judgement.safe)
        judging += time.perf_counter() - start
        if safe < ENOUGH:
            continue
        start, value = time.perf_counter(), int(query.of(cells.truth))
        judgement = question.judge_true((value,), standard, Allowance(STEPS))
        if judgement is not None and judgement.safe:
            system.accept([query.answered(value)], question.learn([value], Allowance(STEPS)))
            answered += 1
        taking += time.perf_counter() - start
    return {"answered": answered, "judging": judging, "taking in": taking, "peak": peak_megabytes()}


def main(arguments: list[str] | None = None) -> None:
    parser = options("lumps", __doc__)
    parser.add_argument("--cells", type=int, default=1_000)
    parser.add_argument("--records", type=float, default=1e9)
    parser.add_argument("--kept", type=int, default=64)
    parser.add_argument("--asked", type=int, default=50)
    parser.add_argument("--sets", choices=("ranges", "few", "half"), default="ranges")
    given = parser.parse_args(arguments)
    if given.quick:
        given.cells, given.records, given.kept, given.asked = 50, 1e6, 8, 5
    cells = Cells(given.cells, given.records, given.kept, given.sets)
    system, found = cells.system, measured(cells, given.asked)
    table = Table(title="Decisions with lumps")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    counts = (
        given.cells,
        int(system.people.sum()),
        system.size,
        len(system.lumps),
        given.asked,
        found["answered"],
    )
    times = shown(found["judging"]), shown(found["taking in"]), f"{found['peak']:,.0f} MB"
    table.add_row(given.sets, *(f"{each:,}" for each in counts), *times)
    Console(width=130).print(table)
    each = (found["judging"] + found["taking in"]) / given.asked
    what, size = f"lumps: a decision, {given.sets}", f"{given.records:g} in {given.cells:,} cells"
    write(given.json, [Line(what, "normal", size, each)], {**vars(given), "json": None, **found})


if __name__ == "__main__":
    main()
