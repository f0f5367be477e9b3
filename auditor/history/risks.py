"""Risk over what is proved to remain: the worst class at each moment, and all classes at the end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from auditor.history.findings import ClassRisk
from auditor.parties.confidential import Confidential
from cae_sql.candidates import candidates
from cae_sql.inference.lookback.located_so_far import KEEPS, LocatedSoFar
from cae_sql.measure.curve import curve_of
from cae_sql.measure.distribution import distribution
from cae_sql.risk import class_risks

Ints = NDArray[np.int64]
WORST = 20
"""Classes that are listed for each party."""
CURVES = 3
"""Of these, how many have their curve."""


def in_column_units(column: Confidential, units: Ints) -> NDArray[np.float64]:
    """Units of the grid as values."""
    protect = column.protect
    common = protect.minimum.denominator * protect.grid.denominator
    low, step = int(protect.minimum * common), int(protect.grid * common)
    values: NDArray[np.float64] = (low + step * units.astype(np.float64)) / common
    return values


def worst_risk(column: Confidential, so_far: LocatedSoFar, codes: Ints) -> float:
    """1 − A/A_prior of the worst class over the intervals that are proved; at least so high is the risk."""
    beyond = so_far.by_integers != KEEPS
    if not beyond.any() and not (so_far.high - so_far.low < so_far.top).any():
        return 0.0
    # only classes in which something is excluded can have any risk
    some = np.isin(codes, np.unique(codes[so_far.high - so_far.low < so_far.top]))
    found = class_risks(
        codes[some],
        in_column_units(column, so_far.low[some]),
        in_column_units(column, so_far.high[some]),
        column.protect.domain,
    )
    return float(max(found.risk.max(), 0.0))


def class_findings(
    party: str, column: Confidential, low: Ints, high: Ints, codes: Ints, names: list[dict[str, str]]
) -> list[ClassRisk]:
    """The worst classes at the end, with the curves of the very worst."""
    domain, limits = column.protect.domain, column.limits
    ends = in_column_units(column, low), in_column_units(column, high)
    found = class_risks(codes, *ends, domain, limits.epsilon)
    order = np.lexsort((found.label, -found.risk))[:WORST]
    result = []
    for rank, place in enumerate(order.tolist()):
        label = int(found.label[place])
        members = codes == label
        values, weights = candidates(ends[0][members], ends[1][members], domain)
        result.append(
            ClassRisk(
                party=party,
                known=names[label],
                records=int(found.records[place]),
                lower=float(found.lower[place]),
                upper=float(found.upper[place]),
                initial_entropy=float(found.initial_entropy[place]),
                area=float(found.area[place]),
                risk=float(found.risk[place]),
                beyond=not limits.limit.keeps(values, weights, domain),
                curve=curve(values, weights) if rank < CURVES else (),
            )
        )
    return result


def curve(values: NDArray[np.float64], weights: NDArray[np.float64]) -> tuple[tuple[float, float], ...]:
    """(ε, H(ε)) where it changes."""
    found = curve_of(distribution(values, weights))
    return tuple(zip(found.epsilon.tolist(), found.entropy.tolist(), strict=True))
