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
from cae_sql.inference.answers import Ints
from cae_sql.inference.center import basis_of
from cae_sql.inference.columns import NOTHING, Columns
from cae_sql.inference.swaps import Swaps, canonical, named

KINDS = 20_000
"""Differences among which reserves are chosen, those with the most room."""
ATOMS = 3_000
"""Single atoms among which reserves are chosen: differences alone may not span what sums can be."""
POOR = 2
"""A reserve that can move by less than so many whole domains, its two greatest swaps left out, is helped."""
MOST_SIDES = 40
"""How many other reserves a swap that helps may take from; few first."""
HELPERS = 60_000
"""Swaps among which helpers are looked for."""
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
    def _alone(self) -> NDArray[np.bool_]:
        """(z,) single parts that nobody helps."""
        found: NDArray[np.bool_] = (self.give < 0) & (np.bincount(self.of)[self.of] == 1)
        return found

    def scarce(self, down: Ints, up: Ints, left: tuple[Ints, Ints], insiders: int) -> NDArray[np.float64]:
        """(4, k) 1 / room of the reserves: down and up without one swap, then both without one more.

        Args:
            down: (p',) how far each part can fall.
            up: (p',) how far it can rise.
            left: The same of a part one of whose records gives nothing.
            insiders: 0 or 1.
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
        helped, from_ = np.nonzero(self.aside)
        _reach(
            marks, len(self.inverse) - len(rows), parents, rows, starts, reserves, entries,
            np.searchsorted(helped, np.arange(len(self.inverse) + 1)), from_, self.aside[helped, from_],
            scarce, parts, safety, ends,
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
    plain = Reserves(
        np.concatenate([of, alone]),
        np.concatenate([gain[taken], lone]),
        np.concatenate([give[taken], np.full(len(lone), -1)]),
        inverse,
        np.zeros_like(inverse),
    )
    singles = singles[np.argsort(np.count_nonzero(coefficients(singles), axis=1), kind="stable")]
    helped = _helped(plain, marks, parents, rows, (gain, give), room, domain, free)
    return _helped(helped, marks, parents, rows, (singles, np.full(len(singles), -1)), room, domain, free)


def _helped(
    reserves: Reserves, marks: Columns, parents: Ints, rows: NDArray[np.int32], swaps: tuple[Ints, Ints],
    room: Ints, domain: int, free: NDArray[np.bool_],
) -> Reserves:  # fmt: skip
    """The same with further swaps, or single parts, for the poor; `free` is changed."""
    poor = reserves.poor(room, domain)
    if not poor.any():
        return reserves
    sums, whose = np.nonzero(reserves.inverse.T)
    starts = np.searchsorted(sums, np.arange(len(reserves.inverse) + 1))
    entries, aside = reserves.inverse.T[sums, whose], reserves.aside.copy()
    gain, give = swaps
    if len(gain) > HELPERS:
        some = np.linspace(0, len(gain) - 1, HELPERS).astype(np.int64)
        gain, give = gain[some], give[some]
    here = marks, len(poor) - len(rows), parents, rows, starts, whose, entries
    whom, sign, sides = _suited(*here, gain, give, poor)
    rooms = np.minimum(np.where(give >= 0, np.minimum(room[gain], room[give]), room[gain]), domain)
    # a single part is taken as it stands
    suited = np.flatnonzero((whom >= 0) & (rooms > 0) & (sides <= MOST_SIDES) & ((give >= 0) | (sign > 0)))
    order = suited[np.argsort(sides[suited], kind="stable")]
    has = np.bincount(reserves.of, weights=np.minimum(room[reserves.gain], domain), minlength=len(poor))
    aside = reserves.aside.copy()
    taken = _help(
        *here, gain, give, order, whom, rooms, has.astype(np.int64), AMPLE * domain, reserves.aside, aside,
        free,
    )  # fmt: skip
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
def _column(
    marks: Columns, width: int, atom: int, part: int, rows: NDArray[np.int32], sign: int, starts: Ints,
    reserves: Ints, entries: Ints, column: Ints, listed: NDArray[np.bool_], touched: Ints, count: int,
) -> int:  # fmt: skip
    """Add what a part takes from each reserve to `column`; list those touched, and return how many."""
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
            column[reserve] += sign * mark * entries[z]
    return count


@compiled()
def _suited(
    marks: Columns, width: int, parents: Ints, rows: NDArray[np.int32], starts: Ints, reserves: Ints,
    entries: Ints, gain: Ints, give: Ints, poor: NDArray[np.bool_],
) -> tuple[Ints, Ints, Ints]:  # fmt: skip
    """For each swap the only poor reserve, from which it takes ±1, else −1; that entry; how many others."""
    size = width + len(rows)
    column, touched = np.zeros(size, np.int64), np.zeros(size, np.int64)
    listed = np.zeros(size, np.bool_)
    whom, sign = np.full(len(gain), -1, np.int64), np.zeros(len(gain), np.int64)
    sides = np.zeros(len(gain), np.int64)
    for swap in range(len(gain)):
        count = _both(
            marks, width, parents, rows, starts, reserves, entries, gain[swap], give[swap], column, listed,
            touched,
        )  # fmt: skip
        mine, others, fits = -1, 0, True
        for t in range(count):
            entry = column[touched[t]]
            if entry and poor[touched[t]]:
                fits = fits and mine < 0 and abs(entry) == 1
                mine, sign[swap] = touched[t], entry
            elif entry:
                others += 1
            column[touched[t]], listed[touched[t]] = 0, False
        if fits:
            whom[swap], sides[swap] = mine, others
    return whom, sign, sides


@compiled()
def _help(
    marks: Columns, width: int, parents: Ints, rows: NDArray[np.int32], starts: Ints, reserves: Ints,
    entries: Ints, gain: Ints, give: Ints, order: Ints, whom: Ints, rooms: Ints, has: Ints, enough: int,
    before: Ints, aside: Ints, free: NDArray[np.bool_],
) -> Ints:  # fmt: skip
    """Which swaps of an order are taken to help; `aside` becomes what they take besides, at most.

    Args:
        before: (k, k) what reserves that are helped already take besides.
    """
    size = width + len(rows)
    column, touched, extra = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    listed = np.zeros(size, np.bool_)
    taken, found = np.zeros(len(order), np.int64), 0
    for swap in order:
        a, b, mine = gain[swap], give[swap], whom[swap]
        if not free[a] or (b >= 0 and not free[b]) or has[mine] >= enough:
            continue
        free[a] = False
        if b >= 0:
            free[b] = False
        has[mine] += rooms[swap]
        taken[found] = swap
        found += 1
        count = _both(marks, width, parents, rows, starts, reserves, entries, a, b, column, listed, touched)
        extra[:] = 0
        for t in range(count):
            reserve = touched[t]
            by = abs(column[reserve])
            if reserve != mine and by:
                extra[reserve] += by
                extra += by * before[reserve]
            column[reserve], listed[reserve] = 0, False
        aside[mine] = np.maximum(aside[mine], extra)
    return taken[:found]


@compiled()
def _both(
    marks: Columns, width: int, parents: Ints, rows: NDArray[np.int32], starts: Ints, reserves: Ints,
    entries: Ints, gain: int, give: int, column: Ints, listed: NDArray[np.bool_], touched: Ints,
) -> int:  # fmt: skip
    """What a unit of a swap takes from each reserve, as `_column`."""
    count = _column(
        marks, width, parents[gain], gain, rows, 1, starts, reserves, entries, column, listed, touched, 0
    )
    if give >= 0:
        count = _column(
            marks, width, parents[give], give, rows, -1, starts, reserves, entries, column, listed, touched,
            count,
        )  # fmt: skip
    return count


@compiled()
def _reach(
    marks: Columns, width: int, parents: Ints, rows: NDArray[np.int32], starts: Ints, reserves: Ints,
    entries: Ints, firsts: Ints, from_: Ints, by: Ints, scarce: NDArray[np.floating], parts: Ints,
    safety: float, ends: NDArray[np.floating],
) -> None:  # fmt: skip
    """`firsts`, `from_` and `by`: what each reserve takes aside, row by row."""
    size = scarce.shape[1]
    column, touched, aside = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    listed = np.zeros(size, np.bool_)
    for place in range(len(parts)):
        part = parts[place]
        count = _column(
            marks, width, parents[part], part, rows, 1, starts, reserves, entries, column, listed, touched, 0
        )
        direct = count
        for t in range(direct):
            reserve = touched[t]
            for z in range(firsts[reserve], firsts[reserve + 1]):
                if column[reserve] == 0:
                    continue
                other = from_[z]
                if not listed[other]:
                    listed[other] = True
                    touched[count] = other
                    count += 1
                aside[other] += abs(column[reserve]) * by[z]
        most0, most1, most2, most3 = NOTHING, NOTHING, NOTHING, NOTHING
        for t in range(count):
            reserve = touched[t]
            entry, more = column[reserve], aside[reserve]
            column[reserve], aside[reserve], listed[reserve] = 0, 0, False
            # what is taken aside may be taken either way
            gain, lose = max(entry, 0) + more, max(-entry, 0) + more
            most0 = max(most0, gain * scarce[0, reserve], lose * scarce[1, reserve])
            most1 = max(most1, gain * scarce[1, reserve], lose * scarce[0, reserve])
            most2 = max(most2, gain * scarce[2, reserve], lose * scarce[3, reserve])
            most3 = max(most3, gain * scarce[3, reserve], lose * scarce[2, reserve])
        ends[0, place], ends[1, place] = safety / most0, safety / most1
        ends[2, place], ends[3, place] = safety / most2, safety / most3
