"""Pr(S | QI) is what the definitions of paper 004 say, event by event."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql import InvalidInput
from cae_sql.releases import attribute_disclosure_risk, disclosure
from cae_sql.releases.disclosure import Combinations, Watched

DOMAINS = {"sex": ["f", "m"], "zip": [1, 2, 3], "ill": ["a", "b", "c"]}
QUASI = ["sex", "zip"]
CELLS = list(product(*DOMAINS.values()))

frames = st.lists(st.sampled_from(CELLS), min_size=1, max_size=12).map(
    lambda rows: pd.DataFrame(rows, columns=list(DOMAINS))
)
thirds = st.sampled_from([Fraction(1, 3), Fraction(2, 5), Fraction(3, 4), Fraction(1)])
halves = st.sampled_from([Fraction(1, 2), Fraction(3, 5), Fraction(9, 10), Fraction(1)])
probabilities = st.fixed_dictionaries({"sex": halves, "zip": thirds, "ill": thirds})


def moves(names: list[str], kept: dict[str, Fraction], start: tuple[Any, ...]) -> list[tuple[Any, Fraction]]:
    """Every way in which a combination may be reported, and how likely."""
    found = []
    for end in product(*(DOMAINS[name] for name in names)):
        chance = Fraction(1)
        for name, a, b in zip(names, start, end, strict=True):
            chance *= kept[name] if a == b else (1 - kept[name]) / (len(DOMAINS[name]) - 1)
        found.append((end, chance))
    return found


def reconstructed(
    names: list[str], kept: dict[str, Fraction], shares: dict[tuple[Any, ...], Fraction], own: tuple[Any, ...]
) -> Fraction:
    """How likely a combination is reported as something that is then taken for it, by Bayes' rule."""
    reported: dict[Any, Fraction] = defaultdict(Fraction)
    for start, share in shares.items():
        for end, chance in moves(names, kept, start):
            reported[end] += share * chance
    return sum(
        (chance * chance * shares[own] / reported[end] for end, chance in moves(names, kept, own) if chance),
        Fraction(0),
    )


def by_definition(frame: pd.DataFrame, kept: dict[str, Fraction], record: int) -> Fraction:
    """Result 1 for one record, from a list of all events."""
    rows = list(frame.itertuples(index=False, name=None))
    own, value = rows[record][:2], rows[record][2:]
    quasi = {
        key: Fraction(sum(row[:2] == key for row in rows), len(rows)) for key in {row[:2] for row in rows}
    }
    inside = [row[2:] for row in rows if row[:2] == own]
    within = {key: Fraction(inside.count(key), len(inside)) for key in set(inside)}
    return (
        reconstructed(QUASI, kept, quasi, own) * within[value] * reconstructed(["ill"], kept, within, value)
    )


def risks(frame: pd.DataFrame, kept: dict[str, Any]) -> pd.Series:
    numbers = {name: float(p) for name, p in kept.items()}
    return attribute_disclosure_risk(frame, QUASI, "ill", numbers, DOMAINS)


@given(frames, probabilities)
def test_every_records_risk_is_that_of_the_definition(frame: pd.DataFrame, kept: dict[str, Fraction]) -> None:
    exact = [float(by_definition(frame, kept, record)) for record in range(len(frame))]
    assert risks(frame, kept).tolist() == pytest.approx(exact, abs=1e-12)


@given(frames, probabilities, st.sampled_from(list(DOMAINS)), st.floats(0, 1))
def test_distorting_more_never_raises_a_risk(
    frame: pd.DataFrame, kept: dict[str, Fraction], name: str, share: float
) -> None:
    before = {key: float(p) for key, p in kept.items()}
    d = len(DOMAINS[name])
    after = {**before, name: 1 / d + share * (before[name] - 1 / d)}
    assert (risks(frame, after) <= risks(frame, before) + 1e-12).all()


@given(frames)
def test_the_ends_are_those_of_property_1(frame: pd.DataFrame) -> None:
    """Without distortion c(u); RR-QI at p = 1/d gives π(α, u), RR-S c(u)², RR-Both their product."""
    size = frame.groupby(QUASI)["ill"].transform("size")
    same = frame.groupby([*QUASI, "ill"])["ill"].transform("size")
    within, share = same / size, same / len(frame)
    quasi, sensitive = {"sex": 1 / 2, "zip": 1 / 3}, {"ill": 1 / 3}
    assert risks(frame, {}).to_numpy() == pytest.approx(within.to_numpy())
    assert risks(frame, quasi).to_numpy() == pytest.approx(share.to_numpy())
    assert risks(frame, sensitive).to_numpy() == pytest.approx((within**2).to_numpy())
    assert risks(frame, quasi | sensitive).to_numpy() == pytest.approx((share * within).to_numpy())


def test_the_papers_example_has_its_minimum() -> None:
    """Figure 2b: 12 of 100 persons are female with cancer; with p = 1/2 for gender the risk is 0.12."""
    frame = pd.DataFrame(
        [("f", "cancer")] * 12 + [("f", "flu")] * 30 + [("m", "cancer")] * 18 + [("m", "flu")] * 40,
        columns=["gender", "disease"],
    )
    domains = {"gender": ["f", "m"], "disease": ["cancer", "flu", "hiv"]}
    found = attribute_disclosure_risk(frame, ["gender"], "disease", {"gender": 0.5}, domains)
    assert found.iloc[0] == pytest.approx(0.12)


@given(
    frames, st.lists(st.floats(0.05, 0.99), min_size=3, max_size=3), st.sets(st.integers(0, 2), min_size=1)
)
def test_slopes_are_those_of_the_risks(frame: pd.DataFrame, given_r: list[float], chosen: set[int]) -> None:
    r = [each if axis in chosen else 1.0 for axis, each in enumerate(given_r)]
    check_slopes(frame, r, sorted(chosen))


@given(frames, st.lists(st.floats(0.05, 0.99), min_size=3, max_size=3), st.integers(0, 2))
def test_at_retention_1_slopes_are_those_from_below(
    frame: pd.DataFrame, given_r: list[float], axis: int
) -> None:
    """Of one attribute: where several are at 1, it depends on which leaves first."""
    check_slopes(frame, [*given_r[:axis], 1.0, *given_r[axis + 1 :]], [axis])


def check_slopes(frame: pd.DataFrame, r: list[float], chosen: list[int]) -> None:
    """Against differences of the risks themselves."""
    codes = np.array([[DOMAINS[name].index(value) for value in frame[name]] for name in DOMAINS])
    found = Combinations.read(codes, (2, 3, 3))
    flat = np.unique(found.places(codes))
    logs, slopes = Watched(found, flat, np.array(chosen)).at(r)
    assert logs == pytest.approx(np.log(found.risks(r).ravel()[flat]), abs=1e-8)
    for place, axis in enumerate(chosen):
        low, high = list(r), list(r)
        low[axis], high[axis] = r[axis] - 1e-6, min(1.0, r[axis] + 1e-6)
        rise = np.log(found.risks(high).ravel()[flat]) - np.log(found.risks(low).ravel()[flat])
        assert slopes[:, place] == pytest.approx(rise / (high[axis] - low[axis]), rel=1e-3, abs=1e-4)


def test_cells_in_blocks_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = np.random.default_rng(1).integers(0, [[2], [3], [3]], (3, 20))
    found = Combinations.read(codes, (2, 3, 3))
    flat, r = np.unique(found.places(codes)), [0.7, 0.4, 0.6]
    whole = Watched(found, flat, np.arange(3)).at(r)
    monkeypatch.setattr(disclosure, "_AT_ONCE", 4 * 2 * len(flat))
    for a, b in zip(whole, Watched(found, flat, np.arange(3)).at(r), strict=True):
        assert a == pytest.approx(b, abs=1e-12)


@given(frames, probabilities, st.sets(st.integers(0, 2)))
def test_no_distortion_goes_below_the_least(
    frame: pd.DataFrame, kept: dict[str, Fraction], chosen: set[int]
) -> None:
    codes = np.array([[DOMAINS[name].index(value) for value in frame[name]] for name in DOMAINS])
    found = Combinations.read(codes, (2, 3, 3))
    r = [
        float((d * kept[name] - 1) / (d - 1)) if axis in chosen else 1.0
        for axis, (name, d) in enumerate(zip(DOMAINS, (2, 3, 3), strict=True))
    ]
    assert (found.least(chosen) <= found.risks(r) + 1e-12).all()


def test_risks_have_the_frames_index_whatever_the_order() -> None:
    frame = pd.DataFrame(CELLS[:7], columns=list(DOMAINS), index=list("gfedcba"))
    kept = {"sex": 0.8, "zip": 0.7, "ill": 0.6}
    shuffled = frame.sample(frac=1, random_state=1)
    pd.testing.assert_series_equal(risks(frame, kept)[shuffled.index], risks(shuffled, kept))


def test_too_many_combinations_are_one_clear_error() -> None:
    frame = pd.DataFrame({"sex": [1], "zip": [1], "ill": [1]})
    wide = dict.fromkeys(frame, range(300))
    with pytest.raises(InvalidInput, match="27,000,000 combinations of values, more than 20,000,000"):
        attribute_disclosure_risk(frame, QUASI, "ill", {}, wide)


@pytest.mark.parametrize(
    ("quasi", "sensitive", "kept", "told"),
    [
        ([], "ill", {}, "at least one column"),
        ("sex", "ill", {}, "must be a list"),
        (["sex", "ill"], "ill", {}, "among the quasi-identifiers"),
        (["sex", "sex"], "ill", {}, "named twice"),
        (["sex"], "ill", {"zip": 0.5}, "a probability for 'zip', which is neither of"),
        (["sex", "age"], "ill", {}, "no domain for 'age'"),
        (["sex"], "ill", {"sex": 0.4}, "between 1/2 and 1"),
    ],
)
def test_bad_input_is_one_clear_error(quasi: Any, sensitive: str, kept: dict[str, float], told: str) -> None:
    frame = pd.DataFrame(CELLS, columns=list(DOMAINS))
    with pytest.raises(InvalidInput, match=told):
        attribute_disclosure_risk(frame, quasi, sensitive, kept, DOMAINS)
