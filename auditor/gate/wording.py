"""What became of a statement, in words: verdicts, hints and the ranges that are shown.

Promise: words come from the statement, the policy, public keys and what is told; no true value is read.
Nothing is recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from auditor.data.database import Asked, Database
from auditor.deciding.cases import Outcome
from auditor.decision import Decision
from auditor.gate import ends, hints, remainder, verdict
from auditor.gate.lost import withheld_of
from auditor.gate.memory import Settled
from auditor.gate.reading import Reading
from auditor.gate.request import Ask
from auditor.gate.suppress import Fate, Unit
from auditor.parties.party import Knowledge, Party, Reads
from auditor.policy.policy import Policy
from auditor.sql import Plan
from auditor.sql.together import with_rows
from auditor.told import Range, Withheld

CONSTANTS = re.compile(r"'(?:[^']|'')*'(?:, *'(?:[^']|'')*')*|\b\d[\d., ]*")
"""Texts and numbers of a statement; a list of either is one."""
MOST_FORMS = 256
"""Forms of statements that are remembered."""


def read_by(asked: Iterable[Asked]) -> set[int]:
    """The protected columns that are read."""
    return {each.protected for each in asked}


def ranged(plan: Plan, asked: Sequence[Asked]) -> bool:
    """Whether a range is asked of everything."""
    return all(plan.blocks[each.block].aggregates[each.column].ranged for each in asked)


class Wording:
    """Puts decisions of one gate into words."""

    def __init__(self, policy: Policy, knowledge: Knowledge, database: Database, reading: Reading) -> None:
        """Of what is known.

        Args:
            policy: The rules.
            knowledge: Of the gate.
            database: The public instance.
            reading: Understands what is suggested.
        """
        self._policy, self._knowledge, self._database = policy, knowledge, database
        self._reading = reading
        self._forms: dict[tuple[str, str, str], bool] = {}

    def settled(
        self,
        ask: Ask,
        asked: list[Asked],
        told: ends.Fates,
        code: str,
        before: float | None = None,
        after: float | None = None,
        withheld: int = 0,
        named: Sequence[Withheld] = (),
        too_small: int = 0,
        given: remainder.Given = remainder.NOTHING,
    ) -> Settled:
        """What is told, in words; a statement that nothing can be shown of is refused in them."""
        assert ask.plan is not None
        asked = [*asked, *given.asked]
        ranges = ends.ranges_of(ask.plan, asked, told, self._database, self._knowledge, self.label)
        lacking = ends.lacking(ask.plan, asked, told)
        rest = None
        if any(each is None or not each.exact for each in told):
            rest = ends.rest(ask.plan, asked, told)
            code = "range" if rest is None else "ends" if code == "answered" else code
        if rest is not None and given.together:
            rows = [each.as_row() for each in given.together]
            rest = with_rows(ask.plan, rest, rows, self.label)
        read = read_by(asked)
        together = len(given.together)
        decision = self.said(
            ask, code, read, before, after, withheld, ranges, lacking, named, too_small, together
        )
        if ends.unseen(ask.plan, asked, told) or code == "range":
            decision = replace(decision, hint=self._with_ends(ask, read, decision.hint, hints.ENDS))
        elif withheld > too_small:
            decision = self.with_range(ask, asked, decision)
        return Settled(decision, told, ranges=ranges, rest=rest, given=given)

    @property
    def label(self) -> str | None:
        """What stands in place of text keys in a row of withheld groups together."""
        label = self._policy.decision.remainder
        return label if isinstance(label, str) else None

    def of_public(self, plan: Plan) -> Decision:
        """The verdict on a statement that reads no protected value."""
        columns = [column.protect.column for column in self._knowledge.columns]
        return verdict.of("preview", columns) if plan.preview else verdict.PUBLIC

    def named(
        self, ask: Ask, asked: Sequence[Asked], code: str, fates: Sequence[tuple[Unit, Fate]]
    ) -> tuple[Withheld, ...]:
        """Which groups are withheld, where others are told."""
        assert ask.plan is not None
        return withheld_of(ask.plan, asked, fates, self._database) if code == "partial" else ()

    def of_outcome(
        self, ask: Ask, person: Party, reads: Reads, outcome: Outcome, before: float | None
    ) -> Decision:
        """The verdict that a decision comes to, with the administrator's figures."""
        code = "answered" if outcome.verdict == "safe" else outcome.verdict
        after = person.risk_with(reads, outcome) if outcome.parts else None
        return replace(self.said(ask, code, reads, before, after), risk_at_least=outcome.certain)

    def said(
        self,
        ask: Ask,
        code: str,
        positions: Iterable[int],
        before: float | None,
        after: float | None,
        withheld: int = 0,
        ranges: Sequence[Range] = (),
        lacking: bool = True,
        named: Sequence[Withheld] = (),
        too_small: int = 0,
        together: int = 0,
    ) -> Decision:
        """A verdict in words, which come from the statement and the policy."""
        assert ask.plan is not None
        protects = [self._knowledge.columns[place].protect for place in sorted(positions)]
        columns, hint = [each.column for each in protects], ""
        if code in hints.FIXED:
            said = f"{ask.sql} {ask.written_parameters}"
            whole = self._policy.decision.partial == "refuse"
            counted = next(filter(None, map(hints.Counted.of, protects)), None)
            hint = hints.hint(code, ask.plan.normalised, columns, said, whole, ask.dialect, ask.sql, counted)
        grouped = any(block.grouped for block in ask.plan.blocks)
        what = "group" if grouped else "value"
        if code == "min-size" or too_small == withheld > 0:
            counted = next(filter(None, map(hints.Counted.of, protects)), None)
            hint = hints.of_size(self._policy.rules.min_size or 0, counted)
        about = (withheld, hint, ranges, lacking, what, named, too_small, together)
        return verdict.of(code, columns, before, after, *about)

    def with_range(self, ask: Ask, asked: Sequence[Asked], decision: Decision) -> Decision:
        """A refusal whose hint says how to ask for a range, if some sum that is asked may have one."""
        assert ask.plan is not None
        exact = any(each.kind == "sum" and not ranged(ask.plan, [each]) for each in asked)
        if not exact or decision.code not in ("risk", "partial"):
            return decision
        hint = self._with_ends(ask, read_by(asked), decision.hint, f"{hints.RANGE}.", whole=False)
        return replace(decision, hint=hint)

    def range_alone(self, ask: Ask, hint: str) -> str:
        """How to ask for what is told as a range alone: the statement itself, where it can be shown."""
        if self._policy.decision.ranges == "never":
            return verdict.NO_RANGES.hint
        shown = self._with_ends(ask, range(len(self._knowledge.columns)), "", f"{hints.RANGE}.", whole=False)
        return shown or hint

    def _with_ends(self, ask: Ask, positions: Iterable[int], hint: str, said: str, whole: bool = True) -> str:
        """A hint, and the statement with AT_LEAST and AT_MOST, if it is one that is understood.

        Args:
            ask: The statement.
            positions: Of the protected columns that it reads.
            hint: What else would help.
            said: What the ends are good for.
            whole: Whether that is said where the statement cannot be shown too.
        """
        if self._policy.decision.ranges == "never":
            return hint
        columns = [self._knowledge.columns[place].protect.column for place in sorted(positions)]
        sql = hints.with_ends(ask.sql, ask.dialect, columns)
        shown = sql is not None and self._shows_ends(replace(ask, sql=sql))
        if not shown and not whole:
            return hint
        if not whole and hints.COST not in hint:
            hint = f"{hint} {hints.COST}".lstrip()
        return f"{hint} {f'{said[:-1]}: {sql}' if shown else said}".lstrip()

    def _shows_ends(self, ask: Ask) -> bool:
        """Whether a statement is understood, and reads aggregates by their ends alone.

        To see that takes ten times as long as to write it, and hangs on its form: that is remembered.
        """
        form = ask.dialect, ask.zone, CONSTANTS.sub("?", ask.sql)
        if form not in self._forms:
            found = self._reading.read(ask)
            if len(self._forms) >= MOST_FORMS:
                self._forms.clear()
            self._forms[form] = isinstance(found, Plan) and not found.shows_any
        return self._forms[form]
