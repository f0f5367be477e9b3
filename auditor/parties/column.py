"""What one party knows about one protected column: an answered system, and what was told of each query.

Promise: what past answers settle is recalled or tried, never decided; a query that an end was told of is told
the same end again, however much is known by then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from auditor.data.database import Asked
from auditor.deciding.cases import Case, KeptRange, Part
from auditor.deciding.recorded import Recorded, recorded
from auditor.deciding.statistics import KINDS as STATISTICS
from auditor.deciding.statistics import about, width_of
from auditor.errors import LedgerError
from auditor.ledger import KnownAnswer
from auditor.ledger.entries import AGGREGATES
from auditor.parties.confidential import Confidential
from auditor.parties.kept import Figures, digest
from auditor.parties.statistics import detail, public_count, query_of, statistic
from auditor.told import Told, exactly
from cae_sql.inference.allowance import REPORT, Allowance
from cae_sql.inference.facts.query import Answer, Name, Query
from cae_sql.inference.facts.ranges import kept_of
from cae_sql.inference.facts.repeated import repeated
from cae_sql.inference.standard import Effort, Judgement
from cae_sql.inference.system import AnsweredSystem

if TYPE_CHECKING:
    from auditor.parties.standing import Standing
    from cae_sql.inference.posterior.judging import LikelyKnowledge, ModelJudgement, ModelKnowledge


@dataclass(frozen=True, eq=False)
class Glance:
    """What was on record of one protected column at some moment: for those who ask while others' statements
    are decided. No decision changes it."""

    system: AnsweredSystem
    """For its grid alone."""
    answers: tuple[Answer, ...]
    ends: Mapping[bytes, Told[int]]
    """As `ColumnKnowledge` has them."""

    def settled(self, queries: Sequence[Query]) -> dict[Name, Told[Fraction]] | None:
        """What is told of the queries, where that is seen without any table; else None."""
        asked = open_of(queries, self.system, self.ends)
        if any(query.kind in STATISTICS for query in asked):
            return None
        known = repeated(self.answers, asked, self.system.size) if self.answers else [None for _ in asked]
        found = [value for value in known if value is not None]
        if len(found) < len(asked):
            return None
        told = [exactly(value) for value in found]
        return in_column_units(self.system, self.ends, queries, asked, told)

    def settles_any(self, queries: Sequence[Query]) -> bool:
        """Whether some of the queries are settled, as far as that is seen without any table."""
        asked = open_of(queries, self.system, self.ends)
        if len(asked) < len(queries):
            return True
        asked = [query for query in asked if query.kind not in STATISTICS]
        return any(value is not None for value in repeated(self.answers, asked, self.system.size))


def open_of(queries: Sequence[Query], system: AnsweredSystem, ends: Mapping[bytes, Told[int]]) -> list[Query]:
    """Those of which no end was told."""
    queries = [query for query in queries if public_count(query, system.grid) is None]
    return [query for query in queries if not ends or digest([query]) not in ends]


def in_column_units(
    system: AnsweredSystem,
    ends: Mapping[bytes, Told[int]],
    queries: Sequence[Query],
    asked: Sequence[Query],
    told: Sequence[Told[int]],
) -> dict[Name, Told[Fraction]]:
    """What is told of queries, by name: of those asked what is told now, of others the ends told before."""
    new = {query.name: each for query, each in zip(asked, told, strict=True)}
    found = {}
    for query in queries:
        public = public_count(query, system.grid)
        each = new.get(query.name) or (ends[digest([query])] if public is None else exactly(public))
        whole = each.under(partial(system.column_value, query))
        if query.kind == "quantile" and query.part and whole.most is not None:
            # what lies between two values was rounded downwards
            whole = replace(whole, most=whole.most + system.grid.unit)
        if query.kind == "spread" and whole.most is not None:
            whole = replace(whole, most=whole.most + system.grid.unit**2)  # as was a spread
        found[query.name] = whole
    return found


class ColumnKnowledge:
    """What one party knows about one protected column: an answered system."""

    def __init__(self, column: Confidential, truth: Callable[[Sequence[Query]], Sequence[int]]) -> None:
        """Know nothing yet.

        Args:
            column: The column.
            truth: The true answers in units.
        """
        self.column, self._truth = column, truth
        self.system = self.column.new_system()
        self.effort = Effort()
        """Integer programs that decisions may still use before the next answer."""
        self._ends: dict[bytes, Told[int]] = {}
        """What was told of queries that were not answered exactly, by name."""
        self._judgement: Judgement | None = None
        self._model: ModelKnowledge | LikelyKnowledge | None = None
        self._likely: ModelJudgement | None = None
        self._standing: Standing | None = None
        self._figures = Figures()

    def query(self, each: Asked) -> Query:
        """What is asked, in the system's terms; a sum of negated values as the sum itself."""
        if each.statistic is not None:
            return statistic(each.statistic, each.records, self.system.grid, each.weights)
        signs = each.signs
        if signs is not None and (signs == -1).all():
            signs = None
        return self.system.query(each.kind, each.records, signs)

    def case(self, queries: Sequence[Query]) -> Case:
        """Those of the queries that no end was told of, to be decided."""
        queries = self._open(queries)
        ranges = self.column.protect.unit is None
        return Case(self.system, queries, self.column.standard, self._truth, self.effort, self.model, ranges)

    def _open(self, queries: Sequence[Query]) -> list[Query]:
        return open_of(queries, self.system, self._ends)

    def glance(self) -> Glance:
        """What is known now, for those who do not wait."""
        return Glance(self.system, tuple(self.system.answers), dict(self._ends))

    @property
    def model(self) -> ModelKnowledge | LikelyKnowledge | None:
        """What the answers make likely; None where only what they exclude decides."""
        standard = self.column.model_standard
        if standard is not None and (self._model is None or not self._model.current):
            from cae_sql.inference.posterior.judging import LikelyKnowledge, LikelyStandard, ModelKnowledge

            kind = LikelyKnowledge if isinstance(standard, LikelyStandard) else ModelKnowledge
            self._model = kind(self.system, standard, None if self._model is None else self._model.counts)
        return self._model

    def derivable(self, queries: Sequence[Query]) -> bool:
        """Whether past answers settle all of them."""
        return self.settled(queries) is not None

    def settled(self, queries: Sequence[Query]) -> dict[Name, Told[Fraction]] | None:
        """What is told of the queries, by name, where past answers settle all of them; else None."""
        asked = self._open(queries)
        if any(query.kind in STATISTICS for query in asked):
            return None
        known: Sequence[int | None] = [self._figures.recall(query) for query in asked]
        if any(value is None for value in known):
            if not self.system.answers:
                return None
            known = repeated(self.system.answers, asked, self.system.size)
        if any(value is None for value in known):
            insiders = self.column.standard.insiders
            if self.system.singled_out(asked, insiders):
                return None  # not all of them are, and no table need be made to see it
            known = self.system.question(asked).settled
        found = [value for value in known if value is not None]
        if len(found) < len(asked):
            return None
        self._figures.keep(asked, found)
        return self._in_column_units(queries, asked, [exactly(value) for value in found])

    def told(self, queries: Sequence[Query], part: Part) -> dict[Name, Told[Fraction]]:
        """What a decision tells of the queries, and what was told of them before, by name."""
        return self._in_column_units(queries, self._open(queries), [each.told for each in part.recorded])

    def _in_column_units(
        self, queries: Sequence[Query], asked: Sequence[Query], told: Sequence[Told[int]]
    ) -> dict[Name, Told[Fraction]]:
        return in_column_units(self.system, self._ends, queries, asked, told)

    def _new(self, part: Part) -> list[tuple[int, Recorded]]:
        """What past answers do not settle, with its places: the rest teaches nothing."""
        settled = self.system.question([each.query for each in part.recorded]).settled
        return [(place, part.recorded[place]) for place, value in enumerate(settled) if value is None]

    def known_answers(self, queries: Sequence[Query], part: Part) -> list[KnownAnswer]:
        """What teaches something, as the ledger keeps it."""
        asked, found = self._open(queries), list[KnownAnswer]()
        if part.kept is not None:
            return self._known_range(asked[0], part)
        for place, each in self._new(part):
            query = asked[place]
            ends = each.told.under(partial(self.system.column_value, query))
            signs = None if query.coefficients is None else query.coefficients.astype(np.int8)
            kind = AGGREGATES[query.kind]
            found.append(KnownAnswer.told(kind, query.members, signs, ends, self.column.name))
        return found

    def _known_range(self, query: Query, part: Part) -> list[KnownAnswer]:
        """The range of a statistic."""
        name = self.column.name
        (recorded,) = part.recorded
        ends = recorded.told.under(partial(self.system.column_value, query))
        told = KnownAnswer.told(AGGREGATES[query.kind], query.members, None, ends, name, detail(query))
        return [told]

    def accept(self, queries: Sequence[Query], part: Part) -> None:
        """From now on the answers are known."""
        if part.kept is not None:
            self._keep(self._open(queries)[0], part.recorded[0].told)
            self._keep_range(part.kept)
            self._took_in(part)
            return
        answers = [each.query.answered(each.value) for _, each in self._new(part)]
        asked = self._open(queries)
        for query, each in zip(asked, part.recorded, strict=True):
            self._keep(query, each.told)
        self.system.accept(answers, part.learned)
        self._took_in(part)

    def _keep_range(self, kept: KeptRange) -> None:
        self.system.accept_range(kept.shares, kept.observed, kept.spare, kept.holding, kept.standard)

    def _took_in(self, part: Part) -> None:
        self._judgement, self._likely, self.effort = part.judgement, part.model, Effort()

    def _keep(self, query: Query, told: Told[int]) -> None:
        if told.value is None:
            self._ends[digest([query])] = told
        else:
            self._figures.keep([query], [told.value])

    def learn(self, answers: Sequence[KnownAnswer]) -> None:
        """Take in answers from the ledger, in its order: spare records are taken as they were then.

        Raises:
            LedgerError: an end that was told cannot be taken in.
        """
        new, extended, kept = list[Answer](), list[Query](), list[KeptRange]()
        for answer in answers:
            if answer.kind == "leak":
                continue  # version 0.1 refused there; what that told was never an answer
            query = query_of(answer, self.system)
            told = answer.ends.under(partial(self._units, query))
            if query.kind in STATISTICS:
                self._keep(query, told)
                kept.append(self._range_of(query, told))
                continue
            found = recorded(self.system, query, told, extended)
            if found is None:
                raise LedgerError(f'the ledger has an answer "{answer.kind}" that cannot be taken in')
            if not told.exact:
                self._keep(query, found.told)
                extended.append(found.query)
            new.append(found.query.answered(found.value))
        if new or kept:
            self.system.accept(new)
            for each in kept:
                self._keep_range(each)
            self._judgement, self._likely, self.effort = None, None, Effort()

    def _range_of(self, query: Query, told: Told[int]) -> KeptRange:
        """What was kept of a range when it was told."""
        top, spare = int(self.system.grid.top), self.column.standard.insiders + 1
        shares = kept_of(query, (told.least, told.most), top, width_of(query, told, top, spare))
        return KeptRange(tuple(shares), about(query, told, top), spare, self.column.standard)

    def _units(self, query: Query, value: Fraction) -> int:
        return self.system.units(query, value)

    @property
    def judged(self) -> bool:
        """Whether `risk` takes no search."""
        if self._judgement is None and self.system.version:
            return False
        return self._likely is not None or not self.column.weighs

    def risk(self) -> float | None:
        """Worst risk over the records as things stand: the certified one's upper limit, or the model's."""
        if self._judgement is None:
            self._judgement = self.system.judged(self.column.standard, Allowance(REPORT))
        return self.risk_of(self._judgement, self._as_things_stand())

    def risk_of(self, judgement: Judgement | None, likely: ModelJudgement | None) -> float | None:
        """The greater of what judgements leave possible and make likely; None where one is not known."""
        excluded = self.column.risk_of(judgement)
        if likely is None or excluded is None:
            return excluded
        return None if likely.risk is None else max(excluded, likely.risk)

    def _as_things_stand(self) -> ModelJudgement | None:
        if self._likely is None and self.model is not None:
            self._likely = self.model.question([]).judge((), Allowance(REPORT))
        return self._likely

    def keeps_limit(self) -> bool:
        """Whether, with little effort, everybody is shown to keep the limit as things stand."""
        self.risk()
        likely = self._as_things_stand()
        return self._judgement is not None and self._judgement.safe and (likely is None or likely.safe)

    def keeps_model(self) -> bool:
        """Whether everybody is shown to keep the limit under the candidate model as things stand."""
        likely = self._as_things_stand()
        return likely is None or likely.safe

    def standing(self) -> Standing:
        """What is excluded of each record and what is shown possible; kept until more becomes known."""
        if self._standing is None or self._standing.version != self.system.version:
            from auditor.parties.standing import Standing  # late: no decision needs it

            self._standing = Standing(self.system, self.column.standard)
        return self._standing
