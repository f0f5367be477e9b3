"""What is told of a value: the value itself, or an end of where it lies. Value objects; no I/O.

Source: `mathematics.md`, 8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Generic, Literal, TypeVar

from auditor.plain import line

Number = TypeVar("Number", int, Fraction)
Other = TypeVar("Other", int, Fraction)


@dataclass(frozen=True)
class Told(Generic[Number]):
    """Where a value lies. In units while it is decided on, in units of the column afterwards."""

    least: Number | None
    """It is not less; None: nothing is told of that."""
    most: Number | None
    """It is not greater."""

    @property
    def exact(self) -> bool:
        """Whether the value itself is told."""
        return self.least is not None and self.least == self.most

    @property
    def value(self) -> Number | None:
        """The value, where it is told."""
        return self.least if self.exact else None

    def holds(self, value: Number) -> bool:
        """Whether it is true of a value."""
        return (self.least is None or self.least <= value) and (self.most is None or value <= self.most)

    def under(self, of: Callable[[Number], Other], rising: bool = True) -> Told[Other]:
        """What it says of a value that grows, or falls, with this one."""
        least = None if self.least is None else of(self.least)
        most = None if self.most is None else of(self.most)
        return Told(least, most) if rising else Told(most, least)


def exactly(value: Number) -> Told[Number]:
    """The value itself is told."""
    return Told(value, value)


@dataclass(frozen=True)
class Range:
    """A value of an answer that is not given exactly: where it lies, in units of the column."""

    aggregate: str
    """Which, as SQL: "sum(salary)"."""
    group: Mapping[str, object]
    """Of which group: its keys with their values; empty without GROUP BY."""
    least: Fraction | None
    """It is at least this; None: nothing is told of that."""
    most: Fraction | None
    """It is at most this."""
    column: str | None = None
    """The column of the answer that is just this aggregate, if there is one; the value is NULL there."""
    row: int | None = None
    """The row where it is NULL, from 0, if that is known."""

    @property
    def at_least(self) -> Fraction | None:
        """`least`, as the SQL function is called."""
        return self.least

    @property
    def at_most(self) -> Fraction | None:
        """`most`, as the SQL function is called."""
        return self.most

    @property
    def words(self) -> str:
        """In words: "at most 34"."""
        return self._said("at most {}", "at least {}", "from {} to {}")

    @property
    def name(self) -> str:
        """The aggregate and its group: "sum(salary) of dept b"."""
        group = _in_words(self.group)
        return f"{self.aggregate} of {group}" if group else self.aggregate

    @property
    def sign(self) -> str:
        """As a cell of a table: "≤ 34"."""
        return self._said("≤ {}", "≥ {}", "{} … {}")

    def _said(self, most: str, least: str, both: str) -> str:
        if self.least is None:
            return most.format(rounded(self.most, up=True))
        if self.most is None:
            return least.format(rounded(self.least, up=False))
        return both.format(rounded(self.least, up=False), rounded(self.most, up=True))


@dataclass(frozen=True)
class Withheld:
    """A group, or values, of which nothing is told."""

    group: Mapping[str, object]
    """Its keys with their values, which are public; empty without GROUP BY."""
    aggregates: tuple[str, ...] = ()
    """Which of its aggregates, as SQL: "max(salary)"; empty: all."""

    @property
    def as_dict(self) -> dict[str, object]:
        """For JSON and data frames."""
        return {"group": dict(self.group), "aggregates": list(self.aggregates)}

    @property
    def name(self) -> str:
        """In words: "dept b", or "dept b (max(salary))" where others of its aggregates are told."""
        group, aggregates = _in_words(self.group), ", ".join(self.aggregates)
        return f"{group} ({aggregates})" if group and aggregates else group or aggregates


Fate = Literal["exact", "end", "range", "withheld", "known"]
"""What would be told of an aggregate."""


@dataclass(frozen=True)
class Foreseen:
    """What would become of one aggregate of one group."""

    group: Mapping[str, object]
    """Its keys with their values, which are public; empty without GROUP BY."""
    aggregate: str
    """Which, as SQL: "sum(salary)"."""
    fate: Fate
    """What would be told of it."""
    reason: str
    """Why, in a sentence."""
    left: float | None = None
    """The share of the limit on risk that past answers have left of the most exposed of those whom it is
    about, in hundredths; None where that is not worked out."""

    @property
    def row(self) -> tuple[str, str, str, str, float | None]:
        """As EXPLAIN shows it, the keys as one text."""
        return _in_words(self.group), self.aggregate, self.fate, self.reason, self.left

    @property
    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "group": dict(self.group),
            "aggregate": self.aggregate,
            "fate": self.fate,
            "reason": self.reason,
            "left": self.left,
        }


@dataclass(frozen=True)
class Remainder:
    """A row of an answer that is withheld groups together."""

    row: int
    """Which, from 0."""
    groups: int
    """How many groups these are."""
    rows: int
    """How many rows of the table, or of the join, they have."""

    @property
    def as_dict(self) -> dict[str, object]:
        """For JSON and data frames."""
        return {"row": self.row, "groups": self.groups, "rows": self.rows}


def _in_words(group: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {'NULL' if value is None else value}" for key, value in group.items())


MOST_NAMED = 10
"""Withheld groups that a message names; of more it says how many they are. More are not read."""
LONGEST_NAME = 80
"""Letters of a group that a message shows: keys may be long texts."""


def named(withheld: Sequence[Withheld]) -> str:
    """The first of them in words, and how many more there are.

    >>> named([Withheld({"dept": "b"}), Withheld({"dept": None})])
    'dept b; dept NULL'
    """
    names = [line(each.name) for each in withheld[:MOST_NAMED]]
    shown = [name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…" for name in names]
    more = len(withheld) - MOST_NAMED
    return "; ".join([*shown, *([f"and {more:,} more"] if more > 0 else [])])


PLACES = 6
"""Decimals that are shown of an end; it is rounded so that it stays true."""


def rounded(value: Fraction | None, up: bool) -> str:
    """An end as people write it, with few decimals.

    >>> rounded(Fraction(100, 3), up=True), rounded(Fraction(100, 3), up=False)
    ('33.333334', '33.333333')
    """
    assert value is not None
    scaled = value * 10**PLACES
    whole = -(-scaled.numerator // scaled.denominator) if up else scaled.numerator // scaled.denominator
    text = f"{Decimal(whole).scaleb(-PLACES):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
