"""Reserves: for every sum somebody who pays for what moves, out of many swaps of the same difference.

A reserve is made of swaps that share no atom and have all the same effect on the sums, or of a single atom.
As many reserves as there are independent sums, with a whole-numbered inverse, say how everybody's move is
paid for: by how much each reserve changes for a unit more of an atom. Unlike a basis of atoms a reserve has
the room of all its swaps together, and its difference touches few sums, so entries stay small where nearly
everybody is alone (`mathematics.md`, 2: integer basis; here over differences of atoms).

Whoever moves, and an insider who may be anywhere, takes no part in paying: from each reserve the room of the
greatest swaps is left out, as many as there are of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.inference.answers import Ints
from cae_sql.inference.center import basis_of
from cae_sql.inference.columns import NOTHING, Columns
from cae_sql.inference.swaps import Swaps, canonical, named

KINDS = 20_000
"""Differences among which reserves are chosen, those with the most room."""
ATOMS = 3_000
"""Single atoms among which reserves are chosen: differences alone may not span what sums can be."""
AMPLE = 6
"""A reserve that can move by so many whole domains takes no further swaps: others may need them."""
LARGEST_INVERSE = 64
"""Entries beyond this: no reserve has the room."""


@dataclass(frozen=True, eq=False)
class Reserves:
    """One reserve for each of k sums, over p' parts."""

    of: Ints
    """(z,) which reserve a swap belongs to."""
    gain: Ints
    """(z,) the part that is raised."""
    give: Ints
    """(z,) the part that is lowered; −1: none, the reserve is a single part."""
    inverse: NDArray[np.int64]
    """(k, k) what a unit more in each sum takes from each reserve: column by sum."""

    @property
    def parts(self) -> Ints:
        """All parts that pay."""
        return np.concatenate([self.gain, self.give[self.give >= 0]])

    @property
    def single(self) -> Ints:
        """Parts that are reserves by themselves."""
        return self.gain[self.give < 0]

    def scarce(self, down: Ints, up: Ints, left: tuple[Ints, Ints], insiders: int) -> NDArray[np.float64]:
        """(4, k) 1 / room of the reserves: down and up without one swap, then both without one more.

        Args:
            down: (p',) how far each part can fall.
            up: (p',) how far it can rise.
            left: The same of a part one of whose records gives nothing.
            insiders: 0 or 1.
        """
        pair, count = self.give >= 0, len(self.inverse)
        gain, give = self.gain, np.where(pair, self.give, 0)
        rooms = np.zeros((4, count))
        for way, (own, other, rest) in enumerate(((down, up, left[0]), (up, down, left[1]))):
            room = np.where(pair, np.minimum(own[gain], other[give]), own[gain]).astype(np.float64)
            whole = np.bincount(self.of, weights=room, minlength=count)
            # greatest first within each reserve: the first is left out, then the second too
            order = np.lexsort((-room, self.of))
            place = np.arange(len(order)) - np.searchsorted(self.of[order], self.of[order])
            worst = [
                np.bincount(
                    self.of[order][place == turn], weights=room[order][place == turn], minlength=count
                )
                for turn in range(2)
            ]
            rooms[way], rooms[2 + way] = whole - worst[0], whole - worst[0] - worst[1] * insiders
            alone = self.of[~pair]
            rooms[way, alone], rooms[2 + way, alone] = own[gain[~pair]], rest[gain[~pair]]
        return 1.0 / np.maximum(rooms, 1e-25)

    def reach(
        self,
        marks: Columns,
        parents: Ints,
        rows: NDArray[np.int32],
        scarce: NDArray[np.floating],
        parts: Ints,
        safety: float,
    ) -> NDArray[np.floating]:
        """(4, a) how far some parts can rise and fall, as `cae_sql.inference.columns.loads`.

        Args:
            marks: (>= p, >= k − g) coefficients of the atoms.
            parents: (p',) the atom that each part is of.
            rows: (g, p') coefficients of the new sums.
            scarce: Of `scarce`.
            parts: (a,) which.
            safety: Factor of what is found.
        """
        ends = np.zeros((4, len(parts)), dtype=scarce.dtype)
        sums, reserves = np.nonzero(self.inverse.T)
        starts = np.searchsorted(sums, np.arange(len(self.inverse) + 1))
        entries = self.inverse.T[sums, reserves]
        _reach(
            marks, len(self.inverse) - len(rows), parents, rows, starts, reserves, entries, scarce, parts,
            safety, ends,
        )  # fmt: skip
        return ends


def choose(
    swaps: Swaps,
    marks: Columns,
    parents: Ints,
    rows: NDArray[np.int32],
    room: Ints,
    domain: int,
    used: NDArray[np.bool_],
) -> Reserves | None:
    """Reserves for all sums, past and new; None where none are found.

    Args:
        swaps: Of the center.
        marks: (>= p, >= k) coefficients of the atoms in past sums.
        parents: (p',) the atom that each part is of.
        rows: (g, p') coefficients of the new sums.
        room: (p',) how far each part can move, to either side.
        domain: Width of the whole domain.
        used: (p',) parts that pay elsewhere.
    """
    rank = marks.shape[1]
    names = named(swaps.names[parents], rows, rank)
    able = (room > 0) & ~used
    both = np.flatnonzero(able[swaps.gain] & able[swaps.give])
    if not len(both):
        return None
    gain, give = swaps.gain[both], swaps.give[both]
    difference, turned = canonical(names[gain] - names[give])
    gain, give = np.where(turned, give, gain), np.where(turned, gain, give)
    _, examples, kind = np.unique(difference, return_index=True, return_inverse=True)
    kinds = len(examples)
    rooms = np.minimum(np.minimum(room[gain], room[give]), domain)
    rough = np.bincount(kind, weights=rooms, minlength=kinds)
    order = np.argsort(-rough[kind], kind="stable")
    free = able.copy()
    enough = np.full(kinds, AMPLE * domain)
    taken = _allotted(order, gain, give, kind, rooms, enough, free)
    weight = np.bincount(kind[taken], weights=rooms[taken], minlength=kinds)
    likely = np.argsort(-weight, kind="stable")[:KINDS]
    likely = likely[weight[likely] > 0]
    singles = np.flatnonzero(able)
    if len(singles) > ATOMS:
        singles = singles[np.argpartition(-room[singles], ATOMS - 1)[:ATOMS]]

    def coefficients(parts: Ints) -> NDArray[np.int8]:
        return np.hstack([marks[parents[parts]], rows[:, parts].T.astype(np.int8)])

    chosen = examples[likely]
    found = _independent(
        np.vstack([coefficients(gain[chosen]) - coefficients(give[chosen]), coefficients(singles)]),
        np.concatenate([weight[likely], np.minimum(room[singles], domain) / 2]),
    )
    if found is None:
        return None
    basic, inverse = found
    reserve_of = np.full(kinds, -1, dtype=np.int64)
    paired = np.flatnonzero(basic < len(likely))
    reserve_of[likely[basic[paired]]] = paired
    alone = np.flatnonzero(basic >= len(likely))
    lone = singles[basic[alone] - len(likely)]
    free = able.copy()
    free[lone] = False
    mine = np.flatnonzero(reserve_of[kind] >= 0)
    # the poorest choose first
    mine = mine[np.argsort(weight[kind[mine]], kind="stable")]
    enough = np.full(kinds, AMPLE * domain)
    taken = _allotted(mine, gain, give, kind, rooms, enough, free)
    of = reserve_of[kind[taken]]
    lacking = np.bincount(of, minlength=len(basic))[paired] == 0
    wrong = (
        coefficients(gain[taken]) - coefficients(give[taken])
        != (coefficients(gain[examples[kind[taken]]]) - coefficients(give[examples[kind[taken]]]))
    ).any()
    if lacking.any() or wrong:
        return None
    return Reserves(
        np.concatenate([of, alone]),
        np.concatenate([gain[taken], lone]),
        np.concatenate([give[taken], np.full(len(lone), -1)]),
        inverse,
    )


def _independent(
    candidates: NDArray[np.int8], weight: NDArray[np.float64]
) -> tuple[Ints, NDArray[np.int64]] | None:
    """Which of some differences (c, k) to take, those of much weight first, and the inverse of them."""
    found = basis_of(np.ascontiguousarray(candidates), np.zeros(len(candidates), dtype=np.bool_), weight)
    if found is None or np.abs(found[1]).max(initial=0) > LARGEST_INVERSE:
        return None
    return found[0], found[1].astype(np.int64)


@compiled()
def _allotted(
    order: Ints, gain: Ints, give: Ints, kind: Ints, rooms: Ints, enough: Ints, free: NDArray[np.bool_]
) -> Ints:
    """Swaps in an order, each taken if both its parts are free and its kind lacks room; `free` is changed."""
    has = np.zeros(len(enough), np.int64)
    taken = np.zeros(len(order), np.int64)
    count = 0
    for swap in order:
        if free[gain[swap]] and free[give[swap]] and has[kind[swap]] < enough[kind[swap]]:
            free[gain[swap]] = free[give[swap]] = False
            has[kind[swap]] += rooms[swap]
            taken[count] = swap
            count += 1
    return taken[:count]


@compiled()
def _reach(
    marks: Columns, width: int, parents: Ints, rows: NDArray[np.int32], starts: Ints, reserves: Ints,
    entries: Ints, scarce: NDArray[np.floating], parts: Ints, safety: float, ends: NDArray[np.floating],
) -> None:  # fmt: skip
    column = np.zeros(scarce.shape[1], np.int64)
    touched = np.zeros(scarce.shape[1], np.int64)
    listed = np.zeros(scarce.shape[1], np.bool_)
    for place in range(len(parts)):
        part, count = parts[place], 0
        atom = parents[part]
        for number in range(width + len(rows)):
            mark = np.int64(marks[atom, number]) if number < width else np.int64(rows[number - width, part])
            if mark == 0:
                continue
            for z in range(starts[number], starts[number + 1]):
                reserve = reserves[z]
                if not listed[reserve]:
                    listed[reserve] = True
                    touched[count] = reserve
                    count += 1
                column[reserve] += mark * entries[z]
        most0, most1, most2, most3 = NOTHING, NOTHING, NOTHING, NOTHING
        for t in range(count):
            reserve = touched[t]
            entry = column[reserve]
            column[reserve], listed[reserve] = 0, False
            if entry == 0:
                continue
            gain, lose = (entry, 0) if entry > 0 else (0, -entry)
            most0 = max(most0, gain * scarce[0, reserve] + lose * scarce[1, reserve])
            most1 = max(most1, gain * scarce[1, reserve] + lose * scarce[0, reserve])
            most2 = max(most2, gain * scarce[2, reserve] + lose * scarce[3, reserve])
            most3 = max(most3, gain * scarce[3, reserve] + lose * scarce[2, reserve])
        ends[0, place], ends[1, place] = safety / most0, safety / most1
        ends[2, place], ends[3, place] = safety / most2, safety / most3
