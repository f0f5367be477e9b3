"""Theorems about all techniques: what is believed of a class is the mixture of what is believed of its parts.

So, H(ε) and the area being concave in the distribution, whoever knows more columns has on average over the
records no more left to guess. Noise is no such mixture: there it need not hold.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.releases import generalised_beliefs, restricted_beliefs, sampled_beliefs
from cae_sql.releases.beliefs import Beliefs
from tests.cae_sql.releases.small_tables import DOMAIN, tables


def by_sample(table: pd.DataFrame, known: list[str], seed: int) -> Beliefs:
    taken = np.random.default_rng(seed).random(len(table)) < 0.5
    return sampled_beliefs(table, table[taken], "pay", known, DOMAIN)


def by_sums(table: pd.DataFrame, known: list[str], seed: int) -> Beliefs:
    return restricted_beliefs(table, "pay", known, DOMAIN, 2, seed)


def by_classes(table: pd.DataFrame, known: list[str], seed: int) -> Beliefs:
    coarse = table.assign(age=np.where(table.age < 30 + seed % 4, "<" + str(30 + seed % 4), "30-33"))
    return generalised_beliefs(table, coarse, "pay", known, DOMAIN)


@pytest.mark.parametrize("believe", [by_sample, by_sums, by_classes])
@pytest.mark.parametrize("known", [[], ["age"], ["job"]])
@given(tables(), st.integers(0, 1000))
def test_knowing_more_leaves_no_more_to_guess_on_average_over_the_records(believe, known, table, seed):
    if len(table) < 2:
        return
    coarse, fine = believe(table, known, seed), believe(table, ["age", "job"], seed)
    before, after = coarse.frame(epsilon=10), fine.frame(epsilon=10)
    of = [
        next(k for k in range(len(before)) if all(before[name][k] == part[name] for name in known))
        for _, part in fine.known.iterrows()
    ]
    for k in range(len(before)):
        parts = np.flatnonzero(np.array(of) == k)
        share = fine.matches[parts] / coarse.matches[k]
        assert coarse.probabilities[k] == pytest.approx(share @ fine.probabilities[parts], abs=1e-12)
        for measure in ("initial_entropy", "entropy_at_epsilon", "area"):
            assert share @ after[measure].to_numpy()[parts] <= before[measure][k] + 1e-9
