"""Small systems with an insider: every pair of a record and somebody else's value, by tables that show it.

What the center cannot show of a small, tightly coupled system, sampled worlds often do: each says of all
pairs (j, i) at once that i may have its value while j has his. Values of j that no sampled world has are put
to the integer program: either there is a world with it, and others around it with j held, or there is none.
Nothing is assumed of what was not looked at: it counts as not shown.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.errors import OutOfTime
from cae_sql.inference.answers import Ints, Query
from cae_sql.inference.knowledge import Knowledge
from cae_sql.inference.mixing import UNIFORM, mix
from cae_sql.inference.programs import ComponentProgram
from cae_sql.inference.runs import Effort
from cae_sql.inference.worlds import Pool

MOST_ENTRIES = 4_000_000
"""Records × values × records: beyond this nothing is tried."""
ROUNDS, SAMPLES = 12, 250
"""Rounds of sampling, and worlds in each; between them it is seen whether all is shown."""
AROUND = 200
"""Worlds sampled with one record held at a value."""
MOST_HELD = 400
"""Records and values that may be held one by one, in one judgement."""
WORD = 64


def keeps_with_insider(
    known: Knowledge, values: NDArray[np.int64], need: int, deadline: float, effort: Effort
) -> bool:
    """Whether every record keeps a run of width `need`, whatever value any one other turns out to have.

    Args:
        known: All answers.
        values: (w, n) worlds that agree with them, in units.
        need: Greatest minus least value of the run.
        deadline: `time.monotonic()` after which nothing more is tried.
        effort: Integer programs allowed.
    """
    pairs = _Pairs.of(known, values, need, deadline, effort)
    return pairs is not None and pairs.settle()


class _Pairs:
    """What has been seen. Shapes: r records that stand for all, v values from `base` on, w 64-bit words."""

    def __init__(
        self, known: Knowledge, values: NDArray[np.int64], need: int, deadline: float, effort: Effort
    ) -> None:
        self.known, self.need, self.deadline, self.effort = known, need, deadline, effort
        self.base = int(known.low.min())
        self.count = int(known.high.max()) - self.base + 1
        self.records = _standing_for_all(known)
        words = -(-self.count // WORD)
        self.seen = np.zeros((len(self.records), self.count, len(self.records), words), dtype=np.uint64)
        self.pool = Pool(known, values[: min(len(values), 8)].copy(), seed=1)
        self.example = np.zeros((len(self.records), self.count), dtype=np.int64)
        self.kept: list[NDArray[np.int64]] = []

    @classmethod
    def of(
        cls, known: Knowledge, values: NDArray[np.int64], need: int, deadline: float, effort: Effort
    ) -> _Pairs | None:
        """None where the system is too large, or an insider leaves nobody else."""
        count = int(known.high.max() - known.low.min()) + 1
        standing = int(np.minimum(known.sizes, 2).sum())
        if standing**2 * count > MOST_ENTRIES or (known.high - known.low < need).any():
            return None
        return cls(known, values, need, deadline, effort)

    def settle(self) -> bool:
        """Sample until all is shown, then look at what is left, one value of one insider after the other."""
        known_bits = -1
        for _ in range(ROUNDS):
            if time.monotonic() > self.deadline:
                return False
            self._sample(self.pool, SAMPLES)
            bits = int(np.bitwise_count(self.seen).sum())
            # what is rare is not found by waiting for it
            if bits == known_bits or not self._missing().any():
                break
            known_bits = bits
        for held, (insider, value) in enumerate(self._left()):
            if held == MOST_HELD or time.monotonic() > self.deadline or not self._held(insider, value):
                return False
        return True

    def _sample(self, pool: Pool, count: int) -> None:
        known = pool.knowledge
        order, firsts = known.members
        for place in range(len(pool.values)):
            if len(known.tableau.stuck):
                pool.mix([place], 1)
            here = pool.values[place]
            kept = np.zeros((count // len(pool.values) + 1, len(here)), dtype=np.int32)
            sample(
                *known.directions, order, firsts, known.low, known.high, *known.attainable,
                pool.attainers(here), here, pool.chance(), self.records, self.base, self.seen, self.example,
                len(self.kept), kept, UNIFORM,
            )  # fmt: skip
            self.kept += list(kept)

    def _missing(self) -> NDArray[np.bool_]:
        """(r, v) values of insiders that were seen, and with which somebody has too short a run as yet."""
        missing = np.zeros(self.seen.shape[:2], dtype=np.bool_)
        others(self.seen, self.example, 0, self.need, missing)
        return missing

    def _left(self) -> list[tuple[int, int]]:
        """Insiders and values of which something is still to be shown, or that may not be possible at all."""
        missing = self._missing()
        labels = self.known.atoms.labels[self.records]
        below = np.arange(self.count)[None, :] < (self.known.low[labels] - self.base)[:, None]
        above = np.arange(self.count)[None, :] > (self.known.high[labels] - self.base)[:, None]
        open_ones = missing | ((self.example == 0) & ~below & ~above)
        # one of an atom's two records is as good as the other, as an insider
        second = np.flatnonzero(np.diff(labels, prepend=-1) == 0)
        open_ones[second] = False
        return [(int(j), int(v)) for j, v in np.argwhere(open_ones)]

    def _held(self, insider: int, value: int) -> bool:
        """Whether everybody has a long enough run while one record has a value, or it cannot have it."""
        record = int(self.records[insider])
        alone = self.known.refined([Query(kind="sum", members=np.array([record]))])
        label = int(alone.atoms.labels[record])
        number = int(self.example[insider, value])
        if number:
            world = self.kept[number - 1].astype(np.int64)
        else:
            found = self._with_value(alone, label, value + self.base)
            if found is None:
                return True
            if not len(found):
                return False
            world = self._records(alone, found, record, value + self.base)
            if not len(world):
                return False
        low, high = alone.low.copy(), alone.high.copy()
        low[label] = high[label] = value + self.base
        fixed = replace(alone, low=low, high=high)
        totals = fixed.totals(world[None])
        pool = Pool(fixed.rebased(totals), world[None].copy(), seed=insider * 1009 + value)
        for _ in range(2):
            self._sample(pool, AROUND // 2)
            missing = np.zeros((1, 1), dtype=np.bool_)
            here = slice(insider, insider + 1), slice(value, value + 1)
            others(self.seen[here], self.example[here], insider, self.need, missing)
            if not missing.any():
                return True
        return False

    def _with_value(self, alone: Knowledge, label: int, value: int) -> Ints | None:
        """Totals with a record at a value; None where there are none; empty where neither was found out."""
        if not self.effort.spend():
            return np.zeros(0, dtype=np.int64)
        start = alone.totals(self.pool.values[:1])[0]
        program = ComponentProgram.around(alone, label, start)
        found = program.quick_world(label, value, value)
        if found is not None:
            return found
        try:
            found = program.world_with(label, value, value, self.deadline)
        except OutOfTime:
            return np.zeros(0, dtype=np.int64)
        return found if found is not None or program.whole else np.zeros(0, dtype=np.int64)

    def _records(self, alone: Knowledge, totals: Ints, record: int, value: int) -> NDArray[np.int64]:
        """A world with these totals; empty where it was not found."""
        pool = Pool(alone, self.pool.values[:1].copy(), seed=record)
        if not pool.give(0, totals):
            return np.zeros(0, dtype=np.int64)
        assert pool.values[0, record] == value
        found: NDArray[np.int64] = pool.values[0]
        return found


def _standing_for_all(known: Knowledge) -> Ints:
    """(r,) two records of every atom, or its only one: any others are like them."""
    order, firsts = known.members
    firsts = firsts[:-1]
    second = firsts[known.sizes > 1] + 1
    places = np.sort(np.concatenate([firsts, second]))
    records: Ints = order[places]
    return records


@compiled()
def note(world: Ints, seen: NDArray[np.uint64], example: Ints, number: int) -> None:
    """Note what one world (r,) shows of all pairs."""
    for j in range(len(world)):
        row = seen[j, world[j]]
        example[j, world[j]] = number
        for i in range(len(world)):
            row[i, world[i] >> 6] |= np.uint64(1) << np.uint64(world[i] & 63)


@compiled()
def sample(
    basic: Ints, free: NDArray[np.bool_], starts: Ints, rows: Ints, entries: Ints, order: Ints, firsts: Ints,
    low: Ints, high: Ints, top_starts: Ints, tops: Ints, bottom_starts: Ints, bottoms: Ints, attainers: Ints,
    values: Ints, seed: int, records: Ints, base: int, seen: NDArray[np.uint64], example: Ints, number: int,
    kept: NDArray[np.int32], odds: NDArray[np.float64],
) -> None:  # fmt: skip
    """Mix one world (n,) again and again, and note each one on the way; they are kept as well."""
    for turn in range(len(kept)):
        mix(
            basic, free, starts, rows, entries, order, firsts, low, high, top_starts, tops, bottom_starts,
            bottoms, attainers, values, seed + turn, 1, odds,
        )  # fmt: skip
        kept[turn] = values
        note(values[records] - base, seen, example, number + turn + 1)


@compiled()
def longest(words: NDArray[np.uint64], count: int) -> int:
    """Width of the longest run of values seen; −1 where there is none."""
    best, run = -1, -1
    for value in range(count):
        if (words[value >> 6] >> np.uint64(value & 63)) & np.uint64(1):
            run += 1
            best = max(best, run)
        else:
            run = -1
    return best


@compiled()
def others(
    seen: NDArray[np.uint64], example: Ints, first: int, need: int, missing: NDArray[np.bool_]
) -> None:
    """Where somebody other than the insider (record first + j) has too short a run, of what was seen."""
    for j in range(seen.shape[0]):
        for value in range(seen.shape[1]):
            missing[j, value] = False
            if example[j, value] == 0:
                continue
            for i in range(seen.shape[2]):
                if i != first + j and longest(seen[j, value, i], seen.shape[3] * 64) < need:
                    missing[j, value] = True
                    break
