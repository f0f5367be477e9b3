"""Over editions promises hold in all tables that agree; a gate that mixes persons up is noticed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from auditor.errors import AuditorError
from auditor.gate import editions
from auditor.ledger.people import Names, Numbered, follow
from cae_sql.errors import CaeSqlError
from tests.clocks import counting
from tests.enumeration.editions import Growing, Held, Seen, growing_at_random
from tests.quick import rounds, some

SEED = 5
Follow = Callable[[Names, Sequence[bool], Names, tuple[str, str]], Numbered]


def found(growing: Growing, seen: Seen) -> list[str]:
    with counting():
        return list(Held(growing, 1, seen).findings())


@pytest.mark.slow
@pytest.mark.parametrize("insiders", some([1, 0], 1))
def test_everybody_keeps_the_limit_over_all_editions_and_verdicts_tell_nothing(insiders: int) -> None:
    seen = Seen()
    for number in range(rounds(20)):
        growing = growing_at_random(insiders, SEED, number)
        assert not found(growing, seen), f"seed {SEED}, number {number}: {growing}"
    print(seen)
    assert seen.transcripts > 3
    assert seen.codes["answered"] > 1


def keeps_the_record(*given: object) -> Numbered:
    """Whose value changed is the record that she was."""
    laid = follow(*given)  # type: ignore[arg-type]
    earlier = dict(laid.again.tolist())
    numbers = np.array([earlier.get(number, number) for number in laid.numbers.tolist()])
    return replace(laid, numbers=numbers, again=laid.again[:0])


def takes_a_place(*given: object) -> Numbered:
    """Who is new is the record of one who left."""
    laid = follow(*given)  # type: ignore[arg-type]
    changed = set(laid.again[:, 0].tolist())
    left = [number for number in range(laid.first) if number not in set(laid.numbers.tolist())]
    numbers = [
        left.pop() if left and number >= laid.first and number not in changed else number
        for number in laid.numbers.tolist()
    ]
    return replace(laid, numbers=np.array(numbers))


@pytest.mark.slow
@pytest.mark.parametrize("mixed_up", [keeps_the_record, takes_a_place])
def test_a_gate_that_mixes_persons_up_is_noticed(mixed_up: Follow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(editions, "follow", mixed_up)
    for number in range(60):
        try:
            with counting():
                first = next(Held(growing_at_random(0, SEED, number), 0, Seen()).findings(), None)
            if first is not None:
                return
        except (AuditorError, CaeSqlError):
            return  # what was told contradicts itself
    pytest.fail("nothing was noticed")
