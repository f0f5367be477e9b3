"""Sessions with EXPLAIN, remainders and releases in play: nobody is located but whom the owner released.

As `test_suppress_attacks` has it for groups: what anybody can infer is worked out apart, by integer programs.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from auditor import Gate, QueryRefused, QueryUnsupported
from auditor.ledger import KnownAnswer
from tests.auditor.gate.test_remainder_attacks import REMAINDER
from tests.auditor.gate.test_suppress_attacks import random_statements, session
from tests.auditor.staff import NEEDED, OUTSIDERS, Intruder, build, entries, people, policy

RELEASED = "SELECT sum(salary) FROM staff WHERE id = 4"
SIZE = 48


def on_record(gate: Gate) -> list[KnownAnswer]:
    """All answers."""
    return [answer for entry in entries(gate) for answer in entry.answers]


def spreads(gate: Gate) -> list[int]:
    """Of each person how far the least and the greatest possible value are apart."""
    intruder = Intruder(SIZE)
    for answer in on_record(gate):
        if answer.tells:
            intruder.reads_answer(answer)
    return [high - low for low, high in intruder.ranges()]


def set_aside(gate: Gate) -> set[int]:
    """Who is, by now."""
    last = [answer.records.tolist() for answer in on_record(gate) if answer.kind == "aside"][-1:]
    return set(last[0]) if last else set()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 4, 7])
def test_nobody_is_located_but_whom_the_owner_released(seed: int, tmp_path: Path) -> None:
    statements = random_statements(seed, 8)
    rules = policy(OUTSIDERS + REMAINDER, key='"id"')
    with Gate.open(build(tmp_path / "staff.duckdb", people(SIZE, seed)), rules) as gate:
        session(gate, statements[:4])
        gate.release(RELEASED, "it is known anyway", seen=gate.exposed_by(RELEASED))
        aside, before = set_aside(gate), spreads(gate)
        pattern, _ = session(gate, statements[4:])
        after = spreads(gate)
        assert gate.verify().problems == ()
        assert set_aside(gate) == aside
    assert 4 in aside
    assert any(code in ("answered", "partial") for code, _, _ in pattern), "nothing was tried"
    for record in range(SIZE):
        assert after[record] == before[record] if record in aside else after[record] >= NEEDED, record


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 4])
def test_who_explains_everything_first_is_told_the_same_and_learns_nothing_by_it(
    seed: int, tmp_path: Path
) -> None:
    """The same session with an EXPLAIN before each statement: answers and ledger answers are the same."""
    statements, found = random_statements(seed, 6), []
    for explains in (False, True):
        folder = tmp_path / str(explains)
        folder.mkdir()
        with Gate.open(build(folder / "staff.duckdb", people(SIZE, seed)), policy(REMAINDER)) as gate:
            told = []
            for sql in statements:
                if explains:
                    with suppress(QueryRefused, QueryUnsupported):
                        gate.execute(f"EXPLAIN {sql}", user="eve")
                told.append(session(gate, [sql]))
            known = [(each.kind, each.records.tolist(), each.ends) for each in on_record(gate)]
            found.append((told, known))
    assert found[0] == found[1]
    assert found[0][1]
