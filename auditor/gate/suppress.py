"""`partial = "suppress"`: of a GROUP BY, the groups that may be answered are, and the others are withheld.

What is not grouped is judged first and must be safe, or the statement is refused. Then sums that hang on
nothing together are judged as one question, without those that make it fail. Then come the others in their
public order, totals before what they are made of, the aggregates of each together, judged on
all that has been released so far, the earlier groups of the same statement included. What is not safe is
withheld: NULL takes its place, and nothing else of it goes on. Each has its part of the statement's work;
those for whom that does not suffice come last and have more, so that a doubtful group does not cost the
others theirs.

The aggregates of a group are judged together. Where that fails, each is judged by itself, sums first, with
those before it known. So it is with values that AT_LEAST and AT_MOST alone are asked of, grouped or not; each
of these may be told as a range.

Promise: which groups are withheld follows from the policy, past answers, the statement and the answers given
in it, except for surprises, which are counted. A group that was withheld for good in a statement is withheld
wherever else in it the same is asked, unless the others that are given settle it. Nothing here is recorded:
whoever fails to record what this gives must let the party forget it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from auditor.data.database import Asked
from auditor.deciding.cases import Outcome
from auditor.deciding.decide import decide
from auditor.deciding.rules import Budget, Rules
from auditor.ledger import KnownAnswer
from auditor.parties.confidential import GROUP_WORLDS
from auditor.parties.party import Party, Reads
from auditor.sql import Plan
from auditor.told import Told
from cae_sql.inference.facts.query import Name

Fate = Literal["known", "safe", "risk", "time", "uncounted", "min-size"]
"""What becomes of a group: past answers settle it, it may be answered, or why it is withheld."""

GIVEN, REFUSED = ("known", "safe"), ("risk", "uncounted")

TOGETHER = 1 / 2
"""Part of a statement's work that groups of one question may take."""
FEWEST = 4
"""Groups of each half, where several are asked in two: with fewer it takes as long as each by itself."""
SHARES = (1 / 16, 1 / 4)
"""Parts of a statement's work that one group may take: at first, and of those that it did not suffice for."""


@dataclass(frozen=True)
class Unit:
    """Aggregates that are judged together: all that are not grouped, or those of one group."""

    places: tuple[int, ...]
    """Positions among the asked."""
    asked: tuple[Asked, ...]
    """What is there."""
    grouped: bool
    """Whether there are others to be told without it."""
    ranged: bool = False
    """Whether a range is asked of each."""
    of_group: bool = True
    """Whether it is of a group; else each value is withheld by itself."""
    too_small: bool = False
    """Whether it is about fewer than the policy's rule allows: it is withheld and never judged."""

    @property
    def names(self) -> set[tuple[int, ...]]:
        """Names of the groups, or of the values, that it is about."""
        if self.of_group:
            return {(each.block, each.group) for each in self.asked}
        return {(each.block, each.group, each.column) for each in self.asked}

    @property
    def is_of_sums(self) -> bool:
        """Whether it is of a group of which sums are asked."""
        of_group = self.grouped and self.of_group
        return of_group and all(each.kind == "sum" and each.statistic is None for each in self.asked)

    @property
    def size(self) -> int:
        """Records that it is about."""
        return len(self.asked[0].records)

    @property
    def may_be_taken_apart(self) -> bool:
        """Whether its aggregates may be given one by one."""
        return self.grouped and len(self.places) > 1

    @property
    def apart(self) -> list[Unit]:
        """Each of its aggregates by itself, sums first: an extreme takes the rooms of those who attain it."""
        parts = [
            replace(self, places=(place,), asked=(each,))
            for place, each in zip(self.places, self.asked, strict=True)
        ]
        return sorted(parts, key=lambda part: part.asked[0].kind != "sum")


def units_of(plan: Plan, asked: Sequence[Asked], too_small: Collection[int] = ()) -> list[Unit]:
    """What is judged together, in the order in which it is judged.

    Args:
        plan: The statement.
        asked: What it asks.
        too_small: The places of what is about fewer than the policy's rule allows.
    """
    found: dict[tuple[int, int, int, bool] | None, list[int]] = {}
    ranged = [plan.blocks[each.block].aggregates[each.column].ranged for each in asked]
    for place, each in enumerate(asked):
        # without groups, what ranges are asked of may be withheld apart from the rest
        grouped = plan.blocks[each.block].grouped or ranged[place]
        # what ranges alone are told of is judged by itself
        alone = each.column if each.statistic is not None else -1
        name = (each.block, each.group, alone, place in too_small) if grouped else None
        found.setdefault(name, []).append(place)
    ordered = sorted(found.items(), key=lambda item: item[0] is not None)
    units = [
        Unit(
            tuple(places),
            tuple(asked[place] for place in places),
            name is not None,
            all(ranged[place] for place in places),
            all(
                plan.blocks[asked[place].block].grouped and asked[place].statistic is None for place in places
            ),
            any(place in too_small for place in places),
        )
        for name, places in ordered
    ]
    return [unit for unit in units if not unit.grouped] + totals_first([u for u in units if u.grouped])


def totals_first(units: Sequence[Unit]) -> list[Unit]:
    """Units in their public order, but each after larger ones that have its records: totals before cells.

    A total that comes after its cells is what one cell of one person takes with it: the others are known by
    then, and the total would tell that person. Asked before them it is told, and that cell is withheld.
    """
    return [units[place] for place in np.argsort(depths(units), kind="stable").tolist()]


def depths(units: Sequence[Unit]) -> list[int]:
    """In how many larger ones, each in the next, the records of each unit are, at most."""
    members = [unit.asked[0].records for unit in units]
    inside = np.zeros(1 + max((int(each.max(initial=-1)) for each in members), default=-1), dtype=np.int64)
    found = [0] * len(units)
    for place in np.argsort([-len(each) for each in members], kind="stable").tolist():
        found[place] = int(inside[members[place]].min(initial=len(units)))
        inside[members[place]] = found[place] + 1
    return found


def smallest_inside(units: Sequence[Unit], lost: Sequence[Unit]) -> list[Unit]:
    """Of units that are to be dropped, in place of a total the smallest one that is a part of it."""
    found = dict[Unit, None]()
    for unit in lost:
        inside = [
            other
            for other in units
            if other.size < unit.size and np.isin(other.asked[0].records, unit.asked[0].records).all()
        ]
        found[min(inside, key=lambda other: other.size, default=unit)] = None
    return list(found)


def joined(units: Sequence[Unit]) -> Unit:
    """Several groups as one question; ranges that are asked of single ones are for when it fails."""
    places = tuple(place for unit in units for place in unit.places)
    asked = tuple(each for unit in units for each in unit.asked)
    return replace(units[0], places=places, asked=asked, ranged=False)


@dataclass
class Suppressed:
    """What becomes of a statement."""

    told: list[Told[Fraction] | None]
    """By asked, in column units; None where it is withheld."""
    fates: list[tuple[Unit, Fate]] = field(default_factory=list)
    """By unit, as far as they were judged."""
    answers: list[KnownAnswer] = field(default_factory=list)
    """What must be on record before anything is released."""
    surprises: int = 0
    """How many groups were not shown to be safe after their hypothetical answers had passed."""
    refusal: tuple[Reads, Outcome] | None = None
    """The first decision that refused, for the administrator's figures."""
    gives_more: bool = False
    """Whether anything is told of withheld groups together."""

    @property
    def given(self) -> bool:
        """Whether anything may be released."""
        return self.gives_more or any(fate in GIVEN for _, fate in self.fates)


@dataclass(frozen=True)
class _Judged:
    """What becomes of a unit."""

    fate: Fate
    undecided: bool = False
    """Whether more work might have shown that it may be given."""
    surprise: bool = False
    """Whether it was refused once the true answers were looked at."""
    open: frozenset[Name] = frozenset()
    """Names of the queries because of which it was refused, as `Outcome.open`."""


def verdict_of(fates: Sequence[tuple[Unit, Fate]], gives_more: bool = False) -> tuple[str, int]:
    """The code of a statement's verdict from what becomes of its units, and how many groups are withheld.

    Where nothing is grouped, how many values.

    Args:
        fates: By unit.
        gives_more: Whether anything is told of withheld groups together.
    """
    lost = [(unit, fate) for unit, fate in fates if fate not in GIVEN]
    if not lost:
        return ("known" if all(fate == "known" for _, fate in fates) else "answered"), 0
    if (len(lost) < len(fates) or gives_more) and all(unit.grouped for unit, _ in lost):
        return "partial", len({name for unit, _ in lost for name in unit.names})
    reasons = {fate for unit, fate in lost if not unit.grouped} or {fate for _, fate in lost}
    return next(fate for fate in ("risk", "time", "uncounted", "min-size") if fate in reasons), len(lost)


def smaller_than_allowed(fates: Sequence[tuple[Unit, Fate]]) -> int:
    """Of how many groups, or values, something is withheld because they are too small."""
    return len({name for unit, fate in fates if fate == "min-size" for name in unit.names})


class Suppression:
    """One statement of one user, judged group by group."""

    def __init__(self, rules: Rules, party: Party, units: Sequence[Unit]) -> None:
        """Judge nothing yet.

        Args:
            rules: The policy.
            party: Who asks, and has learned all that is on record of what is asked.
            units: What is asked.
        """
        self._rules_of_all, self._party, self._units = rules, party, units
        self._budget = Budget(rules)
        # delta is about a statement, and a statement has many groups
        self._of_groups = replace(rules, delta=0.0, worlds=max(rules.worlds, GROUP_WORLDS))
        self._lost = set[tuple[bool, frozenset[tuple[int, object]]]]()
        if any(unit.of_group for unit in units):
            columns = {each.protected for unit in units for each in unit.asked}
            self._party.think_up(self._of_groups.worlds, columns)

    def give(self) -> Suppressed:
        """Judge all units; what is given is known from then on, so it must be recorded or forgotten."""
        found = Suppressed([None] * sum(len(unit.places) for unit in self._units))
        for unit in (unit for unit in self._units if not unit.grouped):
            fate = self._judge(unit, found, self._budget).fate
            found.fates.append((unit, fate))
            if fate not in GIVEN:
                return found
        found.fates += self._give_grouped([unit for unit in self._units if unit.grouped], found).items()
        return found

    def give_more(self, units: Sequence[Unit], found: Suppressed) -> dict[Unit, Fate]:
        """Judge further groups, made of those that are withheld: the next question, after all others.

        Args:
            units: What is asked, in places after all others.
            found: What became of the statement; what is told is added.
        """
        found.told += [None] * sum(len(unit.places) for unit in units)
        fates = self._give_grouped(units, found)
        found.gives_more = any(fate in GIVEN for fate in fates.values())
        return fates

    def _give_grouped(self, units: Sequence[Unit], found: Suppressed) -> dict[Unit, Fate]:
        """Judge groups, sums that hang on nothing together first."""
        fates: dict[Unit, Fate] = dict.fromkeys((unit for unit in units if unit.too_small), "min-size")
        waiting = self._give_together([unit for unit in units if not unit.too_small], found, fates)
        for share in SHARES:
            doubtful = []
            for unit in waiting:
                with self._budget.part(share) as budget:
                    for part, judged in self._judge_grouped(unit, found, budget):
                        fates[part] = judged.fate
                        doubtful += [part] if judged.undecided else []
            waiting = doubtful
        # what was given after a group may settle it: with the total known, all others do
        for unit in [unit for unit, fate in fates.items() if fate in REFUSED]:
            if self._before(self._party.reads(unit.asked)) == "known":
                fates[unit] = self._judge(unit, found, self._budget).fate
        return fates

    def _give_together(self, units: Sequence[Unit], found: Suppressed, fates: dict[Unit, Fate]) -> list[Unit]:
        """Judge sums of which none follows from others as one question, without those that make it fail.

        Returns:
            The units that are left to be judged by themselves.
        """
        for block in dict.fromkeys(unit.asked[0].block for unit in units):
            some = [unit for unit in units if unit.asked[0].block == block and unit.is_of_sums]
            with self._budget.part(TOGETHER) as budget:
                # totals first; the largest of their parts follow from the others: they have most room
                order = np.lexsort(([unit.size for unit in some], depths(some))).tolist()
                self._give_parts([some[place] for place in order], found, fates, budget)
        return [unit for unit in units if unit not in fates]

    def _give_parts(
        self, units: list[Unit], found: Suppressed, fates: dict[Unit, Fate], budget: Budget
    ) -> None:
        """The same, without those that are named, or else in two halves, that of the larger groups first."""
        while len(some := self._independent(units)) > 1 and not budget.used_up:
            judged = self._judge(joined(some), found, budget)
            if judged.fate in GIVEN:
                fates |= dict.fromkeys(some, judged.fate)
                return
            lost = [unit for unit in some if self._names(unit) & judged.open]
            if judged.surprise:
                # whether one is looked at again would hang on the true answers
                fates |= dict.fromkeys(lost or some, judged.fate)
            elif len(lost) % len(some) == 0:
                if len(some) >= 2 * FEWEST:
                    half = len(some) // 2
                    self._give_parts(some[half:], found, fates, budget)
                    self._give_parts(some[:half], found, fates, budget)
                return
            else:
                lost = smallest_inside(some, lost)
            units = [unit for unit in units if unit not in lost and unit not in fates]

    def _independent(self, units: Sequence[Unit]) -> list[Unit]:
        """Those of some units that are asked together: whose sums follow neither from past answers nor from
        those of units before, but for those that are asked by themselves (`Overlap.to_ask_apart`)."""
        if len(units) < 2 or not self._rules_of_all.simulatable:
            return []
        reads = self._party.reads(joined(units).asked)
        cases = self._party.cases(reads)
        if len(cases) != 1:
            return []
        question = cases[0].question()
        some = set(question.question_tables.fresh) - question.overlap.to_ask_apart
        if cases[0].is_one_by_one:
            # small: what hangs together is decided one after the other, as searches find all there is
            often = Counter(question.overlap.components)
            some = {place for place, each in enumerate(question.overlap.components) if often[each] == 1}
        names = {query.name for place, query in enumerate(cases[0].queries) if place in some}
        return [unit for unit in units if self._names(unit) <= names]

    def _names(self, unit: Unit) -> set[Name]:
        return {query.name for queries in self._party.reads(unit.asked).values() for query in queries}

    def _judge_grouped(self, unit: Unit, found: Suppressed, budget: Budget) -> Iterator[tuple[Unit, _Judged]]:
        """What becomes of a unit, or of each of its values where they are not given together."""
        judged = self._judge(unit, found, budget)
        if unit.may_be_taken_apart and judged.fate in REFUSED and not judged.surprise:
            yield from ((part, self._judge(part, found, budget)) for part in unit.apart)
        else:
            yield unit, judged

    def _judge(self, unit: Unit, found: Suppressed, budget: Budget, rules: Rules | None = None) -> _Judged:
        """What becomes of a unit as a whole, by default under the rules for what it is."""
        reads = self._party.reads(unit.asked)
        name = (
            unit.ranged,
            frozenset((place, query.name) for place, queries in reads.items() for query in queries),
        )
        fate = self._before(reads)
        if fate not in (None, "known"):
            return _Judged(fate)
        if fate is None and name in self._lost:
            return _Judged("risk")
        rules = self._rules(unit)
        outcome = self._party.refusal_by_persons(reads, rules, budget) or decide(
            self._party.cases(reads), rules, budget, unit.ranged
        )
        found.answers += self._party.known_answers(reads, outcome)
        found.surprises += outcome.surprise
        if outcome.verdict in GIVEN:
            told = self._party.told(unit.asked, reads, outcome)
            self._party.accept(reads, outcome)
            for place, each in zip(unit.places, told, strict=True):
                found.told[place] = each
            return _Judged(outcome.verdict)
        found.refusal = found.refusal or (reads, outcome)
        # after a surprise it would hang on the true answer whether it is looked at again
        undecided = budget.used_up and not outcome.surprise
        if not undecided:
            self._lost.add(name)
        return _Judged(outcome.verdict, undecided, outcome.surprise, frozenset(outcome.open))

    def _rules(self, unit: Unit) -> Rules:
        return self._of_groups if unit.grouped and unit.of_group else self._rules_of_all

    def _before(self, reads: Reads) -> Fate | None:
        """What becomes of a unit whatever a decision would say; None where one is needed."""
        with self._budget:  # what is prepared here is not prepared again
            derivable = all(case.derivable for case in self._party.cases(reads))
        if derivable:
            return "known"
        return "time" if self._budget.over else None
