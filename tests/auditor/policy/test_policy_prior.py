"""A public prior shapes what is drawn, as it is written, on the grid of the column."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from auditor.errors import PolicyError
from auditor.policy.policy import Policy
from auditor.policy.prior import Listed, Prior, Shaped

TEXT = """\
[protect]
table = "staff"
column = "salary"
minimum = 10
maximum = 250
step = 10
resolution = 5
public = ["age"]

[limit]
risk = 0.5

[intruder]
"""

LOGNORMAL = 'prior = { shape = "lognormal", median = 40, sigma = 0.8 }'


def prior_of(line: str, text: str = TEXT) -> Prior:
    policy = Policy.parse(text + line)
    found = policy.prior_of(policy.protects[0])
    assert found is not None
    return found


def probabilities(prior: Prior) -> np.ndarray:
    found = prior.probabilities
    assert found is not None
    return found


def test_without_a_prior_there_is_none() -> None:
    policy = Policy.parse(TEXT)
    assert policy.prior_of(policy.protects[0]) is None


def test_a_weight_is_spread_evenly_up_to_the_next_listed_value() -> None:
    found = probabilities(prior_of("prior = [[20, 3], [35, 0], [250, 1]]"))
    assert len(found) == 49  # 10, 15, …, 250
    expected = np.zeros(49)
    expected[2:5] = 0.25  # 20, 25, 30
    expected[48] = 0.25
    assert found == pytest.approx(expected)


def test_all_values_listed_are_all_values_weighed() -> None:
    weights = np.arange(1, 50)
    line = ", ".join(f"[{10 + 5 * k}, {weight}]" for k, weight in enumerate(weights))
    assert probabilities(prior_of(f"prior = [{line}]")) == pytest.approx(weights / weights.sum())


def test_the_order_of_the_pairs_means_nothing() -> None:
    one, other = (prior_of(f"prior = [{pairs}]") for pairs in ("[20, 3], [100, 1]", "[100, 1], [20, 3]"))
    assert probabilities(one).tolist() == probabilities(other).tolist()


@pytest.mark.parametrize(
    ("line", "distribution"),
    [
        (LOGNORMAL, stats.lognorm(0.8, scale=40)),
        ('prior = { shape = "normal", mean = 90.5, deviation = 30 }', stats.norm(90.5, 30)),
        ('prior = { shape = "normal", mean = -400, deviation = 50 }', stats.norm(-400, 50)),
    ],
    ids=["lognormal", "normal", "far outside"],
)
def test_a_shape_has_the_probabilities_of_its_distribution_cut_to_the_domain(
    line: str, distribution: stats.rv_continuous
) -> None:
    middles = np.arange(10, 251, 5)
    weights = [
        distribution.cdf(value + 2.5) - distribution.cdf(value - 2.5)
        if distribution.median() > value
        else distribution.sf(value - 2.5) - distribution.sf(value + 2.5)
        for value in middles
    ]
    assert probabilities(prior_of(line)) == pytest.approx(np.array(weights) / np.sum(weights), rel=1e-9)


@pytest.mark.parametrize("line", [LOGNORMAL, "prior = [[20, 3], [35, 0], [40, 2], [200, 1]]"])
def test_draws_have_the_probabilities_that_are_listed(line: str) -> None:
    prior = prior_of(line)
    expected = probabilities(prior)
    drawn = np.bincount(prior.draw(200_000, seed=5), minlength=len(expected))
    assert drawn[expected == 0].sum() == 0
    often = expected > 1e-4
    assert (
        stats.chisquare(drawn[often], expected[often] / expected[often].sum() * drawn[often].sum()).pvalue
        > 1e-4
    )


def test_the_same_seed_draws_the_same_and_another_another() -> None:
    prior = prior_of(LOGNORMAL)
    drawn = prior.draw(100, seed=1)
    assert drawn.dtype == np.int64
    assert drawn.tolist() == prior.draw(100, seed=1).tolist()
    assert drawn.tolist() != prior.draw(100, seed=2).tolist()


FINE = TEXT.replace("minimum = 10", "minimum = 0").replace("maximum = 250", "maximum = 1_000_000_000")
FINE = FINE.replace("step = 10", "step = 1_000_000").replace("resolution = 5", "resolution = 0.01")


@pytest.mark.parametrize("median", [3.5, 40_000, 900_000_000])
def test_on_a_grid_of_a_hundred_billion_values_draws_still_have_the_shape(median: float) -> None:
    prior = prior_of(LOGNORMAL.replace("40", str(median)), FINE)
    assert prior.probabilities is None
    assert len(prior.edges) <= 1 << 17
    values = prior.draw(20_000, seed=3) / 100
    whole = stats.lognorm(0.8, scale=median)
    cut = whole.cdf(1_000_000_000)
    assert stats.kstest(values, lambda x: whole.cdf(x) / cut).pvalue > 1e-3


pairs = st.lists(
    st.tuples(st.integers(0, 300), st.integers(0, 9)), min_size=1, max_size=12, unique_by=lambda p: p[0]
)


@given(pairs.filter(lambda pairs: any(weight for _, weight in pairs)), st.integers(0, 2**32))
def test_nothing_is_drawn_without_weight_or_beyond_the_domain(
    pairs: list[tuple[int, int]], seed: int
) -> None:
    listed = sorted((Fraction(value), Fraction(weight)) for value, weight in pairs)
    prior = Prior.of(Listed(tuple(listed)), Fraction(0), Fraction(1), 300)
    allowed = set[int]()
    for (value, weight), (after, _) in pairwise([*listed, (Fraction(301), Fraction(0))]):
        if weight:
            allowed |= set(range(int(value), int(after)))
    assert set(prior.draw(200, seed).tolist()) <= allowed
    assert probabilities(prior).sum() == pytest.approx(1)
    assert set(np.flatnonzero(probabilities(prior)).tolist()) == allowed


@given(
    st.sampled_from(["lognormal", "normal"]),
    st.floats(1e-39, 1e39),
    st.floats(1e-39, 1e39),
    st.integers(1, 10**12),
)
def test_any_shape_gives_draws_in_the_domain_or_says_that_it_has_no_weight_there(
    shape: str, centre: float, spread: float, top: int
) -> None:
    try:
        prior = Prior.of(Shaped(shape, centre, spread), Fraction(-3), Fraction(1, 7), top)
    except ValueError:
        return
    drawn = prior.draw(50, 1)
    assert ((drawn >= 0) & (drawn <= top)).all()
    assert (np.diff(prior.edges) > 0).all()
    assert (np.diff(prior.cumulative) >= 0).all()
    assert (prior.cumulative[0], prior.cumulative[-1]) == (0, 1)


BROKEN = [
    ("prior = 5", ["intruder.prior = 5", "pairs", "shape"]),
    ("prior = []", ["intruder.prior = []", "pairs"]),
    ("prior = [20, 3]", ["[value, weight]", "number 1"]),
    ("prior = [[20, 3], [30, 1, 2]]", ["number 2"]),
    ('prior = [[20, "much"]]', ["finite numbers", "number 1"]),
    ("prior = [[20, inf]]", ["finite numbers"]),
    ("prior = [[20, 1e999999999]]", ["finite numbers"]),
    ("prior = [[20, 1], [30, -1]]", ["weights of 0 or more", "number 2"]),
    ("prior = [[20, 1], [20, 1]]", ["20 comes twice"]),
    ("prior = [[20, 0]]", ["weight above 0"]),
    ("prior = [[22, 1]]", ["intruder.prior: ", "22 is not", "20 and 25 are"]),
    ("prior = [[255, 1]]", ["10 to 250", "255 is not"]),
    ("prior = [[5, 1]]", ["10 to 250", "5 is not"]),
    ('prior = { shape = "gamma" }', ['"lognormal"', '"normal"']),
    ("prior = { median = 40 }", ['shape = "lognormal"']),
    ('prior = { shape = "lognormal", median = 40 }', ["shape, median and sigma"]),
    ('prior = { shape = "normal", mean = 4, deviation = 1, x = 1 }', ["nothing else"]),
    ('prior = { shape = "lognormal", median = 0, sigma = 1 }', ["median greater than 0"]),
    ('prior = { shape = "lognormal", median = 4, sigma = "a" }', ["finite number as sigma"]),
    ('prior = { shape = "normal", mean = 4, deviation = -1 }', ["deviation greater than 0"]),
    ('prior = { shape = "normal", mean = -1e30, deviation = 1 }', ["intruder.prior: must give some weight"]),
    ("priors = 5", ["did you mean intruder.prior"]),
]


@pytest.mark.parametrize(("line", "named"), BROKEN, ids=[line for line, _ in BROKEN])
def test_a_mistake_in_a_prior_is_one_error_with_what_would_do(line: str, named: list[str]) -> None:
    with pytest.raises(PolicyError) as caught:
        Policy.parse(TEXT + line)
    message = str(caught.value)
    assert "\n" not in message
    for part in named:
        assert part in message


def test_a_long_list_is_cut_short_in_a_message() -> None:
    line = ", ".join(f"[{10 + 5 * k}, 1]" for k in range(49))
    with pytest.raises(PolicyError) as caught:
        Policy.parse(TEXT + f"prior = [{line}, [10, -1]]")
    assert "number 50 has less" in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_prior_does_not_change_what_a_ledger_is_bound_to() -> None:
    assert Policy.parse(TEXT + LOGNORMAL).protect_digest == Policy.parse(TEXT).protect_digest
    own = TEXT.replace('public = ["age"]', f'public = ["age"]\n{LOGNORMAL}')
    assert Policy.parse(own).protect_digest == Policy.parse(TEXT).protect_digest


TWO = (
    "[[protect]]"
    + TEXT.split("[limit]")[0].removeprefix("[protect]")
    + '[[protect]]\ntable = "staff"\ncolumn = "bonus"\nminimum = 0\nmaximum = 9\nstep = 1\npublic = ["age"]\n'
    + "OWN\n[limit]\nrisk = 0.5\n[intruder]\n"
)


def test_each_of_several_columns_has_its_own_prior() -> None:
    policy = Policy.parse(TWO.replace("OWN", "prior = [[5, 1]]"))
    salary, bonus = policy.protects
    assert policy.prior_of(salary) is None
    found = policy.prior_of(bonus)
    assert found is not None
    assert probabilities(found).tolist() == [0, 0, 0, 0, 0, 0.2, 0.2, 0.2, 0.2, 0.2]


@pytest.mark.parametrize(
    ("own", "line", "named"),
    [
        ("", "prior = [[20, 1]]", ["intruder.prior", "several", "[[protect]] its own"]),
        ("prior = [[20, 1]]", "", ["protect.prior of staff.bonus", "0 to 9", "20 is not"]),
        ("prior = 7", "", ["[[protect]] number 2", "protect.prior = 7"]),
    ],
)
def test_a_prior_that_cannot_be_of_a_column_is_one_error(own: str, line: str, named: list[str]) -> None:
    with pytest.raises(PolicyError) as caught:
        Policy.parse(TWO.replace("OWN", own) + line)
    for part in named:
        assert part in str(caught.value)
