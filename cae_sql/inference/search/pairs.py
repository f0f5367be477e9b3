"""Whether every record keeps a long run whatever value any one other, the insider, turns out to have.

A claim is that one record has a value while the insider has his. Tables at hand show most claims, all pairs
of values in one product of arrays; walks along kernel moves lead to more tables. What they leave open of an
insider's value is a smaller system, in which his box is that value, and is searched as where nobody is an
insider. What no sum or extreme ties to the insider is the same beside him as without him.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import LANES
from cae_sql.inference.facts.extremes import choose_witnesses
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.intervals.presolve import of_records
from cae_sql.inference.search.records import Record, grow
from cae_sql.inference.search.runs import Runs
from cae_sql.inference.standard import Judgement
from cae_sql.inference.tables.short_moves import Moves, short_moves

ROW = 100_000
"""Steps for stating what an insider's value leaves."""
MOST_ROWS = 4_000
"""Insiders times values: beyond this nothing is tried. Claims are so many times as many."""
WALKS, TRIES = 32, 3_000
"""Walks between two looks at what is open, and moves tried in each. Of the attack's first twelve sums over 73
bits 174 walks of 5,800 tries show 98 % of all claims, as many tries in 11 longer ones 79 %."""


def keep_beside_insiders(runs: Runs) -> Judgement:
    """Whether all keep a run whatever value any one other has; `runs` are those without an insider."""
    known = runs.knowledge
    somebody = known.protected
    rows = int((known.high - known.low + 1)[somebody].sum())
    if int(known.sizes[somebody].sum()) < 2 or rows > MOST_ROWS:
        return Judgement(False, -1)
    try:
        beside = _Beside(runs)
        beside.walk()
        lacks = beside.lacking(np.arange(rows)).sum(axis=1)
        # what fails, fails early
        for row in np.argsort(-lacks, kind="stable")[: np.count_nonzero(lacks)].tolist():
            width = beside.width(row)
            if width < runs.need:
                return Judgement(False, width)
    except OutOfTime:
        return Judgement(False, -1)
    return Judgement(True, runs.need)


class _Beside:
    """Which claims tables show. Shapes: a atoms that are somebody's, r rows, one for each value of each."""

    def __init__(self, runs: Runs) -> None:
        known, self.runs = runs.knowledge, runs
        self.atoms = np.flatnonzero(known.protected)
        counts = (known.high - known.low + 1)[self.atoms]
        self.firsts = np.cumsum(counts) - counts
        """(a,) each atom's first row."""
        self.atom = np.repeat(self.atoms, counts)
        """(r,) whose value each row is."""
        self.value = np.arange(len(self.atom)) - np.repeat(self.firsts - known.low[self.atoms], counts)
        """(r,) which."""
        self.together = np.zeros((len(self.atom), len(self.atom)), dtype=np.bool_)
        """(r, r) whether a table was seen in which two different records have both values."""
        self.seen = 0
        """How many of the tables are noted."""
        self._note()

    def _note(self) -> None:
        """Note what further tables show.

        Raises:
            OutOfTime: nothing more may be spent.
        """
        known = self.runs.knowledge
        worlds = np.array(self.runs.worlds[self.seen :]).reshape(-1, known.count)
        self.seen = len(self.runs.worlds)
        if not self.runs.allowance.spend(len(worlds) * self.together.size / LANES):
            raise OutOfTime("nothing may be spent on what tables show")
        low, high = of_records(known, worlds, worlds)
        able = (low[:, self.atom] <= self.value) & (high[:, self.atom] >= self.value)
        if known.extremes:  # which of an atom's records attains them totals do not say
            able &= known.sizes[self.atom] == 1
        marks = able.astype(np.float32)
        found = marks.T @ marks > 0
        for atom in self.atoms[known.sizes[self.atoms] > 1]:
            own, others = np.flatnonzero(self.atom == atom), known.sizes[atom] - 2
            both = np.add.outer(self.value[own], self.value[own])
            rest = np.unique(worlds[:, atom])[:, None, None] - both
            fits = (rest >= others * known.low[atom]) & (rest <= others * known.high[atom])
            found[np.ix_(own, own)] = fits.any(axis=0) & (not known.extremes)
        self.together |= found

    def lacking(self, rows: Ints) -> NDArray[np.bool_]:
        """(r, a) for some rows: whether a record of each atom is not shown to keep a run beside them."""
        known, need, end = self.runs.knowledge, self.runs.need, len(self.atom) - self.runs.need
        whole = np.repeat((self.atom[:end] == self.atom[need:])[None], len(rows), axis=0)
        for further in range(need + 1):
            whole &= self.together[rows, further : end + further]
        found: NDArray[np.bool_] = ~np.logical_or.reduceat(whole, self.firsts, axis=1)
        insiders, label = self.atom[rows], known.components
        found &= label[insiders][:, None] == label[self.atoms]
        found &= (insiders[:, None] != self.atoms) | (known.sizes[self.atoms] > 1)
        return found

    def walk(self) -> None:
        """Walk from table to table as long as each walk settles an atom beside some row."""
        runs, before, chains = self.runs, 1 << 60, min(self.seen, WALKS)
        passes, rows = max(1, TRIES // max(len(runs.moves.starts) - 1, 1)), np.arange(len(self.atom))
        while (left := int(self.lacking(rows).sum())) and before - left >= WALKS:
            before, turns = left, range(self.seen, self.seen + WALKS)
            able = all(runs.walk_from(runs.worlds[-chains], passes, turn) for turn in turns)
            self._note()
            if not able:
                return

    def width(self, row: int) -> int:
        """Least width of all others' runs while an insider has a value; as needed where he cannot have it.

        Raises:
            OutOfTime: that was not found out with what may be spent.
        """
        runs, value = self.runs, int(self.value[row])
        lacking = self.atoms[self.lacking(np.array([row]))[0]]
        if not len(lacking):
            return runs.need
        if not runs.allowance.spend(ROW):
            raise OutOfTime("nothing may be spent on a further insider")
        insider = Record(runs, int(self.atom[row]))
        low, high = insider.alone.low.copy(), insider.alone.high.copy()
        low[insider.label] = high[insider.label] = value
        given = replace(insider.alone, low=low, high=high)
        worlds = self._worlds(given, insider, value)
        if not len(worlds):
            return runs.need
        moves = _sparing(short_moves(runs.knowledge.tableau), insider.label)
        beside = Runs(given.rebased(worlds), runs.need, runs.allowance, runs.effort, lent=moves)
        beside.accepted[:] = True
        beside.accepted[lacking] = False
        beside.absorb_some(worlds)
        at_hand = len(beside.worlds)
        if at_hand and beside.lacking.any():
            grow(beside)
        runs.worlds += map(insider.together, beside.worlds[at_hand:])
        self._note()
        return int((beside.high - beside.low)[lacking].min(initial=runs.need))

    def _worlds(self, given: Knowledge, insider: Record, value: int) -> Ints:
        """(w, p') tables at hand in which an insider has a value, he apart, or one that is found."""
        worlds, low, high = np.array(self.runs.worlds), given.low[insider.atom], given.high[insider.atom]
        rest = worlds[:, insider.atom] - value
        able = (rest >= insider.others * low) & (rest <= insider.others * high)
        found = [insider.apart(world, value) for world in worlds[able][-WALKS:]]
        if given.extremes:
            found = [world for world in found if choose_witnesses(given, world) is not None]
        if not found:
            world = insider.world_at(value)
            if world is not None:
                self.runs.worlds.append(world)
                found = [insider.apart(world, value)]
        return np.array(found)


def _sparing(moves: Moves, atom: int) -> Moves:
    """The moves that leave an atom as it is: walks try no others in vain."""
    lengths = np.diff(moves.starts)
    which = np.repeat(np.arange(len(lengths)), lengths)
    kept = ~np.isin(np.arange(len(lengths)), which[moves.atoms == atom])
    starts = np.concatenate([[0], np.cumsum(lengths[kept])])
    return Moves(starts, moves.atoms[kept[which]], moves.weights[kept[which]])
