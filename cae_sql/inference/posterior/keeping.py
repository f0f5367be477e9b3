"""`judging` by the posterior: would everybody keep a limit, were these the answers?

A record's risk is 1 − A / A_baseline of its posterior (`members`), its entropy H(ε); with an insider, also of
what each other record's value would make of it, up to the ends of what the sums leave the insider (`pairs`).

Promise: fail closed. Where λ is not found, costs too much, or so few tables are left that the formula cannot
be relied upon, nothing is shown.

Source: `mathematics.md`, 4 and 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cae_sql.cached import cached_property
from cae_sql.domain import Domain
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.atoms import Atoms
from cae_sql.inference.facts.query import Answer, Query
from cae_sql.inference.facts.spares import with_spares
from cae_sql.inference.intervals.bounds import solved
from cae_sql.inference.posterior.counts import Counts
from cae_sql.inference.posterior.fit import FOUND, Fit, Start
from cae_sql.inference.posterior.insiders import (
    Given,
    Measure,
    bells_of,
    counted_with_insider,
)
from cae_sql.inference.posterior.judging import UNKNOWN, AsItStands, ModelJudgement, Question, breaks
from cae_sql.inference.posterior.likely import Asked, Likely
from cae_sql.inference.posterior.members import (
    Baseline,
    Baselines,
    held,
)
from cae_sql.inference.posterior.pairs import risks_with_insider
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.inference.posterior.windows import Tilt, Windows
from cae_sql.inference.system import AnsweredSystem
from cae_sql.risk import Limit

PAIR = 3
"""Steps for a record and an insider that are looked at together, bounds included: the 74 million pairs of a
day of wages took 3.2 s on a busy machine."""


@dataclass(frozen=True)
class LikelyStandard:
    """What everybody must keep by what is likely."""

    limit: Limit
    domain: Domain
    """At whose step values are judged."""
    baseline: Baseline = "members"
    insiders: int = 0
    """0, or 1: somebody who knows their own value."""


@dataclass(frozen=True, eq=False)
class _SoFar:
    """What is kept of fewer answers, for after the next one."""

    answers: list[Answer]
    atoms: Atoms
    """The partition that they make."""
    start: Start


class LikelyKnowledge(AsItStands["LikelyQuestion"]):
    """What the answers of a system make likely, to be asked as long as they are all."""

    def __init__(
        self, system: AnsweredSystem, standard: LikelyStandard, before: LikelyKnowledge | None = None
    ) -> None:
        """Work out nothing yet.

        Args:
            system: What was answered.
            standard: What everybody must keep.
            before: Of the same system with fewer answers: where it was fitted, less is left to do.
        """
        super().__init__(system, lambda queries: LikelyQuestion(self, queries))
        self.standard = standard
        self._before = None if before is None else before._so_far()
        self._fitted = list[Answer]()
        """All answers, once they are fitted."""
        self._counts: Counts = Counts() if before is None else before._counts

    def _so_far(self) -> _SoFar | None:
        """None where nothing was fitted, or no λ was found."""
        likely = vars(self).get("likely")
        if likely is None or "fit" not in vars(likely):
            return self._before
        fit = likely.fit.sums_alone
        if fit.off > FOUND:
            return None
        return _SoFar(self._fitted, likely.known.atoms, Start(fit.observed.sums, fit.point))

    def _parted(self, answers: Sequence[Answer]) -> Atoms | None:
        """The partition that answers make, if it is the kept one refined; None where it is to be made."""
        before = self._before
        if before is None or self.system.observed or len(before.atoms.labels) != self.system.first_spare:
            return None
        known, size = len(before.answers), self.system.first_spare
        if [id(each) for each in answers[:known]] != [id(each) for each in before.answers]:
            return None
        new = answers[known:]
        if with_spares(size, new) > size:
            return None  # spare records come behind all answers at once
        atoms = before.atoms.copy()
        for answer in new:
            atoms.refine(answer)
        return atoms

    @cached_property
    def baselines(self) -> Baselines:
        """What posteriors are held against, whatever is answered."""
        tilt, top = self.likely.tilt, self.likely.top
        return held(tilt, top, self.standard.domain, self.standard.baseline)

    @cached_property
    def likely(self) -> Likely:
        """Of the past answers.

        Raises:
            InvalidInput: a domain that does not fit the grid.
        """
        answers = list(self.system.answers)
        self._fitted = answers
        found = solved(
            self.system.size, self.system.grid, answers, range(len(answers)), 1, self._parted(answers),
            self.system.lumps,
        )  # fmt: skip
        windows = Windows.of(self.system.grid, self.standard.domain)
        tilt = Tilt(windows, self.system.prior)
        known = found.known.refined(self.system.observed).observing(self.system.observed)
        start = None if self._before is None else self._before.start
        top, ways = int(self.system.grid.top), self.system.ways
        return Likely(known, found.sums, tilt, top, start=start, ways=ways, counts=self._counts)


class LikelyQuestion(Question):
    """What some queries' answers would make likely, by the posterior."""

    def __init__(self, past: LikelyKnowledge, queries: Sequence[Query]) -> None:
        """Work out nothing yet."""
        super().__init__(queries)
        self._past, self._standard = past, past.standard
        self.smooth = all(query.kind == "sum" for query in queries)
        """Leverage hardly hangs on sums: those between two that keep a limit keep it. Where sums are no bell
        what is known does: once such a hypothetical answer has been judged, it is False. Extremes do, too:
        who attains a rare one stands out, whatever lesser and greater ones would leave."""

    def _found(self, values: tuple[int, ...], allowance: Allowance, keep: bool) -> ModelJudgement:
        likely = self._asked.given(values, allowance)
        found = self._judge(likely, allowance)
        if keep and likely.heaped.any():
            self.smooth = False
        return found

    @cached_property
    def _asked(self) -> Asked:
        return Asked(self._past.likely, self.queries)

    @property
    def _insiders(self) -> int:
        return self._standard.insiders * self._past.system.ways.likely_insiders_benchmark_only

    def _judge(self, likely: Likely, allowance: Allowance) -> ModelJudgement:
        domain, limit, held = self._standard.domain, self._standard.limit, self._past.baselines
        likely.tilt.windows.check_rows(likely.known.count)
        if not likely.fit.off <= FOUND:
            return UNKNOWN
        mine = np.flatnonzero(likely.known.protected)
        if not likely.reliable[mine].all():
            self._leave_open(likely, mine[~likely.reliable[mine]])
            return UNKNOWN
        # each with how bad it may be
        measures = [(Measure(domain, held), 1.0 if limit.risk is None else float(limit.risk))]
        if limit.epsilon is not None:
            least = 0.0 if limit.min_entropy is None else float(limit.min_entropy)
            measures.append((Measure(domain, held, float(limit.epsilon)), -least))
        worst = [self._alone(likely, mine, *each) for each in measures]
        if self._insiders:
            some = mine[likely.heaped[mine]]
            if len(some):  # what insiders make of sums that are no bell is counted, or not known
                if not _keeps(limit, worst):
                    return ModelJudgement(False, worst[0])  # to count takes long
                if not counted_with_insider(likely, measures[0][0]).atoms[some].all():
                    return UNKNOWN
            known = [self._with_insider(likely, *each, allowance) for each in measures]
            worst = np.maximum(worst, known).tolist()  # what is no number stays
        return ModelJudgement(_keeps(limit, worst), worst[0])

    def _leave_open(self, likely: Likely, atoms: Ints) -> None:
        """Say because of which queries some atoms have too little: those about them, or else those of their
        components."""
        labels, of_records = likely.known.components, likely.known.atoms.labels
        lost = np.isin(of_records, atoms)
        about = [place for place, query in enumerate(self.queries) if lost[query.members].any()]
        if not about:
            own = labels[of_records[[int(query.members[0]) for query in self.queries]]]
            about = np.flatnonzero(np.isin(own, labels[atoms])).tolist()
        self.open = sorted({*self.open, *about})

    def _alone(self, likely: Likely, mine: Ints, measure: Measure, enough: float) -> float:
        """How bad the worst of some atoms is, or with insiders a bound where it keeps the limit.

        With insiders, of whom the formula is all that is said: they see more, and are looked at in any case.
        """
        if self._insiders and measure.epsilon is None:
            mine = mine[~likely.plain[mine]]
        if not len(mine):
            return -np.inf
        each = [self._each(by, mine, measure, enough) for by in likely.both]
        bad = measure.judged(each[-1], each[0])
        self._leave_open(likely, mine[~(bad <= enough)])
        return float(bad.max())

    def _each(self, likely: Likely, atoms: Ints, measure: Measure, enough: float) -> Floats:
        """(r,) how bad each of some atoms is, or with insiders a bound where it keeps the limit.

        What is counted, or mixed, is no bell q. Where p ≥ c q, p is a mixture
        of c parts q and 1 − c parts of something else, so that A(p) ≥ c A(q), A being concave.
        """
        rows, base = likely.rows_of(atoms), measure.baselines.of(likely)[atoms]
        if not self._insiders or measure.epsilon is not None:
            return measure.bad(measure.left(rows), base)
        columns = np.searchsorted(likely.fit.observed.atoms, atoms)
        bells = bells_of(likely, columns, Given(likely.fit.leverage[columns], likely.fit.shift[columns]))
        like = bells.rows(likely.tilt)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            part = np.where(like > 0, rows / like, 1.0).min(axis=1)
        bad = measure.bad(np.minimum(part, 1.0) * measure.table().least(bells), base)
        open_ = np.flatnonzero(~(bad <= enough))
        bad[open_] = measure.bad(measure.left(rows[open_]), base[open_])
        return bad

    def _with_insider(self, likely: Likely, measure: Measure, enough: float, allowance: Allowance) -> float:
        """How bad the worst is that an insider's value can bring about."""
        ends, counted = ends_of(likely.fit), counted_with_insider(likely, measure)
        by_formula = risks_with_insider(likely, ends, measure, enough, counted.atoms)
        allowance.spend(PAIR * by_formula.pairs)
        each = np.where(counted.atoms, counted.risk, by_formula.risk)
        worst = float(each.max())
        if not worst <= enough:
            self._leave_open(likely, np.flatnonzero(~(each <= enough)))
        return worst


def _keeps(limit: Limit, worst: Sequence[float]) -> bool:
    """Whether the greatest risk, and −H(ε) where it is asked for, keep a limit."""
    entropy = -np.array(worst[1:]) if len(worst) > 1 else None
    return not breaks(limit, np.array(worst[:1]), entropy).any()


def ends_of(fit: Fit) -> Floats:
    """(q, 2) between which the value of one record of each column lies, in units, by each sum alone."""
    seen = fit.observed
    matrix, low, high = seen.matrix, seen.low.astype(np.float64), seen.high.astype(np.float64)
    found = np.stack([low, high], axis=1)
    if not matrix.nnz:
        return found

    up, down = matrix.maximum(0), (-matrix).maximum(0)
    least = up @ (seen.sizes * low) - down @ (seen.sizes * high)
    most = up @ (seen.sizes * high) - down @ (seen.sizes * low)
    # what each sum has above its least, and below its greatest
    above, below = np.maximum(seen.sums - least, 0.0), np.maximum(most - seen.sums, 0.0)
    by, positive = np.abs(matrix.data), matrix.data > 0
    rise = np.where(positive, above[matrix.indices], below[matrix.indices]) / by
    fall = np.where(positive, below[matrix.indices], above[matrix.indices]) / by
    filled = np.flatnonzero(np.diff(matrix.indptr))
    starts = matrix.indptr[filled]
    found[filled, 1] = np.minimum(high[filled], low[filled] + np.minimum.reduceat(rise, starts))
    found[filled, 0] = np.maximum(low[filled], high[filled] - np.minimum.reduceat(fall, starts))
    return found
