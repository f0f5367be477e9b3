"""Moves by which somebody was shown, kept for later questions: looking for them is what takes the time.

A *move* lets one record gain a unit, others pay for it, and every answered sum stays as it is. It is kept by
the atoms that it touches. A question that cuts atoms lets the move go to those of their parts with which it
keeps the new sums too; what is missing is made up for by an exchange between two parts of one atom. A move
for which none is found is dropped.

Whether a move keeps every sum is added up anew, in whole numbers, for each question: where it came from needs
no trust. What room there is for it is seen around each table (`cae_sql.inference.certify.pooled_payments`).

Verdicts may hang on what is kept here, so it comes from past answers and questions alone: what was found
while true answers were judged is never kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import as_int64, compiled
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.columns import Columns

MOST_EACH = 192
"""Moves of one record that are kept, those of use first."""
LONGEST = 48
"""Who pay for one, at most: longer ones ask too many."""
PASSES = 3
"""How often parts are chosen anew, so that new sums come right."""
PAIRS = 256
"""Exchanges for one new sum among which those are that make up for what is missing, the roomiest."""

Whole = NDArray[np.int32]


class Moves(NamedTuple):
    """m moves of records of p parts, with z entries; kernels take it as it is."""

    whom: Whole  # (m,) the part that gains a unit, ascending
    starts: Ints  # (m + 1,) where the entries of each begin
    parts: Whole  # (z,) who pays: never the same part twice in a move, and never the one that gains
    by: Whole  # (z,) what it gains, positive or negative

    @property
    def count(self) -> int:  # type: ignore[override]
        """Moves."""
        return len(self.whom)

    def of(self, parts: Ints) -> tuple[Ints, Ints]:
        """(a,) the first move of each of some parts, and the one after its last."""
        return np.searchsorted(self.whom, parts), np.searchsorted(self.whom, parts, side="right")

    def of_those(self, parts: Ints) -> Moves:
        """Those of some parts alone."""
        return self.taken(np.flatnonzero(np.isin(self.whom, parts)))

    def taken(self, places: Ints) -> Moves:
        """Some of them, in the order given, which is by part."""
        lengths = np.diff(self.starts)[places]
        starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
        entries = np.arange(starts[-1]) + np.repeat(self.starts[places] - starts[:-1], lengths)
        return Moves(self.whom[places], starts, self.parts[entries], self.by[entries])

    def kept_by(self, marks: Columns) -> NDArray[np.bool_]:
        """(m,) whether no sum, of coefficients (p, k), changes: added up in whole numbers."""
        found = np.empty(self.count, dtype=np.bool_)
        _kept_by(self, marks, found)
        return found

    def over_atoms(self, parents: Ints) -> Moves:
        """The same over the atoms that the parts are of; without those that ask the atom itself to pay."""
        if len(parents) == 0 or parents.max() == len(parents) - 1:
            return self  # nothing was cut
        of, mine, atoms = (
            np.repeat(np.arange(self.count), np.diff(self.starts)),
            parents[self.whom],
            parents[self.parts],
        )
        itself = np.bincount(of[atoms == mine[of]], minlength=self.count) > 0
        # what parts of one atom gain in a move is added up, in the order in which they first come
        _, first, place = np.unique(of * len(parents) + atoms, return_index=True, return_inverse=True)
        by = np.bincount(place, self.by, len(first)).astype(np.int32)
        order = np.argsort(first)
        entries, by = first[order][by[order] != 0], by[order][by[order] != 0]
        starts = np.searchsorted(of[entries], np.arange(self.count + 1))
        found = Moves(mine.astype(np.int32), starts, atoms[entries].astype(np.int32), by)
        well = np.flatnonzero(~itself)
        return found.taken(well[np.argsort(mine[well], kind="stable")])

    def over_parts(self, parents: Ints, room: Ints, rows: Whole, pairs: Sequence[tuple[Ints, Ints]]) -> Moves:
        """The same over parts of the atoms (p',), those with which new sums (g, p') are kept or can be made
        to be.

        The roomier parts pay first. Pairs are, for each new sum, parts of one atom, one in it and one
        outside, that agree in all others.
        """
        if not self.count:
            return self
        order = np.lexsort((-room, parents))
        firsts = np.searchsorted(parents[order], np.arange(int(parents.max()) + 2))
        chosen = [_roomiest(each, room) for each in pairs]
        starts = np.cumsum([0, *(len(inside) for inside, _ in chosen)])
        both = np.hstack([np.zeros((2, 0), dtype=np.int64), *(np.array(each) for each in chosen)])
        cuts = Cuts(
            order.astype(np.int32), firsts, np.ascontiguousarray(rows.T).astype(np.int32),
            starts.astype(np.int64), np.ascontiguousarray(both).astype(np.int32),
        )  # fmt: skip
        found = Moves(*_over_parts(self, cuts))
        return found.taken(np.argsort(found.whom, kind="stable"))


NO_MOVES = Moves(np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))
"""Nothing is kept yet."""


def joined(those: Sequence[Moves]) -> Moves:
    """Moves of several: of each part those of the first come first, and so many as may be kept."""
    those = [each for each in those if each.count]
    if len(those) <= 1:
        return those[0] if those else NO_MOVES
    lengths = np.concatenate([np.diff(each.starts) for each in those])
    whom, parts, by = (np.concatenate([each[field] for each in those]) for field in (0, 2, 3))
    order = np.argsort(whom, kind="stable")
    ordered = whom[order]
    order = order[np.arange(len(order)) - np.searchsorted(ordered, ordered) < MOST_EACH]
    return Moves(whom, np.append(0, np.cumsum(lengths)), parts, by).taken(order)


class Cuts(NamedTuple):
    """How g new sums cut p atoms into p' parts."""

    order: Whole  # (p',) parts by atom, the roomiest first
    firsts: Ints  # (p + 1,) where those of each atom begin
    rows: Whole  # (p', g) coefficients of the new sums
    pair_starts: Ints  # (g + 1,) where the pairs of each begin
    pairs: Whole  # (2, ...) two parts of an atom, the first in the sum and the second outside


def _roomiest(pairs: tuple[Ints, Ints], room: Ints) -> tuple[Ints, Ints]:
    inside, outside = pairs
    both = np.minimum(room[inside], room[outside])
    order = np.argsort(-both, kind="stable")[: min(PAIRS, int(np.count_nonzero(both > 0)))]
    return inside[order], outside[order]


@compiled(exact=True)
def _kept_by(moves: Moves, marks: Columns, found: NDArray[np.bool_]) -> None:
    """`Moves.kept_by`: each sum is the record's own coefficient and what those who pay add."""
    change = np.zeros(marks.shape[1], np.int64)
    for m in range(len(moves.whom)):
        for k in range(len(change)):
            change[k] = marks[moves.whom[m], k]
        well = True
        for e in range(moves.starts[m], moves.starts[m + 1]):
            well = well and moves.parts[e] != moves.whom[m]
            for k in range(len(change)):
                change[k] += np.int64(moves.by[e]) * marks[moves.parts[e], k]
        for k in range(len(change)):
            well = well and change[k] == 0
        found[m] = well


@compiled()
def _added(parts: Whole, by: Whole, first: int, end: int, part: int, gain: int) -> int:
    """Let a part of a move that stands in first..end gain more; where the move then ends."""
    for e in range(first, end):
        if parts[e] == part:
            by[e] += gain
            if by[e] == 0:
                parts[e], by[e] = parts[end - 1], by[end - 1]
                return end - 1
            return end
    parts[end], by[end] = part, gain
    return end + 1


@compiled(exact=True)
def _over_parts(moves: Moves, cuts: Cuts) -> tuple[Whole, Ints, Whole, Whole]:
    """`Moves.over_parts`."""
    order, firsts, rows, news = cuts.order, cuts.firsts, cuts.rows, cuts.rows.shape[1]
    copies = 0
    for m in range(len(moves.whom)):
        copies += firsts[moves.whom[m] + 1] - firsts[moves.whom[m]]
    their, where = np.empty(copies, np.int32), np.zeros(copies + 1, np.int64)
    most = LONGEST + 2 * news
    room = np.int64(len(moves.parts)) + most
    parts, by = np.empty(room, np.int32), np.empty(room, np.int32)
    missing, chosen = np.empty(news, np.int64), np.empty(LONGEST, np.int64)
    made = turn = 0
    for m in range(len(moves.whom)):
        start, length = moves.starts[m], moves.starts[m + 1] - moves.starts[m]
        if length > LONGEST:
            continue
        for child in range(firsts[moves.whom[m]], firsts[moves.whom[m] + 1]):
            mine, first = order[child], where[made]
            if first + most > room:
                room = 2 * room + most
                parts, by = wider(parts, room), wider(by, room)
            for g in range(news):
                missing[g] = rows[mine, g]
            for n in range(length):
                chosen[n] = firsts[moves.parts[start + n]]
                for g in range(news):
                    missing[g] += moves.by[start + n] * rows[order[chosen[n]], g]
            for _ in range(PASSES):
                if not _improved(missing, chosen, start, length, moves, cuts):
                    break
            end = first
            for n in range(length):
                end = _added(parts, by, first, end, order[chosen[n]], as_int64(moves.by[start + n]))
            well = True
            for g in range(news):
                if missing[g] != 0 and well:
                    pair, turn = _pair(cuts, as_int64(g), as_int64(mine), as_int64(turn))
                    well = pair >= 0
                    if well:
                        inside, outside = cuts.pairs[0, pair], cuts.pairs[1, pair]
                        times = -missing[g] // (rows[inside, g] - rows[outside, g])
                        end = _added(parts, by, first, end, inside, times)
                        end = _added(parts, by, first, end, outside, -times)
            if well and end - first <= LONGEST:
                their[made] = mine
                made += 1
                where[made] = end
    return their[:made], where[: made + 1], parts[: where[made]], by[: where[made]]


@compiled()
def _pair(cuts: Cuts, g: int, mine: int, turn: int) -> tuple[int, int]:
    """A pair for a new sum without the part that gains, and how many were looked at in all; −1: none."""
    count = cuts.pair_starts[g + 1] - cuts.pair_starts[g]
    for _ in range(min(count, 4)):
        turn += 1
        pair = cuts.pair_starts[g] + turn % count
        if cuts.pairs[0, pair] != mine and cuts.pairs[1, pair] != mine:
            return pair, turn
    return as_int64(-1), turn


@compiled()
def wider(entries: NDArray[np.signedinteger], room: int) -> NDArray[np.signedinteger]:
    """The same with place for more."""
    found = np.empty(room, entries.dtype)
    for place in range(len(entries)):
        found[place] = entries[place]
    return found


@compiled()
def _improved(missing: Ints, chosen: Ints, start: int, length: int, moves: Moves, cuts: Cuts) -> bool:
    """Whether another part of some atom brings the new sums nearer; taken where it does."""
    order, rows, wrong = cuts.order, cuts.rows, 0
    for g in range(len(missing)):
        wrong += abs(missing[g])
    if wrong == 0:
        return False
    better = False
    for n in range(length):
        atom, by = moves.parts[start + n], moves.by[start + n]
        for other in range(cuts.firsts[atom], cuts.firsts[atom + 1]):
            then = 0
            for g in range(len(missing)):
                then += abs(missing[g] + by * (rows[order[other], g] - rows[order[chosen[n]], g]))
            if then < wrong:
                for g in range(len(missing)):
                    missing[g] += by * (rows[order[other], g] - rows[order[chosen[n]], g])
                chosen[n], wrong, better = other, then, True
                if wrong == 0:
                    return True
    return better
