"""What the statements of a log may cost, each and all together.

Promises that work is counted in characters, which are the same on every machine: of what is read, and of the
SQL that is run in its place. What would cost more is not read and is named as not understood. Programs that
look for who is located count their own steps. Seconds are the last resort for the engine alone, which may
take long over little.
"""

from __future__ import annotations

from dataclasses import dataclass

from auditor.sql.limits import MAX_BYTES
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.lookback.look import STEPS

ENTRY = 1 << 20
"""Characters of one entry of a log, which may hold several statements; more are not cut into them."""
PARTS = 1_000
"""Different statements of one entry."""
STATEMENT = MAX_BYTES
"""Characters of one statement, as a gate takes them."""
LOWERED = 1 << 18
"""Characters of the SQL that is run in place of one statement."""
ORDINARY = 10_000
"""Characters that any statement may cost: it is read however much others have cost. What people and programs
write is shorter; lists of some thousand numbers are longer."""
BEGIN, SHARE = 1_000_000, 20_000
"""Characters beyond that for all statements together: to begin with, and for each statement of the log. At
about 75,000 a second, in a log of costly statements alone each has a quarter of a second."""
PATIENT = 5.0
"""Seconds that the engine may take over one statement without being counted."""
SECONDS = 300.0
"""Seconds beyond those for all statements together."""
PATIENT_STEPS, ALL_STEPS = 5 * 10**8, 3 * 10**10
"""The same of the programs that look for who is located, in steps: about as many seconds."""


@dataclass
class Budget:
    """What has been spent; grows with the log."""

    effort: float = 1.0
    """How many times as much as by default all statements together may cost."""
    spent: int = 0
    """Characters beyond what is ordinary."""
    waited: float = 0.0
    """Seconds of the engine beyond what is patient."""
    worked: float = 0.0
    """Steps of programs beyond what is patient."""

    def affords(self, characters: int, statements: int) -> bool:
        """Whether a statement of a log that has had so many may cost this much."""
        left = self.effort * (BEGIN + SHARE * statements) - self.spent
        return characters <= ORDINARY or characters - ORDINARY <= left

    def spend(self, characters: int) -> None:
        """A statement cost so much."""
        self.spent += max(0, characters - ORDINARY)

    def patience(self, seconds: float) -> float:
        """The seconds, of those that are wanted, that the next step may take."""
        return min(seconds, PATIENT + max(0.0, self.effort * SECONDS - self.waited))

    def wait(self, seconds: float) -> None:
        """A step took so long."""
        self.waited += max(0.0, seconds - PATIENT)

    def programs(self) -> Allowance:
        """What the programs after one statement may spend."""
        return Allowance(min(STEPS, PATIENT_STEPS + max(0.0, self.effort * ALL_STEPS - self.worked)))

    def work(self, steps: float) -> None:
        """Programs after one statement spent so much."""
        self.worked += max(0.0, steps - PATIENT_STEPS)
