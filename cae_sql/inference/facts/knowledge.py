"""What the answers so far amount to, on the grid: atoms, boxes, independent sums, extremes that are attained.

A `Knowledge` never changes; one more query makes a finer one. Sums enter without their right-hand side, which
a world that satisfies them carries; an extreme enters with its value, because that narrows boxes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.errors import InconsistentAnswers
from cae_sql.inference.facts.atoms import Atoms
from cae_sql.inference.facts.basis import NO_TABLEAU, Tableau, tableau_of
from cae_sql.inference.facts.lumps import NO_LUMPS
from cae_sql.inference.facts.query import Answer, Ints, Query
from cae_sql.inference.facts.rank import coefficients_of, components, independent_sums
from cae_sql.inference.facts.spares import with_spares


@dataclass(frozen=True, eq=False)
class Extreme:
    """An answered MAX or MIN: at least one record of these atoms has the value."""

    top: bool
    """True for MAX, False for MIN."""
    atoms: Ints
    """The atoms of the query set."""
    value: int
    """In units."""
    lumps: Ints = field(default_factory=lambda: NO_LUMPS)
    """Atoms of lumps in the query set, where they are apart: a record of their cell attains it for them."""

    def over(self, parents: Ints) -> Extreme:
        """The same over a finer partition: `parents` says of each of its atoms where it was."""
        return replace(self, atoms=_within(parents, self.atoms), lumps=_within(parents, self.lumps))


@dataclass(frozen=True, eq=False)
class Observed:
    """A sum, or the spread, of some atoms' records, known but for noise."""

    atoms: Ints
    weights: Ints | None
    """Of each atom's records in the sum; None: all 1."""
    noise: float
    """Its variance; of a sum without weights in terms of the variance of one record's value."""
    squares: bool = False
    """Whether it is the spread."""

    def over(self, parents: Ints) -> Observed:
        """As `Extreme.over`."""
        found = _within(parents, self.atoms)
        place = np.searchsorted(self.atoms, parents[found])
        return replace(self, atoms=found, weights=None if self.weights is None else self.weights[place])


@dataclass(frozen=True, eq=False)
class Knowledge:
    """All answers over n records in p atoms. Totals are sums of units over an atom's records."""

    atoms: Atoms
    """The partition; never refined in place once it is here."""
    low: Ints
    """(p,) least value of a record of each atom."""
    high: Ints
    """(p,) greatest value."""
    matrix: NDArray[np.signedinteger]
    """(k, p) the independent sums as asked."""
    extremes: tuple[Extreme, ...] = ()
    """Answered extremes that somebody must attain; boxes already obey them."""
    implied: tuple[Extreme, ...] = ()
    """Answered extremes that those attain for them: they matter to the reading without ties alone."""
    outer: tuple[Ints, Ints] | None = None
    """(p,) each: the boxes that answers leave, where `low` and `high` are narrower for ranges of statistics
    (`cae_sql.inference.facts.ranges`): up to two records may leave those. None: the same."""
    observed: tuple[Observed, ...] = ()
    """What ranges of statistics say, for what is likely alone."""
    tableau: Tableau = NO_TABLEAU
    """The independent sums, reduced where `rebased` did that."""

    @classmethod
    def nothing(cls, size: int, top: int, lumps: Ints = NO_LUMPS, units: Ints | None = None) -> Knowledge:
        """Before any answer: every record anywhere between 0 and top, and lumps, apart, as far as that.

        `units` (n,) says to which unit each record belongs.
        """
        return cls._over(Atoms.apart(size, lumps, units=units), top)

    @classmethod
    def _over(cls, atoms: Atoms, top: int) -> Knowledge:
        none = np.zeros((0, atoms.count), dtype=np.int64)
        return cls(atoms, np.zeros(atoms.count, dtype=np.int64), top * atoms.multiples, none)

    def grown(self, spares: int, top: int) -> Knowledge:
        """With so many spare records more, between 0 and top, an atom of their own that is in no answer."""
        return replace(
            self,
            atoms=self.atoms.grown(spares),
            low=np.append(self.low, 0),
            high=np.append(self.high, top),
            outer=self.outer and (np.append(self.outer[0], 0), np.append(self.outer[1], top)),
            matrix=np.pad(self.matrix, ((0, 0), (0, 1))),
            tableau=NO_TABLEAU,
        )

    @classmethod
    def of(
        cls, size: int, top: int, answers: Sequence[Answer], slack: int = 0, atoms: Atoms | None = None,
        lumps: Ints = NO_LUMPS,
    ) -> tuple[Knowledge, Ints]:  # fmt: skip
        """All answers, whose right-hand sides are whole, at once, and those of the independent sums.

        Args:
            size: Number of records that are somebody's; answers may be about spare ones too.
            top: Greatest value, in units.
            answers: What is known.
            slack: How far a sum may differ from what others say it is.
            atoms: The partition that the answers make, where it is known already.
            lumps: Behind the records, each counted as those it stands for.

        Raises:
            InconsistentAnswers: a sum contradicts others, or boxes are empty.
        """
        if atoms is None:
            atoms = Atoms(with_spares(size + len(lumps), answers), size + len(lumps), lumps)
            for answer in answers:
                atoms.refine(answer)
        known = cls._over(atoms, top)
        for answer in answers:
            if answer.kind != "sum":
                known = known.with_extreme(answer, int(answer.value))
        if (known.low > known.high).any():
            raise InconsistentAnswers("a maximum is less than a minimum over some of the same records")
        sums = [answer for answer in answers if answer.kind == "sum"]
        matrix = coefficients_of(atoms, sums)
        values = np.array([int(answer.value) for answer in sums], dtype=np.int64)
        rows = independent_sums(matrix, values, slack)
        return replace(known, matrix=matrix[rows]), values[rows]

    def without_sums(self) -> Knowledge:
        """Atoms, boxes and extremes alone."""
        return replace(self, tableau=NO_TABLEAU, matrix=self.matrix[:0])

    @property
    def sizes(self) -> Ints:
        """(p,) records in each atom."""
        return self.atoms.sizes

    @property
    def count(self) -> int:
        """Number of atoms."""
        return self.atoms.count

    @cached_property
    def protected(self) -> NDArray[np.bool_]:
        """(p,) atoms of which a record is somebody's: of the others nothing need be shown."""
        return self.atoms.protected

    @property
    def own(self) -> tuple[Ints, Ints]:
        """(p,) each: the boxes in which a record itself may move, whatever tables keep of it."""
        return (self.low, self.high) if self.outer is None else self.outer

    @property
    def loosened(self) -> Knowledge:
        """With the boxes that answers leave alone."""
        return replace(self, low=self.own[0], high=self.own[1], outer=None)

    @property
    def narrowest(self) -> int:
        """Units that the narrowest box of somebody leaves: greatest minus least value."""
        return int((self.own[1] - self.own[0])[self.protected].min())

    @property
    def widest(self) -> int:
        """Units that the widest box of somebody leaves."""
        return int((self.own[1] - self.own[0])[self.protected].max())

    @property
    def members(self) -> tuple[Ints, Ints]:
        """Records sorted by atom, and where each atom's start."""
        return self.atoms.by_atom

    @cached_property
    def components(self) -> Ints:
        """(p,) which component each atom is in: atoms that share no sum and no extreme are independent."""
        extremes = [extreme.atoms for extreme in self.extremes]
        return components(self.count, [*map(np.flatnonzero, self.matrix), *extremes])

    @cached_property
    def able_atoms(self) -> dict[Extreme, Ints]:
        """The atoms of each extreme whose box reaches its value."""
        return {extreme: self.able(extreme) for extreme in self.extremes}

    @cached_property
    def hardest_first(self) -> list[Extreme]:
        """The extremes, those that few atoms can attain first."""
        return sorted(self.extremes, key=lambda extreme: len(self.able_atoms[extreme]))

    def totals(self, values: NDArray[np.int64]) -> Ints:
        """(w, p) the atoms' totals in worlds (w, n); whole numbers all the way."""
        order, firsts = self.members
        return np.add.reduceat(values[:, order], firsts[:-1], axis=1)

    def room(self, totals: Ints) -> NDArray[np.float64]:
        """(p,) how far the atoms can move in these worlds (w, p) on average, to the nearer side."""
        nearer = np.minimum(self.sizes * self.high - totals, totals - self.sizes * self.low)
        room: NDArray[np.float64] = np.maximum(nearer, 0).mean(axis=0)
        return room

    def refined(self, queries: Sequence[Query]) -> Knowledge:
        """The same knowledge over a partition in which each query is a set of atoms; no tableau."""
        atoms = self.atoms.copy()
        parents = np.arange(self.count)
        for query in queries:
            parents = parents[atoms.refine(query)]
        if atoms.count == self.count:
            return self
        return Knowledge(
            atoms,
            self.low[parents],
            self.high[parents],
            np.ascontiguousarray(self.matrix[:, parents]),
            tuple(each.over(parents) for each in self.extremes),
            tuple(each.over(parents) for each in self.implied),
            self.outer and (self.outer[0][parents], self.outer[1][parents]),
            tuple(each.over(parents) for each in self.observed),
        )

    def with_sums(self, queries: Sequence[Query], totals: Ints) -> tuple[Knowledge, Ints]:
        """With more sums, over a partition refined by them, and which are independent; any table's totals."""
        before = len(self.matrix)
        matrix = np.vstack([self.matrix, coefficients_of(self.atoms, queries)])
        rows = independent_sums(matrix, matrix @ totals)
        fresh = rows[rows >= before]
        kept = np.append(np.arange(before), fresh)
        return replace(self, matrix=matrix[kept], tableau=NO_TABLEAU), fresh - before

    def observing(self, queries: Sequence[Query]) -> Knowledge:
        """With what ranges of statistics make likely, over a partition already refined by it."""
        new = list[Observed]()
        for query in queries:
            atoms, first = np.unique(self.atoms.labels[query.members], return_index=True)
            weights = None if query.coefficients is None else query.coefficients[first]
            new.append(Observed(atoms, weights, float(query.part), query.kind == "squares"))
        return replace(self, observed=(*self.observed, *new)) if queries else self

    def with_extreme(self, query: Query, value: int) -> Knowledge:
        """With one more MAX or MIN, over a partition already refined by it."""
        atoms = np.unique(self.atoms.labels[query.members])
        times, top = self.atoms.multiples[atoms], query.kind == "max"

        def narrowed(low: Ints, high: Ints) -> tuple[Ints, Ints]:
            least, most = (0, value * times) if top else (value * times, high[atoms])
            return _boxed(low, high, atoms, least, most)

        low, high = narrowed(self.low, self.high)
        known = replace(self, low=low, high=high, outer=self.outer and narrowed(*self.outer))
        return known._with_attained(Extreme(top, atoms[times == 1], value, atoms[times > 1]))

    def with_held(self, queries: Sequence[Query]) -> Knowledge:
        """With some records kept in intervals, over a partition already refined by them."""
        if not queries:
            return self
        low, high = self.low, self.high
        for query in queries:
            low, high = _boxed(low, high, np.unique(self.atoms.labels[query.members]), *query.region[0])
        return replace(self, low=low, high=high, outer=self.own)

    def _with_attained(self, extreme: Extreme) -> Knowledge:
        """With an extreme that boxes obey; of equal ones only the innermost need somebody to attain them, as
        boxes narrow alike.
        """
        able = self.able(extreme)
        kept, implied = list[Extreme](), list(self.implied)
        for other in self.extremes:
            if other.top != extreme.top or other.value != extreme.value:
                kept.append(other)
                continue
            others = self.able(other)
            shared = int(np.isin(others, able).sum())
            if shared == len(others):  # the other one is inside, or the same
                return replace(self, implied=(*self.implied, extreme))
            (implied if shared == len(able) else kept).append(other)
        return replace(self, extremes=(*kept, extreme), implied=tuple(implied))

    def able(self, extreme: Extreme) -> Ints:
        """The atoms of an extreme whose box reaches its value."""
        edge = self.high if extreme.top else self.low
        found: Ints = extreme.atoms[edge[extreme.atoms] == extreme.value]
        return found

    def rebased(self, totals: Ints) -> Knowledge:
        """With a tableau, its pivots chosen for the room that these worlds (w, p) leave."""
        found = tableau_of(self.matrix, np.zeros(len(self.matrix), dtype=np.int64), self.room(totals))
        return replace(self, tableau=Tableau.without_pivots(self.matrix) if found is None else found[0])

    def forced_extreme(self, query: Query) -> int | None:
        """The value of a MAX or MIN where one in the set attains it and no box goes beyond it; else None."""
        if self.outer is not None:
            return self.loosened.forced_extreme(query)
        atoms, counts = np.unique(self.atoms.labels[query.members], return_counts=True)
        top = query.kind == "max"
        whole = counts == self.atoms.numbers[atoms]
        edge = (self.high[atoms] if top else -self.low[atoms]) // self.atoms.multiples[atoms]
        bound = int(edge.max())
        inside = atoms[whole]
        for extreme in self.extremes:
            at_bound = extreme.top == top and (extreme.value if top else -extreme.value) == bound
            if at_bound and np.isin(self.able(extreme), inside).all():
                return extreme.value
        pinned = self.low[inside] == self.high[inside]
        if pinned.any() and int(edge[whole][pinned].max()) == bound:
            return bound if top else -bound
        return None


def _boxed(low: Ints, high: Ints, atoms: Ints, least: Ints | int, most: Ints | int) -> tuple[Ints, Ints]:
    """Boxes, those of some atoms made no wider than this."""
    low, high = low.copy(), high.copy()
    low[atoms], high[atoms] = np.maximum(low[atoms], least), np.minimum(high[atoms], most)
    return low, high


def _within(parents: Ints, atoms: Ints) -> Ints:
    """The parts of some atoms: `parents` says of each part where it was."""
    return np.flatnonzero(np.isin(parents, atoms))
