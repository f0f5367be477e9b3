"""Groups at hand: the same beliefs as a release of equivalence classes has, by another way."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql import Domain, InvalidInput, releases
from cae_sql.releases.groups import grouped_beliefs

SALARY = Domain(10, 60, 10)
RECORDS = st.lists(
    st.tuples(st.sampled_from([10, 20, 30, 60]), st.sampled_from(["f", "m"]), st.integers(0, 4)),
    min_size=1,
    max_size=30,
)


@given(RECORDS, st.sampled_from([[], ["sex"], ["sex", "group"]]))
def test_the_beliefs_are_those_of_generalisation_with_a_group(records, known):
    table = pd.DataFrame(records, columns=["salary", "sex", "group"])
    group = pd.factorize(table.group)[0]
    found = grouped_beliefs(table, group, "salary", known, SALARY)
    expected = releases.generalised_beliefs(
        table, table[["group", "salary"]], "salary", known, SALARY, group="group"
    )
    assert found.probabilities == pytest.approx(expected.probabilities)
    assert found.matches.tolist() == expected.matches.tolist()
    assert found.known.to_numpy().tolist() == expected.known.to_numpy().tolist()


def test_groups_of_other_records_are_an_error():
    table = pd.DataFrame({"salary": [10, 20]})
    with pytest.raises(InvalidInput, match="groups of 3 records, and 2 records"):
        grouped_beliefs(table, np.array([0, 0, 1]), "salary", [], SALARY)
