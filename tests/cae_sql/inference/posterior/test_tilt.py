"""The tilt, from which the posterior's formula starts, against its definition and as a limit of `exact`."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from cae_sql.domain import Domain
from cae_sql.inference.posterior.fit import FOUND
from cae_sql.inference.posterior.likely import Likely
from cae_sql.inference.posterior.marginals import marginals
from cae_sql.inference.posterior.tilt import Moments, fitted, of_boxes
from cae_sql.inference.system import AnsweredSystem
from cae_sql.inference.tables.priors import Prior
from tests.cae_sql.inference.posterior.tables import listed


def tilted(system: AnsweredSystem, domain: Domain | None = None) -> np.ndarray:
    """(n, w) of each record, before leverage narrows it."""
    found = system._likely(domain, None)
    rows: np.ndarray = found.tilted[found.known.atoms.labels[: system.size]]
    return rows


def has_inside(likely: Likely) -> bool:
    """Whether the sums hold for means that are all inside of their boxes: else no tilt has them."""
    known = likely.known
    width = (known.high - known.low).astype(float)
    sums, rows = likely.sums - known.matrix @ (known.sizes * known.low), known.matrix * known.sizes
    # means low + x, and t as far from either end as can be, in widths
    equal = np.column_stack([rows, np.zeros(len(rows))])
    apart = np.column_stack([np.vstack([-np.eye(len(width)), np.eye(len(width))]), np.tile(width, 2)])
    found = optimize.linprog(
        np.append(np.zeros(len(width)), -1.0),
        A_ub=apart,
        b_ub=np.append(np.zeros(len(width)), width),
        A_eq=equal,
        b_eq=sums,
        bounds=[(None, None)] * len(width) + [(0, 1)],
    )
    return bool(found.status == 0 and -found.fun > 1e-6)


def test_a_fit_says_where_sums_that_leave_one_table_are_beyond_every_tilt() -> None:
    likely = listed(8626).system._likely(None, None)
    assert likely.fit.off > FOUND
    assert not has_inside(likely)


@given(st.integers(0, 10**9))
def test_the_tilt_expects_the_answered_sums(seed: int) -> None:
    small = listed(seed)
    likely = small.system._likely(None, None)
    if likely.fit.off > FOUND:
        assert not has_inside(likely), "a tilt reaches whatever is inside of the boxes"
        return
    found = tilted(small.system)
    means = np.array([found[record] @ np.arange(small.top + 1) for record in range(small.system.size)])
    seen = likely.fit.observed
    if likely.known.extremes and likely.fit.whole and seen.matrix.shape[0]:
        # somebody attains them: what is expected then is no mean of the tilts (`attaining`)
        labels = likely.known.atoms.labels[: small.system.size]
        raised = np.zeros(likely.known.count)
        raised[seen.atoms] = likely.fit.means[: seen.people]
        means = raised[labels]
    for answer in small.system.answers:
        if answer.kind == "sum":
            weights = 1 if answer.coefficients is None else answer.coefficients
            assert (weights * means[answer.members]).sum() == pytest.approx(float(answer.value), abs=1e-6)


def test_the_tilt_has_the_greatest_entropy_of_all_that_expect_these_sums() -> None:
    system = AnsweredSystem(4, 0, 3, 1)
    system.add_sum([0, 1, 2, 3], 5)
    system.add_sum([1, 2], 4)
    found = tilted(system)

    def rows(flat: np.ndarray) -> np.ndarray:
        return flat.reshape(4, 4)

    def lost(flat: np.ndarray) -> float:
        return float((rows(flat) * np.log2(np.maximum(rows(flat), 1e-300))).sum())

    u = np.arange(4)
    best = optimize.minimize(
        lost,
        np.full(16, 0.25),
        bounds=[(0, 1)] * 16,
        constraints=[
            {"type": "eq", "fun": lambda flat: rows(flat).sum(axis=1) - 1},
            {"type": "eq", "fun": lambda flat: (rows(flat) @ u).sum() - 5},
            {"type": "eq", "fun": lambda flat: (rows(flat)[1:3] @ u).sum() - 4},
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    ours = np.array([found[record] for record in range(4)])
    assert ours == pytest.approx(rows(best.x), abs=1e-4)
    assert -lost(ours.ravel()) >= -best.fun - 1e-6


def test_exact_becomes_the_tilt_as_one_sum_covers_more_records() -> None:
    apart = []
    for size in (3, 10, 100, 1000, 5000):
        system = AnsweredSystem(size, 0, 24, 1)
        system.add_sum(np.arange(size), 7 * size)
        exact, limit = marginals(system), tilted(system)
        assert not exact.estimated.any()
        apart.append(float(np.abs(exact.of(0) - limit[0]).sum() / 2))
    assert apart == sorted(apart, reverse=True)
    for few, many, factor in zip(apart[1:], apart[2:], (10, 10, 5), strict=False):
        assert few / many == pytest.approx(factor, rel=0.25)  # as one over the number of records


def test_exact_becomes_the_tilt_where_sums_overlap_too() -> None:
    apart = []
    for each in (2, 8, 32):
        system = AnsweredSystem(3 * each, 0, 4, 1)
        system.add_sum(np.arange(2 * each), 3 * each)
        system.add_sum(np.arange(each, 3 * each), 5 * each)
        exact, limit = marginals(system), tilted(system)
        assert not exact.estimated.any()
        apart.append(float(np.abs(exact.probabilities[exact.labels] - limit).max()))
    assert apart[0] > 2.5 * apart[1] > 6 * apart[2]


def test_wide_boxes_and_fine_grids_are_in_closed_form_for_the_tilt() -> None:
    system = AnsweredSystem(1000, 0, 250_000, "0.01")  # type: ignore[arg-type]
    system.add_mean(np.arange(500), 40_000)
    found = tilted(system, Domain(0, 250_000, 10_000))
    middles = np.arange(25) * 10_000 + 5_000
    assert found[0][:25] @ middles == pytest.approx(40_000, rel=0.02)
    assert found[999][:25] == pytest.approx(1 / 25, rel=1e-3)


def test_with_a_prior_the_tilt_is_the_prior_times_an_exponential() -> None:
    odds = np.array([5.0, 1.0, 1.0, 3.0, 0.0])
    prior = Prior.of(lambda count, seed: np.zeros(count, dtype=np.int64), odds / odds.sum())
    system = AnsweredSystem(40, 0, 4, 1, prior=prior)
    untouched = tilted(system)[0]
    assert untouched == pytest.approx(odds / odds.sum(), abs=1e-12)
    system.add_sum(range(10), 25)
    found = tilted(system)[0]
    assert found @ np.arange(5) == pytest.approx(2.5)
    slopes = np.diff(np.log(found[:4] / odds[:4]))
    assert slopes == pytest.approx(slopes[0])
    assert found[4] < 1e-12
    assert tilted(system)[39] == pytest.approx(untouched)


def test_within_a_window_a_prior_is_spread_evenly() -> None:
    odds = np.array([0.1, 0.3, 0.0, 0.2, 0.4, 0.0])
    prior = Prior.of(lambda count, seed: np.zeros(count, dtype=np.int64), odds)
    system = AnsweredSystem(20, 0, 5, 1, prior=prior)
    system.add_sum(range(8), 20)
    found = tilted(system, Domain(0, 4, 2))[0]
    theta = min(np.linspace(-2, 2, 40_001), key=lambda t: abs(_mean(np.repeat([0.2, 0.1, 0.2], 2), t) - 2.5))
    p = np.repeat([0.2, 0.1, 0.2], 2) * np.exp(theta * np.arange(6))
    assert found == pytest.approx((p / p.sum()).reshape(3, 2).sum(axis=1), abs=1e-3)


def _mean(weights: np.ndarray, theta: float) -> float:
    p = weights * np.exp(theta * np.arange(6))
    return float(p @ np.arange(6) / p.sum())


def test_a_fit_ends_where_only_what_is_settled_moves() -> None:
    """One person at the end of the domain, told apart by two sums: their λ grows without end, to no use."""
    low, high, looks = np.array([0, 0]), np.array([1, 1]), [0]
    plain = of_boxes(low, high)

    def moments(theta: np.ndarray) -> Moments:
        looks[0] += 1
        return plain(theta)

    rows, sizes = scipy.sparse.csr_array(np.array([[1.0, 1.0], [1.0, 0.0]])), np.array([50, 1])
    point, off = fitted(rows, sizes, np.array([26, 25]), moments)
    assert off < FOUND
    assert sizes * plain(rows.T @ point).means == pytest.approx([25, 1], abs=1e-9)
    assert looks[0] < 50
