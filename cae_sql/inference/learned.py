"""What true answers make of a system: worked out beside it, then taken in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cae_sql.errors import InconsistentAnswers
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.answers import Ints, Query
from cae_sql.inference.center import Center
from cae_sql.inference.crowd import Crowd
from cae_sql.inference.holding import bounds_of, hold
from cae_sql.inference.judging import Judgement, Standard, judge, judge_pairs
from cae_sql.inference.knowledge import Knowledge
from cae_sql.inference.prospect import Prospect
from cae_sql.inference.runs import Effort
from cae_sql.inference.worlds import Pool


@dataclass(frozen=True, eq=False)
class Learned:
    """Queries with their answers, ready to be what the system knows."""

    prospect: Prospect
    """The queries over the center, as it was."""
    before: Pool | Crowd
    """The worlds that this was worked out from."""
    values: tuple[int, ...]
    boxes: Knowledge
    totals: Ints | None
    """(p',) the center's table; None where none was found."""
    pool: Pool | Crowd

    @property
    def current(self) -> bool:
        """Whether the center is still as it was when this was worked out."""
        return self.prospect.current

    def judge(self, standard: Standard, allowance: Allowance) -> Judgement:
        """A search from worlds that agree with the answers."""
        assert isinstance(self.pool, Pool)
        if standard.insiders:
            return judge_pairs(self.pool.knowledge, self.pool.values, standard, allowance, Effort())
        return judge(self.pool.knowledge, self.pool.totals(), standard, allowance)

    def take_in(self) -> None:
        """Let the center know: from now on the prospect is of no use."""
        prospect, center = self.prospect, self.prospect.center
        if not self.current:
            raise RuntimeError("the center has changed since this was worked out")
        if self.totals is None or not prospect.usable:
            center.give_up()
            return
        answers = [self.values[place] for place in prospect.fresh]
        center.apply(self.boxes, prospect.parents, self.totals, prospect.rows, answers, prospect.pendings)


def advance(center: Center, query: Query, value: int) -> None:
    """Let a center know one more answer, or give up where no table is found."""
    prospect = Prospect(center, [query])
    if prospect.usable and prospect.settled[0] is not None:
        if prospect.settled[0] != value:
            raise InconsistentAnswers("an answer contradicts the ones before it")
        return
    boxes = prospect.boxes if query.kind == "sum" else prospect.boxes.with_extreme(query, value)
    pins = hold(boxes, prospect.totals, 1, np.zeros(0, dtype=np.int64)) if prospect.usable else None
    totals = (
        None if pins is None else prospect.table(bounds_of(boxes, pins), [value] if prospect.fresh else [])
    )
    if totals is None:
        center.give_up()
        return
    answers = [value] if prospect.fresh else []
    center.apply(boxes, prospect.parents, totals, prospect.rows, answers, prospect.pendings)
