"""A range of a statistic that no exact value is told of (`cells`): counts, quantiles, weighted sums, spreads.

What is shown of a cell is shown by tables that keep it true, by whom they hold
(`cae_sql.inference.facts.ranges`) or by a margin (`cae_sql.inference.tables.margins`), and what it makes
likely is an observation with noise (`cae_sql.inference.posterior.noisy`). Nothing exact is ever told of such
a statistic. What past answers leave of it is found by `cae_sql.inference.certify.known_anyway`.

Source: `mathematics.md`, 8 (any statistic can be a range).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from auditor.deciding.cases import NOTHING, Case, KeptRange, Part
from auditor.deciding.cells import Ladder, Rung
from auditor.deciding.recorded import Recorded
from auditor.deciding.rules import Rules
from auditor.told import Told
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify.known_anyway import KnownAnyway
from cae_sql.inference.facts.query import Kind, Query
from cae_sql.inference.facts.ranges import kept_of
from cae_sql.inference.standard import Judgement

KINDS = ("count", "quantile", "weighted", "spread")
PAYERS = 6
"""Members of whom the narrowest cells leave open where they are, besides those that may be elsewhere: others
must be able to make up for a change, now and in later questions."""
LARGE, MOST_PAYERS = 64, 16
"""For spreads one more for each so many members, up to so many: of large groups a cell that is twice as wide
says nearly as much, and leaves room for what others pay in later questions."""
RISK = 0.5
"""Of who weighs more than others in a weighted sum, where the limit is none of risk."""


def within(narrow: Told[int], wide: Told[int]) -> bool:
    """Whether whatever is in one range is in the other."""
    least = wide.least is None or (narrow.least is not None and narrow.least >= wide.least)
    return least and (wide.most is None or (narrow.most is not None and narrow.most <= wide.most))


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
        rung = Rung(possible(query, top), width)
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


class StatisticLadder(Ladder):
    """The ladder of a statistic."""

    def __init__(self, case: Case, rules: Rules) -> None:
        """Judge nothing yet."""
        super().__init__(case, rules)
        self.spare = case.system.spare_in(self.query, case.standard.insiders)
        self.judgeable = _judgeable(case)
        self._seen: dict[Told[int], Evidence] = {}

    @property
    def all_rungs(self) -> Iterator[Rung]:
        """Cells twice as wide from one to the next."""
        return rungs(self.query, self.top, self.spare)

    @property
    def possible(self) -> tuple[int, int]:
        """Of tables between 0 and the top."""
        return possible(self.query, self.top)

    def left(self, allowance: Allowance) -> tuple[int, int] | None:
        """By how far others can pay."""
        return KnownAnyway(self.case.system.roomy_table, allowance).between(self.query)

    def shown(self, told: Told[int], allowance: Allowance, renew: bool, width: int) -> Evidence | None:  # noqa: ARG002
        """By tables that keep what is told true. What was found is not looked for again."""
        if told not in self._seen:
            found = self._evidence(told, allowance, width)
            if found is None:
                return None
            self._seen[told] = found
        return self._seen[told]

    def part(self, told: Told[int], allowance: Allowance, renew: bool, width: int) -> Part:
        """What is kept of the range."""
        evidence = self.shown(told, allowance, renew, width)
        if evidence is None:
            return NOTHING
        return Part((Recorded(self.query, 0, told),), judgement=evidence.judgement, kept=evidence.kept)

    def _evidence(self, told: Told[int], allowance: Allowance, width: int) -> Evidence | None:
        system, standard = self.case.system, self.case.standard
        shares = kept_of(self.query, (told.least, told.most), self.top, width)
        # tables that keep a narrower range keep this one: what they show of everybody they show here
        inside = [each.kept.holding for seen, each in self._seen.items() if within(seen, told)]
        holding = inside[0] if inside else system.holding(shares, self.spare, standard, allowance)
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
        from cae_sql.inference.posterior.judging import LikelyKnowledge
        from cae_sql.inference.posterior.range_checks import says_too_much

        if self.query.kind != "weighted" or not isinstance(self.case.model, LikelyKnowledge):
            return False
        standard, ends = self.case.model.standard, (told.least, told.most)
        # a limit in bits says of no share how much may be lost
        most = RISK if standard.limit.risk is None else standard.limit.risk
        return says_too_much(self.case.model.likely, self.query, ends, most, standard.domain)


def _judgeable(case: Case) -> bool:
    """Whether it is known how to judge what a range makes likely: what it says of groups is not weighed.

    Nor where what is observed does not show in the bells of all values: of two values, say.
    """
    from cae_sql.inference.posterior.judging import LikelyKnowledge
    from cae_sql.inference.posterior.range_checks import sees

    model = case.model
    return model is None or (
        isinstance(model, LikelyKnowledge)
        and model.standard.baseline == "members"
        and sees(model.likely.tilt, model.standard.limit.risk)
    )
