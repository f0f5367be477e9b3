"""Which values each record is shown to take: runs of consecutive grid values, grown from worlds.

Each world at hand shows what kernel moves from it change; walks lead along such moves from world to world;
what they leave is put to integer programs (`records`). Each value in a run is taken in a world.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.inference.allowance import MOVE, UNLIMITED, Allowance
from cae_sql.inference.facts.extremes import Pins, bounds_of, choose_witnesses
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.search.walks import walk
from cae_sql.inference.standard import Effort
from cae_sql.inference.tables.programs import ComponentProgram
from cae_sql.inference.tables.short_moves import Moves, both, of_tableau, short_moves

WALKS = 6
"""Walks, each from another world and twice as long as the one before."""
STALLED = 2
"""Walks in a row that help nobody, after which no more are tried."""
PASSES = 2
"""How often the first one tries every move."""


@dataclass
class Runs:
    """Certified runs of the records of every atom; empty (high < low) until a world is absorbed."""

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
    """(p,) least value of the run of a record of each atom, in units."""
    high: Ints = field(init=False)
    """(p,) greatest value of it."""
    worlds: list[Ints] = field(init=False, default_factory=list)
    """(p,) totals of worlds absorbed; only these are starting points."""
    programs: dict[int, ComponentProgram] = field(init=False, default_factory=dict)
    """Integer programs stated so far, by component."""
    exact: dict[int, Ints] = field(init=False, default_factory=dict)
    """All values that a record of an accepted atom takes."""
    accepted: NDArray[np.bool_] = field(init=False)
    """(p,) atoms of which nothing more need be shown: spare records, and those whose exactly known values are
    enough although their run is not."""

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
        tableau = self.knowledge.tableau
        return both(self.directions, short_moves(tableau) if self.lent is None else self.lent)

    @property
    def lacking(self) -> NDArray[np.bool_]:
        """(p,) atoms that still lack a long enough run."""
        return (self.high - self.low < self.need) & ~self.accepted

    @property
    def wishes(self) -> Ints:
        """(p,) costs by which a program's world leads totals of such atoms out of the runs that they have."""
        up = self.knowledge.high - self.high >= self.low - self.knowledge.low
        return np.where(self.lacking, np.where(up, -1, 1), 0)

    def absorb(self, totals: Ints, keep: bool = True) -> bool:
        """Learn from a world (p,); False where at these totals an extreme is attained by nobody."""
        known = self.knowledge
        pins = choose_witnesses(known, totals, seed=len(self.worlds))
        if pins is None:
            return False
        if keep:
            self.worlds.append(totals)
        self._walk(totals, pins, self.directions, 1)
        held = (pins.count > 0) & (self.high - self.low < self.need)
        other = choose_witnesses(known, totals, avoid=held, seed=1) if held.any() else None
        if other is not None and (other.count[held] == 0).any():
            self._walk(totals, other, self.directions, 1)
        return True

    def absorb_some(self, worlds: Ints) -> None:
        """Learn from those of several worlds (w, p) that show what is lacking, who shows most first."""
        low, high = shown(self.knowledge, worlds)
        left = np.ones(len(worlds), dtype=np.bool_)
        while left.any():
            news = ((low < self.low) | (high > self.high))[:, self.lacking].sum(axis=1) * left
            place = int(np.argmax(news))
            if not news[place]:
                return
            left[place] = False
            self.absorb(worlds[place])

    def by_moves(self) -> bool:
        """Try to give every atom a long enough run by walks; False where nothing more may be spent."""
        stalled = 0
        for turn in range(WALKS):
            before = (self.high - self.low).sum()
            if not self.lacking.any() or stalled == STALLED:
                break
            if not self.walk_from(self.worlds[turn % len(self.worlds)], PASSES << turn, turn):
                return False
            stalled = stalled + 1 if (self.high - self.low).sum() == before else 0
        return True

    def walk_from(self, totals: Ints, passes: int, seed: int) -> bool:
        """Walk from a world (p,), whose end is kept; False where nothing more may be spent."""
        tries = passes * (len(self.moves.starts) - 1)
        if not self.allowance.spend(MOVE * tries) or not self.effort.walk(tries):
            return False
        pins = choose_witnesses(self.knowledge, totals, avoid=self.lacking, seed=seed)
        if pins is not None:
            self.worlds.append(self._walk(totals, pins, self.moves, passes, seed))
        return True

    def _walk(self, totals: Ints, pins: Pins, moves: Moves, passes: int, seed: int = 0) -> Ints:
        """Walk from a world while pinned records stay; the world where it ends."""
        bounds = bounds_of(self.knowledge, pins)
        up, down = bounds.most - totals, totals - bounds.least
        least, most = np.zeros_like(up), np.zeros_like(up)
        end: Ints = totals + walk(*moves, up, down, least, most, passes, seed)
        self.extend(totals, pins, most, -least)
        return end

    def extend(self, totals: Ints, pins: Pins, rise: Ints, fall: Ints) -> None:
        """Learn that the totals take every value from `totals - fall` to `totals + rise` while pins stay."""
        known = self.knowledge
        loose = known.sizes - pins.count
        rest = totals - pins.top * known.high - pins.bottom * known.low
        others = np.maximum(loose - 1, 0)
        low = np.maximum(known.low, rest - fall - others * known.high)
        high = np.minimum(known.high, rest + rise - others * known.low)
        # a record of a pinned atom may also be the pinned one
        high = np.where((pins.top > 0) & (high >= known.high - 1), known.high, high)
        low = np.where((pins.bottom > 0) & (low <= known.low + 1), known.low, low)
        stuck = loose == 0
        edge = np.where(pins.top > 0, known.high, known.low)
        both = stuck & (pins.top > 0) & (pins.bottom > 0) & (known.high - known.low == 1)
        low = np.where(both, known.low, np.where(stuck, edge, low))
        high = np.where(both, known.high, np.where(stuck, edge, high))
        join(self.low, self.high, low, high)

    def program_around(self, atom: int) -> ComponentProgram:
        """The integer program of the atom's component; one that states only a part belongs to the atom."""
        component = int(self.knowledge.components[atom])
        if component not in self.programs:
            program = ComponentProgram.around(self.knowledge, atom, self.worlds[0])
            if not program.whole:
                return program
            self.programs[component] = program
        return self.programs[component]


def shown(known: Knowledge, worlds: Ints) -> tuple[Ints, Ints]:
    """(w, p) each: between which values a record of each atom can be in worlds (w, p), extremes aside."""
    others = known.sizes - 1
    low = np.maximum(known.low, worlds - others * known.high)
    return low, np.minimum(known.high, worlds - others * known.low)


def join(low: Ints, high: Ints, new_low: Ints, new_high: Ints) -> None:
    """Unite runs that touch, in place; of two that do not, keep the longer. Shapes (p,)."""
    touch = (new_low <= high + 1) & (new_high >= low - 1) & (high >= low)
    longer = ~touch & (new_high - new_low > high - low)
    low[:] = np.where(touch, np.minimum(low, new_low), np.where(longer, new_low, low))
    high[:] = np.where(touch, np.maximum(high, new_high), np.where(longer, new_high, high))
