"""What may still be spent on a question: steps of work, and, as a last resort, time.

Promise: a decision hangs on `steps` alone, which the history and the question decide, so that its verdict is
the same on any machine, however busy. The clock only ends what took many times longer than its steps should,
and who asked is then told so (`late`). A step is some ten nanoseconds of one core; only what may take long is
counted, by size.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf

from cae_sql.compiled import waited


def clock() -> float:
    """Read for the last resort, the only clock here: seconds, but for those of waiting for a compiler."""
    return time.monotonic() - waited[0]


DECISION, PER_RECORD = 2 * 10**9, 100_000
"""Steps for one decision, and more for each record: some twenty seconds at most for a small table, two
minutes for a million records. By half of it the ACS day was told 162 groups exactly in place of 171, in 3 %
less CPU."""
MOVE = 10
"""Steps for a move that is tried on a walk."""
ENTRIES = 8
"""Entries of sums over parts that are looked at in one step: kernels take many at once."""
LANES = 64
"""The same where vector units go through columns of small floats. Of the ACS day 137 groups were given with
8, 138 to 142 with 16 to 32, 156 with 64; bases and centres took 0.08 and 0.17 ns an entry."""
REPORT = 2 * 10**8
"""For a figure that decides nothing: about two seconds."""


@dataclass(eq=False)
class Allowance:
    """Passed on to all that may spend it. In other threads only `late` is read."""

    steps: float = inf
    """Left to be spent."""
    until: float = inf
    """On `clock`: the last resort."""

    def end_in(self, seconds: float) -> None:
        """Let the last resort be so many seconds from now."""
        self.until = clock() + seconds

    def spend(self, steps: float) -> bool:
        """Take steps; False where there were not so many, or it is late: then nothing more is begun."""
        self.steps -= steps
        return not self.over

    @property
    def late(self) -> bool:
        """Whether the last resort ended it: what was not shown then says nothing."""
        return clock() > self.until

    @property
    def over(self) -> bool:
        """Whether nothing further may be begun."""
        return self.steps <= 0 or self.late

    @property
    def seconds(self) -> float:
        """Left until the last resort."""
        return max(self.until - clock(), 0.0)


UNLIMITED = Allowance()
"""What may be spent where nothing is held back; endless, so it may be shared."""


def for_decision(records: int) -> float:
    """Steps for a decision over so many records."""
    return DECISION + PER_RECORD * records
