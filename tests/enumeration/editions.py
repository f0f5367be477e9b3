"""Two and three editions of small tables under one ledger, held against all tables that agree.

A table of all editions has one value for each person, and another one for each time that it changed. All such
tables are listed, and those that agree with everything that was told are left. Checked after each answer:
- everybody, now and then, keeps the limit in them, whoever knows one value (`insiders`);
- whoever knows all values that one person had learns of nobody else's more than the limit allows;
- what is told is true, and what is called known is the same in all of them;
- the same conversation over another table that agrees, in which the same persons changed, goes the same way.

What is counted and is no finding: how often somebody loses the limit to one who knows besides that a value
which changed is not what it was. Nothing judges that: see docs/editions.md.
"""

from __future__ import annotations

import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np

from auditor import Gate, Policy, QueryRefused
from auditor.errors import CoarserGridWarning

from .oracle import Bound, Possible, Question
from .scenarios import Rules, Settings, rules_at_random, table_at_random

MOST_TABLES = 20_000
"""Of all editions, before anything is told."""
KINDS = ("sum", "sum", "max", "min")


@dataclass(frozen=True)
class Ask:
    """A statement about some persons."""

    kind: str
    ids: tuple[int, ...]
    against: tuple[int, ...] = ()
    """Whose values are subtracted."""

    @property
    def sql(self) -> str:
        """As an analyst writes it."""
        value = f"CASE WHEN {_among(self.against)} THEN -v ELSE v END" if self.against else "v"
        return f"SELECT {self.kind.upper()}({value}) FROM t WHERE {_among((*self.ids, *self.against))}"


def _among(persons: Sequence[int]) -> str:
    return " OR ".join(f"id = {person}" for person in sorted(persons))


@dataclass(frozen=True)
class Growing:
    """A table as it grows, and what is asked of each state of it."""

    states: tuple[dict[int, int], ...]
    """By edition, the record of each person: a person of another value is another record."""
    values: tuple[int, ...]
    """By record."""
    top: int
    rules: Rules
    asked: tuple[tuple[Ask, ...], ...]
    """By edition."""

    @property
    def size(self) -> int:
        """Records."""
        return len(self.values)

    @property
    def records_of(self) -> dict[int, list[int]]:
        """The records of each person, where there are several."""
        found: dict[int, list[int]] = {}
        for state in self.states:
            for person, record in state.items():
                if record not in found.setdefault(person, []):
                    found[person].append(record)
        return {person: records for person, records in found.items() if len(records) > 1}

    def question(self, ask: Ask, edition: int) -> Question:
        """In terms of records."""
        signs = [0] * self.size
        for person in ask.ids:
            signs[self.states[edition][person]] = 1
        for person in ask.against:
            signs[self.states[edition][person]] = -1
        return Question(ask.kind, tuple(signs))

    def __str__(self) -> str:
        lines = [self.rules.policy(self.top)]
        for state, asked in zip(self.states, self.asked, strict=True):
            lines += [str({person: self.values[record] for person, record in state.items()})]
            lines += [ask.sql for ask in asked]
        return "\n".join(lines)


def growing_at_random(insiders: int, seed: int, number: int) -> Growing:
    """The same one for the same seed and number."""
    rng = np.random.default_rng([seed, number])
    top = int(rng.integers(3, 6))
    most = next(n for n in range(9, 0, -1) if (top + 1) ** n <= MOST_TABLES)
    values = [*table_at_random(rng, min(int(rng.integers(3, 6)), most - 1), top, "uniform")]
    states = [dict(zip(range(len(values)), range(len(values)), strict=True))]
    for _ in range(int(rng.choice([1, 1, 2]))):
        state, known = dict[int, int](), {}
        for earlier in states:
            known |= {(person, values[record]): record for person, record in earlier.items()}
        for person, record in states[-1].items():
            fate = rng.random()
            if fate < 0.25 and len(state) + len(states[-1]) - person > 3:
                continue
            if fate < 0.55 and len(values) < most:
                other = int(rng.choice([v for v in range(top + 1) if v != values[record]]))
                if (person, other) not in known:
                    known[person, other] = len(values)
                    values.append(other)
                record = known[person, other]
            state[person] = record
        for person in range(50 + 10 * len(states), 50 + 10 * len(states) + int(rng.integers(0, 3))):
            if len(values) < most:
                state[person] = len(values)
                values.append(int(rng.integers(top + 1)))
        states.append(state if len(state) > 1 else states[-1])
    rules = rules_at_random(rng, Settings(insiders=insiders), top)
    asked = tuple(tuple(_ask(rng, state) for _ in range(int(rng.integers(1, 5)))) for state in states)
    return Growing(tuple(states), tuple(values), top, replace(rules, insiders=insiders, ratio=1), asked)


def _ask(rng: np.random.Generator, state: dict[int, int]) -> Ask:
    """About all, all but one, or some."""
    persons, form = list(state), rng.random()
    if form < 0.4:
        chosen = persons
    elif form < 0.7:
        one = int(rng.choice(persons))
        chosen = [each for each in persons if each != one]
    else:
        chosen = [each for each in persons if rng.random() < 0.6] or persons
    kind = str(rng.choice(KINDS))
    if kind == "sum" and rng.random() < 0.15 and len(chosen) > 1:
        return Ask(kind, tuple(chosen[1:]), (chosen[0],))
    return Ask(kind, tuple(chosen))


@dataclass(frozen=True)
class Said:
    """What became of a statement."""

    code: str
    words: str
    surprises: int
    value: int | None
    ends: tuple[Fraction | None, Fraction | None] = (None, None)


def conversation(growing: Growing, values: Sequence[int]) -> Iterator[Said]:
    """Ask it all of gates over files of their own, one ledger for all of them."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarserGridWarning)
        text = growing.rules.policy(growing.top).replace("resolution = 1", 'resolution = 1\nkey = "id"')
        policy, ledger = Policy.parse(text), Path(folder) / "ledger"
        for edition, (state, asked) in enumerate(zip(growing.states, growing.asked, strict=True)):
            path = Path(folder) / f"{edition}.duckdb"
            with duckdb.connect(str(path)) as connection:
                connection.execute("CREATE TABLE t (id INTEGER, v INTEGER)")
                rows = [[person, int(values[record])] for person, record in state.items()]
                connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
            if edition:
                Gate.renew(path, policy, ledger)
            with Gate.open(path, policy, ledger) as gate:
                for ask in asked:
                    yield _said(gate, ask)


def _said(gate: Gate, ask: Ask) -> Said:
    value, ends = None, (None, None)
    try:
        answer = gate.execute(ask.sql)
        decision, [[value]] = answer.decision, answer.fetchall()
        for each in answer.ranges:
            ends = each.least, each.most
    except QueryRefused as error:
        decision = error.decision
    last = list(gate._ledger.entries())[-1]
    words = f"{decision.message} {decision.hint}"
    return Said(decision.code, words, last.surprises, None if value is None else int(value), ends)


@dataclass
class Seen:
    """What was seen."""

    systems: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    across: int = 0
    """Answers in later editions that taught something."""
    transcripts: int = 0
    """Conversations compared with those over another table."""
    by_change: int = 0
    """Answers after which somebody loses the limit only to one who knows that values which changed differ."""


class Held:
    """One conversation, held against all tables."""

    def __init__(self, growing: Growing, others: int, seen: Seen) -> None:
        self.growing, self.others, self.seen = growing, others, seen
        self.bound: Bound = growing.rules.bound(growing.top)
        self.possible = Possible.everything(growing.size, growing.top)
        self.truth = np.array([growing.values])

    def findings(self) -> Iterator[str]:
        """What is wrong, as it is found."""
        self.seen.systems += 1
        said = conversation(self.growing, self.growing.values)
        heard = list[Said]()
        for edition, asked in enumerate(self.growing.asked):
            for ask in asked:
                heard.append(next(said))
                self.seen.codes["surprise" if heard[-1].surprises else heard[-1].code] += 1
                yield from self._answer(self.growing.question(ask, edition), heard[-1], edition)
        said.close()
        tables = self._apart(self.possible).tables
        for turn in range(self.others):
            other = tables[int(np.random.default_rng([11, turn, len(tables)]).integers(len(tables)))]
            yield from self._elsewhere(heard, [int(value) for value in other])

    def _answer(self, question: Question, said: Said, edition: int) -> Iterator[str]:
        true = int(question.of(self.truth)[0])
        if said.code not in ("answered", "known", "ends", "risk", "time"):
            yield f"{said.code}: {said.words}"
        if said.code == "known" and said.value is not None and not self.possible.settled(question):
            yield "called known, and it is not"
        after = self.possible
        if said.value is not None:
            if said.value != true:
                yield f"{said.value} in place of {true}"
            after = after.told(question, said.value)
        elif said.code in ("ends", "known"):
            least, most = said.ends
            if (least is not None and true < least) or (most is not None and true > most):
                yield f"{true} outside of {said.ends}"
            after = after.within(question, least, most)
        new, self.possible = len(after.tables) < len(self.possible.tables), after
        if not new:
            return
        self.seen.across += edition > 0
        insiders = self.growing.rules.insiders
        breach = self.bound.breach(after, insiders)
        if breach is not None:
            yield f"edition {edition + 1}: {breach}"
            return
        person = self._to_a_person(after) if insiders else None
        if person is not None:
            yield f"edition {edition + 1}: {person}"
            return
        self.seen.by_change += self.bound.breach(self._apart(after), insiders) is not None

    def _to_a_person(self, possible: Possible) -> str | None:
        """Somebody who does not keep the limit to one who had several values and knows them all."""
        for person, records in self.growing.records_of.items():
            for known in np.unique(possible.tables[:, records], axis=0):
                tables = possible.tables[(possible.tables[:, records] == known).all(axis=1)]
                for record in range(possible.size):
                    values = tuple(np.unique(tables[:, record]).tolist())
                    if record not in records and not self.bound.keeps(values):
                        return f"record {record} is one of {values} to person {person}, who had {known}"
        return None

    def _apart(self, possible: Possible) -> Possible:
        """The tables in which values that changed are not what they were."""
        tables = possible.tables
        for records in self.growing.records_of.values():
            for place, one in enumerate(records):
                for other in records[place + 1 :]:
                    tables = tables[tables[:, one] != tables[:, other]]
        return Possible(possible.top, tables)

    def _elsewhere(self, heard: Sequence[Said], other: Sequence[int]) -> Iterator[str]:
        self.seen.transcripts += 1
        for step, (here, there) in enumerate(zip(heard, conversation(self.growing, other), strict=True)):
            if here.surprises or there.surprises:
                return  # from here on they may differ
            if here != there:
                yield f"step {step}: {here.code} here, {there.code} if the values were {list(other)}"
                return
