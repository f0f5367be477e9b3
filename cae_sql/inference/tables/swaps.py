"""Kernel moves of four atoms: two swaps with the same effect on the sums, done against each other.

A *swap* raises one atom and lowers another by as much. Where nearly everybody is alone in an atom, two atoms
that lie near each other differ in few sums, and many pairs have the *same* difference: two such swaps against
each other keep every sum. Along these moves worlds of large systems are mixed.

Near atoms are found by sorting the atoms by their sums in random orders: neighbours in an order agree in the
sums that come first. Which differences are equal is told by random names, and looked at again in whole
numbers. All of it depends on past answers alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
"""Moves of four atoms that are kept."""
AT_ONCE = 1 << 14
"""That are looked at together."""
SEED = 20130527

Names = NDArray[np.uint64]


def fours(marks: Columns, able: NDArray[np.bool_]) -> Ints:
    """(q, 4) atoms that can move: +1, −1, +1, −1 keeps every sum with coefficients (p, k), exactly."""
    names = np.zeros(len(marks), dtype=np.uint64)
    salts = np.random.default_rng(SEED).integers(0, 2**64, (marks.shape[1],), dtype=np.uint64)
    for number, salt in enumerate(salts):
        names += marks[:, number].astype(np.int64).view(np.uint64) * salt
    gain, give = _near(marks, np.flatnonzero(able))
    # of each difference and its opposite the lesser
    difference = names[gain] - names[give]
    opposite = ~difference + np.uint64(1)
    turned = opposite < difference
    difference = np.where(turned, opposite, difference)
    kept = _kept(difference)
    gain, give = np.where(turned, give, gain)[kept], np.where(turned, gain, give)[kept]
    order = np.argsort(difference[kept], kind="stable")
    ordered, gain, give = difference[kept][order], gain[order], give[order]
    found = [np.zeros((0, 4), dtype=np.int64)]
    for apart in APART:
        one = np.flatnonzero(ordered[apart:] == ordered[:-apart])
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


def _words(marks: Columns) -> NDArray[np.uint64]:
    """(a, w) a bit for each sum (a, k) that an atom is in, 64 in a word, the first of them the highest."""
    bits = np.zeros((len(marks), -(-marks.shape[1] // 64) * 64), dtype=np.bool_)
    bits[:, : marks.shape[1]] = marks != 0
    return np.packbits(bits, axis=1).view(">u8").astype(np.uint64)
