from __future__ import annotations

import math
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.errors import CaeSqlError, InvalidInput
from cae_sql.measure import cae_area, cae_curve, cae_entropy

from .strategies import area_by_brute_force, distributions, entropy_by_brute_force

X, P = (1, 3, 8, 9), (0.15, 0.1, 0.7, 0.05)
NEAR = 1e-12


def test_the_papers_example_comes_out_as_printed() -> None:
    entropies = [round(cae_entropy(X, P, e), 3) for e in (0, 1, 2, 5, 6, 7, 8)]
    assert entropies == [1.319, 1.054, 0.811, 0.811, 0.610, 0.286, 0]
    assert cae_area(X, P) == pytest.approx(6.5144, abs=5e-5)


def test_two_salaries_far_apart_have_more_area_than_two_close_ones() -> None:
    assert cae_area((50, 107)) == 57
    assert cae_area((77, 80)) == 3
    assert cae_entropy((50, 107)) == cae_entropy((77, 80)) == 1


def test_the_curve_of_the_papers_example_lists_only_the_widths_where_h_changes() -> None:
    curve = cae_curve(X, P)
    assert curve.epsilon.tolist() == [0, 1, 2, 6, 7, 8]
    assert curve.initial_entropy == pytest.approx(1.319, abs=5e-4)
    assert curve.epsilon_max == 8
    assert curve.entropy[-1] == 0


def test_partitions_of_equal_entropy_make_no_breakpoint() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        x = np.sort(rng.choice(60, 12, replace=False))
        curve = cae_curve(x)
        assert np.all(np.diff(curve.entropy) < -1e-9)


def test_steps_of_a_tenth_are_tenths() -> None:
    for values in ([k / 10 for k in range(11)], np.arange(11) * 0.1, np.linspace(0, 1, 11)):
        curve = cae_curve(values)
        assert curve.epsilon.size == 11
        assert curve.epsilon.tolist() == [k / 10 for k in range(11)]
        assert cae_entropy(values, None, 0.1) == pytest.approx(2.550, abs=5e-4)
        assert curve.at(0.1) == pytest.approx(2.550, abs=5e-4)


def test_fractions_decimals_and_large_integers_are_taken_exactly() -> None:
    third = Fraction(1, 3)
    thirds: list[Any] = [0, third, 2 * third, 1]
    assert cae_entropy(thirds, None, third) == 1
    assert cae_entropy([Decimal("0.1"), Decimal("0.3")], None, Decimal("0.2")) == 0  # type: ignore[arg-type]
    assert cae_entropy([2**53, 2**53 + 1, 0.5], None, 1) == pytest.approx(0.918, abs=1e-3)
    assert cae_area([2**70, 2**70 + 3]) == 3
    assert cae_area(np.array([-(2**63), 2**63 - 1])) == pytest.approx(2.0**64)
    assert cae_area(np.array([0.1, 0.4], dtype=np.float32)) == pytest.approx(0.3)


def test_positions_without_a_common_machine_word_are_still_compared_exactly() -> None:
    x = [1e-300, 1.0, 1e30]
    assert cae_curve(x).epsilon.size == 3
    assert cae_entropy(x, None, 1.0) < cae_entropy(x, None, 0.5)  # 1 − 1e-300 fits into 1
    rng = np.random.default_rng(7)
    for low, high in ((0, 1), (-30, 30)):  # two machine words; Python integers
        x = (rng.random(9) * 10.0 ** rng.integers(low, high, 9)).tolist()
        p = rng.random(9).tolist()
        assert cae_area(x, p) == pytest.approx(area_by_brute_force(sorted(x), [p[k] for k in np.argsort(x)]))


def test_values_at_the_ends_of_what_a_float_holds_have_an_area() -> None:
    assert cae_area([1e-300, 1e300]) == pytest.approx(1e300)
    assert cae_area([5e-324, 1e-323]) == pytest.approx(5e-324)
    with pytest.raises(InvalidInput, match="further apart"):
        cae_area([-1.7e308, 1.7e308])


def test_too_many_irregular_values_are_refused_and_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cae_sql.measure.curve.LARGEST_IRREGULAR", 5)
    with pytest.raises(InvalidInput, match="irregular"):
        cae_curve([0, 1, 10, 100, 1000, 10000])
    assert cae_curve(range(6), [1, 2, 3, 4, 5, 6]).epsilon_max == 5
    assert cae_entropy([0, 1, 10, 100, 1000, 10000], None, 9) > 0


def test_a_single_value_is_known() -> None:
    curve = cae_curve([5.5, 5.5], [1, 3])
    assert (curve.epsilon.tolist(), curve.entropy.tolist(), curve.area) == ([0.0], [0.0], 0.0)
    assert curve.epsilon_max == curve.initial_entropy == curve.at(3) == 0
    assert math.copysign(1, cae_entropy([5])) == 1


def test_equal_values_are_merged_and_impossible_ones_take_no_part() -> None:
    assert cae_area([1, 1, 3, 8, 9, 100], [0.05, 0.1, 0.1, 0.7, 0.05, 0]) == pytest.approx(cae_area(X, P))
    assert cae_curve([1, 3, 50], [1, 1, 0]).epsilon_max == 2


@pytest.mark.parametrize("weights", [[1e308, 1e308], [5e-324, 5e-324], [1e-200, 1e-200]])
def test_weights_of_any_size_are_normalised(weights: list[float]) -> None:
    assert cae_area([50, 107], weights) == 57


def test_a_hardly_possible_value_still_counts_towards_the_spread() -> None:
    curve = cae_curve([0, 5, 9], [1e300, 1, 1e-300])
    assert curve.epsilon_max == 9
    assert np.all(curve.entropy[:-1] > 0)
    assert cae_entropy([0, 9], [1, 1e-300], 8) >= 0


def test_the_curve_is_read_at_single_widths_and_at_arrays() -> None:
    curve = cae_curve(X, P)
    assert isinstance(curve.at(2), float)
    assert curve.at([[0, 2.5], [8, 1000]]).shape == (2, 2)
    assert curve.at([0, 2.5, 8, 1000]).tolist() == [curve.entropy[0], curve.entropy[2], 0, 0]
    assert curve.at(curve.epsilon).tolist() == curve.entropy.tolist()


def test_the_curve_is_drawn_on_the_given_axes() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    _, ax = pyplot.subplots()
    assert cae_curve(X, P).plot(ax) is ax
    assert ax.get_xlabel().startswith("ε")
    assert cae_curve([4]).plot().get_title() == "H0 = 0 bits, area = 0"
    pyplot.close("all")


def test_plotting_without_matplotlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="cae-sql\\[plot\\]"):
        cae_curve(X, P).plot()


@pytest.mark.parametrize(
    ("values", "probabilities", "position"),
    [
        ([], None, None),
        ([1, 2], [1], 1),
        ([1, 2], [1, 1, 1], 2),
        ([1, math.nan, 3], None, 1),
        ([math.nan], None, 0),
        ([1, 2, math.inf], None, 2),
        ([1, 2, -math.inf], None, 2),
        ([1, 2], [1, math.nan], 1),
        ([1, 2], [math.inf, 1], 0),
        ([1, 2, 3], [1, -0.5, -1], 1),
        ([1, 2], [0, 0], None),
        ([1, None], None, 1),
        ([1, "2"], None, 1),
        (["1"], None, 0),
        ([1, 2j], None, 1),
        ([[1, 2]], None, None),
        ([[1], [1, 2]], None, None),
        (3, None, None),
        ([1, 2], [[1, 1]], None),
        ([Decimal("1"), Decimal("NaN")], None, 1),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), None, 0),
        ([1, 2], ["a", 1], 0),
        ([1, 2], [10**400, 1], None),
    ],
)
def test_bad_input_is_refused_with_its_position(
    values: Any, probabilities: Any, position: int | None
) -> None:
    for measure in (cae_entropy, cae_area, cae_curve):
        with pytest.raises(InvalidInput) as caught:
            measure(values, probabilities)
        assert caught.value.position == position
        assert isinstance(caught.value, CaeSqlError)
        assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("epsilon", [-1, -1e-9, math.nan, math.inf, "1", None, 1j])
def test_a_bad_width_is_refused(epsilon: Any) -> None:
    with pytest.raises(InvalidInput):
        cae_entropy(X, P, epsilon)
    if epsilon not in ("1", None):
        with pytest.raises(InvalidInput):
            cae_curve(X, P).at(epsilon)
        if not isinstance(epsilon, complex):
            with pytest.raises(InvalidInput) as caught:
                cae_curve(X, P).at([1.0, float(epsilon)])
            assert caught.value.position == 1


@given(distributions(), st.integers(0, 700))
def test_h_is_the_least_over_all_partitions(d: tuple[list[float], list[float]], tenths: int) -> None:
    epsilon = Fraction(tenths, 10)
    assert cae_entropy(*d, epsilon) == pytest.approx(entropy_by_brute_force(*d, epsilon), abs=NEAR)


@given(distributions(most=6))
def test_the_area_is_the_integral_of_the_least_over_all_partitions(
    d: tuple[list[float], list[float]],
) -> None:
    assert cae_area(*d) == pytest.approx(area_by_brute_force(*d), rel=1e-10, abs=1e-10)


@given(distributions(most=25, spread=200), st.lists(st.integers(0, 4000), min_size=1, max_size=5))
def test_the_curve_and_single_widths_agree(d: tuple[list[float], list[float]], tenths: list[int]) -> None:
    curve = cae_curve(*d)
    widths = [t / 10 for t in tenths]
    assert curve.at(widths) == pytest.approx([cae_entropy(*d, e) for e in widths], abs=NEAR)


@given(distributions(most=25, spread=200))
def test_h_never_rises_and_ends_at_the_spread(d: tuple[list[float], list[float]]) -> None:
    curve = cae_curve(*d)
    assert np.all(np.diff(curve.entropy) < 0)
    assert np.all(np.diff(curve.epsilon) > 0)
    assert np.all(curve.entropy[:-1] > 0)
    assert curve.entropy[-1] == 0
    assert curve.epsilon_max == pytest.approx(d[0][-1] - d[0][0])
    assert curve.area == pytest.approx(float(np.sum(curve.entropy[:-1] * np.diff(curve.epsilon))), rel=1e-9)


@given(distributions(least=2, most=12), st.data())
def test_merging_neighbours_never_raises_initial_entropy(
    d: tuple[list[float], list[float]], data: st.DataObject
) -> None:
    values, weights = d
    k = data.draw(st.integers(0, len(values) - 2))
    merged = values[: k + 1] + values[k + 2 :]
    summed = [*weights[:k], weights[k] + weights[k + 1], *weights[k + 2 :]]
    assert cae_entropy(merged, summed) <= cae_entropy(values, weights) + NEAR


@given(distributions(most=12), st.sampled_from([0.5, 2, 10, 1000]), st.integers(-50, 50))
def test_scaling_values_scales_the_area_and_moving_them_leaves_it(
    d: tuple[list[float], list[float]], factor: float, shift: int
) -> None:
    values, weights = [Fraction(str(v)) for v in d[0]], d[1]
    moved = [v * Fraction(factor) + shift for v in values]
    assert cae_area(moved, weights) == pytest.approx(factor * cae_area(values, weights), rel=1e-9, abs=1e-12)  # type: ignore[arg-type]


@given(distributions(most=12), st.integers(0, 300), st.floats(0, 1), st.data())
def test_h_and_the_area_are_concave_in_the_probabilities(
    d: tuple[list[float], list[float]], tenths: int, share: float, data: st.DataObject
) -> None:
    values = d[0]
    p = np.array(d[1]) / math.fsum(d[1])
    other = data.draw(st.lists(st.floats(1e-3, 1), min_size=len(values), max_size=len(values)))
    q = np.array(other) / math.fsum(other)
    mixed = share * p + (1 - share) * q
    for measure in (cae_area, lambda x, w: cae_entropy(x, w, Fraction(tenths, 10))):
        apart = share * measure(values, p) + (1 - share) * measure(values, q)
        assert measure(values, mixed) >= apart - 1e-9


@given(distributions(most=12), st.integers(0, 300), st.randoms(use_true_random=False))
def test_the_order_of_the_values_does_not_matter(
    d: tuple[list[float], list[float]], tenths: int, random: Any
) -> None:
    pairs = list(zip(*d, strict=True))
    random.shuffle(pairs)
    shuffled = [v for v, _ in pairs], [w for _, w in pairs]
    assert cae_area(*shuffled) == pytest.approx(cae_area(*d), rel=1e-12)
    epsilon = Fraction(tenths, 10)
    assert cae_entropy(*shuffled, epsilon) == pytest.approx(cae_entropy(*d, epsilon), abs=NEAR)
