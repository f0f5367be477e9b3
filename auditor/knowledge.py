"""What each party knows: the answered systems behind the gate, and the true values in the same units.

A party is everyone together, or each user where the policy says `scope = "user"`.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from auditor.database import Asked, Database
from auditor.deciding import Outcome, Rules
from auditor.errors import CoarserGridWarning, DatabaseError, PolicyError
from auditor.ledger import Entry, KnownAnswer
from auditor.policy import Policy, written
from cae_sql.candidates import grid_candidates
from cae_sql.inference.answers import Ints, Query
from cae_sql.inference.runs import Effort, Runs
from cae_sql.inference.search import search
from cae_sql.inference.system import POOL, AnsweredSystem
from cae_sql.inference.trial import Judgement, Standard, judge
from cae_sql.risk import Limit, risk_of, risk_of_run

SEED = 20130527
"""Worlds are drawn with this seed in every gate: a verdict may depend on past answers, not on luck."""


REPORT_SECONDS = 2.0
"""Time for a figure that decides nothing."""


class Knowledge:
    """All parties' systems over one vault."""

    def __init__(self, policy: Policy, database: Database) -> None:
        """Check that the data fit the policy.

        Raises:
            PolicyError: values outside the domain or off the grid, or a limit that nothing could meet.
            DatabaseError: too few records to protect.
        """
        self.policy = policy
        if database.vaults[0].size < 2:
            raise DatabaseError(
                f"table {policy.protect.table} has {database.vaults[0].size} records with a {policy.protect.column}: "
                "nothing can be asked of fewer than two without naming a person"
            )
        self.values = _on_grid(policy, database)
        self.rules = _rules(policy)
        self.seen = 0
        """Number of the last ledger entry that was learned."""
        self._parties: dict[str, Party] = {}
        self._leaks: Counter[str] = Counter()
        _check_known(policy, database)

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
        self._leaks[self.party(entry.user)] += entry.leak
        if entry.answers:
            self.of(entry.user).learn(entry.answers)
        self.seen = entry.number

    def closed(self, user: str) -> bool:
        """Whether so many refusals have told this user's party something that nothing new is answered.

        One leak event is a residue; many add up, and nothing else counts them.
        """
        return self._leaks[self.party(user)] > self.policy.decision.leaks

    def truth(self, queries: Sequence[Query]) -> list[int]:
        """The true answers in units; nothing else reads the vault."""
        return [int(query.of(self.values)) for query in queries]

    def new_system(self) -> AnsweredSystem:
        """A system without answers."""
        protect = self.policy.protect
        return AnsweredSystem(
            len(self.values),
            protect.minimum,
            protect.maximum,
            self.policy.resolution,
            seed=SEED,
            pool=max(POOL, self.policy.decision.worlds),
        )


class Party:
    """One answered system, and the translation of what SQL asks into its terms."""

    def __init__(self, knowledge: Knowledge) -> None:
        """Know nothing yet."""
        self._knowledge = knowledge
        self.system = knowledge.new_system()
        self.effort = Effort()
        """Integer programs that decisions may still use before the next answer."""
        self.spent: NDArray[np.bool_] = np.zeros(len(knowledge.values), dtype=np.bool_)
        """(n,) records about which a leak event has told something: nothing new is answered over them."""
        self._judgement: Judgement | None = None

    def queries(self, asked: Sequence[Asked]) -> list[Query]:
        """What is asked, each once, in the order of first mention."""
        found: dict[tuple[str, bytes, bytes], Query] = {}
        for each in asked:
            query = self._query(each)
            found.setdefault(query.name, query)
        return list(found.values())

    def _query(self, each: Asked) -> Query:
        signs = each.signs
        if signs is not None and (signs == -1).all():
            signs = None
        return self.system.query(each.kind, each.records, signs)

    def settled(self, asked: Sequence[Asked]) -> list[Fraction] | None:
        """The values in column units where past answers settle all of them, else None."""
        queries = self.queries(asked)
        if not queries:
            return []
        if not self.system.answers:
            return None
        trial = self.system.trial(queries)
        if not trial.derivable:
            return None
        return self.values_of(asked, queries, [value for value in trial.settled if value is not None])

    def values_of(
        self, asked: Sequence[Asked], queries: Sequence[Query], values: Sequence[int]
    ) -> list[Fraction]:
        """Σ signs · value, or the extreme, in column units, for each asked aggregate."""
        known = {
            query.name: self.system.column_value(query, value)
            for query, value in zip(queries, values, strict=True)
        }
        found = []
        for each in asked:
            value = known[self._query(each).name]
            found.append(-value if each.signs is not None and (each.signs == -1).all() else value)
        return found

    def known_answers(self, queries: Sequence[Query], values: Sequence[int]) -> list[KnownAnswer]:
        """As the ledger keeps them."""
        return [
            KnownAnswer(
                query.kind,
                query.members,
                None if query.coefficients is None else query.coefficients.astype(np.int8),
                self.system.column_value(query, value),
            )
            for query, value in zip(queries, values, strict=True)
        ]

    def accept(self, queries: Sequence[Query], outcome: Outcome) -> None:
        """The answers are on record: from now on they are known."""
        answers = [query.answered(value) for query, value in zip(queries, outcome.values, strict=True)]
        self.system.accept(answers, outcome.pool)
        self._judgement, self.effort = outcome.judgement, Effort()

    def learn(self, answers: Sequence[KnownAnswer]) -> None:
        """Take in answers from the ledger."""
        found = []
        for answer in answers:
            if answer.kind == "leak":
                self.spent[answer.records] = True
                continue
            query = self.system.query(answer.kind, answer.records, answer.signs)
            found.append(query.answered(self.system.units(query, answer.value)))
        if found:
            self.system.accept(found)
            self._judgement, self.effort = None, Effort()

    def told_by_refusal(self, queries: Sequence[Query]) -> list[KnownAnswer]:
        """A leak event, as the ledger keeps it: the records it was about."""
        records = np.unique(np.concatenate([query.members for query in queries]))
        return [KnownAnswer("leak", records, None, Fraction(0))]

    def spent_on(self, queries: Sequence[Query]) -> bool:
        """Whether a leak event has told something about a record that is asked about.

        What it told is not among the answers; together with a further answer it could locate the record.
        """
        if self._knowledge.policy.decision.after_leak == "continue":
            return False
        return any(self.spent[query.members].any() for query in queries)

    def risk_before(self) -> float | None:
        """Worst certified risk over the records as things stand: an upper limit of it."""
        if self._judgement is None:
            rules = self._knowledge.rules
            pool = self.system.pool()
            quick = time.monotonic() + min(rules.seconds, REPORT_SECONDS)
            self._judgement = judge(pool.knowledge, pool.totals(), rules.standard, quick, Effort(0))
        return self.risk_of(self._judgement)

    def certified_runs(self) -> Runs:
        """Runs as long as they are found, and exactly known sets for those whose run is not long enough."""
        runs = self.system.runs()
        standard = self._knowledge.rules.standard
        runs.need = standard.need
        for atom in runs.short.tolist():
            search(runs, atom, standard.accepts)
        return runs

    def risk_of(self, judgement: Judgement | None) -> float | None:
        """Worst risk that a judgement leaves possible; None where it found nothing."""
        if judgement is None or judgement.width < 0:
            return None
        policy = self._knowledge.policy
        steps = 1 + int(judgement.width * policy.resolution // policy.protect.step)
        risks = [risk_of_run(min(steps, policy.domain.count), policy.domain).risk]
        for units in judgement.sets:
            values = np.array([float(self.system.grid.to_value(u)) for u in units])
            risks.append(risk_of(*grid_candidates(values, policy.domain), policy.domain).risk)
        return max(risks)


def _check_known(policy: Policy, database: Database) -> None:
    """Every column that the intruder is said to know must be there."""
    if policy.intruder.knows == "all":
        return
    schema = database.schema
    table = next(each for each in schema.tables if each.name == schema.protected[0].table)
    there = {column.name.casefold() for column in table.columns}
    for name in policy.intruder.knows:
        if name.casefold() not in there:
            raise PolicyError(
                f'intruder.knows = "{name}": {policy.protect.table} has no such public column; '
                f"there are {', '.join(column.name for column in table.columns)}"
            )


def _on_grid(policy: Policy, database: Database) -> NDArray[np.int64]:
    """The true values in units of the grid.

    Raises:
        PolicyError: see `Knowledge`.
    """
    protect, resolution = policy.protect, policy.resolution
    place = f"{protect.table}.{protect.column}"
    scale = database.vaults[0].scale / resolution
    offset = protect.minimum / resolution
    common = scale.denominator * offset.denominator
    whole, low = int(scale * common), int(offset * common)
    largest = int(np.abs(database.vaults[0].integers).max(initial=0))
    if largest * abs(whole) + abs(low) < 2**62:
        shifted = database.vaults[0].integers * whole - low
    else:
        shifted = database.vaults[0].integers.astype(object) * whole - low
    top = (protect.maximum - protect.minimum) // resolution
    if (shifted < 0).any() or (shifted > top * common).any():
        raise PolicyError(
            f"protect.minimum = {written(protect.minimum)}, protect.maximum = {written(protect.maximum)}: "
            f"some values of {place} lie outside; widen the domain so that it holds every value there may be"
        )
    if (shifted % common != 0).any():
        raise PolicyError(
            f"protect.resolution = {written(resolution)}: some values of {place} are not minimum plus a "
            f"multiple of it; take the grid that the values are stored on, such as 0.01 for cents, and a "
            "minimum on that grid"
        )
    units: NDArray[np.int64] = (shifted // common).astype(np.int64)
    coarser = int(np.gcd.reduce(units - units[0]))
    if coarser > 1 and len(np.unique(units)) > 2:
        warnings.warn(
            f"all values of {place} lie on a grid of {written(coarser * resolution)}, coarser than "
            f"protect.resolution = {written(resolution)}: an intruder who guesses that can exclude more than "
            "the gate assumes; set resolution to the data's own grid",
            CoarserGridWarning,
            stacklevel=2,
        )
    return units


def _rules(policy: Policy) -> Rules:
    limit: Limit = policy.limit
    domain = policy.domain
    least = limit.least_run(domain)
    if least is None:
        raise PolicyError(
            "limit: even before any answer it is broken; take a larger risk, a smaller epsilon or "
            "min_entropy, or a wider domain"
        )
    need = (least - 1) * policy.protect.step / policy.resolution
    minimum, resolution = policy.protect.minimum, policy.resolution

    def accepts(units: Ints) -> bool:
        values = np.array([float(minimum + resolution * int(u)) for u in units])
        return limit.keeps(*grid_candidates(values, domain), domain)

    decision = policy.decision
    return Rules(
        Standard(int(need), accepts),
        decision.mode == "simulatable",
        decision.worlds,
        decision.delta,
        decision.timeout,
    )
