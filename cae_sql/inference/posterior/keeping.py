"""Would everybody keep a limit by what answers make likely, were these the answers?

A `LikelyKnowledge` is what an answered system makes likely; a `LikelyQuestion` belongs to it and some
queries, and judges what their answers would make likely, one set of answers after the other. A record's risk
is 1 − A / A_baseline of its posterior (`members`), its entropy H(ε); with an insider, also of what each other
record's value would make of it, up to the ends of what the sums leave the insider (`insiders`).

Records alone are judged: H(ε) and A are concave in the probabilities, so the average over a class, of
whatever records, has at least those of the record with least.

Promise: fail closed. Where λ is not found, costs too much, or so few tables are left that the formula cannot
be relied upon, nothing is shown.

Source: `mathematics.md`, 4 and 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from cae_sql.cached import cached_property
from cae_sql.domain import Domain
from cae_sql.errors import InconsistentAnswers, InvalidInput, OutOfTime
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.atoms import Atoms
from cae_sql.inference.facts.query import Answer, Query
from cae_sql.inference.facts.spares import with_spares
from cae_sql.inference.intervals.fixed_point import solved
from cae_sql.inference.posterior.areas import areas_of_rows, entropies_of_rows
from cae_sql.inference.posterior.asked import Asked
from cae_sql.inference.posterior.counts import Counts
from cae_sql.inference.posterior.figures import ClassFigures
from cae_sql.inference.posterior.insiders import (
    Measure,
    bells_of,
    risks_with_insider,
)
from cae_sql.inference.posterior.insiders_counted import counted_with_insider
from cae_sql.inference.posterior.judging import CLOSE, UNKNOWN, AsItStands, ModelJudgement
from cae_sql.inference.posterior.likely import FOUND, Fit, Flags, Likely, Start
from cae_sql.inference.posterior.members import (
    Baseline,
    Baselines,
    Risks,
    against,
    held,
    posterior_risks,
)
from cae_sql.inference.posterior.noisy import likely_of
from cae_sql.inference.posterior.pairs import Given
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.inference.posterior.windows import Tilt, Windows
from cae_sql.inference.system import AnsweredSystem
from cae_sql.risk import Epsilon, Limit

PAIR = 8
"""Steps for a record and an insider that are looked at together, bounds included: on the day of wages of 1988
eight million pairs took 0.5 to 0.9 s."""


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
        fit = likely.fit.of_sums or likely.fit
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
        return likely_of(known, found.sums, tilt, top, start, ways, self._counts)


class LikelyQuestion:
    """Some queries, asked together, and what their answers would make likely."""

    def __init__(self, past: LikelyKnowledge, queries: Sequence[Query]) -> None:
        """Work out nothing yet.

        Args:
            past: What is known.
            queries: In the order in which they would be answered.
        """
        self.queries = list(queries)
        self._past, self._standard = past, past.standard
        self._judged: dict[tuple[int, ...], ModelJudgement] = {}
        self.smooth = all(query.kind == "sum" for query in queries)
        """Leverage hardly hangs on sums: those between two that keep a limit keep it. Where sums are no bell
        what is known does: once such a hypothetical answer has been judged, it is False. Extremes do, too:
        who attains a rare one stands out, whatever lesser and greater ones would leave."""
        self.open: list[int] = []
        """Queries because of which the last answers broke the limit, as far as that is known: those about
        somebody who has too little."""

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
        asked = self._asked if keep else self._asked.apart()
        try:
            likely = asked.given(name, allowance)
            found = self._judge(likely, allowance)
            if keep and likely.heaped.any():
                self.smooth = False
        except (OutOfTime, InvalidInput, InconsistentAnswers):
            found = UNKNOWN
        if keep and (found.counted or not allowance.over):
            self._judged[name] = found
        return found

    @cached_property
    def _asked(self) -> Asked:
        return Asked(self._past.likely, self.queries)

    @property
    def _insiders(self) -> int:
        return self._standard.insiders * self._past.system.ways.likely_insiders_benchmark_only

    def _judge(self, likely: Likely, allowance: Allowance) -> ModelJudgement:
        domain, limit = self._standard.domain, self._standard.limit
        likely.tilt.windows.check_rows(likely.known.count)
        if not likely.fit.off <= FOUND:
            return UNKNOWN
        mine = np.flatnonzero(likely.known.protected)
        if not likely.reliable[mine].all():
            self._leave_open(likely, mine[~likely.reliable[mine]])
            return UNKNOWN
        worst = self._alone(likely, mine)
        entropy = None
        if limit.epsilon is not None:
            each = [entropies_of_rows(each.rows[mine], domain, float(limit.epsilon)) for each in likely.both]
            entropy = float(np.min(each))
        if self._insiders:
            some = mine[likely.heaped[mine]]
            if len(some) and not _keeps(limit, worst, entropy):
                return ModelJudgement(False, worst)  # to count what insiders make of them takes long
            if not self._seen_through(likely, some):
                return UNKNOWN
            risk, least = self._with_insider(likely, allowance)
            worst = _greater(worst, risk)
            entropy = None if entropy is None or least is None else -_greater(-entropy, -least)
        return ModelJudgement(_keeps(limit, worst, entropy), worst)

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

    def _seen_through(self, likely: Likely, heaped: Ints) -> bool:
        """Whether of atoms in sums that are no bell it is counted what an insider makes of them."""
        if not len(heaped):
            return True
        counted = counted_with_insider(likely, Measure(self._standard.domain, self._past.baselines))
        return bool(counted.atoms[heaped].all())

    def _alone(self, likely: Likely, mine: Ints) -> float:
        """The greatest risk of some atoms, or with insiders a bound where it keeps the limit.

        With insiders, of whom the formula is all that is said: they see more, and are looked at in any case.
        """
        if not self._insiders:
            risk = posterior_risks(likely, self._standard.domain, self._standard.baseline).risk[mine]
            self._leave_open(likely, mine[~(risk <= _enough(self._standard.limit))])
            return float(risk.max())
        open_ = mine[~likely.plain[mine]]
        if not len(open_):
            return -np.inf
        columns = np.searchsorted(likely.fit.observed.atoms, open_)
        each = [self._each(by, open_, columns) for by in likely.both]
        risk = self._past.baselines.judged(each[-1], each[0])
        self._leave_open(likely, open_[~(risk <= _enough(self._standard.limit))])
        return float(risk.max())

    def _each(self, likely: Likely, atoms: Ints, columns: Ints) -> Floats:
        """(r,) the risks of some atoms, each at its column of the fit; a bound where it keeps the limit.

        What is counted, or mixed, is no bell q. Where p ≥ c q, p is a mixture
        of c parts q and 1 − c parts of something else, so that A(p) ≥ c A(q), A being concave.
        """
        domain, held, enough = self._standard.domain, self._past.baselines, _enough(self._standard.limit)
        risks, open_ = np.empty(len(atoms)), np.arange(len(atoms))
        for exactly in (False, True):
            if not len(open_):
                break
            some, which = atoms[open_], columns[open_]
            rows, base = likely.rows_of(some), held.of(likely)[some]
            if exactly:
                left = areas_of_rows(rows, domain)
            else:
                told = Given(likely.fit.leverage[which], likely.fit.shift[which])
                bells = bells_of(likely, which, told)
                like = bells.rows(likely.tilt)
                with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                    part = np.where(like > 0, rows / like, 1.0).min(axis=1)
                left = np.minimum(part, 1.0) * Measure(domain, held).tables.fine.least(bells)
            risks[open_] = against(left, base, domain)
            open_ = open_[~(risks[open_] <= enough)]
        return risks

    def _with_insider(self, likely: Likely, allowance: Allowance) -> tuple[float, float | None]:
        """The greatest risk, and the least entropy, that an insider's value can bring about."""
        limit, domain = self._standard.limit, self._standard.domain
        held, ends = self._past.baselines, ends_of(likely.fit)

        def worst(measure: Measure, enough: float) -> float:
            counted = counted_with_insider(likely, measure)
            by_formula = risks_with_insider(likely, ends, measure, enough, counted.atoms)
            allowance.spend(PAIR * by_formula.pairs)
            each = np.where(counted.atoms, counted.risk, by_formula.risk)
            found = float(each.max())
            if not found <= enough:
                self._leave_open(likely, np.flatnonzero(~(each <= enough)))
                return found
            return found

        risk = worst(Measure(domain, held), _enough(limit))
        if limit.epsilon is None:
            return risk, None
        return risk, -worst(Measure(domain, held, float(limit.epsilon)), -_least_entropy(limit))


@dataclass(frozen=True, eq=False)
class LikelyRisks(ClassFigures):
    """Of posteriors, the baseline of a class being the least of its records'."""

    leverage: Floats
    """The greatest of a record of the class."""


def risks_of_classes(past: LikelyKnowledge, codes: Ints, epsilon: Epsilon | None = None) -> LikelyRisks:
    """The figures of classes of records that an intruder cannot tell apart; nobody is an insider.

    Args:
        past: What answers make likely.
        codes: (n,) class of each record, and of each lump, which counts as often as it has records.
        epsilon: Approximate compromise range at which H is wanted too.

    Raises:
        InvalidInput: too many groups of records and values to hold.
    """
    likely, domain = past.likely, past.standard.domain
    likely.tilt.windows.check_rows(likely.known.count)
    found = posterior_risks(likely, domain, past.standard.baseline)
    labels = likely.known.atoms.labels[: past.system.first_spare]
    names, code = np.unique(codes, return_inverse=True)
    people = past.system.people
    count, records = len(names), np.bincount(code, people).astype(np.int64)
    pairs, which = np.unique(np.column_stack([code, labels]), axis=0, return_inverse=True)
    weights = np.bincount(which.reshape(-1), people)
    mixed = np.zeros((count, likely.rows.shape[1]))
    np.add.at(mixed, pairs[:, 0], weights[:, None] * likely.rows[pairs[:, 1]])
    mixed /= records[:, None]
    base, worst, most = np.full(count, np.inf), np.full(count, -np.inf), np.zeros(count)
    np.minimum.at(base, pairs[:, 0], found.baseline[pairs[:, 1]])
    np.maximum.at(worst, pairs[:, 0], found.risk[pairs[:, 1]])
    np.maximum.at(most, pairs[:, 0], likely.leverage[pairs[:, 1]])
    doubtful = np.zeros(count, dtype=np.bool_)
    np.logical_or.at(doubtful, pairs[:, 0], ~likely.reliable[pairs[:, 1]])
    area = areas_of_rows(mixed, domain)
    return LikelyRisks(
        label=names.astype(np.int64),
        records=records,
        initial_entropy=entropies_of_rows(mixed, domain, 0.0),
        entropy_at_epsilon=None if epsilon is None else entropies_of_rows(mixed, domain, float(epsilon)),
        area=area,
        risk=against(area, base, domain),
        worst_risk=worst,
        leverage=most,
        estimated=doubtful,
    )


def breaks(limit: Limit, risks: Risks) -> Flags:
    """(p,) whether the posterior of each atom's records breaks a limit, ε being that of `risks`."""
    broken = np.zeros(len(risks.risk), dtype=np.bool_)
    if limit.risk is not None:
        broken |= ~(risks.risk <= limit.risk + CLOSE)
    if risks.entropy_at_epsilon is not None:
        least = CLOSE if limit.min_entropy is None else _least_entropy(limit) - CLOSE
        broken |= ~(risks.entropy_at_epsilon >= least)
    return broken


def _enough(limit: Limit) -> float:
    return 1.0 if limit.risk is None else float(limit.risk)


def _greater(one: float, other: float) -> float:
    """What is no number is greater than any: it keeps nothing."""
    return float(np.maximum(one, other))


def _least_entropy(limit: Limit) -> float:
    return 0.0 if limit.min_entropy is None else float(limit.min_entropy)


def _keeps(limit: Limit, risk: float, entropy: float | None) -> bool:
    if limit.risk is not None and not risk <= limit.risk + CLOSE:  # what is no number keeps nothing
        return False
    if entropy is None:
        return True
    return entropy >= (CLOSE if limit.min_entropy is None else _least_entropy(limit) - CLOSE)


def ends_of(fit: Fit) -> Floats:
    """(q, 2) between which the value of one record of each column lies, in units, by each sum alone."""
    seen = fit.observed
    matrix, low, high = seen.matrix, seen.low.astype(np.float64), seen.high.astype(np.float64)
    found = np.stack([low, high], axis=1)
    if not matrix.nnz:
        return found

    def part(data: Floats) -> scipy.sparse.csc_array:
        return scipy.sparse.csc_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)

    up, down = part(np.maximum(matrix.data, 0.0)), part(np.maximum(-matrix.data, 0.0))
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
