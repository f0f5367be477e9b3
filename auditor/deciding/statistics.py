"""A range of a statistic that no exact value is told of: counts, quantiles, weighted sums, spreads.

As on the ladder of sums (`ladder`): a rung cuts all possible answers into cells of one width, which hang on
no data; from the narrowest on, the cells of hypothetical answers are judged as if they were told, and the
first rung is taken of which no more than δN fail. Cells outwards are judged too, and what lies beyond the
last of them is told with it, as "at most" or "at least".

What is shown of a cell is shown by tables that keep it true, by whom they hold
(`cae_sql.inference.facts.shares`) or by a margin (`cae_sql.inference.tables.margins`), and what it makes
likely is an observation with noise (`cae_sql.inference.posterior.noisy`). Nothing exact is ever told of such
a statistic.

Past answers leave a statistic between two ends anyway (`cae_sql.inference.certify.known_anyway`). Cells that
lie beyond need not be shown, a rung of which all that is left lies in one cell tells nothing, and where no
rung can be told these ends are, if they are worth it.

Promise: the rung, and what it tells of which answer, follow from past answers, the question and hypothetical
answers; all of it is shown to keep the limit before the true answer is looked at, but for cells that lie
between two that were, and for what is known anyway, which tells nothing.

Source: `mathematics.md`, 8 (any statistic can be a range).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from auditor.deciding.cases import NOTHING, Case, KeptRange, Outcome, Part
from auditor.deciding.recorded import Recorded
from auditor.deciding.rules import TRUE_ANSWER_FACTOR, Budget, Rules
from auditor.told import Told
from cae_sql.cached import cached_property
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify.known_anyway import KnownAnyway
from cae_sql.inference.facts.query import Kind, Query
from cae_sql.inference.facts.shares import kept_of
from cae_sql.inference.search.judging import Judgement
from cae_sql.threads import alone

KINDS = ("count", "quantile", "weighted", "spread")
LOOK = 1 / 8
"""Part of a decision's work that may be spent on one candidate: with that of ranges, eight are looked at."""
TAILS = 4
"""Cells that are tried as the last one, from the outermost inwards."""
PAYERS = 6
"""Members of whom the narrowest cells leave open where they are, besides those that may be elsewhere: others
must be able to make up for a change, now and in later questions."""
LARGE, MOST_PAYERS = 64, 16
"""For spreads one more for each so many members, up to so many: of large groups a cell that is twice as wide
says nearly as much, and leaves room for what others pay in later questions."""
RISK = 0.5
"""Of who weighs more than others in a weighted sum, where the limit is none of risk."""
WORTH = {"weighted": 4}
"""A range that is known anyway is told where what the domain allows is so many times as wide, or more; else
twice, as of sums. Weighted sums are mostly covariances: on ACS half said "−1.04 … 2.2" of a correlation."""
LOOKS, LONGER = 9, 3
"""Cells that are looked at outwards, on each side, and how many times as far out each next one is."""


def within(narrow: Told[int], wide: Told[int]) -> bool:
    """Whether whatever is in one range is in the other."""
    least = wide.least is None or (narrow.least is not None and narrow.least >= wide.least)
    return least and (wide.most is None or (narrow.most is not None and narrow.most <= wide.most))


def is_statistic(cases: Sequence[Case]) -> bool:
    """Whether something is asked of which ranges alone are told."""
    return any(query.kind in KINDS for case in cases for query in case.queries)


@dataclass(frozen=True)
class Rung:
    """Cells of one width, all that a statistic may be."""

    query: Query
    top: int
    """Greatest value of a record, in units."""
    width: int

    @property
    def last(self) -> int:
        """Number of the last cell; the first one has 0. What is left beyond whole cells is the last one's."""
        least, most = possible(self.query, self.top)
        return (most - least + 1) // self.width - 1

    def cell(self, answer: int) -> int:
        """Number of the cell that an answer lies in."""
        return min((answer - possible(self.query, self.top)[0]) // self.width, self.last)

    def told(self, first: int, last: int) -> Told[int]:
        """What some cells say together: no end where the domain ends."""
        start = possible(self.query, self.top)[0]
        least = start + first * self.width if first > 0 else None
        return Told(least, start + (last + 1) * self.width - 1 if last < self.last else None)


def possible(query: Query, top: int) -> tuple[int, int]:
    """The least and the greatest answer of tables between 0 and the top."""
    size = len(query.members)
    if query.kind == "weighted":
        weights = query.coefficients
        assert weights is not None
        return top * int(np.minimum(weights, 0).sum()), top * int(np.maximum(weights, 0).sum())
    if query.kind == "spread":
        # half at either end
        return 0, top**2 * (size // 2) * (size - size // 2) // size
    return 0, size if query.kind == "count" else top


def rungs(query: Query, top: int, spare: int) -> Iterator[Rung]:
    """The ladder, the narrowest cells first; a cell with all answers in it says nothing."""
    # narrower cells leave no room for those who may be elsewhere; nothing is told exactly
    size = len(query.members)
    width = 2 * spare + 1 if query.kind == "count" else 2
    if query.kind == "weighted":
        assert query.coefficients is not None
        width = top * int(np.sort(np.abs(query.coefficients))[-(spare + PAYERS) :].sum())
    elif query.kind == "spread":
        payers = max(PAYERS, min(size // LARGE, MOST_PAYERS))
        width = (spare + payers) * top**2 // 2
    width = 1 << (width - 1).bit_length()
    while True:
        rung = Rung(query, top, width)
        if rung.last < 1:
            return
        yield rung
        width *= 2


def width_of(query: Query, told: Told[int], top: int, spare: int) -> int:
    """How wide the cells of a range were that a ledger has; of an end the narrowest that there are."""
    if told.least is not None and told.most is not None:
        return told.most - told.least + 1
    return next((rung.width for rung in rungs(query, top, spare)), 1)


@dataclass(frozen=True)
class Evidence:
    """What shows that everybody keeps the limit with something told."""

    kept: KeptRange
    """What the system keeps of it."""
    judgement: Judgement


def about(query: Query, told: Told[int], top: int) -> Query:
    """What a range of a statistic makes likely, as an observation with noise.

    Of a weighted sum, a spread and a count it is the range's own; what a quantile says of ranks is taken for
    exact.
    """
    size = len(query.members)
    if query.kind in ("weighted", "spread"):
        lowest, greatest = possible(query, top)
        least = lowest if told.least is None else told.least
        noise = Fraction(((greatest if told.most is None else told.most) - least + 1) ** 2, 12)
        kind: Kind = "about" if query.kind == "weighted" else "squares"
        return Query(kind=kind, members=query.members, coefficients=query.coefficients, part=noise)
    least, most = told.least or 0, size if told.most is None else told.most
    if query.kind == "count":
        width, share = most - least + 1, Fraction(least + most, 2 * size)
    else:
        width, share = 1, Fraction(query.ranks[0] + query.ranks[1] + 1, 2 * size)
    share = min(max(share, Fraction(1, size)), 1 - Fraction(1, size)) if size > 1 else Fraction(1, 2)
    return Query(kind="about", members=query.members, part=Fraction(width**2, 12) / (share * (1 - share)))


class Statistic:
    """A statistic that is asked, before anything about its true value is known."""

    def __init__(self, case: Case, rules: Rules) -> None:
        """Judge nothing yet."""
        self.case, self.rules, self.query = case, rules, case.queries[0]
        self.top = int(case.system.grid.top)
        self.spare = case.standard.insiders + 1
        self._seen: dict[Told[int], Evidence] = {}

    @cached_property
    def known(self) -> tuple[int, int]:
        """Between which ends past answers leave it anyway; those of the domain where that is not found."""
        # of its own: it takes little, and hangs on past answers and the question alone
        allowance = Allowance(LOOK * self.rules.steps)
        allowance.end_in(self.rules.seconds)
        found = KnownAnyway(self.case.system.roomy_table, allowance).between(self.query)
        least, most = possible(self.query, self.top)
        return (least, most) if found is None else (max(least, found[0]), min(most, found[1]))

    @property
    def anyway(self) -> Told[int] | None:
        """What is known anyway, where it is worth telling."""
        (low, high), (least, most) = self.known, possible(self.query, self.top)
        return Told(low, high) if WORTH.get(self.query.kind, 2) * (high - low) <= most - least else None

    @property
    def rungs(self) -> Iterator[Rung]:
        """Its ladder, as far as it says more than what is known anyway."""
        for rung in rungs(self.query, self.top, self.spare):
            if rung.cell(self.known[0]) < rung.cell(self.known[1]):
                yield rung

    def shown(self, told: Told[int], allowance: Allowance, renew: bool, width: int) -> Evidence | None:
        """Evidence for what is told; None where none is found. What was found is not looked for again.

        Args:
            told: The statistic's range.
            allowance: What may be spent.
            renew: Whether bases may be chosen anew: only where later verdicts may hang on it.
            width: Of the rung's cells.
        """
        if told not in self._seen:
            found = self._evidence(told, allowance, renew, width)
            if found is None:
                return None
            self._seen[told] = found
        return self._seen[told]

    def _evidence(self, told: Told[int], allowance: Allowance, renew: bool, width: int) -> Evidence | None:
        system, standard = self.case.system, self.case.standard
        shares = kept_of(self.query, (told.least, told.most), self.top, width)
        # tables that keep a narrower range keep this one: what they show of everybody they show here
        inside = [each.kept.holding for seen, each in self._seen.items() if within(seen, told)]
        holding = inside[0] if inside else system.holding(shares, self.spare, standard, allowance, renew)
        if holding is None or holding.judgement is None or not holding.judgement.safe:
            return None
        observed = about(self.query, self._left(told), self.top)
        if self.case.model is not None:
            likely = self.case.model.question([observed]).judge((0,), allowance, keep=False)
            if not likely.safe or self._leans(told):
                return None
        kept = KeptRange(tuple(shares), observed, self.spare, standard, holding)
        return Evidence(kept, holding.judgement)

    def _left(self, told: Told[int]) -> Told[int]:
        """What an end leaves: no more than is known anyway, so that it does not pass for wide."""
        low, high = self.known
        if told.least is None:
            return Told(min(low, told.most or 0), told.most)
        return Told(told.least, max(high, told.least)) if told.most is None else told

    def _leans(self, told: Told[int]) -> bool:
        """Whether where a weighted sum lies would say too much of who weighs more than others."""
        from cae_sql.inference.posterior.heavy import says_too_much
        from cae_sql.inference.posterior.keeping import LikelyKnowledge

        if self.query.kind != "weighted" or not isinstance(self.case.model, LikelyKnowledge):
            return False
        standard, ends = self.case.model.standard, (told.least, told.most)
        # a limit in bits says of no share how much may be lost
        most = RISK if standard.limit.risk is None else standard.limit.risk
        return says_too_much(self.case.model.likely, self.query, ends, most, standard.domain)

    def narrowest(self, allowance: Allowance) -> Cells | None:
        """The narrowest rung whose cells keep the limit; None where none is found.

        Cells of one rung are made of those of the rung before, so what fails on one fails on all before it:
        rungs are looked at by halves. Where nothing but what can be told of all the rest is missing, narrower
        ones are looked at first: their ends lie elsewhere.
        """
        rungs, found, first = list(self.rungs), None, 0
        last, wider = len(rungs), list[tuple[int, int]]()
        while (first < last or wider) and not allowance.over:
            if first >= last:
                first, last = wider.pop()
                continue
            middle = (first + last) // 2
            good = self._good(rungs[middle], allowance)
            cells = self._outwards(rungs[middle], good) if good else None
            if not good:
                first = middle + 1
                continue
            if cells is None:
                wider.append((middle + 1, last))
            else:
                found, wider = cells, []
            last = middle
        return found

    def _good(self, rung: Rung, allowance: Allowance) -> list[int]:
        """The cells of hypothetical answers that keep the limit, ascending; none where too many do not."""
        answers = self.query.of(self.case.system.tables[: self.rules.worlds]).tolist()
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
        first, last = (rung.cell(each) for each in self.known)
        low = self._tail(rung, -1, first, good)
        high = None if low is None else self._tail(rung, 1, last, good[::-1])
        return None if low is None or high is None or low >= high else Cells(rung, low, high)

    def _tail(self, rung: Rung, way: int, last: int, good: Sequence[int]) -> int | None:
        """The outermost cell one way of which it is shown that it may be told with all beyond it.

        Args:
            rung: The cells.
            way: 1 or -1.
            last: The last cell that way that past answers leave something in.
            good: Those of hypothetical answers that keep the limit, the outermost first.
        """
        beyond = self._beyond(rung, way, last, good[0])
        # all of the next cells together may be told where the next one alone may not
        nearest = [] if beyond or good[0] == last else [good[0] + way]
        for cell in [*beyond, *nearest, *good][:TAILS]:
            told = rung.told(0, cell) if way < 0 else rung.told(cell, rung.last)
            if told == Told(None, None):
                continue  # with all of them it says nothing
            if self.shown(told, self._for_one(), False, rung.width) is not None:
                return cell
        return None

    def _for_one(self, of: Allowance | None = None) -> Allowance:
        """What may be spent on one candidate, of what may be spent on all."""
        allowance = Allowance(LOOK * self.rules.steps)
        allowance.end_in(self.rules.seconds if of is None else of.seconds)
        return allowance

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


@dataclass(frozen=True)
class Cells:
    """What is told of a statistic by one rung."""

    rung: Rung
    low: int
    """The first cell that is told as such, or with all below it."""
    high: int
    """The last one, or with all above it."""

    def told(self, answer: int) -> Told[int]:
        """What is told of an answer: with an end fewer less is said, and nothing more need be shown."""
        cell = self.rung.cell(answer)
        if cell <= self.low:
            return self.rung.told(0, self.low)
        if cell >= self.high:
            return self.rung.told(self.high, self.rung.last)
        return self.rung.told(cell, cell)


def decide(cases: Sequence[Case], rules: Rules, budget: Budget) -> Outcome:
    """Decide on a single statistic; several, or one with something else, are refused."""
    if len(cases) != 1 or len(cases[0].queries) != 1:
        return Outcome("risk", tuple(NOTHING for _ in cases))
    statistic, judgeable = Statistic(cases[0], rules), _judgeable(cases[0])
    cells = None
    if rules.simulatable or not judgeable:
        with alone(), budget.ranges() as allowance:
            cells = statistic.narrowest(allowance) if judgeable else None
            if cells is None:
                return Outcome("time", (NOTHING,)) if allowance.late else _anyway(statistic)
    allowance = Allowance(TRUE_ANSWER_FACTOR * rules.steps)
    allowance.end_in(TRUE_ANSWER_FACTOR * rules.seconds)
    with alone(), budget.true_answers():
        answer = statistic.case.truth([statistic.query])[0]
        for told, width in _candidates(statistic, cells, answer):
            part = _recorded(statistic, told, width, allowance)
            if part is not None:
                return Outcome("safe", (part,))
        if cells is None:
            return _anyway(statistic)
    return Outcome("risk", (Part(surprise=True, given=False),))


def foresee(cases: Sequence[Case], rules: Rules, budget: Budget) -> Outcome | None:
    """What `decide` would refuse before it looks at the true answer, or None."""
    if len(cases) == 1 and len(cases[0].queries) == 1:
        statistic = Statistic(cases[0], rules)
        with alone(), budget.ranges() as allowance:
            if _judgeable(cases[0]) and statistic.narrowest(allowance) is not None:
                return None
            if not allowance.late and statistic.anyway is not None:
                return None
    return Outcome("risk", tuple(NOTHING for _ in cases))


def _anyway(statistic: Statistic) -> Outcome:
    """What is known anyway, which teaches nothing; else a refusal."""
    known = statistic.anyway
    if known is None:
        return Outcome("risk", (NOTHING,))
    return Outcome("safe", (Part((Recorded(statistic.query, 0, known),)),))


def _judgeable(case: Case) -> bool:
    """Whether it is known how to judge what a range makes likely: what it says of groups is not weighed.

    Nor where what is observed does not show in the bells of all values: of two values, say.
    """
    from cae_sql.inference.posterior.blind import sees
    from cae_sql.inference.posterior.keeping import LikelyKnowledge

    model = case.model
    return model is None or (
        isinstance(model, LikelyKnowledge)
        and model.standard.baseline == "members"
        and sees(model.likely.tilt, model.standard.limit.risk)
    )


def _candidates(statistic: Statistic, cells: Cells | None, answer: int) -> Iterator[tuple[Told[int], int]]:
    if cells is not None:
        yield cells.told(answer), cells.rung.width
        return
    for rung in statistic.rungs:
        yield rung.told(rung.cell(answer), rung.cell(answer)), rung.width


def _recorded(statistic: Statistic, told: Told[int], width: int, allowance: Allowance) -> Part | None:
    evidence = statistic.shown(told, allowance, False, width)
    if evidence is None:
        return None
    recorded = Recorded(statistic.query, 0, told)
    return Part((recorded,), judgement=evidence.judgement, kept=evidence.kept)
