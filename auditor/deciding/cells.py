"""A range where no exact value may be told: the fixed public cell that it lies in, as narrow as may be.

A rung of the ladder cuts all possible answers to one question into cells of one width. They hang on no data
and on no earlier answers. Rungs are looked at by halves: of one the cells of the hypothetical answers are
judged as if they were told, and it is taken if no more than δN fail. Cells outwards are judged too, and what
lies beyond the last of them is told with it, as "at most" or "at least". What shows that a cell may be told
is each kind's own (`sums`, `statistics`).

Past answers leave a question between two ends anyway. Cells that lie beyond need not be shown; a rung of
which all that is left lies in one cell tells nothing; and where no rung can be told these ends are, if they
are worth it.

Promise: the rung, and what it tells of which answer, follow from past answers, the question and hypothetical
answers; all of it is shown to keep the limit before the true answer is looked at, but for cells that lie
between two that were, and for what is known anyway, which tells nothing.

Source: `mathematics.md`, 8 (ranges instead of refusals; any statistic can be a range).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from auditor.deciding.cases import Case, Part
from auditor.deciding.rules import Rules
from auditor.told import Told
from cae_sql.cached import cached_property
from cae_sql.inference.allowance import Allowance

LOOK = 1 / 8
"""Part of a decision's work that may be spent on one candidate: with that of ranges, eight are looked at."""
TAILS = 4
"""Cells that are tried as the last one, from the outermost inwards."""
LOOKS, LONGER = 9, 3
"""Cells that are looked at outwards, on each side, and how many times as far out each next one is."""
WORTH = {"weighted": 4}
"""A range that is known anyway is told where what the domain allows is so many times as wide, or more; else
twice. Weighted sums are mostly covariances: on ACS half said "−1.04 … 2.2" of a correlation."""


@dataclass(frozen=True)
class Rung:
    """Cells of one width, all that an answer may be. In units."""

    possible: tuple[int, int]
    """The least and the greatest answer that the domain allows."""
    width: int
    """How many answers lie in a cell."""
    whole: int = 0
    """What is told of several cells is a multiple of this wide, and has two ends: spare records make up for
    it. 0: it is as wide as the cells, has no end where the domain ends, and the last cell has the rest."""

    @property
    def last(self) -> int:
        """Number of the last cell; the first one has 0."""
        count = self.possible[1] - self.possible[0] + 1
        return (count - 1) // self.width if self.whole else count // self.width - 1

    def cell(self, answer: int) -> int:
        """Number of the cell that an answer lies in."""
        return min((answer - self.possible[0]) // self.width, self.last)

    def told(self, first: int, last: int, way: int = 0) -> Told[int]:
        """What some cells say together.

        Args:
            first: The first of them.
            last: The last one.
            way: Where there is nothing more, -1 or 1. What must be wider than the cells is so on that side:
                on the other it would say less than what whoever knows the cells reads from it.
        """
        low = self.possible[0] + first * self.width
        high = self.possible[0] + (last + 1) * self.width - 1
        if not self.whole:
            return Told(low if first > 0 else None, high if last < self.last else None)
        wide = -(-(high - low) // self.whole) * self.whole if way else high - low
        return Told(high - wide, high) if way < 0 else Told(low, low + wide)


@dataclass(frozen=True)
class Cells:
    """What is told of an answer by one rung."""

    rung: Rung
    low: int
    """The first cell that is told as such, or with all below it."""
    high: int
    """The last one, or with all above it."""
    tails: tuple[Told[int], Told[int]]
    """What is told of the first one and those below it, and of the last one and those above it."""

    def told(self, answer: int) -> Told[int]:
        """What is told of an answer: with an end fewer less is said, and nothing more need be shown."""
        cell = self.rung.cell(answer)
        if self.low < cell < self.high:
            return self.rung.told(cell, cell)
        return self.tails[cell >= self.high]


class Ladder(ABC):
    """The rungs of one question, before anything about its true answer is known."""

    judgeable = True
    """Whether it is known how to judge cells."""

    def __init__(self, case: Case, rules: Rules) -> None:
        """Judge nothing yet.

        Args:
            case: A single question.
            rules: The policy.
        """
        self.case, self.rules, self.query = case, rules, case.queries[0]
        self.top = int(case.system.grid.top)

    @property
    @abstractmethod
    def all_rungs(self) -> Iterator[Rung]:
        """The narrowest cells first; a cell with all answers in it says nothing, and is on none."""

    @property
    @abstractmethod
    def possible(self) -> tuple[int, int]:
        """The least and the greatest answer that the domain allows."""

    @abstractmethod
    def left(self, allowance: Allowance) -> tuple[int, int] | None:
        """Between which ends past answers leave the answer, as far as is found."""

    @abstractmethod
    def shown(self, told: Told[int], allowance: Allowance, renew: bool, width: int) -> object | None:
        """What shows that everybody keeps the limit with something told; None where nothing is found.

        Args:
            told: The range.
            allowance: What may be spent.
            renew: Whether bases may be chosen anew: only where later verdicts may hang on it.
            width: Of the rung's cells.
        """

    @abstractmethod
    def part(self, told: Told[int], allowance: Allowance, renew: bool, width: int) -> Part:
        """What a decision says with this told, or that it may not be. As `shown`."""

    @cached_property
    def known(self) -> tuple[int, int]:
        """Between which ends it is anyway; those of the domain where past answers say nothing."""
        # of its own: it takes little, and hangs on past answers and the question alone
        (least, most), found = self.possible, self.left(self._for_one())
        return (least, most) if found is None else (max(least, found[0]), min(most, found[1]))

    @property
    def anyway(self) -> Told[int] | None:
        """What is known anyway, where it is worth telling."""
        (low, high), (least, most) = self.known, self.possible
        return Told(low, high) if WORTH.get(self.query.kind, 2) * (high - low) <= most - least else None

    @cached_property
    def rungs(self) -> list[Rung]:
        """Its rungs, as far as they say more than what is known anyway."""
        low, high = self.known
        return [rung for rung in self.all_rungs if rung.cell(low) < rung.cell(high)]

    def narrowest(self, allowance: Allowance) -> Cells | None:
        """The narrowest rung whose cells keep the limit; None where none is found.

        Cells of one rung are about as those of the rung before together, so what fails on one fails on all
        before it: rungs are looked at by halves. Where nothing but what can be told of all the rest is
        missing, narrower ones are looked at first: their ends lie elsewhere.
        """
        found, first, last, wider = None, 0, len(self.rungs), list[tuple[int, int]]()
        while self.judgeable and (first < last or wider) and not allowance.over:
            if first >= last:
                first, last = wider.pop()
                continue
            middle = (first + last) // 2
            rung = self.rungs[middle]
            good = self._good(rung, allowance)
            cells = self._outwards(rung, good) if good else None
            if not good:
                first = middle + 1
                continue
            if cells is None:
                wider.append((middle + 1, last))
            else:
                found, wider = cells, []
            last = middle
        return found

    @property
    def _answers(self) -> list[int]:
        """Hypothetical ones."""
        answers: list[int] = self.query.of(self.case.system.tables[: self.rules.worlds]).tolist()
        return answers

    def _good(self, rung: Rung, allowance: Allowance) -> list[int]:
        """The cells of hypothetical answers that keep the limit, ascending; none where too many do not."""
        answers = self._answers
        allowed = int(self.rules.delta * len(answers) + 1e-9)
        broken, good = 0, list[int]()
        for cell in sorted({rung.cell(each) for each in answers}):
            part = self._for_one(allowance)
            if self.shown(rung.told(cell, cell), part, True, rung.width) is not None:
                good.append(cell)
            else:
                broken += sum(rung.cell(each) == cell for each in answers)
            allowance.spend(LOOK * self.rules.steps - part.steps)
            if broken > allowed or allowance.over:
                return []
        return good

    def _outwards(self, rung: Rung, good: Sequence[int]) -> Cells | None:
        """How far outwards cells keep the limit; None where one cell would be told as either end.

        What is told of those beyond is shown here, not once the true answer is known.
        """
        low = self._tail(rung, -1, good)
        high = None if low is None else self._tail(rung, 1, good[::-1])
        if low is None or high is None or low[0] >= high[0]:
            return None
        return Cells(rung, low[0], high[0], (low[1], high[1]))

    def _tail(self, rung: Rung, way: int, good: Sequence[int]) -> tuple[int, Told[int]] | None:
        """The outermost cell one way of which it is shown that it may be told with all beyond it, and how.

        Args:
            rung: The cells.
            way: 1 or -1.
            good: Those of hypothetical answers that keep the limit, the outermost first.
        """
        other, last = (rung.cell(each) for each in self.known[::way])
        beyond = self._beyond(rung, way, last, good[0])
        # all of the next cells together may be told where the next one alone may not
        nearest = [] if beyond or good[0] == last else [good[0] + way]
        for cell in [*beyond, *nearest, *good][:TAILS]:
            if cell == other:
                continue  # with all of them it says nothing
            # spare records make up for no more than past answers leave
            end = last if rung.whole else (0 if way < 0 else rung.last)
            told = rung.told(min(cell, end), max(cell, end), way)
            if self.shown(told, self._for_one(), False, rung.width) is not None:
                return cell, told
        return None

    def _beyond(self, rung: Rung, way: int, last: int, inmost: int) -> list[int]:
        """Further cells one way, 1 or -1, that keep the limit, the outermost first; so far as is looked."""
        found, good, bad, step = list[int](), inmost, None, 1
        for _ in range(LOOKS):
            if way * good >= way * last or (bad is not None and abs(bad - good) <= 1):
                break
            candidate = way * min(way * last, way * good + step)
            if bad is not None:
                candidate = good + way * (abs(bad - good) // 2)
            if self.shown(rung.told(candidate, candidate), self._for_one(), False, rung.width) is not None:
                good, step = candidate, LONGER * step
                found.append(candidate)
            else:
                bad = candidate
        return found[::-1]

    def _for_one(self, of: Allowance | None = None) -> Allowance:
        """What may be spent on one candidate, of what may be spent on all."""
        allowance = Allowance(LOOK * self.rules.steps)
        allowance.end_in(self.rules.seconds if of is None else of.seconds)
        return allowance
