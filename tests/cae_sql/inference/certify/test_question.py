"""What a question spends on single records."""

from __future__ import annotations

import numpy as np
import pytest

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify.question import Search
from cae_sql.inference.search.judging import Standard
from cae_sql.inference.search.runs import Effort
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


@pytest.mark.parametrize("insiders", [0, 1])
@pytest.mark.parametrize(("records", "searched"), [(120, True), (300, False)])
def test_only_few_records_are_searched_one_by_one(
    records: int, searched: bool, insiders: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def judge(*_: object, **__: object) -> None:
        raise Searched

    monkeypatch.setattr(Search, "judge", judge)
    monkeypatch.setattr(Search, "exactly", lambda *_: None)  # it would say that somebody is lost
    system = told_apart(records)
    question = system.question([system.query("sum", np.arange(2))])
    ((values, worlds),) = list(question.hypothetical(1).items())
    standard = Standard(24, insiders=insiders)
    if searched:
        with pytest.raises(Searched):
            question.judge(values, worlds, standard, Allowance(), Effort())
    else:
        assert not question.judge(values, worlds, standard, Allowance(), Effort()).safe
