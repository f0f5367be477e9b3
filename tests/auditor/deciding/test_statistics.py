"""Ranges of statistics, held against all tables of small systems."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from auditor.deciding.cases import Case
from auditor.deciding.decide import decide
from auditor.deciding.rules import Rules
from auditor.deciding.statistics import about
from auditor.told import Told
from cae_sql.domain import Domain
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.query import Query
from cae_sql.inference.facts.ranges import Share
from cae_sql.inference.posterior.judging import LikelyKnowledge, LikelyStandard
from cae_sql.inference.standard import Effort, Standard
from cae_sql.inference.system import AnsweredSystem
from cae_sql.risk import Limit
from tests.quick import rounds

SIZES = {0: (9, 3), 1: (12, 2)}
"""Records and greatest value, by number of insiders: with one, cells of counts have eight values."""
Said = tuple[str, Told[int] | None]


def all_tables(size: int, top: int) -> NDArray[np.int8]:
    """Every table."""
    return np.array(np.meshgrid(*[np.arange(top + 1, dtype=np.int8)] * size)).reshape(size, -1).T


def played(
    table: NDArray[np.int64],
    queries: Sequence[Query],
    need: int,
    insiders: int,
    top: int,
    likely: LikelyStandard | None = None,
) -> list[Said]:
    """What is told of queries, one after the other; judged by what is likely too, where that is given."""
    system = AnsweredSystem(len(table), 0, top, 1)
    rules, standard = Rules(True, 20, 0.05, 60.0), Standard(need, insiders=insiders)
    found = list[Said]()
    for query in queries:
        model = None if likely is None else LikelyKnowledge(system, likely)
        case = Case(system, [query], standard, lambda each: [int(q.of(table)) for q in each], Effort(), model)
        outcome = decide([case], rules, ranges=True)
        told = None
        if outcome.verdict == "safe":
            (part,) = outcome.parts
            told = part.recorded[0].told
            if part.kept is not None:
                kept = part.kept
                system.accept_range(kept.shares, kept.observed, kept.spare, kept.holding, standard)
            elif part.learned is not None:
                answers = [each.query.answered(each.value) for each in part.recorded]
                system.accept(answers, part.learned)
        elif outcome.verdict == "known":
            told = outcome.parts[0].recorded[0].told
        found.append(("surprise" if outcome.surprise else outcome.verdict, told))
    return found


def at_random(chance: np.random.Generator, size: int, top: int) -> list[Query]:
    """Some sums, counts and quantiles of large sets."""
    found = []
    for _ in range(int(chance.integers(2, 7))):
        members = np.sort(chance.choice(size, int(chance.integers(size // 2, size + 1)), replace=False))
        kind = chance.choice(["sum", "count", "count", "quantile", "max", "min"])
        if kind == "count":
            low = int(chance.integers(0, top))
            region = ((low + 1, top),) if chance.random() < 0.6 else ((low, low),)
            found.append(Query(kind="count", members=members, region=region))
        elif kind == "quantile":
            rank = int(chance.integers(0, len(members) - 1))
            ranks, part = (
                ((rank, rank + 1), Fraction(1, 2)) if chance.random() < 0.5 else ((rank, rank), Fraction(0))
            )
            found.append(Query(kind="quantile", members=members, ranks=ranks, part=part))
        else:
            found.append(Query(kind=kind, members=members))
    return found


def about_everybody(chance: np.random.Generator, size: int, top: int) -> list[Query]:
    """Some sums, weighted sums, spreads and counts of large sets."""
    found = []
    for _ in range(int(chance.integers(2, 6))):
        members = np.sort(chance.choice(size, int(chance.integers(size // 2, size + 1)), replace=False))
        kind = chance.choice(["sum", "weighted", "weighted", "spread", "spread", "count"])
        if kind == "weighted":
            weights = chance.choice([-2, -1, 1, 2, 3], len(members)).astype(np.int64)
            found.append(Query(kind="weighted", members=members, coefficients=weights))
        elif kind == "count":
            found.append(Query(kind="count", members=members, region=((top, top),)))
        else:
            found.append(Query(kind=kind, members=members))
    return found


def agree(tables: NDArray[np.int8], queries: Sequence[Query], said: Sequence[Said]) -> NDArray[np.int8]:
    """The tables that agree with what was told."""
    left = tables
    for query, (_, told) in zip(queries, said, strict=True):
        if told is not None:
            values = query.of(left)
            inside = np.ones(len(left), dtype=np.bool_)
            if told.least is not None:
                inside &= values >= told.least
            if told.most is not None:
                inside &= values <= told.most
            left = left[inside]
    return left


def longest_run(values: NDArray[np.int8]) -> int:
    """Greatest minus least value of the longest run among some."""
    present = np.bincount(values) > 0
    longest, now = -1, -1
    for each in present.tolist():
        now = now + 1 if each else -1
        longest = max(longest, now)
    return longest


def least_kept(left: NDArray[np.int8], insiders: int) -> int:
    """The shortest of all records' runs, whatever an insider has."""
    size = left.shape[1]
    found = min(longest_run(left[:, record]) for record in range(size))
    if insiders:
        for other in range(size):
            for value in np.unique(left[:, other]):
                some = left[left[:, other] == value]
                runs = (longest_run(some[:, record]) for record in range(size) if record != other)
                found = min(found, *runs)
    return found


@pytest.mark.parametrize("insiders", [0, 1])
@pytest.mark.parametrize("seed", range(6))
def test_everybody_keeps_their_run_in_all_tables_that_agree_with_ranges(seed: int, insiders: int) -> None:
    size, top = SIZES[insiders]
    chance, tables, told = np.random.default_rng([seed, insiders]), all_tables(size, top), 0
    for _ in range(6):
        table = chance.integers(0, top + 1, size)
        queries, need = at_random(chance, size, top), int(chance.integers(1, top))
        said = played(table, queries, need, insiders, top)
        told += sum(each is not None and q.kind != "sum" for q, (_, each) in zip(queries, said, strict=True))
        left = agree(tables, queries, said)
        assert (left == table).all(axis=1).any(), "the truth is inside"
        assert least_kept(left, insiders) >= need, (queries, said)
    assert told


@pytest.mark.parametrize("insiders", [0, 1])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.slow
def test_tables_that_agree_with_what_was_told_are_told_the_same(seed: int, insiders: int) -> None:
    """Up to a surprise, which the true answer has a part in."""
    size, top = SIZES[insiders]
    chance, tables = np.random.default_rng([seed, insiders, 7]), all_tables(size, top)
    for _ in range(3):
        table = chance.integers(0, top + 1, size)
        queries, need = at_random(chance, size, top), int(chance.integers(1, top))
        said = played(table, queries, need, insiders, top)
        left = agree(tables, queries, said)
        for place in chance.integers(0, len(left), 3):
            other = played(left[place].astype(np.int64), queries, need, insiders, top)
            verdicts = [[verdict for verdict, _ in each] for each in (said, other)]
            first = min(
                [each.index("surprise") for each in verdicts if "surprise" in each], default=len(said)
            )
            assert other[:first] == said[:first]


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells without room for anybody who pays: those with room for six have too many people to list."""
    monkeypatch.setattr("auditor.deciding.statistics.PAYERS", 0)


@pytest.mark.slow
@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("insiders", [0, 1])
def test_what_is_likely_decides_no_more_by_the_true_table(insiders: int) -> None:
    """Verdicts and ranges of a gate that judges by posteriors too, of tables that agree with what it told."""
    size, top, told = 60, 4, 0
    limit = LikelyStandard(Limit(0.5), Domain(0, top, 1), insiders=insiders)
    for seed in range(rounds(10)):
        chance = np.random.default_rng([seed, insiders, 9])
        table = chance.integers(0, top + 1, size)
        queries = about_everybody(chance, size, top)
        said = played(table, queries, 2, insiders, top, limit)
        told += sum(each is not None for q, (_, each) in zip(queries, said, strict=True) if q.kind != "sum")
        other = led_to_agree(chance, table, queries, said, top)
        assert (other != table).any()
        again = played(other, queries, 2, insiders, top, limit)
        verdicts = [[verdict for verdict, _ in each] for each in (said, again)]
        first = min([each.index("surprise") for each in verdicts if "surprise" in each], default=len(said))
        assert again[:first] == said[:first]
    assert told


def led_to_agree(
    chance: np.random.Generator,
    table: NDArray[np.int64],
    queries: Sequence[Query],
    said: Sequence[Said],
    top: int,
) -> NDArray[np.int64]:
    """A table that agrees with all that was told, by a walk of exchanges from another one."""
    found = table.copy()
    for _ in range(4_000):
        pair = chance.choice(len(table), 2, replace=False)
        moved = found.copy()
        moved[pair] += [1, -1] if chance.random() < 0.8 else [1, 0]
        if moved.min() >= 0 and moved.max() <= top and len(agree(moved[None], queries, said)):
            found = moved
    return found


def test_who_attains_a_maximum_is_not_who_is_held_there() -> None:
    """One of two who has not their maximum knows that the other has it, whoever else is held where."""
    system, standard = AnsweredSystem(8, 0, 4, 1), Standard(1, insiders=1)
    query = Query(kind="count", members=np.arange(4, 8), region=((4, 4),))
    system.accept_range([Share(query.members, query.region, 1)], about(query, Told(1, None), 4), 2, None)
    question = system.question([Query(kind="max", members=np.array([4, 5]))])
    assert question.conditions.held
    judgement = question.judge_around_table((4,), standard, Allowance())
    assert judgement is None or not judgement.safe
