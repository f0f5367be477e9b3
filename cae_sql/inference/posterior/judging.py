"""Would everybody keep a limit by what answers make likely, were these the answers?

A `…Knowledge` is what an answered system makes likely; a `…Question` belongs to it and some queries, and
judges what their answers would make likely, one set of answers after the other. Here is what both models have
in common, and the model `exact`: all tables that agree are equally likely. `keeping` has the posterior.

A record's risk is 1 − A / A_baseline, its entropy H(ε). Records alone are judged: H(ε) and A are concave in
the probabilities, so the average over a class, of whatever records, has at least those of the record with
least.

Promise: fail closed. An estimate, and what is no number, shows nothing. Unless `keep` says so nothing of the
answers judged is kept.

Source: `mathematics.md`, 3, 4 and 7.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from cae_sql.cached import cached_property
from cae_sql.domain import Domain
from cae_sql.errors import InconsistentAnswers, InvalidInput, OutOfTime
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.query import Query
from cae_sql.inference.posterior.areas import areas_of_rows, entropies_of_rows
from cae_sql.inference.posterior.components import counted_exactly
from cae_sql.inference.posterior.marginals import known_of, told_of_everybody
from cae_sql.inference.posterior.members import against
from cae_sql.inference.posterior.weights import Flags, Floats
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


def breaks(limit: Limit, risk: Floats, entropy: Floats | None) -> Flags:
    """(r,) whether risks, and H(ε) where it is asked for, break a limit; what is no number does."""
    broken = np.zeros(len(risk), dtype=np.bool_)
    if limit.risk is not None:
        broken |= ~(risk <= limit.risk + CLOSE)
    if entropy is not None:
        broken |= ~(entropy >= (CLOSE if limit.min_entropy is None else limit.min_entropy - CLOSE))
    return broken


class Question(ABC):
    """Some queries, asked together, and what their answers would make likely."""

    smooth = False
    """Whether answers between two that keep a limit keep it. Not where each is counted: parity decides."""

    def __init__(self, queries: Sequence[Query]) -> None:
        """Work out nothing yet; queries in the order in which they would be answered."""
        self.queries = list(queries)
        self._judged: dict[tuple[int, ...], ModelJudgement] = {}
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
        try:
            found = self._found(name, allowance, keep)
        except (OutOfTime, InvalidInput, InconsistentAnswers):
            found = UNKNOWN
        if keep and (found.counted or not allowance.over):
            self._judged[name] = found
        return found

    @abstractmethod
    def _found(self, values: tuple[int, ...], allowance: Allowance, keep: bool) -> ModelJudgement:
        """As `judge`, of answers that were not judged before."""


Q = TypeVar("Q", bound=Question)


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
    """What the answers of a system make likely under `exact`, to be asked as long as they are all."""

    def __init__(self, system: AnsweredSystem, standard: ModelStandard) -> None:
        """Work out nothing yet."""
        super().__init__(system, lambda queries: ModelQuestion(self, queries))
        self.standard = standard

    @cached_property
    def windows(self) -> Windows:
        """In which values are gathered."""
        return Windows.of(self.system.grid, self.standard.domain)


class ModelQuestion(Question):
    """What some queries' answers would make likely under `exact`."""

    def __init__(self, past: ModelKnowledge, queries: Sequence[Query]) -> None:
        """Work out nothing yet."""
        super().__init__(queries)
        self._past, self._counted = past, dict[bytes, list[Floats]]()

    def _found(self, values: tuple[int, ...], allowance: Allowance, keep: bool) -> ModelJudgement:
        system, windows, standard = self._past.system, self._past.windows, self._past.standard
        counted = self._counted if keep else dict(self._counted)
        pairs = zip(self.queries, values, strict=True)
        known, sums = known_of(system, [*system.answers, *(query.answered(value) for query, value in pairs)])
        windows.check_rows(known.count)
        rows, _ = counted_exactly(known, sums, windows, counted, allowance, strict=True)
        everybody = known_of(system, told_of_everybody(known, sums))
        plain, _ = counted_exactly(*everybody, windows, counted, strict=True)
        if allowance.over:
            return UNKNOWN
        limit, domain, rows = standard.limit, standard.domain, rows[known.atoms.protected]
        risk, entropy = against(areas_of_rows(rows, domain), areas_of_rows(plain[:1], domain), domain), None
        if limit.epsilon is not None:
            entropy = entropies_of_rows(rows, domain, float(limit.epsilon))
        return ModelJudgement(not breaks(limit, risk, entropy).any(), float(risk.max()))
