"""Lower bounds of the area or entropy of bells (`bell`), by lookup: a bell is two numbers.

With x = v − c, c the domain's centre, a bell over a box is p ∝ prior(v) exp(s x − ½ κ x²). Let y = s / f and
f = κ + `SOFT` / width². A cell is [y₀, y₁] × [f₀, f₁]. The exponents of a bell inside are linear in y, then
in f, between those of the bells q_ij at its corners: p is their normalised geometric mean. A geometric mean
of two numbers whose logarithms are D apart is at least exp(−D² / 8) times the arithmetic mean of the same
weights w_ij (Hoeffding), and normalising only raises it. So on a part B of the box

    p ≥ c Σ w_ij q_ij,   c = exp(−max_B D_y² / 8 − max_B (D_f + E)² / 8),

E = max_B D_y² / 8 + 2 τ being how far the normaliser between two corners may be off. B has all but `OUTSIDE`
= τ of each q_ij. H(ε) and A are concave and never negative, so A(p) ≥ c min_ij q_ij(B) A(q_ij | B), and by
the entropy of a mixture of n values

    q(B) A(q | B) ≥ A(q) − W (τ log2 n + h(τ)),

h the binary entropy, W what ε goes up to (1 for H). Within a window of several units D is greater by at most
what it changes over it.

Promise: a lower bound for all bells of some cells, worked out from each cell alone: it hangs on nothing that
was looked up before.

Source: `mathematics.md`, 7; the bound is this project's.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import numpy as np

from cae_sql.inference.posterior.bell import Bells
from cae_sql.inference.posterior.tilt import Tilt
from cae_sql.inference.posterior.weights import Floats, Ints

ALONG_Y, ALONG_F = 0.08, 0.07
"""Sizes of cells: of y in terms of 1 / √f, of f as a part of it."""
SOFT = 1.0
"""κ times the domain's width squared that is next to nothing: there cells are as wide as at 0."""
OUTSIDE = 1e-5
"""τ. It costs 0.03 % of the widest area; with less B is wider, and c less."""
FINEST = 2.0**-30
"""Part of W, of which areas are kept as whole multiples: their last bits hang on what is measured beside."""
ENTRIES = 4_000_000
"""Probabilities that are held at once."""
MOST = 1_000_000
"""Cells that are kept in a table; then it begins anew."""
LITTLE = 128
"""Cells of a range that are looked up; the bound of a wider one is 0."""
RANGES = 20_000
"""That are looked up at once: a million cells and less."""
BOXES, ROWS, PLACES = 1 << 18, 1 << 16, 1 << 27
"""Boxes, cells along f, and cells along y to either side, that a key has room for."""
TINY = 1e-9


class Table:
    """Cells for one prior, domain and measure."""

    def __init__(self, tilt: Tilt, left: Callable[[Floats], Floats], most: float, cells: int = 1) -> None:
        """Work out nothing yet.

        Args:
            tilt: Prior and windows.
            left: (r,) area or entropy of rows (r, w): concave in the probabilities, and never negative.
            most: W.
            cells: In the place of one, along each axis.
        """
        self._tilt, self._left = tilt, left
        width = float(tilt.windows.width * tilt.windows.count)
        self.centre = width / 2
        """c."""
        self._soft, self._rate = SOFT / width**2, math.log1p(ALONG_F) / cells
        self._along_y = ALONG_Y / cells
        share = -(OUTSIDE * math.log2(OUTSIDE) + (1 - OUTSIDE) * math.log2(1 - OUTSIDE))
        self._finest = most * FINEST
        self._off = most * (OUTSIDE * math.log2(max(tilt.windows.count, 2)) + share)
        self._lock = threading.Lock()  # gates of one process share the table
        self._empty()

    def _empty(self) -> None:
        self._boxes: dict[tuple[int, int], int] = {}
        # in order, with a last one that is no cell's
        self._keys, self._values = np.array([np.iinfo(np.int64).max]), np.zeros(1)

    def least(self, low: Ints, high: Ints, slopes: Floats, kappas: Floats) -> Floats:
        """(r,) lower bounds for bells over a box (r,), of any slopes s and κ between two, (2, r) each."""
        parts = [slice(first, first + RANGES) for first in range(0, len(low), RANGES)]
        found = [self._least(low[at], high[at], slopes[:, at], kappas[:, at]) for at in parts]
        return np.concatenate([np.zeros(0), *found])

    def _least(self, low: Ints, high: Ints, slopes: Floats, kappas: Floats) -> Floats:
        found, firm = np.zeros(len(low)), kappas + self._soft
        first, last = np.floor(np.log(firm / self._soft) / self._rate)
        start, end = (slopes[0] / firm).min(axis=0), (slopes[1] / firm).max(axis=0)
        some = np.flatnonzero((first >= 0) & (first <= last) & (last < ROWS) & (last - first < LITTLE))
        # (n,) each range at each of its cells along f; then (c,) at each of its cells
        record, row = _each(some, first[some], last[some])
        many = self._cells_to_a_unit(row)
        start, end = np.floor(start[record] * many), np.floor(end[record] * many)
        inside = (start > -PLACES) & (start <= end) & (end < PLACES)
        count = np.where(inside, end - start + 1, np.inf)
        narrow = np.bincount(record, count, len(found))[record] <= LITTLE
        at, place = _each(np.flatnonzero(narrow), start[narrow], end[narrow])
        if not len(at):
            return found
        with self._lock:
            cells = self._cells(self._numbered(low, high)[record[at]], row[at], place)
        begin = np.flatnonzero(np.diff(record[at], prepend=-1))
        found[record[at][begin]] = np.minimum.reduceat(cells, begin)
        return found

    def _cells_to_a_unit(self, row: Floats) -> Floats:
        """(r,) along y: as many in all rows where f is less than twice as much."""
        octave = np.floor(row * self._rate / math.log(2.0) + TINY)
        found: Floats = np.sqrt(self._soft * 2.0 ** (octave + 0.5)) / self._along_y
        return found

    def _numbered(self, low: Ints, high: Ints) -> Ints:
        """(r,) numbers of boxes."""
        if len(self._keys) > MOST or len(self._boxes) + RANGES > BOXES:
            self._empty()
        # as one complex number: both ends may not have room in one integer
        ends, which = np.unique(low + 1j * high, return_inverse=True)
        names = [(int(each.real), int(each.imag)) for each in ends]
        numbers = [self._boxes.setdefault(name, len(self._boxes)) for name in names]
        found: Ints = np.array(numbers, dtype=np.int64)[which.reshape(-1)]
        return found

    def _cells(self, boxes: Ints, row: Floats, place: Floats) -> Floats:
        """(r,) bounds of cells."""
        keys = (boxes * ROWS + row.astype(np.int64)) * (2 * PLACES) + place.astype(np.int64) + PLACES
        at = np.searchsorted(self._keys, keys)
        fresh = np.unique(keys[self._keys[at] != keys])
        if len(fresh):
            step = max(1, ENTRIES // (4 * self._tilt.windows.count))
            parts = [self._worked_out(fresh[first : first + step]) for first in range(0, len(fresh), step)]
            places = np.searchsorted(self._keys, fresh)
            self._keys = np.insert(self._keys, places, fresh)
            self._values = np.insert(self._values, places, np.concatenate(parts))
            at = np.searchsorted(self._keys, keys)
        return self._values[at]

    def _worked_out(self, keys: Ints) -> Floats:
        """(c,) bounds of cells, by the bells at their corners."""
        place, rest = keys % (2 * PLACES) - PLACES, keys // (2 * PLACES)
        row, box = rest % ROWS, rest // ROWS
        to_a_unit = self._cells_to_a_unit(row.astype(np.float64))
        # (4, c): y₀ f₀, y₁ f₀, y₀ f₁, y₁ f₁
        places, edges = place + np.array([[0], [1], [0], [1]]), row + np.array([[0], [0], [1], [1]])
        firm = self._soft * np.exp(edges * self._rate)  # to the last bit what the next row starts with
        slopes, kappas = places / to_a_unit * firm, firm - self._soft
        low, high = np.tile(np.array(list(self._boxes), dtype=np.int64).reshape(-1, 2)[box], (4, 1)).T
        middle = np.full(4 * len(keys), self.centre)
        rows = Bells(low, high, slopes.ravel(), middle, kappas.ravel()).rows(self._tilt)
        # neighbours share corners; down, by next to nothing
        names = np.stack([(box * ROWS + edges).ravel(), places.ravel(), np.tile(to_a_unit.view(np.int64), 4)])
        _, once, which = np.unique(names, axis=1, return_index=True, return_inverse=True)
        left = (np.floor(self._left(rows[once]) / self._finest) * self._finest)[which.reshape(4, -1)]
        shares = self._shares(rows.reshape(4, len(keys), -1), slopes, kappas)
        found: Floats = np.maximum(left.min(axis=0) - self._off, 0.0) * shares
        return found

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


def _each(names: Ints, first: Floats, last: Floats) -> tuple[Ints, Floats]:
    """(n,) each name once for every whole number from its first to its last, (r,) each, and these numbers."""
    count = (last - first + 1).astype(np.int64)
    begin = np.cumsum(count) - count
    return np.repeat(names, count), np.repeat(first - begin, count) + np.arange(count.sum())
