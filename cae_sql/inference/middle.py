"""A point inside, and how far each atom can be moved from it by moving all others a little.

Linear programs say who keeps a standard over the reals, one atom at a time. A point with room to all sides
says it of most atoms at once: the direction that moves one atom most, by as little of everybody's room as may
be, is a projection. The point is brought to new answers by the same projection, and sought anew where that
leads outside. What it shows is a lower bound of an interval; it never locates anybody.

Source: the affine scaling direction (Dikin 1967).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from cae_sql.inference.answers import Ints
from cae_sql.inference.knowledge import Knowledge
from cae_sql.inference.roomy import Box, boxed, points_inside
from cae_sql.inference.solver import Floats

STEP = 0.999
"""How much of the room a move may use."""
CLOSE = 1e-9
"""Relative error of a sum that counts as none."""
SINGULAR = 1e-11
"""Part of the largest below which an eigenvalue counts as none."""
MOST_FOR_PROGRAMS = 3_000
"""Atoms up to which a point that cannot be brought along is sought by linear programs."""
EDGE, ROUNDS = 0.02, 4
"""How far from the edges of its box an atom begins, and how often one that was led outside begins anew."""
STRIP = 512
"""Atoms that are looked at together."""


class Middle:
    """A table of real values inside, kept from one answer to the next."""

    def __init__(self, size: int) -> None:
        """None yet."""
        self._table: Floats = np.full(size, np.nan)

    def copy(self) -> Middle:
        """An independent one."""
        twin = Middle(0)
        twin._table = self._table.copy()
        return twin

    def keep(self, known: Knowledge, totals: Ints, wanted: Ints, need: Ints) -> NDArray[np.bool_]:
        """Of some atoms those whose records' interval over the reals is seen to be wide enough.

        Args:
            known: The answers.
            totals: (p,) a world.
            wanted: The atoms.
            need: How wide each interval is to be.
        """
        most = int(need.max(initial=0))
        none = np.zeros(len(wanted), dtype=np.bool_)
        box = boxed(known, totals)
        if box is None:
            return none
        matrix = known.matrix.astype(np.float64)
        sums = matrix @ totals
        for fresh in (False, True) if known.count <= MOST_FOR_PROGRAMS else (False,):
            point = (
                points_inside(known, totals, box, wanted, most)
                if fresh
                else self._brought(known, matrix, sums, box)
            )
            if point is None:
                continue
            low, high = _reached(matrix, point, box, wanted)
            sizes, rest = known.sizes[wanted], known.sizes[wanted] - 1
            least = np.maximum(known.low[wanted], low - rest * known.high[wanted])
            found = np.minimum(known.high[wanted], high - rest * known.low[wanted]) - least >= need
            found &= sizes > 0
            if fresh or found.mean() > 0.5 or known.count > MOST_FOR_PROGRAMS:
                self._table = (point / known.sizes)[known.atoms.labels]
                return found
        return none

    def _brought(self, known: Knowledge, matrix: Floats, sums: Floats, box: Box) -> Floats | None:
        """The point, brought to all sums; None where that leads outside."""
        edge = EDGE * (box.high - box.low)
        if np.isnan(self._table).any():
            # where nothing is at hand: everybody at the average, as far as the boxes let them
            average = np.median(sums / np.maximum(matrix @ known.sizes, 1.0)) if len(sums) else 0.0
            point: Floats = float(average) * known.sizes.astype(np.float64)
        else:
            point = np.bincount(known.atoms.labels, self._table, known.count).astype(np.float64)
        point = np.clip(point, box.low + edge, box.high - edge)
        room = _room(point, box)
        weights = room * room
        try:
            scaled = matrix * weights
            for _ in range(ROUNDS):
                inverse = linalg.pinvh(scaled @ matrix.T, rtol=SINGULAR)
                for _ in range(3):
                    point = point + scaled.T @ (inverse @ (sums - matrix @ point))
                if (point >= box.low).all() and (point <= box.high).all():
                    break
                point = np.clip(point, box.low + edge, box.high - edge)
                scaled = matrix * _room(point, box) ** 2
        except linalg.LinAlgError:
            return None
        inside = (point >= box.low) & (point <= box.high)
        off = np.abs(matrix @ point - sums).max(initial=0.0)
        return (
            point if inside.all() and off <= CLOSE * max(1.0, float(np.abs(sums).max(initial=1.0))) else None
        )


def _room(point: Floats, box: Box) -> Floats:
    room: Floats = np.maximum(np.minimum(point - box.low, box.high - point), 0.0)
    return room


def _reached(matrix: Floats, point: Floats, box: Box, wanted: Ints) -> tuple[Floats, Floats]:
    """Least and greatest total of each wanted atom along its direction."""
    room = _room(point, box)
    weights = room * room
    low, high = point[wanted].copy(), point[wanted].copy()
    scaled = matrix * weights
    try:
        inverse = linalg.pinvh(scaled @ matrix.T, rtol=SINGULAR)
    except linalg.LinAlgError:
        return low, high
    up, down = (box.high - point)[:, None], (box.low - point)[:, None]
    for start in range(0, len(wanted), STRIP):
        some = wanted[start : start + STRIP]
        places = np.arange(len(some))
        moves = -scaled.T @ (inverse @ scaled[:, some])
        moves[some, places] += weights[some]
        size = np.abs(moves).max(axis=0)
        moves /= np.where(size > 0, size, 1.0)
        moves[np.abs(moves) < CLOSE] = 0.0
        # what is left of a sum must not be taken for a move
        fine = (np.abs(matrix @ moves).max(axis=0, initial=0.0) <= 1e-6) & (moves[some, places] > 0)
        safe = np.where(moves == 0, 1.0, moves)
        rise = np.where(moves > 0, up / safe, np.where(moves < 0, down / safe, np.inf)).min(axis=0)
        fall = np.where(moves > 0, down / safe, np.where(moves < 0, up / safe, -np.inf)).max(axis=0)
        own = np.where(fine, moves[some, places], 0.0)
        fine &= np.isfinite(rise) & np.isfinite(fall)
        high[start : start + STRIP] += STEP * np.where(fine, rise, 0.0) * own
        low[start : start + STRIP] += STEP * np.where(fine, fall, 0.0) * own
    return low, high
