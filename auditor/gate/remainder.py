"""`remainder`: withheld groups together, as one more row of the answer, if that may be told.

Which groups are withheld is public: it follows from past answers, the statement and the answers that it
gives. So what they have together is one more question, the next one after them, judged and recorded like any.

Promise: nothing is told here that was not judged on all that was told before; where the statement has no
place for such a row, or its groups cannot be asked about together, there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from auditor.data.database import Asked, Database
from auditor.data.together import Together
from auditor.gate.suppress import Suppressed, Suppression, Unit, units_of
from auditor.parties.party import Knowledge
from auditor.sql import Plan
from auditor.sql.together import has_place
from auditor.told import Remainder


@dataclass(frozen=True)
class Given:
    """What became of withheld groups together."""

    together: tuple[Together, ...] = ()
    """What is told, as further groups of the statement's block."""
    refused: tuple[Asked, ...] = ()
    """What is not told of them."""
    fates: tuple[str, ...] = ()
    """What becomes of what is told: by `asked`, "known" or "safe"."""
    late: bool = False
    """Whether time had run out."""

    @property
    def asked(self) -> list[Asked]:
        """What was asked of those that are told, after all else that the statement asks."""
        return asked_of(self.together)

    @property
    def again(self) -> Given:
        """The same for who asks again: all that was told is known."""
        return replace(self, fates=("known",) * len(self.fates))


NOTHING = Given()
"""There are no such groups."""


def asked_of(together: Iterable[Together]) -> list[Asked]:
    """What is asked of further groups, in their order."""
    return [each for one in together for each in one.asked]


def give(
    suppression: Suppression,
    found: Suppressed,
    plan: Plan,
    asked: Sequence[Asked],
    database: Database,
    knowledge: Knowledge,
) -> Given:
    """Judge what is withheld together; what is told of it is added to what became of the statement.

    Args:
        suppression: What judged the groups.
        found: What became of them.
        plan: The statement.
        asked: What it asks.
        database: The public instance.
        knowledge: What is known.
    """
    lost = [each for each, told in zip(asked, found.told, strict=True) if told is None]
    together = _asked_about(plan, lost, database, knowledge)
    if not together:
        return Given()
    more = asked_of(together)
    fates = suppression.give_more(_units(plan, more, knowledge, len(asked)), found)
    told, found.told = found.told[len(asked) :], found.told[: len(asked)]
    given = {place for place, each in enumerate(told) if each is not None}
    found.told += [each for each in told if each is not None]
    small = knowledge.too_small(more)
    by_place = {place - len(asked): fate for unit, fate in fates.items() for place in unit.places}
    return Given(
        _kept(together, more, given),
        tuple(each for place, each in enumerate(more) if place not in given | small),
        tuple(by_place[place] for place in sorted(given)),
        "time" in fates.values(),
    )


def _asked_about(
    plan: Plan, lost: Sequence[Asked], database: Database, knowledge: Knowledge
) -> list[Together]:
    """What is asked of withheld groups together, with the record numbers of the system."""
    if not lost or not has_place(plan):
        return []
    groups: dict[int, set[int]] = {}
    for each in lost:
        groups.setdefault(each.column, set()).add(each.group)
    found = database.together(plan, groups)
    return [replace(each, asked=tuple(knowledge.laid(each.asked))) for each in found if each.asked]


def _units(plan: Plan, more: Sequence[Asked], knowledge: Knowledge, first: int) -> list[Unit]:
    """What is judged together, in places from `first` on."""
    units = units_of(plan, more, knowledge.too_small(more))
    return [replace(unit, places=tuple(place + first for place in unit.places)) for unit in units]


def _kept(together: Sequence[Together], more: Sequence[Asked], given: set[int]) -> tuple[Together, ...]:
    """Those of which something is told, in positions one after the other."""
    told = {(more[place].group, more[place].column) for place in given}
    first, kept = together[0].asked[0].group, list[Together]()
    for each in together:
        columns = {asked.column for asked in each.asked if (asked.group, asked.column) in told}
        if columns:
            kept.append(each.of(first + len(kept), columns))
    return tuple(kept)


def placed(table: pa.Table, together: Sequence[Together]) -> tuple[pa.Table, tuple[Remainder, ...]]:
    """An answer with these rows after all others, whatever its order; and where they are.

    Args:
        table: The answer; its last column has the groups' positions.
        together: The further groups.
    """
    groups = table.column(table.num_columns - 1).to_pylist()
    first = together[0].asked[0].group
    others = [row for row, group in enumerate(groups) if group < first]
    rows = [groups.index(first + place) for place in range(len(together))]
    found = [Remainder(len(others) + i, len(each.groups), each.rows) for i, each in enumerate(together)]
    return table.take(pa.array([*others, *rows], pa.int64())), tuple(found)
