"""What a party has learned beyond what its answers exclude, by all tables that agree with them.

Promise: a figure is counted, never an estimate; where a system is too large, or time is over, there is none.
"""

from __future__ import annotations

from collections.abc import Sequence

from auditor.history.parties import PartyColumn
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.posterior.judging import ModelKnowledge, ModelStandard

SECONDS = 20.0
"""For all parties of an audit together."""
MOST_CELLS = 1_000_000
"""Atoms times answers of a system that is looked at."""


def learned(columns: Sequence[PartyColumn], deadline: float) -> float | None:
    """The greatest risk of a record under `exact`, over all protected columns; None where one is not known.

    Args:
        columns: What the party knows of each.
        deadline: `time.monotonic()` after which nothing is worked out.
    """
    worst = 0.0
    for part in columns:
        so_far, column = part.so_far, part.column
        if not so_far.answers:
            continue
        if so_far.known.count * len(so_far.answers) > MOST_CELLS:
            return None
        system = column.new_system()
        system.accept(so_far.answers)
        standard = ModelStandard(column.limits.limit, column.protect.domain)
        risk = ModelKnowledge(system, standard).question([]).judge((), Allowance(until=deadline)).risk
        if risk is None:
            return None
        worst = max(worst, risk)
    return worst
