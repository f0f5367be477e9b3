"""A range where the exact sum cannot be told: the fixed public cell it lies in, as narrow as it may be.

A rung of the ladder cuts all possible answers to a query into cells of one width. They hang on no data and on
no earlier answers. A cell is as wide as so many spare records can make up for, 1, 2, 4 and so on, and what is
told of it is an exact answer about these and the query's own (`recorded`): the engine, the posterior and the
ledger know it as they know ends. From the narrowest rung on, the cells of the hypothetical answers are judged
as if they were the answer; the first rung of which no more than δN fail is taken. Then cells outwards are
judged as answers are (`partition`), and what lies beyond the last one is told as "at most" or "at least".

Promise: the rung and its partition follow from past answers, the question and hypothetical answers.

Source: `mathematics.md`, 8 (ranges instead of refusals).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from auditor.deciding.cases import Case, Drawn, Judged, Values
from auditor.deciding.hypothetical import by_what_is_likely
from auditor.deciding.looks import end_is_kept_by, is_kept_by, is_not_excluded_by
from auditor.deciding.partition import Partition, possible
from auditor.deciding.rules import Rules
from auditor.told import Told
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify.reach import reach
from cae_sql.inference.facts.query import Query
from cae_sql.inference.facts.spares import MOST
from cae_sql.inference.search.judging import Judgement


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
        return possible(self.case.queries[0], int(self.case.system.grid.top))

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


@dataclass
class Cells:
    """What is told of a sum by one rung. As `Partition`, in units."""

    rung: Rung
    partition: Partition
    """Of the cells."""

    def told(self, values: Sequence[int]) -> list[Told[int] | None]:
        """What is told of the answer."""
        (cells,) = self.partition.told([self.rung.cell(values[0])])
        return [None if cells is None else self.rung.told(cells)]

    def around(self, value: int) -> Told[int] | None:
        """The cells between the nearest ones that were shown."""
        cells = self.partition.around(self.rung.cell(value))
        return None if cells is None else self.rung.told(cells)


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
        if judged is not None:
            return Cells(rung, _partition(rung, judged, rules, allowance))
    return None


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
            safe = is_not_excluded_by(case, values, allowance)
            judged[values] = Judgement(safe, standard.need if safe else -1)
        broken |= set() if judged[values].safe else set(these)
        if len(broken) > allowed or allowance.over:
            return None
    drawn = Drawn(0, case, answers, allowed, judged)
    if by_what_is_likely([case], drawn, broken, allowance) is not None:
        return None
    return {rung.cell(values[0]): judgement.safe for values, judgement in judged.items()}


def _partition(rung: Rung, judged: dict[int, bool], rules: Rules, allowance: Allowance) -> Partition:
    return Partition(
        kinds=["sum"],
        possible=[(0, rung.last)],
        reach=[rung.reach(allowance)],
        settled=[False],
        far=MOST // rung.spares,
        step=1,
        judge=lambda cells: is_kept_by(rung.extended, (rung.upper(cells[0]),), rules),
        judge_end=lambda cells: end_is_kept_by(rung.case, rung.told(cells), rules),
        kept=[(cell,) for cell, safe in judged.items() if safe],
        broken=[(cell,) for cell, safe in judged.items() if not safe],
    )


def is_on_a_ladder(cases: Sequence[Case]) -> bool:
    """Whether a range may be told of what is asked: a single sum."""
    return len(cases) == 1 and [query.kind for query in cases[0].queries] == ["sum"]
