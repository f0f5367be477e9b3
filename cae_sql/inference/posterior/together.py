"""What answers make likely of a unit's records together: of every sum over some of them, its total first.

With D, A and H as in `fit`, and A_u the columns of a unit's records, E_u = D_u^½ A_uᵀ H⁻¹ A_u D_u^½ has
eigenvalues in [0, 1]. The largest, ρ_u, is the greatest share of variance that the answers explain of any
combination of the records. Records of one column are alike, so with n_c of them E_u has the eigenvalues of
N^½ G N^½, G one row and one column for each column that the unit is in. For one record it is h.

Units with like columns are one *shape*. The distribution of a shape's total is that of independent tilted
records, by convolution, narrowed by ρ_u as a record's is by h; its baseline that of the same records under
the tilt that is not their own (`baselines`). Both are by windows of the domain's step, as a record's.

Source: `mathematics.md`, 11.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cae_sql.domain import Domain
from cae_sql.inference.posterior.baselines import Baselines, against, areas_of_rows
from cae_sql.inference.posterior.bell import STILL, stiffness
from cae_sql.inference.posterior.fit import Fit
from cae_sql.inference.posterior.likely import Likely
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.threads import alone

AT_ONCE = 4_000_000
"""Numbers that are held at once."""
MOST_WINDOWS = 1_024
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

    @classmethod
    def of(cls, likely: Likely) -> Shapes:
        """Of all units."""
        occupied, seen = likely.known.atoms.occupied, likely.fit.observed
        count = np.bincount(occupied.unit, occupied.rows, int(occupied.unit.max(initial=-1)) + 1)
        some = count[occupied.unit] > 1  # spare records are units of one
        unit, part, rows = occupied.unit[some], occupied.part[some], occupied.rows[some]
        if not len(unit):
            none = np.zeros((0, 1), dtype=np.int64)
            return cls(none, none, none)
        # pairs come by unit
        first = np.searchsorted(unit, unit)
        places, names = np.arange(len(unit)) - first, np.unique(unit, return_inverse=True)[1]
        found = np.zeros((2, int(names.max()) + 1, int(places.max()) + 1), dtype=np.int64)
        found[0, names, places], found[1, names, places] = part, rows
        once = np.unique(np.concatenate(list(found), axis=1), axis=0)
        atoms, rows = np.split(once, 2, axis=1)
        return cls(np.where(rows > 0, np.searchsorted(seen.atoms, atoms), 0), rows, atoms)

    @property
    def count(self) -> int:
        """How many."""
        return len(self.rows)

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

    def risks(self, likely: Likely, baselines: Baselines) -> Floats:
        """(u,) risk of each unit's total: 1 − A / A_baseline."""
        fit, windows = likely.fit, likely.tilt.windows
        found = np.zeros(self.count)
        for place, leverage in enumerate(self.leverage(fit).tolist()):
            some = self.rows[place] > 0
            columns, rows = self.columns[place, some], self.rows[place, some]
            variances, theta = fit.variances[columns], fit.theta[columns]
            kappa = stiffness(np.full(len(columns), leverage), variances)
            tilts = baselines.tilts(kappa, theta)
            box = np.zeros(len(columns), dtype=np.int64), np.full(len(columns), likely.top)
            plain = likely.tilt.rows(*box, tilts)
            total, base = (_added(each, rows) for each in (likely.tilted[self.atoms[place, some]], plain))
            means = float(rows @ fit.means[columns]) / windows.width
            variance = float(rows @ np.where(variances > STILL, variances, 0.0)) / windows.width**2
            # windows of a total are read at their middles
            away = np.arange(len(total)) - (total @ np.arange(len(total)) if variance else means)
            bell = np.exp(-0.5 * stiffness(np.array([leverage]), np.array([variance]))[0] * away**2)
            narrowed = total * bell
            whole = Domain(0, max(len(total) - 1, 1), 1)
            left = narrowed.sum()
            if not left > 0:
                found[place] = 1.0
                continue
            areas = (areas_of_rows(_gathered(each)[None], whole)[0] for each in (narrowed / left, base))
            area, bare = areas
            found[place] = against(np.array([area]), np.array([bare]), whole)[0]
        return found


def _added(rows: Floats, times: Ints) -> Floats:
    """(m,) the distribution of a sum of independent windows, of each row (c, w) so many."""
    length = int(times.sum()) * (rows.shape[1] - 1) + 1
    size = 1 << (length - 1).bit_length()
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    for row, count in zip(rows, times.tolist(), strict=True):
        spectrum *= np.fft.rfft(row, size) ** count
    found = np.maximum(np.fft.irfft(spectrum, size)[:length], 0.0)
    return found / found.sum()


def _gathered(row: Floats) -> Floats:
    """(m,) windows gathered so that there are not too many."""
    times = -(-len(row) // MOST_WINDOWS)
    return np.add.reduceat(row, np.arange(0, len(row), times))
