"""What each party knows: the answered systems behind the gate, one for each protected column.

A party is everyone together, or each user where the policy says `scope = "user"`. Protected columns are
independent of each other: each has its own grid, worlds and allowance of effort. Of many users those who
asked last are held; what the others know is read from the ledger when they ask again.

Who has a turn thinks of some columns of one party, and changes nothing else: others may think of other
columns meanwhile. What an entry of the ledger says of a column is heard when the ledger is read, and learned
when somebody thinks of that column.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from operator import add, neg

import numpy as np

from auditor.data.database import Asked, Database
from auditor.deciding.cases import NOTHING, Case, Outcome
from auditor.deciding.decide import at_once, decide
from auditor.deciding.rules import Budget, Rules
from auditor.errors import PolicyError
from auditor.ledger import Edition, Entry, KnownAnswer
from auditor.ledger.people import Base, persons_of, units_of
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
        self._can_be_large()
        self._lock = threading.RLock()
        """Who is held, and what is on record of whom."""
        self._thought_of = Counter[str]()
        """Parties that somebody thinks of."""
        self.forget()

    def _can_be_large(self) -> None:
        """Check that somebody may be asked about under `rules.min_size`."""
        least = self.policy.rules.min_size
        for column in self.columns if least is not None else ():
            units, protect = column.units_in(np.arange(column.size)), column.protect
            if units < (least or 0):
                what = "records" if protect.unit is None else "units"
                raise PolicyError(
                    f"rules.min_size = {least}: table {protect.table} has {units:,} {what} with a "
                    f"{protect.column}, so nothing could be asked; take less"
                )

    def too_small(self, asked: Sequence[Asked]) -> frozenset[int]:
        """The places of what is asked about fewer units than `rules.min_size`; public data say which."""
        least = self.policy.rules.min_size
        if least is None:
            return frozenset()
        return frozenset(
            place
            for place, each in enumerate(asked)
            if self.columns[each.protected].units_in(each.records) < least
        )

    def lay_on(self, editions: Sequence[Edition], people: Callable[[], Base]) -> None:
        """Take the data for the last of a ledger's editions: its records are some of the system's.

        Args:
            editions: All after the first.
            people: Who is who in the first, asked for where somebody has several records.
        """
        if not editions:
            return
        for place, column in enumerate(self.columns):
            laid = [each.columns[place] for each in editions]
            units = None if column.protect.unit is None else units_of(people().names[place], laid)
            column.lay(laid[-1], persons_of(laid), units)
        self.rules = replace(self.rules, steps=for_decision(sum(column.size for column in self.columns)))
        self.forget()

    def laid(self, asked: Sequence[Asked]) -> list[Asked]:
        """What is asked of the data, with the record numbers of the system."""
        return [self.columns[each.protected].laid(each) for each in asked]

    def forget(self) -> None:
        """Know nothing: the ledger says it all again."""
        with self._lock:
            self.seen = 0
            """Number of the last ledger entry that was heard."""
            self._held: OrderedDict[str, Party] = OrderedDict()
            self._let_go: dict[str, int] = {}
            """Parties that have asked and are not held, with how much they know."""

    def forget_party(self, user: str) -> None:
        """Know nothing of what a user's party knows: the ledger says it again."""
        with self._lock:
            name = self.party(user)
            if name in self._held:
                self._put_away(name)

    def _put_away(self, name: str) -> None:
        """Hold a party no longer. Noted first: interrupted in between, it is read again, and not unknown."""
        self._let_go[name] = self._held[name].learned_on_record
        del self._held[name]

    def read_from(self, entries: Callable[[], Iterable[Entry]]) -> None:
        """Say where to read again what a party knows whose systems are no longer held: the ledger."""
        self._entries = entries

    def party(self, user: str) -> str:
        """Whose answers count together with this user's."""
        return f"user {user}" if self.policy.ledger.scope == "user" else "everyone"

    def of(self, user: str) -> Party:
        """The party that a user belongs to; those who have not asked for longest are let go of."""
        with self._lock:
            name = self.party(user)
            if name in self._let_go:
                self._held[name] = self._read_again(name)
                del self._let_go[name]
            elif name not in self._held:
                self._held[name] = Party(self)
            self._held.move_to_end(name)
            for other in [other for other in self._held if not self._thought_of[other] and other != name]:
                if len(self._held) <= PARTIES:
                    break
                self._put_away(other)
            return self._held[name]

    def _read_again(self, name: str, whole: bool = False) -> Party:
        party = Party(self, whole)
        for entry in self._entries():
            if entry.number <= self.seen and entry.answers and self.party(entry.user) == name:
                party.hear(entry)
        return party

    def parties(self) -> Iterator[tuple[str, Party]]:
        """All parties that have asked anything, one after the other; everyone where nobody has.

        Each has learned what is on record: for who thinks of all of them.
        """
        if not (self._held or self._let_go):
            yield "everyone", Party(self)
        for name in dict.fromkeys([*self._let_go, *self._held]):
            party = self._read_again(name) if name in self._let_go else self._held[name]
            party.catch_up(range(len(self.columns)), self.seen)
            yield name, party

    def reported(self) -> Iterator[tuple[str, Party]]:
        """As `parties`, for reports: what is known of persons who are set aside is there too."""
        for name, party in self.parties():
            if any(column.aside is not None for column in party.columns):
                party = self._read_again(name, whole=True)
                party.catch_up(range(len(self.columns)), self.seen)
            yield name, party

    def hear(self, entry: Entry) -> None:
        """Take in a ledger entry; it is learned later (`Party.catch_up`)."""
        with self._lock:
            if entry.number <= self.seen:
                return
            name = self.party(entry.user)
            if entry.answers and name not in self._held:
                if name in self._let_go or len(self._held) >= PARTIES:
                    self._let_go[name] = self._let_go.get(name, 0) + len(entry.answers)
                else:
                    self.of(entry.user)
            if name in self._held:
                self._held[name].hear(entry)
            self.seen = entry.number
            if name in self._held and any(answer.kind == "aside" for answer in entry.answers):
                self._put_away(name)  # what was told before is taken apart, so it is read again

    @contextmanager
    def thought_of(self, user: str, columns: Collection[int], everything: bool) -> Iterator[None]:
        """Hold a user's party while some of its columns are thought of, and note in the end what is known.

        Then nothing may have been accepted that is not on record, or the party must have been forgotten.

        Args:
            user: Whose.
            columns: Which.
            everything: Whether nobody else thinks of anything: then all columns of all parties are noted.
        """
        name = self.party(user)
        with self._lock:
            self._thought_of[name] += 1
        try:
            yield
        finally:
            with self._lock:
                self._thought_of[name] -= 1
                if everything:
                    self.note_all()
                elif name in self._held:
                    self._held[name].note(columns)

    def note_all(self) -> None:
        """Have those who are held know all that is on record, and note it; for who thinks of all of them."""
        for party in self._held.values():
            party.catch_up(range(len(self.columns)), self.seen)
            party.note(range(len(self.columns)))

    def touched(self, user: str, columns: Collection[int]) -> Collection[int]:
        """What is thought of where a user asks about some columns: those, or all if another has no figure."""
        party, whole = self._held.get(self.party(user)), range(len(self.columns))
        known = party is not None and party.has_figures(set(whole) - set(columns))
        return columns if known else whole

    def learned(self, user: str) -> int:
        """How many answers this user's party knows of."""
        name = self.party(user)
        party = self._held.get(name)
        return self._let_go.get(name, 0) if party is None else party.learned

    def at_a_glance(self, user: str, asked: Sequence[Asked]) -> list[Told[Fraction]] | None:
        """What is on record settles all that is asked, seen without a table; else None. In any thread."""
        party = self._held.get(self.party(user))
        return None if party is None else party.at_a_glance(asked)

    def settles_any(self, user: str, asked: Sequence[Asked], among: Collection[bytes]) -> bool:
        """Whether what is on record may settle some of what is asked, as `at_a_glance`; in any thread.

        Args:
            user: Who asks.
            asked: What is asked.
            among: Names of the queries that are looked at (`Party.names`).
        """
        party = self._held.get(self.party(user))
        return party is None or party.settles_any(asked, among)

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

    def __init__(self, knowledge: Knowledge, whole: bool = False) -> None:
        """Know nothing yet; `whole`: as `ColumnKnowledge` has it."""
        self._knowledge, self._whole = knowledge, whole
        self.columns = tuple(
            ColumnKnowledge(column, _truth_of(knowledge, place), whole)
            for place, column in enumerate(knowledge.columns)
        )
        self._persons = {
            place: Persons(each, each.column.persons)
            for place, each in enumerate(self.columns)
            if each.column.persons is not None and each.column.standard.insiders
        }
        """By protected column of which somebody has several records."""
        self._refusals = Refusals()
        self._risks_on_record: dict[int, float | None] = {}
        """By column the risk that the last entry about it left, of all columns together."""
        self._on_record: dict[int, tuple[Glance, int]] = {}
        """By column what is on record, and how many answers that is."""
        self._figures: dict[int, float | None] = {}
        """By column its risk as it was last noted."""
        self._heard: dict[int, deque[tuple[int, list[KnownAnswer]]]] = {}
        """By column what was heard and is not learned yet, with the numbers of the entries."""
        self._heard_until: dict[int, int] = {}
        self._known_until: dict[int, int] = {}
        self._own = set[int]()
        """Entries that were accepted here before they were heard."""

    @property
    def learned(self) -> int:
        """How many answers it knows of."""
        return self.known + self._waiting

    @property
    def known(self) -> int:
        """How many of them are not waiting to be learned."""
        return sum(each.version for each in self.columns)

    @property
    def learned_on_record(self) -> int:
        """How many of them are on record."""
        return sum(count for _, count in list(self._on_record.values())) + self._waiting

    @property
    def _waiting(self) -> int:
        """How many answers were heard and are not learned yet."""
        return sum(len(told) for heard in list(self._heard.values()) for _, told in list(heard))

    def beside(self, columns: Collection[int]) -> Party:
        """Another party that knows the same of some columns, in which a statement may be tried.

        What becomes of the statement there is no answer: what stands for true answers is hypothetical. This
        party never hears of it, and is as it was.
        """
        found = Party(self._knowledge)
        found.columns = tuple(
            each.beside() if place in columns else new
            for place, (each, new) in enumerate(zip(self.columns, found.columns, strict=True))
        )
        found._persons = {place: each.beside(found.columns[place]) for place, each in self._persons.items()}
        return found

    def think_up(self, worlds: int, columns: Iterable[int]) -> None:
        """Keep at least so many hypothetical tables of some columns from now on."""
        for place in columns:
            self.columns[place].system.think_up(worlds)
            if place in self._persons:
                self._persons[place].think_up(worlds)

    def note(self, columns: Iterable[int]) -> None:
        """Take what is known of some columns for what is on record."""
        for place in columns:
            column, heard = self.columns[place], self._heard.get(place)
            while heard and heard[0][0] in self._own:
                heard.popleft()  # accepted here, and heard by somebody else before that was noted
            if heard:
                continue  # it is learned first
            if place not in self._on_record or self._on_record[place][1] != column.version:
                self._on_record[place] = column.glance(), column.version
            if column.judged:
                self._figures[place] = column.risk()
            else:
                self._figures.pop(place, None)

    def note_risks(self, columns: Iterable[int]) -> None:
        """Find how great the risk of some columns is."""
        self._figures |= {place: self.columns[place].risk() for place in columns}

    def has_figures(self, columns: Iterable[int]) -> bool:
        """Whether how great the risk of some columns is was noted, and nothing was heard since."""
        return all(place in self._figures and not self._heard.get(place) for place in columns)

    def at_a_glance(self, asked: Sequence[Asked]) -> list[Told[Fraction]] | None:
        """As `Knowledge.at_a_glance`."""
        noted = {place: glance for place, (glance, _) in list(self._on_record.items())}
        return self._settled(asked, noted) if {each.protected for each in asked} <= noted.keys() else None

    def settles_any(self, asked: Sequence[Asked], among: Collection[bytes]) -> bool:
        """As `Knowledge.settles_any`."""
        noted = {place: glance for place, (glance, _) in list(self._on_record.items())}
        for place, queries in self.reads(asked).items():
            if self.columns[place].aside is not None:
                return True  # what was withheld had other names
            some = [query for query in queries if digest([query]) in among]
            unread = bool(self._heard.get(place)) or place not in noted
            if some and (unread or noted[place].settles_any(some)):
                return True
        return False

    def reads(self, asked: Sequence[Asked]) -> Reads:
        """What is asked, each query once, in the order of first mention, by protected column."""
        found: dict[int, dict[Name, Query]] = {}
        for each in asked:
            query = self.columns[each.protected].query(each)
            found.setdefault(each.protected, {}).setdefault(query.name, query)
        return {place: list(queries.values()) for place, queries in sorted(found.items())}

    def whole_reads(self, asked: Sequence[Asked]) -> Reads:
        """As `reads`, whoever is set aside."""
        found: dict[int, dict[Name, Query]] = {}
        for each in asked:
            query = self.columns[each.protected].whole_query(each)
            found.setdefault(each.protected, {}).setdefault(query.name, query)
        return {place: list(queries.values()) for place, queries in sorted(found.items())}

    def names(self, asked: Sequence[Asked]) -> frozenset[bytes]:
        """Names of the queries that are asked."""
        return frozenset(digest([self.columns[each.protected].query(each)]) for each in asked)

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

    def settled(self, asked: Sequence[Asked]) -> list[Told[Fraction]] | None:
        """What is told, in column units, where past answers settle all of it, else None."""
        return self._settled(asked, dict(enumerate(self.columns)))

    def _settled(
        self, asked: Sequence[Asked], known: Mapping[int, ColumnKnowledge | Glance]
    ) -> list[Told[Fraction]] | None:
        told: dict[int, dict[Name, Told[Fraction]]] = {}
        for place, queries in self.reads(asked).items():
            found = known[place].settled(queries)
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
            column = self.columns[each.protected]
            beside = column.known_part(each)
            ends = told[each.protected][column.query(each).name].under(partial(add, beside))
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
        """The answers are on record, or will be (`recorded`): from now on they are known."""
        for (place, queries), part in zip(reads.items(), outcome.parts, strict=True):
            if part.learned is not None or part.kept is not None:
                if place in self._persons:
                    self._persons[place].learn(self.columns[place].known_answers(queries, part))
                self.columns[place].accept(queries, part)

    def recorded(self, number: int) -> None:
        """What was accepted is on record as the entry of this number."""
        self._own.add(number)

    def hear(self, entry: Entry) -> None:
        """Take in an entry of the ledger; what it says of a column is learned by `catch_up`."""
        about: dict[int, list[KnownAnswer]] = {}
        for answer in entry.answers:
            about.setdefault(self._knowledge.position(answer), []).append(answer)
        for place, told in about.items():
            self._risks_on_record[place] = entry.risk_after
            # who was interrupted while hearing it hears it again
            if entry.number not in self._own and entry.number > self._heard_until.get(place, 0):
                self._heard.setdefault(place, deque()).append((entry.number, told))
            self._heard_until[place] = entry.number
        # those that wait to be learned are known as own by it; others go, out of the very set that grows
        waiting = {number for heard in list(self._heard.values()) for number, _ in list(heard)}
        for number in [each for each in list(self._own) if each < entry.number]:
            if number not in waiting:
                self._own.discard(number)

    def known_until(self, columns: Iterable[int]) -> int:
        """The last entry up to which all that is on record of some columns is known."""
        return min(self._known_until.get(place, 0) for place in columns)

    def catch_up(self, columns: Iterable[int], seen: int) -> None:
        """Learn what was heard of some columns.

        Args:
            columns: Which.
            seen: The last entry that was heard before.
        """
        for place in columns:
            self._known_until[place] = seen
            heard = self._heard.get(place)
            while heard:
                number, told = heard[0]
                if number not in self._own:
                    self._learn(place, told)
                    self._figures.pop(place, None)
                heard.popleft()

    def _learn(self, place: int, told: Sequence[KnownAnswer]) -> None:
        column = self.columns[place]
        before = column.aside
        column.learn(told)
        if place in self._persons and column.aside is before:
            self._persons[place].learn(told)
        elif place in self._persons and column.column.persons is not None:
            # of the others alone, from the beginning
            self._persons[place] = Persons(column, column.column.persons)
            self._persons[place].learn(column.told_of_others())

    def risk(self, columns: Iterable[int] | None = None) -> float | None:
        """Worst certified risk over all columns as things stand; None where a figure is not known.

        Args:
            columns: Those that are thought of: of the others it is what was noted; by default all.
        """
        mine = set(range(len(self.columns)) if columns is None else columns)
        return _worst([self._risk_of(place, place in mine) for place in range(len(self.columns))])

    def _risk_of(self, place: int, mine: bool) -> float | None:
        if mine:
            return self.columns[place].risk()
        if self._heard.get(place) or place not in self._figures:
            return self._risks_on_record.get(place)
        return self._figures[place]

    @property
    def _risk_on_record(self) -> float | None:
        return _worst(list(self._risks_on_record.values())) if self._risks_on_record else None

    def risk_at_hand(self, columns: Iterable[int] | None = None) -> float | None:
        """The same where it takes no search: of what only the ledger knows, the figure on record there."""
        mine = list(range(len(self.columns)) if columns is None else columns)
        searched = any(not self.columns[place].judged for place in mine)
        others = set(range(len(self.columns))) - set(mine)
        return self._risk_on_record if searched or others - self._figures.keys() else self.risk(mine)

    def risk_held(self) -> float | None:
        """The greatest risk that anybody can have as things stand, as the last answer on record left it.

        Nobody's is above it, insiders reckoned with; None where nothing says how great it is.
        """
        # of persons who are set aside the record says nothing
        found = None if self._whole else self.risk_at_hand()
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
                else self._risk_of(place, place in reads)
                for place, column in enumerate(self.columns)
            ]
        )


def _truth_of(knowledge: Knowledge, place: int) -> Callable[[Sequence[Query]], list[int]]:
    return lambda queries: knowledge.truth(place, queries)


def _worst(figures: Sequence[float | None]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return max(known) if len(known) == len(figures) else None
