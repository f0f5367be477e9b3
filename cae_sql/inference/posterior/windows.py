"""Units of the grid gathered in windows of one step of the domain, and tilted distributions over them.

Promise: `Tilt` gives p(u) ∝ prior(u) exp(θ u) over each atom's box, by windows, in closed form within them. A
prior is taken by windows too: within one it is spread evenly, since one step is what risk is judged at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cae_sql.domain import Domain, exact, grid_values
from cae_sql.errors import InvalidInput
from cae_sql.inference.facts.query import Grid
from cae_sql.inference.posterior.tilt import Moments, log_geometric, of_boxes, of_windows
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.inference.tables.priors import Prior

LARGEST = 50_000_000
"""Probabilities that are held at once: 400 MB."""
MOST_WITH_PRIOR = 5_000_000
"""Groups of records times windows of a model with a prior."""


@dataclass(frozen=True, eq=False)
class Windows:
    """Units of the grid gathered in windows of one step of the domain."""

    width: int
    """Units in a window."""
    count: int
    values: Floats
    """(w,) at which each begins: the domain's values."""

    @classmethod
    def of(cls, grid: Grid, domain: Domain | None) -> Windows:
        """Those of a system's grid; without a domain each unit is one.

        Raises:
            InvalidInput: no grid, a domain that does not fit it, or more than `LARGEST` windows.
        """
        if not grid.whole:
            raise InvalidInput("candidate models need a grid: give the system a resolution")
        units = int(grid.top) + 1
        step = grid.unit if domain is None else exact(domain.step)
        if domain is not None and exact(domain.minimum) != grid.minimum:
            raise InvalidInput(
                f"the domain begins at {domain.minimum}, the system at {float(grid.minimum):g}; "
                "give both the same minimum"
            )
        width = step / grid.unit
        if width.denominator != 1:
            raise InvalidInput(
                f"a step of {float(step):g} is no multiple of the resolution {float(grid.unit):g}; "
                "take one that is"
            )
        count = -(-units // int(width))
        if count > LARGEST:
            raise InvalidInput(f"{count:,} values are too many to hold; take a coarser step")
        return cls(int(width), count, grid_values(np.arange(count), grid.minimum, step))

    def gathered(self, units: Ints, weights: Floats) -> Floats:
        """(w,) weights of units, added up by window."""
        found: Floats = np.bincount(units // self.width, weights, self.count).astype(np.float64)
        return found

    def check_rows(self, atoms: int, most: int = LARGEST) -> None:
        """Whether rows for so many atoms can be held.

        Raises:
            InvalidInput: they cannot.
        """
        if atoms * self.count > most:
            raise InvalidInput(
                f"{atoms:,} groups of records with {self.count:,} values each are too many to hold; "
                "take a coarser step"
            )


def normal(logs: Floats) -> Floats:
    """Rows of logarithms as rows of sum 1, whatever their scale."""
    p = np.exp(logs - logs.max(axis=1, keepdims=True))
    found: Floats = p / p.sum(axis=1, keepdims=True)
    return found


class Tilt:
    """Distributions on one grid of greatest entropy relative to a prior, with given expected sums."""

    def __init__(self, windows: Windows, prior: Prior | None = None) -> None:
        """Without a prior, or with one of a grid too fine to list, all units are alike."""
        self.windows = windows
        self.logs: Floats | None = None
        """(w,) logarithm of the prior weight of a unit in each window; None where all are alike."""
        if prior is not None and len(prior.odds):
            mass = windows.gathered(np.arange(len(prior.odds)), np.exp(prior.odds))
            units = windows.gathered(np.arange(len(prior.odds)), np.ones(len(prior.odds)))
            self.logs = np.log(mass / units)

    @property
    def name(self) -> tuple[int, int, bytes]:
        """Equal for tilts that say the same of the same boxes."""
        return self.windows.width, self.windows.count, b"" if self.logs is None else self.logs.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tilt) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def moments(self, low: Ints, high: Ints) -> Callable[[Floats], Moments]:
        """Of one record of each atom, by θ (p,): its box, (p,) each.

        Raises:
            InvalidInput: too many groups of records with a prior.
        """
        if self.logs is None:
            return of_boxes(low, high)
        self.windows.check_rows(len(low), MOST_WITH_PRIOR)
        return of_windows(*self.parts(low, high), self.logs)

    def rows(self, low: Ints, high: Ints, theta: Floats) -> Floats:
        """(p, w) one record's distribution for each atom, from its box and θ, (p,) each."""
        first, last = self.parts(low, high)
        count = last - first + 1
        steep = np.broadcast_to(theta[:, None], first.shape)
        logs = steep * (first - low[:, None]) + log_geometric(steep, np.maximum(count, 1).astype(float))
        if self.logs is not None:
            logs = logs + self.logs
        return normal(np.where(count > 0, logs, -np.inf))

    def parts(self, low: Ints, high: Ints) -> tuple[Ints, Ints]:
        """(p, w) each: the part of each box in each window."""
        starts = np.arange(self.windows.count) * self.windows.width
        first = np.maximum(starts, low[:, None])
        last = np.minimum(starts + self.windows.width - 1, high[:, None])
        return first, last
