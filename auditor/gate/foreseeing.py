"""What would become of a statement that is not asked: checks and EXPLAIN go its way, beside what is known.

Promise: no true value is looked at: hypothetical answers stand in their place. Nothing is recorded, and what
is known stays as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType

from auditor.data.database import Asked, Database
from auditor.deciding.decide import at_once
from auditor.decision import Decision
from auditor.gate import ends, explain, remainder, verdict
from auditor.gate.memory import Memory
from auditor.gate.request import Ask
from auditor.gate.suppress import GIVEN, Suppression, smaller_than_allowed, units_of, verdict_of
from auditor.gate.wording import Wording, ranged, read_by
from auditor.parties.party import Knowledge, Party
from auditor.policy.policy import Policy
from auditor.told import Told


class Foreseeing:
    """Foresees what becomes of the statements of one gate."""

    def __init__(
        self, policy: Policy, knowledge: Knowledge, database: Database, wording: Wording, memory: Memory
    ) -> None:
        """Of what is known.

        Args:
            policy: The rules.
            knowledge: Of the gate.
            database: The public instance.
            wording: Puts it into words.
            memory: What became of statements.
        """
        self._policy, self._knowledge, self._database = policy, knowledge, database
        self._wording, self._memory = wording, memory

    def again(self, ask: Ask, asked: list[Asked], person: Party) -> Decision | None:
        """What became of a statement before, where the same would become of it again (`_execute`)."""
        knowledge = self._knowledge
        remembered = self._memory.recall(knowledge.party(ask.user), ask)
        if remembered is None:
            return None
        learned = knowledge.learned_on_record(ask.user)
        if remembered.learned not in (None, learned) and knowledge.settles_any(
            ask.user, [*asked, *remembered.given.refused], remembered.withheld
        ):
            return None
        lost = [bool(person.names([each]) & remembered.withheld) for each in asked]
        fates = {place: "risk" for place, each in enumerate(lost) if each}
        return self.with_fates(ask, asked, person, remembered.decision, "known", fates, more=remembered.given)

    def of_whole(self, ask: Ask, asked: list[Asked], person: Party) -> Decision:
        """As a whole: the verdict, with what would become of each aggregate."""
        assert ask.plan is not None
        reads = person.reads(asked)
        cases = person.cases(reads)
        ranges = ranged(ask.plan, asked)
        refusal = None if ranges else at_once(cases, self._knowledge.rules)
        if refusal is not None:
            said = self._wording.of_outcome(ask, person, reads, refusal, person.risk_at_hand(reads))
            return self.with_fates(ask, asked, person, said, "risk", measured=False)
        if all(case.derivable for case in cases):
            return self.with_fates(ask, asked, person, verdict.KNOWN, "known")
        before, beside = person.risk(reads), person.beside(reads)
        outcome = beside.decide(reads, ranges=ranges)
        if outcome.verdict != "safe":
            said = self._wording.of_outcome(ask, person, reads, outcome, before)
            return self.with_fates(ask, asked, person, said, outcome.verdict)
        told = beside.told(asked, reads, outcome)
        said = self._wording.said(ask, self._with_rest("answered", ask, asked, told), reads, before, None)
        return self.with_fates(ask, asked, person, said, "safe", told=told)

    def of_groups(self, ask: Ask, asked: list[Asked], person: Party) -> Decision:
        """Group by group, as they would be decided if a hypothetical table were the true one."""
        assert ask.plan is not None
        read = read_by(asked)
        before = person.risk(read)
        units = units_of(ask.plan, asked, self._knowledge.too_small(asked))
        suppression = Suppression(self._knowledge.rules, person.beside(read), units)
        found, more = suppression.give(), remainder.NOTHING
        if self._policy.decision.remainder is not False:
            more = remainder.give(suppression, found, ask.plan, asked, self._database, self._knowledge)
        told = found.told[: len(asked)]
        code, withheld = verdict_of(found.fates, found.gives_more)
        if code in verdict.WHOLE or code == "partial":
            code = self._with_rest(code, ask, asked, told)
        named, small = self._wording.named(ask, asked, code, found.fates), smaller_than_allowed(found.fates)
        said = self._wording.said(
            ask, code, read, before, None, withheld, named=named, too_small=small, together=len(more.together)
        )
        fates = {place: fate for unit, fate in found.fates for place in unit.places}
        return self.with_fates(ask, asked, person, said, "refused", fates, found.told, more)

    def _with_rest(
        self, code: str, ask: Ask, asked: Sequence[Asked], told: Sequence[Told[Fraction] | None]
    ) -> str:
        """A code, or "range" where more of the statement hangs on a value that is not told exactly."""
        assert ask.plan is not None
        exact = all(each is not None and each.exact for each in told)
        return code if exact or ends.rest(ask.plan, asked, told) is not None else "range"

    def with_fates(
        self,
        ask: Ask,
        asked: Sequence[Asked],
        person: Party,
        said: Decision,
        otherwise: str,
        fates: Mapping[int, str] = MappingProxyType({}),
        told: Sequence[Told[Fraction] | None] = (),
        more: remainder.Given = remainder.NOTHING,
        measured: bool = True,
    ) -> Decision:
        """A verdict that was foreseen, with what becomes of each aggregate.

        Args:
            ask: The statement.
            asked: What it asks.
            person: Who asks.
            said: The verdict.
            otherwise: What becomes of all that `fates` does not have.
            fates: By place, what becomes of an aggregate.
            told: What was told of a hypothetical table, that of withheld groups together last.
            more: What becomes of withheld groups together.
            measured: Whether what is left of the limit is said: a refusal that no answer could avert takes
                no kernel.
        """
        from auditor.gate.left import left_of  # an answer that is known needs nothing of it

        assert ask.plan is not None
        by_place = [fates.get(place, otherwise) for place in range(len(asked))]
        of_group = Counter((each.block, each.group) for each in asked)
        for place, each in enumerate(asked):  # judged together with what is new
            several = of_group[each.block, each.group] > 1
            if several and by_place[place] == "safe" and person.at_a_glance([each]) is not None:
                by_place[place] = "known"
        by_place += more.fates
        if said.verdict != "answered":  # nothing of it is shown
            by_place = ["refused" if each in GIVEN else each for each in by_place]
        asked = [*asked, *more.asked]
        told = told or [None for _ in asked]
        nothing: list[float | None] = [None for _ in asked]
        left = left_of(person, asked, self._policy.intruder.baseline) if measured else nothing
        rows = explain.foreseen(ask.plan, asked, by_place, told, self._database, left, self._wording.label)
        return replace(said, fates=rows)
