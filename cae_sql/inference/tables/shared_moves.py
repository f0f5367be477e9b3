"""Short kernel moves out of shared rooms, one after the other, each made of what the ones before have left.

A basis says how a part's gain is paid for; *helpers*, parts outside of it, make that shorter where rooms are
small: the one that lowers Σ (what a part pays / its room)² most, again and again, a descent in the lattice
of all ways to pay, as in size reduction. Rooms are those that are left: so many parts pay a little each where
nobody can pay much. All of it holds in whole numbers, whatever the floats by which it was chosen.

`pay` moves single records: by kept moves first, then by moves that are looked for. What is lost where one
record of a part that pays is left out is counted on the way (`cae_sql.inference.certify.pooled_payments`
has the proof). `collected` and `mended` move tables.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import as_int64, compiled
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.columns import Columns
from cae_sql.inference.tables.kept_moves import Moves, Whole, wider
from cae_sql.inference.tables.margins import Toll

HELPERS = 2_000
"""Parts that may help whatever sums they are in, the roomiest."""
STEPS = 24
"""Helpers of one move, at most: nearly all find nothing shorter after five."""
TRIES = 4
"""How often a move that cannot be made is looked for again without what is in its way."""
MOST_MOVES = 64
"""Of one record to one side, at most."""
SLOTS = 16
"""Of so many numbers what nobody has been asked for yet is kept at once: what it takes to weigh all helpers
was nearly half of what looking for moves took."""
UNABLE, NO_ROOM = np.float32(1e30), np.float32(9.0)
"""What it counts for that a helper moves who has no room, and what a basic part weighs that has none."""
LEAST_GAIN = 1e-4
"""A helper is taken where it shortens a move by so much of what it is, squared."""

Singles = NDArray[np.float32]


def helpers_of(marks: Columns, able: Ints, room: Ints, enough: int) -> Ints:
    """Of some parts (a,) those that may help: few, or the roomiest (a,) of everybody and of each sum (p', k).

    Those of one sum shall be able to move as far as is enough together, if there are so many.
    """
    if len(able) <= HELPERS:
        return able
    chosen = np.zeros(len(able), dtype=np.bool_)
    order = np.argsort(-room, kind="stable")
    chosen[order[:HELPERS]] = True
    theirs = marks[able[order]] != 0
    before = np.cumsum(np.where(theirs, room[order][:, None], 0), axis=0)
    chosen[order] |= (theirs & (before <= enough)).any(axis=1)
    return able[chosen]


def spread_out(parts: NDArray[np.float64], marks: Columns, room: NDArray[np.number]) -> Ints:
    """Reals (p',), none negative, rounded so that they add up in the sum (p', k) with least room (p',)."""
    used = marks != 0
    sums = used.T.astype(np.float64) @ room
    tightest = np.argmin(np.where(used, sums, np.inf), axis=1) if marks.shape[1] else np.zeros(len(room))
    order = np.lexsort((room, tightest))
    ends = np.floor(np.cumsum(parts[order]) + 1e-6)
    found: Ints = np.empty(len(parts), dtype=np.int64)
    found[order] = np.diff(ends, prepend=0).astype(np.int64)
    return found


class Asked(NamedTuple):
    """What one record's moves may ask, and have asked, of p' parts: (2, p') down and up, or (p',)."""

    room: Ints  # what each part may lose and gain
    kept: Ints  # the same where one of its records does not
    free: Ints  # what each may still lose and gain, where `turn` is this record's: see `_meet`
    load: Ints  # what they have lost and gained so far
    touched: Ints  # how many steps have asked them
    turn: Ints  # for which record, last, these three were filled in
    now: Ints  # (3,) this record's turn and part, and what one alone may carry beyond `kept`


class Payers(NamedTuple):
    """k basic parts and h helpers, and the move that is looked for among them."""

    parts: Ints  # (k + h,) the basic parts, then the helpers
    theirs: Columns  # (k, h) columns of the helpers
    weights: Singles  # (k,) what basic parts weigh
    lengths: Singles  # (h,) of the helpers' columns, squared
    costs: Singles  # (2, h) what it counts for that a helper falls, or rises; spoiled for those in use
    left: Ints  # (k,) what the basic parts lose
    used: Ints  # places of the helpers that are taken
    signs: NDArray[np.int8]  # (h,) 1 and -1 for those of them that rise and fall
    along: Singles  # (h,) what each column has in common with what is to be paid
    gains: Singles  # (h,) by how much each shortens it
    looked: Ints  # (1,) how often all helpers were looked at


class Made(NamedTuple):
    """Moves that are written down, as in `Moves`; `steps` says how far each went."""

    number: Ints  # (1,) how many
    whom: Whole
    starts: Ints
    steps: Ints
    parts: Whole
    by: Whole


class Records(NamedTuple):
    """a records that shall rise."""

    whom: Ints  # (a,) their parts
    columns: Columns  # (a, k) of these
    own: Ints  # (a,) what a record's fellows give it
    lost: Ints  # (a,) how much less they do, one of them aside
    target: Ints  # (a,) how far each shall go; no further is tried
    firsts: Ints  # (a,) the first kept move of each
    ends: Ints  # (a,) the one after its last
    reached: Ints  # (a,) filled: how far each goes, whoever else is left out
    looked: Ints  # (a,) how often all helpers were looked at for each; added to


@compiled()
def _asked(room: Ints, kept: Ints) -> Asked:
    count = room.shape[1]
    free, load = np.zeros(room.shape, np.int64), np.zeros(room.shape, np.int64)
    touched, turn = np.zeros(count, np.int64), np.zeros(count, np.int64)
    return Asked(room, kept, free, load, touched, turn, np.zeros(3, np.int64))


@compiled()
def _around(free: Ints) -> Asked:
    """Where everybody may lose and gain so much, whoever is left out; `free` is changed."""
    asked = _asked(free.copy(), free.copy())
    return Asked(asked.room, asked.kept, free, asked.load, asked.touched, asked.turn, asked.now)


@compiled()
def _payers(parts: Ints, theirs: Columns, looked: Ints) -> Payers:
    size, many = theirs.shape
    return Payers(
        parts, theirs, np.empty(size, np.float32), np.empty(many, np.float32),
        np.empty((2, many), np.float32), np.empty(size, np.int64), np.empty(STEPS, np.int64),
        np.zeros(many, np.int8), np.empty(many, np.float32), np.empty(many, np.float32), looked,
    )  # fmt: skip


@compiled()
def _made(moves: int, entries: int) -> Made:
    whom, starts, steps = np.empty(moves, np.int32), np.zeros(moves + 1, np.int64), np.empty(moves, np.int64)
    return Made(
        np.zeros(1, np.int64), whom, starts, steps, np.empty(entries, np.int32), np.empty(entries, np.int32)
    )


@compiled()
def _roomier(made: Made, moves: int, entries: int) -> Made:
    """The same with place for so many moves more, and for their entries."""
    count, (high, wide) = made.number[0], (len(made.whom), len(made.parts))
    if count + moves >= high:
        high = 2 * high + moves
    if made.starts[count] + entries > wide:
        wide = 2 * wide + entries
    if high == len(made.whom) and wide == len(made.parts):
        return made
    return Made(
        made.number, wider(made.whom, high), wider(made.starts, high + 1), wider(made.steps, high),
        wider(made.parts, wide), wider(made.by, wide),
    )  # fmt: skip


# --- what is asked of those who pay


@compiled()
def _begin(asked: Asked, turn: int, who: int, most: int) -> None:
    """Of a record's moves to one side."""
    asked.now[0], asked.now[1], asked.now[2] = turn, who, most
    _meet(asked, who)


@compiled()
def _whole(asked: Asked, side: int, part: int) -> int:
    """What a part may lose, or gain, before it is asked for the first time."""
    found: int = min(asked.room[side, part], asked.kept[side, part] + asked.now[2])
    return found


@compiled()
def _meet(asked: Asked, part: int) -> None:
    """Fill in what a part may lose and gain for one record's moves, before it is asked for the first time."""
    if asked.turn[part] != asked.now[0]:
        asked.turn[part], asked.touched[part] = asked.now[0], 0
        for side in range(2):
            asked.free[side, part] = 0 if part == asked.now[1] else _whole(asked, side, part)
            asked.load[side, part] = 0


@compiled()
def _take(asked: Asked, part: int, by: int, step: int) -> int:
    """Take what a move uses of one who pays; how much is lost in all where one of its records does not."""
    side, entry = 0 if by < 0 else 1, abs(by)
    asked.free[side, part] -= step * entry
    asked.load[side, part] += step * entry
    asked.touched[part] += step
    load, kept = asked.load, asked.kept
    beyond = max(load[0, part] - kept[0, part], 0) + max(load[1, part] - kept[1, part], 0)
    lost: int = min(beyond, asked.touched[part])
    return lost


@compiled()
def _tolled(toll: Toll, who: int, parts: Whole, by: Whole, first: int, end: int, step: int) -> int:
    """How far a move goes for what may be spent on it; that is spent."""
    if step <= 0 or len(toll.budget) == 0:
        return step
    for m in range(len(toll.budget)):
        price = _price(toll, m, who, parts, by, first, end)
        if price * step > toll.budget[m]:
            step = min(step, int(toll.budget[m] / price))
    if step > 0:
        for m in range(len(toll.budget)):
            toll.budget[m] -= step * _price(toll, m, who, parts, by, first, end)
    return step


@compiled()
def _price(toll: Toll, m: int, who: int, parts: Whole, by: Whole, first: int, end: int) -> float:
    """What one step of a move costs."""
    change, paid = toll.gradient[m, who], 0.0
    for e in range(first, end):
        change += by[e] * toll.gradient[m, parts[e]]
        paid += abs(by[e]) * toll.cost[m, parts[e]]
    price: float = abs(change) + paid
    return price


# --- moves of records


@compiled(exact=True)
def pay(
    records: Records, theirs: Columns, parts: Ints, room: Ints, kept: Ints, moves: Moves, toll: Toll,
    part: int, start: int, end: int,
) -> tuple[Whole, Ints, Whole, Whole]:  # fmt: skip
    """How far records start..end rise, by kept moves and by those that are looked for; the latter, as
    `Moves`.

    The parts that pay are k basic ones and h helpers, with columns `theirs` (k, h); where there are none,
    kept moves are all there is. Each may lose and gain its room (2, p'), and `kept` where one of its records
    does not. The toll is what one record's moves may cost in all. Nobody alone carries more than one part in
    so many.
    """
    size, many = theirs.shape
    asked, made = _asked(room, kept), _made(1024, 16384)
    payers = _payers(parts, theirs, np.zeros(1, np.int64))
    spent = Toll(toll.gradient, toll.cost, toll.budget.copy())
    # what nobody has been asked for yet is worked out once for all who may ask as much of one
    asks = np.full(SLOTS, -1, np.int64)
    weights, lengths = np.empty((SLOTS, size), np.float32), np.empty((SLOTS, many), np.float32)
    costs = np.empty((SLOTS, 2, many), np.float32)
    for place in range(start, end):
        target = records.target[place]
        if target <= 0:
            continue
        spent.budget[:] = toll.budget
        most = max(1, -(-target // part))
        _begin(asked, place + 1, records.whom[place], most)
        total, worst = _by_kept(
            asked, moves, records.firsts[place], records.ends[place], spent, records.own[place],
            records.lost[place], target,
        )  # fmt: skip
        if total - worst < target and size > 0:
            payers.looked[0] = 0
            slot = most % SLOTS
            if asks[slot] != most:
                asks[slot] = most
                _weighed(payers, asked)
                weights[slot], lengths[slot], costs[slot] = payers.weights, payers.lengths, payers.costs
            payers.weights[:], payers.lengths[:], payers.costs[:] = weights[slot], lengths[slot], costs[slot]
            for i in range(size + many):
                if asked.turn[parts[i]] != place + 1:
                    continue
                if i >= size:
                    _cost(payers, asked, i - size)
                elif _weight(asked, parts[i]) != payers.weights[i]:
                    _weigh_again(payers, asked, i)
            made = _roomier(made, MOST_MOVES, MOST_MOVES * (size + STEPS))
            total, worst = _spend(
                payers, asked, spent, records.columns[place], total, worst, target, MOST_MOVES, made
            )
            records.looked[place] += payers.looked[0]
        records.reached[place] = max(total - worst, 0)
    count = made.number[0]
    entries = made.starts[count]
    return made.whom[:count], made.starts[: count + 1], made.parts[:entries], made.by[:entries]


@compiled()
def _by_kept(
    asked: Asked, moves: Moves, first: int, end: int, spent: Toll, total: int, worst: int, target: int
) -> tuple[int, int]:
    """Make some kept moves, each as far as the ones before leave: steps in all, and those that are lost."""
    parts, by = moves.parts, moves.by
    for m in range(first, end):
        if total - worst >= target:
            break
        step = target + worst - total
        for e in range(moves.starts[m], moves.starts[m + 1]):
            _meet(asked, as_int64(parts[e]))
            step = min(step, asked.free[0 if by[e] < 0 else 1, parts[e]] // abs(by[e]))
            if step <= 0:
                break
        step = _tolled(spent, asked.now[1], parts, by, moves.starts[m], moves.starts[m + 1], step)
        if step > 0:
            total += step
            for e in range(moves.starts[m], moves.starts[m + 1]):
                worst = max(worst, _take(asked, as_int64(parts[e]), as_int64(by[e]), step))
    return total, worst


@compiled()
def _spend(
    payers: Payers, asked: Asked, spent: Toll, column: NDArray[np.signedinteger], total: int, worst: int,
    target: int, most: int, made: Made,
) -> tuple[int, int]:  # fmt: skip
    """Look for moves and make them, so many at most: steps in all, and those that are lost with somebody.

    `column` (k,) is what the basic parts lose for a step. There were so many steps before; without those that
    are lost they shall come to the target. What is asked, spent and made is added to.
    """
    size, tries, left = len(payers.left), 0, payers.left
    for _ in range(most):
        if total - worst >= target:
            break
        for i in range(size):
            left[i] = column[i]
        count = shorten(payers)
        step, blocks = _possible(payers, asked, count, target + worst - total)
        if step > 0:
            first = made.starts[made.number[0]]
            end = _written(payers, count, made)
            step = _tolled(spent, asked.now[1], made.parts, made.by, first, end, step)
            blocks = -1 if step <= 0 else blocks
        if step > 0:
            total += step
            for e in range(first, end):
                lost = _take(asked, as_int64(made.parts[e]), as_int64(made.by[e]), step)
                worst = max(worst, lost)
            for i in range(size):
                if left[i] != 0:
                    payers.looked[0] += 1
                    _weigh_again(payers, asked, i)
            number = made.number[0]
            made.whom[number], made.steps[number], made.starts[number + 1] = asked.now[1], step, end
            made.number[0] += 1
        for n in range(count):
            payers.signs[payers.used[n]] = 0
            _cost(payers, asked, payers.used[n])
        if step <= 0:
            tries += 1
            if tries > TRIES or blocks < 0:
                break
            _weigh(payers, blocks, payers.weights[blocks] * np.float32(15))
    return total, worst


@compiled()
def _written(payers: Payers, count: int, made: Made) -> int:
    """Write a move behind those that are made; where it ends."""
    end = int(made.starts[made.number[0]])
    for i in range(len(payers.left)):
        if payers.left[i] != 0:
            made.parts[end], made.by[end] = payers.parts[i], -payers.left[i]
            end += 1
    for n in range(count):
        helper = payers.used[n]
        made.parts[end], made.by[end] = payers.parts[len(payers.left) + helper], payers.signs[helper]
        end += 1
    return end


# --- moves of tables


@compiled(exact=True)
def collected(
    column: Ints, theirs: Columns, free: Ints, target: int, most: int, load: Ints, looked: Ints
) -> int:
    """How far a change goes, by moves out of shared rooms.

    `column` (k,) is what the basic parts lose for a unit of it, `free` (2, k + h) what each who pays may lose
    and gain: it is changed, and what they lose and gain added to `load`.
    """
    size, many = theirs.shape
    payers, asked = _payers(np.arange(size + many), theirs, looked), _around(free)
    made = _made(most + 1, most * (size + STEPS))
    _weighed(payers, asked)
    nothing = Toll(np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0))
    total, _ = _spend(payers, asked, nothing, column, as_int64(0), as_int64(0), target, most, made)
    load += asked.load
    return int(total)


@compiled(exact=True)
def mended(change: Ints, theirs: Columns, free: Ints, by: Ints, most: int, looked: Ints) -> bool:
    """Whether basic parts find room for a change (k,) that they must make, by helpers.

    It is how much they must fall, and is changed to how much they do. `free` (2, k + h) is changed; `by` (h,)
    becomes how much each helper gains. Helpers are looked for so often at most.
    """
    size, many = theirs.shape
    payers, asked = _payers(np.arange(size + many), theirs, looked), _around(free)
    _weighed(payers, asked)
    left = payers.left
    left[:] = change
    for _ in range(most):
        blocked = 0
        for i in range(size):
            blocked += abs(left[i]) > free[0 if left[i] > 0 else 1, i]
        if not blocked:
            break
        count = shorten(payers)
        for n in range(count):
            j = payers.used[n]
            side = 0 if payers.signs[j] < 0 else 1
            free[side, size + j] -= 1
            free[1 - side, size + j] += 1
            by[j] += payers.signs[j]
            payers.signs[j] = 0
            _cost(payers, asked, j)
        if count == 0:
            # whoever is in the way weighs more
            for i in range(size):
                if abs(left[i]) > free[0 if left[i] > 0 else 1, i]:
                    _weigh(payers, i, payers.weights[i] * np.float32(3))
                    looked[0] += 1
    change[:] = left
    return blocked == 0


# --- the shortest way to pay


@compiled()
def _possible(payers: Payers, asked: Asked, count: int, most: int) -> tuple[int, int]:
    """How often a move can be made, and the basic part that is in its way; −1: none is."""
    step, blocks, left, parts = most, -1, payers.left, payers.parts
    for i in range(len(left)):
        if left[i] != 0:
            _meet(asked, parts[i])
            able = asked.free[0 if left[i] > 0 else 1, parts[i]] // abs(left[i])
            if able < step:
                step, blocks = able, i
    for n in range(count):
        part = parts[len(left) + payers.used[n]]
        _meet(asked, part)
        step = min(step, asked.free[0 if payers.signs[payers.used[n]] < 0 else 1, part])
    return max(step, 0), blocks


@compiled()
def _weighed(payers: Payers, asked: Asked) -> None:
    """Fill what basic parts weigh, the lengths of the helpers' columns, and what helpers cost, unasked."""
    size, many = payers.theirs.shape
    payers.looked[0] += size
    for j in range(many):
        payers.lengths[j] = 0
        part = payers.parts[size + j]
        for side in range(2):
            payers.costs[side, j] = _scarcity(_whole(asked, side, part), UNABLE)
    for i in range(size):
        payers.weights[i] = 0
        part = payers.parts[i]
        room = min(_whole(asked, 0, part), _whole(asked, 1, part))
        _weigh(payers, i, _scarcity(room, NO_ROOM))


@compiled()
def _scarcity(room: int, none: np.float32) -> np.float32:
    """1 / room², of somebody who pays; `none` without room."""
    return np.float32(1.0 / (room * room)) if room > 0 else none


@compiled()
def _weight(asked: Asked, part: int) -> np.float32:
    """Of a basic part: what it pays, squared, counts for so much."""
    return _scarcity(min(asked.free[0, part], asked.free[1, part]), NO_ROOM)


@compiled()
def _weigh_again(payers: Payers, asked: Asked, i: int) -> None:
    """What a basic part weighs that was asked."""
    _weigh(payers, i, _weight(asked, payers.parts[i]) - payers.weights[i])


@compiled(fastmath={"nnan", "ninf", "nsz"})
def _weigh(payers: Payers, i: int, by: np.floating) -> None:
    """Let a basic part weigh more, in all helpers' columns too."""
    more, lengths, row = np.float32(by), payers.lengths, payers.theirs[i]
    payers.weights[i] += more
    for j in range(len(lengths)):
        lengths[j] += more * row[j] * row[j]


@compiled()
def _cost(payers: Payers, asked: Asked, helper: int) -> None:
    """What it counts for that a helper moves: nobody without room does."""
    part = payers.parts[len(payers.left) + helper]
    for side in range(2):
        payers.costs[side, helper] = _scarcity(asked.free[side, part], UNABLE)


@compiled(fastmath={"nnan", "ninf", "nsz"})
def _added(along: Singles, row: Columns, times: np.float32) -> None:
    """Add a row of the helpers' columns."""
    for j in range(len(along)):
        along[j] += times * row[j]


@compiled(fastmath={"nnan", "ninf", "nsz"})
def _gained(payers: Payers) -> np.float32:
    """By how much each helper shortens a move, falling or rising; the most."""
    fall, rise, along = payers.costs[0], payers.costs[1], payers.along
    gains, lengths = payers.gains, payers.lengths
    best = np.float32(0)
    for j in range(len(along)):
        twice = 2 * np.float64(along[j])
        gains[j] = max(twice - fall[j], -twice - rise[j]) - lengths[j]
    for j in range(len(along)):
        best = max(best, gains[j])
    return best


@compiled()
def shorten(payers: Payers) -> int:
    """Take the helpers that shorten most what is to be paid; how many. A helper is taken once in a move."""
    left, weights, along, gains = payers.left, payers.weights, payers.along, payers.gains
    size, theirs, square = len(left), payers.theirs, np.float32(0)
    for j in range(len(along)):
        along[j] = 0
    for i in range(size):
        if left[i]:
            payers.looked[0] += 1
            _added(along, theirs[i], np.float32(weights[i] * left[i]))
            square += np.float32(weights[i] * left[i] * left[i])
    count = 0
    while count < len(payers.used):
        payers.looked[0] += 2
        most = _gained(payers)
        # what is left to be paid is summed up in floats, and may come out below nothing
        if most <= np.float32(LEAST_GAIN) * max(square, np.float32(0)):
            break
        best = 0
        while best + 1 < len(gains) and gains[best] != most:
            best += 1
        # a helper that gains pays by its column too: what is left to be paid falls by it, times −1
        sign = -1 if along[best] > 0 else 1
        payers.signs[best], payers.used[count] = sign, best
        payers.costs[0, best] = payers.costs[1, best] = UNABLE
        count += 1
        square -= most
        for i in range(size):
            entry = theirs[i, best]
            if entry:
                left[i] += sign * entry
                payers.looked[0] += 1
                _added(along, theirs[i], np.float32(weights[i] * (sign * entry)))
    return count
