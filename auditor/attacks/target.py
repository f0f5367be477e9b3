"""What an intruder has: the public columns, the domain, and somebody who answers or does not.

Promise: nothing here knows a protected value that was not answered. Whatever an attack learns comes from
`Target.reply`, `Target.check` and the policy's public part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from auditor.attacks.deduction import Deduction, How, Kind
from auditor.attacks.selection import EXACT_TYPES, Selection, conjunction, literal
from auditor.sql.schema import Column, quoted
from auditor.told import Foreseen, Range
from cae_sql.domain import exact

SEED = 1979
AIMS = 3
"""How many records one attack aims at."""


Aggregate = Literal["sum", "avg", "max", "min"]
AGGREGATES: tuple[Aggregate, ...] = ("sum", "avg", "max", "min")


class OutOfPatience(Exception):
    """An attack has caused as many decisions as it may; what was heard so far is all there is."""


@dataclass(frozen=True)
class Claim:
    """What an attack says it found out: about one record, or the total of several that are one person's."""

    record: int
    """The intruder's own number of it."""
    where: str
    """The condition on public columns that names it, or them, and nobody else."""
    lower: Fraction
    upper: Fraction
    proof: str
    """How it follows."""
    guess: bool = False
    """It does not follow, it is only likely: such claims count where they are true oftener than by chance."""
    likely: tuple[float, ...] | None = None
    """How likely each value of the column's grid is, exactly: it counts where that breaks the limit."""
    of_another: tuple[float, ...] | None = None
    """The same of somebody else who is in one of the sums, by that sum alone: what is said of groups."""
    whole: bool = False
    """It is about the total of all records that `where` names, which are one person's."""


@dataclass(frozen=True)
class Reply:
    """What came back to one statement."""

    verdict: Literal["answered", "refused", "unsupported"]
    rows: Sequence[tuple[object, ...]] | None
    said: str = ""
    """Code and message, which an intruder reads too."""
    ranges: Sequence[Range] = ()
    """What was told as an end."""
    remainder: Sequence[tuple[object, ...]] = ()
    """Further rows: withheld groups together."""
    fates: Sequence[Foreseen] = ()
    """What EXPLAIN says of each aggregate of each group, where a verdict alone was asked for."""
    decided: bool = False
    """Whether the gate made a decision for it: known answers cost it nothing."""


@dataclass(frozen=True)
class Scene:
    """The public part of the policy and of the database."""

    table: str
    """As SQL."""
    column: str
    """The protected column's name."""
    public: tuple[Column, ...]
    minimum: Fraction
    maximum: Fraction
    step: Fraction
    resolution: Fraction
    least_run: int
    """The fewest neighbouring steps that keep the policy's limit: public, as the policy is."""
    unit: str | None = None
    """The public column that names whose rows they are, if there is one."""


@dataclass
class Tally:
    """What was asked, and what came of it."""

    answered: int = 0
    refused: int = 0
    unsupported: int = 0
    checks: int = 0

    @property
    def asked(self) -> int:
        """All statements; the reading of public columns not counted."""
        return self.answered + self.refused + self.unsupported


Answerer = Callable[[str, str], Reply]


@dataclass
class Target:
    """One protected column, as seen from outside."""

    scene: Scene
    answerer: Answerer
    """Statement and user to reply."""
    checker: Answerer | None = None
    """The verdict alone, where that can be had."""
    patience: float = float("inf")
    """Decisions that it may still cause."""
    seed: int = SEED
    tally: Tally = field(default_factory=Tally)
    remarks: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.table, self.column = self.scene.table, quoted(self.scene.column)
        self.rng = np.random.default_rng(self.seed)
        rows = self._public_rows()
        self.rows = rows
        self.size = len(rows)
        self.values: dict[str, list[Any]] = {
            each.name: [row[place] for row in rows] for place, each in enumerate(self.scene.public)
        }
        plain = [each.name for each in self.scene.public if each.type.startswith(EXACT_TYPES)]
        self.usable = [name for name in plain if not any(value is None for value in self.values[name])]
        self.names = self._names()
        keyed = [tuple(self.values[name][i] for name in self.names) for i in range(self.size)]
        alone = Counter(keyed)
        self.alone = [i for i in range(self.size) if self.names and alone[keyed[i]] == 1]
        self.notes = Deduction(self.size, self.scene.minimum, self.scene.maximum, self.scene.resolution)
        self.aims = sorted(self.rng.permutation(self.alone)[:AIMS].tolist()) if self.alone else []
        self.persons = self._persons()
        """The records of each person who has several, those with most of them first."""

    def _public_rows(self) -> list[tuple[object, ...]]:
        names = ", ".join(quoted(each.name) for each in self.scene.public)
        if not names:
            return []
        sql = f"SELECT {names} FROM {self.table} WHERE {self.column} IS NOT NULL ORDER BY {names}"
        return list(self.answerer(sql, "eve").rows or [])

    def _names(self) -> list[str]:
        """Columns that name records: one that is all different if there is one, else all of them."""
        for name in self.usable:
            if len(set(self.values[name])) == self.size:
                return [name]
        return self.usable

    def _persons(self) -> dict[Any, list[int]]:
        if self.scene.unit not in self.usable:
            return {}
        found: dict[Any, list[int]] = {}
        for record, name in enumerate(self.values[self.scene.unit]):
            found.setdefault(name, []).append(record)
        several = [name for name, records in found.items() if len(records) > 1]
        return {name: found[name] for name in sorted(several, key=lambda name: (-len(found[name]), name))}

    # --- asking

    def reply(self, sql: str, user: str = "eve") -> Reply:
        """Ask, and be told something or not."""
        found = self._asked(self.answerer, sql, user)
        setattr(self.tally, found.verdict, getattr(self.tally, found.verdict) + 1)
        return found

    def ask(self, sql: str, user: str = "eve") -> Sequence[tuple[object, ...]] | None:
        """The rows, or None."""
        return self.reply(sql, user).rows

    def check(self, sql: str) -> Reply | None:
        """The verdict that asking would get, and the fates of EXPLAIN, where they can be had."""
        self.tally.checks += 1
        return None if self.checker is None else self._asked(self.checker, sql, "eve")

    def _asked(self, whom: Answerer, sql: str, user: str) -> Reply:
        if self.patience <= 0:
            raise OutOfPatience
        found = whom(sql, user)
        self.patience -= found.decided
        return found

    def aggregate(self, kind: Aggregate, who: Selection, user: str = "eve") -> Fraction | None:
        """One aggregate over a selection, noted for `claims`; averages come back as sums."""
        return self.told_of(kind, who, user)[0]

    def told_of(
        self, kind: Aggregate, who: Selection, user: str = "eve"
    ) -> tuple[Fraction | None, Sequence[Range]]:
        """As `aggregate`, with the ranges in which a value was told to be that was not told exactly."""
        if not who.size:
            return None, ()
        found = self.reply(f"SELECT {kind}({self.column}) FROM {self.table} WHERE {who.text}", user)
        value = None if not found.rows else number(found.rows[0][0])
        if value is None:
            self.note_ends(kind, who, found.ranges)
            return None, found.ranges
        if kind == "avg":
            kind, value = "sum", self._whole(value * who.size, who.size)
        self.note(kind, who, value)
        return value, ()

    def note_ends(self, kind: Aggregate, who: Selection, ranges: Sequence[Range]) -> None:
        """An end is an inequality that the truth keeps."""
        how: How
        for each in ranges:
            for how, end in (("at least", each.least), ("at most", each.most)):
                if end is None:
                    continue
                if kind == "avg":
                    self.notes.hears("sum", who.members.astype(np.int64), end * who.size, how)
                else:
                    self.notes.hears(kind, who.members.astype(np.int64), end, how)

    def sum(self, who: Selection, user: str = "eve") -> Fraction | None:
        """The total of a selection."""
        return self.aggregate("sum", who, user)

    def note(self, kind: Kind, who: Selection | NDArray[np.int64], value: Fraction) -> None:
        """Remember an answer over a selection, or over records with weights."""
        weights = who.members.astype(np.int64) if isinstance(who, Selection) else who
        self.notes.hears(kind, weights, value)

    def _whole(self, value: Fraction, count: int) -> Fraction:
        """A sum that was had from a rounded average, put back on the grid."""
        offset = self.scene.minimum * count
        return offset + round((value - offset) / self.scene.resolution) * self.scene.resolution

    # --- whom to ask about

    @property
    def everyone(self) -> Selection:
        """All records."""
        return Selection("TRUE", np.ones(self.size, dtype=np.bool_))

    def only(self, record: int) -> Selection:
        """One record that is alone in its public columns."""
        members = np.zeros(self.size, dtype=np.bool_)
        members[record] = True
        return Selection(conjunction({name: self.values[name][record] for name in self.names}), members)

    def among(self, records: Iterable[int]) -> Selection:
        """Some records that are each alone in their public columns."""
        chosen = list(records)
        members = np.zeros(self.size, dtype=np.bool_)
        members[chosen] = True
        if len(self.names) == 1:
            listed = ", ".join(literal(self.values[self.names[0]][i]) for i in chosen)
            return Selection(f"{quoted(self.names[0])} IN ({listed})", members)
        return Selection(" OR ".join(f"({self.only(i).text})" for i in chosen), members)

    def rows_of(self, *persons: object) -> Selection:
        """All records of some persons, named by them."""
        assert self.scene.unit is not None
        members = np.zeros(self.size, dtype=np.bool_)
        for name in persons:
            members[self.persons[name]] = True
        listed = ", ".join(literal(name) for name in persons)
        return Selection(f"{quoted(self.scene.unit)} IN ({listed})", members)

    def groups(self, column: str) -> list[Selection]:
        """The records by the values of a column."""
        content = self.values[column]
        found = []
        for value in sorted(set(content), key=str):
            members = np.array([each == value for each in content], dtype=np.bool_)
            found.append(Selection(f"{quoted(column)} = {literal(value)}", members))
        return found

    def categories(self, least: int = 2, most: int = 12) -> list[str]:
        """Columns with few different values."""
        return [name for name in self.usable if least <= len(set(self.values[name])) <= most]

    def cuts(self) -> list[Selection]:
        """Conditions that cover between a fifth and four fifths of all records, the evenest first."""
        found = []
        for name in self.usable:
            content = self.values[name]
            if isinstance(content[0] if content else None, str | bool):
                found += self.groups(name) if len(set(content)) <= 12 else []
                continue
            middle = sorted(content)[(self.size - 1) // 2]
            members = np.array([each <= middle for each in content], dtype=np.bool_)
            found.append(Selection(f"{quoted(name)} <= {literal(middle)}", members))
        fair = [each for each in found if self.size <= 5 * each.size <= 4 * self.size]
        return sorted(fair, key=lambda each: abs(2 * each.size - self.size))

    def crowd(self, count: int, without: Iterable[int] = ()) -> list[int]:
        """Up to `count` records that can be named, drawn with the fixed seed."""
        left = set(without)
        return [i for i in self.rng.permutation(self.alone).tolist() if i not in left][:count]

    # --- what came of it

    def claim(self, record: int, lower: Fraction, upper: Fraction, proof: str, guess: bool = False) -> Claim:
        """A claim, no wider than the domain."""
        low, high = max(lower, self.scene.minimum), min(upper, self.scene.maximum)
        return Claim(record, self.only(record).text, low, high, proof, guess)

    def total(self, who: Selection, lower: Fraction, upper: Fraction, proof: str) -> Claim:
        """A claim about the total of one person's records, no wider than what is possible."""
        low, high = who.size * self.scene.minimum, who.size * self.scene.maximum
        record = int(np.flatnonzero(who.members)[0])
        return Claim(record, who.text, max(lower, low), min(upper, high), proof, whole=True)

    def totals(self, sets: Iterable[Selection]) -> list[Claim]:
        """All that follows for the totals of these sets, each one person's, from the answers noted."""
        found = []
        for who in sets:
            lower, upper = self.notes.total(who.members)
            if upper - lower < who.size * (self.scene.maximum - self.scene.minimum):
                proof = f"all {len(self.notes.heard)} answers together, by an integer program"
                found.append(self.total(who, lower, upper, proof))
        return found

    def likelihood(
        self, record: int, likely: Sequence[float], of_another: Sequence[float], proof: str
    ) -> Claim:
        """How likely each value of the grid is, from the least on, of a record and of others."""
        place = max(range(len(likely)), key=likely.__getitem__)
        value = self.scene.minimum + place * self.scene.resolution
        where = self.only(record).text
        return Claim(record, where, value, value, proof, likely=tuple(likely), of_another=tuple(of_another))

    def claims(self, records: Iterable[int] | None = None) -> list[Claim]:
        """All that follows for these records (by default: those aimed at) from the answers noted."""
        found = []
        for record in self.aims if records is None else records:
            lower, upper = self.notes.interval(record)
            if (lower, upper) != (self.scene.minimum, self.scene.maximum):
                proof = f"all {len(self.notes.heard)} answers together, by an integer program"
                found.append(self.claim(record, lower, upper, proof))
        return found


def number(value: object) -> Fraction | None:
    """A cell as an exact number, or None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | Fraction):
        return None
    if isinstance(value, float | Decimal) and not np.isfinite(float(value)):
        return None
    return exact(value)
