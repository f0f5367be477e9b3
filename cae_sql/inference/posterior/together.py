"""What answers make likely of a unit's records together: of every sum over some of them, its total first.

With D, A and H as in `fit`, and A_u the columns of a unit's records, E_u = D_u^½ A_uᵀ H⁻¹ A_u D_u^½ has
eigenvalues in [0, 1]. The largest, ρ_u, is the greatest share of variance that the answers explain of any
combination of the records. Records of one column are alike, so with n_c of them E_u has the eigenvalues of
N^½ G N^½, G one row and one column for each column that the unit is in. For one record it is h.

Units with like columns are one *shape*. The distribution of a shape's total is that of independent tilted
records, by convolution, narrowed by ρ_u as a record's is by h; its baseline that of the same records under
the tilt that is not their own (`baselines`). Both are by windows of the domain's step, as a record's.

**Insiders.** A unit v knows all of its records. With Z = D^½ Aᵀ R, H⁻¹ = Rᵀ R, and B_u the rows of Z of a
unit's records, E_u becomes B_u (I − B_vᵀ B_v)⁻¹ B_uᵀ. The norm of what is added is at most
F_uv / (1 − ρ_v), F_uv = |B_u B_vᵀ|² summed over all pairs of records: for all units at once N (G ∘ G) Nᵀ, G =
Z Zᵀ by columns and N the units' records in them. And the mean of a combination of u's records of variance
σ² is shifted by at most σ √F_uv |y_v| / (1 − ρ_v), y_v how far v's values may be from their means, each over
its own deviation.

Source: `mathematics.md`, 11; the bounds are Cauchy and Schwarz.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from cae_sql.domain import Domain
from cae_sql.inference.posterior.baselines import Baselines, against, areas_of_rows
from cae_sql.inference.posterior.bell import STILL, SURE, stiffness
from cae_sql.inference.posterior.fit import Fit
from cae_sql.inference.posterior.insiders import Measure, of_ranges
from cae_sql.inference.posterior.likely import Likely
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.threads import alone

AT_ONCE = 4_000_000
"""Numbers that are held at once."""
MOST_WINDOWS = 128
"""Of a total, at most: neighbours are gathered beyond."""


@dataclass(frozen=True, eq=False)
class Shapes:
    """Units of several records, those alike once. Shapes: u of them, in up to k columns of a fit."""

    columns: Ints
    """(u, k) columns; 0 where there are fewer."""
    rows: Ints
    """(u, k) records in each; 0 where there are fewer."""
    atoms: Ints
    """(u, k) the atoms of the columns."""

    units: Ints
    """(u,) how many units each is."""

    @classmethod
    def of(cls, likely: Likely, least: int = 2) -> Shapes:
        """Of all units with so many records at least."""
        occupied, seen = likely.known.atoms.occupied, likely.fit.observed
        count = np.bincount(occupied.unit, occupied.rows, int(occupied.unit.max(initial=-1)) + 1)
        some = (count[occupied.unit] >= least) & likely.known.protected[occupied.part]
        unit, part, rows = occupied.unit[some], occupied.part[some], occupied.rows[some]
        if not len(unit):
            none = np.zeros((0, 1), dtype=np.int64)
            return cls(none, none, none, none[:, 0])
        # pairs come by unit
        first = np.searchsorted(unit, unit)
        places, names = np.arange(len(unit)) - first, np.unique(unit, return_inverse=True)[1]
        found = np.zeros((2, int(names.max()) + 1, int(places.max()) + 1), dtype=np.int64)
        found[0, names, places], found[1, names, places] = part, rows
        once, units = np.unique(np.concatenate(list(found), axis=1), axis=0, return_counts=True)
        atoms, rows = np.split(once, 2, axis=1)
        return cls(np.where(rows > 0, np.searchsorted(seen.atoms, atoms), 0), rows, atoms, units)

    @property
    def count(self) -> int:
        """How many."""
        return len(self.rows)

    def some(self, places: Ints) -> Shapes:
        """Some of them."""
        return Shapes(self.columns[places], self.rows[places], self.atoms[places], self.units[places])

    def records(self, columns: int) -> scipy.sparse.csr_array:
        """(u, q) records of each in each of so many columns."""
        unit, place = np.nonzero(self.rows)
        entries = self.rows[unit, place].astype(np.float64)
        return scipy.sparse.csr_array(
            (entries, (unit, self.columns[unit, place])), shape=(self.count, columns)
        )

    def leverage(self, fit: Fit) -> Floats:
        """(u,) ρ of each."""
        columns = np.unique(self.columns[self.rows > 0])
        with alone():
            turned = fit.factor.root @ fit.observed.matrix[:, columns].toarray()
        turned = (turned * np.sqrt(np.maximum(fit.variances[columns], 0.0))).T  # (m, k) by column
        found, wide = np.zeros(self.count), self.rows.shape[1] * max(turned.shape[1], 1)
        for first in range(0, self.count, max(1, AT_ONCE // wide)):
            some = slice(first, first + max(1, AT_ONCE // wide))
            place = np.searchsorted(columns, self.columns[some])
            each = turned[np.minimum(place, len(columns) - 1)] * np.sqrt(self.rows[some])[:, :, None]
            found[some] = np.linalg.eigvalsh(each @ each.transpose(0, 2, 1))[:, -1]
        return np.clip(found, 0.0, 1.0)

    def risks(self, likely: Likely, baselines: Baselines, gain: Floats, shift: Floats) -> Floats:
        """(u,) risk of each unit's total, 1 − A / A_baseline: the greatest of those at the ends of what an
        insider may add to leverage, and to the mean, over the total's deviation, (u,) each."""
        alone_ = self.leverage(likely.fit)
        ends = [(alone_, np.zeros(self.count))]
        if gain.any() or shift.any():
            ends += [(np.minimum(alone_ + gain, 1.0), by * shift) for by in (-1.0, 0.0, 1.0)]
        found = np.zeros(self.count)
        # totals of as many records have as many windows
        counts, width = self.rows.sum(axis=1), likely.tilt.windows.count
        for count in np.unique(counts).tolist():
            alike, step = np.flatnonzero(counts == count), max(1, AT_ONCE // (8 * count * width))
            for first in range(0, len(alike), step):
                some = alike[first : first + step]
                part = self.some(some)
                for leverage, moved in ends:
                    found[some] = np.maximum(
                        found[some], part._risks_at(likely, baselines, leverage[some], moved[some])
                    )
        return found

    def _risks_at(self, likely: Likely, baselines: Baselines, leverage: Floats, shift: Floats) -> Floats:
        """(u,) by windows of the domain's step, read at their middles; all units have as many records."""
        fit, width = likely.fit, float(likely.tilt.windows.width)
        unit, place = np.nonzero(self.rows)
        columns, rows = self.columns[unit, place], self.rows[unit, place]
        variances, starts = (
            np.maximum(fit.variances[columns], 0.0),
            np.searchsorted(unit, np.arange(self.count)),
        )
        deviation = np.sqrt(np.add.reduceat(rows * variances, starts))
        turn = np.where(variances > STILL, (shift / np.maximum(deviation, STILL))[unit], 0.0)
        tilts = baselines.tilts(stiffness(leverage[unit], variances), fit.theta[columns] + turn)
        low, high = np.zeros(len(unit), dtype=np.int64), np.full(len(unit), likely.top)
        base = _added(likely.tilt.rows(low, high, tilts), rows, starts)
        seen = fit.observed
        own = likely.tilt.rows(seen.low[columns], seen.high[columns], fit.theta[columns])
        total, at = _added(own, rows, starts), np.arange(base.shape[1])
        middle = (
            total @ at + np.where(leverage > 0, shift / np.maximum(leverage, STILL), 0.0) * deviation / width
        )
        logs = -0.5 * (stiffness(leverage, deviation**2) * width**2)[:, None] * (at - middle[:, None]) ** 2
        narrowed = total * np.exp(logs - np.where(total > 0, logs, -np.inf).max(axis=1, keepdims=True))
        narrowed /= narrowed.sum(axis=1, keepdims=True)
        whole = Domain(0, max(base.shape[1] - 1, 1), 1)
        left, bare = (areas_of_rows(_gathered(each), whole) for each in (narrowed, base))
        return against(left, bare, whole)


def _added(rows: Floats, times: Ints, starts: Ints) -> Floats:
    """(u, m) distributions of sums of independent windows: of each unit so many of its rows (c, w), which
    begin at its start."""
    length = int(times[: starts[1] if len(starts) > 1 else None].sum()) * (rows.shape[1] - 1) + 1
    size = 1 << (length - 1).bit_length()
    spectra = np.fft.rfft(rows, size, axis=1) ** times[:, None]
    found = np.maximum(
        np.fft.irfft(np.multiply.reduceat(spectra, starts, axis=0), size, axis=1)[:, :length], 0.0
    )
    found /= found.sum(axis=1, keepdims=True)
    return found


def _gathered(rows: Floats) -> Floats:
    """(r, m) windows gathered so that there are not too many."""
    times = -(-rows.shape[1] // MOST_WINDOWS)
    return np.add.reduceat(rows, np.arange(0, rows.shape[1], times), axis=1)


@dataclass(frozen=True, eq=False)
class ByInsiders:
    """The most that any other unit's values add: arrays by column of a fit, (q,), or by shape, (u,)."""

    gain: Floats
    """To the leverage."""
    shift: Floats
    """To the mean, over the deviation."""


def most_told(likely: Likely, shapes: Shapes, values: Floats) -> tuple[ByInsiders, ByInsiders]:
    """What insiders add at most to records of each column, and to sums of each of some shapes.

    Args:
        likely: What is likely.
        shapes: Of all units, those of one record too.
        values: (q, m) what a record of each column may have, in units.
    """
    fit, count = likely.fit, likely.fit.observed.people
    variances = np.maximum(fit.variances[:count], 0.0)
    with alone():
        turned = fit.factor.root @ fit.observed.matrix[:, :count].toarray() * np.sqrt(variances)
        square = (turned.T @ turned) ** 2
    mine = shapes.records(count)
    moving = variances > STILL
    away = np.abs(values[:count] - fit.means[:count, None]).max(axis=1, initial=0.0) ** 2
    far = np.sqrt(mine @ np.where(moving, away / np.where(moving, variances, 1.0), 0.0))
    left = np.maximum(1.0 - shapes.leverage(fit), SURE)
    # of each column with each unit, then of each unit with each
    by_column = (mine @ square).T
    alike = shapes.units == 1
    # who is the only unit of a column tells nothing of it to somebody else
    only = likely.known.atoms.occupied.numbers[fit.observed.atoms] == 1
    unit, column = mine.nonzero()
    own = only[column]
    by_column[column[own], unit[own]] = 0.0
    by_unit = np.asarray((mine @ square) @ mine.T)
    by_unit[np.flatnonzero(alike), np.flatnonzero(alike)] = 0.0
    return tuple(  # type: ignore[return-value]
        ByInsiders((each / left).max(axis=1), (np.sqrt(each) * (far / left)).max(axis=1))
        for each in (by_column, by_unit)
    )


def with_units(likely: Likely, measure: Measure, values: Floats | None, worst: Floats) -> None:
    """Raise how bad records of atoms are, (p,), to how bad each unit's sums are, and with insiders both.

    `values` (q, m) are what an insider may have in a record of each column; None: there is no insider.
    """
    fit, shapes = likely.fit, Shapes.of(likely, 1)
    none = np.zeros(shapes.count)
    by_unit = ByInsiders(none, none)
    if values is not None:
        by_column, by_unit = most_told(likely, shapes, values)
        columns = np.arange(fit.observed.people)
        shift = by_column.shift * np.sqrt(np.maximum(fit.variances[columns], 0.0))
        ranges = np.stack([np.zeros(len(columns)), by_column.gain]), np.stack([-shift, shift])
        bad = of_ranges(likely, columns, *ranges, measure)
        np.maximum.at(worst, fit.observed.atoms, bad)
    several = np.flatnonzero(shapes.rows.sum(axis=1) > 1)
    those = shapes.some(several)
    risks = those.risks(likely, measure.baselines, by_unit.gain[several], by_unit.shift[several])
    unit, place = np.nonzero(those.rows)
    np.maximum.at(worst, those.atoms[unit, place], risks[unit])
