"""What answers make likely of a unit's records together: of every sum over some of them, its total first.

With D, A and H as in `fit`, and A_u the columns of a unit's records, E_u = D_u^½ A_uᵀ H⁻¹ A_u D_u^½ has
eigenvalues in [0, 1]. The largest, ρ_u, is the greatest share of variance that the answers explain of any
combination of the records. Records of one column are alike, so with n_c of them E_u has the eigenvalues of
N^½ G N^½, G one row and one column for each column that the unit is in. For one record it is h. The norm of
E_u is a bound, √(N (G ∘ G) Nᵀ)_uu, N the units' records by column: it is known for all at once.

Units with like columns are one *shape*. The distribution of a shape's total is that of independent tilted
records, by convolution, narrowed by ρ_u as a record's is by h; its baseline that of the same records under
the tilt that is not their own (`baselines`). Both are by windows of the domain's step, as a record's.
Answered extremes are mixed in as for a record (`attained`), with all of the unit's records in its place; an
insider's records are known not to attain them.

Source: `mathematics.md`, 11.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy

from cae_sql.domain import Domain
from cae_sql.inference.facts.units import NONE
from cae_sql.inference.posterior.attained import ALTERNATING, Linked, at_ends_of
from cae_sql.inference.posterior.baselines import Baselines, against, areas_of_rows
from cae_sql.inference.posterior.bell import STILL, stiffness
from cae_sql.inference.posterior.likely import Likely
from cae_sql.inference.posterior.weights import Flags, Floats, Ints

AT_ONCE = 4_000_000
"""Numbers that are held at once."""
MOST_WINDOWS = 128
"""Of a total, at most: neighbours are gathered beyond."""
SMALL = 0.25
"""Norm of E_u up to which it stands for the eigenvalue."""
MANY, CELLS, LEAST = 256, 8, 1e-4
"""Shapes up to which each is measured. Of more, those with as many records, like tilts, and in cells of so
many to a doubling for what is told of them, from so much on: three of a cell, of least, middle and greatest
tilt, each with the most of the cell."""


@dataclass(frozen=True, eq=False)
class Shapes:
    """Units, those alike once. Shapes: u of them, in up to k columns of a fit."""

    columns: Ints
    """(u, k) columns; 0 where there are fewer."""
    rows: Ints
    """(u, k) records in each; 0 where there are fewer."""
    units: Ints
    """(u,) how many units each is."""
    names: Ints = field(default_factory=lambda: NONE)
    """(v,) the units, where they are known ..."""
    which: Ints = field(default_factory=lambda: NONE)
    """(v,) ... and which shape each is."""

    @classmethod
    def of(cls, likely: Likely) -> Shapes:
        """Of all units with protected records."""
        (parts, rows, names, which), known = likely.known.atoms.occupied.alike, likely.known
        mine = np.flatnonzero(known.protected[parts[:, 0]])  # spare records are units of parts of their own
        place = np.full(len(parts), -1)
        place[mine] = np.arange(len(mine))
        own = place[which] >= 0
        names, which, rows = names[own], place[which][own], rows[mine]
        columns = np.where(rows > 0, np.searchsorted(likely.fit.observed.atoms, parts[mine]), 0)
        return cls(columns, rows, np.bincount(which, minlength=len(mine)), names, which)

    @classmethod
    def of_records(cls, columns: Ints) -> Shapes:
        """Of one record of each of some columns, whose units are not known."""
        ones = np.ones(len(columns), dtype=np.int64)
        return cls(columns[:, None], ones[:, None], ones)

    @property
    def count(self) -> int:
        """How many."""
        return len(self.rows)

    def some(self, places: Ints) -> Shapes:
        """Some of them."""
        return Shapes(self.columns[places], self.rows[places], self.units[places])

    def records(self, columns: int) -> scipy.sparse.csr_array:
        """(u, q) records of each in each of so many columns."""
        unit, place = np.nonzero(self.rows)
        entries = self.rows[unit, place].astype(np.float64)
        return scipy.sparse.csr_array(
            (entries, (unit, self.columns[unit, place])), shape=(self.count, columns)
        )

    def greatest(self, of_columns: Floats) -> Floats:
        """(u, m) for each the most that one of its columns has, by column (q, m), none below 0."""
        found = np.zeros((self.count, of_columns.shape[1]))
        for columns, rows in zip(self.columns.T, self.rows.T, strict=True):
            np.maximum(found, of_columns[columns] * (rows > 0)[:, None], out=found)
        return found

    def leverage(self, turned: list[Floats], square: Floats) -> Floats:
        """(u,) ρ of each; where the norm of E_u is small this. By D^½ Aᵀ Rᵀ, (q, m), by factor, and G ∘ G
        of these, (q, q)."""
        mine, norms = self.records(len(square)), np.zeros(self.count)
        for some in blocks(self.count, len(square)):
            norms[some] = np.sqrt(np.asarray(mine[some].multiply(mine[some] @ square).sum(axis=1)).ravel())
        found = np.minimum(norms, 1.0)
        large = np.flatnonzero((norms > SMALL) & ((self.rows > 0).sum(axis=1) > 1))
        step = max(1, AT_ONCE // (self.rows.shape[1] * max(turned[0].shape[1], 1)))
        for first in range(0, len(large), step):
            some = large[first : first + step]
            roots = np.sqrt(self.rows[some])[:, :, None]
            by = [each[self.columns[some]] * roots for each in turned]
            values = [np.linalg.eigvalsh(each @ each.transpose(0, 2, 1))[:, -1] for each in by]
            found[some] = np.minimum(np.maximum.reduce(values), found[some])
        return np.maximum(found, 0.0)


@dataclass(frozen=True, eq=False)
class Totals:
    """What is likely of totals."""

    likely: Likely
    baselines: Baselines
    linked: list[tuple[Linked, list[Floats]]]
    """Extremes that might not be attained; and of each set of them the logarithm of how likely the records of
    the insider who matters most, and of the second, do not attain it, (2,): 0 without insiders."""

    @classmethod
    def of(cls, likely: Likely, baselines: Baselines, shapes: Shapes | None) -> Totals:
        """`shapes` are all units, if one of them may be an insider."""
        fit, seen, found = likely.fit, likely.fit.observed, list[tuple[Linked, list[Floats]]]()
        if fit.ends is not None:
            at = np.unique(np.concatenate([some for _, some in fit.ends.extremes]))
            kappa, turned = stiffness(fit.leverage[at], fit.variances[at]), fit.theta[at] + fit.slope[at]
            slopes = turned - kappa * (np.stack([seen.low[at], seen.high[at]]) - fit.means[at])
            width = likely.tilt.windows.width
            for each in fit.ends.missing(at, fit.rows(at, narrowed=True), width, slopes):
                found.append((each, [_of_insiders(shapes, each, none) for *_, none in each.sets()]))
        return cls(likely, baselines, found)

    @property
    def known(self) -> bool:
        """Whether extremes that share records are few enough to be counted together."""
        return all(each.few for each, _ in self.linked)

    def risks(self, shapes: Shapes, leverage: Floats, shift: Floats) -> Floats:
        """(u,) 1 − A / A_baseline: the greatest with the mean where it is, and moved by `shift` of a total's
        deviations to either side."""
        fit, counts = self.likely.fit, shapes.rows.sum(axis=1)
        cell, tilts = np.arange(shapes.count), (shapes.rows * fit.theta[shapes.columns]).sum(axis=1) / counts
        if shapes.count > MANY:
            boxes = (shapes.rows * (fit.observed.high - fit.observed.low)[shapes.columns]).sum(axis=1)
            told = [np.ceil(CELLS * np.log2(np.maximum(each, LEAST))) for each in (leverage, shift)]
            able = [
                (shapes.rows * np.isin(shapes.columns, each.columns)).sum(axis=1) for each, _ in self.linked
            ]
            key = np.stack([counts, boxes, *told, np.rint(tilts * self.likely.top), *able])
            cell = np.unique(key, axis=1, return_inverse=True)[1].ravel()
        worst, most = np.zeros(int(cell.max(initial=-1)) + 1), np.zeros((2, int(cell.max(initial=-1)) + 1))
        for at_most, each in zip(most, (leverage, shift), strict=True):
            np.maximum.at(at_most, cell, each)
        order = np.lexsort((tilts, cell))
        ends = np.searchsorted(cell[order], np.arange(len(worst) + 1))
        chosen = order[np.unique([ends[:-1], (ends[:-1] + ends[1:] - 1) // 2, ends[1:] - 1])]
        # totals of as many records have as many windows
        for count in np.unique(counts[chosen]).tolist():
            alike, wide = chosen[counts[chosen] == count], 8 * count * self.likely.tilt.windows.count
            for some in np.array_split(alike, len(alike) * wide // AT_ONCE + 1):
                (told, move), part = most[:, cell[some]], shapes.some(some)
                for moved in (0.0 * move, -move, move) if move.any() else (0.0 * move,):
                    np.maximum.at(worst, cell[some], self._risks_at(part, told, moved))
        return worst[cell]

    def _risks_at(self, shapes: Shapes, leverage: Floats, shift: Floats) -> Floats:
        """(u,) by windows of the domain's step, read at their middles; all units have as many records."""
        likely, fit, width = self.likely, self.likely.fit, self.likely.tilt.windows.width
        unit, place = np.nonzero(shapes.rows)
        columns, rows = shapes.columns[unit, place], shapes.rows[unit, place]
        starts, variances = (
            np.searchsorted(unit, np.arange(shapes.count)),
            np.maximum(fit.variances[columns], 0.0),
        )
        deviation = np.sqrt(np.add.reduceat(rows * variances, starts))
        theta = (
            np.where(variances > STILL, (shift / np.maximum(deviation, STILL))[unit], 0.0)
            + fit.theta[columns]
        )
        tilts = self.baselines.tilts(stiffness(leverage[unit], variances), theta)
        low, high = np.zeros(len(unit), dtype=np.int64), np.full(len(unit), likely.top)
        spectrum = _Spectra(int(rows[unit == 0].sum()) * (likely.tilt.windows.count - 1) + 1, starts, rows)
        base = spectrum.back(spectrum.of(likely.tilt.rows(low, high, tilts)))
        # a bell elsewhere is one around the moved mean of records that are tilted as much: so no digits go
        total = spectrum.back(self._spectra(columns, rows, theta, spectrum))
        middle = np.add.reduceat(rows * (fit.means[columns] - (width - 1) / 2), starts) + shift * deviation
        away = width * np.arange(spectrum.length) - middle[:, None]
        logs = -0.5 * stiffness(leverage, deviation**2)[:, None] * away**2
        above = logs - np.where(total > 0, logs, -np.inf).max(axis=1, keepdims=True)
        narrowed = total * np.exp(np.minimum(above, 0.0))  # above it there is nothing
        narrowed /= narrowed.sum(axis=1, keepdims=True)
        whole = Domain(0, max(spectrum.length - 1, 1), 1)
        left, bare = (areas_of_rows(_gathered(each), whole) for each in (narrowed, base))
        return against(left, bare, whole)

    def _spectra(self, columns: Ints, rows: Ints, theta: Floats, spectrum: _Spectra) -> Floats:
        """(u, f) of totals of units with so many rows in columns, (c,), given that extremes are attained."""
        seen, width = self.likely.fit.observed, self.likely.tilt.windows.width
        low, high = seen.low[columns], seen.high[columns]
        own = self.likely.tilt.rows(low, high, theta)
        at_ends = at_ends_of(low, high, own, width, np.stack([theta, theta]))
        found, rest = 1.0, np.ones(len(columns), dtype=np.bool_)
        for linked, insiders in self.linked:
            able = np.isin(columns, linked.columns)
            place = np.searchsorted(linked.columns, columns[able])
            mixed = 0.0
            for (sign, at_low, at_high, none), theirs in zip(linked.sets(), insiders, strict=True):
                left = own.copy()
                for ends, lost, end in zip(at_ends, (at_low, at_high), (low, high), strict=True):
                    here = np.flatnonzero(able)[lost[place]]
                    np.subtract.at(left, (here, end[here] // width), ends[here])
                mine = np.zeros(len(columns))
                mine[able] = none[place]
                mine = np.add.reduceat(rows * mine, spectrum.starts)
                # who is the insider who matters most has the second beside
                others = float(linked.own @ none) - mine - np.where(mine <= theirs[0], theirs[1], theirs[0])
                chance = sign * np.exp(np.minimum(others, 0.0))
                mixed = mixed + chance[:, None] * spectrum.of(np.maximum(left, 0.0), able)
            found, rest = found * mixed, rest & ~able
        return found * spectrum.of(own, rest)


def _of_insiders(shapes: Shapes | None, linked: Linked, none: Floats) -> Floats:
    """(2,) the least two logarithms of how likely no record of a unit attains any of some extremes."""
    if shapes is None:
        return np.zeros(2)
    place = np.minimum(np.searchsorted(linked.columns, shapes.columns), len(linked.columns) - 1)
    each = (np.where(linked.columns[place] == shapes.columns, none[place], 0.0) * shapes.rows).sum(axis=1)
    return np.sort(np.append(np.repeat(each, np.minimum(shapes.units, 2)), 0.0))[:2]


@dataclass(frozen=True, eq=False)
class _Spectra:
    """Sums of independent windows by their spectra: of unit after unit, whose columns begin at `starts`."""

    length: int
    """Windows of a sum."""
    starts: Ints
    rows: Ints
    """(c,) records of each column."""

    def of(self, windows: Floats, some: Flags | None = None) -> Floats:
        """(u, f) of the records in (some) columns, (c, w)."""
        spectra = np.fft.rfft(windows, 1 << (self.length - 1).bit_length(), axis=1) ** self.rows[:, None]
        if some is not None:
            spectra[~some] = 1.0
        return np.multiply.reduceat(spectra, self.starts, axis=0)

    def back(self, spectra: Floats) -> Floats:
        """(u, m) distributions."""
        found = np.fft.irfft(spectra, 1 << (self.length - 1).bit_length(), axis=1)[:, : self.length]
        found[found < ALTERNATING * found.max(axis=1, keepdims=True)] = 0.0
        # what no records can have leaves nothing open
        found[~(found > 0).any(axis=1), 0] = 1.0
        found /= found.sum(axis=1, keepdims=True)
        return found


def blocks(count: int, wide: int) -> list[Ints]:
    """So many places in parts, so that each with so many numbers beside each is not too much."""
    return np.array_split(np.arange(count), count * max(wide, 1) // AT_ONCE + 1)


def _gathered(rows: Floats) -> Floats:
    """(r, m) windows gathered so that there are not too many."""
    times = -(-rows.shape[1] // MOST_WINDOWS)
    return np.add.reduceat(rows, np.arange(0, rows.shape[1], times), axis=1)
