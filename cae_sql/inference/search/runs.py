"""Which values each record is shown to take: runs of consecutive grid values, grown from worlds.

`Runs` starts from nothing and absorbs worlds. From one world every record gets a run by moves inside its atom
and along the tableau; more worlds, random moves, directed pushes and, last, integer programs lengthen those
that are still too short. Nothing is ever assumed: each value in a run is taken in a world.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.allowance import MOVE, UNLIMITED, Allowance
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.facts.witnesses import Pins, choose_witnesses, only, rooms
from cae_sql.inference.standard import Effort
from cae_sql.inference.tables.moves import push, ranges, wander
from cae_sql.inference.tables.programs import LARGE_COMPONENT, ComponentProgram
from cae_sql.inference.tables.short_moves import roam, short_moves

MANY_ATOMS = 1_500
"""Beyond this many atoms a random world costs milliseconds, and half as many are tried."""
WANDERS = 6
"""Random worlds tried from each given one before anything is directed at single records."""

ROAMS = 8
"""Walks by short moves, each from where an earlier one ended."""
STALLED = 2
"""Walks in a row that help nobody, after which no more are tried."""
ROAMED_ENOUGH = 10
"""Atoms left after such walks, for each integer program allowed, that make going on useless."""
ROAM_STEPS = 200
"""Moves tried in a walk, for each atom."""


PUSHED = 6
"""Passes over all directions that pushing an atom counts for: from three worlds, up and down."""


@dataclass
class Runs:
    """Certified runs of the records of every atom; empty (high < low) until a world is absorbed."""

    knowledge: Knowledge
    need: int
    """A run is long enough when high − low >= need; pushes and programs stop there."""
    allowance: Allowance = UNLIMITED
    """What may be spent; nothing more is tried beyond it."""
    effort: Effort = field(default_factory=Effort)
    """Integer programs allowed."""
    thorough: bool = False
    """Whether to go on with the other atoms once one is known to stay too short."""
    low: Ints = field(init=False)
    """(p,) least value of the run of a record of each atom, in units."""
    high: Ints = field(init=False)
    """(p,) greatest value of it."""
    total_low: Ints = field(init=False)
    """(p,) the same for the atoms' totals."""
    total_high: Ints = field(init=False)
    worlds: list[Ints] = field(init=False, default_factory=list)
    """(p,) totals of worlds absorbed; only these are starting points."""
    programs: dict[int, ComponentProgram] = field(init=False, default_factory=dict)
    """Integer programs stated so far, by component."""
    exact: dict[int, Ints] = field(init=False, default_factory=dict)
    """All values that a record of an accepted atom takes."""
    usual_pins: dict[int, Pins | None] = field(init=False, default_factory=dict)
    """Who attains the extremes, for the worlds that pushes start from."""
    accepted: NDArray[np.bool_] = field(init=False)
    """(p,) atoms whose exactly known values are enough although their run is not."""

    def __post_init__(self) -> None:
        count = self.knowledge.count
        self.low, self.high = np.zeros(count, dtype=np.int64), np.full(count, -1, dtype=np.int64)
        self.total_low, self.total_high = self.low.copy(), self.high.copy()
        # nobody asks about spare records
        self.accepted = ~self.knowledge.protected

    @property
    def _entries(self) -> int:
        """Of the tableau, and atoms: what a pass over all directions looks at."""
        return self.knowledge.count + len(self.knowledge.directions.entries)

    @property
    def short(self) -> Ints:
        """The atoms that still lack a long enough run."""
        return np.flatnonzero((self.high - self.low < self.need) & ~self.accepted)

    def absorb(self, totals: Ints, keep: bool = True) -> bool:
        """Learn from a world (p,); False where at these totals an extreme is attained by nobody."""
        pins = choose_witnesses(self.knowledge, totals, seed=len(self.worlds))
        if pins is None:
            return False
        if keep:
            self.worlds.append(totals)
        self._absorb_pinned(totals, pins)
        if self.knowledge.extremes:
            held = (pins.count > 0) & (self.high - self.low < self.need)
            other = choose_witnesses(self.knowledge, totals, avoid=held, seed=1) if held.any() else None
            if other is not None and (other.count[held] == 0).any():
                self._absorb_pinned(totals, other)
        return True

    def _absorb_pinned(self, totals: Ints, pins: Pins) -> None:
        known = self.knowledge
        up, down = rooms(known, totals, pins)
        rise, fall = np.zeros_like(up), np.zeros_like(up)
        ranges(*known.directions, up, down, rise, fall)
        self.extend(totals, pins, rise, fall)

    def extend(self, totals: Ints, pins: Pins, rise: Ints, fall: Ints) -> None:
        """Learn that the totals take every value from `totals - fall` to `totals + rise` while pins stay."""
        known = self.knowledge
        join(self.total_low, self.total_high, totals - fall, totals + rise)
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

    def program_around(self, atom: int, attempt: int = 0) -> ComponentProgram:
        """The integer program of the atom's component; one that states only a part belongs to the atom.

        Later attempts start from other worlds, and state twice as much each.
        """
        component = int(self.knowledge.components[atom])
        if component not in self.programs:
            world = self.worlds[attempt % len(self.worlds)]
            program = ComponentProgram.around(self.knowledge, atom, world, LARGE_COMPONENT << attempt)
            if not program.whole:
                return program
            self.programs[component] = program
        return self.programs[component]

    def by_moves(self) -> bool:
        """Try to give every atom a long enough run by moves alone; False where going on is useless."""
        self._wander()
        if self._roam() and len(self.short) > ROAMED_ENOUGH * (2 + self.effort.left) and not self.thorough:
            return False  # where short moves leave so many behind, the programs allowed will not be enough
        for atom in self.by_difficulty():
            if self.allowance.over:
                return False
            if self.lacks(atom):
                self.allowance.spend(PUSHED * self._entries)
                self._push(int(atom))
        return True

    def lacks(self, atom: int) -> bool:
        """Whether the atom still needs something."""
        return bool(self.high[atom] - self.low[atom] < self.need and not self.accepted[atom])

    def by_difficulty(self) -> Ints:
        """Atoms still short, the shortest run first: what fails, fails early."""
        short = self.short
        return short[np.argsort((self.high - self.low)[short], kind="stable")]

    def _wander(self) -> None:
        known = self.knowledge
        few = known.count > MANY_ATOMS
        for turn in range(WANDERS // 2 if few else WANDERS):
            if not len(self.short) or not self.allowance.spend((1 + turn) * self._entries):
                return
            for place, totals in enumerate(self.worlds[: 1 if few else 2]):
                pins = choose_witnesses(known, totals, seed=31 * turn + place)
                if pins is None:
                    continue
                up, down = rooms(known, totals, pins)
                shift = np.zeros_like(up)
                wander(*known.directions, up, down, shift, 97 * turn + place, 1 + turn)
                self.absorb(totals + shift, keep=turn % 3 == 2 and place == 0)

    def _roam(self) -> bool:
        """Walk by short moves; False where the system is too large to have them."""
        moves = short_moves(self.knowledge.tableau)
        if len(moves.starts) < 2:
            return False
        left, stalled, walked = len(self.short), 0, MOVE * ROAM_STEPS * self.knowledge.count
        for turn in range(ROAMS):
            stalled = stalled + 1 if len(self.short) == left and turn else 0
            left = len(self.short)
            if not left or stalled == STALLED or not self.allowance.spend(walked):
                break
            totals = self.worlds[turn % len(self.worlds)]
            avoid = (self.high - self.low < self.need) & ~self.accepted
            pins = choose_witnesses(self.knowledge, totals, avoid=avoid, seed=turn)
            if pins is None:
                continue
            up, down = rooms(self.knowledge, totals, pins)
            least, most = np.zeros_like(up), np.zeros_like(up)
            shift = roam(*moves, up, down, least, most, ROAM_STEPS * len(up), turn)
            self.extend(totals, pins, most, -least)
            self.absorb(totals + shift, keep=turn < ROAMS - 1)
        return True

    def _push(self, atom: int) -> None:
        for place in range(min(3, len(self.worlds))):
            pins = self._pins_leaving(atom, place)
            if pins is not None and self.push_from(atom, self.worlds[place], pins):
                return

    def push_from(self, atom: int, totals: Ints, pins: Pins, seed: int = 0) -> bool:
        """Push one atom up and down from a world; whether its run is long enough then."""
        known = self.knowledge
        for sign in (1, -1):
            up, down = rooms(known, totals, pins)
            shift = np.zeros_like(up)
            amount = int(max(self.need, 1) * min(known.sizes[atom], 2))
            gained = push(atom, sign, amount, *known.directions, up, down, shift, seed, 40)
            if gained > 0:
                self._note_push(atom, int((totals + shift)[atom]), pins, sign * gained)
                self.absorb(totals + shift, keep=False)
            if self.high[atom] - self.low[atom] >= self.need:
                return True
        return False

    def shaken(self, atom: int, totals: Ints, pins: Pins, seed: int) -> Ints:
        """Another world: all that can move without one atom moves at random."""
        known = self.knowledge
        moves = known.directions
        row = np.flatnonzero(known.tableau.basic == atom)
        still = known.tableau.entries[row[0]] != 0 if len(row) else only(atom, known.count)
        up, down = rooms(known, totals, pins)
        shift = np.zeros_like(up)
        wander(*moves._replace(free=moves.free & ~still), up, down, shift, seed, 2)
        return totals + shift

    def _pins_leaving(self, atom: int, place: int) -> Pins | None:
        """Witnesses in a world, none of them in this atom where that can be avoided."""
        if place not in self.usual_pins:
            self.usual_pins[place] = choose_witnesses(self.knowledge, self.worlds[place])
        pins = self.usual_pins[place]
        if pins is None or pins.count[atom] == 0:
            return pins
        return choose_witnesses(self.knowledge, self.worlds[place], avoid=only(atom, self.knowledge.count))

    def _note_push(self, atom: int, total: int, pins: Pins, by: int) -> None:
        """Use the totals that a push of one atom went through, from total − by to total."""
        known, here = self.knowledge, slice(atom, atom + 1)
        first, last = sorted((total - by, total))
        join(self.total_low[here], self.total_high[here], np.array([first]), np.array([last]))
        top, bottom = int(pins.top[atom]), int(pins.bottom[atom])
        loose = int(known.sizes[atom]) - top - bottom
        if loose < 1:
            return
        low, high = int(known.low[atom]), int(known.high[atom])
        held = top * high + bottom * low
        least = max(low, first - held - (loose - 1) * high)
        most = min(high, last - held - (loose - 1) * low)
        join(self.low[here], self.high[here], np.array([least]), np.array([most]))


def join(low: Ints, high: Ints, new_low: Ints, new_high: Ints) -> None:
    """Unite runs that touch, in place; of two that do not, keep the longer. Shapes (p,)."""
    touch = (new_low <= high + 1) & (new_high >= low - 1) & (high >= low)
    longer = ~touch & (new_high - new_low > high - low)
    low[:] = np.where(touch, np.minimum(low, new_low), np.where(longer, new_low, low))
    high[:] = np.where(touch, np.maximum(high, new_high), np.where(longer, new_high, high))
