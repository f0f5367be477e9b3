"""Counts on a domain of two values, where leverage does not show in anybody's bell."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from auditor.deciding.cases import Case
from auditor.deciding.decide import decide
from auditor.deciding.rules import Rules
from cae_sql import cae_area
from cae_sql.domain import Domain
from cae_sql.inference.facts.query import Query
from cae_sql.inference.posterior.keeping import LikelyKnowledge, LikelyStandard
from cae_sql.inference.search.judging import Standard
from cae_sql.inference.search.runs import Effort
from cae_sql.inference.system import AnsweredSystem
from cae_sql.risk import Limit

RANGES, OTHERS, LIMIT = 20, 12, 0.5


def exact_risk(table: np.ndarray) -> float:
    """Of somebody in many counts, each with other people, once what a gate tells of them is known."""
    system, rules = AnsweredSystem(len(table), 0, 1, 1), Rules(True, 20, 0.05, 60.0)
    standard, logs = LikelyStandard(Limit(LIMIT), Domain(0, 1, 1)), np.zeros(2)
    for number in range(RANGES):
        members = np.append(0, np.arange(1 + number * OTHERS, 1 + (number + 1) * OTHERS))
        query = Query(kind="count", members=members, region=((1, 1),))
        model = LikelyKnowledge(system, standard)
        truth = int(table[members].sum())
        outcome = decide([Case(system, [query], Standard(1), lambda _, t=truth: [t], Effort(), model)], rules)
        if outcome.verdict != "safe":
            continue
        (part,) = outcome.parts
        assert part.kept is not None
        system.accept_range(part.kept.shares, part.kept.observed, part.kept.spare, part.kept.guide)
        told = part.recorded[0].told
        least, most = told.least or 0, len(members) if told.most is None else told.most
        for own in (0, 1):
            logs[own] += np.log(np.diff(binom.cdf([least - 1 - own, most - own], OTHERS, 0.5))[0])
    chances = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    return 1 - float(cae_area([0, 1], list(chances))) / float(cae_area([0, 1]))


@pytest.mark.parametrize("seed", range(3))
def test_of_two_values_many_counts_do_not_tell_which_somebody_has(seed: int) -> None:
    table = np.random.default_rng(seed).integers(0, 2, 1 + RANGES * OTHERS)
    assert exact_risk(table) <= LIMIT
