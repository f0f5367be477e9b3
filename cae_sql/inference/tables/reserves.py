"""Reserves: for every sum somebody who pays for what moves, out of many swaps of the same difference.

A reserve is made of swaps that share no atom and have all the same effect on the sums, or of a single atom.
As many reserves as there are independent sums, with a whole-numbered inverse, say how everybody's move is
paid for: by how much each reserve changes for a unit more of an atom. Unlike a basis of atoms a reserve has
the room of all its swaps together, and its difference touches few sums, so entries stay small where nearly
everybody is alone (`mathematics.md`, 2: integer basis; here over differences of atoms).

A poor reserve is helped by swaps that have its difference and others' besides: what these others then pay is
counted as theirs, in either direction.

Whoever moves, and an insider who may be anywhere, takes no part in paying: from each reserve the room of the
greatest swaps is left out, as many as there are of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.columns import NOTHING, Columns
from cae_sql.inference.tables.roomy_table import basis_of
from cae_sql.inference.tables.swaps import Swaps, canonical, named

KINDS = 20_000
"""Differences among which reserves are chosen, those with the most room."""
ATOMS = 3_000
"""Single atoms among which reserves are chosen: differences alone may not span what sums can be."""
POOR = 2
"""A reserve that can move by less than so many whole domains, its two greatest swaps left out, is helped."""
MOST_SIDES = 40
"""How many other reserves a swap that helps may take from; few first."""
HELPERS = 25_000
"""Swaps among which helpers are looked for."""
AMPLE = 6
"""A reserve that can move by so many whole domains takes no further swaps: others may need them."""
ATTEMPTS = 4
"""How often reserves are chosen without the differences that got no swaps because others took their parts."""
LARGEST_INVERSE = 64
"""Entries beyond this: no reserve has the room."""
AT_ONCE = 1 << 12
"""Parts whose columns are worked out at a time."""


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
    aside: NDArray[np.int64]
    """(k, k) what a unit of the reserve of a row may take from that of a column besides, up or down."""

    @property
    def parts(self) -> Ints:
        """All parts that pay."""
        return np.concatenate([self.gain, self.give[self.give >= 0]])

    @property
    def single(self) -> Ints:
        """Parts that are reserves by themselves."""
        return self.gain[self._alone]

    @property
    def empty(self) -> NDArray[np.bool_]:
        """(k,) reserves that nothing belongs to: whoever needs them gets nothing from any."""
        found: NDArray[np.bool_] = np.bincount(self.of, minlength=len(self.inverse)) == 0
        return found

    @property
    def _alone(self) -> NDArray[np.bool_]:
        """(z,) single parts that nobody helps."""
        found: NDArray[np.bool_] = (self.give < 0) & (np.bincount(self.of)[self.of] == 1)
        return found

    def scarce(self, down: Ints, up: Ints, left: tuple[Ints, Ints], insiders: int) -> NDArray[np.float64]:
        """(4, k) 1 / room of the reserves: down and up without one swap, then both without one more.

        `left` is the room of a part (p',) one of whose records gives nothing.
        """
        rooms, alone = np.zeros((4, len(self.inverse))), self._alone
        for way, (own, other, rest) in enumerate(((down, up, left[0]), (up, down, left[1]))):
            whole, first, second = self._rooms(own, other)
            rooms[way], rooms[2 + way] = whole - first, whole - first - second * insiders
            rooms[way, self.of[alone]] = own[self.gain[alone]]
            rooms[2 + way, self.of[alone]] = rest[self.gain[alone]]
        return 1.0 / np.maximum(rooms, 1e-25)

    def _rooms(self, own: Ints, other: Ints) -> list[NDArray[np.float64]]:
        """(k,) each: the room of all swaps, that of the greatest, and that of the next."""
        count = len(self.inverse)
        room = np.where(self.give >= 0, np.minimum(own[self.gain], other[self.give]), own[self.gain])
        order = np.lexsort((-room, self.of))
        place = np.arange(len(order)) - np.searchsorted(self.of[order], self.of[order])
        found: list[NDArray[np.float64]] = []
        for here in (order, order[place == 0], order[place == 1]):
            found.append(np.bincount(self.of[here], weights=room[here], minlength=count).astype(np.float64))
        return found

    def poor(self, room: Ints, domain: int) -> NDArray[np.bool_]:
        """(k,) reserves that have little without their two greatest swaps, if parts can move so far."""
        whole, first, second = self._rooms(room, room)
        found: NDArray[np.bool_] = whole - first - second < POOR * domain
        return found

    def columns(self, effects: NDArray[np.int8]) -> NDArray[np.float32]:
        """(a, k) what some effects on the sums take from each reserve: whole numbers, exact below 2**24."""
        return effects.astype(np.float32) @ self.inverse.T.astype(np.float32)

    def reach(
        self, ground: Ground, scarce: NDArray[np.floating], parts: Ints, safety: float
    ) -> NDArray[np.floating]:
        """(4, a) how far some parts can rise and fall, `safety` times, as
        `cae_sql.inference.tables.columns.loads`.
        """
        ends = np.zeros((4, len(parts)), dtype=scarce.dtype)
        helped = self.aside.any(axis=1)
        for first in range(0, len(parts), AT_ONCE):
            some = slice(first, first + AT_ONCE)
            column = self.columns(ground.coefficients(parts[some]))
            # what is taken aside may be taken either way
            aside = np.abs(column[:, helped]).astype(np.float64) @ self.aside[helped]
            gain, lose = ((np.maximum(each, 0) + aside).astype(scarce.dtype) for each in (column, -column))
            for row, (down, up) in enumerate(((0, 1), (1, 0), (2, 3), (3, 2))):
                most = np.maximum(gain * scarce[down], lose * scarce[up]).max(axis=1, initial=NOTHING)
                ends[row, some] = safety / most.astype(np.float64)
        return ends


@dataclass(frozen=True, eq=False)
class Ground:
    """What reserves are chosen over. Shapes: p atoms, p' parts, k past sums, g new ones."""

    marks: Columns
    """(>= p, k) coefficients of the atoms in past sums."""
    parents: Ints
    """(p',) the atom that each part is of."""
    rows: NDArray[np.int32]
    """(g, p') coefficients of the new sums."""
    room: Ints
    """(p',) how far each part can move, to either side."""
    domain: int
    """Width of the whole domain: further nobody needs to go."""

    def coefficients(self, parts: Ints) -> NDArray[np.int8]:
        """(a, k + g) of some parts in all sums."""
        return np.hstack([self.marks[self.parents[parts]], self.rows[:, parts].T.astype(np.int8)])

    def effects(self, gain: Ints, give: Ints) -> NDArray[np.int8]:
        """(a, k + g) of some swaps, or single parts where nobody gives."""
        return self.coefficients(gain) - np.where(give[:, None] >= 0, self.coefficients(give), 0)

    def rooms(self, gain: Ints, give: Ints) -> Ints:
        """(a,) how far swaps, or single parts where nobody gives, can move."""
        both = np.where(give >= 0, np.minimum(self.room[gain], self.room[give]), self.room[gain])
        found: Ints = np.minimum(both, self.domain)
        return found


@dataclass(frozen=True, eq=False)
class _Kinds:
    """Swaps whose parts can both move, by their differences. Shapes: m swaps, c kinds."""

    gain: Ints
    give: Ints
    kind: Ints
    """(m,)"""
    example: Ints
    """(c,) a swap of each."""
    rooms: Ints
    """(m,)"""

    @classmethod
    def of(cls, swaps: Swaps, ground: Ground, able: NDArray[np.bool_]) -> _Kinds:
        names = named(swaps.names[ground.parents], ground.rows, ground.marks.shape[1])
        both = np.flatnonzero(able[swaps.gain] & able[swaps.give])
        gain, give = swaps.gain[both], swaps.give[both]
        difference, turned = canonical(names[gain] - names[give])
        gain, give = np.where(turned, give, gain), np.where(turned, gain, give)
        _, example, kind = np.unique(difference, return_index=True, return_inverse=True)
        return cls(gain, give, kind, example, ground.rooms(gain, give))

    def allotted(self, order: Ints, enough: int, free: NDArray[np.bool_]) -> Ints:
        """Those taken of an order, none sharing a part; `free` is changed."""
        return _allotted(order, self.gain, self.give, self.kind, self.rooms, len(self.example), enough, free)

    def weights(self, taken: Ints) -> NDArray[np.float64]:
        """(c,) the room of some swaps, by kind."""
        found = np.bincount(self.kind[taken], weights=self.rooms[taken], minlength=len(self.example))
        return found.astype(np.float64)


def choose(swaps: Swaps, ground: Ground, used: NDArray[np.bool_]) -> Reserves | None:
    """Reserves for all sums, past and new, of parts not used elsewhere; None where none are found."""
    able = (ground.room > 0) & ~used
    kinds = _Kinds.of(swaps, ground, able)
    if not len(kinds.gain):
        return None
    rough = kinds.weights(np.arange(len(kinds.gain)))
    order, enough = np.argsort(-rough[kinds.kind], kind="stable"), AMPLE * ground.domain
    weight = kinds.weights(kinds.allotted(order, enough, able.copy()))
    found: Reserves | None = None
    further = ATOMS
    for _ in range(ATTEMPTS):
        made = _made(kinds, ground, weight, able, further)
        if made is None:
            if found is not None or further >= np.count_nonzero(able):
                break
            further *= 8
            continue
        found, tried = made
        empty = tried[np.flatnonzero(found.empty)]
        empty = empty[empty >= 0]
        if not len(empty):
            break
        weight[empty] = 0
    return found


def _made(
    kinds: _Kinds, ground: Ground, weight: NDArray[np.float64], able: NDArray[np.bool_], further: int
) -> tuple[Reserves, Ints] | None:
    """Reserves of kinds of much weight, and which kind each is of (−1: none); None where none are found."""
    likely = np.argsort(-weight, kind="stable")[:KINDS]
    likely = likely[weight[likely] > 0]
    singles = np.flatnonzero(able)
    if len(singles) > ATOMS:
        # the roomiest, and some from everywhere: a sum that few atoms tell from others needs one of them
        some = np.linspace(0, len(singles) - 1, further).astype(np.int64)
        roomy = np.argpartition(-ground.room[singles], ATOMS - 1)[:ATOMS]
        singles = singles[np.unique(np.concatenate([roomy, some]))]
    example = kinds.example[likely]
    coefficients = ground.coefficients(singles)
    found = _independent(
        np.vstack([ground.effects(kinds.gain[example], kinds.give[example]), coefficients]),
        np.concatenate([weight[likely], np.minimum(ground.room[singles], ground.domain) / 2]),
    )
    if found is None:
        return None
    basic, inverse = found
    alone = np.flatnonzero(basic >= len(likely))
    lone, free = singles[basic[alone] - len(likely)], able.copy()
    free[lone] = False
    reserve_of = np.full(len(kinds.example), -1, dtype=np.int64)
    paired = np.flatnonzero(basic < len(likely))
    reserve_of[likely[basic[paired]]] = paired
    kind_of = np.full(len(basic), -1, dtype=np.int64)
    kind_of[paired] = likely[basic[paired]]
    taken = _taken(kinds, ground, weight, reserve_of, free)
    if taken is None:
        return None
    plain = Reserves(
        np.concatenate([reserve_of[kinds.kind[taken]], alone]),
        np.concatenate([kinds.gain[taken], lone]),
        np.concatenate([kinds.give[taken], np.full(len(lone), -1)]),
        inverse,
        np.zeros_like(inverse),
    )
    singles = singles[np.argsort(np.count_nonzero(coefficients, axis=1), kind="stable")]
    helped = _helped(plain, ground, (kinds.gain, kinds.give), free)
    return _helped(helped, ground, (singles, np.full(len(singles), -1)), free), kind_of


def _taken(
    kinds: _Kinds, ground: Ground, weight: NDArray[np.float64], reserve_of: Ints, free: NDArray[np.bool_]
) -> Ints | None:
    """The swaps of each reserve, those of poor ones chosen first; `free` is changed. Some may get none.

    None where names were equal by chance and differences are not.
    """
    mine = np.flatnonzero(reserve_of[kinds.kind] >= 0)
    mine = mine[np.argsort(weight[kinds.kind[mine]], kind="stable")]
    taken = kinds.allotted(mine, AMPLE * ground.domain, free)
    example = kinds.example[kinds.kind[taken]]
    wrong = ground.effects(kinds.gain[taken], kinds.give[taken]) != ground.effects(
        kinds.gain[example], kinds.give[example]
    )
    return None if wrong.any() else taken


def _helped(
    reserves: Reserves, ground: Ground, swaps: tuple[Ints, Ints], free: NDArray[np.bool_]
) -> Reserves:
    """The same with further swaps, or single parts, for the poor; `free` is changed."""
    poor = reserves.poor(ground.room, ground.domain)
    if not poor.any():
        return reserves
    gain, give = swaps
    if len(gain) > HELPERS:
        some = np.linspace(0, len(gain) - 1, HELPERS).astype(np.int64)
        gain, give = gain[some], give[some]
    takes = reserves.columns(ground.effects(gain, give))
    of_poor = takes[:, poor] != 0
    count, whom = of_poor.sum(axis=1), np.flatnonzero(poor)[of_poor.argmax(axis=1)]
    sign, sides = takes[np.arange(len(takes)), whom], np.count_nonzero(takes, axis=1) - count
    rooms = ground.rooms(gain, give)
    # one of the poor, by one; a single part is taken as it stands
    fit = (
        (count == 1) & (np.abs(sign) == 1) & (sides <= MOST_SIDES) & ((give >= 0) | (sign > 0)) & (rooms > 0)
    )
    order = np.flatnonzero(fit)
    order = order[np.argsort(sides[order], kind="stable")]
    mine = np.minimum(ground.room[reserves.gain], ground.domain)
    has = np.bincount(reserves.of, weights=mine, minlength=len(poor)).astype(np.int64)
    aside, taken = reserves.aside.copy(), list[int]()
    for swap in order.tolist():
        both, reserve = [each for each in (gain[swap], give[swap]) if each >= 0], whom[swap]
        if not free[both].all() or has[reserve] >= AMPLE * ground.domain:
            continue
        free[both] = False
        has[reserve] += rooms[swap]
        by = np.abs(takes[swap]).astype(np.int64)
        by[reserve] = 0
        # reserves that are helped already take from others besides
        aside[reserve] = np.maximum(aside[reserve], by + by @ reserves.aside)
        taken.append(swap)
    turned = sign[taken] < 0
    return Reserves(
        np.concatenate([reserves.of, whom[taken]]),
        np.concatenate([reserves.gain, np.where(turned, give[taken], gain[taken])]),
        np.concatenate([reserves.give, np.where(turned, gain[taken], give[taken])]),
        reserves.inverse,
        aside,
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
    order: Ints,
    gain: Ints,
    give: Ints,
    kind: Ints,
    rooms: Ints,
    kinds: int,
    enough: int,
    free: NDArray[np.bool_],
) -> Ints:
    """Swaps in an order, each taken if both its parts are free and its kind lacks room; `free` is changed."""
    has = np.zeros(kinds, np.int64)
    taken = np.zeros(len(order), np.int64)
    count = 0
    for swap in order:
        if free[gain[swap]] and free[give[swap]] and has[kind[swap]] < enough:
            free[gain[swap]] = free[give[swap]] = False
            has[kind[swap]] += rooms[swap]
            taken[count] = swap
            count += 1
    return taken[:count]
