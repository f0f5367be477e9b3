"""What each party knows: the answered systems behind the gate, one for each protected column.

A party is everyone together, or each user where the policy says `scope = "user"`. Protected columns are
independent of each other: each has its own grid, worlds and allowance of effort. Of many users those who
asked last are held; what the others know is read from the ledger when they ask again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from operator import neg

from auditor.data.database import Asked, Database
from auditor.deciding.cases import NOTHING, Case, Outcome
from auditor.deciding.decide import at_once, decide
from auditor.deciding.rules import Budget, Rules
from auditor.ledger import Edition, Entry, KnownAnswer
from auditor.ledger.people import persons_of
from auditor.parties.column import ColumnKnowledge, Glance
from auditor.parties.confidential import Confidential
from auditor.parties.intruder import known_columns
from auditor.parties.kept import Refusals, digest
from auditor.parties.persons import Persons
from auditor.policy.policy import Policy
from auditor.sql.schema import folded
from auditor.told import Told
from cae_sql.inference.allowance import for_decision
from cae_sql.inference.facts.query import Name, Query

PARTIES = 64
"""Parties whose systems are held; of others the ledger says it all again when they ask."""

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
            for_decision(sum(column.size for column in self.columns)),
        )
        self.known_columns = known_columns(policy, database)
        """By protected column, the public columns of its table that an intruder knows."""
        self._positions = {column.name: position for position, column in enumerate(self.columns)}
        self._entries: Callable[[], Iterable[Entry]] = tuple
        self.forget()

    def lay_on(self, editions: Sequence[Edition]) -> None:
        """Take the data for the last of a ledger's editions: its records are some of the system's."""
        if not editions:
            return
        for place, column in enumerate(self.columns):
            laid = [each.columns[place] for each in editions]
            column.lay(laid[-1], persons_of(laid))
        self.rules = replace(self.rules, steps=for_decision(sum(column.size for column in self.columns)))
        self.forget()

    def laid(self, asked: Sequence[Asked]) -> list[Asked]:
        """What is asked of the data, with the record numbers of the system."""
        return [self.columns[each.protected].laid(each) for each in asked]

    def forget(self) -> None:
        """Know nothing: the ledger says it all again."""
        self.seen = 0
        """Number of the last ledger entry that was learned."""
        self._held: OrderedDict[str, Party] = OrderedDict()
        self._let_go: dict[str, int] = {}
        """Parties that have asked and are not held, with how much they know."""

    def read_from(self, entries: Callable[[], Iterable[Entry]]) -> None:
        """Say where to read again what a party knows whose systems are no longer held: the ledger."""
        self._entries = entries

    def party(self, user: str) -> str:
        """Whose answers count together with this user's."""
        return f"user {user}" if self.policy.ledger.scope == "user" else "everyone"

    def of(self, user: str) -> Party:
        """The party that a user belongs to; those who have not asked for longest are let go of."""
        name = self.party(user)
        if name not in self._held:
            self._held[name] = self._read_again(name) if name in self._let_go else Party(self)
            self._let_go.pop(name, None)
        self._held.move_to_end(name)
        while len(self._held) > PARTIES:
            other, party = self._held.popitem(last=False)
            self._let_go[other] = party.learned
        return self._held[name]

    def _read_again(self, name: str) -> Party:
        party = Party(self)
        for entry in self._entries():
            if entry.number <= self.seen and entry.answers and self.party(entry.user) == name:
                party.learn_entry(entry)
        return party

    def parties(self) -> Iterator[tuple[str, Party]]:
        """All parties that have asked anything, one after the other; everyone where nobody has."""
        if not (self._held or self._let_go):
            yield "everyone", Party(self)
        for name in [*self._let_go, *self._held]:
            yield name, self._held[name] if name in self._held else self._read_again(name)

    def learn(self, entry: Entry) -> None:
        """Take in a ledger entry."""
        if entry.number <= self.seen:
            return
        if entry.answers:
            name = self.party(entry.user)
            if name in self._held or (name not in self._let_go and len(self._held) < PARTIES):
                self.of(entry.user).learn_entry(entry)
            else:
                self._let_go[name] = self._let_go.get(name, 0) + len(entry.answers)
        self.seen = entry.number

    def learned(self, user: str) -> int:
        """How many answers this user's party knows of."""
        name = self.party(user)
        return self._held[name].learned if name in self._held else self._let_go.get(name, 0)

    def note(self) -> None:
        """Take what is known now for what is on record: where nothing has been accepted that is not."""
        for party in self._held.values():
            if party.learned_on_record != party.learned or not party.on_record:
                party.on_record = tuple(column.glance() for column in party.columns)
                party.learned_on_record = party.learned

    def at_a_glance(self, user: str, asked: Sequence[Asked]) -> list[Told[Fraction]] | None:
        """What is on record settles all that is asked, seen without a table; else None. In any thread."""
        party = self._held.get(self.party(user))
        return None if party is None or not party.on_record else party.settled(asked, at_a_glance=True)

    def learned_on_record(self, user: str) -> int:
        """As `learned`, of what is on record."""
        party = self._held.get(self.party(user))
        return self.learned(user) if party is None else party.learned_on_record

    def position(self, answer: KnownAnswer) -> int:
        """The protected column that an answer is about."""
        return self._positions[answer.name]

    def truth(self, position: int, queries: Sequence[Query]) -> list[int]:
        """The true answers in units; nothing else reads the vaults."""
        return self.columns[position].truth(queries)


class Party:
    """What somebody knows about all protected columns, and what SQL asks in its terms."""

    def __init__(self, knowledge: Knowledge) -> None:
        """Know nothing yet."""
        self._knowledge = knowledge
        self.columns = tuple(
            ColumnKnowledge(column, _truth_of(knowledge, place))
            for place, column in enumerate(knowledge.columns)
        )
        self._persons = {
            place: Persons(each, each.column.persons)
            for place, each in enumerate(self.columns)
            if each.column.persons is not None and each.column.standard.insiders
        }
        """By protected column of which somebody has several records."""
        self._refusals = Refusals()
        self._risk_on_record: float | None = None
        self.on_record: tuple[Glance, ...] = ()
        """By column what is on record; see `Knowledge.note`."""
        self.learned_on_record = 0

    @property
    def learned(self) -> int:
        """How many answers it knows of."""
        return sum(each.system.version for each in self.columns)

    def think_up(self, worlds: int) -> None:
        """Keep at least so many hypothetical tables from now on."""
        for each in self.columns:
            each.system.think_up(worlds)
        for persons in self._persons.values():
            persons.think_up(worlds)

    def reads(self, asked: Sequence[Asked]) -> Reads:
        """What is asked, each query once, in the order of first mention, by protected column."""
        found: dict[int, dict[Name, Query]] = {}
        for each in asked:
            query = self.columns[each.protected].query(each)
            found.setdefault(each.protected, {}).setdefault(query.name, query)
        return {place: list(queries.values()) for place, queries in sorted(found.items())}

    def cases(self, reads: Reads) -> list[Case]:
        """To be decided together."""
        return [self.columns[place].case(queries) for place, queries in reads.items()]

    def decide(self, reads: Reads, public: bool = False, ranges: bool = False) -> Outcome:
        """Decide on what would be answered together, by a range too if that may be.

        A refusal holds until something is learned. One that hangs on the clock does not, nor one that the
        true answer had a part in: it is on record. What everybody knows anyway decides itself: hypothetical
        answers hide nothing there, and may be far off.
        """
        rules, learned = self._knowledge.rules, self.learned
        if public:
            return decide(self.cases(reads), replace(rules, simulatable=False))
        name = b"".join(b"%d " % place + digest(queries) for place, queries in reads.items())
        name += b"ranges" if ranges else b""
        outcome = self._refusals.recall(name, learned)
        if outcome is None:
            outcome = self.refusal_by_persons(reads, rules) or decide(self.cases(reads), rules, ranges=ranges)
            if outcome.verdict in ("risk", "uncounted") and rules.simulatable and not outcome.surprise:
                self._refusals.keep(name, learned, outcome)
        return outcome

    def refusal_by_persons(self, reads: Reads, rules: Rules, budget: Budget | None = None) -> Outcome | None:
        """A refusal of what somebody could reckon with who has several records, or None."""
        if not self._persons or all(case.derivable for case in self.cases(reads)):
            return None
        for place, queries in reads.items():
            persons = self._persons.get(place)
            refusal = None if persons is None else persons.refusal(queries, rules, budget)
            if refusal is not None:
                return replace(refusal, parts=tuple(NOTHING for _ in reads))
        return None

    def refused_at_once(self, reads: Reads) -> bool:
        """Whether a refusal is seen without any table, solver or kernel."""
        return at_once(self.cases(reads), self._knowledge.rules) is not None

    def derivable(self, reads: Reads) -> bool:
        """Whether past answers settle everything that is asked."""
        return all(self.columns[place].derivable(queries) for place, queries in reads.items())

    def settled(self, asked: Sequence[Asked], at_a_glance: bool = False) -> list[Told[Fraction]] | None:
        """What is told, in column units, where past answers settle all of it, else None.

        Args:
            asked: What is asked.
            at_a_glance: By what is on record alone, seen without a table: also while others are decided.
        """
        told: dict[int, dict[Name, Told[Fraction]]] = {}
        for place, queries in self.reads(asked).items():
            found = (self.on_record if at_a_glance else self.columns)[place].settled(queries)
            if found is None:
                return None
            told[place] = found
        return self._by_asked(asked, told)

    def told(self, asked: Sequence[Asked], reads: Reads, outcome: Outcome) -> list[Told[Fraction]]:
        """What a decision tells of each asked aggregate's X, in column units."""
        parts = zip(reads.items(), outcome.parts, strict=True)
        return self._by_asked(
            asked, {place: self.columns[place].told(queries, part) for (place, queries), part in parts}
        )

    def _by_asked(
        self, asked: Sequence[Asked], told: Mapping[int, Mapping[Name, Told[Fraction]]]
    ) -> list[Told[Fraction]]:
        found = []
        for each in asked:
            ends = told[each.protected][self.columns[each.protected].query(each).name]
            negated = each.signs is not None and (each.signs == -1).all()
            found.append(ends.under(neg, rising=False) if negated else ends)
        return found

    def known_answers(self, reads: Reads, outcome: Outcome) -> list[KnownAnswer]:
        """What a decision tells, as the ledger keeps it."""
        return [
            answer
            for (place, queries), part in zip(reads.items(), outcome.parts, strict=True)
            if part.learned is not None or part.kept is not None
            for answer in self.columns[place].known_answers(queries, part)
        ]

    def accept(self, reads: Reads, outcome: Outcome) -> None:
        """The answers are on record: from now on they are known."""
        for (place, queries), part in zip(reads.items(), outcome.parts, strict=True):
            if part.learned is not None or part.kept is not None:
                if place in self._persons:
                    self._persons[place].learn(self.columns[place].known_answers(queries, part))
                self.columns[place].accept(queries, part)

    def learn_entry(self, entry: Entry) -> None:
        """Take in an entry of the ledger."""
        if entry.verdict == "answered" and (entry.answers or entry.risk_after is not None):
            self._risk_on_record = entry.risk_after
        self.learn(entry.answers)

    def learn(self, answers: Sequence[KnownAnswer]) -> None:
        """Take in answers."""
        about: dict[int, list[KnownAnswer]] = {}
        for answer in answers:
            about.setdefault(self._knowledge.position(answer), []).append(answer)
        for place, told in about.items():
            self.columns[place].learn(told)
            if place in self._persons:
                self._persons[place].learn(told)

    def risk(self) -> float | None:
        """Worst certified risk over all columns as things stand; None where a figure is not known."""
        return _worst([column.risk() for column in self.columns])

    def risk_at_hand(self) -> float | None:
        """The same where it takes no search: of what only the ledger knows, the figure on record there."""
        return self.risk() if all(column.judged for column in self.columns) else self._risk_on_record

    def risk_held(self) -> float | None:
        """The greatest risk that anybody can have as things stand, as the last answer on record left it.

        Nobody's is above it, insiders reckoned with; None where nothing says how great it is.
        """
        found = self.risk_at_hand()
        return self.risk() if found is None else found

    def risk_with(self, reads: Reads, outcome: Outcome) -> float | None:
        """The same as a decision would leave it; for one that refuses, at the answer where it stopped."""
        judged = {
            place: part
            for place, part in zip(reads, outcome.parts, strict=True)
            if part.judgement is not None or part.model is not None
        }
        if not judged and outcome.verdict != "known":
            return None  # a surprise: what the true answer would do is told to nobody
        return _worst(
            [
                column.risk_of(judged[place].judgement, judged[place].model)
                if place in judged
                else column.risk()
                for place, column in enumerate(self.columns)
            ]
        )


def _truth_of(knowledge: Knowledge, place: int) -> Callable[[Sequence[Query]], list[int]]:
    return lambda queries: knowledge.truth(place, queries)


def _worst(figures: Sequence[float | None]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return max(known) if len(known) == len(figures) else None
