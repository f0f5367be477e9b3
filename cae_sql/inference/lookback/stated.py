"""Answers as they come, stated for whoever looks: few atoms with a tableau, many without.

While atoms are few every answer gives a finer `Knowledge` with its tableau. Beyond `SMALL` atoms that would
copy atoms times sums at each answer: then a span says which sums are new, and partition and matrix are made
when somebody looks, over all sums that came since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Answer, Ints, Query
from cae_sql.inference.facts.rank import coefficients_of
from cae_sql.inference.facts.span import Span

SMALL = 400
"""Atoms up to which there is a tableau."""


class Stated:
    """True answers over some records; it grows by `take` alone."""

    def __init__(self, truth: Ints, top: int) -> None:
        """Nothing is answered yet.

        Args:
            truth: (n,) the true values in units.
            top: Greatest value of the domain, in units.
        """
        self._truth = truth
        self.large = False
        """Whether there are so many atoms that there is no tableau."""
        self.span = Span(len(truth))
        """The independent sums, in order."""
        self._known = Knowledge.nothing(len(truth), top)
        self._unrefined: list[Answer] = []
        """Sums that came since somebody looked at a large system."""
        self._whole: Knowledge | None = None

    def copy(self) -> Stated:
        """An independent one."""
        twin = Stated.__new__(Stated)
        twin.__dict__.update(self.__dict__)
        twin.span, twin._unrefined = self.span.copy(), list(self._unrefined)
        return twin

    @property
    def known(self) -> Knowledge:
        """What the answers amount to; of large systems without tableau, so without `directions`."""
        if not self.large:
            return self._known
        if self._whole is None:
            self._refine([])
            matrix = coefficients_of(self._known.atoms, self.span.rows)
            self._whole = replace(self._known, matrix=matrix)
        return self._whole

    def set_apart(self, records: Ints) -> None:
        """Records that no answer will be about; before any answer."""
        self._known = self._known.refined([Query(kind="sum", members=records)])

    def take(self, answers: Sequence[Answer], attained: Sequence[bool]) -> list[int]:
        """Take answers.

        Args:
            answers: What is true.
            attained: Of extremes, whether somebody who is in none of the answers attains them.

        Returns:
            Places of those that say something that others do not.
        """
        if not self.large:
            finer = self._known.refined(answers, self._room(self._known))
            if finer.count <= SMALL:
                return self._take_few(finer, answers, attained)
            self.large, self._known = True, self._known.without_sums()
        kept = [
            place
            for place, (answer, by_others) in enumerate(zip(answers, attained, strict=True))
            if (self._take_sum(answer) if answer.kind == "sum" else self._take_extreme(answer, by_others))
        ]
        if kept:
            self._whole = None
        return kept

    def _take_few(self, known: Knowledge, answers: Sequence[Answer], attained: Sequence[bool]) -> list[int]:
        room, kept = self._room(known), []
        for place, (answer, by_others) in enumerate(zip(answers, attained, strict=True)):
            if answer.kind == "sum":
                if not self.span.take(answer):
                    continue
                known, independent = known.with_sum(answer, room)
                assert independent, "what is independent modulo a prime is independent"
            else:
                before, known = known, _with_extreme(known, answer, by_others)
                if _same(before, known):
                    continue
            kept.append(place)
        if kept:
            self._known = known
        return kept

    def _take_sum(self, answer: Answer) -> bool:
        new = self.span.take(answer)
        if new:
            self._unrefined.append(answer)
        return new

    def _take_extreme(self, answer: Answer, by_others: bool) -> bool:
        self._refine([answer])
        before, self._known = self._known, _with_extreme(self._known, answer, by_others)
        return not _same(before, self._known)

    def _refine(self, more: Sequence[Answer]) -> None:
        self._known = self._known.refined([*self._unrefined, *more])
        self._unrefined = []

    def _room(self, known: Knowledge) -> NDArray[np.float64]:
        return known.room(known.totals(self._truth[None]))


def _with_extreme(known: Knowledge, answer: Answer, by_others: bool) -> Knowledge:
    """With an extreme; where others attain it nobody here needs to."""
    value = int(answer.value)
    if not by_others:
        return known.with_extreme(answer, value)
    atoms = np.unique(known.atoms.labels[answer.members])
    low, high = known.low.copy(), known.high.copy()
    if answer.kind == "max":
        high[atoms] = np.minimum(high[atoms], value)
    else:
        low[atoms] = np.maximum(low[atoms], value)
    return replace(known, low=low, high=high)


def _same(before: Knowledge, after: Knowledge) -> bool:
    """Whether an extreme has taught nothing."""
    return (
        np.array_equal(before.low, after.low)
        and np.array_equal(before.high, after.high)
        and before.extremes == after.extremes
    )
