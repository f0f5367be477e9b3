"""What each party knows: the answered systems behind the gate, one for each protected column.

A party is everyone together, or each user where the policy says `scope = "user"`. Protected columns are
independent of each other: each has its own grid, worlds and allowance of effort.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from auditor.confidential import Confidential
from auditor.database import Asked, Database
from auditor.deciding import Case, Outcome, Part, Rules, decide
from auditor.intruder import known_columns
from auditor.ledger import Entry, KnownAnswer
from auditor.policy import Policy
from auditor.remembering import Figures, Refusals, digest
from auditor.sql.schema import folded
from cae_sql.inference.answers import Query
from cae_sql.inference.judging import Judgement
from cae_sql.inference.runs import Effort, Runs
from cae_sql.inference.search import search
from cae_sql.inference.system import SMALL

REPORT_SECONDS = 2.0
"""Time for a figure that decides nothing."""

Reads = Mapping[int, Sequence[Query]]
"""What a statement asks, each query once, by position of the protected column."""


class Knowledge:
    """All parties' systems over the vaults."""

    def __init__(self, policy: Policy, database: Database) -> None:
        """Check that the data fit the policy.

        Raises:
            PolicyError: values outside the domain or off the grid, or a limit that nothing could meet.
            DatabaseError: too few records to protect.
        """
        self.policy = policy
        named = {protect.name: protect for protect in policy.protects}
        self.columns = tuple(
            Confidential(policy, named[folded(each.table), folded(each.column)], vault, position)
            for position, (each, vault) in enumerate(
                zip(database.schema.protected, database.vaults, strict=True)
            )
        )
        """The protected columns, in the order of the schema's."""
        self.rules = Rules(
            policy.decision.mode == "simulatable",
            policy.decision.worlds,
            policy.decision.delta,
            policy.decision.timeout,
        )
        self.known_columns = known_columns(policy, database)
        """By protected column, the public columns of its table that an intruder knows."""
        self._positions = {column.name: position for position, column in enumerate(self.columns)}
        self.forget()

    def forget(self) -> None:
        """Know nothing: the ledger says it all again."""
        self.seen = 0
        """Number of the last ledger entry that was learned."""
        self._parties: dict[str, Party] = {}
        self._leaks: Counter[str] = Counter()

    def party(self, user: str) -> str:
        """Whose answers count together with this user's."""
        return f"user {user}" if self.policy.ledger.scope == "user" else "everyone"

    def of(self, user: str) -> Party:
        """The party that a user belongs to."""
        name = self.party(user)
        if name not in self._parties:
            self._parties[name] = Party(self)
        return self._parties[name]

    @property
    def parties(self) -> dict[str, Party]:
        """All parties that have asked anything; everyone where nobody has."""
        return self._parties or {"everyone": Party(self)}

    def learn(self, entry: Entry) -> None:
        """Take in a ledger entry."""
        if entry.number <= self.seen:
            return
        if entry.answers:
            self.count_leaks(entry.user, entry.answers)
            self.of(entry.user).learn(entry.answers)
        self.seen = entry.number

    def count_leaks(self, user: str, answers: Sequence[KnownAnswer]) -> None:
        """Each leak event counts, wherever in a statement it happened."""
        self._leaks[self.party(user)] += sum(answer.kind == "leak" for answer in answers)

    def closed(self, user: str) -> bool:
        """Whether so many refusals have told this user's party something that nothing new is answered.

        One leak event is a residue; many add up, and nothing else counts them.
        """
        return self._leaks[self.party(user)] > self.policy.decision.leaks

    def last_leak(self, user: str) -> bool:
        """Whether one more leak event would close the table to this user's party."""
        return self._leaks[self.party(user)] >= self.policy.decision.leaks

    def learned(self, user: str) -> int:
        """How many answers and records told by refusals this user's party knows of."""
        party = self._parties.get(self.party(user))
        return 0 if party is None else party.learned

    def position(self, answer: KnownAnswer) -> int:
        """The protected column that an answer is about."""
        return self._positions[answer.name]

    def truth(self, position: int, queries: Sequence[Query]) -> list[int]:
        """The true answers in units; nothing else reads the vaults."""
        return self.columns[position].truth(queries)


class ColumnKnowledge:
    """What one party knows about one protected column: an answered system."""

    def __init__(self, knowledge: Knowledge, position: int) -> None:
        """Know nothing yet."""
        self._knowledge, self._position = knowledge, position
        self.column = knowledge.columns[position]
        self.system = self.column.new_system()
        self.effort = Effort()
        """Integer programs that decisions may still use before the next answer."""
        self.spent: NDArray[np.bool_] = np.zeros(self.column.size, dtype=np.bool_)
        """(n,) records that a leak event was about."""
        self.told = 0
        """How many leak events it knows of."""
        self._lost: tuple[int, int, NDArray[np.bool_]] = (0, 0, self.spent)
        self._judgement: Judgement | None = None
        self._figures = Figures()

    def query(self, each: Asked) -> Query:
        """What is asked, in the system's terms; a sum of negated values as the sum itself."""
        signs = each.signs
        if signs is not None and (signs == -1).all():
            signs = None
        return self.system.query(each.kind, each.records, signs)

    def case(self, queries: Sequence[Query]) -> Case:
        """The queries, to be decided."""

        def truth(asked: Sequence[Query]) -> Sequence[int]:
            return self._knowledge.truth(self._position, asked)

        return Case(self.system, queries, self.column.standard, truth, self.effort)

    def derivable(self, queries: Sequence[Query]) -> bool:
        """Whether past answers settle all of them."""
        return self.settled(queries) is not None

    def settled(self, queries: Sequence[Query]) -> tuple[int, ...] | None:
        """The values in units where past answers settle all of them, else None."""
        known = [self._figures.recall(query) for query in queries]
        if any(value is None for value in known):
            if not self.system.answers:
                return None
            known = self.system.trial(queries).settled
        found = tuple(value for value in known if value is not None)
        if len(found) < len(queries):
            return None
        self._figures.keep(queries, found)
        return found

    def _new(self, queries: Sequence[Query]) -> list[int]:
        """Places of those that past answers do not settle: the others teach nothing."""
        return [place for place, value in enumerate(self.system.trial(queries).settled) if value is None]

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
        self._judgement, self.effort = part.judgement, Effort()

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
            self._judgement, self.effort = None, Effort()

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
        if self._knowledge.policy.decision.after_leak == "continue" or not self.told:
            return False
        return any(self.lost[query.members].any() for query in queries)

    def risk(self) -> float | None:
        """Worst certified risk over the records as things stand: an upper limit of it."""
        if self._judgement is None:
            quick = time.monotonic() + min(self._knowledge.rules.seconds, REPORT_SECONDS)
            self._judgement = self.system.judged(self.column.standard, quick)
        return self.column.risk_of(self._judgement)

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


class Party:
    """What somebody knows about all protected columns, and what SQL asks in its terms."""

    def __init__(self, knowledge: Knowledge) -> None:
        """Know nothing yet."""
        self._knowledge = knowledge
        self.columns = tuple(ColumnKnowledge(knowledge, place) for place in range(len(knowledge.columns)))
        self._refusals = Refusals()

    @property
    def learned(self) -> int:
        """How many answers and leak events it knows of."""
        return sum(len(each.system.answers) + each.told for each in self.columns)

    def reads(self, asked: Sequence[Asked]) -> Reads:
        """What is asked, each query once, in the order of first mention, by protected column."""
        found: dict[int, dict[tuple[str, bytes, bytes], Query]] = {}
        for each in asked:
            query = self.columns[each.protected].query(each)
            found.setdefault(each.protected, {}).setdefault(query.name, query)
        return {place: list(queries.values()) for place, queries in sorted(found.items())}

    def cases(self, reads: Reads) -> list[Case]:
        """To be decided together."""
        return [self.columns[place].case(queries) for place, queries in reads.items()]

    def decide(self, reads: Reads) -> Outcome:
        """Decide on what would be answered together; a refusal holds until something is learned.

        One that hangs on the clock does not, nor one that the true answer had a part in: it is on record.
        """
        rules, learned = self._knowledge.rules, self.learned
        name = b"".join(b"%d " % place + digest(queries) for place, queries in reads.items())
        outcome = self._refusals.recall(name, learned)
        if outcome is None:
            outcome = decide(self.cases(reads), rules)
            if outcome.verdict == "risk" and rules.simulatable and not outcome.leak:
                self._refusals.keep(name, learned, outcome)
        return outcome

    def derivable(self, reads: Reads) -> bool:
        """Whether past answers settle everything that is asked."""
        return all(self.columns[place].derivable(queries) for place, queries in reads.items())

    def settled(self, asked: Sequence[Asked]) -> list[Fraction] | None:
        """The values in column units where past answers settle all of them, else None."""
        reads = self.reads(asked)
        found = [self.columns[place].settled(queries) for place, queries in reads.items()]
        parts = [Part(values) for values in found if values is not None]
        return self.values_of(asked, reads, parts) if len(parts) == len(found) else None

    def values_of(self, asked: Sequence[Asked], reads: Reads, parts: Sequence[Part]) -> list[Fraction]:
        """Σ signs · value, or the extreme, in column units, for each asked aggregate."""
        known = {
            place: self.columns[place].values(queries, part.values)
            for (place, queries), part in zip(reads.items(), parts, strict=True)
        }
        found = []
        for each in asked:
            value = known[each.protected][self.columns[each.protected].query(each).name]
            found.append(-value if each.signs is not None and (each.signs == -1).all() else value)
        return found

    def known_answers(self, reads: Reads, outcome: Outcome) -> list[KnownAnswer]:
        """What a decision tells, as the ledger keeps it: new answers, or what a refusal was about."""
        found: list[KnownAnswer] = []
        for (place, queries), part in zip(reads.items(), outcome.parts, strict=True):
            column = self.columns[place]
            if part.learned is not None:
                found += column.known_answers(queries, part.values)
            # that one column broke the limit tells of the others that they may have kept it
            if part.leak or (outcome.leak and not column.derivable(queries)):
                found.append(column.told_by_refusal(queries))
        return found

    def accept(self, reads: Reads, outcome: Outcome) -> None:
        """The answers are on record: from now on they are known."""
        for (place, queries), part in zip(reads.items(), outcome.parts, strict=True):
            if part.learned is not None:
                self.columns[place].accept(queries, part)

    def learn(self, answers: Sequence[KnownAnswer]) -> None:
        """Take in answers from the ledger."""
        about: dict[int, list[KnownAnswer]] = {}
        for answer in answers:
            about.setdefault(self._knowledge.position(answer), []).append(answer)
        for place, told in about.items():
            self.columns[place].learn(told)

    def spent_on(self, reads: Reads) -> bool:
        """Whether anything new is asked about a record that a leak event has told something about."""
        return any(
            self.columns[place].spent_on(queries) and not self.columns[place].derivable(queries)
            for place, queries in reads.items()
        )

    def risk(self) -> float | None:
        """Worst certified risk over all columns as things stand; None where a figure is not known."""
        return _worst([column.risk() for column in self.columns])

    def risk_with(self, reads: Reads, outcome: Outcome) -> float | None:
        """The same as a decision would leave it; for one that refuses, at the answer where it stopped."""
        judged = {
            place: part.judgement
            for place, part in zip(reads, outcome.parts, strict=True)
            if part.judgement is not None
        }
        if not judged and outcome.verdict != "known":
            return None  # a leak event: what the true answer would do is told to nobody
        return _worst(
            [
                column.column.risk_of(judged[place]) if place in judged else column.risk()
                for place, column in enumerate(self.columns)
            ]
        )


def _worst(figures: Sequence[float | None]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return max(known) if len(known) == len(figures) else None
