"""What one party knows about one protected column: an answered system, and what refusals told.

Promise: what past answers settle is recalled or tried, never decided; records that a leak event was about,
and all that answers tie to them, are known as lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from auditor.data.database import Asked
from auditor.deciding.cache import Figures
from auditor.deciding.decide import Case, Part, Rules
from auditor.ledger import KnownAnswer
from auditor.parties.confidential import Confidential
from cae_sql.inference.allowance import REPORT, Allowance
from cae_sql.inference.facts.query import Query
from cae_sql.inference.facts.repeated import repeated
from cae_sql.inference.search.judging import Judgement
from cae_sql.inference.search.programs_for_one import search
from cae_sql.inference.search.runs import Effort, Runs
from cae_sql.inference.system import SMALL

if TYPE_CHECKING:
    from cae_sql.inference.posterior.judging import ModelJudgement, ModelKnowledge


class ColumnKnowledge:
    """What one party knows about one protected column: an answered system."""

    def __init__(
        self,
        column: Confidential,
        rules: Rules,
        truth: Callable[[Sequence[Query]], Sequence[int]],
        spare_lost: bool,
    ) -> None:
        """Know nothing yet.

        Args:
            column: The column.
            rules: By which is decided.
            truth: The true answers in units.
            spare_lost: Whether nothing new is answered about records that a leak event was about.
        """
        self.column = column
        self._rules, self._truth, self._spare_lost = rules, truth, spare_lost
        self.system = self.column.new_system()
        self.effort = Effort()
        """Integer programs that decisions may still use before the next answer."""
        self.spent: NDArray[np.bool_] = np.zeros(self.column.size, dtype=np.bool_)
        """(n,) records that a leak event was about."""
        self.told = 0
        """How many leak events it knows of."""
        self._lost: tuple[int, int, NDArray[np.bool_]] = (0, 0, self.spent)
        self._judgement: Judgement | None = None
        self._model: ModelKnowledge | None = None
        self._likely: ModelJudgement | None = None
        self._figures = Figures()

    def query(self, each: Asked) -> Query:
        """What is asked, in the system's terms; a sum of negated values as the sum itself."""
        signs = each.signs
        if signs is not None and (signs == -1).all():
            signs = None
        return self.system.query(each.kind, each.records, signs)

    def case(self, queries: Sequence[Query]) -> Case:
        """The queries, to be decided."""
        return Case(self.system, queries, self.column.standard, self._truth, self.effort, self.model)

    @property
    def model(self) -> ModelKnowledge | None:
        """What the answers make likely; None where no candidate model decides."""
        standard = self.column.model_standard
        if standard is not None and (self._model is None or not self._model.current):
            from cae_sql.inference.posterior.judging import ModelKnowledge

            self._model = ModelKnowledge(self.system, standard)
        return self._model

    def derivable(self, queries: Sequence[Query]) -> bool:
        """Whether past answers settle all of them."""
        return self.settled(queries) is not None

    def settled(self, queries: Sequence[Query]) -> tuple[int, ...] | None:
        """The values in units where past answers settle all of them, else None."""
        known = [self._figures.recall(query) for query in queries]
        if any(value is None for value in known):
            if not self.system.answers:
                return None
            known = repeated(self.system.answers, queries, self.system.size)
        if any(value is None for value in known):
            insiders = self.column.standard.insiders
            if self.system.singled_out(queries, insiders):
                return None  # not all of them are, and no table need be made to see it
            known = self.system.question(queries).settled
        found = tuple(value for value in known if value is not None)
        if len(found) < len(queries):
            return None
        self._figures.keep(queries, found)
        return found

    def _new(self, queries: Sequence[Query]) -> list[int]:
        """Places of those that past answers do not settle: the others teach nothing."""
        return [place for place, value in enumerate(self.system.question(queries).settled) if value is None]

    def values(
        self, queries: Sequence[Query], units: Sequence[int]
    ) -> dict[tuple[str, bytes, bytes], Fraction]:
        """Answers in column units, by the queries' names."""
        return {
            query.name: self.system.column_value(query, value)
            for query, value in zip(queries, units, strict=True)
        }

    def known_answers(self, queries: Sequence[Query], values: Sequence[int]) -> list[KnownAnswer]:
        """Those that teach something, as the ledger keeps them."""
        return [
            KnownAnswer(
                query.kind,
                query.members,
                None if query.coefficients is None else query.coefficients.astype(np.int8),
                self.system.column_value(query, value),
                *self.column.name,
            )
            for query, value in ((queries[place], values[place]) for place in self._new(queries))
        ]

    def told_by_refusal(self, queries: Sequence[Query]) -> KnownAnswer:
        """A leak event, as the ledger keeps it: the records it was about."""
        records = np.unique(np.concatenate([query.members for query in queries]))
        return KnownAnswer("leak", records, None, Fraction(0), *self.column.name)

    def accept(self, queries: Sequence[Query], part: Part) -> None:
        """From now on the answers are known."""
        answers = [queries[place].answered(part.values[place]) for place in self._new(queries)]
        self._figures.keep(queries, part.values)
        self.system.accept(answers, part.learned)
        self._judgement, self._likely, self.effort = part.judgement, part.model, Effort()

    def learn(self, answers: Sequence[KnownAnswer]) -> None:
        """Take in answers from the ledger."""
        found = []
        for answer in answers:
            if answer.kind == "leak":
                self.spent[answer.records] = True
                self.told += 1
                continue
            query = self.system.query(answer.kind, answer.records, answer.signs)
            found.append(query.answered(self.system.units(query, answer.value)))
        if found:
            self.system.accept(found)
            self._judgement, self._likely, self.effort = None, None, Effort()

    @property
    def lost(self) -> NDArray[np.bool_]:
        """(n,) records that a leak event was about, and all that answers tie to them.

        What the event told is not among the answers. With a total that is known, what is asked about the
        others would be an answer about those that it was about, and what it told may say who the others are.
        """
        known = (len(self.system.answers), self.told)
        if self._lost[:2] != known:
            self._lost = (*known, _tied(self.spent, [each.members for each in self.system.answers]))
        return self._lost[2]

    def spent_on(self, queries: Sequence[Query]) -> bool:
        """Whether a record is asked about of which, after a leak event, nothing can be claimed."""
        if not self._spare_lost or not self.told:
            return False
        return any(self.lost[query.members].any() for query in queries)

    @property
    def judged(self) -> bool:
        """Whether `risk` takes no search."""
        if self._judgement is None and self.system.answers:
            return False
        return self._likely is not None or self.column.model_standard is None

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

    def certified_runs(self) -> Runs | None:
        """Runs as long as they are found, and exactly known sets for those whose run is not long enough.

        None where there are too many records to search them one by one.
        """
        if self.system.size > SMALL:
            return None
        runs = self.system.runs()
        runs.need = self.column.standard.need
        for atom in runs.short.tolist():
            search(runs, atom, self.column.standard.accepts)
        return runs


def _tied(spent: NDArray[np.bool_], members: Sequence[NDArray[np.int64]]) -> NDArray[np.bool_]:
    """The records that a chain of answers leads to from others."""
    if not spent.any():
        return spent
    tied, waiting, grown = spent.copy(), list(members), True
    while grown:
        grown, apart = False, []
        for each in waiting:
            if tied[each].any():
                tied[each], grown = True, True
            else:
                apart.append(each)
        waiting = apart
    return tied
