"""True answers as they come: which of them are new, and the system that they amount to.

A span says at once which sums follow from earlier ones. The matrix of the independent sums is made when
it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Answer, Ints, Query
from cae_sql.inference.facts.rank import coefficients_of
from cae_sql.inference.facts.span import Span
from cae_sql.inference.intervals.presolve import LARGEST
from cae_sql.inference.intervals.presolve import narrow as narrow_by_sums

SMALL = 400
"""Atoms up to which everybody is looked at closely after each statement."""


class Stated:
    """True answers over some records; it grows by `take` alone."""

    def __init__(self, size: int, top: int) -> None:
        """Nothing is answered yet, of so many records between 0 and `top` units."""
        self.span = Span(size)
        """The independent sums, in order."""
        self._known = Knowledge.nothing(size, top)
        """Atoms, boxes and extremes; no sums."""
        self._whole: Knowledge | None = None

    def copy(self) -> Stated:
        """An independent one."""
        twin = Stated.__new__(Stated)
        twin.__dict__.update(self.__dict__)
        twin.span = self.span.copy()
        return twin

    @property
    def large(self) -> bool:
        """Whether there are too many atoms to look at everybody closely after each statement."""
        return self._known.count > SMALL

    @property
    def known(self) -> Knowledge:
        """What the answers amount to, without a tableau."""
        if self._whole is None:
            self._whole = replace(self._known, matrix=coefficients_of(self._known.atoms, self.span.rows))
        return self._whole

    def set_apart(self, records: Ints) -> None:
        """Records that no answer will be about; before any answer."""
        self._known = self._known.refined([Query(kind="sum", members=records)])

    def take(self, answers: Sequence[Answer], attained: Sequence[bool]) -> list[int]:
        """Take true answers; the places of those that say something that others do not.

        Of extremes `attained` says whether somebody who is in none of the answers attains them.
        """
        kept = [
            place
            for place, (answer, by_others) in enumerate(zip(answers, attained, strict=True))
            if (self._take_sum(answer) if answer.kind == "sum" else self._take_extreme(answer, by_others))
        ]
        if kept:
            self._whole = None
        return kept

    def _take_sum(self, answer: Answer) -> bool:
        new = self.span.take(answer)
        if new:
            self._known = self._known.refined([answer])
        return new

    def _take_extreme(self, answer: Answer, by_others: bool) -> bool:
        """Whether an extreme taught something; where others attain it nobody here needs to."""
        before = self._known = self._known.refined([answer])
        after = before.with_extreme(answer, int(answer.value))
        self._known = replace(after, extremes=before.extremes, implied=before.implied) if by_others else after
        return not (
            np.array_equal(before.low, after.low)
            and np.array_equal(before.high, after.high)
            and before.extremes == self._known.extremes
        )


def narrow(answer: Answer, least: Ints, most: Ints) -> Ints:
    """Narrow bounds (n,) over the reals by what one answer alone says of its records, in place.

    Returns:
        The records whose bounds are narrower than before.
    """
    members, value = answer.members, int(answer.value)
    low, high = least[members], most[members]
    if answer.kind == "max":
        most[members] = np.minimum(high, value)
    elif answer.kind == "min":
        least[members] = np.maximum(low, value)
    else:
        weights = np.ones(len(members), np.int64) if answer.coefficients is None else answer.coefficients
        starts, values = np.array([0, len(members)]), np.array([value])
        narrow_by_sums(starts, members, weights.astype(np.int64), values, least, most, LARGEST)
    found: Ints = members[(least[members] > low) | (most[members] < high)]
    return found
