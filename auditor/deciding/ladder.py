"""A range where the exact sum cannot be told: the fixed public cell it lies in, as narrow as it may be.

A rung of the ladder cuts all possible answers to a query into cells of one width. They hang on no data and on
no earlier answers. A cell is as wide as so many spare records can make up for, 1, 2, 4 and so on, and what is
told of it is an exact answer about these and the query's own (`recorded`): the engine, the posterior and the
ledger know it as they know ends. From the narrowest rung on, the cells of the hypothetical answers are judged
as if they were the answer. The first rung is taken of which no more than δN fail, and of which is shown what
can be told of the rest: cells outwards are judged too, and what lies beyond the last of them is told with it,
as "at most" or "at least".

Promise: the rung, and what it tells of which answer, follow from past answers, the question and hypothetical
answers. All of it is shown to keep the limit before the true answer is looked at, but for cells that lie
between two that were.

Source: `mathematics.md`, 8 (ranges instead of refusals).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from auditor.deciding.cases import Case, Drawn, Judged, Values
from auditor.deciding.hypothetical import by_what_is_likely
from auditor.deciding.looks import judged as judgement_of
from auditor.deciding.looks import look
from auditor.deciding.rules import Rules
from auditor.told import Told, exactly
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify.reach import reach
from cae_sql.inference.facts.query import Query
from cae_sql.inference.facts.spares import MOST

LOOKS = 6
"""Cells that are looked at outwards, on each side."""


@dataclass(frozen=True)
class Rung:
    """Cells of one width. In units."""

    case: Case
    """What is asked of one column: a single sum."""
    spares: int
    """As many records make up for what a cell leaves open."""
    query: Query
    """The sum and the spare records: its exact answer is the upper end of a cell."""

    @property
    def width(self) -> int:
        """How many answers lie in a cell."""
        return self.spares * int(self.case.system.grid.top) + 1

    @property
    def possible(self) -> tuple[int, int]:
        """The least and the greatest answer that the domain allows."""
        return self.case.system.possible(self.case.queries[0])

    @property
    def last(self) -> int:
        """Number of the last cell; the first one has 0."""
        return self.cell(self.possible[1])

    def cell(self, answer: int) -> int:
        """Number of the cell that an answer lies in."""
        return (answer - self.possible[0]) // self.width

    def upper(self, cell: int) -> int:
        """The greatest answer in a cell."""
        return self.possible[0] + (cell + 1) * self.width - 1

    def told(self, cells: Told[int]) -> Told[int]:
        """What is told of the answer where this is told of its cell."""
        least = None if cells.least is None else self.upper(cells.least - 1) + 1
        return Told(least, None if cells.most is None else self.upper(cells.most))

    def whole(self, cells: Told[int], way: int) -> Told[int]:
        """Several cells as whole domains of spare records: wider the way where there is nothing more.

        Wider the other way it would say less than what whoever knows the cells reads from it.
        """
        told, top = self.told(cells), int(self.case.system.grid.top)
        assert told.least is not None
        assert told.most is not None
        width = -(-(told.most - told.least) // top) * top
        if way < 0:
            return Told(told.most - width, told.most)
        return Told(told.least, told.least + width)

    def reach(self, allowance: Allowance) -> tuple[int, int]:
        """The first and the last cell that past answers leave something in, as far as is known."""
        question = self.case.question()
        found = reach(question.question_tables, self.case.queries[0], allowance)
        if found is None:
            return 0, self.last
        return max(0, self.cell(found[0])), min(self.last, self.cell(found[1]))

    @property
    def extended(self) -> Case:
        """What the system is asked where a cell is told."""
        return replace(self.case, queries=[self.query])


def rungs(case: Case) -> Iterator[Rung]:
    """The ladder of a single sum, the narrowest cells first; a cell with all answers in it says nothing."""
    query, top = case.queries[0], int(case.system.grid.top)
    spares = 1
    while spares <= MOST:
        found = case.system.within(query, 0, spares * top)
        if found is None:
            return
        rung = Rung(case, spares, found[0])
        if rung.last < 1:
            return
        yield rung
        spares *= 2


@dataclass(frozen=True)
class Cells:
    """What is told of a sum by one rung. As `Partition`, in units."""

    rung: Rung
    low: int
    """The first cell that is told as such, or with all below it."""
    high: int
    """The last cell that is told as such, or with all above it."""
    tails: tuple[Told[int] | None, Told[int] | None]
    """What is told of the first cell and those below that past answers leave, and of the last and those
    above; None where they leave nothing there."""

    def told(self, values: Sequence[int]) -> list[Told[int] | None]:
        """What is told of the answer; None where nothing can be."""
        cell = self.rung.cell(values[0])
        below, above = self.tails
        found: Told[int] | None = self.rung.told(exactly(cell))
        if cell < self.low or (below is not None and cell == self.low):
            found = below
        elif cell > self.high or (above is not None and cell == self.high):
            found = above
        return [found if found is not None and found.holds(values[0]) else None]

    def around(self, _: int) -> None:
        """No other range: one that hangs on the true answer would tell more than it says."""
        return


def narrowest(case: Case, rules: Rules, allowance: Allowance) -> Cells | None:
    """The narrowest rung whose cells keep the limit; None where none is found.

    Args:
        case: A single sum that past answers do not settle.
        rules: The policy.
        allowance: What may be spent on it.
    """
    answers = case.question().hypothetical(rules.worlds)
    for rung in rungs(case):
        worlds: dict[int, list[int]] = {}
        for values, these in answers.items():
            worlds.setdefault(rung.cell(values[0]), []).extend(these)
        judged = _judged(rung, worlds, rules, allowance)
        if allowance.over:
            return None
        found = None if judged is None else _outwards(rung, judged, rules, allowance)
        if found is not None:
            return found
    return None


def known_range(case: Case, allowance: Allowance) -> Told[int] | None:
    """What past answers say of a sum anyway, where that is at most half of what the domain allows.

    It tells nothing, and nobody needs to be shown to keep anything.
    """
    least, most = case.system.possible(case.queries[0])
    found = reach(case.question().question_tables, case.queries[0], allowance)
    if found is None or 2 * (found[1] - found[0]) > most - least or next(rungs(case), None) is None:
        return None
    return Told(max(least, found[0]), min(most, found[1]))


def _judged(
    rung: Rung, worlds: dict[int, list[int]], rules: Rules, allowance: Allowance
) -> dict[int, bool] | None:
    """Which cells of hypothetical answers keep the limit; None where too many do not."""
    case = rung.extended
    question, standard = case.question(), case.standard
    answers: dict[Values, list[int]] = {(rung.upper(cell),): these for cell, these in sorted(worlds.items())}
    allowed = int(rules.delta * sum(map(len, answers.values())) + 1e-9)
    judged: Judged = dict(question.judge_together(list(answers), standard, allowance, allowed))
    broken = set[int]()
    for values, these in answers.items():
        if values not in judged:
            judged[values] = judgement_of(case, values, allowance)
        broken |= set() if judged[values].safe else set(these)
        if len(broken) > allowed or allowance.over:
            return None
    drawn = Drawn(case, answers, allowed, judged)
    if by_what_is_likely([case], drawn, broken, allowance) is not None:
        return None
    return {rung.cell(values[0]): judgement.safe for values, judgement in judged.items()}


def _outwards(rung: Rung, judged: dict[int, bool], rules: Rules, allowance: Allowance) -> Cells | None:
    """How far outwards cells keep the limit, and what is told of those beyond; None where nothing can be.

    What is told of them is shown to keep the limit here, not once the true answer is known.
    """
    reach, kept = rung.reach(allowance), [cell for cell, safe in judged.items() if safe]
    ends, tails = list[int](), list[Told[int] | None]()
    for way, last, inmost in ((-1, reach[0], min(kept)), (1, reach[1], max(kept))):
        end = _end(rung, way, last, inmost, judged, rules)
        ends.append(end)
        if way * end >= way * last:
            tails.append(None)
            continue
        # no further than past answers leave something: so many spare records fewer are needed
        tail = rung.whole(Told(last, end) if way < 0 else Told(end, last), way)
        if not look(rung.case, [tail], rules).safe:
            return None
        tails.append(tail)
    if ends[0] == ends[1] and None not in tails:
        return None  # one cell would be told as either end, and both together tell more than they say
    return Cells(rung, ends[0], ends[1], (tails[0], tails[1]))


def _end(rung: Rung, way: int, last: int, inmost: int, judged: dict[int, bool], rules: Rules) -> int:
    """The last cell one way, 1 or -1, that keeps the limit, as far as is looked for."""
    good, bad, step = inmost, None, 1
    failed = [way * cell for cell, safe in judged.items() if not safe and way * cell > way * inmost]
    bad = way * min(failed) if failed else None
    for _ in range(LOOKS):
        if way * good >= way * last or (bad is not None and abs(bad - good) <= 1):
            break
        candidate = way * min(way * last, way * good + step)
        if bad is not None:
            candidate = good + way * (abs(bad - good) // 2)
        if look(rung.extended, [exactly(rung.upper(candidate))], rules).safe:
            good, step = candidate, 2 * step
        else:
            bad = candidate
    return good


def is_on_a_ladder(cases: Sequence[Case]) -> bool:
    """Whether a range may be told of what is asked: a single sum."""
    return len(cases) == 1 and [query.kind for query in cases[0].queries] == ["sum"]
