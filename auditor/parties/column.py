"""What one party knows about one protected column: an answered system, and what was told of each query.

Promise: what past answers settle is recalled or tried, never decided; a query that an end was told of is told
the same end again, however much is known by then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from auditor.data.database import Asked
from auditor.deciding.cases import Case, KeptRange, Part
from auditor.deciding.recorded import Recorded, recorded
from auditor.deciding.statistics import KINDS as STATISTICS
from auditor.deciding.statistics import about, width_of
from auditor.errors import LedgerError
from auditor.ledger import KnownAnswer
from auditor.ledger.entries import AGGREGATES
from auditor.parties.confidential import Confidential
from auditor.parties.kept import FIGURES, Figures, digest
from auditor.parties.set_aside import Row, Separation, part_of
from auditor.parties.statistics import detail, public_count, query_of, statistic
from auditor.told import Told, exactly
from cae_sql.inference.allowance import REPORT, Allowance
from cae_sql.inference.facts.query import Answer, Ints, Name, Query
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

    def __init__(
        self,
        column: Confidential,
        truth: Callable[[Sequence[Query]], Sequence[int]],
        whole: bool = False,
    ) -> None:
        """Know nothing yet.

        Args:
            column: The column.
            truth: The true answers in units.
            whole: Whether what is known of persons who are set aside is known as well: for reports. Else the
                system is that of the others.
        """
        self.column, self.truth, self._whole = column, truth, whole
        self.rows: list[Row] = []
        """What the ledger says, of everybody; what was accepted here since is not among it."""
        self._separation: Separation | None = None
        self.aside: NDArray[np.bool_] | None = None
        """(n,) who is set aside; None: nobody is."""
        self._others: dict[bytes, tuple[Query, Fraction]] = {}
        """By what was asked what is asked of the others, and what is known of the rest."""
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

    def beside(self) -> ColumnKnowledge:
        """Another that knows the same, in which a statement may be tried: this one never hears of it.

        What stands there for true answers is hypothetical: the middle of what the tables give that are kept.
        """
        found = copy(self)
        found.system, found.effort = self.system.beside(), copy(self.effort)
        found._ends, found._figures, found._standing = dict(self._ends), deepcopy(self._figures), None
        found.rows, found._others = list(self.rows), dict(self._others)
        if self._model is not None:
            found._model = type(self._model)(found.system, self._model.standard, self._model.counts)
        found.truth = found._middle
        return found

    def _middle(self, queries: Sequence[Query]) -> list[int]:
        """Answers in the middle of those of tables that agree with all that was answered.

        Of sums that hang together by nothing but past answers each has the middle one of its own; else all
        are those of one table, so that they agree with each other.
        """
        system = self.system
        tables = system.tables if len(system.tables) else system.pool().values
        answers = np.array(
            [self.column.made_up(table[: system.first_spare]).truth(queries) for table in tables]
        )
        middle = np.sort(answers, axis=0)[len(answers) // 2]
        fresh = system.question(queries).question_tables.fresh
        if len(queries) > 1 and (len(fresh) < len(queries) or any(each.kind != "sum" for each in queries)):
            off = np.abs(answers - middle) / (1 + np.ptp(answers, axis=0))
            middle = answers[off.sum(axis=1).argmin()]
        return [int(each) for each in middle]

    def query(self, each: Asked) -> Query:
        """What is asked, in the system's terms; a sum of negated values as the sum itself."""
        return self._of_others(self.whole_query(each))[0]

    def known_part(self, each: Asked) -> Fraction:
        """What of X is known of persons who are set aside, in column units; `query` is about the others."""
        return self._of_others(self.whole_query(each))[1]

    def whole_query(self, each: Asked) -> Query:
        """What is asked, whoever is set aside."""
        if each.statistic is not None:
            return statistic(each.statistic, each.records, self.system.grid, each.weights)
        signs = each.signs
        if signs is not None and (signs == -1).all():
            signs = None
        return self.system.query(each.kind, each.records, signs)

    def _of_others(self, query: Query) -> tuple[Query, Fraction]:
        """What is asked of the others, and what is known beside it; itself where that does not fall apart."""
        if self.aside is None or not self.aside[query.members].any():
            return query, Fraction(0)
        name = digest([query])
        if name not in self._others:
            if len(self._others) >= FIGURES:
                self._others.clear()
            self._others[name] = self._split(query)
        return self._others[name]

    def _split(self, query: Query) -> tuple[Query, Fraction]:
        assert self._separation is not None
        assert self.aside is not None
        inside = self.aside[query.members]
        own = part_of(query, inside)
        value = self._separation.settled(own) if query.kind == "sum" else None
        if value is None:
            return query, Fraction(0)
        if inside.all():
            self._ends.setdefault(digest([query]), exactly(value))
            return query, Fraction(0)
        return part_of(query, ~inside), self.system.column_value(own, value)

    def case(self, queries: Sequence[Query]) -> Case:
        """Those of the queries that no end was told of, to be decided."""
        queries = self._open(queries)
        rules = self.column.standard, self.truth, self.effort, self.model
        return Case(self.system, queries, *rules, self._barred(queries))

    def _barred(self, queries: Sequence[Query]) -> tuple[Query, ...]:
        """Those about persons who are set aside: what is known of them falls to `_ends`."""
        if self.aside is None:
            return ()
        return tuple(query for query in queries if self.aside[query.members].any())

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
        if any(query.kind in STATISTICS for query in asked) or self._barred(asked):
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
        # where version 0.1 refused, and told something by it, there is no answer
        rows = [self.row(answer) for answer in answers if answer.tells]
        self.rows += rows
        records = [answer.records for answer in answers if answer.kind == "aside" and not self._whole]
        if self.aside is not None and any(self.aside[row.query.members].any() for row in rows):
            records.append(np.flatnonzero(self.aside))
        if records:
            self._set_aside(np.concatenate(records))
        else:
            self.take_in(rows)

    def row(self, answer: KnownAnswer) -> Row:
        """What an answer says, in units."""
        query = query_of(answer, self.system)
        return Row(query, answer.ends.under(partial(self._units, query)))

    def _set_aside(self, records: Ints) -> None:
        """Know from now on of the others alone what was told of them."""
        found = Separation(self.rows, self.system)
        wanted = np.zeros(self.system.first_spare, dtype=np.bool_)
        wanted[records] = True
        aside = found.closed(wanted if self.aside is None else wanted | self.aside)
        self.system, self._figures, self._ends = self.column.new_system(aside), Figures(), {}
        self._model = self._standing = None
        self._separation, self.aside, self._others = found, aside, {}
        others = list[Row]()
        for row in self.rows:
            halves = found.halves(row, aside)
            assert halves is not None
            half = halves[1]
            if (half is not row and row.query.kind != "sum") or half is None:
                self._ends[digest([row.query])] = row.told
            others += [] if half is None else [half]
        self.take_in(others)

    def told_of_others(self) -> list[KnownAnswer]:
        """What was told exactly of those who are not set aside, in the ledger's terms."""
        found = list[KnownAnswer]()
        for answer in self.system.answers:
            if answer.members[-1] < self.system.first_spare:
                ends = exactly(self.system.column_value(answer, int(answer.value)))
                signs = None if answer.coefficients is None else answer.coefficients.astype(np.int8)
                told = AGGREGATES[answer.kind], answer.members, signs, ends, self.column.name
                found.append(KnownAnswer.told(*told))
        return found

    def take_in(self, rows: Sequence[Row]) -> None:
        """Know what was told, in this order.

        Raises:
            LedgerError: an end that was told cannot be taken in.
        """
        new, extended, kept = list[Answer](), list[Query](), list[KeptRange]()
        for row in rows:
            query, told = row.query, row.told
            if query.kind in STATISTICS:
                self._keep(query, told)
                kept.append(self._range_of(query, told))
                continue
            found = recorded(self.system, query, told, extended)
            if found is None:
                raise LedgerError(f"the ledger has an end of a {query.kind} that cannot be taken in")
            if told.exact:
                self._ends.pop(digest([query]), None)  # an end that the owner's release says more than
            else:
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
        top, spare = int(self.system.grid.top), self.system.spare_in(query, self.column.standard.insiders)
        shares = kept_of(query, (told.least, told.most), top, width_of(query, told, top, spare))
        return KeptRange(tuple(shares), about(query, told, top), spare, self.column.standard)

    def _units(self, query: Query, value: Fraction) -> int:
        return self.system.units(query, value)

    @property
    def version(self) -> int:
        """Grows with whatever becomes known."""
        return self.system.version + (0 if self.aside is None else 1 + len(self.rows))

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
