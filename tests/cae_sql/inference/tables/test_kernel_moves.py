"""Kernel moves keep every sum, past and new, whatever becomes of the parts they were found for."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from cae_sql.inference.tables.kernel_moves import (
    LONGEST,
    MOST_EACH,
    NO_MOVES,
    Descent,
    Moves,
    joined,
    shorten,
)
from tests.quick import rounds


def moves_at_random(rng: np.random.Generator, atoms: int, count: int) -> Moves:
    """Moves over atoms, whatever they change."""
    whom = np.sort(rng.integers(0, atoms, count)).astype(np.int32)
    parts, by, starts = list[int](), list[int](), [0]
    for who in whom.tolist():
        others = np.setdiff1d(np.arange(atoms), [who])
        some = rng.choice(others, int(rng.integers(1, min(6, atoms - 1) + 1)), replace=False)
        parts += some.tolist()
        by += rng.choice([-2, -1, 1], len(some)).tolist()
        starts.append(len(parts))
    return Moves(whom, np.array(starts), np.array(parts, dtype=np.int32), np.array(by, dtype=np.int32))


def vectors(moves: Moves, count: int) -> NDArray[np.int64]:
    """(m, count) what each part gains, the record's own unit included."""
    found = np.zeros((moves.count, count), dtype=np.int64)
    for number in range(moves.count):
        found[number, moves.gainers[number]] += 1
        entries = slice(moves.starts[number], moves.starts[number + 1])
        for part, by in zip(moves.parts[entries].tolist(), moves.by[entries].tolist(), strict=True):
            found[number, part] += by
    return found


def cut(rng: np.random.Generator, atoms: int, parts: int) -> NDArray[np.int64]:
    """The atom of each part: the first parts are the atoms' own."""
    return np.concatenate([np.arange(atoms), rng.integers(0, atoms, parts - atoms)])


@pytest.mark.parametrize("news", [0, 1, 2])
def test_over_parts_a_move_is_the_same_for_the_atoms_and_is_dropped_or_keeps_new_sums(news: int) -> None:
    rng, made = np.random.default_rng(news), 0
    for _ in range(rounds(60)):
        atoms = int(rng.integers(3, 12))
        moves = moves_at_random(rng, atoms, int(rng.integers(1, 10)))
        parents = cut(rng, atoms, atoms + int(rng.integers(0, 10)))
        rows = rng.integers(-1, 2, (news, len(parents))).astype(np.int32)
        room = rng.integers(0, 9, len(parents))
        found = moves.over_parts(parents, room, rows)
        assert (np.diff(found.gainers) >= 0).all()
        changes = vectors(found, len(parents))
        folded = np.zeros((found.count, atoms), dtype=np.int64)
        for part, atom in enumerate(parents.tolist()):
            folded[:, atom] += changes[:, part]
        before = {tuple(each) for each in vectors(moves, atoms).tolist()}
        assert {tuple(each) for each in folded.tolist()} <= before
        assert not (changes @ rows.T.astype(np.int64)).any()
        made += found.count
    assert made


def test_over_atoms_a_move_gains_what_its_parts_did_and_never_asks_its_own_atom() -> None:
    rng, dropped = np.random.default_rng(5), 0
    for _ in range(rounds(60)):
        parts = int(rng.integers(4, 14))
        atoms = int(rng.integers(2, parts))
        parents, moves = cut(rng, atoms, parts), moves_at_random(rng, parts, 8)
        found = moves.over_atoms(parents)
        wanted = list[list[int]]()
        for number, change in enumerate(vectors(moves, parts)):
            who = int(moves.gainers[number])
            change[who] -= 1
            mine = parents[who]
            if any(parents[part] == mine for part in np.flatnonzero(change)):
                dropped += 1
                continue
            folded = np.bincount(parents, weights=change, minlength=atoms).astype(np.int64)
            folded[mine] += 1
            wanted.append(folded.tolist())
        assert sorted(vectors(found, atoms).tolist()) == sorted(wanted)
        assert (np.diff(found.gainers) >= 0).all()
    assert dropped


def test_a_move_that_asks_the_record_itself_or_changes_a_sum_is_noticed() -> None:
    marks = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.int8)
    starts, whom = np.array([0, 1, 2, 3]), np.zeros(3, dtype=np.int32)
    parts, by = np.array([1, 0, 2], dtype=np.int32), np.array([-1, -1, -1], dtype=np.int32)
    assert Moves(whom, starts, parts, by).kept_by(marks).tolist() == [True, False, False]


def test_of_joined_moves_those_of_the_first_come_first_and_no_more_than_may_be_kept() -> None:
    rng = np.random.default_rng(1)
    one, other = moves_at_random(rng, 4, 30), moves_at_random(rng, 4, 2000)
    whole = joined([one, NO_MOVES, other])
    firsts, ends = whole.of(np.arange(4))
    counts = [np.bincount(each.gainers, minlength=4) for each in (one, other)]
    assert (ends - firsts == np.minimum(MOST_EACH, sum(counts))).all()
    for part in range(4):
        theirs = vectors(one, 4)[one.gainers == part]
        assert (vectors(whole, 4)[firsts[part] :][: len(theirs)] == theirs).all()
    assert joined([]).count == NO_MOVES.count == 0


def test_moves_that_are_too_long_are_dropped() -> None:
    parts = np.arange(1, LONGEST + 2, dtype=np.int32)
    moves = Moves(np.zeros(1, np.int32), np.array([0, len(parts)]), parts, np.ones_like(parts))
    rows = np.zeros((1, len(parts) + 1), dtype=np.int32)
    everyone = np.arange(len(parts) + 1)
    assert not moves.over_parts(everyone, everyone, rows).count


def test_no_helper_is_taken_beyond_the_last_where_rounding_left_less_than_nothing_to_pay() -> None:
    none, single = np.zeros((2, 3), dtype=np.int64), np.float32
    descent = Descent(
        room=none,
        kept=none,
        free=none,
        load=none,
        steps=np.zeros(3, dtype=np.int64),
        turn=np.zeros(3, dtype=np.int64),
        lost=np.zeros(3, dtype=np.int64),
        firsts=np.zeros(0, dtype=np.int64),
        units=np.zeros(0, dtype=np.int64),
        carried=np.zeros(0, dtype=np.int64),
        met=np.zeros(0, dtype=np.int64),
        less=np.zeros(3, dtype=np.int64),
        near=np.zeros(3, dtype=np.int64),
        most=np.zeros(3, dtype=np.int64),
        now=np.zeros(3, dtype=np.int64),
        parts=np.arange(3),
        columns=np.array([[1, 0]], dtype=np.int8),
        weights=np.ones(1, dtype=single),
        lengths=np.array([-10, 0], dtype=single),  # 1 and 0, but for what rounding has added up to
        costs=np.array([[1, 1], [0, 1]], dtype=single),
        left=np.array([1]),
        used=np.zeros(24, dtype=np.int64),
        signs=np.zeros(2, dtype=np.int8),
        along=np.ones(2, dtype=single),
        gains=np.ones(2, dtype=single),
        looked=np.zeros(1, dtype=np.int64),
    )
    # as Python it would raise IndexError; compiled, it reads and writes what is behind the array
    assert (shorten.py_func(descent), descent.used[0], descent.left.tolist()) == (1, 0, [0])
