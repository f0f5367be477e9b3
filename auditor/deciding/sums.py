"""A range of a sum whose exact value cannot be told (`cells`).

A cell is as wide as so many spare records can make up for, 1, 2, 4 and so on, and what is told of it is an
exact answer about these and the query's own (`recorded`): the engine, the posterior and the ledger know it as
they know ends.

Source: `mathematics.md`, 8 (ranges instead of refusals).
"""

from __future__ import annotations

from collections.abc import Iterator

from auditor.deciding.cases import Part
from auditor.deciding.cells import Ladder, Rung
from auditor.deciding.looks import CaseLooks, told_part
from auditor.told import Told
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify.known_anyway import KnownAnyway
from cae_sql.inference.facts.spares import MOST


class SumLadder(Ladder):
    """The ladder of a single sum."""

    @property
    def all_rungs(self) -> Iterator[Rung]:
        """As many spare records as there are make up for what a cell leaves open."""
        spares, system = 1, self.case.system
        while spares <= MOST and system.within(self.query, 0, spares * self.top) is not None:
            rung = Rung(self.possible, spares * self.top + 1, self.top)
            if rung.last < 1:
                return
            yield rung
            spares *= 2

    @property
    def possible(self) -> tuple[int, int]:
        """Of its members and signs."""
        return self.case.system.possible(self.query)

    def left(self, allowance: Allowance) -> tuple[int, int] | None:
        """By weak duality."""
        return KnownAnyway(self.case.system.roomy_table, allowance).between(self.query)

    def shown(self, told: Told[int], allowance: Allowance, renew: bool, width: int) -> object | None:  # noqa: ARG002
        """By one look, as at an exact answer."""
        found = CaseLooks(self.case, self.rules).within(told, allowance, renew)
        return found if found.safe else None

    def part(self, told: Told[int], allowance: Allowance, renew: bool, width: int) -> Part:  # noqa: ARG002
        """An answer about the query's own records and spare ones."""
        return told_part(self.case, [told], allowance, {}, renew)
