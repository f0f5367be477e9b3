"""How bad posteriors can be at most, cell by cell of a grid instead of record by record.

Where few answers are about many records, tilts θ and stiffnesses κ of nearly everybody lie close together,
and what an insider can shift is little. A cell of the grid is of all bells over the whole domain

    p(v) ∝ prior(v) exp((θ + s) v − ½ κ (v − μ)²),   θ between two numbers, κ ≤ K, |s| ≤ S,

μ being the mean at the tilt θ. By himself a record has s = 0; what an insider tells is s = δ / ((1 − h') σ²)
(`insiders`). A cell is cut into pieces. Of each piece one bell q is measured, the stiffest, with the least
slope. Another p of the piece has a slope that is greater by r ≤ R and a stiffness that is less by g ≤ G:

    p(v) / q(v) = e^f(v) / E_q e^f ≥ c = 1 / E_q exp(R (v − low) + ½ G (v − m)²),
    f(v) = r (v − low) + ½ g (v − m)² ≥ 0,

m the mean in the middle of the cell's tilts. Then A(p) ≥ c A(q) and H(p) ≥ c H(q), as in `nearby`. Where
bells lean on the upper end it is the greatest slope, and high − v: c is nearer to 1 where q is near the end
counted from.

Promise: a bound of each bell of a cell, with any such s, against the greatest baseline of its piece. It hangs
on the cell alone. Outside the grid, ∞.

Source: `mathematics.md`, 7; the bound by cells is this project's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cae_sql.inference.posterior.bell import LISTED, rows_of
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.inference.posterior.windows import Tilt

TILTS, STEP = 320, 0.1
"""Levels of θ to either side of none, and how wide they are, in terms of 1 / domain: up to 32, where a
thirtieth of the domain is left. With steps twice as wide bounds are greater by some 0.02."""
STIFF, STIFFER = 16, 0.25
"""Levels of κ, in terms of 1 / domain². Beyond, a fifth of the variance is explained, and such a record is
worth a look of its own."""
SHIFTS, FURTHER = 64, 0.1
"""Levels of s, in terms of 1 / domain."""
FINE, FINEST = 0.05, 1_000
"""Between slopes at 0 of bells that are measured, in terms of 1 / domain, and how many there are to either
side: up to 50, which is more than θ, s and κ times a mean come to. Areas of 200 values take milliseconds, so
pieces share them; a bound is greater by at most as much as with θ and s in steps of 0.125."""
ROUNDING = 1e-9
"""Part by which cells are taken wider than they are: which one a number is in is rounded."""


class Held(Protocol):
    """What bells are held against."""

    def tilts(self, kappa: Floats, theta: Floats) -> Floats:
        """(r,) tilts of baselines, which rise with θ and are nearer to 0 the greater κ."""

    def greatest(self, low: Floats, high: Floats) -> Floats:
        """(r,) bounds of baselines for all tilts between two."""


@dataclass(frozen=True)
class Bad:
    """How bad distributions are: the greater the worse."""

    left: Callable[[Floats], Floats]
    """What rows (r, w) leave open: concave in the probabilities, and never negative."""
    bad: Callable[[Floats, Floats], Floats]
    """Of what is left, beside a baseline: no less where less is left, or the baseline greater."""


class _List:
    """Numbers for some places of a grid."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape, self._at, self._known = shape, np.zeros(shape, dtype=np.int32).ravel(), np.zeros(1)

    def of(self, places: tuple[Ints, ...], worked_out: Callable[..., Floats]) -> Floats:
        """(r,) those of some places; `worked_out` is asked once for each."""
        names = np.ravel_multi_index(places, self._shape)
        at = self._at[names]
        if not at.all():
            missing = np.unique(names[at == 0])
            found = worked_out(*np.unravel_index(missing, self._shape))
            self._at[missing] = len(self._known) + np.arange(len(missing))
            self._known = np.append(self._known, found)
            at = self._at[names]
        return self._known[at]


class Cells:
    """Bounds by cell, for one prior and domain; each is worked out when it is first wanted."""

    def __init__(self, tilt: Tilt, top: int, held: Held, measure: Bad) -> None:
        """Work out nothing yet.

        Args:
            tilt: Prior and windows.
            top: Greatest value, in units.
            held: Baselines under the same prior.
            measure: Of a distribution.
        """
        self._tilt, self._top, self._held, self._measure = tilt, top, held, measure
        self._wide = float(tilt.windows.width * tilt.windows.count)
        self._lock = threading.Lock()
        # pages of memory that nothing is written to are none
        self._cells = _List((2 * TILTS, STIFF + 1, SHIFTS + 1))
        """By level of θ, and the greatest levels of κ and of |s|."""
        self._pieces = _List((2 * TILTS, STIFF, 2 * SHIFTS))
        """By level of θ, of κ, and of s from the least: what cells share."""
        self._bell_list = _List((2 * FINEST + 1, STIFF))
        """By slope at 0, and level of κ: what pieces share."""

    def most(self, theta: Floats, kappa: Floats, shift: Floats) -> Floats:
        """(r,) how bad each may be at most; ∞ where nothing is said.

        Args:
            theta: (r,) tilts, over the whole domain.
            kappa: (r,) the greatest stiffness of each.
            shift: (r,) the greatest |s|.
        """
        found, wide = np.full(len(theta), np.inf), self._wide
        if wide > LISTED:  # there bells are integrals nearly, and ratios of two of them are not known
            return found
        level = np.floor(theta * (wide / STEP)) + TILTS
        firm = np.maximum(np.ceil(kappa * (wide**2 / STIFFER)), 1)
        far = np.maximum(np.ceil(shift * (wide / FURTHER)), 1)
        inside = (level >= 0) & (level < 2 * TILTS) & (firm <= STIFF) & (far <= SHIFTS)
        some = np.flatnonzero(inside)
        places = tuple(each[some].astype(np.int64) for each in (level, firm, far))
        with self._lock:  # gates of one process share the lists
            found[some] = self._cells.of(places, self._of_cells)
        return found

    def _of_cells(self, level: Ints, firm: Ints, far: Ints) -> Floats:
        """(c,) the greatest of the pieces of some cells."""
        pieces = firm * 2 * far
        first = np.cumsum(pieces) - pieces
        cell = np.repeat(np.arange(len(level)), pieces)
        number = np.arange(len(cell)) - first[cell]
        across = 2 * far[cell]
        places = level[cell], number // across, number % across + SHIFTS - far[cell]
        return np.maximum.reduceat(self._pieces.of(places, self._of_pieces), first)

    def _of_pieces(self, level: Ints, firm: Ints, side: Ints) -> Floats:
        """(b,) how bad each bell of some pieces may be."""
        wide = self._wide
        levels, at = np.unique(level, return_inverse=True)
        ends = (levels - TILTS + np.array([[-ROUNDING], [0.5], [1.0 + ROUNDING]])) * (STEP / wide)
        none = np.zeros(ends.size, dtype=np.int64)
        moments = self._tilt.moments(none, none + self._top)(ends.ravel())
        means = moments.means.reshape(ends.shape)
        away = np.maximum(means[2] - means[1], means[1] - means[0])[at]
        # p of a tilt of the level is at most so many times p of its middle, value by value
        variance = moments.variances.reshape(ends.shape)[1, at] * np.exp(STEP * (1 + ROUNDING))
        soft: Floats = firm.astype(np.float64) * (STIFFER / wide**2)
        hard: Floats = soft + (1 + ROUNDING) * (STIFFER / wide**2)
        # none is across 0
        less, more = ((side - SHIFTS + end) * (FURTHER / wide) for end in (0, 1))
        less, more = (each * (1 + ROUNDING * np.sign(each) * out) for each, out in ((less, -1), (more, 1)))
        low, high = ends[0, at], ends[2, at]
        base = self._baseline(low, high, less, more, soft, hard, variance)
        turn = hard * away  # κ (μ − m) is a slope too
        left = self._least(low + less - turn, high + more + turn, means[1, at], firm)
        return self._measure.bad(left, base)

    def _baseline(
        self,
        low: Floats,
        high: Floats,
        less: Floats,
        more: Floats,
        soft: Floats,
        hard: Floats,
        variance: Floats,
    ) -> Floats:
        """(b,) bounds of the baselines of pieces: held against is θ + δ / σ², and δ / σ² = s (1 − h')."""
        left = 1.0 / (1.0 + hard * variance)
        start = low + np.where(less < 0, less, less * left)
        end = high + np.where(more > 0, more, more * left)
        corners = [self._held.tilts(kappa, theta) for kappa in (soft, hard) for theta in (start, end)]
        return self._held.greatest(np.min(corners, axis=0), np.max(corners, axis=0))

    def _least(self, low: Floats, high: Floats, middle: Floats, firm: Ints) -> Floats:
        """(b,) what bells with slopes, at some middles, and stiffnesses between two leave at least."""
        windows, wide = self._tilt.windows, self._wide
        soft: Floats = firm.astype(np.float64) * (STIFFER / wide**2)
        hard: Floats = soft + (1 + ROUNDING) * (STIFFER / wide**2)
        down = low + high < 0
        # a bell around 0 of the list, whose slope is a little further out than those of the piece
        slope = np.where(down, low, high) + hard * middle
        node = np.where(down, np.floor(slope * (wide / FINE)), np.ceil(slope * (wide / FINE)))
        away = np.abs(node * (FINE / wide) - slope)
        rows = self._bells(node.astype(np.int64), hard)
        left = self._bell_list.of((node.astype(np.int64) + FINEST, firm), self._of_bells)
        first = np.arange(windows.count, dtype=np.float64) * windows.width
        last = np.minimum(first + windows.width - 1, self._top)
        far = np.where(down[:, None], last, self._top - first)
        off = np.maximum(np.abs(first - middle[:, None]), np.abs(last - middle[:, None]))
        rise = (high - low + away)[:, None] * far + 0.5 * (hard - soft)[:, None] * off**2
        found: Floats = left / (rows * np.exp(rise)).sum(axis=1) / (1 + ROUNDING)
        return found

    def _of_bells(self, node: Ints, firm: Ints) -> Floats:
        """(b,) what bells of the list leave."""
        hard: Floats = (firm.astype(np.float64) + (1 + ROUNDING)) * (STIFFER / self._wide**2)
        return self._measure.left(self._bells(node - FINEST, hard))

    def _bells(self, node: Ints, hard: Floats) -> Floats:
        """(b, w) those of some slopes at 0 and stiffnesses."""
        none = np.zeros(len(node), dtype=np.int64)
        slope: Floats = node.astype(np.float64) * (FINE / self._wide)
        return rows_of(self._tilt, none, none + self._top, slope, np.zeros(len(node)), hard)
