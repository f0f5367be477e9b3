"""Who knows what: one standing for each protected column, for each user, each group and everyone together.

Promise: what a party learned, and from which statement, is kept for every answer that teaches it something
that earlier ones do not settle; a record's first statement is the one after which it was first beyond the
limit. What is known is never forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from auditor.history.facts import Fact
from auditor.history.findings import Cited, Moment
from auditor.history.risks import worst_risk
from auditor.parties.confidential import Confidential
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.query import Query
from cae_sql.inference.lookback.located_so_far import EXACT, KEEPS, LocatedSoFar
from cae_sql.inference.lookback.look import STEPS, assess

EVERYONE = "everyone"
NOTED = ("first", "reals", "exact", "exact_by_reals")
"""What a party's column notes of every record."""


@dataclass(frozen=True, eq=False)
class Source:
    """Where an answer comes from."""

    cited: Cited
    fact: Fact
    sql: str
    """A query for this number alone; "" where there is none."""


class PartyColumn:
    """What a party knows of one protected column."""

    def __init__(self, column: Confidential, so_far: LocatedSoFar) -> None:
        self.column, self.so_far = column, so_far
        self.sources: list[Source] = []
        """By answer."""
        size = column.size
        self.first: NDArray[np.int64] = np.full(size, -1, dtype=np.int64)
        """(n,) place among `cited` of the statement that located a record first; -1: none."""
        self.reals: NDArray[np.int64] = np.full(size, -1, dtype=np.int64)
        """(n,) the same by linear programs."""
        self.exact_by_reals: NDArray[np.int64] = np.full(size, -1, dtype=np.int64)
        """(n,) the statement that left one value by linear programs."""
        self.exact: NDArray[np.int64] = np.full(size, -1, dtype=np.int64)
        """(n,) the statement that left one value."""
        self.cited: list[Cited] = []
        """Statements that taught something, in order."""
        self.counts: list[int] = []
        """How many answers were known after each."""
        self.direct: dict[int, Source] = {}
        """Records whose row was read."""
        self._seen = 0
        """`LocatedSoFar.changes` when it was last looked at."""
        self._risk: tuple[int, float] | None = None

    def copy(self) -> PartyColumn:
        """An independent one that knows the same."""
        twin = PartyColumn(self.column, self.so_far.copy())
        twin.sources, twin.cited, twin.direct = list(self.sources), list(self.cited), dict(self.direct)
        twin.counts = list(self.counts)
        for name in NOTED:
            setattr(twin, name, getattr(self, name).copy())
        return twin

    def learn(self, cited: Cited, sources: Sequence[Source], allowance: Allowance) -> bool:
        """Take a statement's facts; whether they taught anything."""
        queries = [query_of(source.fact) for source in sources]
        for source in sources:
            if source.fact.kind == "row":
                self.direct.setdefault(int(source.fact.records[0]), source)
        kept = self.so_far.add(queries)
        self.sources += [sources[place] for place in kept]
        if not kept:
            return False
        self.cited.append(cited)
        self.counts.append(len(self.so_far.answers))
        self.assess(allowance)
        return True

    def assess(self, allowance: Allowance, whole: bool = False) -> None:
        """Find who is located, and note since which statement."""
        so_far = self.so_far
        assess(so_far, allowance, whole)
        if so_far.changes == self._seen:
            return
        self._seen = so_far.changes
        counts = np.array(self.counts)
        for found, exact, states, since in (
            (self.first, self.exact, so_far.by_integers, so_far.since_integers),
            (self.reals, self.exact_by_reals, so_far.by_reals, so_far.since_reals),
        ):
            places = np.minimum(np.searchsorted(counts, since), len(counts) - 1)
            for noted, new in ((found, states != KEEPS), (exact, states == EXACT)):
                # what is looked back at later may turn out to have been so before
                earlier = np.where(noted < 0, places, np.minimum(noted, places))
                noted[new] = earlier[new]

    def risk(self, codes: NDArray[np.int64]) -> float:
        """Of the worst class; worked out again only where something has changed."""
        changes = self.so_far.changes
        if self._risk is None or self._risk[0] != changes:
            self._risk = changes, worst_risk(self.column, self.so_far, codes)
        return self._risk[1]

    @property
    def located(self) -> NDArray[np.bool_]:
        """(n,) who is beyond the limit."""
        found: NDArray[np.bool_] = self.so_far.by_integers != KEEPS
        return found


def query_of(fact: Fact) -> Query:
    """A fact in the terms of inference; a row, or an extreme of one record, is a sum over it."""
    kind = "sum" if fact.kind == "row" or len(fact.records) == 1 else fact.kind
    return Query(kind=kind, members=fact.records, coefficients=fact.coefficients)


class Party:
    """Some users, who tell each other everything."""

    def __init__(self, name: str, columns: Sequence[PartyColumn]) -> None:
        self.name, self.columns = name, list(columns)
        self.users: dict[str, None] = {}
        self.statements = 0
        self.seen: set[bytes] = set()
        """Digests of statements that have taught it all they can."""
        self.timeline: list[Moment] = []

    def renamed(self, name: str) -> Party:
        """One of another name that knows the same, independent from now on."""
        twin = Party(name, [column.copy() for column in self.columns])
        twin.users, twin.statements, twin.seen = dict(self.users), self.statements, set(self.seen)
        twin.timeline = [_renamed(moment, name) for moment in self.timeline]
        return twin

    def learn(
        self,
        cited: Cited,
        sources: Sequence[Source],
        classes: Sequence[NDArray[np.int64]],
        allowance: Allowance,
    ) -> None:
        """Take a statement's facts, and note how things stand where they taught something."""
        taught = False
        for position, column in enumerate(self.columns):
            own = [source for source in sources if source.fact.column == position]
            taught = (bool(own) and column.learn(cited, own, allowance)) or taught
        if taught:
            self.timeline.append(self.moment(cited, classes))

    def finish(self, steps: float = STEPS) -> None:
        """Look at everybody, with so many steps a column, and count again how many had been located when."""
        for column in self.columns:
            if column.cited:
                column.assess(Allowance(steps), whole=True)
        places = [{cited.number: place for place, cited in enumerate(each.cited)} for each in self.columns]
        located, exact = [0] * len(self.columns), [0] * len(self.columns)
        made = []
        for moment in self.timeline:
            for number, (column, known) in enumerate(zip(self.columns, places, strict=True)):
                place = known.get(moment.statement)
                if place is not None:
                    located[number] = int(((column.first >= 0) & (column.first <= place)).sum())
                    exact[number] = int(((column.exact >= 0) & (column.exact <= place)).sum())
            made.append(replace(moment, located=sum(located), exact=sum(exact)))
        self.timeline = made

    def moment(self, cited: Cited, classes: Sequence[NDArray[np.int64]]) -> Moment:
        """How things stand after a statement."""
        columns = self.columns
        return Moment(
            statement=cited.number,
            time=cited.time,
            party=self.name,
            answers=sum(len(each.so_far.answers) for each in columns),
            located=sum(int(each.located.sum()) for each in columns),
            exact=sum(int((each.so_far.by_integers == EXACT).sum()) for each in columns),
            open=sum(int(each.so_far.open.sum()) for each in columns),
            risk=max(each.risk(codes) for each, codes in zip(columns, classes, strict=True)),
        )


def _renamed(moment: Moment, name: str) -> Moment:
    return replace(moment, party=name)


class Parties:
    """Everyone, the groups, and each user; those who know the same share it until they do not."""

    def __init__(self, columns: Sequence[Confidential], groups: Mapping[str, Sequence[str]]) -> None:
        self._columns = columns
        self._groups = {name: frozenset(users) for name, users in groups.items()}
        self.everyone = self._new(EVERYONE)
        self._groups_of = {name: self._new(f"group {name}") for name in groups}
        self._users: dict[str, Party] = {}
        self._alone: str | None = None
        """The only user so far, who knows what everyone knows."""

    def _new(self, name: str) -> Party:
        return Party(name, [PartyColumn(each, _standing(each)) for each in self._columns])

    def of(self, user: str) -> list[Party]:
        """The parties that learn what a user is told."""
        found = [self.everyone]
        if not user:
            self._part()
        elif self._alone is None and not self._users and not self.everyone.users:
            self._alone = user
        elif user != self._alone:
            self._part()
        if user and self._alone is None:
            if user not in self._users:
                self._users[user] = self._new(f"user {user}")
            found.append(self._users[user])
        found += [party for name, party in self._groups_of.items() if user in self._groups[name]]
        for party in found:
            party.users.setdefault(user)
        return found

    @property
    def users(self) -> dict[str, Party]:
        """Users who know less than everyone, by name."""
        return self._users

    @property
    def groups(self) -> dict[str, Party]:
        """Groups, by name."""
        return self._groups_of

    @property
    def only_user(self) -> str | None:
        """The only user so far, who knows what everyone knows."""
        return self._alone

    @property
    def distinct(self) -> list[Party]:
        """Those who do not know just what everyone knows, and everyone."""
        return [self.everyone, *self._groups_of.values(), *self._users.values()]

    def begin_again(self, alone: str | None, names: Sequence[str]) -> None:
        """Make the parties of an audit that was interrupted, knowing nothing yet."""
        self._alone = alone
        for name in names:
            if name.startswith("user "):
                self._users[name.removeprefix("user ")] = self._new(name)

    def _part(self) -> None:
        """Another one asks: from now on the first user knows less than everyone."""
        if self._alone is not None:
            self._users[self._alone] = self.everyone.renamed(f"user {self._alone}")
            self._alone = None

    def all(self) -> list[Party]:
        """Everyone first; one user alone is the same as everyone, and comes with what everyone knows."""
        users = dict(self._users)
        if self._alone is not None:
            users[self._alone] = self.everyone.renamed(f"user {self._alone}")
        return [
            self.everyone,
            *(self._groups_of[name] for name in sorted(self._groups_of)),
            *(users[name] for name in sorted(users)),
        ]


def _standing(column: Confidential) -> LocatedSoFar:
    protect = column.protect
    top = int((protect.maximum - protect.minimum) // protect.grid)
    return LocatedSoFar(column.units, top, column.standard)
