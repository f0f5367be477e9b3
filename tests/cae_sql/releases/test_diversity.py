"""l-diversity by generalisation: against a list of all combinations of rungs, record by record."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql import InvalidInput
from cae_sql.releases.distortion import Distortion
from cae_sql.releases.diversity import ADULT, diversify

DOMAINS = {"school": ["9th", "10th", "Masters", "Doctorate"], "sex": ["f", "m"], "ill": ["a", "b", "c"]}
LADDERS = {"school": [{"9th": "low", "10th": "low"}]}
RECORDS = st.lists(st.sampled_from(list(product(*DOMAINS.values()))), min_size=1, max_size=25)


def climbed(frame: pd.DataFrame, rungs: tuple[int, ...]) -> pd.DataFrame:
    """The records with these rungs: 0 as they are, the last "any"."""
    school = [frame.school, frame.school.replace(LADDERS["school"][0]), pd.Series("any", frame.index)]
    sex = [frame.sex, pd.Series("any", frame.index)]
    return frame.assign(school=school[rungs[0]], sex=sex[rungs[1]])


def entropy(values: pd.Series) -> float:
    shares = values.value_counts(normalize=True).to_numpy()
    return float(-(shares * np.log(shares)).sum())


@pytest.mark.slow
@given(RECORDS, st.integers(2, 3))
def test_of_all_generalisations_that_are_diverse_the_finest_classes_are_taken(records, ell):
    frame = pd.DataFrame(records, columns=list(DOMAINS))
    plain = Distortion.of({}, DOMAINS)
    table = plain.table(plain.codes(frame))
    costs = {}
    for rungs in product(range(3), range(2)):
        classes = climbed(frame, rungs).groupby(["school", "sex"]).ill
        if (classes.agg(entropy) >= np.log(ell) - 1e-12).all():
            costs[rungs] = float((classes.size() ** 2).sum())
    if not costs:
        with pytest.raises(InvalidInput, match=f"no generalisation is entropy {ell}-diverse"):
            diversify(table, ["school", "sex"], DOMAINS, ell, LADDERS)
        return
    found = diversify(table, ["school", "sex"], DOMAINS, ell, LADDERS)
    assert costs[found.rungs] == min(costs.values())
    assert found.estimate.sum() == pytest.approx(1)
    assert found.estimate.sum(axis=(0, 1)) == pytest.approx(table.sum(axis=(0, 1)))


def test_a_class_is_spread_alike_over_the_cells_that_it_covers() -> None:
    frame = pd.DataFrame({"school": ["9th", "10th"], "sex": ["f", "f"], "ill": ["a", "b"]})
    plain = Distortion.of({}, DOMAINS)
    found = diversify(plain.table(plain.codes(frame)), ["school", "sex"], DOMAINS, 2, LADDERS)
    assert found.rungs == (1, 0)
    assert found.estimate[:, 0].tolist() == [[0.25, 0.25, 0]] * 2 + [[0, 0, 0]] * 2
    assert found.estimate[:, 1].sum() == 0


def test_a_column_without_a_ladder_stays_or_becomes_any() -> None:
    table = np.full((4, 1, 3), 1 / 12)
    assert diversify(table, ["school", "sex"], {**DOMAINS, "sex": ["f"]}, 3).rungs == (0, 0)
    apart = np.zeros((4, 1, 3))
    apart[[0, 1], 0, [0, 1]] = 0.5
    assert diversify(apart, ["school", "sex"], {**DOMAINS, "sex": ["f"]}, 2).rungs == (1, 0)


def test_the_ladders_of_adult_name_its_values() -> None:
    assert ADULT["education"][0]["Masters"] == "graduate"
    assert ADULT["education"][1]["Masters"] == "degree"
