"""What a question spends on single records."""

from __future__ import annotations

import numpy as np
import pytest

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify.question import Question, Search
from cae_sql.inference.standard import Effort, Judgement, Standard
from cae_sql.inference.system import AnsweredSystem


def told_apart(records: int) -> AnsweredSystem:
    """A system in which sums tell all records apart."""
    values = np.random.default_rng(1).integers(0, 25, records)
    system = AnsweredSystem(records, 0, 24, 1)
    for bit in range(int(records).bit_length()):
        members = np.flatnonzero(np.arange(records) >> bit & 1)
        system.add_sum(members, int(values[members].sum()))
    return system


class Searched(Exception):
    """Somebody was searched for by themselves."""


@pytest.mark.parametrize(
    ("records", "insiders", "need", "searched"),
    [
        (120, 0, 24, True),
        (120, 1, 2, True),  # of two or three values pairs are searched
        (120, 1, 3, False),  # of wider runs that won nothing
        (300, 0, 24, False),
        (300, 1, 2, False),
    ],
)
def test_only_few_records_are_searched_one_by_one_and_pairs_for_narrow_runs_alone(
    records: int, insiders: int, need: int, searched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def judge(*_: object, **__: object) -> None:
        raise Searched

    monkeypatch.setattr(Search, "judge", judge)
    monkeypatch.setattr(Search, "exactly", lambda *_: None)  # it would say who is lost
    monkeypatch.setattr(Question, "judge_around_table", lambda *_: Judgement(False, -1))  # somebody is open
    system = told_apart(records)
    question = system.question([system.query("sum", np.arange(2))])
    ((values, worlds),) = list(question.hypothetical(1).items())
    standard = Standard(need, insiders=insiders)
    assert question.is_searched(standard) == searched
    if searched:
        with pytest.raises(Searched):
            question.judge(values, worlds, standard, Allowance(), Effort())
    else:
        assert not question.judge(values, worlds, standard, Allowance(), Effort()).safe


def test_wide_runs_beside_an_insider_are_searched_for_where_the_true_answer_alone_decides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Elsewhere a look of which something is kept took them for searched: seconds, and nothing won."""
    monkeypatch.setattr(Question, "judge_around_table", lambda *_, **__: Judgement(False, -1))
    monkeypatch.setattr(Search, "exactly", lambda *_: None)
    question = told_apart(120).question([told_apart(120).query("sum", np.arange(2))])
    standard = Standard(24, insiders=1)
    assert question.judge_true((24,), standard, Allowance(), keep=True) == Judgement(False, -1)
    assert question.judge_true((24,), standard, Allowance(), keep=True, wide=True) is None
