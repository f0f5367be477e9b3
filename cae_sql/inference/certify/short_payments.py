"""Who else pays for those whom bases and reserves leave open: short ways of single parts, for one question.

A basis names one way to make up for a part that gains. Any other differs from it by *helpers*, parts outside
of the basis: one that gains or loses a unit changes what the basic parts pay by its own column, and keeps
every sum. Taking the helper that lowers Σ (what a part pays / its room)² most, again and again, leads within
a few steps to a direction over some ten parts, mostly by one unit each (a descent in the lattice of all ways
to pay, as in size reduction). It holds in whole numbers whatever the floats by which it was chosen.

Of one part, directions over bases that share no part and helpers of which each is taken once add up, and the
absence of any one record costs one of them (`mathematics.md`, 2: insiders).

What is found depends on the tables that are looked at; nothing of it is kept for other questions or answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.inference.allowance import ENTRIES, Allowance
from cae_sql.inference.certify.rooms import Far, Rooms
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.columns import NOTHING, SAFETY, Columns
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.roomy_table import basis_of, columns_in
from cae_sql.threads import in_two

STEPS = 24
"""Helpers that one direction may take; nearly all find nothing shorter after five."""
LEAST_GAIN = 1e-4
"""A helper is taken where it shortens a direction by so much of what it is, squared."""
BASES = 16
"""That are made, at most: so many directions a part can have."""
CANDIDATES = 12_000
"""Parts among which one is looked for, the roomiest."""
MOST_OPEN = 20_000
"""Of more than this nobody gets directions."""
TRIED = 64
"""Parts that get them first, those of whom least is shown."""
ROOMY = 60_000
"""Parts that are thought of as paying, at most, the roomiest."""
HELPERS = 1_000
"""Parts that may help, or a third of all where that is less: bases need the others."""


@dataclass(frozen=True, eq=False)
class Helpers:
    """Parts that help, for a of the parts that need directions."""

    parts: Ints
    """(h,) in no basis."""
    taken: NDArray[np.bool_]
    """(a, h) those that a part's directions have used up, and itself."""

    @classmethod
    def of(cls, parts: Ints, whom: Ints) -> Helpers:
        """None is used up yet."""
        return cls(parts, parts[None, :] == whom[:, None])

    def some(self, places: Ints) -> Helpers:
        """For some of those parts."""
        return Helpers(self.parts, self.taken[places])


@dataclass(frozen=True, eq=False)
class Directions:
    """One for each of a parts, over k basic parts and h helpers."""

    paid: NDArray[np.int32]
    """(a, k) what each basic part loses for a unit more of the part."""
    used: NDArray[np.int32]
    """(a, STEPS) places of the helpers that gain a unit each, or ~place for those that lose one; the rest is
    below −h."""
    ends: NDArray[np.floating]
    """(4, a) how far parts rise and fall so, as `cae_sql.inference.tables.columns.loads` says it."""

    def missed(
        self, mine: NDArray[np.int8], basic: NDArray[np.int8], helping: NDArray[np.int8]
    ) -> NDArray[np.bool_]:
        """(a,) whether a sum would change: looked at anew, in whole numbers.

        Args:
            mine: (a, k) coefficients of the parts in the sums.
            basic: (k, k) of the basic ones.
            helping: (h, k) of the helpers.
        """
        # double floats hold these whole numbers, and are multiplied many times faster
        paid = (self.paid.astype(np.float64) @ basic.astype(np.float64)).astype(np.int64)
        change = mine.astype(np.int64) - paid
        for step in range(self.used.shape[1]):
            used = self.used[:, step]
            able = np.flatnonzero(used >= -len(helping))
            if not len(able):
                break
            gains = used[able] >= 0
            places = np.where(gains, used[able], ~used[able])
            change[able] += np.where(gains, 1, -1)[:, None] * helping[places].astype(np.int64)
        found: NDArray[np.bool_] = np.any(change != 0, axis=1)
        return found


def shortened(rooms: Rooms, basic: Ints, columns: Columns, helpers: Helpers, theirs: Columns) -> Directions:
    """A direction for each of some parts.

    Args:
        rooms: Of the judgement.
        basic: (k,) a basis.
        columns: (a, k) of the parts in it.
        helpers: Who may help; those that do are used up.
        theirs: (h, k) the helpers' columns.
    """
    count, many = len(columns), len(helpers.parts)
    left, used = columns.astype(np.int32), np.full((count, STEPS), -1 - many, dtype=np.int32)
    ends, safety = rooms.empty(count), SAFETY if rooms.single else 1.0
    weights, mine = (
        (1.0 / np.maximum(rooms.nearer(parts), 0.5) ** 2).astype(np.float32)
        for parts in (basic, helpers.parts)
    )
    lengths = ((theirs.astype(np.float32) ** 2) @ weights + mine).astype(np.float32)
    turned, scarce, spare = np.ascontiguousarray(theirs.T), rooms.scarce(basic), rooms.scarce(helpers.parts)

    def work(first: int, last: int) -> None:
        _shorten(
            left, turned, weights, lengths, scarce, spare, safety, helpers.taken, used, ends,
            first, last,
        )  # fmt: skip

    in_two(work, count, 16 * many)
    return Directions(left, used, ends)


@compiled(fastmath={"nnan", "ninf", "nsz", "reassoc"})
def _shorten(
    left: NDArray[np.int32], theirs: Columns, weights: NDArray[np.float32],
    lengths: NDArray[np.float32], scarce: NDArray[np.floating], spare: NDArray[np.floating], safety: float,
    taken: NDArray[np.bool_], used: NDArray[np.int32], ends: NDArray[np.floating], first: int, last: int,
) -> None:  # fmt: skip
    """`shortened` of parts first..last; theirs: (k, h), lengths: (h,) of the helpers' columns, squared."""
    size, many = theirs.shape
    along = np.zeros(many, np.float32)
    for place in range(first, last):
        # along[j]: what a helper's column has in common with what is to be paid
        along[:] = 0
        square = np.float32(0)
        for i in range(size):
            if left[place, i]:
                _add(along, theirs[i], np.float32(weights[i] * left[place, i]))
                square += np.float32(weights[i] * left[place, i] * left[place, i])
        for step in range(used.shape[1]):
            best, most = -1, np.float32(LEAST_GAIN) * square
            for j in range(many):
                gain = 2 * abs(along[j]) - lengths[j]
                if gain > most and not taken[place, j]:
                    best, most = j, gain
            if best < 0:
                break
            taken[place, best] = True
            # a helper that gains pays by its column too: what is left to be paid falls by it, times −1
            sign = -1 if along[best] > 0 else 1
            used[place, step] = best if sign > 0 else ~best
            square -= most
            for i in range(size):
                entry = theirs[i, best]
                if entry:
                    left[place, i] += sign * entry
                    _add(along, theirs[i], np.float32(weights[i] * (sign * entry)))
        _measure(left[place], used[place], scarce, spare, safety, ends[:, place])


@compiled(fastmath={"nnan", "ninf", "nsz", "reassoc"})
def _add(along: NDArray[np.float32], row: Columns, times: np.float32) -> None:
    for j in range(len(along)):
        along[j] += times * row[j]


@compiled()
def _measure(
    left: NDArray[np.int32], used: NDArray[np.int32], scarce: NDArray[np.floating],
    spare: NDArray[np.floating], safety: float, ends: NDArray[np.floating],
) -> None:  # fmt: skip
    """How far a part goes: what each that pays loses, by what it has; then without one record."""
    many = spare.shape[1]
    for side in range(4):
        # a part that rises takes from what others have below them; 1 and 3: one that falls
        falls, base = side % 2, 2 * (side // 2)
        most = np.float64(NOTHING)
        for i in range(len(left)):
            entry = left[i]
            if entry:
                way = falls if entry > 0 else 1 - falls
                most = max(most, abs(entry) * scarce[base + way, i])
        for helper in used:
            if helper < -many:
                break
            gains = helper >= 0
            j = helper if gains else ~helper
            way = 1 - falls if gains else falls
            most = max(most, spare[base + way, j])
        ends[side] = safety / most


@dataclass(frozen=True, eq=False)
class _Basis:
    """Parts, and what turns coefficients into columns."""

    basic: Ints
    inverse: NDArray[np.float32]


class Further:
    """Directions for those who are left open. Shapes: p' parts."""

    def __init__(
        self, question_tables: QuestionTables, rooms: Rooms, need: int, allowance: Allowance
    ) -> None:
        """Nothing is made yet.

        Args:
            question: The queries.
            rooms: Of the judgement.
            need: Width that is needed.
            allowance: What may be spent; nothing more is tried beyond it.
        """
        self.question_tables, self.rooms, self.need, self.allowance = question_tables, rooms, need, allowance
        self._bases: list[_Basis] = []

    def show(self, far: Far) -> None:
        """Show of those who are left what directions can: of the hardest first, since all are needed.

        Args:
            far: What others who pay have shown; added to.
        """
        left = far.left(self.need)
        if len(left) > MOST_OPEN:
            return
        order = left[np.lexsort((far.widths[left], far.free[left]))]
        for some in (order[:TRIED], order[TRIED:]):
            if len(self._directed(Far(self.rooms, far), np.sort(some))):
                return

    @cached_property
    def nearer(self) -> Ints:
        """(p',) how far each part can go to its nearer side."""
        return self.rooms.nearer(np.arange(self.rooms.count))

    @cached_property
    def _roomy(self) -> Ints:
        """Parts that can pay, the roomiest first."""
        able = np.flatnonzero((self.nearer > 0) & self.rooms.whole)
        if len(able) > ROOMY:
            able = np.sort(able[np.argpartition(-self.nearer[able], ROOMY - 1)[:ROOMY]])
        return able[np.argsort(-self.nearer[able], kind="stable")]

    @cached_property
    def _helpers(self) -> Ints:
        """Of the roomiest every second one; the others are what bases are made of."""
        return self._roomy[: 2 * min(HELPERS, len(self._roomy) // 3) : 2]

    @cached_property
    def _free(self) -> Ints:
        """Parts of which bases can still be made."""
        return self._without(self._roomy, self._helpers)

    def _without(self, these: Ints, those: Ints) -> Ints:
        """Some parts, ascending, without others."""
        others = np.zeros(self.rooms.count, dtype=np.bool_)
        others[those] = True
        return np.sort(these[~others[these]])

    def _directed(self, far: Far, whom: Ints) -> Ints:
        """Directions over one basis after the other, as long as somebody has too little; who still has then.

        Args:
            far: Nobody pays yet.
            whom: (a,) the parts, ascending.
        """
        helpers, theirs = Helpers.of(self._helpers, whom), self.question_tables.marks_of(self._helpers)
        for number in range(BASES):
            left = np.flatnonzero((far.widths[whom] < self.need) | ~far.free[whom])
            helpers, whom = helpers.some(left), whom[left]
            # a basis is eliminated from among candidates; for each who is left helpers' columns are tried
            rank, among = self.question_tables.roomy_table.rank + 1, min(CANDIDATES, len(self._free))
            steps = rank * (rank * among + len(whom) * len(self._helpers)) / ENTRIES
            basis = self._basis(number) if len(whom) and self.allowance.spend(steps) else None
            if basis is None:
                return whom
            mine = self.question_tables.marks_of(whom)
            columns, of_helpers = (columns_in(marks, basis.inverse) for marks in (mine, theirs))
            if columns is None or of_helpers is None:
                continue
            found = shortened(self.rooms, basis.basic, columns, helpers, of_helpers)
            wrong = found.missed(mine, self.question_tables.marks_of(basis.basic), theirs)
            found.ends[:, wrong] = 0
            far.add(whom, found.ends, basis.basic)
        return whom[(far.widths[whom] < self.need) | ~far.free[whom]]

    def _basis(self, number: int) -> _Basis | None:
        """The first, the second, …; they share no part with each other or those who help. None: no more."""
        if number < len(self._bases):
            return self._bases[number]
        free = self._free
        if len(free) > CANDIDATES:
            free = free[np.argpartition(-self.nearer[free], CANDIDATES - 1)[:CANDIDATES]]
        found = basis_of(
            self.question_tables.marks_of(free), np.zeros(len(free), dtype=np.bool_), self.nearer[free]
        )
        if found is None:
            return None
        basis = _Basis(free[found[0]], found[1])
        self._free = self._without(self._free, basis.basic)
        self._bases.append(basis)
        return basis
