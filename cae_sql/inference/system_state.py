"""What a system keeps besides its answers: worlds and a roomy table, brought to the answers when somebody
asks.

Answers that come through a gate are brought there by the question that judged them. A long list of them, as a
ledger holds it, is taken in at once where there are many records; a few, one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cae_sql.errors import InconsistentAnswers, OutOfTime
from cae_sql.inference.allowance import UNLIMITED
from cae_sql.inference.certify.learned import Learned
from cae_sql.inference.certify.question import Question
from cae_sql.inference.facts.atoms import Atoms
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.lumps import NO_LUMPS
from cae_sql.inference.facts.query import Answer, Ints
from cae_sql.inference.facts.spares import with_spares
from cae_sql.inference.intervals.bounds import Solved
from cae_sql.inference.tables.pool import Pool
from cae_sql.inference.tables.priors import Prior
from cae_sql.inference.tables.roomy_table import RoomyTable
from cae_sql.inference.tables.start import all_at_once
from cae_sql.inference.ways import ALL, Ways


@dataclass(frozen=True, eq=False)
class _Beside:
    """Roomy table and worlds over more records, made from others."""

    of_pool: Pool
    of_roomy_table: RoomyTable
    version: int
    """Of the other roomy table then."""
    roomy_table: RoomyTable
    pool: Pool

    def current(self, pool: Pool, roomy_table: RoomyTable) -> bool:
        """Whether these were made from those."""
        same = self.of_pool is pool and self.of_roomy_table is roomy_table
        return same and self.version == roomy_table.version

    def fits(self, pool: Pool, roomy_table: RoomyTable, size: int) -> bool:
        """Whether these are over so many records, made from those."""
        return self.current(pool, roomy_table) and self.pool.values.shape[1] == size


AT_ONCE = 12
"""So many new answers of large systems are taken in together, fewer one by one."""


class SystemState:
    """Worlds and roomy table of one system; they hang on its answers, the seed and the prior alone."""

    def __init__(
        self, size: int, top: int, count: int, seed: int, prior: Prior | None, searched: bool,
        lumps: Ints = NO_LUMPS, ways: Ways = ALL,
    ) -> None:  # fmt: skip
        """Before any answer.

        Args:
            size: Number of records.
            top: Greatest value, in units.
            count: How many worlds.
            seed: Of the draws.
            prior: How values are spread; None where all are alike.
            searched: Whether the worlds say what searches record by record need to know: of few records.
            lumps: For how many records each lump stands.
            ways: Which ways of showing somebody are used.
        """
        self._pool = Pool.draw(size, top, count, seed, prior, lumps)
        if searched:
            self._pool = self._pool.of_few(Knowledge.nothing(size, top))
        self._roomy_table = RoomyTable.nothing(size, top, lumps, ways)
        self._size, self._top, self._lumps, self._searched = size, top, lumps, searched
        self._learned = 0
        """Answers that the worlds agree with."""
        self._restored = 0
        """For how many answers another roomy table was last looked for, since the one before was lost."""
        self._beside: _Beside | None = None

    def beside(
        self, answers: Sequence[Answer], system: Callable[[], Solved], size: int
    ) -> tuple[RoomyTable, Pool]:
        """A roomy table and worlds over more records than are kept, spare ones. As `pool`.

        They are kept in place of the others from the answer on that is about them.
        """
        pool, roomy_table = self.pool(answers, system), self.roomy_table(answers, system)
        last = self._beside
        if last is None or not last.fits(pool, roomy_table, size):
            more = size - pool.values.shape[1]
            grown = roomy_table.grown(more, self._top), pool.grown(more, self._top)
            last = self._beside = _Beside(pool, roomy_table, roomy_table.version, *grown)
        return last.roomy_table, last.pool

    def pool(self, answers: Sequence[Answer], system: Callable[[], Solved]) -> Pool:
        """The worlds, brought to all answers.

        Args:
            answers: All of them, in order.
            system: What they amount to.

        Raises:
            InconsistentAnswers: no table agrees.
        """
        new = len(answers) - self._learned
        if new:
            self._pool = self._pool.unknowing()
            self._grow(with_spares(self._size + len(self._lumps), answers))
        if new >= AT_ONCE:
            self._take_in_at_once(answers, system)
        while self._learned < len(answers):
            self._take_in(answers[self._learned])
            self._learned += 1
        if self._is_to_be_restored(answers):
            self._take_in_at_once(answers, system)
        if self._searched and self._pool.knowledge is None:
            self._pool = self._knowing(answers)
        if not self._pool.mixed and (self._roomy_table.usable or self._pool.knowledge is not None):
            self._pool.mix(self._roomy_table)
        return self._pool

    def _is_to_be_restored(self, answers: Sequence[Answer]) -> bool:
        """Whether another roomy table is to be made of all answers: once for each number of them."""
        if self._roomy_table.usable or self._restored == len(answers):
            return False
        self._restored = len(answers)
        return True

    def searched(self, answers: Sequence[Answer], system: Callable[[], Solved]) -> Pool:
        """As `pool`, with what searches record by record need to know, of however many records."""
        pool = self.pool(answers, system)
        return pool if pool.knowledge is not None else self._knowing(answers)

    def _knowing(self, answers: Sequence[Answer]) -> Pool:
        """The worlds with what they agree with; those that a lost roomy table left behind are found by an
        integer program."""
        known, sums = searchable(self._size, self._top, answers, self._pool.values)
        if self._roomy_table.usable:
            return self._pool.of_few(known)
        return self._pool.refound(known, sums)

    def _apart(self, answers: Sequence[Answer], system: Callable[[], Solved]) -> tuple[Knowledge, Ints]:
        """What the answers amount to, lumps being things by themselves, and the sums' right-hand sides."""
        if not len(self._lumps):
            return system().known, system().sums
        spare = with_spares(self._size + len(self._lumps), answers) - self._size - len(self._lumps)
        atoms = Atoms.apart(self._size, self._lumps, spare)
        for answer in answers:
            atoms.refine(answer)
        return Knowledge.of(self._size, self._top, answers, atoms=atoms)

    def roomy_table(self, answers: Sequence[Answer], system: Callable[[], Solved]) -> RoomyTable:
        """The table kept roomy, brought to all answers; of no use where it could not be. As `pool`."""
        self.pool(answers, system)
        return self._roomy_table

    def _take_in_at_once(self, answers: Sequence[Answer], system: Callable[[], Solved]) -> None:
        """Make roomy table and worlds of all answers, if they are found so."""
        found = all_at_once(*self._apart(answers, system), self._pool)
        if found is not None:
            found[0].ways = self._roomy_table.ways
            (self._roomy_table, self._pool), self._learned = found, len(answers)

    def think_up(self, worlds: int) -> None:
        """Keep so many worlds from now on."""
        self._pool = self._pool.widened(worlds)

    def accept(self, learned: Learned, before: int, count: int) -> None:
        """Become what a question made of new answers, unless something else was learned since.

        Args:
            learned: By a question of this roomy table and these worlds.
            before: How many answers there were before these.
            count: How many there are now.
        """
        if self._learned != before or not learned.current:
            return
        beside, before_it = self._beside, self._pool
        if beside is not None and beside.current(self._pool, self._roomy_table):
            before_it = beside.pool if learned.before is beside.pool else before_it
        if learned.before is before_it:
            self._roomy_table, self._pool, self._learned = learned.take_in(), learned.pool, count
        self._beside = None

    def _grow(self, size: int) -> None:
        """Make place for spare records that answers are about."""
        more = size - self._pool.values.shape[1]
        if more > 0:
            self._pool = self._pool.grown(more, self._top)
            self._roomy_table = self._roomy_table.grown(more, self._top)

    def _take_in(self, answer: Answer) -> None:
        """Bring roomy table and worlds to one more answer, as it would have come through a gate."""
        if not self._roomy_table.usable:
            return
        try:
            question = Question(self._roomy_table, self._pool, [answer])
            if question.derivable:
                if question.settled != [int(answer.value)]:
                    raise InconsistentAnswers("an answer contradicts the ones before it")
                return
            if not self._pool.mixed:
                self._pool.mix(self._roomy_table)
            learned = question.learn([int(answer.value)], UNLIMITED)
            self._roomy_table, self._pool = learned.take_in(), learned.pool
        except OutOfTime:
            self._roomy_table.lose()


def searchable(
    size: int, top: int, answers: Sequence[Answer], values: NDArray[np.signedinteger]
) -> tuple[Knowledge, Ints]:
    """Knowledge with a tableau, for room that worlds (w, n) leave, and the right-hand sides of its sums."""
    known, sums = Knowledge.nothing(size, top), list[int]()
    if values.shape[1] > size:
        known = known.grown(values.shape[1] - size, top)
    known = known.refined(answers)
    room = known.room(known.totals(values.astype(np.int64, copy=False)))
    for answer in answers:
        if answer.kind == "sum":
            known, fresh = known.with_sum(answer, room)
            sums += [int(answer.value)] if fresh else []
        else:
            known = known.with_extreme(answer, int(answer.value))
    if (known.low > known.high).any():
        raise InconsistentAnswers("a maximum is less than a minimum over some of the same records")
    return known, np.array(sums, dtype=np.int64)
