"""Small tables of units with several records, all of them tried out: what is shown is true."""

from __future__ import annotations

import pytest

from .units import Seen, check, system_at_random

COUNT = {False: 40, True: 1_500}


@pytest.mark.parametrize("insiders", [0, 1])
@pytest.mark.parametrize("long", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_records_and_sums_of_a_unit_keep_their_runs_whatever_another_unit_has(
    insiders: int, long: bool
) -> None:
    seen = Seen()
    for number in range(COUNT[long]):
        check(system_at_random(7, number, insiders), seen)
    assert not seen.findings
    assert seen.shown > seen.systems / 4, "it shows too little for that to say anything"
    assert seen.several > seen.systems / 20
