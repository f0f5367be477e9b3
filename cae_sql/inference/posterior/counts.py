"""What was counted of components, so that it is counted once.

A statement of many groups asks again and again about the same components: each judgement is about everybody.

Promise: what is found again costs as many steps as it did first, and what takes more steps than there are is
not found, whether or not it was counted before. So no verdict hangs on what happens to be kept, and answers
that were looked at because they are the true ones may be kept as well.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.posterior.weights import Floats

MOST = 4_096
"""Components that are kept; then those that were counted first go. Of 25 values and ten atoms: 8 MB."""
WHOLE = 2.0**50
"""Steps of which none is lost when they are subtracted."""
Rows = list[Floats]
"""By atom, probabilities over the units of its box."""


@dataclass(frozen=True)
class _Known:
    """What became of a component."""

    rows: Rows | None
    cost: float
    """Steps that it took, or that did not suffice."""
    for_good: bool
    """Whether more steps would change nothing."""


class Counts:
    """By name (`components.name_of`), under one prior."""

    def __init__(self) -> None:
        """Nothing was counted."""
        self._known = dict[bytes, _Known]()

    def of(self, name: bytes, allowance: Allowance, count: Callable[[Allowance], Rows]) -> Rows:
        """What `count` finds of the component of this name; what was counted before is charged too.

        Raises:
            OutOfTime: it takes more than may be spent, or cannot be counted.
        """
        most = min(allowance.steps, WHOLE)
        known = self._known.get(name)
        if known is None or not (known.for_good or most <= known.cost):
            known = self._known[name] = _counted(most, allowance.until, count)
            if len(self._known) > MOST:
                for old in list(self._known)[: MOST // 2]:
                    self._known.pop(old, None)
        allowance.spend(min(known.cost, most))
        if known.rows is None or known.cost >= most:
            raise OutOfTime("more steps than may be spent")
        return known.rows


def _counted(most: float, until: float, count: Callable[[Allowance], Rows]) -> _Known:
    part, rows = Allowance(most, until), None
    with suppress(OutOfTime):
        rows = count(part)
    if part.late:
        raise OutOfTime("not counted in time")  # what the clock ended says nothing
    for_good = part.steps > 0 or rows is not None
    return _Known(rows, most - part.steps if for_good else most, for_good)
