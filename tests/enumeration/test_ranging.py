"""Ranges at the gate, held against all tables: nobody is located, and what is told hangs on no table.

Exclusion to everybody and to an insider with whatever value, truth, repetition and what other tables are
told. Most of it is about deviations and weighted sums, which hang on every member.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest

from auditor.deciding.cells import Cells
from auditor.deciding.statistics import StatisticLadder
from auditor.told import Told
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.system import AnsweredSystem

from .ranging import (
    Ask,
    Ranged,
    Ranging,
    Said,
    conversation,
    persons_at_random,
    ranging_at_random,
    vernier_at_random,
)
from .stars import Star, star_at_random

SEED = 20
FEW = (4, 6, 9)
"""Scenarios with ranges of deviations and weighted sums among them, with an insider and without."""


def told(rangings: Iterable[Ranging], others: int) -> Counter[str]:
    """What was told in them, by kind: none with a finding."""
    found = Counter[str]()
    for ranging in rangings:
        play = Ranged(ranging, others)
        assert not list(play.findings()), ranging
        found.update(play.told)
    return found


def of_all(kinds: Counter[str]) -> dict[str, int]:
    """How many of those that hang on every member."""
    return {kind: sum(n for name, n in kinds.items() if kind in name) for kind in ("weighted", "spread")}


def test_ranges_leave_everybody_the_limit_and_hang_on_no_table() -> None:
    kinds = told((ranging_at_random(SEED, number, payers=0) for number in FEW), others=1)
    assert min(of_all(kinds).values()) >= 1, kinds


@pytest.mark.slow
@pytest.mark.parametrize("payers", [0, 6])
def test_many_ranges_leave_everybody_the_limit_and_hang_on_no_table(payers: int) -> None:
    kinds = told((ranging_at_random(SEED, number, payers=payers) for number in range(23)), others=1)
    assert min(of_all(kinds).values()) >= 1, kinds


@pytest.mark.slow
def test_ranges_that_large_crowds_keep_by_a_margin_leave_everybody_the_limit() -> None:
    kinds = told((ranging_at_random(21, number, large=True) for number in range(6)), others=1)
    assert kinds["weighted between"] >= 5, kinds
    assert of_all(kinds)["spread"], kinds


@pytest.mark.slow
@pytest.mark.parametrize("payers", [0, 6])
def test_the_same_sum_with_other_weights_of_somebody_tells_too_little_of_him(payers: int) -> None:
    kinds = told((vernier_at_random(1, number, payers) for number in range(8)), others=1)
    assert of_all(kinds)["weighted"] >= 4, kinds


@pytest.mark.slow
def test_hundreds_of_ranges_of_random_people_leave_everybody_the_limit() -> None:
    kinds = told([persons_at_random(1, 0, 80), persons_at_random(1, 1, 80)], others=1)
    assert kinds, kinds


@pytest.mark.slow
def test_ranges_by_what_is_likely_hang_on_no_table() -> None:
    kinds = told((ranging_at_random(SEED, number, "posterior") for number in range(4)), others=1)
    assert kinds, kinds


@pytest.mark.slow
@pytest.mark.parametrize("insiders", [0, 1])
def test_of_two_in_every_set_ranges_make_no_more_likely_than_the_limit(insiders: int) -> None:
    """Values drawn as the gate takes them to be; beside what is said of the crowds that they are in."""
    facts = 0
    for number in range(200, 210):
        ranging = star_at_random(SEED, number, crowds=6, form="mixed", even=True)
        if ranging.insiders != insiders:
            continue
        star = Star(ranging)
        alone, to_insider = star.worst()
        facts += star.facts
        assert alone.risk <= ranging.risk, (ranging, alone)
        assert to_insider is None or to_insider.risk <= ranging.risk, (ranging, to_insider)
    assert facts > 10


@pytest.mark.parametrize("weight", [4, 6])
def test_a_low_range_does_not_make_it_likely_that_who_weighs_most_has_little(weight: int) -> None:
    """Six times as much as each of 150 others, most of whom have the least value: he is believed to have it,
    with an exact risk of 0.92 beside the others, where the range is told, whose width alone was weighed."""
    crowd = np.random.default_rng(1).choice(3, 150, p=[0.7, 0.2, 0.1])
    truth, asks = (2, *crowd.tolist()), (Ask("SUM(v * w)", (0, 1), True),)
    play = Ranged(Ranging((1, 150), (weight, 1), (0, 1, 2), truth, asks, 1, "posterior"), 0)
    assert not list(play.findings())
    assert bool(play.told) == (weight == 4)
    for _, beside_the_members, _ in play.likely:
        assert beside_the_members <= play.ranging.risk, play.told


def test_a_refusal_does_not_say_that_the_true_value_lies_in_the_last_cell() -> None:
    """Of one who counts six times beside 150 others "at most 191" was told, or else nothing."""
    said = list[Said]()
    for p in ([0.7, 0.2, 0.1], [0.2, 0.3, 0.5]):
        truth = (2, *np.random.default_rng(1).choice(3, 150, p=p).tolist())
        asks = (Ask("SUM(v * w)", (0, 1), True),)
        said += conversation(Ranging((1, 150), (6, 1), (0, 1, 2), truth, asks, 1, "posterior"))
    low, high = said
    assert not low.surprises
    assert not high.surprises
    assert low.code == high.code


@pytest.mark.slow
@pytest.mark.parametrize("insiders", [0, 1])
@pytest.mark.parametrize("reopened", [-1, 3])
def test_a_weighted_range_is_kept_where_extremes_leave_everybody_near_already(
    insiders: int, reopened: int
) -> None:
    """MIN 1, MAX 2, one who weighs six, then everybody else's sum: together they would name his value."""
    truth = (*[1] * 58, *[2] * 62, 1, *range(5), *[4, 0, 1, 2, 3])
    everybody, weighted = (0, 1), Ask("SUM(v * w)", (0, 1), True, (1, 6, 1))
    asks = (
        Ask("MIN(v)", everybody, False), Ask("MAX(v)", everybody, False), weighted,
        Ask("SUM(v)", (0,), False), Ask("SUM(v)", (0,), True),
    )  # fmt: skip
    for order in (asks, (weighted, *asks[:2], *asks[3:])):
        classes, values = (120, 1, 10), (0, 1, 2, 3, 4)
        ranging = Ranging(classes, (1, 1, 1), values, truth, order, insiders, risk=0.83, reopened=reopened)
        ends = {known.asked: known.ends for said in conversation(ranging) for known in said.known}
        of_all, of_crowd = (ends.get(kind, Told(None, None)) for kind in ("weighted", "sum"))
        crowd = range(
            120 if of_crowd.least is None else int(of_crowd.least),
            241 if of_crowd.most is None else int(of_crowd.most) + 1,
        )
        left = {
            value
            for value in (1, 2)
            for rest in crowd
            if (of_all.least is None or of_all.least <= rest + 6 * value)
            and (of_all.most is None or rest + 6 * value <= of_all.most)
        }
        assert left == {1, 2}, ends


# Each check notices what it is there for


def kinds(ranging: Ranging, others: int = 0) -> set[str]:
    return {finding.what for finding in Ranged(ranging, others).findings()}


def test_a_gate_that_forgets_ranges_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AnsweredSystem, "accept_range", lambda *_: None)
    assert kinds(vernier_at_random(1, 34, 0)) == {"limit"}


@pytest.mark.slow
def test_a_refusal_that_looked_at_the_true_answer_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = StatisticLadder.narrowest

    def peeping(self: StatisticLadder, allowance: Allowance) -> Cells | None:
        odd = self.case.truth([self.query])[0] % 2
        return None if odd else honest(self, allowance)

    monkeypatch.setattr(StatisticLadder, "narrowest", peeping)
    truth = np.random.default_rng(0).integers(0, 2, 40)
    asks = tuple(Ask(f"COUNT_IF(v >= {limit})", (0,), True) for limit in (1, 1))
    asked = Ranging((40,), (1,), (0, 1), tuple(truth.tolist()), asks)
    assert "refusal" in kinds(asked, others=6)
