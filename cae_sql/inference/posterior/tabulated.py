"""What a bell leaves open, from below, by lookup: a bell is two numbers.

With x = v − c, c the domain's centre, a bell over a box is p ∝ prior(v) exp(s x − ½ κ x²). Let y = s / f and
f = κ + `SOFT` / width². A cell is [y₀, y₁] × [f₀, f₁]. For weights w_ij = (1 − a or a)(1 − b or b), y and f
interpolated by a and b, the exponents of a bell inside of the cell are Σ w_ij times those of the four
bells q_ij at its corners, s = y f being linear in each. So p is their geometric mean, normalised. Along y: a
geometric mean of two numbers whose logarithms are D apart is at least exp(−D² / 8) times the arithmetic mean
of the same weights (Hoeffding), and normalising only raises it. Then likewise along f. So on a part B of the
box

    p ≥ c Σ w_ij q_ij,   c = exp(−max_B D_y² / 8 − max_B (D_f + E)² / 8),

where E = max_B D_y² / 8 + 2 τ is by how much the normaliser between two corners may be off theirs. B has all
but `OUTSIDE` = τ of each q_ij. H(ε) and A are concave and never negative, so A(p) is at least
c Σ w_ij q_ij(B) A(q_ij | B), and by the entropy of a mixture of n values

    q(B) A(q | B) ≥ A(q) − W (τ log2 n + h(τ)),

h being the entropy of yes and no, and W what ε goes up to (1 for H). Within a window of several units D is
greater by at most what it changes over it.

Promise: a lower bound of what the bell leaves, worked out from the cell alone: it hangs on nothing that was
looked up before. Cells are worked out when they are first looked up.

Source: `mathematics.md`, 7; the interpolation and its bound are this project's.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import as_int64, compiled
from cae_sql.errors import InvalidInput
from cae_sql.inference.posterior.bell import Bells
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.inference.posterior.windows import Tilt

STEPS = ((0.12, 0.1), (0.06, 0.05))
"""How wide cells of the coarse and the fine table are: y in terms of 1 / √f, and f as a part of it. With a
fine one of 0.03 and 0.025 more was measured than it spared: on the day of wages of 1988 18 s and not 9."""
SOFT = 1.0
"""κ times the domain's width squared that is next to nothing: there cells are as wide as at 0."""
OUTSIDE = 1e-5
"""τ. It costs 0.03 % of the widest area; with less B is wider, and c less."""
FINEST = 2.0**-30
"""Part of the most that may be left, by whole multiples of which it is kept."""
ENTRIES = 4_000_000
"""Probabilities that are held at once."""
MOST = 1_000_000
"""Cells that are kept in a table; then it begins anew."""
FIRST = 1 << 12
"""Slots of an empty table: a power of 2."""
LITTLE = 64
"""Cells of a range that are looked up. Of a wider one nothing is said."""
BOXES, ROWS, PLACES = 1 << 18, 1 << 16, 1 << 27
"""Numbers of boxes and of cells along f, and of cells along y to either side, that a name has room for."""
LOG_2, TINY = math.log(2.0), 1e-9
ODD = np.int64(-7046029254386353131)
"""2⁶⁴ times the golden ratio, as a signed number: names times it are spread over all slots."""

State = NDArray[np.int64]


@compiled()
def _slot(keys: Ints, values: Floats, state: State, box: int, row: float, place: float) -> int:
    """Where a cell is; a missing one is given a slot, with values that are no numbers. −1: no room."""
    key = (np.int64(box) * ROWS + np.int64(row)) * (2 * PLACES) + np.int64(place) + PLACES
    mask = len(keys) - 1
    at = as_int64(((key * ODD) >> 20) & mask)
    while keys[at] != key:
        if keys[at] == -1:
            if 2 * state[0] >= len(keys):
                state[1] += 1
                return -1
            keys[at] = key
            state[0] += 1
            break
        at = as_int64((at + 1) & mask)
    if math.isnan(values[at, 0]):
        state[1] += 1
    return at


@compiled()
def _along(step: Floats, row: float) -> float:
    """How many cells there are along y to a unit: as many in all rows where f is less than twice as much."""
    octave = math.floor(row * step[3] / LOG_2 + TINY)
    return float(math.sqrt(step[0] * 2.0 ** (octave + 0.5)) / step[1])


@compiled()
def at_point(
    keys: Ints, values: Floats, state: State, step: Floats, box: int, slope: float, kappa: float
) -> float:
    """What a bell leaves at least: 0 where nothing is said, NaN where its cell is not worked out yet.

    Args:
        keys: (c,) names of cells, −1 of empty slots.
        values: (c, 4) of the corners of each.
        state: Slots that are taken, and how often a cell was missing.
        step: What is soft, the steps along y and f, and log (1 + the latter).
        box: Number of the box.
        slope: s of the bell.
        kappa: Its stiffness.
    """
    soft, up, rate = step[0], step[2], step[3]
    firm = kappa + soft
    row = math.floor(math.log(firm / soft) / rate)
    if not (0 <= row < ROWS):
        return 0.0
    first = soft * math.exp(row * rate)
    place = slope / firm * _along(step, row)
    if not abs(place) < PLACES:
        return 0.0
    left = math.floor(place)
    at = _slot(keys, values, state, box, row, left)
    if at < 0:
        return math.nan
    a = place - left
    b = min(max((firm - first) / (first * up), 0.0), 1.0)
    low = (1.0 - a) * values[at, 0] + a * values[at, 1]
    high = (1.0 - a) * values[at, 2] + a * values[at, 3]
    return float((1.0 - b) * low + b * high)


@compiled()
def least_of_points(
    keys: Ints,
    values: Floats,
    state: State,
    step: Floats,
    box: Ints,
    slope: Floats,
    kappa: Floats,
    found: Floats,
) -> None:
    """`at_point` of many bells, (r,) each, where `found` is no number."""
    for i in range(len(found)):
        if math.isnan(found[i]):
            found[i] = at_point(keys, values, state, step, box[i], slope[i], kappa[i])


@compiled()
def least_of_ranges(
    keys: Ints,
    values: Floats,
    state: State,
    step: Floats,
    box: Ints,
    slopes: Floats,
    kappas: Floats,
    found: Floats,
) -> None:
    """What any bell of a range leaves at least, where `found` is no number: slopes and stiffnesses (2, r)."""
    soft, rate = step[0], step[3]
    for i in range(len(found)):
        if not math.isnan(found[i]):
            continue
        soft_end, firm_end = kappas[0, i] + soft, kappas[1, i] + soft
        first = math.floor(math.log(soft_end / soft) / rate)
        last = math.floor(math.log(firm_end / soft) / rate)
        if not (0 <= first <= last < ROWS) or last - first >= LITTLE:
            found[i] = 0.0
            continue
        low = min(slopes[0, i] / soft_end, slopes[0, i] / firm_end)
        high = max(slopes[1, i] / soft_end, slopes[1, i] / firm_end)
        least, cells = math.inf, 0
        for row in range(first, last + 1):
            part = _along(step, row)
            if not (abs(low * part) < PLACES and abs(high * part) < PLACES):
                cells = LITTLE + 1
                break
            start, end = math.floor(low * part), math.floor(high * part)
            cells += end - start + 1
            if cells > LITTLE:
                break
            for place in range(start, end + 1):
                at = _slot(keys, values, state, box[i], row, place)
                if at < 0:
                    least = math.nan
                else:
                    for corner in range(4):
                        value = values[at, corner]
                        # once a cell is missing, the others say nothing of the least
                        if value < least or math.isnan(value):
                            least = value
        found[i] = 0.0 if cells > LITTLE else least


@compiled()
def _moved(keys: Ints, values: Floats, into: Ints, all_of_them: Floats) -> None:
    """All cells in a larger table."""
    mask = len(into) - 1
    for i in range(len(keys)):
        if keys[i] != -1:
            at = ((keys[i] * ODD) >> 20) & mask
            while into[at] != -1:
                at = (at + 1) & mask
            into[at] = keys[i]
            all_of_them[at] = values[i]


class Table:
    """Cells of one width, for one prior, domain and measure."""

    def __init__(self, tilt: Tilt, left: Callable[[Floats], Floats], most: float, step: tuple[float, float]):
        """Nothing is worked out yet.

        Args:
            tilt: Prior and windows.
            left: (r,) what rows (r, w) leave open: concave in the probabilities, and never negative.
            most: What ε goes up to, where that is an area; 1 of an entropy.
            step: As `STEPS`.
        """
        self._tilt, self._left = tilt, left
        width = float(tilt.windows.width * tilt.windows.count)
        self.centre = width / 2
        """c."""
        self.step = np.array([SOFT / width**2, *step, math.log1p(step[1])])
        """What is soft, the steps, and the logarithm of what the second makes of 1."""
        share = -(OUTSIDE * math.log2(OUTSIDE) + (1 - OUTSIDE) * math.log2(1 - OUTSIDE))
        self._finest = most * FINEST
        self._off = most * (OUTSIDE * math.log2(max(tilt.windows.count, 2)) + share)
        self._lock = threading.Lock()
        self._empty()

    def _empty(self) -> None:
        self._boxes: dict[tuple[int, int], int] = {}
        self._keys, self._values = np.full(FIRST, -1), np.full((FIRST, 4), np.nan)
        self._state = np.zeros(2, dtype=np.int64)
        self._nodes: dict[tuple[int, int, int, int], float] = {}

    def look(self, kernel: Callable[..., None], low: Ints, high: Ints, *arguments: Any) -> None:
        """Run a kernel with the table, and again until no cell that it looks up is missing.

        Args:
            kernel: Called with keys, values, state and steps of this table, the numbers of boxes, then the
                arguments. What it finds is no number where a cell was missing.
            low: (r,) least unit of each box.
            high: (r,) greatest.
            arguments: Of the kernel, besides.
        """
        with self._lock:  # gates of one process share the table
            if self._state[0] > MOST:
                self._empty()
            boxes = self._numbered(low, high)
            while True:
                self._state[1] = 0
                kernel(self._keys, self._values, self._state, self.step, boxes, *arguments)
                if not self._state[1]:
                    return
                self._fill()
                if 4 * self._state[0] >= len(self._keys):
                    self._widen()

    def _numbered(self, low: Ints, high: Ints) -> Ints:
        """(r,) numbers of boxes."""
        least, mine = np.unique(low, return_inverse=True)
        most, theirs = np.unique(high, return_inverse=True)
        # places in two lists: units may be too many for both ends to have room in one number
        ends, which = np.unique(mine.reshape(-1) * len(most) + theirs.reshape(-1), return_inverse=True)
        if len(ends) >= BOXES:
            raise InvalidInput(f"{len(ends):,} different boxes are too many for a table; take a coarser step")
        if len(self._boxes) + len(ends) >= BOXES:
            self._empty()
        names = [(int(least[each // len(most)]), int(most[each % len(most)])) for each in ends.tolist()]
        numbers = [self._boxes.setdefault(name, len(self._boxes)) for name in names]
        found: Ints = np.array(numbers, dtype=np.int64)[which.reshape(-1)]
        return found

    def _widen(self) -> None:
        keys, values = np.full(4 * len(self._keys), -1), np.full((4 * len(self._keys), 4), np.nan)
        _moved(self._keys, self._values, keys, values)
        self._keys, self._values = keys, values

    def least(self, bells: Bells) -> Floats:
        """(r,) lower bounds of what bells leave."""
        found = np.full(len(bells.kappa), np.nan)
        slope = bells.theta + bells.kappa * (bells.middle - self.centre)
        self.look(least_of_points, bells.low, bells.high, slope, bells.kappa, found)
        return found

    def _fill(self) -> None:
        """Work out the cells that have a slot and no values."""
        slots = np.flatnonzero((self._keys != -1) & np.isnan(self._values[:, 0]))
        step = max(1, ENTRIES // (4 * self._tilt.windows.count))
        for first in range(0, len(slots), step):
            some = slots[first : first + step]
            self._values[some] = self._worked_out(self._keys[some])

    def _worked_out(self, keys: Ints) -> Floats:
        """(c, 4) of the corners of cells, each times c."""
        place, rest = keys % (2 * PLACES) - PLACES, keys // (2 * PLACES)
        row, box = rest % ROWS, rest // ROWS
        ends = np.array(list(self._boxes), dtype=np.int64).reshape(-1, 2)[box]
        soft, _, _, rate = self.step
        places = np.array([_along(self.step, each) for each in row.tolist()])
        # to the last bit what the next row starts with: whichever of two cells is first measures their corner
        firm = soft * np.exp(np.stack([row, row + 1]) * rate)
        # (4, c): y₀ f₀, y₁ f₀, y₀ f₁, y₁ f₁
        y = np.stack([place, place + 1]) / places
        slopes, kappas = (y[None] * firm[:, None]).reshape(4, -1), np.repeat(firm - soft, 2, axis=0)
        kappas[:2, row == 0] = 0.0
        rows = np.stack([self._rows(ends, *each) for each in zip(slopes, kappas, strict=True)])
        left = np.empty((4, len(keys)))
        for corner in range(4):
            left[corner] = self._measured(box, row, place, corner, rows[corner])
        found: Floats = (np.maximum(left - self._off, 0.0) * self._shares(rows, slopes, kappas)).T
        return found

    def _rows(self, ends: Ints, slope: Floats, kappa: Floats) -> Floats:
        """(c, w) bells by their slope at the centre."""
        return Bells(ends[:, 0], ends[:, 1], slope, np.full(len(slope), self.centre), kappa).rows(self._tilt)

    def _measured(self, box: Ints, row: Ints, place: Ints, corner: int, rows: Floats) -> Floats:
        """(c,) what the bells at one corner leave: neighbours share them."""
        high, side = divmod(corner, 2)
        octave = np.floor(row * self.step[3] / LOG_2 + TINY).astype(np.int64)
        names = list(
            zip(box.tolist(), (row + high).tolist(), octave.tolist(), (place + side).tolist(), strict=True)
        )
        fresh = [at for at, name in enumerate(names) if name not in self._nodes]
        once = list({names[at]: at for at in fresh}.values())
        if once:
            # down, by next to nothing: the last bits hang on what is measured beside it
            left = np.floor(self._left(rows[once]) / self._finest) * self._finest
            self._nodes.update({names[at]: float(each) for at, each in zip(once, left, strict=True)})
        return np.array([self._nodes[name] for name in names])

    def _shares(self, rows: Floats, slopes: Floats, kappas: Floats) -> Floats:
        """(c,) c of cells, by the rows at their corners, (4, c, w)."""
        windows = self._tilt.windows
        sums = rows.cumsum(axis=2)
        inside = ((sums > OUTSIDE / 2) & (sums[:, :, -1:] - sums + rows > OUTSIDE / 2)).any(axis=0)
        first, last = inside.argmax(axis=1), inside.shape[1] - 1 - inside[:, ::-1].argmax(axis=1)
        at = np.arange(windows.count)
        inside = (at >= first[:, None]) & (at <= last[:, None])
        inside &= (rows > 0).any(axis=0)  # nobody's values
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(rows)
            along = [np.abs(logs[2 * side + 1] - logs[2 * side]) for side in (0, 1)]
            up = [np.abs(logs[2 + side] - logs[side]) for side in (0, 1)]
        if windows.width > 1:
            units = at * float(windows.width) - self.centre
            within = float(windows.width - 1)
            for side in (0, 1):
                along[side] += (np.abs(slopes[2 * side + 1] - slopes[2 * side]) * within)[:, None]
                rise, bend = (each[2 + side] - each[side] for each in (slopes, kappas))
                ends = (np.abs(rise[:, None] - bend[:, None] * (units + end)) for end in (0.0, within))
                up[side] += np.maximum(*ends) * within
        y, f = (np.where(inside, np.maximum(*each), 0.0).max(axis=1) for each in (along, up))
        off = y**2 / 8 + 2 * OUTSIDE
        found: Floats = np.exp(-(y**2) / 8 - (f + off) ** 2 / 8)
        return np.where(np.isnan(found), 0.0, found)


class Tables:
    """The coarse and the fine one of one prior, domain and measure."""

    def __init__(self, tilt: Tilt, left: Callable[[Floats], Floats], most: float) -> None:
        """As `Table`."""
        self.coarse, self.fine = (Table(tilt, left, most, step) for step in STEPS)
