"""Arguments of the wrong kind are one clear error each, in every function that is public."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cae_sql import Domain, InvalidInput, releases
from cae_sql.errors import CaeSqlError

TABLE = pd.DataFrame({
    "sex": list("ffmmmf"), "age": [31, 35, 42, 35, 58, 44], "salary": [50, 60, 50, 90, 70, 60],
})  # fmt: skip
DOMAIN = Domain(10, 100, 10)
KEPT = {"salary": 0.8}
VALUES = {"salary": DOMAIN.values.tolist(), "sex": ["f", "m"], "age": [31, 35, 42, 44, 58]}
COARSE = releases.generalise(TABLE, "salary", ["sex", "age"], 2)
NOISY = releases.add_noise(TABLE, "salary", ["sex"], DOMAIN, 40, 1)
CALLS = {
    "sampled": (TABLE, TABLE, "salary", ["sex"], DOMAIN),
    "perturbed": (TABLE, NOISY, "salary", ["sex"], DOMAIN, 40),
    "add_noise": (TABLE, "salary", ["sex"], DOMAIN, 40, 1),
    "restricted": (TABLE, "salary", ["sex"], DOMAIN, 2, 1),
    "query_sets": (6, 2, 1),
    "answered": (TABLE, "salary", ["sex"], DOMAIN, [[0, 1]]),
    "generalised": (TABLE, COARSE, "salary", ["sex"], DOMAIN),
    "generalise": (TABLE, "salary", ["sex"], 2),
    "randomised": (TABLE, TABLE, "salary", ["sex"], DOMAIN, KEPT, {}),
    "randomise": (TABLE, KEPT, VALUES, 1),
    "anatomise": (TABLE, "salary", 2, 1),
    "draw_sample": (TABLE, 50, 1),
    "attribute_disclosure_risk": (TABLE, ["sex"], "salary", KEPT, VALUES),
    "optimal_probabilities": (TABLE, ["sex"], "salary", VALUES, 0.9),
    "reconstruct": (TABLE, KEPT, VALUES),
    "sums_by_group": (TABLE, "salary", ["sex"], DOMAIN, 1),
    "histograms_by_group": (TABLE, "salary", ["sex"], DOMAIN, 1, 5, 0.9),
    "parameters_by_group": (TABLE, "salary", ["sex"], DOMAIN, 1, 5, 0.9),
    "privacy_loss": ([1, 2], 3, 4),
    "privacy_loss_of_mean": ([1, 2], 3, 1),
    "expected_privacy_loss": ([1, 2], 3),
    "privacy_losses": ([1, 2], 3, [([0, 1], 3)]),
    "record_given_sum": ([1, 2], 3, 4),
    "histogram_risk": ([1, 2, 50], 10, 0.9, 0),
    "mean_risk": ([1, 2, 50], 0.9, 5),
    "parameter_risk": ([[1, 2], [3, 4], [5, 7]],),
}
WRONG = [
    None, 5, "abc", [], [None], object(), float("nan"), {"a": 1}, True, -1, float("inf"), 2**70,
    pd.Series([1, 2]), [1, "a"], b"x", [[1]], {"sex": None}, {"salary": "x"}, ["sex", ["age"]], Domain,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_whatever_is_given_is_used_or_refused_with_our_own_error(name):
    function, good = getattr(releases, name), CALLS[name]
    function(*good)
    refused = 0
    for place in range(len(good)):
        for wrong in WRONG:
            try:
                function(*good[:place], wrong, *good[place + 1 :])
            except CaeSqlError:
                refused += 1
    assert refused >= 10 * len(good)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: releases.sampled(TABLE, TABLE, "salary", None, DOMAIN),
         "known must be a list of columns, not None"),
        (lambda: releases.sampled(TABLE, TABLE, "salary", "sex", DOMAIN),
         r"known must be a list of columns, not one text: \['sex'\]"),
        (lambda: releases.sampled(TABLE, TABLE, "salary", ["sex"], None),
         r"domain must be a Domain\(minimum, maximum, step\), not None"),
        (lambda: releases.sampled(TABLE, TABLE, None, ["sex"], DOMAIN),
         "column must be the name of a column, not None"),
        (lambda: releases.restricted(TABLE, "salary", ["sex"], (10, 100, 10), 2, 1),
         r"domain must be a Domain\(minimum, maximum, step\), not \(10, 100, 10\)"),
        (lambda: releases.randomise(TABLE, KEPT, {"salary": [10.0, float("nan"), 50.0]}, 1),
         r"the domain of 'salary' has a missing value \(nan\)"),
        (lambda: releases.randomise(TABLE, {"sex": 0.9}, {"sex": "fm"}, 1),
         "the domain of 'sex' must be a list of values, not 'fm'"),
        (lambda: releases.randomise(TABLE, ["salary"], VALUES, 1),
         "probabilities must be a mapping such as"),
        (lambda: releases.draw_sample(None, 50, 1), "the original must be a pandas DataFrame, not NoneType"),
        (lambda: releases.answered(TABLE, "salary", [], DOMAIN, None), "queries must be a list, not None"),
    ],
)  # fmt: skip
def test_the_error_says_what_should_have_been_given(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


@pytest.mark.parametrize("counts", [[2**62, 2**62, 2**62], [2**63, 2**63], [10**12, 1]])
def test_a_histogram_of_more_members_than_64_bits_count_is_refused(counts):
    with pytest.raises(InvalidInput, match="counts add up to"):
        releases.histogram_risk(np.array(counts, dtype=np.uint64), 10, 0.9)


def test_the_largest_histograms_have_risks_between_0_and_1():
    found = releases.histogram_risk([10**12 - 3, 2, 1], 10**12, 0.95, bias=10**12)
    assert ((found.risk >= 0) & (found.risk <= 1)).all()
    assert ((found.probability >= 0) & (found.probability <= 1)).all()
    alone = releases.histogram_risk([10**12 - 1, 1], 1, 0.95).probability[1]
    assert alone == pytest.approx(1e-12, rel=1e-6)
