"""Which groups of an answer are withheld, by their public keys: a top five may lack one, and shows no gap.

Promise: nothing is named but keys, which are public, and aggregates, which the statement names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from auditor.data.database import Asked, Database
from auditor.gate.ends import aggregate_of, group_of
from auditor.gate.suppress import GIVEN, Fate, Unit
from auditor.sql import Plan
from auditor.told import Withheld


def withheld_of(
    plan: Plan, asked: Sequence[Asked], fates: Sequence[tuple[Unit, Fate]], database: Database
) -> tuple[Withheld, ...]:
    """What is withheld, in the order of the statement; a group of two blocks is one.

    Args:
        plan: The statement.
        asked: What it asks.
        fates: What became of it, by unit.
        database: The public instance.
    """
    lost = sorted(place for unit, fate in fates if fate not in GIVEN for place in unit.places)
    of_group = Counter((each.block, each.group) for each in asked)
    places: dict[tuple[int, int], list[int]] = {}
    for place in lost:
        places.setdefault((asked[place].block, asked[place].group), []).append(place)
    found: dict[str, Withheld] = {}
    for (block, group), here in places.items():
        whole = plan.blocks[block].grouped and len(here) == of_group[block, group]
        names = (
            () if whole else tuple(dict.fromkeys(aggregate_of(plan, asked[each], database) for each in here))
        )
        one = Withheld(group_of(plan, asked[here[0]], database), names)
        found.setdefault(one.name, one)
    return tuple(found.values())
