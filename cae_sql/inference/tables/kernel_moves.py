"""Kernel moves of single records: found by a descent out of shared slack, and kept for later questions.

A *kernel move* raises one part by a unit, and others fall or rise so that every answered sum stays as it is.
A basis gives one for each part: its column. *Helpers*, parts outside of the basis, make it shorter: the one
that lowers Σ (change of a basic part / its slack)² most is taken, again and again, a descent in the lattice
of all moves, as in size reduction. Slack is what earlier moves have left. Moves hold in whole numbers,
whatever the floats by which they were chosen.

`pay` moves single records (`cae_sql.inference.certify.payments` has the proof), `collected` moves
tables. `Moves` are kept by atoms. Where a question cuts atoms, a move goes to those of their parts with which
it keeps the new sums: that is added up anew for each question. Verdicts may hang on kept moves, so they come
from past answers and questions alone, never from true answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import as_int64, compiled
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.columns import Columns
from cae_sql.inference.tables.margins import Toll

MOST_EACH = 192
"""Moves of one record that are kept, those of use first."""
LONGEST = 48
"""Entries of a kept move, at most: longer ones ask too many."""
STEPS = 24
"""Helpers of one move, at most: nearly all find nothing shorter after five."""
TRIES = 4
"""How often a move that cannot be made is looked for again without what is in its way."""
MOST_MOVES = 64
"""Of one record to one side, at most."""
UNABLE, NO_ROOM = np.float32(1e30), np.float32(9.0)
"""What a helper without slack costs, and what a basic part without slack weighs."""
MUCH = 2**40
"""More than any part has."""
LEAST_GAIN = 1e-4
"""A helper is taken where it shortens a move by so much of what it is, squared."""

Whole = NDArray[np.int32]
Singles = NDArray[np.float32]


# --- kept moves


class Moves(NamedTuple):
    """m moves of records of p parts, with z entries; kernels take it as it is."""

    gainers: Whole  # (m,) the part that gains a unit, ascending
    starts: Ints  # (m + 1,) where the entries of each begin
    parts: Whole  # (z,) the paying parts: never the same one twice in a move, and never the one that gains
    by: Whole  # (z,) what it gains, positive or negative

    @property
    def count(self) -> int:  # type: ignore[override]
        """Moves."""
        return len(self.gainers)

    def of(self, parts: Ints) -> tuple[Ints, Ints]:
        """(a,) the first move of each of some parts, and the one after its last."""
        return np.searchsorted(self.gainers, parts), np.searchsorted(self.gainers, parts, side="right")

    def of_those(self, parts: Ints) -> Moves:
        """Those of some parts alone."""
        return self.taken(np.flatnonzero(np.isin(self.gainers, parts)))

    def taken(self, places: Ints) -> Moves:
        """Some of them, in the order given, which is by part."""
        lengths = np.diff(self.starts)[places]
        starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
        entries = np.arange(starts[-1]) + np.repeat(self.starts[places] - starts[:-1], lengths)
        return Moves(self.gainers[places], starts, self.parts[entries], self.by[entries])

    @property
    def _of(self) -> Ints:
        """(z,) the move that each entry is of."""
        return np.repeat(np.arange(self.count), np.diff(self.starts))

    def kept_by(self, marks: NDArray[np.signedinteger]) -> NDArray[np.bool_]:
        """(m,) whether no sum, of coefficients (p, k), changes and the record itself does not pay."""
        of = self._of
        found: NDArray[np.bool_] = np.bincount(of[self.parts == self.gainers[of]], minlength=self.count) == 0
        for column in marks.T:
            # whole numbers far below 2**53: the floats are exact
            change = np.bincount(of, self.by * column[self.parts].astype(np.int64), self.count)
            found &= change + column[self.gainers] == 0
        return found

    def over_atoms(self, parents: Ints) -> Moves:
        """The same over the atoms that the parts are of; without those that ask the atom itself to pay."""
        if len(parents) == 0 or parents.max() == len(parents) - 1:
            return self  # nothing was cut
        of, mine, atoms = self._of, parents[self.gainers], parents[self.parts]
        itself = np.bincount(of[atoms == mine[of]], minlength=self.count) > 0
        # what parts of one atom gain in a move is added up, in the order in which they first come
        _, first, place = np.unique(of * len(parents) + atoms, return_index=True, return_inverse=True)
        by = np.bincount(place, self.by, len(first)).astype(np.int32)
        order = np.argsort(first)
        entries, by = first[order][by[order] != 0], by[order][by[order] != 0]
        starts = np.searchsorted(of[entries], np.arange(self.count + 1))
        found = Moves(mine.astype(np.int32), starts, atoms[entries].astype(np.int32), by)
        well = np.flatnonzero(~itself)
        return found.taken(well[np.argsort(mine[well], kind="stable")])

    def over_parts(self, parents: Ints, room: Ints, rows: Whole) -> Moves:
        """The same for every part of an atom that gains, the roomiest part of each atom paying (p',).

        Those alone that keep new sums (g, p').
        """
        if not self.count:
            return self
        order = np.lexsort((-room, parents))
        firsts = np.searchsorted(parents[order], np.arange(int(parents.max()) + 2))
        times = np.diff(firsts)[self.gainers] * (np.diff(self.starts) <= LONGEST)
        found = self.taken(np.repeat(np.arange(self.count), times))
        turn = np.arange(found.count) - np.repeat(np.cumsum(times) - times, times)
        gainers = order[firsts[found.gainers] + turn].astype(np.int32)
        found = Moves(gainers, found.starts, order[firsts[found.parts]].astype(np.int32), found.by)
        well = np.flatnonzero(found.kept_by(rows.T))
        return found.taken(well[np.argsort(found.gainers[well], kind="stable")])


NO_MOVES = Moves(np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))
"""Nothing is kept yet."""


def joined(those: Sequence[Moves]) -> Moves:
    """Moves of several: of each part those of the first come first, and so many as may be kept."""
    those = [each for each in those if each.count]
    if len(those) <= 1:
        return those[0] if those else NO_MOVES
    lengths = np.concatenate([np.diff(each.starts) for each in those])
    gainers, parts, by = (np.concatenate([each[field] for each in those]) for field in (0, 2, 3))
    order = np.argsort(gainers, kind="stable")
    ordered = gainers[order]
    order = order[np.arange(len(order)) - np.searchsorted(ordered, ordered) < MOST_EACH]
    return Moves(gainers, np.append(0, np.cumsum(lengths)), parts, by).taken(order)


class Found(NamedTuple):
    """Moves that are written down, as in `Moves`, by a kernel."""

    gainers: list[int]
    starts: list[int]
    parts: list[int]
    by: list[int]


@compiled()
def _nothing_found() -> Found:
    return Found(
        [as_int64(n) for n in range(0)], [as_int64(0)], [as_int64(n) for n in range(0)],
        [as_int64(n) for n in range(0)],
    )  # fmt: skip


@compiled()
def _write(found: Found, gainer: int, parts: Whole, by: Whole, length: int) -> None:
    """Write down a move."""
    found.gainers.append(gainer)
    for e in range(length):
        found.parts.append(as_int64(parts[e]))
        found.by.append(as_int64(by[e]))
    found.starts.append(as_int64(len(found.parts)))


@compiled()
def _arrays(found: Found) -> tuple[Whole, Ints, Whole, Whole]:
    return (
        np.array(found.gainers, np.int32), np.array(found.starts, np.int64), np.array(found.parts, np.int32),
        np.array(found.by, np.int32),
    )  # fmt: skip


# --- the descent


class Descent(NamedTuple):
    """k basic parts and h helpers of p' parts, the move that is looked for, and what is left of their slack.

    Slack has two rows: what a part may lose, and what it may gain.
    """

    room: Ints  # (2, p') slack
    kept: Ints  # (2, p') the same where one record of a part gives nothing
    free: (
        Ints  # (2, p') what is left of it, where `turn` is that of the record that is looked at: see `_meet`
    )
    load: Ints  # (2, p') what the record's moves have taken
    steps: Ints  # (p',) of these moves, how many asked the part
    turn: Ints  # (p',) for which record, last, these were filled in
    lost: Ints  # (p',) of these moves, how many are lost with the unit that has most in a part
    firsts: Ints  # (p' + 1,) where the units in each part begin; empty: every record is a unit
    units: Ints  # which they are
    carried: Ints  # (u,) moves lost with each unit, where `met` is the record that is looked at
    met: Ints  # (u,)
    less: Ints  # (p',) what a part keeps from the record that is looked at, where `near` is that
    near: Ints  # (p',)
    most: Ints  # (3,) the most lost with one unit, with another one, and the first of them
    now: Ints  # (3,) the record's turn and part, and what one record alone may carry beyond `kept`
    parts: Ints  # (k + h,) the basic parts, then the helpers
    columns: Columns  # (k, h) of the helpers
    weights: Singles  # (k,) what a change of a basic part, squared, counts
    lengths: Singles  # (h,) of the helpers' columns, squared and weighed
    costs: Singles  # (2, h) what it counts that a helper falls, or rises; spoiled for those in use
    left: Ints  # (k,) what the basic parts lose in the move
    used: Ints  # places of the helpers in the move ...
    signs: NDArray[np.int8]  # (h,) ... of which those with 1 rise and those with −1 fall
    along: Singles  # (h,) what each column has in common with what the basic parts lose
    gains: Singles  # (h,) by how much each helper shortens the move
    looked: Ints  # (1,) how often all helpers were looked at


class UnitsByPart(NamedTuple):
    """Which units are in each part, where they have several records."""

    firsts: Ints  # (p' + 1,) where those of each part begin; empty where every record is a unit
    units: Ints
    starts: Ints  # (u + 1,) where the parts of each unit begin
    parts: Ints
    insiders: int
    inside: Ints = np.zeros(0, np.int64)  # (p',) what a part keeps from units that it has


class Records(NamedTuple):
    """a records that shall rise."""

    parts: Ints  # (a,) their parts
    columns: Columns  # (a, k) of these
    own: Ints  # (a,) what a record's fellows give it
    lost: Ints  # (a,) how much less they do, one of them aside
    target: Ints  # (a,) how far each shall go; no further is tried
    firsts: Ints  # (a,) the first kept move of each
    ends: Ints  # (a,) the one after its last
    reached: Ints  # (a,) filled: how far each goes, whichever other record is left out
    looked: Ints  # (a,) how often all helpers were looked at for each; added to


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


@compiled(exact=True)
def pay(
    records: Records, columns: Columns, parts: Ints, room: Ints, kept: Ints, moves: Moves, toll: Toll,
    part: int, units: UnitsByPart, start: int, end: int,
) -> tuple[Whole, Ints, Whole, Whole]:  # fmt: skip
    """How far records start..end rise, by kept moves and by those that are looked for; the latter, as
    `Moves`.

    The parts that pay are k basic ones and h helpers, with columns (k, h), or none. Each may lose and gain
    its room (2, p'), and `kept` where one of its records gives nothing. The toll is what one record's moves
    may cost in all. No record alone carries more than one part in so many.

    Where units have several records, `kept` is what a part has where the unit with most there gives nothing,
    and what is lost is lost with all records of a unit: the record's own and, beside an insider, another.
    """
    d, found = _descent(parts, columns, np.zeros(room.shape, np.int64), room, kept, units), _nothing_found()
    spent = Toll(toll.gradient, toll.cost, toll.budget.copy())
    # what nobody has been asked for yet is weighed once, for the farthest target
    if len(records.target):
        d.now[2] = _alone(records.target.max(), part, units)
    _weigh_all(d)
    weights, lengths, costs = d.weights.copy(), d.lengths.copy(), d.costs.copy()
    for place in range(start, end):
        target = records.target[place]
        if target <= 0:
            continue
        spent.budget[:] = toll.budget
        d.now[0], d.now[1], d.now[2] = place + 1, records.parts[place], _alone(target, part, units)
        _keep_inside(d, units)
        _meet(d, as_int64(records.parts[place]))
        d.most[:] = 0
        total, worst = records.own[place], records.lost[place]
        for m in range(records.firsts[place], records.ends[place]):
            if total - worst >= target:
                break
            step, lost, _ = _make(
                d, spent, moves.parts, moves.by, moves.starts[m], moves.starts[m + 1], target + worst - total
            )
            total, worst = total + step, max(worst, lost, records.lost[place] + _lost_with(d, units.insiders))
        if total - worst < target and len(d.left) > 0:
            d.looked[0], d.weights[:], d.lengths[:], d.costs[:] = 0, weights, lengths, costs
            for i in range(len(parts)):
                if d.turn[parts[i]] == d.now[0]:
                    _weigh_again(d, i)
            total, worst = _spend(
                d,
                spent,
                records.columns[place],
                total,
                worst,
                target,
                MOST_MOVES,
                found,
                units.insiders,
                records.lost[place],
            )
            records.looked[place] += d.looked[0]
        records.reached[place] = max(total - worst, 0)
    return _arrays(found)


@compiled(exact=True)
def collected(
    column: Ints, columns: Columns, free: Ints, target: int, most: int, load: Ints, looked: Ints
) -> int:
    """How far a change goes, by so many moves at most.

    `column` (k,) is what the basic parts lose for a unit of it, `free` (2, k + h) what each paying part may
    lose and gain: it is changed, and what they lose and gain added to `load`.
    """
    d = _descent(np.arange(free.shape[1]), columns, free, free.copy(), free.copy(), _no_units())
    _weigh_all(d)
    nothing = Toll(np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0))
    zero = as_int64(0)
    total, _ = _spend(d, nothing, column, zero, zero, target, most, _nothing_found(), zero, zero)
    load += d.load
    looked += d.looked
    return int(total)


@compiled()
def _no_units() -> UnitsByPart:
    none = np.zeros(0, np.int64)
    return UnitsByPart(none, none, none, none, as_int64(0), none)


@compiled()
def _descent(
    parts: Ints, columns: Columns, free: Ints, room: Ints, kept: Ints, units: UnitsByPart
) -> Descent:
    """Nobody was asked yet; where no record has a turn, what is free is all there is."""
    (size, many), count = columns.shape, room.shape[1]
    return Descent(
        room, kept, free, np.zeros((2, count), np.int64), np.zeros(count, np.int64),
        np.zeros(count, np.int64), np.zeros(count, np.int64), units.firsts, units.units,
        np.zeros(len(units.starts), np.int64), np.zeros(len(units.starts), np.int64),
        np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(3, np.int64),
        np.zeros(3, np.int64), parts, columns,
        np.empty(size, np.float32), np.empty(many, np.float32), np.empty((2, many), np.float32),
        np.empty(size, np.int64), np.empty(STEPS, np.int64), np.zeros(many, np.int8),
        np.empty(many, np.float32), np.empty(many, np.float32), np.zeros(1, np.int64),
    )  # fmt: skip


@compiled()
def _unasked(d: Descent, side: int, part: int) -> int:
    """What a part may lose, or gain, before it is asked for the first time."""
    found: int = min(d.room[side, part], d.kept[side, part] + d.now[2])
    return found


@compiled()
def _meet(d: Descent, part: int) -> None:
    """Fill in what a part may lose and gain for one record's moves, before it is asked for the first time."""
    if d.turn[part] != d.now[0]:
        d.turn[part], d.steps[part], d.lost[part] = d.now[0], 0, 0
        for side in range(2):
            less = d.less[part] if d.near[part] == d.now[0] else as_int64(0)
            d.free[side, part] = 0 if part == d.now[1] else max(_unasked(d, side, part) - less, as_int64(0))
            d.load[side, part] = 0


@compiled()
def _make(
    d: Descent, toll: Toll, parts: Whole, by: Whole, first: int, end: int, most: int
) -> tuple[int, int, int]:
    """Make a move, entries first..end, as far as slack and toll allow: how far, up to `most`; what is lost of
    all moves with one record; and the entry that allowed least, −1 where that is none.
    """
    step, blocks, worst = most, as_int64(-1), as_int64(0)
    for e in range(first, end):
        part = as_int64(parts[e])
        _meet(d, part)
        able = d.free[0 if by[e] < 0 else 1, part] // abs(by[e])
        if able < step:
            step, blocks = able, as_int64(e)
            if step <= 0:
                return as_int64(0), worst, blocks
    for m in range(len(toll.budget)):
        price = _price(toll, m, d.now[1], parts, by, first, end)
        if price * step > toll.budget[m]:
            step, blocks = min(step, int(toll.budget[m] / price)), as_int64(-1)
    if step <= 0:
        return as_int64(0), worst, blocks
    for m in range(len(toll.budget)):
        toll.budget[m] -= step * _price(toll, m, d.now[1], parts, by, first, end)
    for e in range(first, end):
        part, side, entry = parts[e], 0 if by[e] < 0 else 1, abs(by[e])
        d.free[side, part] -= step * entry
        d.load[side, part] += step * entry
        d.steps[part] += step
        beyond = max(d.load[0, part] - d.kept[0, part], 0) + max(d.load[1, part] - d.kept[1, part], 0)
        lost = min(beyond, d.steps[part])
        if len(d.firsts) == 0:
            worst = max(worst, lost)
        elif lost > d.lost[part]:
            _lose(d, part, lost - d.lost[part])
            d.lost[part] = lost
    return step, worst, blocks


@compiled()
def _keep_inside(d: Descent, units: UnitsByPart) -> None:
    """Keep what other parts of the units in the part that is judged need for themselves."""
    if len(units.firsts) == 0:
        return
    for n in range(units.firsts[d.now[1]], units.firsts[d.now[1] + 1]):
        for m in range(units.starts[units.units[n]], units.starts[units.units[n] + 1]):
            part = units.parts[m]
            if units.inside[part] > 0 and d.near[part] != d.now[0]:
                d.near[part], d.less[part] = d.now[0], units.inside[part]
                _meet(d, part)


@compiled()
def _alone(target: int, part: int, units: UnitsByPart) -> int:
    """What one record may carry beyond what is kept; without an insider a unit's own records alone are lost,
    so of others nothing."""
    if len(units.firsts) > 0 and units.insiders == 0:
        return as_int64(MUCH)
    return max(as_int64(1), as_int64(-(-target // part)))


@compiled()
def _lose(d: Descent, part: int, more: int) -> None:
    """Add what more is lost with each unit in a part, and keep the most of two of them."""
    for n in range(d.firsts[part], d.firsts[part + 1]):
        unit = d.units[n]
        if d.met[unit] != d.now[0]:
            d.met[unit], d.carried[unit] = d.now[0], 0
        d.carried[unit] += more
        lost = d.carried[unit]
        if d.most[0] > 0 and unit == d.most[2]:
            d.most[0] = lost
        elif lost > d.most[0]:
            d.most[0], d.most[1], d.most[2] = lost, d.most[0], unit
        else:
            d.most[1] = max(d.most[1], lost)


@compiled()
def _lost_with(d: Descent, insiders: int) -> int:
    """What is lost with a unit in the part that is judged and, beside an insider, with another, at most."""
    worst = d.most[0] if insiders > 0 else as_int64(0)
    if d.most[0] > 0:
        for n in range(d.firsts[d.now[1]], d.firsts[d.now[1] + 1]):
            unit = d.units[n]
            if d.met[unit] == d.now[0]:
                other = d.most[1] if unit == d.most[2] else d.most[0]
                worst = max(worst, d.carried[unit] + (other if insiders > 0 else 0))
    return worst


@compiled()
def _price(toll: Toll, m: int, gainer: int, parts: Whole, by: Whole, first: int, end: int) -> float:
    """What one step of a move costs of a budget."""
    change, paid = toll.gradient[m, gainer], 0.0
    for e in range(first, end):
        change += by[e] * toll.gradient[m, parts[e]]
        paid += abs(by[e]) * toll.cost[m, parts[e]]
    price: float = abs(change) + paid
    return price


@compiled()
def _spend(
    d: Descent, toll: Toll, column: NDArray[np.signedinteger], total: int, worst: int, target: int, most: int,
    found: Found, insiders: int, beside: int,
) -> tuple[int, int]:  # fmt: skip
    """Look for moves and make them, so many at most: steps in all, and those that are lost with one record.

    `column` (k,) is what the basic parts lose for a step. There were so many steps before; without those that
    are lost they shall come to the target; `beside` are lost anyway. What is asked, spent and found is added
    to.
    """
    size, tries, left = len(d.left), 0, d.left
    # each by itself: rows of one array would have `_make` compiled a second time
    parts, by = np.empty(size + STEPS, np.int32), np.empty(size + STEPS, np.int32)
    basic = np.empty(size + STEPS, np.int64)
    for _ in range(most):
        if total - worst >= target:
            break
        left[:] = column
        count, length = shorten(d), 0
        for i in range(size):
            if left[i] != 0:
                parts[length], by[length], basic[length] = d.parts[i], -left[i], i
                length += 1
        paying = length
        for n in range(count):
            parts[length], by[length] = d.parts[size + d.used[n]], d.signs[d.used[n]]
            length += 1
        step, lost, blocks = _make(d, toll, parts, by, as_int64(0), as_int64(length), target + worst - total)
        total, worst = total + step, max(worst, lost, beside + _lost_with(d, insiders))
        if step > 0:
            for n in range(paying):
                d.looked[0] += 1
                _weigh_again(d, basic[n])
            _write(found, as_int64(d.now[1]), parts, by, as_int64(length))
        for n in range(count):
            d.signs[d.used[n]] = 0
            _weigh_again(d, size + d.used[n])
        if step <= 0:
            tries += 1
            if tries > TRIES or not 0 <= blocks < paying:
                break
            _weigh(d, basic[blocks], d.weights[basic[blocks]] * np.float32(15))
    return total, worst


@compiled()
def _scarcity(slack: int, none: np.float32) -> np.float32:
    """1 / slack², or `none` without any."""
    return np.float32(1.0 / (slack * slack)) if slack > 0 else none


@compiled()
def _weigh_all(d: Descent) -> None:
    """Weights of basic parts, lengths of the helpers' columns and their costs, before anybody was asked."""
    size = len(d.left)
    d.looked[0] += size
    d.weights[:], d.lengths[:] = 0, 0
    for i in range(len(d.parts)):
        down, up = _unasked(d, as_int64(0), d.parts[i]), _unasked(d, as_int64(1), d.parts[i])
        if i < size:
            _weigh(d, i, _scarcity(min(down, up), NO_ROOM))
        else:
            d.costs[0, i - size], d.costs[1, i - size] = _scarcity(down, UNABLE), _scarcity(up, UNABLE)


@compiled()
def _weigh_again(d: Descent, i: int) -> None:
    """The weight of a basic part, or the costs of a helper, that was asked."""
    size, down, up = len(d.left), d.free[0, d.parts[i]], d.free[1, d.parts[i]]
    if i < size:
        weight = _scarcity(min(down, up), NO_ROOM)
        if weight != d.weights[i]:
            _weigh(d, i, weight - d.weights[i])
    else:
        d.costs[0, i - size], d.costs[1, i - size] = _scarcity(down, UNABLE), _scarcity(up, UNABLE)


@compiled(fastmath={"nnan", "ninf", "nsz"})
def _weigh(d: Descent, i: int, by: np.floating) -> None:
    """Let a basic part weigh more, in all helpers' columns too."""
    more, lengths, row = np.float32(by), d.lengths, d.columns[i]
    d.weights[i] += more
    for j in range(len(lengths)):
        lengths[j] += more * row[j] * row[j]


@compiled(fastmath={"nnan", "ninf", "nsz"})
def _added(along: Singles, row: Columns, times: np.float32) -> None:
    """Add a row of the helpers' columns."""
    for j in range(len(along)):
        along[j] += times * row[j]


@compiled(fastmath={"nnan", "ninf", "nsz"})
def _gained(d: Descent) -> np.float32:
    """By how much each helper shortens a move, falling or rising; the most."""
    fall, rise, along, gains, lengths = d.costs[0], d.costs[1], d.along, d.gains, d.lengths
    best = np.float32(0)
    for j in range(len(along)):
        twice = 2 * np.float64(along[j])
        gains[j] = max(twice - fall[j], -twice - rise[j]) - lengths[j]
    for j in range(len(along)):
        best = max(best, gains[j])
    return best


@compiled()
def shorten(d: Descent) -> int:
    """Take the helpers that shorten most what basic parts lose; how many. Each is taken once in a move."""
    left, weights, along, gains, square = d.left, d.weights, d.along, d.gains, np.float32(0)
    along[:] = 0
    for i in range(len(left)):
        if left[i]:
            d.looked[0] += 1
            _added(along, d.columns[i], np.float32(weights[i] * left[i]))
            square += np.float32(weights[i] * left[i] * left[i])
    count = 0
    while count < len(d.used):
        d.looked[0] += 2
        most = _gained(d)
        # what is left to be paid is summed up in floats, and may come out below nothing
        if most <= np.float32(LEAST_GAIN) * max(square, np.float32(0)):
            break
        best = 0
        while best + 1 < len(gains) and gains[best] != most:
            best += 1
        # a helper that gains pays by its column too: what is left to be paid falls by it, times −1
        sign = -1 if along[best] > 0 else 1
        d.signs[best], d.used[count] = sign, best
        d.costs[0, best] = d.costs[1, best] = UNABLE
        count += 1
        square -= most
        for i in range(len(left)):
            entry = d.columns[i, best]
            if entry:
                left[i] += sign * entry
                d.looked[0] += 1
                _added(along, d.columns[i], np.float32(weights[i] * (sign * entry)))
    return count
