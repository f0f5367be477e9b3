"""What true answers make of a system: worked out beside it, then taken in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cae_sql.errors import InconsistentAnswers
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.search.judging import judge
from cae_sql.inference.standard import Judgement, Standard
from cae_sql.inference.tables.holding import bounds_of, hold
from cae_sql.inference.tables.large_pool import LargePool
from cae_sql.inference.tables.pool import Pool
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.roomy_table import RoomyTable


@dataclass(frozen=True, eq=False)
class Learned:
    """Queries with their answers, ready to be what the system knows."""

    question_tables: QuestionTables
    """The queries over the roomy table, as it was."""
    before: Pool | LargePool
    """The worlds that this was worked out from."""
    values: tuple[int, ...]
    boxes: Knowledge
    totals: Ints | None
    """(p',) the roomy table; None where none was found."""
    pool: Pool | LargePool
    guide: Ints | None = None
    """(n,) a table with the answers that keeps what ranges of statistics say."""

    @property
    def current(self) -> bool:
        """Whether the roomy table is still as it was when this was worked out."""
        return self.question_tables.current

    def judge(self, standard: Standard, allowance: Allowance) -> Judgement:
        """A search from worlds that agree with the answers."""
        assert isinstance(self.pool, Pool)
        return judge(self.pool.knowledge, self.pool.totals(), standard, allowance)

    def take_in(self) -> None:
        """Let the roomy table know: from now on the question is of no use."""
        question_tables, roomy_table = self.question_tables, self.question_tables.roomy_table
        if not self.current:
            raise RuntimeError("the roomy table has changed since this was worked out")
        if self.totals is None or not question_tables.usable:
            roomy_table.lose()
            return
        answers = [self.values[place] for place in question_tables.fresh]
        roomy_table.apply(
            self.boxes,
            question_tables.parents,
            self.totals,
            question_tables.rows,
            answers,
            question_tables.pendings,
            question_tables.moves,
        )


def advance(roomy_table: RoomyTable, query: Query, value: int) -> None:
    """Let a roomy table know one more answer, or lose it where no table is found."""
    question_tables = QuestionTables(roomy_table, [query])
    if question_tables.usable and question_tables.settled[0] is not None:
        if question_tables.settled[0] != value:
            raise InconsistentAnswers("an answer contradicts the ones before it")
        return
    boxes = question_tables.boxes if query.kind == "sum" else question_tables.boxes.with_extreme(query, value)
    pins = (
        hold(boxes, question_tables.totals, 1, np.zeros(0, dtype=np.int64))
        if question_tables.usable
        else None
    )
    totals = (
        None
        if pins is None
        else question_tables.table(bounds_of(boxes, pins), [value] if question_tables.fresh else [])
    )
    if totals is None:
        roomy_table.lose()
        return
    answers = [value] if question_tables.fresh else []
    roomy_table.apply(
        boxes, question_tables.parents, totals, question_tables.rows, answers, question_tables.pendings,
        moves=question_tables.moves,
    )  # fmt: skip
