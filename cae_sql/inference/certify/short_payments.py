"""Who else pays for those whom bases and reserves leave open: found for one question, and forgotten.

Directions of their own, shortened from bases that nothing else uses (`cae_sql.inference.certify.directions`).
What is found depends on the tables that are looked at; nothing of it is kept for other questions or answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.allowance import ENTRIES, Allowance
from cae_sql.inference.certify.directions import Helpers, shortened
from cae_sql.inference.certify.rooms import Far, Rooms
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.roomy_table import basis_of, columns_in

BASES = 16
"""That are made, at most: so many directions a part can have."""
CANDIDATES = 12_000
"""Parts among which one is looked for, the roomiest."""
MOST_OPEN = 20_000
"""Of more than this nobody gets directions."""
TRIED = 64
"""Parts that get them first, those of whom least is shown."""
ROOMY = 60_000
"""Parts that are thought of as paying, at most, the roomiest."""
HELPERS = 1_000
"""Parts that may help, or a third of all where that is less: bases need the others."""


@dataclass(frozen=True, eq=False)
class _Basis:
    """Parts, and what turns coefficients into columns."""

    basic: Ints
    inverse: NDArray[np.float32]


class Further:
    """Directions for those who are left open. Shapes: p' parts."""

    def __init__(
        self, question_tables: QuestionTables, rooms: Rooms, need: int, allowance: Allowance
    ) -> None:
        """Nothing is made yet.

        Args:
            question: The queries.
            rooms: Of the judgement.
            need: Width that is needed.
            allowance: What may be spent; nothing more is tried beyond it.
        """
        self.question_tables, self.rooms, self.need, self.allowance = question_tables, rooms, need, allowance
        self._bases: list[_Basis] = []

    def show(self, far: Far) -> None:
        """Show of those who are left what directions can: of the hardest first, since all are needed.

        Args:
            far: What others who pay have shown; added to.
        """
        left = far.left(self.need)
        if len(left) > MOST_OPEN:
            return
        order = left[np.lexsort((far.widths[left], far.free[left]))]
        for some in (order[:TRIED], order[TRIED:]):
            if len(self._directed(Far(self.rooms, far), np.sort(some))):
                return

    @cached_property
    def nearer(self) -> Ints:
        """(p',) how far each part can go to its nearer side."""
        return self.rooms.nearer(np.arange(self.rooms.count))

    @cached_property
    def _roomy(self) -> Ints:
        """Parts that can pay, the roomiest first."""
        able = np.flatnonzero((self.nearer > 0) & self.rooms.whole)
        if len(able) > ROOMY:
            able = np.sort(able[np.argpartition(-self.nearer[able], ROOMY - 1)[:ROOMY]])
        return able[np.argsort(-self.nearer[able], kind="stable")]

    @cached_property
    def _helpers(self) -> Ints:
        """Of the roomiest every second one; the others are what bases are made of."""
        return self._roomy[: 2 * min(HELPERS, len(self._roomy) // 3) : 2]

    @cached_property
    def _free(self) -> Ints:
        """Parts of which bases can still be made."""
        return self._without(self._roomy, self._helpers)

    def _without(self, these: Ints, those: Ints) -> Ints:
        """Some parts, ascending, without others."""
        others = np.zeros(self.rooms.count, dtype=np.bool_)
        others[those] = True
        return np.sort(these[~others[these]])

    def _directed(self, far: Far, whom: Ints) -> Ints:
        """Directions over one basis after the other, as long as somebody has too little; who still has then.

        Args:
            far: Nobody pays yet.
            whom: (a,) the parts, ascending.
        """
        helpers, theirs = Helpers.of(self._helpers, whom), self.question_tables.marks_of(self._helpers)
        for number in range(BASES):
            left = np.flatnonzero((far.widths[whom] < self.need) | ~far.free[whom])
            helpers, whom = helpers.some(left), whom[left]
            # a basis is eliminated from among candidates; for each who is left helpers' columns are tried
            rank, among = self.question_tables.roomy_table.rank + 1, min(CANDIDATES, len(self._free))
            steps = rank * (rank * among + len(whom) * len(self._helpers)) / ENTRIES
            basis = self._basis(number) if len(whom) and self.allowance.spend(steps) else None
            if basis is None:
                return whom
            mine = self.question_tables.marks_of(whom)
            columns, of_helpers = (columns_in(marks, basis.inverse) for marks in (mine, theirs))
            if columns is None or of_helpers is None:
                continue
            found = shortened(self.rooms, basis.basic, columns, helpers, of_helpers)
            wrong = found.missed(mine, self.question_tables.marks_of(basis.basic), theirs)
            found.ends[:, wrong] = 0
            far.add(whom, found.ends, basis.basic)
        return whom[(far.widths[whom] < self.need) | ~far.free[whom]]

    def _basis(self, number: int) -> _Basis | None:
        """The first, the second, …; they share no part with each other or those who help. None: no more."""
        if number < len(self._bases):
            return self._bases[number]
        free = self._free
        if len(free) > CANDIDATES:
            free = free[np.argpartition(-self.nearer[free], CANDIDATES - 1)[:CANDIDATES]]
        found = basis_of(
            self.question_tables.marks_of(free), np.zeros(len(free), dtype=np.bool_), self.nearer[free]
        )
        if found is None:
            return None
        basis = _Basis(free[found[0]], found[1])
        self._free = self._without(self._free, basis.basic)
        self._bases.append(basis)
        return basis
