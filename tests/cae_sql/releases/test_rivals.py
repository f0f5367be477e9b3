"""Paper 004's figures on small tables: averages of what each release gives, no point where none can be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cae_sql import InvalidInput
from cae_sql.releases import anatomise, optimal_probabilities, randomise, reconstruct
from cae_sql.releases.anatomy import anatomy_estimate
from cae_sql.releases.rivals import SIZES, Study, cases, measured, original, rivals, run, sizes
from cae_sql.releases.utility import cube_error, distances, uncertainty_coefficient

SEEDS = (3, 4)


def a_study(seed: int = 1, records: int = 400, **columns: object) -> Study:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"sex": random.choice(["f", "m"], records), "zip": random.integers(1, 4, records)})
    shift = (frame.sex == "f").to_numpy() * 1
    frame["ill"] = (random.choice(4, records, p=[0.4, 0.3, 0.2, 0.1]) + shift) % 4
    return Study("small", frame.assign(**columns), ("sex", "zip"), "ill")


def test_what_is_measured_of_randomised_response_is_the_mean_over_its_releases() -> None:
    study = a_study()
    found = {each.technique: each for each in rivals(study, 2, SEEDS)}
    best = optimal_probabilities(study.frame, study.quasi, "ill", study.domains, 1 / 2, study.quasi)
    releases = [randomise(study.frame, best.probabilities, study.domains, seed) for seed in SEEDS]
    tables = [reconstruct(each, best.probabilities, study.domains) for each in releases]
    for name, estimates in (
        ("RR-QI", [each.proportions for each in tables]),
        ("RR-QI, projected", [each.projected for each in tables]),
    ):
        each = [distances(study.table, estimate, 400) for estimate in estimates]
        assert found[name].euclidean == pytest.approx(np.mean([one.euclidean for one in each]))
        assert found[name].chi_squared == pytest.approx(np.mean([one.chi_squared for one in each]))
        errors = [cube_error(study.table, estimate) for estimate in estimates]
        assert found[name].cube_error == pytest.approx(np.mean(errors))
        assert (found[name].releases, found[name].records) == (2, 400)


def test_what_is_measured_of_anatomy_is_the_mean_over_its_groups() -> None:
    study = a_study()
    (found,) = [each for each in rivals(study, 2, SEEDS) if each.technique == "anatomy"]
    groups = [anatomise(study.frame, "ill", 2, seed) for seed in SEEDS]
    tables = [anatomy_estimate(study.frame, group, study.plain) for group in groups]
    pairs = [[100 * uncertainty_coefficient(table.sum(axis=1 - axis)) for axis in (0, 1)] for table in tables]
    assert found.uncertainty["sex, ill"] == pytest.approx(np.mean(pairs, axis=0)[0])
    assert found.uncertainty_sensitive == pytest.approx(np.mean(pairs))
    assert found.uncertainty_quasi == pytest.approx(original(study).uncertainty["sex, zip"])


def test_a_technique_that_cannot_keep_a_limit_has_no_point() -> None:
    """One person alone: RR-S never suffices; six in ten have one value: no groups, and no classes, of 2."""
    study = a_study()
    frame = pd.concat([study.frame, pd.DataFrame({"sex": ["x"], "zip": [9], "ill": [0]})], ignore_index=True)
    alone = Study("alone", frame, study.quasi, "ill")
    assert [each.technique for each in cases(alone, 2, SEEDS)] == ["RR-QI", "RR-Both"]
    skewed = a_study(ill=[0] * 240 + [1, 2] * 80)
    assert {each.technique for each in rivals(skewed, 2, SEEDS)} == {
        "RR-QI",
        "RR-QI, projected",
        "l-diversity",
    }
    same = a_study(ill=1)
    assert {each.technique for each in rivals(same, 2, SEEDS)} == {"RR-QI", "RR-QI, projected"}


@pytest.mark.parametrize("share", SIZES)
def test_tables_of_other_sizes_have_the_same_proportions(share: float) -> None:
    study = a_study()
    other = study.resized(share)
    assert len(other.frame) == 400 * share
    assert np.abs(other.table - study.table).max() <= 1 / len(other.frame)
    (found,) = sizes(study, 2, share, SEEDS)
    assert found.records == 400 * share


def test_the_original_is_no_distance_from_itself() -> None:
    found = original(a_study())
    assert (found.euclidean, found.total_variation, found.group_by_error, found.cube_error) == (0, 0, 0, 0)


def test_with_one_quasi_identifier_there_is_no_association_among_them() -> None:
    study = a_study()
    alone = Study("one", study.frame, ("sex",), "ill")
    assert np.isnan(measured(alone, "x", 2, [alone.table], 400).uncertainty_quasi)


@pytest.mark.slow
def test_all_figures_are_tables_and_the_same_seeds_give_the_same() -> None:
    told: list[tuple[int, int]] = []
    found = run(a_study(), a_study(2), [2, 3], SEEDS, lambda done, total: told.append((done, total)))
    again = run(a_study(), a_study(2), [2, 3], SEEDS)
    assert told == [(done, 15) for done in range(1, 16)]
    for name in ("averages", "uncertainties", "probabilities"):
        pd.testing.assert_frame_equal(getattr(found, name), getattr(again, name))
    averages = found.averages.set_index(["figure", "technique", "l", "size"])
    assert averages.loc["4", "RR-Both", 3, 2.5].records == 1_000
    assert set(averages.loc["5 to 7"].index.get_level_values("technique")) == {
        "original", "RR-QI", "RR-QI, projected", "anatomy", "l-diversity"
    }  # fmt: skip
    at_most = found.probabilities.risk * found.probabilities.l
    assert (at_most <= 1).all()
    rows = found.uncertainties.query("technique == 'original'")
    assert rows[["first", "second"]].to_numpy().tolist() == [["sex", "zip"], ["sex", "ill"], ["zip", "ill"]]


@pytest.mark.parametrize(
    ("ells", "seeds", "told"),
    [
        ([], SEEDS, "there is nothing to do"),
        ([2], (), "there is nothing to do"),
        ([1], SEEDS, "l must be a whole number from 2, not 1"),
        ([2.5], SEEDS, "l must be a whole number from 2, not 2.5"),
    ],
)
def test_bad_parameters_are_one_clear_error(ells: list[int], seeds: tuple[int, ...], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        run(a_study(), a_study(), ells, seeds)


def test_a_bad_table_is_one_clear_error_and_not_a_missing_point() -> None:
    study = a_study()
    with pytest.raises(InvalidInput, match="the table has no column 'wage'"):
        Study("x", study.frame, ("sex",), "wage")
    with pytest.raises(InvalidInput, match="sensitive column 'sex' is among the quasi-identifiers"):
        Study("x", study.frame, ("sex",), "sex")
    gap = study.frame.astype({"ill": object})
    gap.loc[5, "ill"] = None
    with pytest.raises(InvalidInput, match="no value of 'ill' in row 5"):
        cases(Study("x", gap, ("sex", "zip"), "ill"), 2, SEEDS)
