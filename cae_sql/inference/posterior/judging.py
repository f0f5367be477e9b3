"""Would everybody keep a limit by what answers make likely, were these the answers?

A `…Knowledge` is what an answered system makes likely. A `…Question` belongs to it and some queries, and
judges one set of answers to them after the other. There are two models:

- `exact` (`Model…`): all tables that agree are equally likely, all of it is counted;
- the posterior (`Likely…`): counted, or the formula (`likely`), held against `baselines`; with an insider
  also given each value that another record may have (`insiders`).

A record's risk is 1 − A / A_baseline, its entropy H(ε). Records alone are judged: H(ε) and A are concave in
the probabilities, so the average over a class has at least those of the record with least.

Promise: fail closed. An estimate, what is no number, a λ that is not found, too few tables for the formula,
and what costs too much show nothing. Unless `keep` says so nothing of the answers judged is kept that later
verdicts could hang on.

Source: `mathematics.md`, 3, 4 and 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cae_sql.cached import cached_property
from cae_sql.domain import Domain
from cae_sql.errors import InconsistentAnswers, InvalidInput, OutOfTime
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.query import Query
from cae_sql.inference.intervals.presolve import LARGEST, narrow
from cae_sql.inference.posterior.baselines import Baseline, against, areas_of_rows, entropies_of_rows, held
from cae_sql.inference.posterior.components import Counts
from cae_sql.inference.posterior.fit import FOUND, Fit
from cae_sql.inference.posterior.insiders import Measure, counted_with_insider, risks_with_insider
from cae_sql.inference.posterior.likely import RELIABLE, Asked, Likely
from cae_sql.inference.posterior.marginals import about_everybody, counted_marginals
from cae_sql.inference.posterior.tilt import Tilt, Windows
from cae_sql.inference.posterior.unit_insiders import with_units
from cae_sql.inference.posterior.weights import Flags, Floats, Ints
from cae_sql.inference.system import AnsweredSystem
from cae_sql.risk import Limit

CLOSE = 1e-9
"""Risks and entropies are compared with this tolerance: what is counted is right to about so much."""
PAIR = 1
"""Steps for a record and an insider that are looked at together, bounds included: 20 to 30 ns were seen."""


@dataclass(frozen=True)
class ModelStandard:
    """What everybody must keep under `exact`."""

    limit: Limit
    domain: Domain
    """At whose step values are judged."""


@dataclass(frozen=True)
class LikelyStandard(ModelStandard):
    """What everybody must keep by the posterior."""

    baseline: Baseline = "members"
    insiders: int = 0
    """0, or 1: somebody who knows their own value."""


@dataclass(frozen=True)
class ModelJudgement:
    """How everybody would fare."""

    safe: bool
    """Whether everybody is shown to keep the limit."""
    risk: float | None
    """The greatest of a record; None where the model is not known."""

    @property
    def counted(self) -> bool:
        """Whether the model is known, so that it is what the limit was held against."""
        return self.risk is not None


UNKNOWN = ModelJudgement(False, None)


def breaks(limit: Limit, risk: Floats, entropy: Floats | None) -> Flags:
    """(r,) whether risks, and H(ε) where it is asked for, break a limit; what is no number does."""
    broken = np.zeros(len(risk), dtype=np.bool_)
    if limit.risk is not None:
        broken |= ~(risk <= limit.risk + CLOSE)
    if entropy is not None:
        broken |= ~(entropy >= (CLOSE if limit.min_entropy is None else limit.min_entropy - CLOSE))
    return broken


class ModelKnowledge:
    """What the answers of a system make likely under `exact`, to be asked as long as they are all."""

    def __init__(self, system: AnsweredSystem, standard: ModelStandard, counts: Counts | None = None) -> None:
        """`counts`: of the same system with fewer answers; it leaves less to do and changes nothing.

        Raises:
            InvalidInput: units have several records, and another limit than a risk is asked for.
        """
        if system.unit_of is not None and not self._knows_units(standard):
            raise InvalidInput(
                'units of several records need candidates = "posterior" and a risk as the limit: of others '
                "what answers make likely is not worked out"
            )
        self.system, self.standard, self.counts = system, standard, counts or Counts()
        self._version = system.version
        self._trial: ModelQuestion | None = None

    @staticmethod
    def _knows_units(standard: ModelStandard) -> bool:
        return isinstance(standard, LikelyStandard) and standard.limit.epsilon is None

    @property
    def current(self) -> bool:
        """Whether nothing was answered since."""
        return self.system.version == self._version

    def question(self, queries: Sequence[Query]) -> ModelQuestion:
        """What if these were answered, together, in this order? The last one asked for is kept."""
        names = [query.name for query in queries]
        if self._trial is None or [query.name for query in self._trial.queries] != names:
            self._trial = self._asked(queries)
        return self._trial

    def _asked(self, queries: Sequence[Query]) -> ModelQuestion:
        return ModelQuestion(self, queries)


class ModelQuestion:
    """What some queries' answers would make likely under `exact`."""

    smooth = False
    """Whether answers between two that keep a limit keep it. Not where each is counted: parity decides."""

    def __init__(self, past: ModelKnowledge, queries: Sequence[Query]) -> None:
        """Queries in the order in which they would be answered."""
        self.queries, self._past = list(queries), past
        self._judged: dict[tuple[int, ...], ModelJudgement] = {}
        self.open: list[int] = []
        """Queries because of which the last answers broke the limit, as far as that is known."""

    def judge(self, values: Sequence[int], allowance: Allowance, keep: bool = True) -> ModelJudgement:
        """How everybody would fare with these answers, and all past ones, known.

        Args:
            values: One answer per query, in units, with which some table agrees.
            allowance: What may be spent; nothing more is tried beyond it.
            keep: Whether later judgements may build on this one: not where the answers are the true ones.
        """
        name, self.open = tuple(values), []
        if name in self._judged:
            return self._judged[name]
        try:
            found, smooth = self._found(name, allowance)
        except (OutOfTime, InvalidInput, InconsistentAnswers):
            found, smooth = UNKNOWN, True
        if keep:
            self.smooth = self.smooth and smooth
        if keep and (found.counted or not allowance.over):
            self._judged[name] = found
        return found

    def _found(self, values: tuple[int, ...], allowance: Allowance) -> tuple[ModelJudgement, bool]:
        """As `judge`, of answers that were not judged before; and whether they leave it `smooth`."""
        system, limit, domain = self._past.system, self._past.standard.limit, self._past.standard.domain
        windows, counts = Windows.of(system.grid, domain), self._past.counts
        pairs = zip(self.queries, values, strict=True)
        answers = [*system.answers, *(query.answered(value) for query, value in pairs)]
        found, rows, missing = counted_marginals(system, answers, windows, counts, allowance)
        _, plain, unknown = counted_marginals(system, about_everybody(found), windows, counts)
        if missing.any() or unknown.any() or allowance.over:
            return UNKNOWN, False
        rows = rows[found.known.atoms.protected]
        risk, entropy = against(areas_of_rows(rows, domain), areas_of_rows(plain[:1], domain), domain), None
        if limit.epsilon is not None:
            entropy = entropies_of_rows(rows, domain, float(limit.epsilon))
        return ModelJudgement(not breaks(limit, risk, entropy).any(), float(risk.max())), False


class LikelyKnowledge(ModelKnowledge):
    """The same by the posterior."""

    standard: LikelyStandard

    @cached_property
    def measures(self) -> list[tuple[Measure, float]]:
        """Of risk, and where there is an ε of −H(ε), each with how bad it may be."""
        limit, domain = self.standard.limit, self.standard.domain
        baselines = held(self.likely.tilt, self.likely.top, domain, self.standard.baseline)
        found = [(Measure(domain, baselines), 1.0 if limit.risk is None else float(limit.risk))]
        if limit.epsilon is not None:
            least = 0.0 if limit.min_entropy is None else float(limit.min_entropy)
            found.append((Measure(domain, baselines, float(limit.epsilon)), -least))
        return found

    @cached_property
    def likely(self) -> Likely:
        """Of the past answers; `InvalidInput` where a domain does not fit the grid."""
        system, found = self.system, self.system.solved
        tilt = Tilt(Windows.of(system.grid, self.standard.domain), system.prior)
        known, top = found.known.refined(system.observed).observing(system.observed), int(system.grid.top)
        return Likely(known, found.sums, tilt, top, ways=system.ways, counts=self.counts)

    def _asked(self, queries: Sequence[Query]) -> LikelyQuestion:
        return LikelyQuestion(self, queries)


class LikelyQuestion(ModelQuestion):
    """The same by the posterior, with insiders."""

    _past: LikelyKnowledge

    def __init__(self, past: LikelyKnowledge, queries: Sequence[Query]) -> None:
        super().__init__(past, queries)
        self._insiders = past.standard.insiders * past.system.ways.likely_insiders_benchmark_only
        self.smooth = all(query.kind == "sum" for query in queries)
        """Leverage hardly hangs on what sums are. Where they are no bell what is known does, so it is False
        once such an answer has been judged; and a record that attains a rare extreme stands out."""

    @cached_property
    def _given(self) -> Asked:
        return Asked(self._past.likely, self.queries)

    def _found(self, values: tuple[int, ...], allowance: Allowance) -> tuple[ModelJudgement, bool]:
        likely = self._given.given(values, allowance)
        return self._judge(likely, allowance), not likely.heaped.any()

    def _judge(self, likely: Likely, allowance: Allowance) -> ModelJudgement:
        limit, measures = self._past.standard.limit, self._past.measures
        likely.tilt.windows.check_rows(likely.known.count)
        if not likely.fit.off <= FOUND:
            return UNKNOWN
        mine = np.flatnonzero(likely.known.protected)
        if not likely.reliable[mine].all():
            self._leave_open(likely, mine[~likely.reliable[mine]])
            return UNKNOWN
        if self._past.system.unit_of is not None:
            return self._judge_units(likely, mine, allowance)
        worst = np.array([self._alone(likely, mine, *each) for each in measures])
        if self._insiders and _keeps(limit, worst):
            some = mine[likely.heaped[mine]]  # what insiders make of these is counted, or not known
            if len(some) and not counted_with_insider(likely, measures[0][0]).atoms[some].all():
                return UNKNOWN
            known = [self._with_insider(likely, *each, allowance) for each in measures]
            worst = np.maximum(worst, known)  # what is no number stays
        return ModelJudgement(_keeps(limit, worst), float(worst[0]))

    def _judge_units(self, likely: Likely, mine: Ints, allowance: Allowance) -> ModelJudgement:
        """As `_judge`, of records, and of each unit's sums, whatever another unit, the insider, has.

        It is by the formula alone, so that all that sums are about must be relied upon by it.
        """
        (measure, enough), limit = self._past.measures[0], self._past.standard.limit
        tied = mine[likely.known.matrix[:, mine].any(axis=0)]
        unknown = tied[(likely.bits[tied] < RELIABLE) | likely.tangled[tied]]
        if len(unknown):
            self._leave_open(likely, unknown)
            return UNKNOWN
        found = np.full(likely.known.count, -np.inf)
        found[mine] = self._each_alone(likely, mine, measure)
        values = ends_of(likely.fit) if self._insiders else None
        if not with_units(likely, measure, values, found, enough, allowance):
            return UNKNOWN
        self._leave_open(likely, np.flatnonzero(~(found <= enough)))
        worst = np.array([found.max()])
        return ModelJudgement(_keeps(limit, worst), float(worst[0]))

    def _leave_open(self, likely: Likely, atoms: Ints) -> None:
        """Name the queries because of which atoms have too little: about them, or else their components."""
        labels, of_records = likely.known.components, likely.known.atoms.labels
        lost = np.isin(of_records, atoms)
        about = [place for place, query in enumerate(self.queries) if lost[query.members].any()]
        if not about:
            own = labels[of_records[[int(query.members[0]) for query in self.queries]]]
            about = np.flatnonzero(np.isin(own, labels[atoms])).tolist()
        self.open = sorted({*self.open, *about})

    def _alone(self, likely: Likely, mine: Ints, measure: Measure, enough: float) -> float:
        """How bad the worst of some atoms is."""
        bad = self._each_alone(likely, mine, measure)
        self._leave_open(likely, mine[~(bad <= enough)])
        return float(bad.max(initial=-np.inf))

    def _each_alone(self, likely: Likely, mine: Ints, measure: Measure) -> Floats:
        """(a,) how bad some atoms are. With insiders −∞ where the formula alone speaks: bounds over all
        insiders (`_with_insider`, `with_units`) hold without one, too."""
        bad = np.full(len(mine), -np.inf)
        some = np.ones(len(mine), dtype=np.bool_)
        if self._insiders and measure.epsilon is None:
            some = ~likely.plain[mine]
        mine = mine[some]
        if len(mine):
            each = []
            for by in likely.both:
                left = measure.left(by.rows_of(mine))
                each.append(measure.bad(left, measure.baselines.of(by)[mine]))
            bad[some] = measure.judged(each[-1], each[0])
        return bad

    def _with_insider(self, likely: Likely, measure: Measure, enough: float, allowance: Allowance) -> float:
        """How bad the worst is that an insider's value can bring about."""
        counted = counted_with_insider(likely, measure)
        by_formula, pairs = risks_with_insider(likely, ends_of(likely.fit), measure, enough, counted.atoms)
        allowance.spend(PAIR * pairs)
        each = np.where(counted.atoms, counted.risk, by_formula)
        if not each.max() <= enough:
            self._leave_open(likely, np.flatnonzero(~(each <= enough)))
        return float(each.max())


def _keeps(limit: Limit, worst: Floats) -> bool:
    """Whether the greatest risk, and −H(ε) where it is asked for, keep a limit."""
    return not breaks(limit, worst[:1], -worst[1:] if len(worst) > 1 else None).any()


def ends_of(fit: Fit) -> Floats:
    """(a, 2) least and greatest value of a record of each column of somebody, in units, by single sums."""
    seen = fit.sums_alone.observed
    starts, columns, entries = (
        each.astype(np.int64) for each in (seen.rows.indptr, seen.rows.indices, seen.rows.data)
    )
    low, high, others = seen.sizes * seen.low, seen.sizes * seen.high, seen.sizes - 1
    if not narrow(starts, columns, entries, seen.sums, low, high, LARGEST):
        raise InconsistentAnswers("no table inside the domain agrees with a sum")
    ends = np.maximum(seen.low, low - others * seen.high), np.minimum(seen.high, high - others * seen.low)
    return np.stack(ends, axis=1)[: seen.people].astype(np.float64)
