"""What a decision needs of the policy, and what it may spend; nothing is decided here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass

from cae_sql.inference.allowance import DECISION, Allowance, clock

SEVERAL = 4.0
"""A statement of many groups is many decisions: its last resort is so many times that of one. With that of
one alone a day of dashboards got more or less by how fast the machine was."""
TRUE_ANSWER_FACTOR = 2.0
"""The true answer is judged with this many times what was allowed for hypothetical ones: its effort must not
decide where theirs was enough."""


@dataclass(frozen=True)
class Rules:
    """What a decision needs of the policy, whatever the column."""

    simulatable: bool
    """Whether hypothetical answers decide."""
    worlds: int
    """How many hypothetical answers are judged."""
    delta: float
    """Fraction of them that may fail."""
    seconds: float
    """The last resort: time after which a decision is given up."""
    steps: float = DECISION
    """Work for a decision."""


class Budget:
    """What the decisions on one statement may spend. A context manager: what happens inside is counted.

    Only what is worked out from past answers and the statement is. What true answers take is apart, since a
    verdict that hangs on it would say something of them; it only keeps further ones from being begun.
    """

    def __init__(self, rules: Rules) -> None:
        """Nothing is used up yet."""
        self._steps = rules.steps
        more = TRUE_ANSWER_FACTOR
        self._left = _Timed.of(rules.steps, rules.seconds)
        self._for_true_answers = _Timed.of(more * rules.steps, more * rules.seconds)
        self._for_ranges = _Timed.of(rules.steps, rules.seconds)

    def __enter__(self) -> Allowance:
        """What may be spent on what begins now."""
        return self._left.begin()

    def __exit__(self, *_: object) -> None:
        self._left.end()

    @contextmanager
    def ranges(self) -> Iterator[Allowance]:
        """What may be spent to find a range where the exact answer is refused: once more, for a statement."""
        yield self._for_ranges.begin()
        self._for_ranges.end()

    @contextmanager
    def true_answers(self) -> Iterator[None]:
        """Count the time apart."""
        self._for_true_answers.begin()
        yield
        self._for_true_answers.end()

    @contextmanager
    def part(self, share: float) -> Iterator[Budget]:
        """A budget for one decision of several: so much of all the work, and no more than is left."""
        part, left = copy(self), self._left
        seconds = left.seconds
        steps = min(share * self._steps, left.allowance.steps)
        part._left = _Timed(Allowance(steps), left.most, seconds)
        yield part
        left.allowance.spend(steps - part._left.allowance.steps)
        left.seconds -= seconds - part._left.seconds  # the whole may have been counted meanwhile

    @property
    def used_up(self) -> bool:
        """Whether there is no work left to be done."""
        return self._left.allowance.steps <= 0

    @property
    def over(self) -> bool:
        """Whether the last resort keeps further decisions from being begun."""
        return self._left.seconds <= 0 or self._for_true_answers.seconds <= 0


@dataclass
class _Timed:
    """An allowance whose last resort counts the time of some parts of a statement alone."""

    allowance: Allowance
    most: float
    """Seconds for one part."""
    seconds: float
    """Left for all parts."""
    given: float = 0.0
    """Seconds that the part now counted began with."""

    @classmethod
    def of(cls, steps: float, most: float) -> _Timed:
        """Nothing is used up yet."""
        return cls(Allowance(steps), most, SEVERAL * most)

    def begin(self) -> Allowance:
        self.given = min(self.most, self.seconds)
        self.allowance.end_in(self.given)
        return self.allowance

    def end(self) -> None:
        self.seconds -= self.given - (self.allowance.until - clock())
