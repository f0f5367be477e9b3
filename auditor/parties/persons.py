"""Persons of several records: whether an answer is safe from somebody who knows all values that she had.

Whose value changed between two editions is two records, and knows both. Such an insider takes her own change
out of what differs between the answers of two editions: if the total of a department is asked before and
after her raise, and two colleagues left in between, she knows what these earned together. The system of
records reckons with one known value, and sees more unknown ones there than she has.

So what is asked is decided a second time, about persons: a system in which all records of somebody are one,
and whose values are made up, one table that agrees with what was answered before. It says what the questions
leave to somebody who knows the change of everybody whose value changed, with values such as they may be.
Nothing true enters it but what was answered. It is asked about sums and extremes; of what is told as a range
it knows nothing.

Promise: a refusal hangs on questions and past answers alone; nothing of what is judged here is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from auditor.deciding.cases import Outcome
from auditor.deciding.decide import decide
from auditor.deciding.rules import Budget, Rules
from auditor.ledger import KnownAnswer
from auditor.ledger.entries import AGGREGATES
from auditor.parties.column import ColumnKnowledge
from auditor.told import exactly
from cae_sql.inference.facts.query import Ints, Query

EXACT = frozenset(["sum", "max", "min"])
"""Kinds of answers that are carried over to persons."""
TABLES = 3
"""Made-up tables that are tried: one by which past answers do not keep the limit would refuse everything."""


class Persons:
    """What one party knows of one protected column, person by person."""

    def __init__(self, records: ColumnKnowledge, of: Ints) -> None:
        """Know nothing yet.

        Args:
            records: What it knows record by record.
            of: (n,) the person of each record, from 0 in order of first mention.
        """
        self._records, self._of = records, of
        self._told: list[KnownAnswer] = []
        self._made: ColumnKnowledge | None = None
        self._worlds = 0

    def beside(self, records: ColumnKnowledge) -> Persons:
        """Another that knows the same, beside another party's column (`ColumnKnowledge.beside`)."""
        found = copy(self)
        found._records, found._told = records, list(self._told)
        if self._made is not None:
            truth = self._made.column.truth
            found._made = self._made.beside()
            found._made.truth = truth
        return found

    def learn(self, answers: Sequence[KnownAnswer]) -> None:
        """Take in answers about records."""
        new = [each for each in answers if each.kind in EXACT]
        self._told += new
        if self._made is not None:
            self._made.learn([self._answer(self._made, each) for each in new])

    def think_up(self, worlds: int) -> None:
        """Keep at least so many hypothetical tables from now on."""
        self._worlds = max(worlds, self._worlds)
        if self._made is not None:
            self._made.system.think_up(worlds)

    def refusal(self, queries: Sequence[Query], rules: Rules, budget: Budget | None) -> Outcome | None:
        """A decision that refuses what is asked of records, or None.

        What would have to be told as an end or a range is refused too: persons are told exact values alone.
        """
        those = [query for query in queries if query.kind in EXACT]
        if not those:
            return None
        known = self._system()
        case = known.case([self._query(known, each) for each in those])
        if case.derivable:
            return None
        outcome = decide([case], rules, budget)
        if outcome.verdict == "known":
            return None
        if outcome.verdict != "safe":
            return replace(outcome, parts=())
        exact = all(each.told.exact for part in outcome.parts for each in part.recorded)
        return None if exact else Outcome("risk", ())

    def _system(self) -> ColumnKnowledge:
        """The system of persons, made when it is first asked."""
        if self._made is None:
            system = self._records.system
            first = np.unique(self._of, return_index=True)[1]
            for world in system.pool().values[:TABLES, : system.size]:
                self._made = self._from(world[first])
                if self._made.keeps_limit():
                    break
            assert self._made is not None
            if self._worlds:
                self._made.system.think_up(self._worlds)
        return self._made

    def _from(self, values: Ints) -> ColumnKnowledge:
        column = self._records.column.made_up(values)
        found = ColumnKnowledge(column, column.truth)
        found.learn([self._answer(found, each) for each in self._told])
        return found

    def _query(self, known: ColumnKnowledge, query: Query) -> Query:
        """What is asked of records, asked of their persons."""
        persons = self._of[query.members]
        order = np.argsort(persons)
        coefficients = None if query.coefficients is None else query.coefficients[order]
        return known.system.query(query.kind, persons[order], coefficients)

    def _answer(self, known: ColumnKnowledge, answer: KnownAnswer) -> KnownAnswer:
        """What would have been answered if persons had the made-up values."""
        query = self._query(known, known.system.query(answer.asked, answer.records, answer.signs))
        [units] = known.column.truth([query])
        signs = None if query.coefficients is None else query.coefficients.astype(np.int8)
        value = exactly(known.system.column_value(query, units))
        return KnownAnswer.told(AGGREGATES[query.kind], query.members, signs, value, answer.name)
