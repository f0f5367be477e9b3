"""The functions on Arrow columns: equal to the plain reference whatever the layout, clear about bad rows."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql import Domain, InvalidInput, cae_area
from cae_sql.candidates import candidates
from cae_sql.releases import attribute_disclosure_risk, privacy_loss
from cae_sql.risk import risk_of
from tests.udfs.sqls import lists, plain_area, plain_curve, plain_entropy
from udfs import functions
from udfs.columns import numbers

VALUES = st.one_of(
    st.integers(-40, 40).map(float),
    st.integers(-400, 400).map(lambda k: k / 10),
    st.integers(-(10**9), 10**9).map(float),
    st.integers(-(10**16), 10**16).map(lambda k: k / 1e14),
)
KINDS = st.sampled_from(
    [
        st.integers(-40, 40).map(float),
        st.integers(0, 400).map(lambda k: k / 10),
        VALUES,
        st.integers(0, 10**16).map(lambda k: k / 1e16),
    ]
)


@st.composite
def columns(draw: st.DrawFn) -> tuple[list[Any], list[Any]]:
    """Rows of values and weights, some NULL, each row of one kind."""
    values, weights = [], []
    for _ in range(draw(st.integers(0, 6))):
        row = draw(st.lists(draw(KINDS), min_size=1, max_size=7))
        weight = [1.0, *draw(st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 10)), min_size=len(row) - 1,
                                      max_size=len(row) - 1))]  # fmt: skip
        values.append(draw(st.sampled_from([row, row, row, None])))
        weights.append(draw(st.sampled_from([weight, weight, weight, None])))
    return values, weights


@pytest.mark.slow
@given(columns(), st.sampled_from([0.0, 0.1, 1.0, 2.5, 1000.0]), st.integers(1, 3), st.integers(0, 3))
def test_every_row_is_what_the_plain_reference_says_in_any_layout(
    drawn: tuple[list[Any], list[Any]], epsilon: float, chunks: int, padding: int
) -> None:
    values, weights = drawn
    x, w = lists(values, chunks, padding), lists(weights, max(1, chunks - 1), padding)
    width = pa.array([epsilon] * len(values), pa.float64())
    entropies = functions.cae_entropy(x, w, width).to_pylist()
    areas = functions.cae_area(x, w).to_pylist()
    curves = functions.cae_curve(x, w).to_pylist()
    unweighted = functions.cae_area(x).to_pylist()
    for k, (row, weight) in enumerate(zip(values, weights, strict=True)):
        assert unweighted[k] == (None if row is None else pytest.approx(plain_area(row), rel=1e-9, abs=1e-12))
        if row is None or weight is None:
            assert entropies[k] is areas[k] is curves[k] is None
            continue
        assert entropies[k] == pytest.approx(plain_entropy(row, weight, epsilon), rel=1e-9, abs=1e-12)
        assert areas[k] == pytest.approx(plain_area(row, weight), rel=1e-9, abs=1e-12)
        steps = [(step["epsilon"], step["entropy"]) for step in curves[k]]
        assert steps == [pytest.approx(step, rel=1e-9, abs=1e-12) for step in plain_curve(row, weight)]


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint16(), pa.int64(), pa.uint64(), pa.float32(), pa.decimal128(10, 2),
             pa.decimal128(38, 0), pa.decimal256(50, 3)],
    ids=str,
)  # fmt: skip
def test_any_numeric_type_is_taken(kind: Any) -> None:
    column = pa.array([[10, 20, 40], None, [7]], pa.list_(kind))
    assert functions.cae_area(column).to_pylist() == [pytest.approx(plain_area([10, 20, 40])), None, 0.0]


@pytest.mark.parametrize("make", [pa.large_list, lambda kind: pa.list_(kind, 2)])
def test_long_lists_and_lists_of_fixed_size_are_taken_sliced_too(make: Any) -> None:
    column = pa.array([[1, 2], [50, 107], None, [77, 80]], make(pa.int32())).slice(1)
    assert functions.cae_area(column).to_pylist() == [57.0, None, 3.0]


def test_what_lies_under_a_null_list_is_of_no_account() -> None:
    items = pa.array([1.0, 2.0, math.nan, None, 5.0, 9.0])
    column = pa.ListArray.from_arrays(
        pa.array([0, 2, 4, 6], pa.int32()), items, mask=pa.array([False, True, False])
    )
    assert functions.cae_area(column).to_pylist() == [1.0, None, 4.0]


def test_decimals_are_compared_as_decimals() -> None:
    steps = [k / 10 for k in range(11)]
    column = pa.array([steps, [Decimal(k) / 10 for k in range(11)]][:1])
    assert functions.cae_entropy(column, pa.array([0.1])).to_pylist()[0] == pytest.approx(2.550, abs=5e-4)
    computed = lists([(np.arange(11) * 0.1).tolist(), [0.3, 0.1 + 0.2]])
    found = functions.cae_entropy(computed, pa.array([0.1, 0.0])).to_pylist()
    assert found == [pytest.approx(2.550, abs=5e-4), 0.0]


def test_decimals_arrive_as_the_floats_nearest_to_them() -> None:
    drawn = np.random.default_rng(5).integers(-(10**14), 10**14, 2_000).tolist()
    for precision, scale in ((15, 4), (38, 10)):
        values = [Decimal(k).scaleb(-scale) for k in drawn]
        column = pa.array([None, *values], pa.decimal128(precision, scale)).slice(1)
        found, _ = numbers(column, "x")
        assert found.tolist() == [float(value) for value in values]
    column = pa.array([["4102690397.2224", "-4062194284.5203"]]).cast(pa.list_(pa.decimal128(18, 4)))
    width = pa.array(["8164884681.7427"]).cast(pa.decimal128(18, 4))
    assert functions.cae_entropy(column, width).to_pylist() == [0.0]


@pytest.mark.parametrize(
    "kind", [pa.decimal128(2, 1), pa.decimal128(4, 4), pa.int8(), pa.uint64(), pa.float32()], ids=str
)
def test_a_missing_number_of_any_type_is_no_number_and_no_error(kind: Any) -> None:
    found, there = numbers(pa.array([None, 0], pa.float64()).cast(kind), "x")
    assert there.tolist() == [False, True]
    assert found[1] == 0


def test_single_floats_are_taken_as_the_decimals_that_they_print_as() -> None:
    random = np.random.default_rng(6)
    for values in (
        random.normal(size=500),
        random.integers(-500, 500, 500) / 10,
        random.integers(0, 2**26, 500),
        10.0 ** random.uniform(-44, 38, 500),
        np.array([16777216.0, 3.0, -0.0]),
        np.array([999999.5, 0.1]),
    ):
        single = values.astype(np.float32)
        found, _ = numbers(pa.array(single), "x")
        assert found.tolist() == [float(str(x)) for x in single]
        column = pa.array([single.tolist()[:7]], pa.list_(pa.float32()))
        assert functions.cae_area(column).to_pylist() == [pytest.approx(cae_area(single[:7]))]
    with pytest.raises(InvalidInput, match=r"values\[1\] is nan"):
        functions.cae_area(pa.array([[1, math.nan]], pa.list_(pa.float32())))


def test_no_rows_and_rows_that_are_all_null_come_back_as_they_are() -> None:
    nothing = pa.array([], pa.list_(pa.float64()))
    for function in (
        functions.cae_area,
        functions.cae_entropy,
        functions.cae_curve,
        functions.shannon_entropy,
    ):
        assert function(nothing).to_pylist() == []
        assert function(pa.nulls(2)).to_pylist() == [None, None]
        assert function(pa.chunked_array([], pa.list_(pa.int64()))).to_pylist() == []


@pytest.mark.parametrize(
    ("values", "weights", "said"),
    [
        ([1, math.nan], [1, 1], r"values\[1\] is nan; every value must be finite"),
        ([math.inf], [1], r"values\[0\] is inf"),
        ([1, 2], [1, -1], r"probabilities\[1\] is negative: -1.0"),
        ([1, 2], [0, 0], "probabilities must not all be 0"),
        ([1, 2], [1, math.nan], r"probabilities\[1\] is nan"),
        ([1, 2], [1], "values and probabilities must have the same length, not 2 and 1"),
        ([], [], "values must not be empty"),
        ([1, None], [1, 1], r"values\[1\] is NULL; every value must be a number"),
        ([1, 2], [None, 1], r"probabilities\[0\] is NULL"),
    ],
)
def test_a_bad_row_is_named_with_its_function_and_what_is_wrong(
    values: list[Any], weights: list[Any], said: str
) -> None:
    x, w = lists([[1, 2], None, values, []], 2, 1), lists([[1, 1], [1], weights, []], 1, 1)
    width = pa.array([0.0] * 4)
    calls = {"cae_entropy": (x, w, width), "cae_area": (x, w), "cae_curve": (x, w), "cae_area_bounds": (x, w)}
    for name, arguments in calls.items():
        with pytest.raises(InvalidInput, match=f"^{name}: row 2: {said}") as raised:
            getattr(functions, name)(*arguments)
        assert raised.value.position == 2


def bounds(*figures: float, rows: int = 1) -> list[Any]:
    """Minimum, maximum and step, each a column."""
    return [pa.array([figure] * rows) for figure in figures]


FIVE = lists([[5]])


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("cae_entropy", (lists([[1], [2]]), pa.array([0.0, -1.0])), "row 1: epsilon must not be negative"),
        ("cae_entropy", (FIVE, pa.array([math.nan])), "row 0: epsilon must be a finite number"),
        ("cae_area_bounds", (FIVE, pa.array([0.0])), "row 0: relative_error must be .* greater than 0"),
        ("cae_area", (pa.array(["a"]),), "values must be a list of numbers, not string"),
        ("cae_area", (pa.array([["a"]]),), "values must be a list of numbers, not of string"),
        ("cae_area", (pa.array([[True]]),), "values must be a list of numbers, not of bool"),
        ("cae_area", (FIVE,) * 3, "row 0: probabilities|tolerance must be a number, not"),
        ("cae_area", (FIVE, pa.array([-0.5])), "row 0: tolerance must be a number from 0, not -0.5"),
        ("cae_area", (FIVE,) * 4, "takes values, probabilities and tolerance .* not 4 arguments"),
        ("cae_risk", (FIVE, *bounds(10, 250, 10)), r"row 0: values\[0\] = 5.0 is outside of the domain 10.0"),
        ("cae_risk", (FIVE, *bounds(0, 9, 0)), "row 0: step must be greater than 0"),
        ("cae_risk", (FIVE, *bounds(9, 0, 1)), r"row 0: maximum \(0.0\) must not be less"),
        ("cae_risk", (FIVE,), "takes values, .* not 1 arguments"),
        ("cae_risk", (FIVE, *bounds(0, 1e15, 1)), "row 0: a domain of 1,000,000,000,000,001 .* is too fine"),
        ("cae_risk", (FIVE, *bounds(0, 1e300, 1e-300)), "row 0: a domain of 1,000,000,.* is too fine"),
        ("cae_candidates", (FIVE, FIVE, *bounds(0, 1e7, 1)), "row 0: a domain of 10,000,001 .* larger step"),
        ("shannon_entropy", (lists([[1], []]),), "row 1: probabilities must not be empty"),
        ("privacy_loss", (FIVE, pa.array([2.5]), pa.array([1])), "row 0: size must be a whole number .* 2.5"),
        ("privacy_loss", (FIVE, pa.array([2]), pa.array([1])), "row 0: no 2 of these values have the sum 1"),
        ("privacy_loss", (FIVE, pa.array([2]), pa.array([math.inf])), "row 0: total must be a finite number"),
        (
            "attribute_disclosure_risk",
            (lists([[1, 2, 3]]), lists([[2, 2]]), lists([[1, 1]])),
            "row 0: sizes make 4 combinations, and there are 3 counts",
        ),
        (
            "attribute_disclosure_risk",
            (lists([[1, 2]]), lists([[1, 2]]), lists([[1, 0.4]])),
            "row 0: the probability of 'attribute 2' must lie between 1/2 and 1, not 0.4",
        ),
        (
            "attribute_disclosure_risk",
            (lists([[1, 2]]), lists([[1, 2]]), lists([[1]])),
            "row 0: there are 2 attributes and 1 probabilities",
        ),
        (
            "attribute_disclosure_risk",
            (lists([[1, -2]]), lists([[1, 2]]), lists([[1, 1]])),
            r"row 0: counts\[1\] is -2; it must be 0 or more",
        ),
        (
            "attribute_disclosure_risk",
            (lists([[0, 0]]), lists([[1, 2]]), lists([[1, 1]])),
            "row 0: counts has no records",
        ),
        (
            "attribute_disclosure_risk",
            (FIVE, lists([[0.5]]), FIVE),
            r"row 0: sizes\[0\] must be a whole number from 1, not 0.5",
        ),
        ("attribute_disclosure_risk", (FIVE, lists([[1]]), FIVE), "row 0: counts need a quasi-identifier"),
        ("attribute_disclosure_risk", (FIVE,), "takes counts, sizes and probabilities, not 1 arguments"),
        ("privacy_loss", (FIVE, pa.array([2])), "takes values, .*size and total, not 2 arguments"),
    ],
)  # fmt: skip
def test_other_bad_arguments_are_named_too(name: str, arguments: tuple[Any, ...], said: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{name}: {said}"):
        getattr(functions, name)(*arguments)


def test_a_row_with_a_null_argument_is_null_whatever_else_is_wrong_with_it() -> None:
    x = lists([[math.nan], [1, None], [50, 107]])
    assert functions.cae_area(x, lists([None, None, [1, 1]])).to_pylist() == [None, None, 57.0]
    assert functions.cae_entropy(x, pa.array([None, None, 0.0])).to_pylist() == [None, None, 1.0]


def test_risk_is_that_of_each_rows_own_domain() -> None:
    rows = [[50.0, 60.0, 70.0], [50.0], [50.0, 250.0], None]
    low, high, step = [10, 50, 10, 10], [250, 50, 250, 250], [10, 10, 5, 10]
    found = functions.cae_risk(lists(rows), pa.array(low), pa.array(high), pa.array(step)).to_pylist()
    wanted = [
        risk_of(row, None, Domain(*domain)).risk
        for row, *domain in zip(rows, low, high, step, strict=True)
        if row
    ]
    assert found == [*(pytest.approx(risk) for risk in wanted), None]


def test_a_value_outside_of_its_own_rows_domain_is_named_and_one_off_by_a_rounding_is_not() -> None:
    rows, high = [[5.0, 50.0], [0.3], [7.0, 11.0]], [50, 0.3, 10]
    x = lists([*rows[:2], None])
    assert functions.cae_risk(x, *bounds(0, 50, 0.1, rows=3)).null_count == 1
    computed = lists([[0.1 + 0.2]])
    assert functions.cae_risk(computed, *bounds(0, 0.3, 0.1)).to_pylist() == [1.0]
    domain = [pa.array([0.0] * 3), pa.array(high), pa.array([0.1] * 3)]
    with pytest.raises(InvalidInput, match=r"^cae_risk: row 2: values\[1\] = 11.0 is outside of the domain"):
        functions.cae_risk(lists(rows), *domain)
    with pytest.raises(InvalidInput, match=r"^cae_risk: row 0: values\[1\] is nan"):
        functions.cae_risk(lists([[99.0, math.nan]]), *bounds(0, 50, 1))


def test_candidates_on_several_domains_are_those_of_each() -> None:
    lower, upper = lists([[10, 20], None, [0]]), lists([[20, 20], [1], [3]])
    domain = [pa.array([10, 10, 0]), pa.array([250, 250, 5]), pa.array([10, 10, 1])]
    found = functions.cae_candidates(lower, upper, *domain).to_pylist()
    assert found[0] == {"values": [10.0, 20.0], "probabilities": [0.25, 0.75]}
    assert found[1] is None
    assert found[2] == {"values": [0.0, 1.0, 2.0, 3.0], "probabilities": [0.25] * 4}


def test_candidates_are_those_of_algorithm_2() -> None:
    salary = Domain(10, 250, 10)
    lower, upper = [[10, 20], [30], None, [53, 10]], [[20, 20], [250], [1], [107, 250]]
    grid = bounds(10, 250, 10, rows=4)
    found = functions.cae_candidates(pa.array(lower), pa.array(upper), *grid).to_pylist()
    assert found[2] is None
    for k in (0, 1, 3):
        values, probabilities = candidates(lower[k] or [], upper[k] or [], salary)
        assert found[k]["values"] == values.tolist()
        assert found[k]["probabilities"] == pytest.approx(probabilities.tolist())


def test_candidates_of_a_bad_interval_name_it() -> None:
    kind = pa.list_(pa.int64())
    for lower, upper, said in (
        ([[20], [30, 40]], [[30], [30, 20]], r"row 1: lower\[1\] = 40.0 is greater than upper\[1\] = 20.0"),
        ([[20], [30]], [[30], [30, 20]], "row 1: lower and upper must have the same length, not 1 and 2"),
        ([[20], []], [[30], []], "row 1: lower must not be empty"),
    ):
        with pytest.raises(InvalidInput, match=f"^cae_candidates: {said}"):
            functions.cae_candidates(
                pa.array(lower, kind), pa.array(upper, kind), *bounds(10, 250, 10, rows=2)
            )


def test_more_candidates_than_can_be_held_are_refused_at_their_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "LARGEST_RESULT", 500)
    lower, upper = lists([[5], *[[0]] * 60]), lists([None, *[[9]] * 60])
    with pytest.raises(InvalidInput, match=r"^cae_candidates: row 51: .* too many candidates to hold"):
        functions.cae_candidates(lower, upper, *bounds(0, 9, 1, rows=61))
    two_kinds = [*bounds(0, 9, rows=61), pa.array([1, 3] * 30 + [1])]
    assert len(functions.cae_candidates(lower, upper, *two_kinds)) == 61
    monkeypatch.setattr(functions, "LARGEST_RESULT", 400)
    with pytest.raises(InvalidInput, match=r"^cae_candidates: row \d+: .* take a larger step"):
        functions.cae_candidates(lower, upper, *two_kinds)


def test_attribute_disclosure_risk_is_that_of_every_record() -> None:
    """Of each record of the frame that the counts stand for, and NULL where there are none."""
    domains = {"sex": ["f", "m"], "ill": ["a", "b", "c"]}
    counts = [[3, 0, 2, 4, 1, 0], [1, 1, 1, 1, 1, 1], None]
    kept = [[0.8, 0.6], [1.0, 1.0], [1.0, 1.0]]
    found = functions.attribute_disclosure_risk(lists(counts), lists([[2, 3]] * 3), lists(kept)).to_pylist()
    assert found[2] is None
    assert found[1] == pytest.approx([1 / 3] * 6)
    cells = [(sex, ill) for sex in "fm" for ill in "abc"]
    rows = [cell for cell, count in zip(cells, counts[0] or [], strict=True) for _ in range(count)]
    frame = pd.DataFrame(rows, columns=list(domains))
    probabilities = dict(zip(domains, kept[0], strict=True))
    risks = attribute_disclosure_risk(frame, ["sex"], "ill", probabilities, domains)
    for cell, value in zip(cells, found[0], strict=True):
        own = risks[[row == cell for row in rows]].tolist()
        assert value is None if not own else own == pytest.approx([value] * len(own))


def test_privacy_loss_is_that_of_each_row() -> None:
    values = lists([[100, 200, 300], [100, 200, 300], None, [0, 1], [0, 1]])
    size, total = pa.array([3, 3, 3, 4, None]), pa.array([600.0, 300.0, 1.0, 2.0, 2.0])
    found = functions.privacy_loss(values, size, total).to_pylist()
    assert found == [
        pytest.approx(privacy_loss([100, 200, 300], 3, 600)),
        pytest.approx(math.log2(3)),
        None,
        pytest.approx(0, abs=1e-15),
        None,
    ]
    weights = lists([[1, 1, 2]])
    weighted = functions.privacy_loss(lists([[100, 200, 300]]), weights, pa.array([3]), pa.array([600]))
    assert weighted.to_pylist() == [pytest.approx(privacy_loss([100, 200, 300], 3, 600, [1, 1, 2]))]


def test_shannon_entropy_is_of_the_weights_alone() -> None:
    column = lists([[1, 1, 2], [0, 5], None, [0.25] * 4])
    assert functions.shannon_entropy(column).to_pylist() == [1.5, 0.0, None, 2.0]


def test_a_list_of_a_hundred_thousand_values_is_measured() -> None:
    column = lists([list(range(100_000)), [1.0]])
    assert functions.cae_entropy(column).to_pylist() == [pytest.approx(math.log2(100_000)), 0.0]
    from cae_sql.measure import uniform_area

    assert functions.cae_area(column).to_pylist() == [pytest.approx(uniform_area(100_000, 1)), 0.0]
