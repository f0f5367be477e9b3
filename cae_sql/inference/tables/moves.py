"""Moves between worlds: compiled steps along the tableau's directions, all of them whole numbers.

A free atom j raised by t takes basic atom i down by T_ij t. Sparse columns come as (starts, rows, entries):
column j is rows[starts[j]:starts[j+1]]. Atoms' rooms `up` and `down` say how far a total can rise and fall.
Every point on the way of every kernel is a world if the first one was.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import as_int64, compiled
from cae_sql.inference.facts.query import Ints

Mask = NDArray[np.bool_]


@compiled(exact=True)
def ranges(
    basic: Ints,
    free: Mask,
    starts: Ints,
    rows: Ints,
    entries: Ints,
    up: Ints,
    down: Ints,
    rise: Ints,
    fall: Ints,
) -> None:
    """How far each atom can rise and fall in single steps from one world; fills `rise` and `fall`.

    A free atom by its own move; a basic one by the best free atom that has ±1 in its row.
    """
    rise[:] = 0
    fall[:] = 0
    for j in range(len(free)):
        if not free[j]:
            continue
        high, low = up[j], down[j]
        for place in range(starts[j], starts[j + 1]):
            atom, weight = basic[rows[place]], entries[place]
            if weight > 0:
                high = min(high, down[atom] // weight)
                low = min(low, up[atom] // weight)
            else:
                high = min(high, up[atom] // -weight)
                low = min(low, down[atom] // -weight)
            if high == 0 and low == 0:
                break
        rise[j] = high
        fall[j] = low
        if high == 0 and low == 0:
            continue
        for place in range(starts[j], starts[j + 1]):
            atom, weight = basic[rows[place]], entries[place]
            if weight == 1:
                rise[atom] = max(rise[atom], low)
                fall[atom] = max(fall[atom], high)
            elif weight == -1:
                rise[atom] = max(rise[atom], high)
                fall[atom] = max(fall[atom], low)


@compiled()
def reach(
    j: int, sign: int | np.int64, basic: Ints, starts: Ints, rows: Ints, entries: Ints, up: Ints, down: Ints
) -> int:
    """How far free atom j can move in the direction of `sign`.

    A sign that is written out is given as np.int64: numba compiles anew for each literal number.
    """
    best = up[j] if sign > 0 else down[j]
    for place in range(starts[j], starts[j + 1]):
        if best == 0:
            return 0
        atom, weight = basic[rows[place]], entries[place] * sign
        best = min(best, down[atom] // weight if weight > 0 else up[atom] // -weight)
    return int(best)


@compiled()
def step(
    j: int, by: int, basic: Ints, starts: Ints, rows: Ints, entries: Ints, up: Ints, down: Ints, shift: Ints
) -> None:
    """Move free atom j by a signed amount that `reach` allows."""
    up[j] -= by
    down[j] += by
    shift[j] += by
    for place in range(starts[j], starts[j + 1]):
        atom, change = basic[rows[place]], -entries[place] * by
        up[atom] -= change
        down[atom] += change
        shift[atom] += change


@compiled()
def wander(
    basic: Ints,
    free: Mask,
    starts: Ints,
    rows: Ints,
    entries: Ints,
    up: Ints,
    down: Ints,
    shift: Ints,
    seed: int,
    sweeps: int,
) -> None:
    """Random moves of the totals: each free atom in turn to a uniform place of its range."""
    np.random.seed(seed)
    for _ in range(sweeps):
        for j in np.random.permutation(len(free)):
            if not free[j]:
                continue
            high = reach(j, np.int64(1), basic, starts, rows, entries, up, down)
            low = reach(j, np.int64(-1), basic, starts, rows, entries, up, down)
            if high + low > 0:
                by = np.random.randint(-low, high + 1)
                if by != 0:
                    step(j, by, basic, starts, rows, entries, up, down, shift)


@compiled()
def push(
    atom: int,
    sign: int,
    amount: int,
    basic: Ints,
    free: Mask,
    starts: Ints,
    rows: Ints,
    entries: Ints,
    up: Ints,
    down: Ints,
    shift: Ints,
    seed: int,
    tries: int,
) -> int:
    """Move one atom's total by up to `amount` steps of 1 in one direction; blocked basic atoms are relaxed.

    Every total on the way is taken by some world: only columns that move the atom by ±1 are used.

    Returns:
        How many steps were gained.
    """
    np.random.seed(seed)
    own = -1
    for i in range(len(basic)):
        if basic[i] == atom:
            own = i
    gains = np.zeros(len(free), np.int64)
    if own < 0:
        if not free[atom]:
            return 0
        gains[atom] = 1
    else:
        for j in range(len(free)):
            if free[j]:
                for place in range(starts[j], starts[j + 1]):
                    if rows[place] == own:
                        gains[j] = -entries[place]
    gained = 0
    for _ in range(tries):
        best, chosen, way = 0, as_int64(-1), as_int64(0)
        thin, target, target_way = 1 << 30, as_int64(-1), as_int64(0)
        for j in range(len(free)):
            if not free[j] or abs(gains[j]) != 1:
                continue
            direction = sign * gains[j]
            far = reach(j, direction, basic, starts, rows, entries, up, down)
            if far > best:
                best, chosen, way = far, j, direction
            if far == 0 and (up[j] if direction > 0 else down[j]) > 0:
                blockers = 0
                for place in range(starts[j], starts[j + 1]):
                    weight = entries[place] * direction
                    side = down[basic[rows[place]]] if weight > 0 else up[basic[rows[place]]]
                    if side < abs(weight):
                        blockers += 1
                blockers = 4 * blockers + np.random.randint(0, 4)
                if blockers < thin:
                    thin, target, target_way = blockers, j, direction
        if best > 0:
            by = min(best, amount - gained)
            step(chosen, way * by, basic, starts, rows, entries, up, down, shift)
            gained += by
            if gained >= amount:
                return gained
            continue
        if target < 0:
            return gained
        moved = 0
        for place in range(starts[target], starts[target + 1]):
            weight = entries[place] * target_way
            blocked = basic[rows[place]]
            side = down[blocked] if weight > 0 else up[blocked]
            if side >= abs(weight) * (amount - gained) or blocked == atom:
                continue
            relief, ally, ally_way = 0, as_int64(-1), as_int64(0)
            for j in range(len(free)):
                if not free[j] or j == target or abs(gains[j]) > 1:
                    continue
                for other in range(starts[j], starts[j + 1]):
                    if rows[other] == rows[place]:
                        # weight > 0: the target takes the blocked atom down, so help raises it
                        direction = -1 if (entries[other] > 0) == (weight > 0) else 1
                        if gains[j] * direction * sign < 0:
                            break
                        far = reach(j, direction, basic, starts, rows, entries, up, down)
                        value = far * abs(entries[other])
                        if far > 0 and value + np.random.randint(0, 1 + value // 4) > relief:
                            relief, ally, ally_way = value, j, direction
                        break
            if ally >= 0:
                far = reach(ally, ally_way, basic, starts, rows, entries, up, down)
                gain = gains[ally] * ally_way * sign
                if gain == 1:
                    far = min(far, amount - gained)
                if far > 0:
                    step(ally, ally_way * far, basic, starts, rows, entries, up, down, shift)
                    gained += gain * far
                    moved += 1
                    if gained >= amount:
                        return int(gained)
        if moved == 0:
            return gained
    return gained
