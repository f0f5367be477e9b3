"""Small systems with an insider: every pair of a record and somebody else's value, by tables that show it.

What the roomy table cannot show of a small, tightly coupled system, tables often do: each says of all pairs
(j, i) at once that i may have its value while j has his. Walks by short moves find most. What they leave open
is put to integer programs, one value of one pair after the other: either there is a table, and others around
it with j held, or there is none. Nothing is assumed of what was not looked at: it counts as not shown.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import MOVE, Allowance
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.search.walks import EXCHANGES, longest, shortest, walk
from cae_sql.inference.standard import Effort
from cae_sql.inference.tables.pool import attainers, in_time, with_totals
from cae_sql.inference.tables.programs import MOST_NODES, ComponentProgram
from cae_sql.inference.tables.short_moves import short_moves, with_directions
from cae_sql.inference.tables.sieve import Sieve

MOST_ENTRIES = 4_000_000
"""Records × values × records: beyond this nothing is tried."""
MOST_KEPT = 16_000_000
"""Values in tables kept."""
STARTS = 8
"""Tables from which walks begin."""
PASSES, LONGER = 16, 4
"""How often a first walk tries each move, and how many times as often the next one does."""
WALKED, WALKED_FAR = 1_000_000, 4_000_000
"""Moves tried in the longest walk along the tableau, and by a sieve's moves (see `walk`)."""
QUICK = 100_000
"""The same where integer programs are used up and walks alone would have to show all: they hardly ever do."""
AROUND = 200_000
"""Most moves tried around a table with one record held."""
LOOKS = 8
"""How often, on such a walk, it is seen whether all is shown."""
FEW, FEW_SHARE = 40, 0.25
"""Values of insiders that may be left, and of how many in all, for a sieve not to be worth its time."""
SPARE = 1
"""Integer programs that a decision has in any case: too few for a sieve, or for what walks leave open."""
SIEVE_EFFORT, FAR_EFFORT = 4, 4
"""What a sieve, and a walk by its moves, count for, in integer programs; other walks of a judgement count for
one. A program takes about 0.15 s on a real attack, a sieve 1 s and a walk by its moves half a second."""
WORD = 64


@dataclass(frozen=True)
class PairVerdict:
    """What was found out of all pairs."""

    safe: bool
    """Everybody keeps a long enough run, whatever value any one other turns out to have."""
    width: int
    """The shortest run that was shown, over all values of all insiders that were found possible."""
    settled: bool
    """Whether that is so: false where time or effort ended first."""


def keeps_with_insider(
    known: Knowledge,
    values: NDArray[np.int64],
    need: int,
    allowance: Allowance,
    effort: Effort,
    sieve: Sieve | None = None,
) -> PairVerdict:
    """Whether every record keeps a run of width `need`, whatever value any one other turns out to have.

    Args:
        known: All answers.
        values: (w, n) worlds that agree with them, in units.
        need: Greatest minus least value of the run.
        allowance: What may be spent; nothing more is tried beyond it.
        effort: Integer programs and moves allowed.
        sieve: Of the same sums, where others with other right-hand sides are judged too.
    """
    if known.narrowest < need:
        return PairVerdict(False, known.narrowest, True)
    count = int(known.high.max() - known.low.min()) + 1
    so_far = _standing_for_all(known)
    if len(so_far) < 2 or len(so_far) ** 2 * count > MOST_ENTRIES:
        return PairVerdict(False, -1, False)
    pairs = _Pairs(known, so_far, values, need, allowance, effort, sieve or Sieve())
    try:
        safe = pairs.settle()
    except OutOfTime:
        return PairVerdict(False, pairs.width(), False)
    return PairVerdict(safe, need if safe else pairs.width(), True)


class _Pairs:
    """What has been seen; see `cae_sql.inference.search.walks`. r records stand for all, of v values each."""

    def __init__(
        self,
        known: Knowledge,
        records: Ints,
        values: NDArray[np.int64],
        need: int,
        allowance: Allowance,
        effort: Effort,
        sieve: Sieve,
    ) -> None:
        self.known, self.records, self.need = known, records, need
        self.allowance, self.effort, self.sieve = allowance, effort, sieve
        self.starts = values[:STARTS]
        self.base = int(known.low.min())
        self.count = int(known.high.max()) - self.base + 1
        size, words = len(records), -(-self.count // WORD)
        self.seen = np.zeros((size, self.count, size, words), dtype=np.uint64)
        self.example = np.zeros((size + 1, self.count), dtype=np.int64)
        most = min(size * self.count, MOST_KEPT // values.shape[1])
        self.kept = np.zeros((most, values.shape[1]), dtype=np.int32)
        self.place = np.full(values.shape[1], -1, dtype=np.int64)
        self.place[records] = np.arange(size)
        self.moves = with_directions(known.tableau, short_moves(known.tableau))
        self.walks, self._looked = 0, -1
        self._found = np.zeros(self.seen.shape[:2], dtype=np.int64)
        self.programs: dict[tuple[int, ...], tuple[Knowledge, ComponentProgram]] = {}
        self.impossible = np.zeros((size, self.count), dtype=np.bool_)
        """Values that records have in no table."""
        self.apart: set[tuple[int, int, int, int]] = set()
        """Values (j, v, i, u) that records have in some tables, and never together."""
        self.walked_around: set[tuple[int, int]] = set()
        labels = known.atoms.labels[records]
        values_at = np.arange(self.base, self.base + self.count)
        self.inside = (values_at >= known.low[labels][:, None]) & (values_at <= known.high[labels][:, None])
        """(r, v) values in the records' boxes."""

    def settle(self) -> bool:
        """Whether everybody keeps enough: what walks do not show is settled by integer programs.

        Raises:
            OutOfTime: time or effort ended before it was found out.
        """
        sieved = self.sieve.moves is not None
        if not sieved:
            if self._wander(WALKED if self.effort.left > SPARE else QUICK):
                return True
            self._spend(1)
            if self._lacking().sum() < FEW_SHARE * self.inside.sum():
                for insider, value in self._open():
                    self._walk_around(insider, value)
                    if self.effort.left <= 0 and self._runs(insider, value).min() < self.need:
                        break  # it would take a program, and there is none left
        if sieved or self._lacking().sum() > FEW:
            self._spend(FAR_EFFORT if sieved else FAR_EFFORT + SIEVE_EFFORT)
            self.moves = with_directions(
                self.known.tableau, self.sieve.of(self.known.tableau, self.allowance)
            )
            self.walked_around.clear()
            if self._wander(WALKED_FAR):
                return True
        nodes = MOST_NODES
        while open_ones := self._open():
            for insider, value in open_ones:
                if self._settled(insider, value, nodes) is False:
                    return False
            nodes *= 4
        return True

    def width(self) -> int:
        """The shortest run that was shown, over all values of all others that were found possible."""
        found = self._shortest()
        return int(found[found >= 0].min(initial=self.need))

    def _shortest(self) -> Ints:
        """(r, v) widths of the shortest runs that were shown; looked at anew only after a walk."""
        if self._looked != self.walks:
            shortest(self.seen, self.need, self._found)
            self._looked = self.walks
        return self._found

    def _lacking(self) -> NDArray[np.bool_]:
        """(r, v) which insiders and values are not settled yet."""
        lacking = self.inside & ~self.impossible & (self._shortest() < self.need)
        # one of an atom's two records is as good as the other, as an insider
        lacking[np.flatnonzero(np.diff(self.known.atoms.labels[self.records], prepend=-1) == 0)] = False
        return lacking

    def _open(self) -> list[tuple[int, int]]:
        """Insiders and values that are not settled yet, those that fewest tables have first."""
        found = np.argwhere(self._lacking())
        rare = np.bitwise_count(self.seen[found[:, 0], found[:, 1]]).sum(axis=(1, 2), dtype=np.int64)
        return [(int(j), int(v)) for j, v in found[np.argsort(rare, kind="stable")]]

    def _wander(self, most: int) -> bool:
        """Walk until all is shown; False where going on shows nothing new, or so many moves were tried."""
        places, before = self.starts.copy(), -1
        work = PASSES * self._tries
        while work * len(places) <= most and (shown := self._shown()) > before:
            before = shown
            for world in places:
                self._walk(world, -1, work)
            if not self._lacking().any():
                return True
            work *= LONGER
        return False

    @property
    def _tries(self) -> int:
        """Moves, and exchanges inside atoms."""
        return len(self.moves.starts) + EXCHANGES * self.known.count

    @property
    def _around(self) -> int:
        """Moves tried around a table."""
        return min(PASSES * self._tries, AROUND)

    def _shown(self) -> int:
        """How many pairs of values were seen."""
        return int(np.bitwise_count(self.seen).sum(dtype=np.int64))

    def _walk(self, world: NDArray[np.int64], held: int, work: int) -> None:
        """Walk from a table (n,), which changes in place, with a record held unless that is −1."""
        self.allowance.spend(MOVE * work)
        in_time(self.allowance)
        if not self.effort.walk(work):
            raise OutOfTime("no moves are left")
        self.walks += 1
        known = self.known
        walk(
            *self.moves, *known.members, known.low, known.high, *known.attainable,
            attainers(known, world), world, self.records, self.place, held,
            self.walks, work, self.need, self.base, self.seen, self.example, self.kept,
        )  # fmt: skip

    def _runs(self, insider: int, value: int) -> Ints:
        """(r,) how wide the others' runs are, of what was seen while one record has a value."""
        row = self.seen[insider, value]
        runs = np.array([longest(row[other], self.count) for other in range(len(row))])
        runs[insider] = self.need
        return runs

    def _walk_around(self, insider: int, value: int) -> None:
        """Walk from a table in which a record has a value, with that record held."""
        number = int(self.example[insider, value])
        if not number or (insider, value) in self.walked_around:
            return
        self.walked_around.add((insider, value))
        world = self.kept[number - 1].astype(np.int64)
        for _ in range(LOOKS):
            if self._runs(insider, value).min() >= self.need:
                break
            self._walk(world, int(self.records[insider]), self._around // LOOKS)

    def _settled(self, insider: int, value: int, nodes: int) -> bool | None:
        """Whether everybody keeps enough while one record has a value; None where that was not found out."""
        possible = self._possible(insider, value, nodes)
        if not possible:
            return None if possible is None else True
        self._walk_around(insider, value)
        runs = self._runs(insider, value)
        for other in np.argsort(runs, kind="stable")[: np.count_nonzero(runs < self.need)].tolist():
            while longest(self.seen[insider, value, other], self.count) < self.need:
                wanted = self._wanted(insider, value, other)
                if wanted is None:
                    return False
                found = self._ask({insider: (value, value), other: (wanted, wanted)}, insider, nodes)
                if found is None:
                    return None
                if not found:
                    self.apart |= {(insider, value, other, wanted), (other, wanted, insider, value)}
        return True

    def _possible(self, insider: int, value: int, nodes: int) -> bool | None:
        """Whether some table has a record at a value; None where that was not found out."""
        while not (shown := np.bitwise_or.reduce(self.seen[insider, :, insider], axis=1) > 0)[value]:
            low = high = value
            if not shown[value:].any():
                low, high = int(np.flatnonzero(shown)[-1]) + 1, int(np.flatnonzero(self.inside[insider])[-1])
            elif not shown[:value].any():
                low, high = int(np.flatnonzero(self.inside[insider])[0]), int(np.flatnonzero(shown)[0]) - 1
            found = self._ask({insider: (low, high)}, insider, nodes)
            if found is None:
                return None
            if not found:
                self.impossible[insider, low : high + 1] = True
                return False
        return True

    def _wanted(self, insider: int, value: int, other: int) -> int | None:
        """A value that would do most for a record's run while another has a value; None where none helps."""
        shown = _values_of(self.seen[insider, value, other], self.count)
        able = self.inside[other] & ~self.impossible[other]
        for wanted in np.flatnonzero(able & ~shown).tolist():
            able[wanted] = (insider, value, other, wanted) not in self.apart
        widths = self.need + 1
        whole = np.convolve(able, np.ones(widths, dtype=np.int64), "valid") == widths
        if not whole.any():
            return None
        lacking = np.where(
            whole, np.convolve(able & ~shown, np.ones(widths, dtype=np.int64), "valid"), widths + 1
        )
        first = int(np.argmin(lacking))
        return first + int(np.flatnonzero(~shown[first : first + widths])[0])

    def _ask(self, bounds: dict[int, tuple[int, int]], held: int, nodes: int) -> bool | None:
        """Whether a table has values of records between two each; where one does, what is around it is seen.

        Args:
            bounds: By record, as counted from the least value.
            held: The record that keeps its value when the table is walked around.
            nodes: Of the search, after which it is given up: None then.

        Raises:
            OutOfTime: no time or effort is left.
        """
        in_time(self.allowance)
        self._spend(nodes // MOST_NODES)
        alone, program = self._program(sorted(bounds))
        labels = {record: int(alone.atoms.labels[self.records[record]]) for record in bounds}
        wanted = {labels[r]: (low + self.base, high + self.base) for r, (low, high) in bounds.items()}
        try:
            totals = program.world_where(wanted, self.allowance, nodes)
        except OutOfTime:
            return None
        if totals is None:
            return False if program.whole else None
        world = with_totals(alone, totals, self.starts[0], held)
        if world is None:
            return None
        self._walk(world, int(self.records[held]), self._around)
        return True

    def _spend(self, programs: int) -> None:
        for _ in range(programs):
            if not self.effort.spend():
                raise OutOfTime("no integer programs are left")

    def _program(self, places: list[int]) -> tuple[Knowledge, ComponentProgram]:
        """The components of one or two records, with these as atoms of their own."""
        atoms = self.known.atoms
        records = self.records[places]
        shared = [int(r) for r in records if self.known.sizes[atoms.labels[r]] > 1]
        name = (*shared, -1, *np.unique(self.known.components[atoms.labels[records]]).tolist())
        if name not in self.programs:
            alone = self.known.refined([Query(kind="sum", members=np.array([r])) for r in shared])
            start = alone.totals(self.starts[:1])[0]
            ends = alone.atoms.labels[records].tolist()
            self.programs[name] = alone, ComponentProgram.around(alone, ends[0], start, other=ends[-1])
        return self.programs[name]


def _standing_for_all(known: Knowledge) -> Ints:
    """(r,) two records of every atom, or its only one: any others are like them. No spare ones."""
    order, firsts = known.members
    firsts = firsts[:-1]
    second = firsts[known.sizes > 1] + 1
    places = np.sort(np.concatenate([firsts, second]))
    records: Ints = order[places]
    return records[records < known.atoms.real]


def _values_of(words: NDArray[np.uint64], count: int) -> NDArray[np.bool_]:
    """(v,) which of `count` values are among bits."""
    bits = np.unpackbits(words.view(np.uint8), bitorder="little")[:count]
    return bits.astype(np.bool_)
