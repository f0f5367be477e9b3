"""Sums asked together that follow from one of them, past answers known: the one decides for all.

Whoever knows the sum of all and hears that of the women knows that of the men. Asked together they are one
question: hypothetical answers are looked at for the first of them alone, and what is told of it, exactly or
as an end, is told of the others too. Judged as several values an answer that no hypothetical table gives to
the one would be looked at beside such a one of the other, which no table agrees with.

Promise: which sums follow, and how, past answers and the questions say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from auditor.deciding.cases import Case, Judged, Values
from auditor.told import Told, exactly


@dataclass(frozen=True)
class Following:
    """Sums of which one is new, and what the others make of it."""

    case: Case
    """The new one alone."""
    place: int
    """Where it stands among all."""
    made: tuple[tuple[int, int], ...]
    """Of each sum, a and b: it is a times the new one and b more."""

    def values(self, values: Values) -> Values:
        """The answers to all where the new one has a given answer."""
        (value,) = values
        return tuple(a * value + b for a, b in self.made)

    def judged(self, judged: Judged) -> Judged:
        """Judgements of the new one's answers as those of all answers."""
        return {self.values(values): judgement for values, judgement in judged.items()}

    def told(self, told: Told[int] | None) -> list[Told[int] | None]:
        """What is told of each, where this is told of the new one."""
        if told is None:
            return [None for _ in self.made]
        # of the others both ends are said: how far a sum of very many is beyond one of them cannot be told
        least, most = self.case.system.possible(self.case.queries[0])
        whole = Told(least if told.least is None else told.least, most if told.most is None else told.most)
        return [told if place == self.place else _of(whole, a, b) for place, (a, b) in enumerate(self.made)]


def following(case: Case) -> Following | None:
    """How all sums of a case follow from one of them; None where they do not, or there is but one."""
    question = case.question()
    if len(case.queries) < 2 or any(query.kind != "sum" for query in case.queries):
        return None
    fresh = question.question_tables.fresh
    if not question.question_tables.usable or len(fresh) != 1:
        return None
    worlds = question.pool.values
    columns = [query.of(worlds).tolist() for query in case.queries]
    made = [_line(columns[fresh[0]], column) for column in columns]
    found = tuple(each for each in made if each is not None)
    if len(found) < len(made):
        return None
    return Following(replace(case, queries=[case.queries[fresh[0]]]), fresh[0], found)


def _of(told: Told[int], a: int, b: int) -> Told[int]:
    """What is told of a x + b, where something is told of x."""
    return told.under(lambda x: a * x + b, rising=a > 0) if a else exactly(b)


def _line(given: Sequence[int], made: Sequence[int]) -> tuple[int, int] | None:
    """a and b, where one sum is a times another and b more in all tables; None where that is not seen."""
    low, high = min(given), max(given)
    if low == high:
        return None
    first, last = given.index(low), given.index(high)
    a, rest = divmod(made[last] - made[first], high - low)
    b = made[first] - a * low
    if rest or any(a * x + b != y for x, y in zip(given, made, strict=True)):
        return None
    return a, b
