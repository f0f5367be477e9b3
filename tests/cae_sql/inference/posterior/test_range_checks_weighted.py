"""Where a range of a weighted sum lies, held against all tables."""

from __future__ import annotations

import numpy as np
import pytest

from cae_sql import cae_area
from cae_sql.domain import Domain
from cae_sql.inference.facts.query import Query
from cae_sql.inference.posterior.judging import LikelyKnowledge, LikelyStandard
from cae_sql.inference.posterior.range_checks import says_too_much
from cae_sql.inference.system import AnsweredSystem
from cae_sql.risk import Limit

PEOPLE, TOP, WIDTH = 150, 2, 32
STANDARD = LikelyStandard(Limit(risk=0.5), Domain(0, TOP, 1))


def exact(weights: list[int], ends: tuple[int, int]) -> list[np.ndarray]:
    """What the sum leaves the first person and the last, all tables alike: by convolution of all others."""
    found = []
    for one in (0, len(weights) - 1):
        chances = np.ones(1)
        for place, weight in enumerate(weights):
            if place != one:
                own = np.zeros(weight * TOP + 1)
                own[::weight] = 1 / (TOP + 1)
                chances = np.convolve(chances, own)
        left = [
            sum(
                float(chances[total - weights[one] * value])
                for total in range(ends[0], ends[1] + 1)
                if 0 <= total - weights[one] * value < len(chances)
            )
            for value in range(TOP + 1)
        ]
        found.append(np.array(left) / sum(left))
    return found


def asked(weights: list[int], ends: tuple[int, int], total: int | None = None) -> bool:
    """Whether a range says too much; beside everybody's sum, where it is given."""
    system, members = AnsweredSystem(PEOPLE, 0, TOP, 1), np.arange(PEOPLE)
    if total is not None:
        system.add_sum(members, total)
    likely = LikelyKnowledge(system, STANDARD).likely
    query = Query(kind="weighted", members=members, coefficients=np.array(weights))
    return says_too_much(likely, query, ends, 0.5, STANDARD.domain)


@pytest.mark.parametrize("start", [0, 32, 64, 128, 160])
def test_whoever_weighs_six_times_as_much_is_named_by_a_sum_that_lies_far_out(start: int) -> None:
    """Said so where the exact risk beside the others is past the limit; in the middle nothing is."""
    weights, ends = [6, *[1] * (PEOPLE - 1)], (start, start + WIDTH - 1)
    heavy, other = (cae_area(list(range(TOP + 1)), each.tolist()) for each in exact(weights, ends))
    said = asked(weights, ends)
    if 1 - heavy / other > 0.5:
        assert said
    assert said == (start < 128)


def test_what_a_sum_says_of_all_alike_is_nobodys() -> None:
    assert not asked([3] * PEOPLE, (0, WIDTH - 1))
    assert not asked([1, 2] * (PEOPLE // 2), (0, WIDTH - 1))


def test_a_total_that_is_known_says_most_of_it() -> None:
    """With the total near the least, a weighted sum near the least is no news."""
    weights = [6, *[1] * (PEOPLE - 1)]
    assert asked(weights, (32, 63))
    assert not asked(weights, (32, 63), total=45)
