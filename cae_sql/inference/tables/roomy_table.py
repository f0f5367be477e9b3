"""The roomy table: one table, kept roomy, and a basis of its atoms that shows how far everybody's value can
move.

A `RoomyTable` holds an atom-level table that agrees with every answer (each atom's total, spread evenly over
its records), and an integer *basis*: for every independent sum one basic atom, such that raising any other
atom by 1 takes whole numbers from the basic ones and keeps every sum (`mathematics.md`, 2). It changes by
`apply` and `lose` alone; what queries would do to it is worked out beside it, by `question_tables`.

Nothing here comes from the true table.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference import sizes
from cae_sql.inference.facts.basis import eliminate
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.lumps import NO_LUMPS
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.columns import AT_ONCE, LARGEST_ENTRY, Columns, Pivoted, columns_of, multiplied
from cae_sql.inference.tables.kernel_moves import NO_MOVES, Moves
from cae_sql.inference.ways import ALL, Ways
from cae_sql.threads import in_two

CANDIDATES = 3_000
"""Atoms among which the basic ones of a further basis are looked for, the roomiest."""


@dataclass(eq=False)
class Basis:
    """Basic atoms, and the columns of all atoms in their terms. Shapes: p atoms, k independent sums."""

    basic: Ints
    """(k,) the basic atom of each row."""
    columns: Columns
    """(>= p, >= k) what a unit more of an atom takes from each basic atom; of a basic one a unit vector."""

    def extended(self, pending: Pending, atoms: int) -> bool:
        """Take in new sums, over so many atoms; False where an entry is too large."""
        self.basic = pending.basic
        form = pending.form._replace(columns=self.columns, parents=np.arange(atoms))

        def work(first: int, last: int) -> bool:
            for start in range(first, last, AT_ONCE):
                some = np.arange(start, min(start + AT_ONCE, last))
                found = columns_of(form, some)
                if max(found.max(initial=0), -found.min(initial=0)) > LARGEST_ENTRY:
                    return False
                self.columns[start : start + len(some), : found.shape[1]] = found
            return True

        return not len(form.ys) or all(in_two(work, atoms, form.pivots.shape[1]))


@dataclass(eq=False)
class Pending:
    """A basis after new independent sums that it has not taken in yet. Shapes: k old sums, g new ones."""

    basic: Ints
    """(k + g,) the basic part of each row."""
    form: Pivoted
    """The parts' columns."""
    fresh: list[int]
    """(g,) which of the given sums these are: the others hang on them and on past ones."""


@dataclass(eq=False)
class RoomyTable:
    """A table and a basis over n records in p atoms, for k independent sums."""

    boxes: Knowledge
    """Atoms, boxes and extremes; no sums."""
    totals: Ints
    """(p,) totals of the atoms."""
    marks: Columns
    """(>= p, >= k) coefficient of each atom in each independent sum."""
    sums: list[int] = field(default_factory=list)
    """(k) right-hand sides in units."""
    basis: Basis = field(default_factory=lambda: Basis(np.zeros(0, np.int64), np.zeros((0, 0), np.int8)))
    """Of no use where the table is not usable."""
    usable: bool = True
    """False once a sum had no pivot of ±1, or no table was found: it shows nothing, and another one is made
    of all answers (`SystemState`)."""
    version: int = 0
    """Counts changes: what was worked out beside an earlier one is of no use any more."""
    moves: Moves = NO_MOVES
    """Moves of single records that keep every sum, by which somebody was shown."""
    ways: Ways = ALL
    """Which ways of showing somebody are used."""

    @classmethod
    def nothing(
        cls, size: int, top: int, lumps: Ints = NO_LUMPS, ways: Ways = ALL, units: Ints | None = None
    ) -> RoomyTable:
        """Before any answer: everybody in the middle of the domain, and lumps in the middle of theirs."""
        boxes = Knowledge.nothing(size, top, lumps, units)
        none = np.zeros((max(boxes.count, 16), 16), dtype=np.int8)
        totals = boxes.sizes * boxes.high // 2
        return cls(boxes, totals, none, basis=Basis(np.zeros(0, np.int64), none.copy()), ways=ways)

    def grown(self, spares: int, top: int) -> RoomyTable:
        """With so many spare records more, in the middle of the domain, an atom that is in no sum.

        What grows with atoms × sums is shared with this table, so only one of the two may take in answers.
        """
        count = self.count
        self.marks = _with_place(self.marks, count + 1, self.rank)
        self.marks[count] = 0
        self.basis.columns = _with_place(self.basis.columns, count + 1, self.rank)
        self.basis.columns[count] = 0
        return replace(
            self,
            boxes=self.boxes.grown(spares, top),
            totals=np.append(self.totals, spares * top // 2),
            sums=list(self.sums),
            basis=replace(self.basis),
        )

    def lose(self) -> None:
        """No table was found, or no pivot: nothing is shown until another one is made of all answers."""
        self.usable = False
        self.version += 1

    @property
    def unseen(self) -> NDArray[np.bool_]:
        """(p,) atoms in no sum."""
        return np.logical_not(self.marks[: self.count, : self.rank].any(axis=1))

    @property
    def rank(self) -> int:
        """Independent sums."""
        return len(self.sums)

    @property
    def count(self) -> int:
        """Atoms."""
        return self.boxes.count

    def apply(
        self,
        boxes: Knowledge,
        parents: Ints,
        totals: Ints,
        rows: NDArray[np.int32],
        values: list[int],
        pending: Pending,
        moves: Moves = NO_MOVES,
    ) -> None:
        """Take in answers: rows (g, p') of new independent sums with their values, in a finer partition.

        `parents` (p',) are the atoms that the parts were of, the first p their own; the totals (p',) agree
        with everything. Moves are of the parts, and keep the new sums too.
        """
        self.version += 1
        count, width = len(parents), self.rank
        rank, of_parts = width + len(values), parents[len(self.totals) :]
        self.marks = _cut(self.marks, of_parts, count, rank, width)
        self.marks[:count, width:rank] = rows.T
        self.boxes, self.totals, self.moves = boxes, totals, moves
        self.sums += values
        self.basis.columns = _cut(self.basis.columns, of_parts, count, rank, width)
        if not self.basis.extended(pending, count):
            found = self.chosen(np.zeros(count, dtype=np.bool_), totals - boxes.sizes * boxes.low)
            self.basis, self.usable = found or self.basis, self.usable and found is not None

    def chosen(
        self, taken: NDArray[np.bool_], room: NDArray[np.number], candidates: int = sizes.MOST_CANDIDATES
    ) -> Basis | None:
        """A basis of atoms that are not taken, chosen for room; None where none is found."""
        found = basis_of(self.marks[: self.count, : self.rank], taken, room, candidates)
        if found is None:
            return None
        columns = columns_in(self.marks[: self.count, : self.rank], found[1])
        return None if columns is None else Basis(found[0], columns)


def _with_place(columns: Columns, atoms: int, rows: int) -> Columns:
    """The same with place for more atoms and rows, so that answers seldom copy everything."""
    high, wide = columns.shape
    if high >= atoms and wide >= rows:
        return columns
    shape = atoms + atoms // 16 + 16 if high < atoms else high, rows + 16 if wide < rows else wide
    wider = np.zeros(shape, dtype=np.int8)
    wider[:high, :wide] = columns
    return wider


def _cut(columns: Columns, parents: Ints, atoms: int, rows: int, width: int) -> Columns:
    """With place for so many atoms and rows; the last atoms have the columns of others, their parents."""
    found = _with_place(columns, atoms, rows)
    found[atoms - len(parents) : atoms, :width] = found[parents, :width]
    return found


def basis_of(
    marks: Columns,
    taken: NDArray[np.bool_],
    room: NDArray[np.number],
    candidates: int = sizes.MOST_CANDIDATES,
) -> tuple[Ints, NDArray[np.float32]] | None:
    """Basic atoms, of those not taken, and the inverse of their coefficients (p, k); None without pivots of
    ±1.

    They are looked for among the roomiest, and no further than among so many candidates.
    """
    rank = marks.shape[1]
    free = np.flatnonzero(~taken)
    most = max(CANDIDATES, 4 * rank)
    while True:
        chosen = free[np.argpartition(-room[free], most - 1)[:most]] if most < len(free) else free
        if len(chosen) < rank:
            return None
        entries = np.zeros((rank, len(chosen) + 1), dtype=np.int64)
        entries[:, :-1] = marks[chosen].T
        pending, basic = np.ones(rank, dtype=np.bool_), np.full(rank, -1, dtype=np.int64)
        whole = eliminate(entries, pending, room[chosen].astype(np.float64), basic) and not pending.any()
        if whole:
            break
        if most >= len(free) or most > candidates:
            return None
        most *= 4  # sums over few records have none among the roomiest
    atoms = chosen[basic]
    square = marks[atoms].T.astype(np.float64)
    inverse = np.rint(np.linalg.inv(square))
    # floats found it, whole numbers check it
    if np.abs(inverse).max(initial=0) > 2**20 or (inverse @ square != np.eye(rank)).any():
        return None
    return atoms.astype(np.int64), inverse.astype(np.float32)


def columns_in(marks: NDArray[np.int8], inverse: NDArray[np.float32]) -> Columns | None:
    """Columns of some atoms (a, k) in terms of a basis; None where they are too large."""
    columns = np.empty(marks.shape, dtype=np.int8)
    return columns if multiplied(marks, inverse, columns) else None
