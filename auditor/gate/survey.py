"""What a statement asks about, before anything is decided: its groups, and of how many records each is.

Promise: public data and the text of the statement alone are looked at; nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from auditor.data.database import Asked, Database
from auditor.gate.ends import group_of
from auditor.sql import Plan
from auditor.told import Withheld


@dataclass(frozen=True)
class Surveyed:
    """A statement that is understood."""

    normalised: str
    """Canonical text: equal for statements that differ in layout, comments or case."""
    public: bool
    """Whether it reads no protected value."""
    groups: Mapping[str, int] = field(default_factory=dict)
    """Records of each group of which protected values are asked, by its public keys in words; "" is all that
    is not grouped."""
    two_questions: bool = False
    """Whether other values are to be asked first: what is asked then hangs on these, and is not known."""


def surveyed(plan: Plan, asked: Sequence[Asked], database: Database) -> Surveyed:
    """The groups of a statement; two of the same keys are one, of the fewer records.

    Args:
        plan: The statement.
        asked: What it asks.
        database: The public instance.
    """
    found = dict[str, int]()
    fewest = dict[tuple[int, int], Asked]()
    for each in asked:
        place = each.block, each.group
        if place not in fewest or len(each.records) < len(fewest[place].records):
            fewest[place] = each
    for each in fewest.values():
        name = group_name(group_of(plan, each, database))
        found[name] = min(found.get(name, len(each.records)), len(each.records))
    return Surveyed(plan.normalised, plan.public, found)


def group_name(group: Mapping[str, object]) -> str:
    """A group by its public keys, in words."""
    return Withheld(group).name
