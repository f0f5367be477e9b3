"""One statement from text to answer: understand, decide, record, and only then release.

Promises: nothing is released that the ledger does not hold; decisions on one table are made one at a time,
across threads and processes; what past answers settle is answered without a new decision; verdicts, codes,
messages and hints depend on past answers and the statement alone.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import pyarrow as pa

from auditor import verdicts
from auditor.answer import Answer
from auditor.asking import Ask, Parameters, checked, plain
from auditor.database import Asked, Database, StatementFailed
from auditor.deciding import Outcome, decide, simulate
from auditor.decision import Decision
from auditor.errors import LedgerError, PolicyError, QueryRefused, QueryUnsupported
from auditor.knowledge import Knowledge
from auditor.ledger import Binding, Entry, KnownAnswer, Ledger
from auditor.policy import Policy
from auditor.sql import Plan, Unsupported, understand

if TYPE_CHECKING:
    import pandas as pd

    from auditor.reports import Verification


REMEMBERED = 256
"""Answered statements kept in memory, so that a repeated one costs a look-up and a ledger entry."""
LARGEST_KEPT = 1 << 20
"""Bytes of a result beyond which it is not kept; it is computed again from the ledger's answers."""


@dataclass(frozen=True)
class _Remembered:
    plan: Plan
    table: pa.Table


class Gate:
    """A protected table that may be asked. A context manager; see `open`."""

    def __init__(self, database: Database, policy: Policy, ledger: Ledger, knowledge: Knowledge) -> None:
        """Use `open`."""
        self.policy = policy
        self._database, self._ledger, self._knowledge = database, ledger, knowledge
        self._deciding = threading.RLock()
        self._remembering = threading.Lock()
        self._answers: OrderedDict[tuple[str, str, str], _Remembered] = OrderedDict()

    @classmethod
    def open(
        cls,
        database: str | os.PathLike[str],
        policy: Policy | str | os.PathLike[str],
        ledger: str | os.PathLike[str] | None = None,
    ) -> Gate:
        """Open a DuckDB file under a policy; what the ledger holds is known from then on.

        Args:
            database: The DuckDB file; it is copied from and let go.
            policy: A policy, or the path of one.
            ledger: Where answers are remembered; by default as the policy says, or beside the database.

        Raises:
            PolicyError: the policy cannot be used with these data.
            DatabaseError: the database cannot be opened, or lacks what the policy names.
            DataChanged: the data are not those of the ledger's answers.
            LedgerError: the ledger cannot be trusted, read or written.
        """
        rules = policy if isinstance(policy, Policy) else Policy.load(Path(policy))
        protect = rules.protect
        with ExitStack() as opened:
            data = opened.enter_context(
                Database.open(
                    database, [protect], public_tables=rules.tables.public, views=rules.tables.views
                )
            )
            knowledge = Knowledge(rules, data)
            binding = Binding(
                rules.protect_digest,
                data.fingerprint,
                data.vaults[0].size,
                protect.table,
                protect.column,
                rules.protect_canonical,
            )
            where = rules.ledger_location(os.fspath(database)) if ledger is None else os.fspath(ledger)
            book = opened.enter_context(Ledger.open(where, binding, rules.anchor_path))
            gate = cls(data, rules, book, knowledge)
            gate._catch_up()
            opened.pop_all()
        return gate

    def close(self) -> None:
        """Let go of the data and the ledger."""
        self._ledger.close()
        self._database.close()

    def __enter__(self) -> Gate:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- asking

    def execute(self, sql: str, parameters: Parameters = None, user: str = "analyst") -> Answer:
        """Answer a statement exactly, or refuse it.

        Args:
            sql: One SELECT statement in DuckDB's dialect.
            parameters: Values for ?, $1 or $name.
            user: Who asks; recorded.

        Raises:
            QueryRefused: an answer could push the risk past the limit.
            QueryUnsupported: the statement is not understood, or failed while it ran.
            LedgerError: the ledger cannot be trusted or written; nothing was released.
        """
        ask = checked(Ask(sql, parameters, user))
        remembered = self._recall(ask)
        if remembered is not None:
            ask = replace(ask, plan=remembered.plan)
            decision = verdicts.PUBLIC if remembered.plan.public else verdicts.KNOWN
            self._record(ask, decision)
            return Answer(remembered.table, remembered.plan.types, decision)
        ask = self._understood(ask)
        assert ask.plan is not None
        if ask.plan.public:
            return self._release(ask, verdicts.PUBLIC, [])
        asked = self._asked(ask)
        if not asked:
            return self._release(ask, verdicts.PUBLIC, [])
        with self._deciding:
            values = self._known_values(ask, asked)
            decision = verdicts.KNOWN
            if values is None:
                decision, values = self._decide(ask, asked)
        return self._release(ask, decision, values, record=decision is verdicts.KNOWN)

    def check(self, sql: str, parameters: Parameters = None, user: str = "analyst") -> Decision:
        """The verdict that `execute` would give, and no answer; simulatable mode only. Recorded as a check.

        The true answer is not looked at: a statement that passes here may still be refused as a leak event.

        Raises:
            PolicyError: the mode is answer-dependent, where a verdict alone tells something.
            LedgerError: the ledger cannot be trusted or written.
        """
        if self.policy.decision.mode != "simulatable":
            raise PolicyError(
                'decision.mode = "answer-dependent": check needs mode = "simulatable", because elsewhere a '
                "verdict is itself an answer"
            )
        try:
            ask = self._understood(checked(Ask(sql, parameters, user, check=True)))
        except QueryUnsupported as error:
            return error.decision
        assert ask.plan is not None
        if ask.plan.public:
            self._record(ask, verdicts.PUBLIC)
            return verdicts.PUBLIC
        try:
            asked = self._asked(ask)
        except QueryUnsupported as error:
            return error.decision
        with self._deciding:
            self._catch_up()
            person = self._knowledge.of(user)
            queries = person.queries(asked)
            trial = person.system.trial(queries)
            if trial.derivable:
                decision = verdicts.KNOWN
            elif self._knowledge.closed(user) or person.spent_on(queries):
                decision = verdicts.LEAKS
            else:
                before = person.risk_before()
                rules = self._knowledge.rules
                outcome = simulate(trial, rules, rules.deadline(), person.effort) or Outcome("safe")
                decision = verdicts.of(outcome, self.policy, before, person.risk_of(outcome.judgement))
            self._record(ask, decision)
        return decision

    def _understood(self, ask: Ask) -> Ask:
        found = understand(ask.sql, ask.parameters, self._database.schema)
        if isinstance(found, Unsupported):
            decision = Decision("unsupported", found.code, found.message, found.hint)
            self._record(ask, decision)
            raise QueryUnsupported(decision)
        return replace(ask, plan=found)

    def _asked(self, ask: Ask) -> list[Asked]:
        assert ask.plan is not None
        try:
            return self._database.ask(ask.plan)
        except StatementFailed:
            self._record(ask, verdicts.FAILED)
            raise QueryUnsupported(verdicts.FAILED) from None

    # --- deciding

    def _known_values(self, ask: Ask, asked: list[Asked]) -> list[Fraction] | None:
        """What past answers settle needs no turn: it teaches nothing."""
        return self._knowledge.of(ask.user).settled(asked)

    def _decide(self, ask: Ask, asked: list[Asked]) -> tuple[Decision, list[Fraction]]:
        """Decide and record, one decision at a time; what others recorded meanwhile is learned first."""
        with self._ledger.deciding():
            self._catch_up()
            person = self._knowledge.of(ask.user)
            queries = person.queries(asked)
            shut = self._knowledge.closed(ask.user) or person.spent_on(queries)
            if shut and person.settled(asked) is None:
                self._record(ask, verdicts.LEAKS)
                raise QueryRefused(verdicts.LEAKS)
            before = person.risk_before()
            outcome = decide(
                person.system, queries, self._knowledge.rules, self._knowledge.truth, person.effort
            )
            if outcome.verdict == "known":
                return verdicts.KNOWN, person.values_of(asked, queries, outcome.values)
            decision = verdicts.of(outcome, self.policy, before, person.risk_of(outcome.judgement))
            if outcome.verdict != "safe":
                told = person.told_by_refusal(queries) if outcome.leak else []
                self._record(ask, decision, leak=outcome.leak, answers=told)
                raise QueryRefused(decision)
            answers = person.known_answers(queries, outcome.values)
            entry = self._record(ask, decision, answers=answers)
            person.accept(queries, outcome)
            self._knowledge.seen = entry.number
            return decision, person.values_of(asked, queries, outcome.values)

    def _catch_up(self) -> None:
        """Learn what the ledger holds and this object has not seen."""
        for entry in self._ledger.entries(after=self._knowledge.seen):
            self._knowledge.learn(entry)

    # --- recording and releasing

    def _record(
        self, ask: Ask, decision: Decision, leak: bool = False, answers: Sequence[KnownAnswer] = ()
    ) -> Entry:
        """Put a statement on record; nothing may be released before this returns."""
        return self._ledger.append(
            user=ask.user,
            sql=ask.sql,
            verdict=decision.verdict,
            code=decision.code,
            parameters=ask.written_parameters,
            normalised="" if ask.plan is None else ask.plan.normalised,
            check=ask.check,
            risk_before=decision.risk_before,
            risk_after=decision.risk_after,
            leak=leak,
            answers=answers,
            expected_length=self._knowledge.seen if answers else None,
        )

    def _release(
        self, ask: Ask, decision: Decision, values: Sequence[Fraction], record: bool = True
    ) -> Answer:
        """Run the rest of the statement over what is now on record."""
        assert ask.plan is not None
        try:
            if ask.plan.public:
                table = self._database.run_public(ask.plan)
            else:
                table = self._database.finish(ask.plan, list(values))
        except StatementFailed:
            self._record(ask, verdicts.FAILED)
            raise QueryUnsupported(verdicts.FAILED) from None
        if record:
            self._record(ask, decision)
        self._remember(ask, table)
        return Answer(table, ask.plan.types, decision)

    def _recall(self, ask: Ask) -> _Remembered | None:
        if not plain(ask.parameters):
            return None
        with self._remembering:
            found = self._answers.get(self._name_of(ask))
            if found is not None:
                self._answers.move_to_end(self._name_of(ask))
            return found

    def _remember(self, ask: Ask, table: pa.Table) -> None:
        assert ask.plan is not None
        if table.nbytes > LARGEST_KEPT or not plain(ask.parameters):
            return
        with self._remembering:
            self._answers[self._name_of(ask)] = _Remembered(ask.plan, table)
            while len(self._answers) > REMEMBERED:
                self._answers.popitem(last=False)

    def _name_of(self, ask: Ask) -> tuple[str, str, str]:
        """The statement, for whoever shares knowledge: types of parameters matter as much as their text."""
        parameters = "" if ask.parameters is None else repr(ask.parameters)
        return self._knowledge.party(ask.user), ask.sql, parameters

    # --- for the administrator

    def risk(self) -> pd.DataFrame:
        """What the answers so far let an intruder infer about each class of records.

        One row per class: the public columns the intruder knows, then records, lower and upper (feasibility
        interval over the class), initial_entropy, entropy_at_epsilon, area and risk of the class, judged on
        certified values. With `scope = "user"` one such table per user, with a column user in front.
        """
        from auditor.reports import risk_of_classes

        with self._deciding:
            self._catch_up()
            return risk_of_classes(self._knowledge, self._database, self.policy)

    def history(self) -> pd.DataFrame:
        """Every statement: number, time, user, sql (as asked), verdict, code, and what administrators see."""
        from auditor.reports import history

        return history(self._ledger)

    def verify(self) -> Verification:
        """Check the ledger's hash chain, and that its answers still agree with the data."""
        from auditor.reports import verify

        return verify(self._ledger, self._knowledge)


__all__ = ["Answer", "Gate", "LedgerError"]
