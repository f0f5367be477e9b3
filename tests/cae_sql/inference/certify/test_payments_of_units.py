"""Payments where units have several records: every sum over some of a unit's records keeps its run.

Tight groups, where what pays for one record of a unit is needed by another one, are held to an integer
program over records that shares no code with what is shown. Each part of the reasoning is left out in turn,
and that is noticed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify import coverage, payments, sharing
from cae_sql.inference.certify.rooms import Rooms
from cae_sql.inference.facts.query import Query
from cae_sql.inference.facts.units import Occupied
from cae_sql.inference.standard import Standard
from cae_sql.inference.tables.columns import Columns
from cae_sql.inference.tables.roomy_table import RoomyTable
from cae_sql.inference.ways import ALL
from tests.cae_sql.inference.told import Ints, Possible, Told
from tests.quick import rounds

WAVES = 3


@pytest.fixture
def pooled_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else pays."""
    alone, nothing = ALL.without("closed_form", "bases"), RoomyTable.nothing
    monkeypatch.setattr(RoomyTable, "nothing", partial(nothing, ways=alone))


def tight(seed: int, insiders: int) -> Told:
    """Units in each of three waves; a few have little together, and random sets of rows are summed."""
    rng = np.random.default_rng([seed, insiders])
    units, some = (60, (4, 9)) if insiders else (12, (2, 5))
    size, top, few = units * WAVES, int(rng.choice([3, 8, 20])), int(rng.integers(*some)) * WAVES
    truth = rng.integers(0, top + 1, size)
    least, most = (4 * top, 14 * top) if insiders else (top, 5 * top)
    truth[:few] = rng.multinomial(int(rng.integers(least, most + 1)), np.ones(few) / few).clip(0, top)
    told = Told(truth, top, units=np.arange(size) // WAVES)
    told.ask("sum", np.arange(few))
    for wave in range(int(rng.integers(0, WAVES))):
        told.ask("sum", np.flatnonzero(np.arange(size) % WAVES == wave))
    for _ in range(int(rng.integers(1, 3 if insiders else 4))):
        told.ask("sum", np.flatnonzero(rng.random(size) < 0.5))
    return told


def judged(told: Told, need: int, insiders: int) -> bool:
    """Whether the last answer is shown to be safe."""
    question = told.question(told.roomy_table(len(told.queries) - 1), 1)
    standard = Standard(need, None, insiders)
    judgement = question.judge_around_table(tuple(told.values[-1:]), standard, Allowance())
    return judgement is not None and judgement.safe


def with_total(told: Told, rows: Ints) -> Possible:
    """The tables, with the sum of some records as one more of them, the last."""
    total = Query(
        kind="sum",
        members=np.append(rows, told.size),
        coefficients=np.append(np.ones(len(rows)), -1).astype(int),
    )
    found = Possible(told.size + 1, told.top, [*told.queries, total], [*told.values, 0])
    found.high[told.size] = len(rows) * told.top
    return found


def known_to(told: Told, rows: Ints, way: int) -> dict[int, int]:
    """What an insider may have: in one record after the other as much, or as little, as can be."""
    possible, fixed = told.program(), dict[int, int]()
    for row in rows.tolist():
        value = possible.end(row, way, fixed)
        assert value is not None
        fixed[row] = value
    return fixed


def pairs(told: Told, insiders: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Units that have little, each by itself, or four pairs of one of them and an insider."""
    few = len(told.queries[0].members) // WAVES
    if not insiders:
        return [(unit, unit) for unit in range(few)]
    drawn = rng.integers(0, few, (4, 2)).tolist()
    return [(unit, insider) for unit, insider in drawn if unit != insider]


def too_narrow(seed: int, insiders: int) -> tuple[int, list[str]]:
    """How many units of a tight system were looked at, and what an integer program contradicts."""
    told, rng = tight(seed, insiders), np.random.default_rng(seed)
    need = max((need for need in range(1, told.top + 1) if judged(told, need, insiders)), default=0)
    if not need:
        return 0, []
    found, looked_at = list[str](), pairs(told, insiders, rng)
    for unit, insider in looked_at:
        mine = np.arange(WAVES) + WAVES * unit
        for way in (-1, 1) if insiders else (0,):
            fixed = known_to(told, np.arange(WAVES) + WAVES * insider, way) if way else {}
            for rows in (mine, mine[:2], mine[1:]):
                if not with_total(told, rows).run(told.size, fixed, need * len(rows), rng):
                    found.append(f"seed {seed}: {rows} have no run of {need} each where {fixed} is known")
    return len(looked_at), found


def none_found(insiders: int) -> None:
    """Nothing is contradicted, of many units."""
    looked_at, found = 0, list[str]()
    for seed in range(rounds(60)):
        more, wrong = too_narrow(seed, insiders)
        looked_at, found = looked_at + more, found + wrong
    assert not found
    assert looked_at >= rounds(40)


@pytest.mark.slow
@pytest.mark.parametrize("insiders", [0, 1])
def test_no_sum_over_a_units_records_is_shown_a_run_that_an_integer_program_excludes(insiders: int) -> None:
    none_found(insiders)


@pytest.mark.slow
@pytest.mark.usefixtures("pooled_alone")
def test_no_run_is_excluded_where_payments_alone_show() -> None:
    none_found(insiders=0)


def all_of_every_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a unit do not divide rooms."""
    monkeypatch.setattr(
        sharing.Sharing, "divisions", lambda _, lacking, __: np.ones(len(lacking), dtype=np.int64)
    )


def part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of a unit is shown although others of its parts are not."""
    monkeypatch.setattr(
        coverage.Shown,
        "of",
        lambda width, own, free, _: coverage.Shown(width, own, free, np.flatnonzero(~(own & free))),
    )
    monkeypatch.setattr(Occupied, "parts", lambda _, flags: flags)


def nothing_kept_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    """What records inside of a part need is given to others, too."""
    monkeypatch.setattr(Rooms, "keep_inside", lambda *_: None)


@pytest.mark.parametrize(
    ("careless", "seed", "insiders"),
    [
        (all_of_every_room, 0, 0),
        (all_of_every_room, 13, 1),
        (part_by_part, 88, 0),
        (nothing_kept_inside, 2, 0),
    ],
)
def test_rooms_that_two_parts_of_a_unit_use_are_noticed(
    monkeypatch: pytest.MonkeyPatch, careless: Callable[[pytest.MonkeyPatch], None], seed: int, insiders: int
) -> None:
    assert not too_narrow(seed, insiders)[1]
    careless(monkeypatch)
    assert too_narrow(seed, insiders)[1]


@pytest.mark.usefixtures("pooled_alone")
def test_moves_that_a_units_other_records_pay_for_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not too_narrow(0, 0)[1]
    shares = payments._Shares.__init__

    def nothing_is_lost(
        self: payments._Shares, rooms: Rooms, need: int, marks: Columns, divided: int
    ) -> None:
        shares(self, rooms, need, marks, divided)
        self.kept = self.rooms

    monkeypatch.setattr(payments._Shares, "__init__", nothing_is_lost)
    assert too_narrow(0, 0)[1]
