"""Which public columns an intruder is said to know of the person looked for, table by table.

Promise: each of them is a public column of a protected table; a name that none has is one clear error.
"""

from __future__ import annotations

from auditor.data.database import Database
from auditor.errors import PolicyError
from auditor.policy.policy import Policy
from auditor.sql.schema import folded


def known_columns(policy: Policy, database: Database) -> tuple[tuple[str, ...], ...]:
    """By protected column, those public columns of its table that the intruder is said to know.

    Raises:
        PolicyError: no protected table has one of them.
    """
    tables = {table.name: table.columns for table in database.schema.tables}
    there = tuple(tuple(column.name for column in tables[each.table]) for each in database.schema.protected)
    knows = policy.intruder.knows
    if knows == "all":
        return there
    every = dict.fromkeys(name for names in there for name in names)
    for name in knows:
        if folded(name) not in map(folded, every):
            tables_named = " and ".join(dict.fromkeys(protect.table for protect in policy.protects))
            raise PolicyError(
                f'intruder.knows = "{name}": {tables_named} has no such public column; '
                f"there are {', '.join(every)}"
            )
    return tuple(
        tuple(name for name in knows if folded(name) in {folded(each) for each in names}) for names in there
    )
