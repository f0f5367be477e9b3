"""The paper's experiment: the same figures as one release at a time, and averages as stated."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from cae_sql import Domain, InvalidInput
from cae_sql.releases import perturbed_beliefs, restricted_beliefs, sampled_beliefs
from cae_sql.releases.attributes import attribute_of
from cae_sql.releases.beliefs import measured
from cae_sql.releases.experiment import Parameters, Release, averages, beliefs, prepare, run
from cae_sql.releases.noise import drawn as noise_drawn
from cae_sql.releases.sampling import drawn

SALARY = Domain(10, 250, 10)
PUBLIC = ["age", "sex", "education", "industry", "occupation", "travel_time"]
FEW = Parameters(sampling=(10, 50), query_set_sizes=(4,), noise=(50,))


def staff(size: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame({
        "pay": rng.choice(SALARY.values, size),
        "age": rng.integers(30, 40, size),
        "job": rng.choice(["cook", "nurse", "smith"], size),
        "town": rng.choice(["a", "b"], size),
    })  # fmt: skip


@pytest.fixture(scope="module")
def prepared():
    return prepare(staff(), "pay", ["age", "job", "town"], SALARY)


def each_subset(release, prepared):
    """What is believed after a release, by the names of the known columns."""
    names = [attribute.name for attribute in prepared.public]
    found = beliefs(prepared, release, seed=3)
    return {tuple(names[k] for k in known.columns): p for known, p in zip(prepared.known, found, strict=True)}


def test_every_subset_of_the_public_columns_is_there(prepared):
    found = each_subset(Release("sampling", 50, 0), prepared)
    assert set(found) == {s for size in range(4) for s in combinations(("age", "job", "town"), size)}


def test_after_a_sample_the_beliefs_are_those_of_sampled(prepared):
    release = Release("sampling", 50, 2)
    table = staff()
    sample = table.iloc[drawn(len(table), 50, release.seed(3))]
    for known, found in each_subset(release, prepared).items():
        expected = sampled_beliefs(table, sample, "pay", known, SALARY)
        assert found == pytest.approx(expected.probabilities, abs=1e-12)


def test_after_sums_the_beliefs_are_those_of_restricted(prepared):
    release = Release("query restriction", 8, 1)
    for known, found in each_subset(release, prepared).items():
        expected = restricted_beliefs(staff(), "pay", known, SALARY, 8, release.seed(3))
        assert found == pytest.approx(expected.probabilities, abs=1e-12)


def test_a_domain_that_ends_between_two_steps_is_taken_as_restricted_takes_it():
    wide = Domain(10, 255, 10)
    prepared = prepare(staff(), "pay", ["age", "job", "town"], wide)
    release = Release("query restriction", 2, 1)
    for known, found in each_subset(release, prepared).items():
        expected = restricted_beliefs(staff(), "pay", known, wide, 2, release.seed(3))
        assert found == pytest.approx(expected.probabilities, abs=1e-12)


def test_after_noise_the_beliefs_are_those_of_perturbed(prepared):
    release = Release("noise addition", 50, 1)
    table, rng = staff(), np.random.default_rng(release.seed(3))
    released = pd.DataFrame({"pay": table.pay + 10 * noise_drawn(60, 12, rng)})
    for name in ("age", "job", "town"):
        attribute = attribute_of(table, name)
        places = attribute.places(table[name], "it") + noise_drawn(60, attribute.largest_noise(50), rng)
        released[name] = attribute.values(places)
    for known, found in each_subset(release, prepared).items():
        expected = perturbed_beliefs(table, released, "pay", known, SALARY, 50)
        assert found == pytest.approx(expected.probabilities, abs=1e-12)


def test_all_candidate_distributions_sum_to_1(prepared):
    for technique, parameter in (("sampling", 5), ("query restriction", 2), ("noise addition", 25)):
        for p in each_subset(Release(technique, parameter, 0), prepared).values():
            assert p.sum(axis=1) == pytest.approx(1)
            assert (p >= 0).all()


def test_a_row_of_the_runs_is_the_mean_over_the_combinations_and_over_the_records(prepared):
    runs = run(prepared, FEW, repetitions=2, seed=3)
    row = runs[
        (runs.technique == "sampling") & (runs.parameter == 10) & (runs.known_columns == "age, job")
    ].iloc[1]
    p = each_subset(Release("sampling", 10, 1), prepared)["age", "job"]
    matches = staff().groupby(["age", "job"]).size().to_numpy()
    figures = measured(p, SALARY)
    assert row.combinations == len(matches)
    assert row.initial_entropy == pytest.approx(figures.initial_entropy.mean())
    assert row.area == pytest.approx(figures.area.mean())
    assert row.area_by_record == pytest.approx(np.average(figures.area, weights=matches))


def test_averages_count_every_combination_of_every_subset_once(prepared):
    runs = run(prepared, FEW, repetitions=3, seed=3)
    points = averages(runs)
    assert len(points) == 4 * 4
    for _, point in points.iterrows():
        part = runs[(runs.technique == point.technique) & (runs.parameter == point.parameter)]
        part = part[part.known == point.known]
        assert point.initial_entropy == pytest.approx(
            np.average(part.initial_entropy, weights=part.combinations)
        )
        assert point.area_by_subset == pytest.approx(part.area.mean())
        assert point.combinations * 3 == part.combinations.sum()
        assert point.subsets * 3 == len(part)


def test_the_seed_decides_and_neither_threads_nor_other_parameters_do(prepared):
    runs = run(prepared, FEW, repetitions=2, seed=3)
    assert runs.equals(run(prepared, FEW, repetitions=2, seed=3, jobs=2))
    alone = run(prepared, Parameters((50,), (), ()), repetitions=1, seed=3)
    same = runs[(runs.technique == "sampling") & (runs.parameter == 50) & (runs.repetition == 0)]
    assert alone.equals(same.reset_index(drop=True))
    assert not runs.equals(run(prepared, FEW, repetitions=2, seed=4))


def test_each_repetition_is_a_release_of_its_own(prepared):
    runs = run(prepared, FEW, repetitions=4, seed=3)
    all_known = runs[runs.known == 3]
    assert (all_known.groupby(["technique", "parameter"]).area.nunique() == 4).all()


def test_progress_reaches_the_end(prepared):
    seen = []
    run(prepared, FEW, repetitions=2, seed=3, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(k, 8) for k in range(1, 9)]


def test_subsets_can_be_limited_and_too_many_are_an_error():
    table = pd.DataFrame({f"c{k}": [k, 1] for k in range(20)} | {"pay": [10, 20]})
    public = [f"c{k}" for k in range(20)]
    with pytest.raises(InvalidInput, match="20 public columns have 1,048,576 subsets, more than 5,000"):
        prepare(table, "pay", public, SALARY)
    sizes = [len(known.columns) for known in prepare(table, "pay", public, SALARY, most_subsets=3).known]
    assert sizes == [0, *(size for size in range(1, 20) for _ in range(3)), 20]


@pytest.mark.parametrize(
    ("parameters", "repetitions", "jobs", "message"),
    [
        (Parameters((101,), (), ()), 1, 1, "percent must lie between 0 and 100"),
        (Parameters((), (3,), ()), 1, 1, "query_set_size must be even"),
        (Parameters((), (62,), ()), 1, 1, "query_set_size is 62, but there are 60 records"),
        (Parameters((), (), (-5,)), 1, 1, "a parameter of noise addition must be 0 or more"),
        (Parameters((), (), ()), 1, 1, "there is nothing to do"),
        (FEW, 0, 1, "repetitions and jobs must be at least 1"),
        (FEW, 1, 0, "repetitions and jobs must be at least 1"),
    ],
)
def test_parameters_that_cannot_be_are_an_error(prepared, parameters, repetitions, jobs, message):
    with pytest.raises(InvalidInput, match=message):
        run(prepared, parameters, repetitions, jobs=jobs)
