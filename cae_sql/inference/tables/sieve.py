"""Many short moves: sums and differences of short moves that are short themselves, again and again.

Where answers are many and values few, a reduced basis offers some hundred moves that fit almost nowhere. A
list of thousands of still shorter ones leads from table to table: the fewer atoms a move changes, the more
tables have room for it. Source: Nguyen & Vidick, "Sieve algorithms for the shortest vector problem are
practical", 2008; here the list is kept instead of its shortest vector, and changes are by ±1 alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.inference.allowance import UNLIMITED, Allowance
from cae_sql.inference.facts.basis import Tableau
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.short_moves import Moves, short_moves

MOST = 6_000
"""Moves kept."""
ROUNDS = 5
"""Times that all pairs of moves are looked at."""
ROOM, NAMES = 8, 1 << 18
"""New moves that are kept till the end of a round, for each one that stays; places for names."""
WORD = 64

Masks = NDArray[np.uint64]
"""(v, 4) moves over up to 128 atoms: two words of who rises, two of who falls."""


@dataclass
class Sieve:
    """The moves of one tableau, found when they are first needed."""

    moves: Moves | None = None

    def of(self, tableau: Tableau, allowance: Allowance) -> Moves:
        """See `many_moves`; those of a search that time cut short are not kept."""
        if self.moves is not None:
            return self.moves
        moves = many_moves(tableau, allowance)
        if not allowance.over:
            self.moves = moves
        return moves


def many_moves(tableau: Tableau, allowance: Allowance = UNLIMITED) -> Moves:
    """The shortest ±1 moves of a tableau that a sieve finds; none beyond `MOST_ATOMS` atoms.

    Args:
        tableau: The answered sums.
        allowance: What may be spent; nothing more is tried beyond it.
    """
    moves = short_moves(tableau)
    masks = _shortest(packed(moves), MOST)
    for _ in range(ROUNDS if len(masks) > 1 else 0):
        if allowance.over:
            break
        before = int(weights_of(masks).sum()), len(masks)
        found = np.zeros((ROOM * MOST, 4), dtype=np.uint64)
        count = pair_up(masks, MOST, np.zeros(NAMES, dtype=np.uint64), found)
        masks = _shortest(np.vstack([masks, found[:count]]), MOST)
        if (int(weights_of(masks).sum()), len(masks)) == before:
            break
    return unpacked(masks)


def packed(moves: Moves) -> Masks:
    """As bits."""
    masks = np.zeros((len(moves.starts) - 1, 4), dtype=np.uint64)
    vectors = np.repeat(np.arange(len(masks)), np.diff(moves.starts))
    words = moves.atoms // WORD + np.where(moves.signs > 0, 0, 2)
    np.bitwise_or.at(masks, (vectors, words), np.uint64(1) << (moves.atoms % WORD).astype(np.uint64))
    return masks


def unpacked(masks: Masks) -> Moves:
    """As sparse vectors."""
    octets = masks.view(np.uint8).reshape(len(masks), 2, 2 * WORD // 8)
    bits = np.unpackbits(octets, axis=2, bitorder="little")
    vectors, atoms = map(np.ascontiguousarray, np.nonzero(bits.any(axis=1)))
    starts = np.concatenate([[0], np.cumsum(np.bincount(vectors, minlength=len(masks)))])
    signs = np.where(bits[vectors, 0, atoms] > 0, 1, -1)
    return Moves(starts, atoms, signs)


def weights_of(masks: Masks) -> Ints:
    """(v,) how many atoms each move changes."""
    weights: Ints = np.bitwise_count(masks).sum(axis=1).astype(np.int64)
    return weights


def _shortest(masks: Masks, most: int) -> Masks:
    """The shortest ones first; of equally short ones any."""
    # those that were found last must not be the ones that are always left out
    masks = masks[np.random.default_rng(len(masks)).permutation(len(masks))]
    return np.ascontiguousarray(masks[np.argsort(weights_of(masks), kind="stable")[:most]])


@compiled()
def ones(word: np.uint64) -> np.uint64:
    """How many bits are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@compiled()
def mixed(first: np.uint64, second: np.uint64) -> np.uint64:
    """Two words as one that looks random."""
    word = first * np.uint64(0x9E3779B97F4A7C15) ^ (second + np.uint64(0x632BE59BD9B4E019))
    word = (word ^ (word >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(32))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@compiled()
def enter(table: NDArray[np.uint64], name: np.uint64) -> bool:
    """Whether a name was not in a table of names yet; now it is."""
    place = np.int64(name & np.uint64(len(table) - 1))
    while table[place] != 0:
        if table[place] == name:
            return False
        place = (place + 1) % len(table)
    table[place] = name
    return True


@compiled()
def pair_up(masks: Masks, most: int, table: NDArray[np.uint64], found: Masks) -> int:
    """Sums and differences of two moves by ±1 that are among the `most` shortest, as far as known by then.

    Args:
        masks: (v, 4) the shortest first.
        most: How many are wanted, those given among them.
        table: Zeros, a power of two of them, some times as many as `found` has room for: names.
        found: (f, 4) filled with what is new.

    Returns:
        How many are new.
    """
    counts = np.zeros(4 * 64 + 1, np.int64)
    longest, known, written = 2 * 64, 0, 0
    weights = np.zeros(len(masks), np.int64)
    for one in range(len(masks)):
        for word in range(4):
            weights[one] += np.int64(ones(masks[one, word]))
        if enter(table, mixed(masks[one, 0], masks[one, 1]) + mixed(masks[one, 2], masks[one, 3])):
            counts[weights[one]] += 1
            known += 1
    for one in range(len(masks)):
        a, b, c, d = masks[one, 0], masks[one, 1], masks[one, 2], masks[one, 3]
        while known - counts[longest] >= most:  # without the longest there are enough
            known -= counts[longest]
            longest -= 1
        for other in range(one + 1, len(masks)):
            total = weights[one] + weights[other]
            if total > 2 * longest + 2 and weights[other] > longest:
                break
            e, f, g, h = masks[other, 0], masks[other, 1], masks[other, 2], masks[other, 3]
            same = np.int64(ones((a & e) | (c & g)) + ones((b & f) | (d & h)))
            against = np.int64(ones((a & g) | (c & e)) + ones((b & h) | (d & f)))
            if same > 0:
                if against > 0:
                    continue
                e, f, g, h = g, h, e, f
            length = total - 2 * (same + against)
            if length == 0 or length > longest or same + against == 0:
                continue
            rise, rise_on = (a & ~g) | (e & ~c), (b & ~h) | (f & ~d)
            fall, fall_on = (c & ~e) | (g & ~a), (d & ~f) | (h & ~b)
            if not enter(table, mixed(rise, rise_on) + mixed(fall, fall_on)):
                continue
            found[written, 0], found[written, 1] = rise, rise_on
            found[written, 2], found[written, 3] = fall, fall_on
            counts[length] += 1
            written, known = written + 1, known + 1
            if written == len(found):
                return written
    return written
