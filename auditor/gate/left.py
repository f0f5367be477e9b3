"""What is left of the limit: of those whom an aggregate is about, the share that the most exposed one has.

Promise: it is worked out from past answers, public columns and the policy; no protected value is read. It is
what past answers exclude and make likely to somebody who is not an insider; a decision reckons with insiders
too, and with what is asked.

Source: `mathematics.md`, 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

import numpy as np
from numpy.typing import NDArray

from auditor.data.database import Asked
from auditor.gate.by_unit import risks_of_units
from auditor.parties.column import ColumnKnowledge
from auditor.parties.party import Party
from cae_sql.candidates import spans
from cae_sql.errors import CaeSqlError
from cae_sql.inference.posterior.baselines import Baseline, posterior_risks
from cae_sql.inference.posterior.judging import LikelyKnowledge, LikelyStandard
from cae_sql.risk import risk_of_run


def left_of(party: Party, asked: Sequence[Asked], baseline: Baseline) -> list[float | None]:
    """By asked, the share that is left, in hundredths, rounded downwards; None where risk is not limited.

    Args:
        party: Who asks.
        asked: What is asked.
        baseline: Against what likelihood is held.
    """
    risks = {place: _risks(party.columns[place], baseline) for place in {each.protected for each in asked}}
    found = list[float | None]()
    for each in asked:
        known = party.columns[each.protected]
        limit, of_records = known.column.limits.risk, risks[each.protected]
        if of_records is None or not limit:
            found.append(None)
            continue
        if known.aside is not None and known.aside[each.records].any():
            found.append(0.0)  # the owner's release took all of it
            continue
        spent = float(of_records[each.records].max(initial=0.0)) / float(limit)
        found.append(max(floor(100 * (1 - spent) + 1e-9), 0) / 100)
    return found


def _risks(known: ColumnKnowledge, baseline: Baseline) -> NDArray[np.float64] | None:
    """(n,) the risk of each record, and of its unit; None where there is too much to be held."""
    system, column = known.system, known.column
    domain = column.protect.domain
    standard = LikelyStandard(column.limits.limit, domain, baseline)
    if not system.answers and not system.observed:
        return np.zeros(system.first_spare)
    try:
        past = known.model if isinstance(known.model, LikelyKnowledge) else LikelyKnowledge(system, standard)
        likely = past.likely
        likely.tilt.windows.check_rows(likely.known.count)
        labels = likely.known.atoms.labels[: system.first_spare]
        risks = posterior_risks(likely, domain, baseline).risk[labels]
        if column.whose is not None:
            risks = np.maximum(risks, risks_of_units(past)[column.whose])
    except CaeSqlError:
        return None
    outer = system.bounds_by_single_sums()
    counts, place = np.unique(spans(outer.lower, outer.upper, domain).count, return_inverse=True)
    excluded = np.array([risk_of_run(int(count), domain).risk for count in counts])[place]
    risks[: system.size] = np.maximum(risks[: system.size], excluded)
    return risks
