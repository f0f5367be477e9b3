"""A judgement is a value: in whatever order answers are judged, each verdict is the same, so is the system.

What a question finds, moves or other bases, belongs to it; the system has it once the answers are accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.query import Query
from cae_sql.inference.standard import Effort, Judgement, Standard
from cae_sql.inference.system import AnsweredSystem

Hypothetical = tuple[list[Query], tuple[int, ...], list[int]]
"""What is asked, an answer to each query, and the worlds that give them, if any do."""
ASKED = 2
"""Larger questions of each system, and hypothetical answers to each of them."""


def told(records: int, sums: int, top: int, few: int) -> AnsweredSystem:
    """A system in which sums over random halves tell most records apart; some of its people have little."""
    chance = np.random.default_rng(records)
    values = chance.integers(0, top + 1, records)
    values[:few] = np.minimum(values[:few], 1 + top // 12)
    system = AnsweredSystem(records, 0, top, 1)
    for members in (np.arange(few), *(np.flatnonzero(chance.random(records) < 0.5) for _ in range(sums))):
        query, value = system.query("sum", members), int(values[members].sum())
        question = system.question([query])
        question.judge((value,), [0], Standard(1), Allowance(), Effort())
        system.accept([query.answered(value)], question.learn([value], Allowance()))
    return system


@cache
def small() -> tuple[AnsweredSystem, Standard]:
    """One whose records are searched."""
    return told(14, 4, 6, 4), Standard(3, insiders=0)


@cache
def large() -> tuple[AnsweredSystem, Standard]:
    """One where only the roomy table and its bases show anybody."""
    return told(300, 14, 24, 20), Standard(8, insiders=1)


def hypothetical(system: AnsweredSystem) -> list[Hypothetical]:
    """Answers of worlds to several questions, and one that no world gives: that five have nothing."""
    chance, found = np.random.default_rng(5), list[Hypothetical]()
    for size in range(ASKED):
        count = (2 + size) * system.size // 8
        queries = [system.query("sum", np.sort(chance.permutation(system.size)[:count])) for _ in range(2)]
        answers = system.question(queries).hypothetical(ASKED)
        found += [(queries, values, worlds) for values, worlds in answers.items()]
    return [*found, ([system.query("sum", np.arange(5))], (0,), [])]


def judged(system: AnsweredSystem, standard: Standard, case: Hypothetical) -> Judgement | None:
    """As a gate judges it, without an end to what may be spent."""
    queries, values, worlds = case
    question = system.question(queries)
    if not worlds:
        return question.judge_true(values, standard, Allowance())
    return question.judge(values, worlds, standard, Allowance(), Effort())


def state(system: AnsweredSystem) -> str:
    """Everything that later verdicts hang on, as a hash."""
    table, pool = system.roomy_table, system.pool()
    count, rank = table.count, table.rank
    arrays = [pool.values, table.totals, table.marks[:count, :rank], *table.moves]
    arrays += [table.boxes.low, table.boxes.high, table.boxes.atoms.labels]
    arrays += [table.basis.basic, table.basis.columns[:count, :rank]]
    digest = blake2b(repr([table.sums, table.usable, table.version, pool.moved]).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


@cache
def reference(made: Callable[[], tuple[AnsweredSystem, Standard]]) -> tuple[list[Judgement | None], str]:
    """What is judged of each case before any other, and the state of the system then."""
    system, standard = made()
    before = state(system)
    return [judged(system, standard, case) for case in hypothetical(system)], before


@pytest.mark.parametrize("made", [small, large])
@given(data=st.data())
@settings(max_examples=2)
def test_in_any_order_and_twice_each_verdict_is_the_same_and_the_system_too(
    made: Callable[[], tuple[AnsweredSystem, Standard]], data: st.DataObject
) -> None:
    (verdicts, before), (system, standard) = reference(made), made()
    cases = hypothetical(system)
    twice = [*range(len(cases)), *range(len(cases))]
    for place in data.draw(st.permutations(twice)):
        assert judged(system, standard, cases[place]) == verdicts[place]
    assert state(system) == before


@pytest.mark.parametrize("made", [small, large])
def test_some_of_those_are_shown_and_some_are_not(
    made: Callable[[], tuple[AnsweredSystem, Standard]],
) -> None:
    safe = [each is not None and each.safe for each in reference(made)[0]]
    assert any(safe)
    assert not all(safe)


def test_what_was_found_for_an_answer_is_the_system_s_once_that_is_accepted() -> None:
    system, standard = told(260, 12, 24, 20), Standard(8, insiders=1)
    (query, *_), _, _ = hypothetical(system)[0]
    question, before = system.question([query]), state(system)
    value = int(query.of(system.pool().values[:1])[0])
    assert question.judge((value,), [0], standard, Allowance(), Effort()).safe
    assert question.question_tables.found
    assert state(system) == before
    system.accept([query.answered(value)], question.learn([value], Allowance()))
    assert system.roomy_table.moves.count
    assert system.roomy_table.rank == 1 + len(system.answers) - 1
