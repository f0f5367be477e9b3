"""A pool's worlds agree with every answer, whatever was answered, and are spread as chance says."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from cae_sql import AnsweredSystem
from cae_sql.errors import OutOfTime
from cae_sql.inference import system as systems
from cae_sql.inference import system_state
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.standard import Standard
from cae_sql.inference.tables.mixing import along
from cae_sql.inference.tables.pool import Pool
from cae_sql.inference.tables.priors import Prior
from tests.cae_sql.inference.told import Ints, Told, told_at_random, values_at_random
from tests.quick import rounds, some


@pytest.fixture
def crowds_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small systems, too, keep their worlds as a large pool."""
    monkeypatch.setattr(systems, "SMALL", 1)
    monkeypatch.setattr(system_state, "MOST_SEARCHED", 1)


def reopened(told: Told, pool: int = 4, prior: Prior | None = None) -> AnsweredSystem:
    """As a gate that reads its ledger: answers alone, nothing of what questions made of them."""
    system = AnsweredSystem(told.size, 0, told.top, 1, pool=pool, prior=prior)
    system.accept([q.answered(v) for q, v in zip(told.queries, told.values, strict=True)])
    return system


def worlds_of(system: AnsweredSystem) -> Ints:
    pool = system.pool()
    assert isinstance(pool, Pool)
    if not system.roomy_table.usable:
        with pytest.raises(OutOfTime):  # said, not hidden; and a gate refuses then
            system.worlds(1)
        raise OutOfTime("no world was found")
    return pool.values.astype(np.int64)


def unlikely_above(top: int) -> Prior:
    """Small values are likelier; none above half of the domain."""
    odds = np.where(np.arange(top + 1) <= top // 2, 2.0 ** -np.minimum(np.arange(top + 1), 40), 0.0)
    odds /= odds.sum()
    return Prior.of(lambda count, seed: np.random.default_rng(seed).choice(top + 1, count, p=odds), odds)


@pytest.mark.usefixtures("crowds_only")
@pytest.mark.parametrize("top", some([1, 2, 7, 100, 200, 10**9], 2))
def test_every_world_agrees_with_every_answer(top: int) -> None:
    rng, agreed = np.random.default_rng(top), 0
    for turn in range(rounds(30)):
        told = told_at_random(rng, int(rng.integers(5, 80)), top, int(rng.integers(1, 8)))
        prior = unlikely_above(top) if turn % 3 == 0 and top < 1000 else None
        try:
            worlds = worlds_of(reopened(told, prior=prior))
        except OutOfTime:
            continue
        agreed += 1
        for world in worlds:
            assert not told.disagrees(world)
    assert agreed > rounds(15)


@pytest.mark.slow
@pytest.mark.usefixtures("crowds_only")
@pytest.mark.parametrize("top", [120, 10**9])
def test_answers_that_move_everything_are_agreed_with(top: int) -> None:
    """Skewed values are far from the even ones that worlds begin with."""
    rng = np.random.default_rng(top)
    truth = np.minimum((rng.lognormal(0, 1, 3_000) * top / 40).astype(np.int64), top)
    told = Told(truth, top)
    told.ask("sum", np.arange(3_000))
    for _ in range(12):
        first = int(rng.integers(0, 2_000))
        told.ask("sum", np.arange(first, first + int(rng.integers(200, 1_000))))
    for kind in ("max", "min"):
        told.ask(kind, np.arange(500, 2_500))
    for world in worlds_of(reopened(told)):
        assert not told.disagrees(world)


@pytest.mark.slow
def test_twenty_thousand_records_and_sixty_range_queries_are_agreed_with() -> None:
    rng, size = np.random.default_rng(7), 20_000
    columns = rng.integers(0, 100, (4, size))
    told = Told(values_at_random(rng, size, 120), 120)
    for _ in range(60):
        inside = np.ones(size, dtype=np.bool_)
        for column in rng.choice(4, int(rng.integers(1, 3)), replace=False):
            first = int(rng.integers(0, 60))
            inside &= (columns[column] >= first) & (columns[column] < first + int(rng.integers(10, 40)))
        told.ask("sum", np.flatnonzero(inside))
    system = reopened(told, pool=3)
    worlds = worlds_of(system)
    assert system.roomy_table.usable
    assert worlds.shape == (3, size)
    for world in [*worlds, *np.asarray(system.worlds(2, seed=5))]:
        assert not told.disagrees(world)
    assert not told.impossible(system.roomy_table)
    assert (worlds[0] != worlds[1]).mean() > 0.5


@pytest.mark.slow
@pytest.mark.usefixtures("crowds_only")
def test_a_gate_reopened_from_its_ledger_shows_nothing_that_is_not_so() -> None:
    rng, safe = np.random.default_rng(9), 0
    for _ in range(40):
        told = told_at_random(rng, int(rng.integers(15, 50)), 20, int(rng.integers(2, 5)))
        system, possible = reopened(told), told.program()
        try:
            system.pool()
        except OutOfTime:
            continue
        for need in (14, 8, 3, 1):
            if system.judged(Standard(need, None, 1), Allowance()).safe:
                safe += 1
                i, j = (int(record) for record in rng.permutation(told.size)[:2])
                for way in (1, -1):
                    value = possible.end(j, way, {})
                    assert value is not None
                    assert possible.run(i, {j: value}, need, rng)
                break
    assert safe > 5


def three_salaries(prior: Prior | None) -> AnsweredSystem:
    system = AnsweredSystem(3, 0, 2, 1, pool=24, prior=prior)
    system.add_sum([0, 1, 2], 3)
    return system


def counted(system: AnsweredSystem, rounds: int) -> Counter[tuple[int, ...]]:
    """Worlds, mixed again and again, and counted when they have forgotten where they were."""
    pool = system.pool()
    assert isinstance(pool, Pool)
    counts = Counter[tuple[int, ...]]()
    for _ in range(rounds):
        for _ in range(10):
            pool.mix(system.roomy_table)
        counts.update(tuple(world) for world in pool.values.tolist())
    return counts


def chi_square(counts: Counter[tuple[int, ...]], expected: dict[tuple[int, ...], float]) -> float:
    total = sum(counts.values())
    return sum((counts[world] - share * total) ** 2 / (share * total) for world, share in expected.items())


@pytest.mark.usefixtures("crowds_only")
def test_all_worlds_are_drawn_alike() -> None:
    counts = counted(three_salaries(None), 60)
    assert len(counts) == 7
    # 6 degrees of freedom: beyond 30 once in 25,000 runs; here the seed is fixed
    assert chi_square(counts, dict.fromkeys(counts, 1 / 7)) < 30


@pytest.mark.usefixtures("crowds_only")
def test_with_a_public_prior_worlds_are_drawn_in_proportion_to_it() -> None:
    odds = np.array([0.8, 0.1, 0.1])
    prior = Prior.of(lambda count, seed: np.random.default_rng(seed).choice(3, count, p=odds), odds)
    counts = counted(three_salaries(prior), 60)
    weights = {world: float(np.prod(odds[list(world)])) for world in counts}
    shares = {world: weight / sum(weights.values()) for world, weight in weights.items()}
    assert len(counts) == 7
    assert chi_square(counts, shares) < 30
    assert chi_square(counts, dict.fromkeys(counts, 1 / 7)) > 60


@pytest.mark.usefixtures("crowds_only")
def test_sums_across_atoms_are_mixed_as_well() -> None:
    """Four records, two overlapping sums: nobody shares an atom, so only steps along the basis mix."""
    system = AnsweredSystem(4, 0, 4, 1, pool=24)
    system.add_sum([0, 1], 4)
    system.add_sum([1, 2], 4)
    system.add_sum([0, 3], 5)
    counts = counted(system, 60)
    possible = {(a, 4 - a, a, 5 - a) for a in range(5) if 0 <= 5 - a <= 4}
    assert set(counts) == possible
    assert chi_square(counts, dict.fromkeys(counts, 1 / len(possible))) < 25


def dealt(values: list[int], odds: np.ndarray, held: list[bool], rounds: int) -> Counter[tuple[int, ...]]:
    """Two by two records with both their marginal sums known, dealt anew again and again."""
    world, everyone = np.array(values, dtype=np.int8), np.arange(4)
    four = np.array([0, 4]), np.array([0, 1, 3, 2]), np.array([1, -1, 1, -1])
    boxes = np.column_stack([everyone, np.ones(4, np.int64), np.zeros(4, np.int64), np.full(4, 4)])
    counts = Counter[tuple[int, ...]]()
    for seed in range(rounds):
        along(*four, boxes, everyone, np.array(held), world, seed, 1, odds)
        counts.update([tuple(world.tolist())])
    return counts


def test_moves_of_four_keep_every_sum_and_lead_to_all_tables_alike() -> None:
    counts = dealt([1, 3, 2, 2], np.zeros(0), [False] * 4, 3_000)
    possible = {(a, 4 - a, 3 - a, 1 + a) for a in range(4)}
    assert set(counts) == possible
    # 3 degrees of freedom
    assert chi_square(counts, dict.fromkeys(counts, 1 / 4)) < 20


def test_moves_of_four_lead_to_tables_in_proportion_to_a_public_prior() -> None:
    odds = np.array([0.4, 0.3, 0.1, 0.1, 0.1])
    counts = dealt([1, 3, 2, 2], np.log(odds), [False] * 4, 6_000)
    weights = {world: float(np.prod(odds[list(world)])) for world in counts}
    assert len(counts) == 4
    assert chi_square(counts, {world: w / sum(weights.values()) for world, w in weights.items()}) < 30
    assert chi_square(counts, dict.fromkeys(counts, 1 / 4)) > 60


def test_whoever_is_held_keeps_their_value_in_moves_of_four() -> None:
    assert set(dealt([1, 3, 2, 2], np.zeros(0), [False, True, False, False], 50)) == {(1, 3, 2, 2)}


@pytest.mark.slow
@pytest.mark.usefixtures("crowds_only")
def test_worlds_that_begin_as_copies_are_told_apart_and_agree_with_every_answer_as_answers_come() -> None:
    """Six by six by six cells of one person each, sums by two columns; every world begins as a copy."""
    cells = np.array(list(product(range(6), repeat=3)))
    told = Told(np.random.default_rng(2).integers(3, 8, len(cells)), 10)
    for one, two in ((0, 1), (0, 2)):
        for a, b in product(range(6), repeat=2):
            told.ask("sum", np.flatnonzero((cells[:, one] == a) & (cells[:, two] == b)))
    system = reopened(told)
    pool, roomy_table = system.pool(), system.roomy_table
    assert isinstance(pool, Pool)
    pool.values[:] = pool.values[0]
    pool.mix(roomy_table)
    assert all((pool.values[place] != pool.values[1]).mean() > 0.2 for place in (2, 3))
    assert not any(told.disagrees(world) for world in pool.values)
    told.ask("sum", np.flatnonzero((cells < 3).all(axis=1)))
    system.accept([told.queries[-1].answered(told.values[-1])])
    for _ in range(3):
        grown = system.pool()
        assert isinstance(grown, Pool)
        grown.mix(system.roomy_table)
        assert not any(told.disagrees(world) for world in grown.values)


@pytest.mark.usefixtures("crowds_only")
def test_an_answered_extreme_stays_attained_while_worlds_are_mixed() -> None:
    told = Told(np.array([4, 0, 3, 2, 4, 1, 1, 3, 2, 0]), 6)
    told.ask("max", np.arange(4))
    told.ask("min", np.arange(3, 8))
    told.ask("sum", np.arange(10))
    system = reopened(told)
    for world in counted(system, 100):
        assert not told.disagrees(np.array(world))


@pytest.mark.usefixtures("crowds_only")
@pytest.mark.parametrize("top", some([7, 200], 1))
def test_more_worlds_are_thought_up_when_they_are_asked_for(top: int) -> None:
    rng, different = np.random.default_rng(top), 0
    for _ in range(rounds(20)):
        told = told_at_random(rng, int(rng.integers(40, 80)), top, 3)
        system = reopened(told)
        try:
            before = worlds_of(system)
        except OutOfTime:
            continue
        system.think_up(12)
        worlds = worlds_of(system)
        assert len(before) == 4
        assert len(worlds) == 12
        assert not any(told.disagrees(world) for world in worlds)
        different += len(np.unique(worlds, axis=0)) == 12
        # no fewer for somebody who asks for fewer, and as many after a further answer
        system.think_up(4)
        assert len(worlds_of(system)) == 12
    assert different >= rounds(20) // 2


@pytest.mark.usefixtures("crowds_only")
def test_before_any_answer_worlds_are_drawn_as_if_so_many_had_been_wanted_at_once() -> None:
    late, early = AnsweredSystem(50, 0, 7, 1, pool=4), AnsweredSystem(50, 0, 7, 1, pool=12)
    late.pool()
    late.think_up(12)
    assert (worlds_of(late) == worlds_of(early)).all()


@pytest.mark.slow
def test_of_each_extreme_one_record_stays_and_any_who_attains_it_may_be_the_one() -> None:
    chance = np.random.default_rng(3)
    for _ in range(40):
        size = int(chance.integers(4, 12))
        values = chance.integers(0, 3, size)
        system = AnsweredSystem(size, 0, 2, 1)
        groups = [chance.permutation(size)[: int(chance.integers(1, size + 1))] for _ in range(2)]
        for group in groups:
            system.add_max(group, int(values[group].max()))
        boxes = system.roomy_table.boxes
        pool = Pool(values[None, :].copy(), 0)
        attaining = [np.flatnonzero(np.isin(boxes.atoms.labels, each.atoms)) for each in boxes.extremes]
        seen = set[frozenset[int]]()
        for seed in range(150):
            held, ways = pool._held(values, boxes, attaining, seed)
            seen.add(frozenset(np.flatnonzero(held).tolist()))
        able = [
            np.flatnonzero(np.isin(boxes.atoms.labels, each.atoms) & (values == each.value)).tolist()
            for each in boxes.extremes
        ]
        assert ways == np.prod([len(each) for each in able])
        assert seen <= {frozenset(each) for each in product(*able)}
        assert {record for each in seen for record in each} == {record for each in able for record in each}


def test_worlds_of_few_records_are_drawn_alike_with_sums_weights_and_extremes() -> None:
    """A lattice that no unit step reaches, an atom of two, and a maximum that several may attain."""
    system = AnsweredSystem(6, 0, 4, 1, pool=24)
    system.add_sum([0, 1], 12, [2, 3])
    system.add_sum([1, 2, 3], 6)
    system.add_max([2, 3, 4], 3)
    possible = {
        each
        for each in product(range(5), repeat=6)
        if 2 * each[0] + 3 * each[1] == 12 and sum(each[1:4]) == 6 and max(each[2:5]) == 3
    }
    counts = Counter[tuple[int, ...]]()
    for seed in range(25):
        counts.update(tuple(world) for world in np.asarray(system.worlds(48, seed)).astype(int).tolist())
    assert set(counts) <= possible
    expected = dict.fromkeys(possible, 1 / len(possible))
    # the draws of a seed begin at the same 24 worlds: five times what independent ones come to
    assert chi_square(counts, expected) < 5 * len(possible)
