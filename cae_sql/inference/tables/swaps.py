"""Swaps: two atoms of which one gains what the other loses, and what that does to the answered sums.

Where nearly everybody is alone in an atom, single atoms have little room and are in many sums. Two atoms that
lie near each other differ in few: raising one and lowering the other by as much changes these sums only. Many
pairs have the *same* difference; together they are a reserve from which whatever moves can be paid
(`cae_sql.inference.tables.reserves`). Two swaps of one difference, done against each other, keep every sum.

Near ones are found by sorting the atoms by their sums in random orders: neighbours in an order agree in the
sums that come first. Which differences are equal is told by random names, and looked at again in whole
numbers before anything is concluded. All of it depends on past answers alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.columns import Columns

ORDERS = 10
"""Random orders in which atoms are sorted."""
NEIGHBOURS = 6
"""Of each atom in each order, the following ones that are looked at."""
LOOKED_AT = 8_000_000
"""Pairs looked at, about, whatever the number of atoms."""
FARTHEST = 6
"""Sums in which the two of a swap may differ."""
FIRST_SUMS = 128
"""Sums by which an order sorts."""
MOST_ALIKE = 32
"""Swaps of one difference that are kept."""
MOST_SWAPS = 200_000
"""That are kept, those with frequent differences first."""
APART = (1, 2, 3, 5, 8, 13)
"""Of swaps of one difference, in some order, those so far apart are done against each other."""
MOST_FOURS = 100_000
"""Such moves of four atoms that are kept."""
AT_ONCE = 1 << 14
"""That are looked at together."""
SEED = 20130527

Names = NDArray[np.uint64]
Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Swaps:
    """Pairs of atoms, m of them, and random names of what p atoms are in. An atom may be in several."""

    gain: Ints
    """(m,) the atom that is raised."""
    give: Ints
    """(m,) the atom that is lowered."""
    names: Names
    """(p,) sum of the names of the sums that the atom is in, times its coefficient, modulo 2**64."""
    rank: int
    """Independent sums when they were looked for."""

    def grown(self) -> Swaps:
        """With one atom more, which is in no sum."""
        return replace(self, names=np.append(self.names, np.uint64(0)))

    def carried(self, parents: Ints, rows: NDArray[np.int32], first: int) -> Swaps:
        """The same over parts (p',) after new sums (g, p'), the first of them number `first`.

        An atom's number is that of one of its parts.
        """
        return Swaps(self.gain, self.give, named(self.names[parents], rows, first), self.rank)

    @cached_property
    def count(self) -> int:
        """How many."""
        return len(self.gain)


def named(names: Names, rows: NDArray[np.signedinteger], first: int) -> Names:
    """Names (p,) to which those of further sums (g, p), the first of them number `first`, are added."""
    found = names.copy()
    salts = np.random.default_rng(SEED).integers(0, 2**64, first + len(rows), dtype=np.uint64)[first:]
    for row, salt in zip(rows, salts, strict=True):
        found += row.astype(np.int64).view(np.uint64) * salt
    return found


def find(marks: Columns, able: NDArray[np.bool_]) -> Swaps:
    """Look for swaps between atoms that are able to move, with coefficients (p, k) in the sums."""
    rank = marks.shape[1]
    names = named(np.zeros(len(marks), dtype=np.uint64), marks.T, 0)
    gain, give = _near(marks, np.flatnonzero(able))
    difference, turned = canonical(names[gain] - names[give])
    kept = _kept(difference)
    gain, give = np.where(turned, give, gain)[kept], np.where(turned, gain, give)[kept]
    return Swaps(gain, give, names, rank)


def fours(swaps: Swaps, marks: Columns) -> Ints:
    """(q, 4) swaps of one difference, done against each other: +1, −1, +1, −1 keeps every sum (p, k),
    exactly.
    """
    names, turned = canonical(swaps.names[swaps.gain] - swaps.names[swaps.give])
    gain, give = np.where(turned, swaps.give, swaps.gain), np.where(turned, swaps.gain, swaps.give)
    order = np.argsort(names, kind="stable")
    names, gain, give = names[order], gain[order], give[order]
    found = [np.zeros((0, 4), dtype=np.int64)]
    for apart in APART:
        one = np.flatnonzero(names[apart:] == names[:-apart])
        two = one + apart
        four = np.column_stack([gain[one], give[one], give[two], gain[two]])
        found.append(four[(np.diff(np.sort(four, axis=1), axis=1) > 0).all(axis=1)])
    those = np.concatenate(found)
    if len(those) > MOST_FOURS:
        those = those[np.random.default_rng(len(those)).choice(len(those), MOST_FOURS, replace=False)]
    # names may be equal by chance: whole numbers say so
    return those[kept_by(those, marks)]


def kept_by(those: Ints, marks: NDArray[np.signedinteger]) -> NDArray[np.bool_]:
    """(q,) which moves of four keep the sums with some coefficients (p, g)."""
    found = []
    for some in np.array_split(those, 1 + len(those) // AT_ONCE):
        gains, gives = (marks[some[:, a]].astype(np.int32) + marks[some[:, b]] for a, b in ((0, 2), (1, 3)))
        found.append((gains == gives).all(axis=1))
    return np.concatenate(found)


def _kept(difference: Names) -> Ints:
    """Places of swaps whose difference others have too: of each so many, frequent ones first."""
    order = np.argsort(difference, kind="stable")
    ordered = difference[order]
    firsts = np.flatnonzero(np.diff(ordered, prepend=~ordered[:1]) != 0)
    often = np.diff(firsts, append=len(order))
    place = np.arange(len(order)) - np.repeat(firsts, often)
    often = np.repeat(often, often)
    kept = np.flatnonzero((often > 1) & (place < MOST_ALIKE) & (ordered != 0))
    if len(kept) > MOST_SWAPS:
        kept = kept[np.argsort(-often[kept], kind="stable")[:MOST_SWAPS]]
    return order[kept]


def canonical(differences: Names) -> tuple[Names, NDArray[np.bool_]]:
    """Of each name and its opposite the lesser, and whether that is the opposite."""
    opposite = ~differences + np.uint64(1)
    turned = opposite < differences
    return np.where(turned, opposite, differences), turned


def _near(marks: Columns, atoms: Ints) -> tuple[Ints, Ints]:
    """Pairs of some atoms, each once, that differ in few sums."""
    rank, count = marks.shape[1], len(atoms)
    if not rank or count < 2:
        return atoms[:0], atoms[:0]
    chance, bits = np.random.default_rng([SEED, rank]), _words(marks[atoms])
    both = np.zeros(0, dtype=np.int64)
    for _ in range(max(2, min(ORDERS, LOOKED_AT // (count * NEIGHBOURS)))):
        # the sums that come first count most
        order = np.lexsort(_words(marks[np.ix_(atoms, chance.permutation(rank)[:FIRST_SUMS])]).T[::-1])
        ordered = bits[order]
        for apart in range(1, min(NEIGHBOURS, count - 1) + 1):
            differing = np.bitwise_count(ordered[apart:] ^ ordered[:-apart]).sum(axis=1)
            near = np.flatnonzero((differing > 0) & (differing <= FARTHEST))
            one, two = order[near], order[near + apart]
            both = np.concatenate([both, np.minimum(one, two) * count + np.maximum(one, two)])
    both = np.unique(both)
    return atoms[both // count], atoms[both % count]


def _words(marks: Columns) -> Words:
    """(a, w) a bit for each sum (a, k) that an atom is in, 64 in a word, the first of them the highest."""
    bits = np.zeros((len(marks), -(-marks.shape[1] // 64) * 64), dtype=np.bool_)
    bits[:, : marks.shape[1]] = marks != 0
    return np.packbits(bits, axis=1).view(">u8").astype(np.uint64)
