"""Ranges about one person, as a gate tells them, held against the exact posterior: stars, no formula."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from auditor.deciding.cases import Case
from auditor.deciding.decide import decide
from auditor.deciding.rules import Rules
from auditor.told import Told
from cae_sql import cae_area
from cae_sql.domain import Domain
from cae_sql.inference.facts.query import Kind, Query
from cae_sql.inference.posterior.judging import LikelyKnowledge, LikelyStandard
from cae_sql.inference.standard import Effort, Standard
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
        system.accept_range(part.kept.shares, part.kept.observed, part.kept.spare, part.kept.holding)
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


def star_told(
    kind: Kind, table: np.ndarray, weights: list[int] | None, ranges: int, insiders: int, limit: float
) -> tuple[int, float]:
    """How many ranges about the first person, each beside other people, a gate tells, and the exact risk."""
    top, others = 4, (len(table) - 1) // ranges
    system, rules = AnsweredSystem(len(table), 0, top, 1), Rules(True, 20, 0.05, 600.0)
    standard = LikelyStandard(Limit(limit), Domain(0, top, 1), insiders=insiders)
    logs, told, seen = np.zeros(top + 1), 0, dict[Told[int], np.ndarray]()
    coefficients = None if weights is None else np.array(weights, dtype=np.int64)
    for number in range(ranges):
        members = np.append(0, np.arange(1, 1 + others) + number * others)
        query, model = (
            Query(kind=kind, members=members, coefficients=coefficients),
            LikelyKnowledge(system, standard),
        )
        truth = int(query.of(table))
        case = Case(system, [query], Standard(2, insiders=insiders), lambda _, t=truth: [t], Effort(), model)
        outcome = decide([case], rules, ranges=True)
        if outcome.verdict != "safe":
            continue
        (part,) = outcome.parts
        assert part.kept is not None
        system.accept_range(part.kept.shares, part.kept.observed, part.kept.spare, part.kept.holding)
        said = part.recorded[0].told
        if said not in seen:
            seen[said] = chances_of(said, others, top, weights)
        logs, told = logs + np.log(np.maximum(seen[said], 1e-300)), told + 1
    p = np.exp(logs - logs.max())
    values = list(range(top + 1))
    return told, 1 - float(cae_area(values, (p / p.sum()).tolist())) / float(cae_area(values))


def chances_of(told: Told[int], others: int, top: int, weights: list[int] | None) -> np.ndarray:
    """(values,) how likely a range is by the first person's value, others having any value alike."""
    joint = np.ones((1, 1))
    for weight in [1] * others if weights is None else weights[1:]:
        before, square = joint, top**2 if weights is None else 0
        joint = np.zeros((before.shape[0] + weight * top, before.shape[1] + square))
        for x in range(top + 1):
            more = x * x if weights is None else 0
            joint[weight * x :, more:][: before.shape[0], : before.shape[1]] += before / (top + 1)
    sums, squares = np.nonzero(joint)
    found = np.zeros(top + 1)
    for own in range(top + 1):
        answers = sums + own * (1 if weights is None else weights[0])
        if weights is None:
            answers = ((squares + own**2) * (others + 1) - answers**2) // (others + 1)
        inside = np.ones(len(sums), dtype=np.bool_)
        if told.least is not None:
            inside &= answers >= told.least
        if told.most is not None:
            inside &= answers <= told.most
        found[own] = joint[sums, squares][inside].sum()
    return found


@pytest.mark.parametrize("insiders", [0, 1])
def test_many_weighted_sums_do_not_tell_who_weighs_most(insiders: int) -> None:
    """Of one with the least value, every third range in the low cell: one in twenty has such luck."""
    weights, ranges, chance = np.array([8, *[1, 2, 3, 5, 8] * 8]), 12, np.random.default_rng(0)
    groups = list[np.ndarray]()
    while len(groups) < ranges:
        others = chance.integers(0, 5, len(weights) - 1)
        if (int(weights[1:] @ others) < 256) == (len(groups) % 3 == 0):
            groups.append(others)
    table = np.concatenate([[0], *groups])
    told, risk = star_told("weighted", table, weights.tolist(), ranges, insiders, LIMIT)
    assert told >= 2
    assert risk <= LIMIT


@pytest.mark.parametrize("insiders", [0, 1])
@pytest.mark.parametrize("own", [0, 2])
@pytest.mark.slow
def test_many_deviations_do_not_tell_who_is_far_from_the_mean(own: int, insiders: int) -> None:
    ranges, others = 6, 150
    table = np.random.default_rng(own).integers(0, 5, 1 + ranges * others)
    table[0] = own
    told, risk = star_told("spread", table, None, ranges, insiders, 0.3)
    assert told
    assert risk <= 0.3
