"""Refusals that bounds make certain: never of what a full judgement would allow, and without a search."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from auditor.deciding.cases import Case, Outcome
from auditor.deciding.hypothetical import simulate
from auditor.deciding.rules import Rules
from cae_sql import AnsweredSystem
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify import certain
from cae_sql.inference.certify import question as trial_module
from cae_sql.inference.certify.question import Question
from cae_sql.inference.facts.query import Query
from cae_sql.inference.standard import Effort, Judgement, Standard

Tables = NDArray[np.int64]
Asked = tuple[str, tuple[int, ...]]

KINDS = st.sampled_from(["sum", "sum", "sum", "max", "min"])


@st.composite
def histories(draw: st.DrawFn) -> tuple[AnsweredSystem, Tables, list[Query], int]:
    """A system with some true answers, all tables that agree with them, a question, and the domain's top."""
    size, top = draw(st.integers(2, 5)), draw(st.integers(1, 4))
    truth = np.array(draw(st.lists(st.integers(0, top), min_size=size, max_size=size)))
    everybody = list(range(size))
    sets = st.lists(st.sampled_from(everybody), min_size=1, unique=True).map(sorted)
    system = AnsweredSystem(size, 0, top, 1, pool=8)
    tables = np.array(list(product(range(top + 1), repeat=size)))
    for kind, members in draw(st.lists(st.tuples(KINDS, sets), max_size=4)):
        query = system.query(kind, np.array(members))
        value = int(query.of(truth[None])[0])
        system.accept([query.answered(value)])
        tables = tables[query.of(tables) == value]
    asked = draw(st.lists(st.tuples(KINDS, sets), min_size=1, max_size=2))
    return system, tables, [system.query(kind, np.array(members)) for kind, members in asked], top


def spread(tables: Tables) -> int:
    """Greatest minus least value of the record for which that is least."""
    return int((tables.max(axis=0) - tables.min(axis=0)).min())


def left(tables: Tables, insiders: int) -> int:
    """The same, to any one other whose value the tables allow, too."""
    found = spread(tables)
    if insiders:
        for record in range(tables.shape[1]):
            others = np.delete(np.arange(tables.shape[1]), record)
            for value in np.unique(tables[:, record]):
                found = min(found, spread(tables[tables[:, record] == value][:, others]))
    return found


@pytest.mark.slow
@settings(max_examples=40)
@given(histories(), st.integers(0, 1))
def test_what_bounds_leave_is_never_less_than_what_some_tables_have(
    history: tuple[AnsweredSystem, Tables, list[Query], int], insiders: int
) -> None:
    system, tables, queries, top = history
    question = system.question(queries)
    everything = Standard(top + 1, insiders=insiders)
    for values, worlds in question.hypothetical(8).items():
        agreeing = tables
        for query, value in zip(queries, values, strict=True):
            agreeing = agreeing[query.of(agreeing) == value]
        found = question.certainly_lost(values, worlds, everything)
        assert found is not None
        assert found.certain
        assert found.width >= left(agreeing, insiders)


def decided(case: Case, delta: float) -> Outcome | None:
    return simulate([case], Rules(True, 8, delta, 1e9), Allowance())


@settings(max_examples=20)
@given(histories(), st.integers(0, 1), st.integers(1, 3), st.booleans(), st.sampled_from([0.0, 0.2]))
def test_a_verdict_is_the_same_without_the_shortcut(
    history: tuple[AnsweredSystem, Tables, list[Query], int],
    insiders: int,
    need: int,
    by_sets: bool,
    delta: float,
) -> None:
    system, _, queries, _ = history
    standard = Standard(need, (lambda values: len(values) > 1) if by_sets else None, insiders)

    def case() -> Case:
        return Case(system, queries, standard, lambda _: pytest.fail("the truth was asked"), Effort())

    if system.question(queries).derivable:
        return
    ours = decided(case(), delta)
    system._trial = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Question, "certainly_lost", lambda *_: None)
        former = decided(case(), delta)
    if former is None:
        assert ours is None, "what a full judgement allows is refused"
    elif ours is not None:
        assert ours.verdict == former.verdict == "risk"
    else:
        pytest.fail("bounds cannot allow anything")


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ([], ("sum", (3,))),
        ([], ("max", (3,))),
        ([], ("sum", (3, 4))),
        ([("sum", tuple(range(240)))], ("sum", tuple(range(1, 240)))),
        ([("sum", tuple(range(50))), ("sum", tuple(range(40, 100)))], ("sum", (3,))),
        ([("sum", tuple(range(50))), ("sum", tuple(range(50, 100)))], ("sum", tuple(range(1, 100)))),
    ],
    ids=[
        "a sum of one",
        "a maximum of one",
        "a sum of two",
        "all but one",
        "after answers",
        "of two answers",
    ],
)
def test_who_would_be_told_for_certain_is_refused_without_any_search(
    told: list[Asked], asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = AnsweredSystem(240, 0, 24, 1)
    truth = np.random.default_rng(1).integers(0, 25, 240)
    for kind, members in told:
        query = system.query(kind, np.array(members))  # type: ignore[arg-type]
        system.accept([query.answered(int(query.of(truth[None])[0]))])

    def searched(*_: object, **__: object) -> Judgement:
        raise AssertionError("something was searched for")

    for name in ("judge", "judge_together", "judge_around_table"):
        monkeypatch.setattr(trial_module.Question, name, searched)
    kind, members = asked
    case = Case(
        system,
        [system.query(kind, np.array(members))],  # type: ignore[arg-type]
        Standard(13, lambda values: len(values) > 13, insiders=1),
        lambda _: pytest.fail("the truth was asked"),
        Effort(),
    )
    outcome = simulate([case], Rules(True, 20, 0.05, 1e9), Allowance())
    assert outcome is not None
    assert outcome.verdict == "risk"
    assert outcome.parts[0].judgement == Judgement(False, 0, certain=True)


@pytest.mark.parametrize(("told", "left"), [(36, 12), (37, 13), (20 * 24 - 36, 12), (240, 24)])
def test_an_insider_may_have_all_that_the_others_of_a_part_can_give(told: int, left: int) -> None:
    """Of twenty people who have nearly the same in the one table that is known."""
    question = (system := AnsweredSystem(100, 0, 24, 1)).question([system.query("sum", np.arange(20))])
    table = np.zeros((1, 100), dtype=np.int64)
    table[0, :20] = told // 20 + (np.arange(20) < told % 20)

    def narrowest(insiders: int, exchanged: bool) -> int:
        boxes = question.boxes_with((told,))
        return certain.narrowest(boxes, question._rows, (told,), table, insiders, exchanged)

    assert narrowest(1, exchanged=True) == left
    assert narrowest(1, exchanged=False) == narrowest(0, exchanged=True) == 24
