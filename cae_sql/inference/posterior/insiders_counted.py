"""What somebody who knows their own value makes of the others in small systems: counted.

Who has nearly all of a sum knows that the others have nearly nothing. The formula makes bells of what is
left, and two values are no bell: held against all tables of systems of up to seven people, a risk was 0.22
too low at most. So in small components one record of each atom is put aside with each value that it has in
some table, and the others are counted again.

What a posterior is held against is as in `insiders`: what the insider sees of people like somebody.

Source: `mathematics.md`, 7 (insiders; exact counting where components are small).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.posterior.bell import stiffness
from cae_sql.inference.posterior.components import spares_of
from cae_sql.inference.posterior.insiders import Measure, given, told_tilts
from cae_sql.inference.posterior.likely import Likely
from cae_sql.inference.posterior.pairs import Given
from cae_sql.inference.posterior.weights import Floats, Ints

MOST_ROOM = 250
"""Records times values of a component, at most, unless its sums are no bell: of more the formula is near, and
counting costs much."""
ALL_STEPS = 8_000_000
"""For all insiders and values, as `Allowance` counts."""

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Counted:
    """Figures by atom, (p,)."""

    atoms: Flags
    """Whether every insider and value was counted."""
    risk: Floats
    """The greatest with any of them, by `Measure`; −∞ of the others and where nobody else is."""


def counted_with_insider(likely: Likely, measure: Measure) -> Counted:
    """The greatest risk of records in small components, whoever the insider is.

    What is not counted with what may be spent is left to the formula.

    Args:
        likely: What answers make likely, and what may be spent on it.
        measure: Of a posterior.
    """
    known = likely.known
    found = Counted(np.zeros(known.count, dtype=np.bool_), np.full(known.count, -np.inf))
    left, alike = likely.allowed(ALL_STEPS), dict[bytes, Floats]()
    for atoms in likely.counted_components:
        room = int((known.sizes[atoms] * (known.high - known.low + 1)[atoms]).sum())
        if room > MOST_ROOM and not likely.heaped[atoms].any():
            continue
        name = likely.name_of(atoms)  # of four hundred groups of yes and no a dozen are unlike each other
        try:
            risk = alike[name] if name in alike else _of_component(likely, atoms, measure, left)
        except OutOfTime:
            continue
        found.atoms[atoms], found.risk[atoms], alike[name] = True, risk, risk
    return found


def _of_component(likely: Likely, atoms: Ints, measure: Measure, left: Allowance) -> Floats:
    """(a,) of one; OutOfTime where something cannot be counted."""
    known, seen, windows = likely.known, likely.fit.observed, likely.tilt.windows
    people = (known.sizes - spares_of(known))[atoms]
    alone = likely.counted_units(atoms)
    asides = [
        (place, int(known.low[atom]) + int(unit))
        for place, atom in enumerate(atoms.tolist())
        if people[place]
        for unit in np.flatnonzero(alone[place] > 0)
    ]
    # by insider and value, of each other record its row
    rows = np.zeros((len(asides), len(atoms), windows.count))
    for number, (place, value) in enumerate(asides):
        counted = likely.counted_units(atoms, (int(atoms[place]), value), left)
        for other, p in enumerate(counted):
            units = np.arange(known.low[atoms[other]], known.high[atoms[other]] + 1)
            rows[number, other] = windows.gathered(units, p)
    columns = np.searchsorted(seen.atoms, atoms)
    who, values = (np.array(each, dtype=np.int64) for each in zip(*asides, strict=True))
    risk = np.full(len(atoms), -np.inf)
    for other in np.flatnonzero(people).tolist():
        some = np.flatnonzero((who != other) | (people[other] > 1))
        if not len(some):
            continue
        column = int(columns[other])
        each, turn = np.unique(values[some], return_inverse=True)
        all_of_them = np.broadcast_to(each.astype(np.float64), (len(seen.sizes), len(each)))
        told, at = given(likely.fit, column, all_of_them), (columns[who[some]], turn)
        mine = Given(told.leverage[at], told.shift[at])
        kappa = stiffness(np.clip(mine.leverage, 0.0, 1.0), likely.fit.variances[[column]])
        base = measure.baselines.areas(kappa, told_tilts(likely.fit, np.full(len(some), column), mine))
        risk[other] = measure.bad(measure.left(rows[some, other]), base).max()
    return risk
