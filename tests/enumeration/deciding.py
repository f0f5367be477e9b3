"""Below the gate: `auditor.deciding.decide.decide`, followed through random statements and held against the
oracle.

Checked at each decision:
- an answer that was given leaves everybody the limit, in all tables that agree with all answers; where
  likelihood is judged against the whole domain, also if all these tables are equally likely;
- what is told is true: an answer exactly, or an end of where it lies;
- what is called known is the same in all those tables;
- in the simulatable mode the verdict, and what is told exactly or as an end, is the same whichever of the
  tables that agree with what is told is the true one, up to a surprise.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import SimpleNamespace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from auditor.data.database import Database
from auditor.data.vault import Vault
from auditor.deciding.cases import Case, Outcome
from auditor.deciding.decide import decide
from auditor.errors import CoarserGridWarning
from auditor.parties.column import ColumnKnowledge
from auditor.parties.party import Knowledge
from auditor.policy.policy import Policy
from auditor.sql.schema import Protected, Schema, Table
from auditor.told import Told
from cae_sql.inference.facts.query import Query
from cae_sql.inference.standard import Effort
from cae_sql.inference.system import AnsweredSystem

from .oracle import Possible, Question
from .scenarios import Scenario, Statement

HYPOTHETICAL = 300
"""Statements with more possible answers than this are left out of the figures of usefulness."""


@dataclass(frozen=True)
class Finding:
    """A promise that was not kept."""

    what: str
    """"limit", "likely", "known", "value", "refusal" or "partition"."""
    detail: str
    step: int
    """Which statement."""


@dataclass
class Tally:
    """What was seen."""

    systems: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    """Of statements; "surprise", "ends" and "ranges" among them."""
    by_sets: int = 0
    """Answers after which somebody keeps the limit by an exactly known set, not by a run."""
    needless: int = 0
    """Surprises although the true answer keeps the limit: it was not shown in time, or tells by ties."""
    compared: int = 0
    """Verdicts compared with that on another table."""
    transcripts: int = 0
    """Whole scenarios compared with another table's."""
    harmless: Counter[str] = field(default_factory=Counter)
    """New statements that could be answered, by what that means and what was told before."""
    answered: Counter[str] = field(default_factory=Counter)
    """Those of them that were answered."""

    def add(self, other: Tally) -> None:
        """Take in what was seen elsewhere."""
        self.systems += other.systems
        self.by_sets += other.by_sets
        self.needless += other.needless
        self.compared += other.compared
        self.transcripts += other.transcripts
        for name in ("verdicts", "harmless", "answered"):
            getattr(self, name).update(getattr(other, name))


class Bench:
    """A protected column as the gate holds it, over a table that is given."""

    def __init__(self, scenario: Scenario, truth: Sequence[int] | None = None) -> None:
        values = np.array(scenario.truth if truth is None else truth, dtype=np.int64)
        table = Table("t", (), order=("v",))
        schema = Schema((table,), (Protected("t", "v", "INTEGER"),))
        database = SimpleNamespace(schema=schema, vaults=(Vault(values, Fraction(1), None),))
        policy = Policy.parse(scenario.rules.policy(scenario.top))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CoarserGridWarning)
            knowledge = Knowledge(policy, cast(Database, database))
        self.rules, self.most = knowledge.rules, scenario.allowance
        self.ranges = scenario.rules.ranges
        self.column: ColumnKnowledge = knowledge.of("eve").columns[0]

    def query(self, question: Question) -> Query:
        """As the system has it."""
        members = np.array(question.members, dtype=np.int64)
        signs = np.array(question.signs, dtype=np.int8)[members] if question.kind == "sum" else None
        return self.column.system.query(question.kind, members, signs)  # type: ignore[arg-type]

    def publish(self, questions: Statement) -> None:
        """Take true answers in, whatever they tell."""
        queries = self.queries(questions)
        values = self.column.column.truth(queries)
        answers = [query.answered(value) for query, value in zip(queries, values, strict=True)]
        self.column.system.accept(answers)

    def queries(self, statement: Statement) -> list[Query]:
        """What is asked, as the system has it."""
        return [self.query(question) for question in statement]

    def effort(self) -> Effort:
        """A copy of the allowance that the next decision begins with."""
        self.column.effort.left = min(self.column.effort.left, self.most)
        return replace(self.column.effort)

    def decide(self, queries: Sequence[Query]) -> Outcome:
        """The decision; nothing is accepted."""
        self.effort()
        return self.decide_case(self.column.case(queries))

    def decide_case(self, case: Case) -> Outcome:
        """The same, of a case."""
        if self.ranges:
            return decide([case], self.rules, ranges=True)
        return decide([case], self.rules)

    def system(self) -> AnsweredSystem:
        """A copy of the system that the next decision begins with."""
        self.column.system.pool()
        return deepcopy(self.column.system)

    def decide_on(
        self, truth: NDArray[np.int64], queries: Sequence[Query], effort: Effort, system: AnsweredSystem
    ) -> Outcome:
        """What the decision would have been on another table, with everything as it was before."""

        def other(asked: Sequence[Query]) -> list[int]:
            return [int(query.of(truth)) for query in asked]

        case: Case = replace(
            self.column.case(queries), truth=other, effort=replace(effort), system=deepcopy(system)
        )
        return self.decide_case(case)


def passed(outcome: Outcome) -> str:
    """A verdict without what the true answer had a part in."""
    return "passed" if outcome.verdict == "safe" or outcome.surprise else outcome.verdict


def told(outcome: Outcome) -> tuple[Told[int], ...]:
    """What a decision tells of its queries."""
    return tuple(each.told for part in outcome.parts for each in part.recorded)


class Play:
    """One scenario, step by step."""

    def __init__(self, scenario: Scenario, others: int = 2, useful: bool = True) -> None:
        """Ask nothing yet.

        Args:
            scenario: What is asked of what.
            others: Other tables that each verdict is compared on; with any, the whole transcript is, too.
            useful: Whether to work out which statements could have been answered.
        """
        self.scenario, self.others, self.useful = scenario, others, useful
        self.bound = scenario.rules.bound(scenario.top)
        self.insiders = scenario.rules.insiders
        self.simulatable = scenario.rules.mode == "simulatable"
        self.tally = Tally(systems=1)
        self.possible = Possible.everything(scenario.size, scenario.top)
        self.truth = np.array([scenario.truth])
        self.ended = set[Question]()
        """What an end was told of: it is told again, and never asked."""
        self.rng = np.random.default_rng([7, scenario.size, scenario.top, len(scenario.statements)])

    def findings(self) -> Iterator[Finding]:
        """What is wrong, as it is found; all is asked in any case."""
        bench = Bench(self.scenario)
        bench.publish(self.scenario.published)
        for question in self.scenario.published:
            self._tell(question)
        transcript: list[Outcome] = []
        for step, statement in enumerate(self.scenario.statements):
            # what an end was told of is not asked again
            statement = tuple(each for each in statement if each not in self.ended)
            queries, effort, system = bench.queries(statement), bench.effort(), bench.system()
            outcome = bench.decide(queries)
            ends = any(not each.exact for each in told(outcome))
            between = any(None not in (each.least, each.most) for each in told(outcome) if not each.exact)
            kind = "ranges" if between else "ends" if ends else outcome.verdict
            name = "surprise" if outcome.surprise else kind
            self.tally.verdicts[name] += 1
            transcript.append(outcome)
            if self.others and self.simulatable:
                yield from self._on_other_tables(bench, queries, effort, system, outcome, step)
            yield from self._verdict(outcome, statement, step)
            if outcome.verdict == "safe":
                judgement = outcome.parts[0].judgement
                self.tally.by_sets += judgement is not None and bool(judgement.sets)
                if outcome.parts[0].learned is not None:
                    bench.column.accept(queries, outcome.parts[0])
        if self.others and self.simulatable:
            yield from self._other_transcript(transcript)

    def _tell(self, question: Question) -> None:
        self.possible = self.possible.told(question, int(question.of(self.truth)[0]))

    def _verdict(self, outcome: Outcome, statement: Statement, step: int) -> Iterator[Finding]:
        true = tuple(int(question.of(self.truth)[0]) for question in statement)
        if outcome.verdict in ("safe", "known"):
            for question, value, each in zip(
                statement, true, told(outcome), strict=outcome.verdict == "safe"
            ):
                if not each.holds(value):
                    yield Finding("value", f"{each} of {question}, which is {value}", step)
        if outcome.verdict == "known":
            if not all(self.possible.settled(question) for question in statement):
                yield Finding("known", "called known, and it is not", step)
            return
        if self.useful:
            self._useful(outcome, statement, step)
        if outcome.verdict != "safe":
            after = self.possible
            for question, value in zip(statement, true, strict=True):
                after = after.told(question, value)
            self.tally.needless += outcome.surprise and self.bound.breach(after, self.insiders) is None
            return
        if outcome.parts[0].learned is None:
            # what past answers say anyway, which may be too much already where they were published
            for question, each in zip(statement, told(outcome), strict=True):
                if len(_heard(self.possible, question, each).tables) < len(self.possible.tables):
                    yield Finding("known", f"{each} of {question} is told as known, and is not", step)
            return
        for question, each in zip(statement, told(outcome), strict=True):
            self.possible = _heard(self.possible, question, each)
            if not each.exact and outcome.parts[0].learned is not None:
                self.ended.add(question)
        breach = self.bound.breach(self.possible, self.insiders)
        if breach is not None:
            yield Finding("limit", str(breach), step)
        if self.scenario.rules.baseline == "prior" and self.scenario.rules.ratio == 1:
            likely = self.bound.likely(self.possible, self.insiders)
            if likely is not None:
                yield Finding("likely", str(likely), step)

    def _useful(self, outcome: Outcome, statement: Statement, step: int) -> None:
        """Whether the statement could be answered, and was.

        Whatever the answer; in all but δ of the tables that agree, the ideal of a simulatable decision; or
        with the true answer, the ideal of the other mode.
        """
        if all(self.possible.settled(question) for question in statement):
            return
        rules, broken, true = self.scenario.rules, 0, True
        for number, (answer, after) in enumerate(self.possible.split(statement)):
            if number >= HYPOTHETICAL:
                return
            if self.bound.breach(after, self.insiders) is not None:
                broken += len(after.tables)
                true &= answer != tuple(int(question.of(self.truth)[0]) for question in statement)
        told = {*self.scenario.published, *statement}
        told.update(*self.scenario.statements[:step])
        about = "sums alone" if {question.kind for question in told} == {"sum"} else "with extremes"
        ideal = broken <= rules.delta * len(self.possible.tables) if self.simulatable else true
        for meaning, could in (("whatever the answer", not broken), ("as the mode says", ideal)):
            if could:
                self.tally.harmless[f"{meaning}, {about}"] += 1
                self.tally.answered[f"{meaning}, {about}"] += outcome.verdict == "safe"

    def _on_other_tables(
        self,
        bench: Bench,
        queries: Sequence[Query],
        effort: Effort,
        system: AnsweredSystem,
        outcome: Outcome,
        step: int,
    ) -> Iterator[Finding]:
        chosen = self.rng.permutation(len(self.possible.tables))[: self.others]
        for table in self.possible.tables[chosen].astype(np.int64):
            other = bench.decide_on(table, queries, effort, system)
            self.tally.compared += 1
            detail = f"{table.tolist()} were the table"
            if passed(other) != passed(outcome):
                yield Finding("refusal", f"{passed(outcome)} here, {passed(other)} if {detail}", step)
            elif told(other) != told(outcome) and not (other.surprise or outcome.surprise):
                pairs = zip(queries, told(outcome), strict=True)
                if all(each.holds(int(query.of(table))) for query, each in pairs):
                    yield Finding("partition", f"{told(outcome)} here, {told(other)} if {detail}", step)

    def _other_transcript(self, transcript: Sequence[Outcome]) -> Iterator[Finding]:
        """Another table that agrees with everything told: the same was said, up to a surprise."""
        tables = self.possible.tables
        other = tables[int(self.rng.integers(len(tables)))].astype(np.int64)
        self.tally.transcripts += 1
        bench = Bench(self.scenario, other.tolist())
        bench.publish(self.scenario.published)
        ended = set[Question]()
        for step, statement in enumerate(self.scenario.statements):
            statement = tuple(each for each in statement if each not in ended)
            queries = bench.queries(statement)
            here, outcome = transcript[step], bench.decide(queries)
            if passed(outcome) != passed(here):
                detail = f"{passed(here)} here, {passed(outcome)} if the table were {other.tolist()}"
                yield Finding("refusal", f"whole transcript: {detail}", step)
                return
            if outcome.surprise or here.surprise:
                return  # from here on they may differ
            if told(outcome) != told(here):
                detail = f"{told(here)} here, {told(outcome)} if the table were {other.tolist()}"
                yield Finding("partition", f"whole transcript: {detail}", step)
                return
            if outcome.verdict == "safe" and outcome.parts[0].learned is not None:
                bench.column.accept(queries, outcome.parts[0])
                pairs = zip(statement, told(outcome), strict=True)
                ended |= {question for question, each in pairs if not each.exact}


def _heard(possible: Possible, question: Question, ends: Told[int]) -> Possible:
    least = None if ends.least is None else Fraction(ends.least)
    return possible.within(question, least, None if ends.most is None else Fraction(ends.most))
