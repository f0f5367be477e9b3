"""Runs of consecutive grid values that records take in feasible tables, lengthened along kernel moves.

A move that keeps every sum, tried from a table at hand, shows all totals between its ends; walks go from
table to table. What they leave is put to integer programs (`records`). Each value of a run is in some table.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.compiled import compiled
from cae_sql.inference.allowance import MOVE, UNLIMITED, Allowance
from cae_sql.inference.facts.extremes import Pins, bounds_of, choose_witnesses
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.intervals.presolve import of_records
from cae_sql.inference.standard import Effort
from cae_sql.inference.tables.programs import ComponentProgram
from cae_sql.inference.tables.short_moves import Moves, both, of_tableau, short_moves

WALKS = 6
"""Walks, each from another table and twice as long as the one before."""
PASSES = 2
"""How often the first one tries every move."""


@dataclass
class Runs:
    """Runs of a record of each of p atoms; empty (high < low) until a table is absorbed."""

    knowledge: Knowledge
    need: int
    """A run is long enough when high − low >= need; walks and programs stop there."""
    allowance: Allowance = UNLIMITED
    """What may be spent; nothing more is tried beyond it."""
    effort: Effort = field(default_factory=Effort)
    """Integer programs and moves allowed."""
    thorough: bool = False
    """Whether to go on with the other atoms once one is known to stay too short."""
    lent: Moves | None = None
    """Short moves, where they are known."""
    low: Ints = field(init=False)
    """(p,) least value of each run, in units."""
    high: Ints = field(init=False)
    """(p,) greatest value."""
    worlds: list[Ints] = field(init=False, default_factory=list)
    """(p,) totals of tables absorbed; only these are starting points."""
    programs: dict[int, ComponentProgram] = field(init=False, default_factory=dict)
    """Integer programs stated so far, by component."""
    exact: dict[int, Ints] = field(init=False, default_factory=dict)
    """All values that a record takes, of atoms accepted for them although no run is long enough."""
    accepted: NDArray[np.bool_] = field(init=False)
    """(p,) atoms of which nothing more need be shown: spare records, and those of `exact`."""

    def __post_init__(self) -> None:
        count = self.knowledge.count
        self.low, self.high = np.zeros(count, dtype=np.int64), np.full(count, -1, dtype=np.int64)
        self.accepted = ~self.knowledge.protected

    @cached_property
    def directions(self) -> Moves:
        """Kernel moves along the tableau: each free atom's, of one unit."""
        return of_tableau(self.knowledge.tableau)

    @cached_property
    def moves(self) -> Moves:
        """All that walks try: besides them short combinations of them, in systems of few atoms."""
        return both(self.directions, self.lent or short_moves(self.knowledge.tableau))

    @property
    def lacking(self) -> NDArray[np.bool_]:
        """(p,) atoms that still lack a long enough run."""
        return (self.high - self.low < self.need) & ~self.accepted

    def absorb(self, totals: Ints) -> None:
        """Learn from a table (p,); nothing where some extreme is attained by nobody at these totals."""
        pins = choose_witnesses(self.knowledge, totals, seed=len(self.worlds))
        if pins is None:
            return
        self.worlds.append(totals)
        self._walk(totals, pins, self.directions, 1)

    def absorb_some(self, worlds: Ints) -> None:
        """Learn from those of several tables (w, p) that show what is lacking, best first."""
        low, high = of_records(self.knowledge, worlds, worlds)
        left = np.ones(len(worlds), dtype=np.bool_)
        while left.any():
            news = ((low < self.low) | (high > self.high))[:, self.lacking].sum(axis=1) * left
            place = int(np.argmax(news))
            if not news[place]:
                return
            left[place] = False
            self.absorb(worlds[place])

    def by_moves(self, turns: int = WALKS) -> bool:
        """Try to give every atom a long enough run by walks; False where nothing more may be spent."""
        for turn in range(turns):
            if not self.lacking.any():
                break
            if not self.walk_from(self.worlds[turn % len(self.worlds)], PASSES << turn, turn):
                return False
        return True

    def walk_from(self, totals: Ints, passes: int, seed: int) -> bool:
        """Walk from a table (p,), whose end is kept; False where nothing more may be spent."""
        tries = passes * (len(self.moves.starts) - 1)
        if not self.allowance.spend(MOVE * tries) or not self.effort.walk(tries):
            return False
        pins = choose_witnesses(self.knowledge, totals, avoid=self.lacking, seed=seed)
        if pins is not None:
            self.worlds.append(self._walk(totals, pins, self.moves, passes, seed))
        return True

    def _walk(self, totals: Ints, pins: Pins, moves: Moves, passes: int, seed: int = 0) -> Ints:
        """Walk from a table while pinned records stay; the table where it ends."""
        known, bounds = self.knowledge, bounds_of(self.knowledge, pins)
        up, down = bounds.most - totals, totals - bounds.least
        least, most = np.zeros_like(up), np.zeros_like(up)
        end: Ints = totals + walk(*moves, up, down, least, most, passes, seed)
        loose, edge = known.sizes - pins.count, np.where(pins.top > 0, known.high, known.low)
        rest, others = totals - pins.top * known.high - pins.bottom * known.low, np.maximum(loose - 1, 0)
        low = np.where(loose > 0, np.maximum(known.low, rest + least - others * known.high), edge)
        high = np.where(loose > 0, np.minimum(known.high, rest + most - others * known.low), edge)
        # a record of a pinned atom may also be the pinned one
        high = np.where((pins.top > 0) & (high >= known.high - 1), known.high, high)
        low = np.where((pins.bottom > 0) & (low <= known.low + 1), known.low, low)
        join(self.low, self.high, low, high)
        return end

    def program_around(self, atom: int) -> ComponentProgram:
        """The integer program of the atom's component; one that states only a part belongs to the atom."""
        component = int(self.knowledge.components[atom])
        if component not in self.programs:
            program = ComponentProgram.around(self.knowledge, atom, self.worlds[0])
            if not program.whole:
                return program
            self.programs[component] = program
        return self.programs[component]


def join(low: Ints, high: Ints, new_low: Ints, new_high: Ints) -> None:
    """Unite runs that touch, in place; of two that do not, keep the longer. Shapes (p,)."""
    touch = (new_low <= high + 1) & (new_high >= low - 1) & (high >= low)
    longer = ~touch & (new_high - new_low > high - low)
    low[:] = np.where(touch, np.minimum(low, new_low), np.where(longer, new_low, low))
    high[:] = np.where(touch, np.maximum(high, new_high), np.where(longer, new_high, high))


@compiled()
def walk(
    starts: Ints, atoms: Ints, weights: Ints, up: Ints, down: Ints, least: Ints, most: Ints, passes: int,
    seed: int,
) -> Ints:  # fmt: skip
    """Walk at random, trying every move so often; where it ends, as change of the totals (p,).

    Args:
        starts: (m + 1,) move m changes atoms[starts[m]:starts[m + 1]] by multiples of the weights there.
        up: (p,) how far the totals can rise, changed in place; also `down`.
        least: (p,) least change of each total so far, 0 at first; changed in place. Also `most`. Every total
            between the two is taken by some table.
        passes: How often every move is tried, in random order, by the `seed`.
    """
    np.random.seed(seed)
    here = np.zeros(len(up), np.int64)
    for _ in range(passes):
        for move in np.random.permutation(len(starts) - 1):
            rise, fall = 1 << 60, 1 << 60
            for place in range(starts[move], starts[move + 1]):
                atom, weight = atoms[place], weights[place]
                if weight > 0:
                    rise, fall = min(rise, up[atom] // weight), min(fall, down[atom] // weight)
                else:
                    rise, fall = min(rise, down[atom] // -weight), min(fall, up[atom] // -weight)
                if rise + fall == 0:
                    break
            if rise + fall == 0:
                continue
            by = np.random.randint(-fall, rise + 1)
            for place in range(starts[move], starts[move + 1]):
                atom, weight = atoms[place], weights[place]
                if weight == 1 or weight == -1:  # steps of more leave gaps
                    low = here[atom] - (fall if weight == 1 else rise)
                    high = here[atom] + (rise if weight == 1 else fall)
                    if low <= most[atom] + 1 and high >= least[atom] - 1:
                        least[atom], most[atom] = min(least[atom], low), max(most[atom], high)
                up[atom] -= weight * by
                down[atom] += weight * by
                here[atom] += weight * by
    return here
