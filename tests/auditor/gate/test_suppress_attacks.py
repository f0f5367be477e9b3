"""Sessions of grouped statements under `partial = "suppress"`: nobody is located, and no NULL is an oracle.

What anybody can infer is worked out apart, by integer programs over what is on record.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from auditor import Gate, QueryRefused, QueryUnsupported
from auditor.deciding.cases import Outcome
from tests.auditor.staff import NEEDED, OUTSIDERS, Intruder, Person, build, people, policy

KEYS = ("dept", "sex", "age // 10", "age % 7", "id % 5", "id // 8", "id % 3 = 0", "age < 33", "dept < 'c'")
AGGREGATES = ("sum", "avg", "max", "min")
Pattern = list[tuple[str, object, tuple[bool, ...]]]


def random_statements(seed: int, count: int) -> list[str]:
    """Grouped by one to three random public expressions, under random conditions, one to two aggregates."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        keys = rng.choice(KEYS, rng.integers(1, 4), replace=False)
        kinds = rng.choice(AGGREGATES, rng.integers(1, 3), replace=False, p=[0.4, 0.2, 0.2, 0.2])
        where = f"id >= {rng.integers(0, 20)}" if rng.random() < 0.5 else "true"
        shown = ", ".join([*keys, *(f"{kind}(salary)" for kind in kinds)])
        places = ", ".join(str(place + 1) for place in range(len(keys)))
        found.append(f"SELECT {shown} FROM staff WHERE {where} GROUP BY {places} ORDER BY {places}")
    return found


def session(gate: Gate, statements: Sequence[str], user: str = "eve") -> tuple[Pattern, list[object]]:
    """Which groups were withheld by each statement, and the rows that came back."""
    pattern: Pattern = []
    rows: list[object] = []
    for sql in statements:
        try:
            answer = gate.execute(sql, user=user)
            told = answer.fetchall()
            pattern.append(
                (answer.decision.code, answer.decision.message, tuple(row[-1] is None for row in told))
            )
            rows.append(told)
        except (QueryRefused, QueryUnsupported) as error:
            pattern.append((error.decision.code, error.decision.message, ()))
            rows.append(None)
    return pattern, rows


def narrowest(gate: Gate, size: int) -> tuple[int, int]:
    """The smallest spread of anybody's possible values; and how many answers."""
    intruder = Intruder(size)
    intruder.reads(gate)
    return intruder.narrowest(), len(intruder.told)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 4])
def test_nobody_is_located_by_random_groups(seed: int, tmp_path: Path) -> None:
    database = build(tmp_path / "staff.duckdb", people(48, seed))
    with Gate.open(database, policy(OUTSIDERS + '[decision]\npartial = "suppress"\ntimeout = 3')) as gate:
        pattern, _ = session(gate, random_statements(seed, 8))
        spread, told = narrowest(gate, 48)
        assert gate.verify().problems == ()
    assert sum(code == "partial" for code, _, _ in pattern) >= 2, "nothing was suppressed: nothing was tried"
    assert told >= 8
    assert spread >= NEEDED


@pytest.mark.slow
def test_without_judging_the_earlier_groups_somebody_would_be_located(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same session where each group is judged on past statements alone: so the test can fail."""
    import auditor.parties.party as module

    monkeypatch.setattr(module.Party, "accept", lambda *_: None)
    found = []
    for seed in (1, 2, 3):
        database = build(tmp_path / f"{seed}.duckdb", people(60, seed))
        with Gate.open(
            database, policy(OUTSIDERS + '[decision]\npartial = "suppress"\ntimeout = 20')
        ) as gate:
            session(gate, random_statements(seed, 12))
            found.append(narrowest(gate, 60)[0])
    assert min(found) < NEEDED


def before_surprises(gate: Gate) -> int:
    """How many statements were asked before the first surprise: from there on a NULL may tell something."""
    surprises = gate.history()["surprise"].to_numpy()
    return int(np.argmax(surprises > 0)) if surprises.any() else len(surprises)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 9, 10])
def test_a_table_that_agrees_with_all_answers_has_the_same_groups_withheld(seed: int, tmp_path: Path) -> None:
    """The pattern of NULLs comes from the answers: whoever could compute it learns nothing from it."""
    persons, statements = people(40, seed), random_statements(seed, 6)
    rules = policy('[decision]\npartial = "suppress"\ntimeout = 60')
    with Gate.open(build(tmp_path / "true.duckdb", persons), rules) as gate:
        pattern, rows = session(gate, statements)
        count = before_surprises(gate)
        world = gate._knowledge.of("eve").columns[0].system.worlds(1, seed)[0]
    others: list[Person] = [(*p[:4], int(value)) for p, value in zip(persons, world, strict=True)]
    assert sum(a != b for a, b in zip(persons, others, strict=True)) > 15
    with Gate.open(build(tmp_path / "other.duckdb", others), rules) as gate:
        again, same = session(gate, statements)
        count = min(count, before_surprises(gate))
    assert any(code == "partial" for code, _, _ in pattern[:count])
    assert (again[:count], same[:count]) == (pattern[:count], rows[:count])


@pytest.mark.slow
def test_values_of_withheld_groups_change_nothing(tmp_path: Path) -> None:
    """Other salaries of those of whom nothing was answered: the same NULLs, the same rows."""
    persons = people(40, 8)
    alone = "CASE WHEN id < 36 THEN dept ELSE id::VARCHAR END"
    statements = [
        f"SELECT {alone} AS k, sum(salary) FROM staff GROUP BY k ORDER BY k",
        f"SELECT {alone} AS k, max(salary) FROM staff GROUP BY k HAVING avg(salary) > 50 ORDER BY k",
        f"SELECT k, s FROM (SELECT {alone} k, min(salary) s FROM staff GROUP BY k) ORDER BY s, k LIMIT 6",
    ]
    rules = policy('[decision]\npartial = "suppress"\ntimeout = 60')
    found = []
    for number, last in enumerate(
        ([10, 250, 10, 250], [250, 250, 10, 10], [10, 10, 10, 10], [130, 20, 250, 60])
    ):
        changed: list[Person] = [(*p[:4], pay) for p, pay in zip(persons[36:], last, strict=True)]
        database = build(tmp_path / f"{number}.duckdb", [*persons[:36], *changed])
        with Gate.open(database, rules) as gate:
            found.append(session(gate, statements))
    assert all(each == found[0] for each in found)
    assert [code for code, _, _ in found[0][0]] == ["partial", "partial", "partial"]


def test_a_tracker_in_one_statement_is_suppressed(tmp_path: Path) -> None:
    """Grouping sets hold both halves: the total, and everybody but one."""
    persons = people(60, 11)
    database = build(tmp_path / "staff.duckdb", persons)
    with Gate.open(database, policy('[decision]\npartial = "suppress"')) as gate:
        answer = gate.execute(
            "SELECT id = 17 AS him, sum(salary) FROM staff GROUP BY GROUPING SETS ((), (id = 17)) ORDER BY 1"
        )
        told = [row for row in answer.fetchall() if row[1] is not None]
        assert len(told) == 1
        assert narrowest(gate, 60)[0] >= NEEDED


def test_the_same_group_twice_in_a_statement_is_not_a_second_try(tmp_path: Path) -> None:
    """Each try draws on other tables once something was answered in between; the luckiest would pass."""
    import auditor.gate.suppress as module

    database = build(tmp_path / "staff.duckdb", people(60, 11))
    decided: list[Outcome] = []
    real = module.decide
    with (
        Gate.open(database, policy('[decision]\npartial = "suppress"')) as gate,
        pytest.MonkeyPatch.context() as m,
    ):
        m.setattr(module, "decide", lambda *given: decided.append(real(*given)) or decided[-1])
        one = "SELECT id < 1 AS k, sum(salary) FROM staff GROUP BY k"
        gate.execute(" UNION ALL ".join([one] * 4))
    # both together first, and that once too
    assert [each.verdict for each in decided] == ["risk", "safe", "risk", "known", "known", "known"]
