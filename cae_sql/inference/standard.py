"""What every record must keep, what a judgement says of it, and how much may be tried to find it out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cae_sql.inference.facts.query import Ints

MOST_MOVES = 15_000_000
"""Tried in the walks of one decision, all hypothetical answers together: some seconds."""

Accepts = Callable[[Ints], bool]
"""Whether an exactly known set of values (units, ascending) will do although no run is long enough."""


@dataclass(frozen=True)
class Standard:
    """What every record must keep."""

    need: int
    """Width in units that a run must have: greatest minus least value."""
    accepts: Accepts | None = None
    insiders: int = 0
    """How many individuals may know their own value besides: 0 or 1."""
    floor: int = 1
    """Width below which no set of values will do."""

    @property
    def least(self) -> int:
        """Width below which the standard is broken, whatever a search would find."""
        return self.need if self.insiders or self.accepts is None else min(self.need, self.floor)


@dataclass(frozen=True)
class Judgement:
    """Whether everybody keeps the standard, with some answers known."""

    safe: bool
    """Everybody was shown to."""
    width: int
    """The shortest run found, greatest minus least value in units; of a failed search what it had by then."""
    sets: tuple[tuple[int, ...], ...] = ()
    """Exactly known sets (units) of records that keep the standard by them; `width` leaves these out."""
    certain: bool = False
    """Whether bounds alone say that some record does not: `width` is then the most that can be left."""


@dataclass
class Effort:
    """What searches may still try: integer programs between two answers, moves in one decision.

    What moves do not show is hard to show: without a common allowance an attacker could make every decision
    last as long as the policy allows. It is counted and not timed: a verdict does not hang on the machine.
    """

    left: int = 400
    """How many programs."""
    moves: int = MOST_MOVES
    """How many moves of walks."""

    def regain(self) -> None:
        """A decision begins: one more program, so that nobody can use them up for good."""
        self.left = max(self.left, 0) + 1
        self.moves = MOST_MOVES

    def walk(self, moves: int) -> bool:
        """Take the moves of a walk; False where not so many are left."""
        self.moves -= moves
        return self.moves >= 0

    def spend(self) -> bool:
        """Take one program; False where none is left."""
        self.left -= 1
        return self.left >= 0
