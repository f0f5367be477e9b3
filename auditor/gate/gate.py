"""One statement from text to answer: understand, decide, record, and only then release.

Promises: nothing is released that the ledger does not hold; decisions that touch each other (`turns`) are
made one at a time, across threads and processes; what past answers settle is answered without a new decision;
verdict, codes, messages and hints depend on past answers and the statement alone.
"""

from __future__ import annotations

import errno
import os
import threading
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from auditor.data.database import Asked, Database, NeedsValues, StatementFailed, TooSlow
from auditor.data.running import Limits
from auditor.data.sources import Given
from auditor.decision import Decision
from auditor.errors import (
    AuditorError,
    LedgerError,
    NewerEdition,
    NotPublishedWarning,
    PolicyError,
    QueryRefused,
    QueryUnsupported,
)
from auditor.gate import ends, explain, hints, past, releasing, remainder, two_questions, verdict
from auditor.gate.answer import Answer
from auditor.gate.editions import Renewal, opened, renew
from auditor.gate.foreseeing import Foreseeing
from auditor.gate.memory import Memory, Remembered, Settled
from auditor.gate.past import PUBLISHER
from auditor.gate.reading import Reading
from auditor.gate.releasing import Exposure, Planned
from auditor.gate.request import Ask, Parameters, checked
from auditor.gate.suppress import (
    Suppressed,
    Suppression,
    smaller_than_allowed,
    units_of,
    verdict_of,
)
from auditor.gate.survey import Surveyed, surveyed
from auditor.gate.turns import Shared, Turns
from auditor.gate.wording import Wording, ranged, read_by
from auditor.ledger import Entry, KnownAnswer, Ledger
from auditor.parties.party import Knowledge, Party
from auditor.policy.policy import Dialect, Policy
from auditor.sql import Plan, Schema, Unsupported
from auditor.sql.explaining import Explained, explained
from auditor.sql.unlike_types import unlike
from auditor.told import Remainder
from cae_sql.errors import CaeSqlError
from cae_sql.warming import Progress, warm

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from auditor.gate.admin import Candidates, Verification
    from auditor.gate.growth import Growth
    from auditor.gate.nearest import Nearest


class Gate:
    """Protected tables that may be asked. A context manager; see `open`."""

    compiling: Progress | None = None
    """Told how many kernels are compiled, of how many, where the first decision has to wait for them."""

    def __init__(self, database: Database, policy: Policy, ledger: Ledger, knowledge: Knowledge) -> None:
        """Use `open`."""
        self.policy = policy
        self._database, self._ledger, self._knowledge = database, ledger, knowledge
        self._schema = _with_domains(database.schema, knowledge)
        knowledge.read_from(ledger.entries)
        self._turns = Turns()
        self._deciding = Shared(ledger.deciding)
        self._compiling = threading.Lock()
        self._memory = Memory()
        self._weighed = True
        self._reading = Reading(policy, self._schema, database)
        self._wording = Wording(policy, knowledge, database, self._reading)
        self._foreseeing = Foreseeing(policy, knowledge, database, self._wording, self._memory)

    @classmethod
    def open(
        cls,
        source: Given,
        policy: Policy | str | os.PathLike[str],
        ledger: str | os.PathLike[str] | None = None,
    ) -> Gate:
        """Open data under a policy; what the ledger holds is known from then on.

        Args:
            source: A DuckDB file; a Parquet, CSV or Arrow file, a pattern or a folder of them; postgresql://…;
                a pandas, polars or Arrow table, an Ibis table, or a mapping of names of tables to such. It is
                copied from and let go.
            policy: A policy, or the path of one.
            ledger: Where answers are remembered; by default as the policy says, or beside the file or folder.

        Raises:
            PolicyError: the policy cannot be used with these data.
            DatabaseError: the database cannot be opened, or lacks what the policy names.
            DataChanged: the data are not those of the ledger's answers.
            LedgerError: the ledger cannot be trusted, read or written.
        """
        with ExitStack() as stack:
            found = opened(stack, source, policy, ledger)
            rules = found.policy
            book = stack.enter_context(
                Ledger.open(found.location, found.binding, rules.anchor_path, found.people)
            )
            found.knowledge.lay_on(book.editions, book.people)
            gate = cls(found.data, rules, book, found.knowledge)
            gate._hear()
            found.knowledge.note_all()
            if book.binding.insiders < rules.intruder.insiders:
                past.warn_of_fewer_insiders(found.knowledge, rules, book.binding.insiders)
            gate._weighed = rules.intruder.candidates == "interval"
            gate._publish()
            stack.pop_all()
        return gate

    @classmethod
    def renew(
        cls,
        source: Given,
        policy: Policy | str | os.PathLike[str],
        ledger: str | os.PathLike[str] | None = None,
    ) -> Renewal:
        """Open a new edition of a ledger: for a later state of the same tables.

        Persons are known again by the policy's key. Of who has the value that she had all knowledge stays;
        who has another one, or is new, is a record of whom nothing is known. Gates that hold the edition
        before turn away what they are asked from then on. What the policy calls published is asked again;
        where it is not safe any more, a `NotPublishedWarning` says so.

        Args:
            source: The data as they are now; as for `open`.
            policy: The ledger's policy.
            ledger: The ledger; by default as for `open`.

        Raises:
            PolicyError: the policy names no key, or cannot be used with these data.
            DatabaseError: the data cannot be opened, or a key does not name each record once.
            DataChanged: columns, types or tables are others.
            LedgerError: there is no ledger, or it does not hold who is who, or cannot be trusted or written.
        """
        rules = policy if isinstance(policy, Policy) else Policy.load(Path(policy))
        renewal = renew(source, rules, ledger)
        if renewal.opened and rules.intruder.published:
            cls.open(source, rules, ledger).close()  # they are asked before anybody else asks
        return renewal

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

    def execute(
        self,
        sql: str,
        parameters: Parameters = None,
        user: str = "analyst",
        dialect: Dialect | None = None,
        timezone: str = "UTC",
    ) -> Answer:
        """Answer a statement exactly, or refuse it.

        Args:
            sql: One SELECT statement.
            parameters: Values for ?, $1 or $name.
            user: Who asks; recorded.
            dialect: Whose SQL it is written in; by default as the policy says.
            timezone: The session's time zone, as SET TIME ZONE has it: "Europe/Berlin", "5.5"; recorded.

        Raises:
            QueryRefused: an answer could push the risk past the limit.
            QueryUnsupported: the statement is not understood, or failed while it ran.
            LedgerError: the ledger cannot be trusted or written; nothing was released.
        """
        ask = checked(Ask(sql, parameters, user, dialect=dialect or self.policy.dialect, zone=timezone))
        found = explained(sql)
        return self._execute(ask) if found is None else self._explain(ask, found)

    def _explain(self, ask: Ask, found: Explained) -> Answer:
        """What would become of a statement, as rows; what is not understood is refused as it would be."""
        reason = self._not_explained(found)
        if reason is not None:
            raise self._turned_away(ask, reason)
        return explain.answered(
            self._foresee(replace(ask, sql=found.statement, before=found.before, check=True))
        )

    def _execute(self, ask: Ask) -> Answer:
        ask, knowledge, user = checked(ask), self._knowledge, ask.user
        remembered = self._memory.recall(knowledge.party(user), ask)
        if remembered is not None and remembered.learned in (None, knowledge.learned_on_record(user)):
            return self._again(ask, remembered)
        ask = self._understood(ask)
        assert ask.plan is not None
        if ask.plan.probe:
            return Answer(self._database.run_public(ask.plan), ask.plan.types, verdict.PUBLIC, (), ask.plan)
        if ask.plan.public:
            return self._release(ask, Settled(self._wording.of_public(ask.plan), []))
        asked = self._asked(ask)
        if not asked:
            return self._release(ask, Settled(verdict.PUBLIC, []))
        small = knowledge.too_small(asked)
        if self._refused_for_size(ask, asked, small):
            said = self._wording.said(ask, "min-size", read_by(asked), None, None)
            return self._release(ask, Settled(said, []))
        told = None if small else knowledge.at_a_glance(user, asked)
        if told is not None:  # it teaches nothing, so it waits for nobody
            return self._release(ask, self._wording.settled(ask, asked, told, "known"), asked)
        learned = knowledge.learned_on_record(user)
        if remembered is not None and not knowledge.settles_any(
            user, [*asked, *remembered.given.refused], remembered.withheld
        ):
            remembered = replace(remembered, learned=learned)
            self._memory.keep(knowledge.party(user), ask, remembered)
            return self._again(ask, remembered)
        with self._turn(user, asked) as columns:
            known = None if small else self._known(ask, asked)
            settled = known or self._decide(ask, asked, columns)
        return self._release(ask, settled, asked)

    def _not_explained(self, found: Explained) -> Decision | None:
        """Why EXPLAIN is not answered, whatever stands behind it."""
        if self.policy.decision.mode != "simulatable":
            return verdict.EXPLAIN_MODE
        return verdict.EXPLAIN if found.options else None

    def _again(self, ask: Ask, remembered: Remembered) -> Answer:
        """What became of a statement before, once more; it teaches nothing, so it waits for nobody."""
        plan, decision = remembered.plan, remembered.decision
        self._record(replace(ask, plan=plan), decision)
        if remembered.table is None:
            raise QueryRefused(decision)
        return Answer(remembered.table, plan.types, decision, remembered.ranges, plan, remembered.remainder)

    def check(
        self,
        sql: str,
        parameters: Parameters = None,
        user: str = "analyst",
        dialect: Dialect | None = None,
        timezone: str = "UTC",
    ) -> Decision:
        """The verdict that `execute` would give, and no answer; simulatable mode only. Recorded as a check.

        Arguments as for `execute`. The true answer is not looked at: what passes here may be told an end, or,
        rarely, be refused.

        Raises:
            PolicyError: the mode is answer-dependent, where a verdict alone tells something.
            LedgerError: the ledger cannot be trusted or written.
        """
        if self.policy.decision.mode != "simulatable":
            raise PolicyError(
                'decision.mode = "answer-dependent": check needs mode = "simulatable", because elsewhere a '
                "verdict is itself an answer"
            )
        spoken = dialect or self.policy.dialect
        try:
            return self._foresee(
                checked(Ask(sql, parameters, user, None, True, dialect=spoken, zone=timezone))
            )
        except (QueryRefused, QueryUnsupported) as error:
            return error.decision

    def _foresee(self, ask: Ask) -> Decision:
        """The verdict that a statement would get, with what would become of each group; it is recorded.

        Raises:
            QueryRefused, QueryUnsupported: it is not understood, or too many checks were asked for.
        """
        self._count_check(ask)
        ask = self._understood(ask)
        assert ask.plan is not None
        if ask.plan.probe:
            return verdict.PUBLIC
        asked = [] if ask.plan.public else self._asked(ask)
        if not asked:
            said = self._wording.of_public(ask.plan)
            self._record(ask, said)
            return said
        small = self._knowledge.too_small(asked)
        with self._turn(ask.user, asked) as columns:
            self._prepare_for(ask, asked)
            person = self._caught_up(ask, asked, columns)
            if self._refused_for_size(ask, asked, small):
                said = self._wording.said(ask, "min-size", read_by(asked), None, None)
                fates = dict.fromkeys(small, "min-size")
                said = self._foreseeing.with_fates(ask, asked, person, said, "refused", fates)
                self._record(ask, said)
                return said
            by_group = self._by_group(ask, asked)
            foreseen = self._foreseeing
            decide = foreseen.of_groups if by_group else foreseen.of_whole
            decision = foreseen.again(ask, asked, person)
            decision = decision or self._wording.with_range(ask, asked, decide(ask, asked, person))
            self._record(ask, decision)
        return decision

    def _count_check(self, ask: Ask) -> None:
        """Refuse a check where its user has asked for as many as the policy allows in a day."""
        most = self.policy.decision.checks
        if most is not None and self._ledger.checks(ask.user, ask.arrived.date()) >= most:
            raise self._turned_away(ask, verdict.CHECKS)

    def describe(
        self,
        sql: str,
        parameters: Parameters = None,
        dialect: Dialect | None = None,
        user: str | None = None,
        timezone: str = "UTC",
    ) -> tuple[tuple[str, str], ...]:
        """Names and DuckDB's types of the columns that a statement gives; looks at no protected value.

        Nor at a public one, but for PIVOT without a list, whose columns are the values of a public column.

        Args:
            sql: One SELECT statement.
            parameters: Values that stand for those to come; they are not recorded.
            dialect: Whose SQL it is written in; by default as the policy says.
            user: Who asks; an unsupported statement is recorded then, and nothing else ever is.
            timezone: The session's time zone; as for `execute`.

        Raises:
            QueryUnsupported: the statement is not understood.
        """
        spoken = dialect or self.policy.dialect
        ask = checked(Ask(sql, parameters, user or PUBLISHER, dialect=spoken, zone=timezone))
        behind = explained(sql)
        decision = None if behind is None else self._not_explained(behind)
        if behind is not None and decision is None:
            ask = replace(ask, sql=behind.statement, before=behind.before, check=True)
        found = self._reading.read(ask)
        if isinstance(found, Unsupported):
            decision = decision or Decision("unsupported", found.code, found.message, found.hint)
            if user is not None:
                self._record(replace(ask, parameters=None), decision)
            raise QueryUnsupported(decision)
        if behind is not None:
            return tuple(explain.COLUMNS.items())
        return tuple(zip(found.columns, found.types, strict=True))

    def survey(
        self,
        sql: str,
        parameters: Parameters = None,
        dialect: Dialect | None = None,
        timezone: str = "UTC",
    ) -> Surveyed:
        """The groups that a statement asks protected values of; looks at no protected value, records nothing.

        Arguments as for `execute`.

        Raises:
            QueryUnsupported: the statement is not understood, or failed while its groups were looked for.
        """
        ask = checked(Ask(sql, parameters, PUBLISHER, dialect=dialect or self.policy.dialect, zone=timezone))
        found = self._reading.read(ask)
        if isinstance(found, Unsupported):
            raise QueryUnsupported(Decision("unsupported", found.code, found.message, found.hint))
        if found.public or found.untold:
            return Surveyed(found.normalised, not found.untold, two_questions=found.untold)
        try:
            return surveyed(found, self._database.ask(found), self._database)
        except StatementFailed as error:
            raise QueryUnsupported(verdict.failed(error, ask.dialect)) from None

    @property
    def schema(self) -> Schema:
        """What statements may name."""
        return self._schema

    @property
    def edition(self) -> int:
        """Which edition of the data it holds, from 1."""
        return 1 if self._ledger.edition is None else self._ledger.edition.number

    @property
    def outdated(self) -> bool:
        """Whether a newer edition was opened since: then nothing is answered any more."""
        return self._ledger.renewed

    @property
    def known_columns(self) -> tuple[tuple[str, ...], ...]:
        """By protected column, the public columns of its table that an intruder is said to know."""
        return self._knowledge.known_columns

    def limit(self, limits: Limits) -> None:
        """Say what a statement may take in the database: seconds, rows and bytes of its result."""
        self._database.limits = limits

    def ahead(self, thread: int) -> int | None:
        """How many decisions come before the one that a thread waits for, 0 while it decides; else None.

        Args:
            thread: Its identifier.
        """
        return self._turns.ahead(thread)

    def cancel(self, thread: int) -> None:
        """Interrupt the statement that a thread runs, as far as it is in the database just now.

        Args:
            thread: Its identifier. A decision is not interrupted: it ends within `decision.timeout`, and the
                groups of a statement within four times that.
        """
        self._database.cancel(thread)

    def _understood(self, ask: Ask) -> Ask:
        found = self._reading.read(ask)
        if isinstance(found, Unsupported):
            if found.code == "range" and self._database.celled:
                raise self._stopped(ask, NeedsValues())
            if found.code == "range":
                hint = self._wording.range_alone(ask, found.hint)
                decision = Decision("refused", found.code, found.message, hint)
                self._record(ask, decision)
                raise QueryRefused(decision)
            decision = Decision("unsupported", found.code, found.message, found.hint)
            self._record(ask, decision)
            raise QueryUnsupported(decision)
        return replace(ask, plan=self._told_first(ask, found) if found.untold else found)

    def _told_first(self, ask: Ask, untold: Plan) -> Plan:
        """A statement of which some values are asked first, with what was told of them."""
        firsts = two_questions.firsts_of(ask, self._reading.read_as)
        questions = [replace(ask, sql=first.sql, parameters=None, check=False) for first in firsts]
        try:
            if ask.check:
                self._require_known(questions)
            answers = [self._execute(question) for question in questions]
        except (QueryRefused, QueryUnsupported) as error:
            raise self._turned_away(ask, two_questions.refused(error.decision)) from None
        told = two_questions.with_told(ask, firsts, answers)
        if told is None:
            raise self._turned_away(ask, two_questions.not_exact())
        found = self._reading.read_as(ask, told)
        if isinstance(found, Plan):
            found = two_questions.as_named(found, untold)
        if isinstance(found, Unsupported):
            decision = Decision("unsupported", found.code, found.message, found.hint)
            raise self._turned_away(ask, decision)
        return found

    def _require_known(self, questions: Sequence[Ask]) -> None:
        """Check that asking these tells nothing new; which of them would be is a check of its own."""
        for each in questions:
            said = self.check(each.sql, None, each.user, each.dialect, each.zone)
            if said.code not in ("known", "public"):
                raise QueryRefused(two_questions.not_yet() if said.verdict == "answered" else said)

    def _turned_away(self, ask: Ask, decision: Decision) -> QueryRefused | QueryUnsupported:
        """Record a statement that is not decided, for the error that says so."""
        self._record(ask, decision)
        return (QueryRefused if decision.verdict == "refused" else QueryUnsupported)(decision)

    def _asked(self, ask: Ask) -> list[Asked]:
        assert ask.plan is not None
        try:
            return self._knowledge.laid(self._database.ask(ask.plan))
        except StatementFailed as error:
            raise self._stopped(ask, error) from None

    def _stopped(self, ask: Ask, error: StatementFailed) -> QueryUnsupported:
        of_types = ""
        if error.code == StatementFailed.code and ask.plan is not None:
            of_types = unlike(ask.plan.normalised, self._schema, ask.sql, ask.dialect)
        joins = hints.joins(ask.sql, ask.dialect)
        decision = verdict.failed(error, ask.dialect, of_types, joins)
        self._record(ask, decision)
        return QueryUnsupported(decision)

    # --- deciding

    def _known(self, ask: Ask, asked: list[Asked]) -> Settled | None:
        """What past answers settle needs no turn: it teaches nothing."""
        told = self._knowledge.of(ask.user).settled(asked)
        return None if told is None else self._wording.settled(ask, asked, told, "known")

    def _decide(self, ask: Ask, asked: list[Asked], columns: Collection[int]) -> Settled:
        """Decide and record; what others recorded meanwhile is learned first."""
        assert ask.plan is not None
        self._prepare_for(ask, asked)
        with self._deciding.held():
            person = self._caught_up(ask, asked, columns)
            if self._by_group(ask, asked):
                return self._decide_groups(ask, asked, person)
            reads = person.reads(asked)
            # who asks for a figure that only the administrator sees need not wake what nobody else needs
            before = person.risk_at_hand(reads) if person.refused_at_once(reads) else person.risk(reads)
            outcome = person.decide(reads, ask.public, ranged(ask.plan, asked))
            if outcome.verdict == "known":
                return self._wording.settled(ask, asked, person.told(asked, reads, outcome), "known")
            if outcome.verdict != "safe":
                decision = self._wording.of_outcome(ask, person, reads, outcome, before)
                decision = self._wording.with_range(ask, asked, decision)
                self._record(ask, decision, surprises=int(outcome.surprise))
                raise QueryRefused(decision)
            answers = person.known_answers(reads, outcome)
            with self._counted(ask, asked, person, int(outcome.surprise), answers):
                told, after = person.told(asked, reads, outcome), person.risk_with(reads, outcome)
                settled = self._wording.settled(ask, asked, told, "answered", before, after)
            known = person.known_until(reads)
            entry = self._record(ask, settled.decision, int(outcome.surprise), answers, known)
            person.accept(reads, outcome)
            person.recorded(entry.number)
            return replace(settled, recorded=True)

    def _prepare_for(self, ask: Ask, asked: list[Asked]) -> None:
        """As `_prepare`, unless a refusal needs no kernel."""
        assert ask.plan is not None
        person = self._knowledge.of(ask.user)
        searched = self._by_group(ask, asked) or ranged(ask.plan, asked)
        if searched or not person.refused_at_once(person.reads(asked)):
            self._prepare()
            self._weigh_the_past()

    def _prepare(self) -> None:
        """Compile what decisions call, before a clock is started: once for an installation."""
        with self._compiling:
            warm(self.compiling, max(column.size for column in self._knowledge.columns), whole=False)

    def _by_group(self, ask: Ask, asked: Sequence[Asked]) -> bool:
        """Whether some of what is asked may be given without the rest: groups, and values as ranges."""
        assert ask.plan is not None
        if self.policy.decision.partial != "suppress" or ask.public:
            return False
        several = ask.plan.asks_ranges and len(asked) > 1
        return several or any(block.grouped for block in ask.plan.blocks)

    def _refused_for_size(self, ask: Ask, asked: Sequence[Asked], small: Collection[int]) -> bool:
        """Whether some of what is asked about too few cannot be withheld by itself."""
        assert ask.plan is not None
        if not small or not self._by_group(ask, asked):
            return bool(small)
        return any(unit.too_small and not unit.grouped for unit in units_of(ask.plan, asked, small))

    def _decide_groups(self, ask: Ask, asked: list[Asked], person: Party) -> Settled:
        """Decide group by group, and record all of it at once: what is not on record is known to nobody."""
        assert ask.plan is not None
        knowledge = self._knowledge
        try:
            before = person.risk(read_by(asked))
            units = units_of(ask.plan, asked, knowledge.too_small(asked))
            suppression = Suppression(knowledge.rules, person, units)
            found, more = suppression.give(), remainder.NOTHING
            if self.policy.decision.remainder is not False:
                more = remainder.give(suppression, found, ask.plan, asked, self._database, knowledge)
            code, withheld = verdict_of(found.fates, found.gives_more)
            known = person.known_until(read_by(asked))
            with self._counted(ask, asked, person, found.surprises, found.answers):
                settled = self._in_words(ask, asked, person, found, code, withheld, before, more)
            entry = self._record(ask, settled.decision, found.surprises, found.answers, known)
            if found.answers:
                person.recorded(entry.number)
        except BaseException:
            knowledge.forget_party(ask.user)
            raise
        late = more.late or any(fate == "time" for _, fate in found.fates)
        return replace(settled, recorded=True, keep=not late, learned=person.known)

    def _in_words(
        self,
        ask: Ask,
        asked: list[Asked],
        person: Party,
        found: Suppressed,
        code: str,
        withheld: int,
        before: float | None,
        more: remainder.Given,
    ) -> Settled:
        """What became of groups, with the risk that it leaves."""
        if found.refusal is None or found.given:
            after = person.risk(read_by(asked))
        else:
            after = person.risk_with(*found.refusal)
        if found.given and code in ("known", "answered", "partial"):
            named = self._wording.named(ask, asked, code, found.fates)
            figures = (code, before, after, withheld, named, smaller_than_allowed(found.fates))
            settled = self._wording.settled(ask, asked, found.told, *figures, more)
            if not more.together:
                return settled
            alone = self._wording.settled(ask, asked, found.told[: len(asked)], *figures)
            return replace(settled, without=replace(alone, given=remainder.Given(refused=more.refused)))
        said = self._wording.said(ask, code, read_by(asked), before, after, withheld)
        at_least = found.refusal is not None and not found.given and found.refusal[1].certain
        said = self._wording.with_range(ask, asked, replace(said, risk_at_least=at_least))
        return Settled(said, found.told, given=more)

    @contextmanager
    def _counted(
        self, ask: Ask, asked: list[Asked], person: Party, surprises: int, answers: Sequence[KnownAnswer]
    ) -> Iterator[None]:
        """What true answers have decided counts as told, also where it cannot be put into words.

        Whether that fails may hang on whether a value is told exactly or as an end: who sees the failure
        knows which, and it must be on record like anything else that is known. It is learned from there.
        """
        try:
            yield
        except BaseException:  # interrupts too; it is raised again
            if answers:
                read = read_by(asked)
                said = self._wording.said(ask, "answered", read, None, None)
                self._record(ask, said, surprises, answers, person.known_until(read))
            raise

    def _weigh_the_past(self) -> None:
        """Say so, once, if what was answered is not shown to keep the limit under the candidate model.

        Before the first decision, not when the gate is opened: what is known needs none.
        """
        if self._weighed:
            return
        self._weighed = True
        past.warn_of_candidates(self._knowledge, self.policy)

    def _publish(self) -> None:
        """Put on record, once for each edition, what everybody knows: from then on worlds agree with it.

        Of the first state of the data it must be possible. Of a later one it is judged like anybody's
        question, so that what becomes of it tells nothing: a mean before and after one hire tells the hire.
        """
        first = self.edition == 1
        for sql in past.not_asked(self.policy, self.edition, self._ledger.entries()):
            try:
                ask = Ask(sql, None, PUBLISHER, dialect=self.policy.dialect, public=first)
                answer = self._execute(ask)
                if answer.decision.code not in verdict.WHOLE or answer.ranges:
                    raise QueryRefused(answer.decision)
            except QueryRefused as error:
                if first:
                    raise past.not_known(sql, error) from error
                warnings.warn(
                    f"intruder.published: {sql!r} is not taken as known of edition {self.edition}: "
                    f"{error.decision.message} Do not publish it of these data",
                    NotPublishedWarning,
                    stacklevel=3,
                )
            except QueryUnsupported as error:
                raise past.not_known(sql, error) from error

    @contextmanager
    def _turn(self, user: str = PUBLISHER, asked: Sequence[Asked] | None = None) -> Iterator[Collection[int]]:
        """Think of the columns that are asked about, or of all, and of none that others think of.

        What an interrupt left half learned is learned anew from the ledger.

        Args:
            user: Of whose party.
            asked: What is asked; None: every party is thought of.

        Returns:
            The columns.
        """
        knowledge = self._knowledge
        columns = range(len(knowledge.columns)) if asked is None else knowledge.touched(user, read_by(asked))
        everything = asked is None or not self._weighed
        touched = None if everything else {(knowledge.party(user), place) for place in columns}
        thought_of = knowledge.thought_of(user, columns, everything)
        with self._turns.turn(user, touched), _files_explained(), thought_of:
            try:
                yield columns
            except (AuditorError, CaeSqlError):
                raise  # groups forget by themselves; else nothing is learned before it is on record
            except BaseException:
                if everything:
                    knowledge.forget()
                else:
                    knowledge.forget_party(user)
                raise

    def _hear(self) -> None:
        """Hear what the ledger holds and this object has not seen."""
        for entry in self._ledger.entries(after=self._knowledge.seen):
            if entry.edition is not None and entry.edition.number > self.edition:
                raise NewerEdition(
                    f"edition {entry.edition.number} of the data was opened, and this gate holds edition "
                    f"{self.edition}; nothing was released: open the gate again with those data"
                )
            self._knowledge.hear(entry)

    def _caught_up(self, ask: Ask, asked: Sequence[Asked], columns: Collection[int]) -> Party:
        """The party of who asks, which knows all that is on record of the columns that are thought of."""
        self._hear()
        seen = self._knowledge.seen
        person = self._knowledge.of(ask.user)
        person.catch_up(columns, seen)
        others = set(columns) - read_by(asked)
        if others and not person.refused_at_once(person.reads(asked)):
            person.note_risks(others)
        return person

    # --- past no

    def exposed_by(
        self,
        sql: str,
        parameters: Parameters = None,
        to: str = "administrator",
        dialect: Dialect | None = None,
        timezone: str = "UTC",
    ) -> Exposure:
        """Whom a release of a statement's answer would set aside. For administrators: it says true values.

        Arguments and errors as for `release`. Nothing is recorded.
        """
        ask = self._understood(
            checked(Ask(sql, parameters, to, dialect=self._spoken(dialect), zone=timezone))
        )
        assert ask.plan is not None
        asked = [] if ask.plan.public else self._asked(ask)
        with self._turn():
            return self._planned(ask, asked).exposure

    def release(
        self,
        sql: str,
        because: str,
        user: str = "administrator",
        parameters: Parameters = None,
        to: str | None = None,
        dialect: Dialect | None = None,
        timezone: str = "UTC",
        seen: Exposure | None = None,
    ) -> Answer:
        """Answer a statement exactly, whatever the gate would say, on the owner's word. For administrators.

        It is recorded as knowledge, with the reason and who released it. Who is not shown to keep the limit
        with it is set aside: no later answer tells more of them, and all others keep the limit.

        Args:
            sql: One SELECT statement with sums, averages, minima or maxima.
            because: Why; recorded.
            user: Who releases it; recorded.
            parameters: Values for ?, $1 or $name.
            to: Whose knowledge it is where the policy says `scope = "user"`; by default the administrator's.
            dialect: Whose SQL it is written in; by default as the policy says.
            timezone: As for `execute`.
            seen: What `exposed_by` said, if somebody has looked at it: should others be set aside by now,
                nothing is released.

        Raises:
            StatementError: no reason is given.
            AuditorError: others are set aside than were seen.
            QueryUnsupported: the statement is not understood, or asks for what has no exact answer here.
            LedgerError: the ledger cannot be trusted or written; nothing was released.
        """
        because, who = releasing.said(because, "because"), to or user
        ask = self._understood(
            checked(Ask(sql, parameters, who, dialect=self._spoken(dialect), zone=timezone))
        )
        checked(replace(ask, user=user))
        assert ask.plan is not None
        asked = [] if ask.plan.public else self._asked(ask)
        if not asked:
            return self._execute(ask)
        with self._turn(), self._deciding.held():
            found = self._planned(ask, asked)
            decision = releasing.decided(found, user, seen)
            self._record(ask, decision, 0, found.answers, self._knowledge.seen, because=because, by=user)
            self._knowledge.forget_party(who)
        return self._release(ask, Settled(decision, found.told, recorded=True, keep=False), asked)

    def request(self, sql: str, because: str = "", user: str = "analyst") -> int:
        """File a request for an answer that was refused; recorded, and nothing is told.

        Args:
            sql: The statement.
            because: Why it is wanted.
            user: Who asks.

        Returns:
            Its number, by which the owner finds it (`requests`).

        Raises:
            StatementError: no statement, or what cannot be recorded.
        """
        sql = releasing.said(sql, "the statement")
        because = releasing.said(because, "because") if because else ""
        ask = checked(Ask(sql, None, user))
        return self._record_request(ask, releasing.OPEN, because).number

    def decline(self, number: int, because: str, user: str = "administrator") -> None:
        """Say no to a request. For administrators.

        Raises:
            StatementError: there is no open request of that number, or no reason.
        """
        because = releasing.said(because, "because")
        sql, whose = releasing.open_request(self.requests(), number)
        ask = checked(Ask(sql, None, whose))
        self._record_request(
            ask, releasing.DECLINED, because, checked(replace(ask, user=user)).user, str(number)
        )

    def _record_request(self, ask: Ask, code: str, because: str, by: str = "", about: str = "") -> Entry:
        return self._ledger.append(
            user=ask.user, sql=ask.sql, verdict=releasing.REQUEST, code=code, normalised=about,
            because=because, by=by,
        )  # fmt: skip

    def requests(self) -> pd.DataFrame:
        """Requests: number, time, user, sql, because, code (of what became of the statement before), state
        ("open", "released" or "declined"), by and reason. For administrators.
        """
        return releasing.requests_of(self._ledger.entries())

    def _planned(self, ask: Ask, asked: Sequence[Asked]) -> Planned:
        """What a release comes to; the party is read from the ledger anew."""
        self._prepare()
        self._hear()
        self._knowledge.forget_party(ask.user)
        person = self._knowledge.of(ask.user)
        person.catch_up(range(len(self._knowledge.columns)), self._knowledge.seen)
        try:
            return releasing.planned(person, asked, self._knowledge, self._database)
        except QueryUnsupported as error:
            raise self._turned_away(ask, error.decision) from None

    def _spoken(self, dialect: Dialect | None) -> Dialect:
        return dialect or self.policy.dialect

    # --- recording and releasing

    def _record(
        self,
        ask: Ask,
        decision: Decision,
        surprises: int = 0,
        answers: Sequence[KnownAnswer] = (),
        known_until: int = 0,
        because: str = "",
        by: str = "",
    ) -> Entry:
        """Put a statement on record; nothing may be released before this returns.

        Args:
            ask: The statement.
            decision: What became of it.
            surprises: How many there were.
            answers: What it tells that is new.
            known_until: The last entry that was known to who decided on those.
            because: Of a release, why.
            by: Of a release, whose.
        """
        return self._ledger.append(
            user=ask.user,
            sql=ask.before + ask.sql,
            verdict=decision.verdict,
            code=decision.code,
            parameters=ask.written_parameters,
            zone=ask.zone,
            normalised="" if ask.plan is None else ask.plan.normalised,
            check=ask.check,
            risk_before=decision.risk_before,
            risk_after=decision.risk_after,
            surprises=surprises,
            answers=answers,
            expected_length=known_until if answers else None,
            because=because,
            by=by,
        )

    def _release(self, ask: Ask, settled: Settled, asked: Sequence[Asked] = ()) -> Answer:
        """Run the rest of the statement over what is now on record."""
        assert ask.plan is not None
        decision, ranges, rest = settled.decision, settled.ranges, settled.rest
        own, asked = asked, [*asked, *settled.given.asked]
        together = settled.given.together
        further: tuple[Remainder, ...] = ()
        if decision.verdict != "answered":
            if not settled.recorded:
                self._record(ask, decision)
            elif settled.keep:
                self._keep(ask, settled, asked, None, decision)
            raise QueryRefused(decision)
        try:
            if ask.plan.public:
                table = self._database.run_public(ask.plan)
            else:
                values = [None if each is None else each.value for each in settled.told]
                around = ends.around(asked, settled.told, self._knowledge) if ask.plan.asks_ranges else None
                table = self._database.finish(ask.plan, values, rest, around, together)
        except StatementFailed as error:
            if settled.without is not None and not isinstance(error, TooSlow):
                # what is told of it stays on record; the statement may not fail for a row that it did not ask
                known = {name: getattr(settled, name) for name in ("recorded", "keep", "learned")}
                return self._release(ask, replace(settled.without, **known), own)
            raise self._stopped(ask, error) from None
        if together:
            table, further = remainder.placed(table, together)
        if rest is not None:
            table, ranges = ends.placed(ranges, asked, settled.told, ask.plan, rest, table)
        if not settled.recorded:
            self._record(ask, decision)
        if settled.keep:
            again = decision
            if decision.code in ("answered", "ends"):
                lacking = ends.lacking(ask.plan, asked, settled.told)
                again = verdict.of("known", (), hint=decision.hint, ranges=ranges, lacking=lacking)
            self._keep(ask, replace(settled, ranges=ranges), asked, table, again, further)
        return Answer(table, ask.plan.types, decision, ranges, ask.plan, further)

    def _keep(
        self,
        ask: Ask,
        settled: Settled,
        asked: Sequence[Asked],
        table: pa.Table | None,
        again: Decision,
        further: tuple[Remainder, ...] = (),
    ) -> None:
        """Remember what became of a statement.

        Args:
            ask: The statement.
            settled: What became of it, its ranges as they are shown.
            asked: What it asks.
            table: Its rows, if it was answered.
            again: The verdict on one who asks again.
            further: Which rows are withheld groups together.
        """
        assert ask.plan is not None
        knowledge = self._knowledge
        small = knowledge.too_small(asked)  # nothing that is answered later changes that
        pairs = enumerate(zip(asked, settled.told, strict=True))
        lost = [each for place, (each, told) in pairs if told is None and place not in small]
        given = settled.given.again
        lost += given.refused
        again = replace(again, risk_before=None, risk_after=None)
        withheld = knowledge.of(ask.user).names(lost) if lost else frozenset[bytes]()
        learned = settled.learned if lost else None
        kept = Remembered(ask.plan, table, again, settled.ranges, withheld, learned, further, given)
        self._memory.keep(knowledge.party(ask.user), ask, kept)

    # --- for the administrator

    def held(self) -> float | None:
        """The greatest risk of anybody that the gate holds, whoever asks: what was answered leaves no more.

        The worst over users and protected columns, insiders reckoned with, as `history` has it; None where
        nothing says how great it is.
        """
        self._prepare()
        with self._turn():
            self._hear()
            figures = [party.risk_held() for _, party in self._knowledge.reported()]
        known = [each for each in figures if each is not None]
        return max(known) if len(known) == len(figures) and known else None

    def risk(
        self, candidates: Candidates = "interval", top: int | None = None, progress: Progress | None = None
    ) -> pd.DataFrame:
        """What the answers so far let an intruder infer about each class of records.

        One row per class: the public columns the intruder knows, then records; lower and upper, outside of
        which everything is excluded; initial_entropy, entropy_at_epsilon, area and risk of what is not
        excluded: risk is proved. By "interval" also risk_at_most, by what is shown possible and what the
        gate holds, and how many of the domain's values are excluded, possible and not_known, of a record of
        the class in the mean. With several protected columns one such table for each, with columns table
        and column in front; with `scope = "user"` one for each user, with a column user before those.

        Args:
            candidates: "interval" is what every gate decides by: what is excluded. "posterior" says what is
                made likely of each record, against the policy's baseline, with worst_risk, the greatest of a
                single record, leverage, and estimated, whether the formula cannot be relied upon. "exact"
                says what is learned beyond what everybody knows, with worst_risk and estimated, whether a
                figure rests on random tables. A gate decides by one of them too where the policy says so.
            top: Look closer at so many classes only, those of whom least is shown possible; None: at all, as
                far as the work that a report gets goes.
            progress: Told how many records were looked at, and of how many.

        Raises:
            InvalidInput: no such candidates, or too many groups of records and values for them.
        """
        from auditor.gate.admin import risk_of_classes

        self._prepare()
        with self._turn():
            self._hear()
            told = progress or (lambda _, __: None)
            return risk_of_classes(self._knowledge, self._database, candidates, top, told)

    def nearest(self, count: int = 3) -> list[Nearest]:
        """The classes of records that are nearest the limit by what answers make likely, nearest first.

        Each with what is excluded and what is likely side by side, and the entries of the ledger that carry
        it (`Nearest`).

        Args:
            count: How many.

        Raises:
            InvalidInput: too many groups of records and values to hold.
        """
        from auditor.gate.nearest import nearest

        self._prepare()
        with self._turn():
            self._hear()
            return nearest(self._knowledge, self._database, self._ledger.entries(), count)

    def growth(self, progress: Progress | None = None) -> list[Growth]:
        """How risk by class grew with the answers on record, by party and protected column (`Growth`).

        The ledger is told again to somebody who knew nothing; of a long one some moments are looked at.

        Args:
            progress: Told how many looks are done, and of how many.
        """
        from auditor.gate.growth import growth

        self._prepare()
        with self._turn():
            self._hear()
            told = progress or (lambda _, __: None)
            return growth(self._knowledge, self._database, self._ledger.entries(), told)

    def entries(self) -> Iterator[Entry]:
        """Everything on record, in order, each entry verified against the chain."""
        return self._ledger.entries()

    def history(self) -> pd.DataFrame:
        """Every statement: number, time, user, sql (as asked), verdict, code, and what administrators see."""
        from auditor.gate.admin import history

        return history(self._ledger)

    def verify(self) -> Verification:
        """Check the ledger's hash chain, and that its answers still agree with the data."""
        from auditor.gate.admin import verify

        return verify(self._ledger, self._knowledge)


def _with_domains(schema: Schema, knowledge: Knowledge) -> Schema:
    """A schema that says of each protected column what its domain is, from which bins follow."""
    protected = [
        replace(
            each,
            least=Fraction(column.protect.minimum),
            most=Fraction(column.protect.maximum),
            grid=Fraction(column.protect.grid),
        )
        for each, column in zip(schema.protected, knowledge.columns, strict=True)
    ]
    return replace(schema, protected=tuple(protected))


@contextmanager
def _files_explained() -> Iterator[None]:
    """What a decision loads when it first needs it, kernels among it, is in files, which may be too many."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.EMFILE, errno.ENFILE):
            raise
        text = f"nothing was released: a file cannot be opened: {error.strerror}"
        raise AuditorError(f"{text}; let the process have more files open, and ask again") from error


__all__ = ["Answer", "Gate", "LedgerError"]
