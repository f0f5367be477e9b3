"""What a system keeps besides its answers: worlds and a roomy table, brought to the answers on demand.

The question that judged answers brings them to these. A long list of others, as a ledger holds it, is taken
in at once, a few one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

from cae_sql.errors import InconsistentAnswers, OutOfTime
from cae_sql.inference.allowance import UNLIMITED
from cae_sql.inference.certify.learned import Learned
from cae_sql.inference.certify.question import MOST_SEARCHED, Question
from cae_sql.inference.facts.atoms import Atoms
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.lumps import NO_LUMPS
from cae_sql.inference.facts.query import Answer, Ints
from cae_sql.inference.facts.spares import with_spares
from cae_sql.inference.tables.pool import Pool
from cae_sql.inference.tables.priors import Prior
from cae_sql.inference.tables.roomy_table import RoomyTable
from cae_sql.inference.tables.start import all_at_once
from cae_sql.inference.ways import ALL, Ways

AT_ONCE = 12
"""So many new answers are taken in together, fewer one by one."""


class SystemState:
    """Worlds and roomy table of one system; they hang on its answers, the seed and the prior alone."""

    def __init__(
        self, answers: Sequence[Answer], size: int, top: int, drawn: tuple[int, int, Prior | None],
        lumps: Ints = NO_LUMPS, ways: Ways = ALL, units: Ints | None = None,
    ) -> None:  # fmt: skip
        """Of a system's list of answers, which grows; `drawn` says how many worlds are kept, with which seed
        and by which prior. None is looked at yet."""
        self._answers, self._size, self._top, self._lumps = answers, size, top, lumps
        self._units = units
        self._searched = size <= MOST_SEARCHED and not len(lumps) and units is None
        """Whether the worlds carry what searches record by record need to know."""
        self._pool = Pool.draw(size, top, *drawn, lumps)
        if self._searched:
            self._pool = self._pool.of_few(Knowledge.nothing(size, top))
        self._roomy_table = RoomyTable.nothing(size, top, lumps, ways, units)
        self._learned = 0
        """Answers that the worlds agree with."""
        self._restored = 0
        """For how many answers another roomy table was last looked for, since the one before was lost."""
        self._beside: tuple[tuple[Pool, RoomyTable, int], RoomyTable, Pool] | None = None
        """Roomy table and worlds over more records, behind what they were made of."""

    def beside(self, size: int) -> tuple[RoomyTable, Pool]:
        """A roomy table and worlds over more records, spare ones, than are kept. As `pool`."""
        self.pool()
        last = self._beside
        if last is None or last[0] != self._now or last[2].values.shape[1] != size:
            last = self._beside = self._now, *self._grown(size)
        return last[1:]

    def _grown(self, size: int) -> tuple[RoomyTable, Pool]:
        more = size - self._pool.values.shape[1]
        return self._roomy_table.grown(more, self._top), self._pool.grown(more, self._top)

    @property
    def _now(self) -> tuple[Pool, RoomyTable, int]:
        return self._pool, self._roomy_table, self._roomy_table.version

    def pool(self) -> Pool:
        """The worlds, brought to all answers.

        Raises:
            InconsistentAnswers: no table agrees.
        """
        answers = self._answers
        new = len(answers) - self._learned
        if new:
            self._pool = self._pool.unknowing()
            whole = with_spares(self._size + len(self._lumps), answers)
            if whole > self._pool.values.shape[1]:
                self._roomy_table, self._pool = self._grown(whole)
        if new >= AT_ONCE:
            self._take_in_at_once()
        while self._learned < len(answers):
            self._take_in(answers[self._learned])
            self._learned += 1
        if self._is_to_be_restored():
            self._take_in_at_once()
        if self._searched and self._pool.knowledge is None:
            self._pool = self._knowing()
        if not self._pool.mixed and (self._roomy_table.usable or self._pool.knowledge is not None):
            self._pool.mix(self._roomy_table)
        return self._pool

    def _is_to_be_restored(self) -> bool:
        """Whether another roomy table is to be made of all answers: once for each number of them."""
        if self._roomy_table.usable or self._restored == len(self._answers):
            return False
        self._restored = len(self._answers)
        return True

    def searched(self) -> Pool:
        """As `pool`, with what searches record by record need to know, of however many records."""
        pool = self.pool()
        return pool if pool.knowledge is not None else self._knowing()

    def _knowing(self) -> Pool:
        """The worlds with what they agree with; without a roomy table an integer program finds them."""
        known, sums = self._known()
        return self._pool.of_few(known) if self._roomy_table.usable else self._pool.refound(known, sums)

    def _known(self) -> tuple[Knowledge, Ints]:
        """What the answers amount to, lumps apart, and the sums' right-hand sides."""
        behind = self._pool.values.shape[1] - self._size - len(self._lumps)
        atoms = Atoms.apart(self._size, self._lumps, behind, self._units)
        for answer in self._answers:
            atoms.refine(answer)
        return Knowledge.of(self._size, self._top, self._answers, atoms=atoms)

    def roomy_table(self) -> RoomyTable:
        """The table kept roomy, brought to all answers; of no use where it could not be. As `pool`."""
        self.pool()
        return self._roomy_table

    def _take_in_at_once(self) -> None:
        """Make roomy table and worlds of all answers, if they are found so."""
        found = all_at_once(*self._known(), self._pool)
        if found is not None:
            found[0].ways = self._roomy_table.ways
            (self._roomy_table, self._pool), self._learned = found, len(self._answers)

    def think_up(self, worlds: int) -> None:
        """Keep so many worlds from now on."""
        self._pool = self._pool.widened(worlds)

    def accept(self, learned: Learned, before: int) -> None:
        """Become what a question made of the answers after the first so many, if it began with these."""
        if self._learned != before or not learned.current:
            return
        current = [self._pool]
        if self._beside is not None and self._beside[0] == self._now:
            current.append(self._beside[2])
        if any(learned.before is each for each in current):
            self._roomy_table, self._pool = learned.take_in(), learned.pool
            self._learned = len(self._answers)
        self._beside = None

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
