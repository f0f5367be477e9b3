"""Tables in the middle of what answers leave, and tables between them and others: where exchange has no room.

A table for new answers is looked for at the analytic centre of all sums, where everybody has room in
proportion to what there is, rounded so that the tightest sums hold, and repaired along the basis. From there
on sums go from answer to answer by moves out of shared rooms: for every answer on the way there is a
table between the least and the greatest total that its parts come to.

Floats only say where to look: what is found is added up again in whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cae_sql.cached import cached_property
from cae_sql.inference import sizes
from cae_sql.inference.allowance import ENTRIES, LANES, Allowance
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.intervals.interior import analytic_center
from cae_sql.inference.tables.columns import Columns
from cae_sql.inference.tables.exchange import Bounds, Tables
from cae_sql.inference.tables.kernel_moves import collected, spread_out
from cae_sql.inference.tables.payers import payers
from cae_sql.inference.tables.question_tables import QuestionTables

MOVES = 400
"""From one answer to another, at most."""
NEWTON_STEPS = 20
"""That a centre takes, about: for what it counts."""


class Central:
    """Tables for a question, inside of bounds. Shapes: p' parts, k sums."""

    def __init__(self, question_tables: QuestionTables, bounds: Bounds, allowance: Allowance) -> None:
        """Nothing is looked for yet, and nothing more once the allowance is spent."""
        self.question_tables, self.bounds, self.allowance = question_tables, bounds, allowance

    @cached_property
    def marks(self) -> Columns:
        """(p', k) coefficients."""
        return self.question_tables.marks_of(np.arange(self.question_tables.boxes.count))

    def table(self, answers: Sequence[int]) -> Ints | None:
        """Totals (p',) in the middle that give answers to the fresh sums; None if not found."""
        question_tables, bounds = self.question_tables, self.bounds
        span = bounds.most - bounds.least
        if len(span) > sizes.MOST_CENTRED or (span < 0).any() or not question_tables.roomy_table.ways.central:
            return None
        matrix = question_tables.matrix
        if not self.allowance.spend(NEWTON_STEPS * matrix.nnz * matrix.shape[0] / LANES):
            return None
        sums = np.append(np.array(question_tables.roomy_table.sums, dtype=np.int64), answers)
        each = question_tables.boxes.sizes.astype(np.float64)
        ends = bounds.least / each, bounds.most / each
        center = analytic_center(matrix.astype(np.float64), sums.astype(np.float64), *ends, each)
        if center is None:
            return None
        inside = np.clip(center.values * each - bounds.least, 0, span)
        room = np.minimum(inside, span - inside)
        totals = bounds.least + np.clip(spread_out(inside, self.marks, room), 0, span)
        return question_tables.repaired(totals, bounds, answers)

    def between(self, start: Ints, answers: Sequence[tuple[int, int]]) -> Tables | None:
        """Tables around one (p',) that give each fresh sum all answers between two; None without room."""
        question_tables, able = self.question_tables, self.bounds.most > self.bounds.least
        down, up = start - self.bounds.least, self.bounds.most - start
        if not self.allowance.spend(self.marks.shape[1] * self.marks.size / LANES):
            return None
        paying = payers(self.marks, able, ~able, np.minimum(down, up), question_tables.boxes.widest)
        if paying is None:
            return None
        rank, exchange = question_tables.roomy_table.rank, question_tables.exchange
        least, most = start.copy(), start.copy()
        for number, (low, high) in enumerate(answers):
            now, column = exchange.value(number, start), paying.inverse[:, rank + number]
            loads = np.zeros((2, 2, len(paying.parts)), dtype=np.int64)
            for turn, target in enumerate((high - now, now - low)):
                if target <= 0:
                    continue
                # half of all rooms are left for the records' own moves
                free = np.array([down[paying.parts] >> 1, up[paying.parts] >> 1])
                free -= np.array([(start - least)[paying.parts], (most - start)[paying.parts]])
                looked = np.zeros(1, dtype=np.int64)
                lost = np.rint(column if turn else -column).astype(np.int64)
                went = collected(
                    lost, paying.columns, np.maximum(free, 0), target, MOVES, loads[turn], looked
                )
                in_time = self.allowance.spend(int(looked[0]) * paying.columns.shape[1] / ENTRIES)
                if went < target or not in_time:
                    return None
            least[paying.parts] -= loads[:, 0].max(axis=0)
            most[paying.parts] += loads[:, 1].max(axis=0)
        return Tables(least, most)
