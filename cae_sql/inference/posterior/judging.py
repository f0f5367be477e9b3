"""Whether everybody would keep a limit under the model `exact` if queries were answered.

A `ModelKnowledge` is what an answered system makes likely; a `ModelQuestion` belongs to it and some queries,
and judges what their answers would make likely, one set of answers after the other. What these have in common
is worked out once: the refined system, which sums are independent, and what follows for everybody.

A record's risk is 1 − A / A_baseline, its entropy H(ε) (`cae_sql.inference.posterior.figures`). Records alone
are judged: H(ε) and A are concave in the probabilities, so the average over a class, of whatever records, has
at least those of the record with least.

Promise: fail closed. An estimate shows nothing. Unless `keep` says so nothing of the answers judged is kept.

Source: `mathematics.md`, 3 and 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.domain import Domain
from cae_sql.errors import InvalidInput, OutOfTime
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Answer, Query
from cae_sql.inference.facts.rank import coefficients_of, independent_sums
from cae_sql.inference.facts.spares import with_spares
from cae_sql.inference.intervals.fixed_point import solved
from cae_sql.inference.posterior.areas import areas_of_rows, entropies_of_rows
from cae_sql.inference.posterior.baseline import extremes_of_everybody, total_weights
from cae_sql.inference.posterior.components import counted_exactly
from cae_sql.inference.posterior.figures import risks
from cae_sql.inference.posterior.marginals import marginals
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.inference.posterior.windows import Windows
from cae_sql.inference.system import AnsweredSystem
from cae_sql.risk import Limit

CLOSE = 1e-9
"""Risks and entropies are compared with this tolerance: what is counted is right to about so much."""


@dataclass(frozen=True)
class ModelStandard:
    """What everybody must keep under `exact`."""

    limit: Limit
    domain: Domain
    """At whose step values are judged."""


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


class _Asked(Protocol):
    @property
    def queries(self) -> Sequence[Query]: ...


Q = TypeVar("Q", bound=_Asked)


class AsItStands(Generic[Q]):
    """A system as it is, to be asked as long as nothing more is answered."""

    def __init__(self, system: AnsweredSystem, made: Callable[[Sequence[Query]], Q]) -> None:
        """Take note of how much is answered; `made` makes a question."""
        self.system, self._made = system, made
        self._version = system.version
        self._trial: Q | None = None

    @property
    def current(self) -> bool:
        """Whether nothing was answered since."""
        return self.system.version == self._version

    def question(self, queries: Sequence[Query]) -> Q:
        """What if these were answered, together? The last one asked for is kept."""
        names = [query.name for query in queries]
        if self._trial is None or [query.name for query in self._trial.queries] != names:
            self._trial = self._made(queries)
        return self._trial


class ModelKnowledge(AsItStands["ModelQuestion"]):
    """What the answers of a system make likely, to be asked as long as they are all."""

    def __init__(self, system: AnsweredSystem, standard: ModelStandard) -> None:
        """Work out nothing yet."""
        super().__init__(system, lambda queries: ModelQuestion(self, queries))
        self.standard = standard

    @cached_property
    def known(self) -> tuple[Knowledge, Ints]:
        """Boxes, extremes and independent sums, with their right-hand sides."""
        answers = self.system.answers
        lumps = self.system.lumps
        found = solved(self.system.size, self.system.grid, answers, range(len(answers)), 1, lumps=lumps)
        return found.known, found.sums

    @cached_property
    def windows(self) -> Windows:
        """In which values are gathered."""
        return Windows.of(self.system.grid, self.standard.domain)


class ModelQuestion:
    """Some queries, asked together, and what their answers would make likely."""

    smooth = False
    """What is counted may hang on each answer: parity decides."""

    def __init__(self, past: ModelKnowledge, queries: Sequence[Query]) -> None:
        """Work out nothing yet.

        Args:
            past: What is known.
            queries: In the order in which they would be answered.
        """
        self.queries = list(queries)
        self.open: list[int] = []
        """As `LikelyQuestion`; it is not known here."""
        self._past, self._standard = past, past.standard
        self._judged: dict[tuple[int, ...], ModelJudgement] = {}
        self._counted: dict[bytes, list[Floats]] = {}
        """Of components, what was counted."""
        self._areas: dict[tuple[tuple[str, int], ...], float | None] = {}
        """Of baselines, by what is known of everybody."""
        self._refined: _Refined | None = None

    def judge(self, values: Sequence[int], allowance: Allowance, keep: bool = True) -> ModelJudgement:
        """How everybody would fare under the model with these answers, and all past ones, known.

        Args:
            values: One answer per query, in units, with which some table agrees.
            allowance: What may be spent; nothing more is tried beyond it.
            keep: Whether later judgements may build on this one: not where the answers are the true ones.
        """
        name = tuple(values)
        if name in self._judged:
            return self._judged[name]
        try:
            found = self._judge(name, allowance, keep)
        except (OutOfTime, InvalidInput):
            found = UNKNOWN
        if keep and (found.counted or not allowance.over):
            self._judged[name] = found
        return found

    def _judge(self, values: tuple[int, ...], allowance: Allowance, keep: bool) -> ModelJudgement:
        past = self._past
        if self._refined is None:
            # hangs on the queries alone: which sums are independent is the same for all answers to them
            self._refined = _Refined.of(past, self.queries, values)
        known, sums = self._refined.with_answers(self.queries, values)
        past.windows.check_rows(known.count)
        rows = self._rows(known, sums, allowance, keep)
        base = self._baseline(known, sums, keep)
        if rows is None or base is None or allowance.over:
            return UNKNOWN
        return judged(rows[known.atoms.protected], base, self._standard)

    def _rows(self, known: Knowledge, sums: Ints, allowance: Allowance, keep: bool) -> Floats | None:
        """(p, w) the atoms' distributions; None where one of them is not known."""
        counted = self._counted if keep else dict(self._counted)
        rows, missing = counted_exactly(known, sums, self._past.windows, counted, allowance, strict=True)
        return None if missing.any() else rows

    def _baseline(self, known: Knowledge, sums: Ints, keep: bool) -> float | None:
        """A_baseline: of what is said of everybody."""
        assert self._refined is not None
        system, told = self._past.system, extremes_of_everybody(known)
        if self._refined.weights is not None:
            told = [("sum", int(self._refined.weights @ sums)), *told]
        name = tuple(told)
        if name not in self._areas:
            everybody = np.arange(system.first_spare)
            answers = [Query(kind=kind, members=everybody).answered(Fraction(value)) for kind, value in told]
            area = self._area(answers)
            if not keep:
                return area
            self._areas[name] = area
        return self._areas[name]

    def _area(self, answers: list[Answer]) -> float | None:
        found = marginals(self._past.system, self._standard.domain, answers, False)
        if found.estimated[0]:
            return None
        return float(areas_of_rows(found.probabilities[:1], self._standard.domain)[0])


@dataclass(frozen=True, eq=False)
class _Refined:
    """A system over the parts that queries make, before anything of their answers is known."""

    known: Knowledge
    """With the independent sums, past and new."""
    past: Ints
    """(k,) right-hand sides of the past ones."""
    kept: Ints
    """Places of the independent ones among the past and then the new."""
    weights: Ints | None
    """Multiples of the independent sums that add up to the sum over all records; None where none do."""

    @classmethod
    def of(cls, past: ModelKnowledge, queries: Sequence[Query], values: Sequence[int]) -> _Refined:
        known, sums = past.known
        spares = with_spares(len(known.atoms.labels), queries) - len(known.atoms.labels)
        if spares:
            known = known.grown(spares, int(past.system.grid.top))
        fine = known.refined(queries)
        fresh = [query for query in queries if query.kind == "sum"]
        added = [value for query, value in zip(queries, values, strict=True) if query.kind == "sum"]
        matrix: NDArray[np.signedinteger] = fine.matrix
        kept = np.arange(len(matrix))
        if fresh:
            matrix = np.vstack([matrix, coefficients_of(fine.atoms, fresh)])
            kept = independent_sums(matrix, np.concatenate([sums, np.array(added, dtype=np.int64)]))
        fine = replace(fine, matrix=matrix[kept])
        return cls(fine, sums, kept, total_weights(fine))

    def with_answers(self, queries: Sequence[Query], values: Sequence[int]) -> tuple[Knowledge, Ints]:
        """The system with answers, and the right-hand sides of its sums."""
        known, added = self.known, []
        for query, value in zip(queries, values, strict=True):
            if query.kind == "sum":
                added.append(value)
            else:
                known = known.with_extreme(query, value)
        return known, np.concatenate([self.past, np.array(added, dtype=np.int64)])[self.kept]


def judged(rows: Floats, base: float, standard: ModelStandard) -> ModelJudgement:
    """Whether records with these distributions (r, w) keep the limit against the area of a baseline."""
    limit, domain = standard.limit, standard.domain
    worst = float(risks(areas_of_rows(rows, domain), base, domain).max())
    safe = limit.risk is None or worst <= limit.risk + CLOSE
    if safe and limit.epsilon is not None:
        least = float(entropies_of_rows(rows, domain, float(limit.epsilon)).min())
        safe = least >= (CLOSE if limit.min_entropy is None else limit.min_entropy - CLOSE)
    return ModelJudgement(safe, worst)
