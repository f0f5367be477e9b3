"""A log of decisions: one line per statement and group, and two logs side by side.

Promise: a group is named by what is public of its row, so that two builds' lines about it meet whatever order
or values they give.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Literal

Told = Literal["exact", "end", "range", "withheld", "refused", "unsupported"]
RANKS: Sequence[Told] = ("unsupported", "refused", "withheld", "range", "end", "exact")
"""From what says least."""


@dataclass(frozen=True)
class Decided:
    """What became of one group of a statement, or of a statement that has none."""

    statement: int
    """Its place in the day, from 1."""
    group: str
    """What is public of its row; empty without groups."""
    verdict: str
    code: str
    told: Told
    value: str
    """What was told: "34", "≤ 34"; "–" where a value is withheld."""

    @property
    def place(self) -> tuple[int, str]:
        """What it is about."""
        return self.statement, self.group


def write(path: Path, decided: Iterable[Decided]) -> None:
    """As CSV, a header first."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(field.name for field in fields(Decided))
        writer.writerows(astuple(each) for each in decided)


def read(path: Path) -> list[Decided]:
    """What `write` wrote.

    Raises:
        ValueError: it is no such file; names it.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = {field.name for field in fields(Decided)}
    if rows and set(rows[0]) != names:
        raise ValueError(f"{path}: not a log of decisions; its columns should be {', '.join(sorted(names))}")
    return [Decided(**{**row, "statement": int(row["statement"])}) for row in rows]  # type: ignore[arg-type]


@dataclass(frozen=True)
class Change:
    """One group of which two logs say different things."""

    before: Decided | None
    """None where the first log does not have it: that statement was refused, or cut."""
    after: Decided | None

    @property
    def gain(self) -> int:
        """Above 0 where more is told; 0 where as much is, by other values or codes."""
        return _rank(self.after) - _rank(self.before)

    def __str__(self) -> str:
        one = self.before or self.after
        assert one is not None
        sign = "+" if self.gain > 0 else "-" if self.gain < 0 else "~"
        name = f"{one.statement}{': ' if one.group else ''}{one.group}"
        return f"{sign} {name}: {_said(self.before)} -> {_said(self.after)}"


def _rank(decided: Decided | None) -> int:
    return -1 if decided is None else RANKS.index(decided.told)


def _said(decided: Decided | None) -> str:
    if decided is None:
        return "nothing"
    return f"{decided.told} {decided.value}".rstrip() + f" ({decided.code})"


def compared(before: Sequence[Decided], after: Sequence[Decided]) -> list[Change]:
    """What differs, in the order of the statements."""
    one, other = ({each.place: each for each in log} for log in (before, after))
    changes = [Change(one.get(place), other.get(place)) for place in dict.fromkeys([*one, *other])]
    return sorted(
        (each for each in changes if each.before != each.after),
        key=lambda each: (each.before or each.after).place,  # type: ignore[union-attr]
    )


def summary(changes: Sequence[Change]) -> str:
    """How much was lost and gained."""
    if not changes:
        return "the same"
    lost, gained = (sum(sign * each.gain > 0 for each in changes) for sign in (-1, 1))
    exact_lost = sum(
        each.before is not None and each.before.told == "exact" and each.gain < 0 for each in changes
    )
    exact_gained = sum(
        each.after is not None and each.after.told == "exact" and each.gain > 0 for each in changes
    )
    return (
        f"{lost} lost ({exact_lost} of them were told exactly), {gained} gained ({exact_gained} are told "
        f"exactly), {len(changes) - lost - gained} otherwise"
    )
