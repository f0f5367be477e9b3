"""Under which priors a bell in the middle sees what is observed with noise.

What ranges make likely (`noisy`) is a bell around the mean of what is expected. Whose value lies elsewhere is
left with less, which is made up for by a narrower bell. Where most values are at both ends of the domain, or
there are two values, that does not help: nothing of them is near the mean, so no bell there tells one end
from the other, and a range may.

So a prior is tried: for each value v and precision κ, a bell around v, `SPARE` times as precise, is held
against the one around the mean that κ is judged by (`LUCK`). If the one around some v leaves less than a
limit asks for, so must the other.
Tilts of the prior, and the shortest boxes that the limit allows, are tried as well.

Promise: it hangs on the prior, the domain and the limit alone.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from cae_sql.domain import Domain
from cae_sql.inference.posterior.areas import areas_of_rows
from cae_sql.inference.posterior.noisy import LUCK
from cae_sql.inference.posterior.weights import Floats
from cae_sql.inference.posterior.windows import Tilt

MOST = 32
"""Values that are told apart here: of more, neighbours are taken together."""
TILTS = (-2.0, -1.0, 0.0, 1.0, 2.0)
"""In terms of one over the prior's deviation."""
PRECISIONS = 30
"""κ between those that hardly bend anything and those that leave one value."""
SPARE, STATED = 3.0, 3.75
"""How many times as precise a bell around a value must still be seen, since some ranges tell more than
others: of even values, and of a prior that the policy states. With 3 for both, a prior of three tenths at
either end passed, under which 23 draws of 100 went past a limit of 0.5; with 4 even values of a domain of 12
would not."""
FLAT = 1e-9
"""By how much the chances of values that are alike differ."""
LIMIT = 0.5
"""Where a limit is not one of risk."""


def sees(tilt: Tilt, risk: float | None) -> bool:
    """Whether what is observed shows in the bell of whoever has whatever value.

    Args:
        tilt: Prior and windows.
        risk: The limit; None where it is not one of risk.
    """
    count, width = tilt.windows.count, tilt.windows.width
    low = np.zeros(1, dtype=np.int64)
    chances = tilt.rows(low, low + count * width - 1, np.zeros(1))[0]
    together = -(-count // MOST)
    starts = np.arange(0, count, together)
    gathered = np.add.reduceat(chances, starts)
    spare = SPARE if np.ptp(gathered / np.diff(np.append(starts, count))) < FLAT else STATED
    return _sees(tuple(gathered.tolist()), LIMIT if risk is None else float(risk), spare)


@lru_cache(64)
def _sees(chances: tuple[float, ...], risk: float, spare: float) -> bool:
    prior, domain = np.array(chances), Domain(0, len(chances) - 1, 1)
    if len(prior) < 3:
        return False
    x = np.arange(len(prior))
    whole = float(areas_of_rows(prior[None], domain)[0])
    deviation = np.sqrt(prior @ (x - prior @ x) ** 2)
    tried = list[tuple[Floats, float]]()
    for tilt in TILTS:
        row = prior * np.exp(tilt * (x - prior @ x) / max(float(deviation), 1e-9))
        row /= row.sum()
        tried.append((row, float(areas_of_rows(row[None], domain)[0])))
    tried += [(box, whole) for box in _shortest(prior, whole * (1 - risk), domain)]
    return all(_seen(row, (1 - risk) * base, domain, spare) for row, base in tried)


def _shortest(prior: Floats, enough: float, domain: Domain) -> list[Floats]:
    """The prior in the shortest boxes in which all values alike would leave enough."""
    count = len(prior)
    for size in range(2, count):
        row = np.zeros((1, count))
        row[0, :size] = 1 / size
        if float(areas_of_rows(row, domain)[0]) >= enough:
            starts = range(count - size + 1)
            x = np.arange(count)
            boxes = [np.where((x >= start) & (x < start + size), prior, 0.0) for start in starts]
            return [box / box.sum() for box in boxes if box.sum() > 0]
    return []


def _seen(row: Floats, enough: float, domain: Domain, spare: float) -> bool:
    """Whether, of every precision, the bell in the middle leaves too little where one around a value does."""
    x = np.arange(len(row))
    mean = row @ x
    for kappa in np.geomspace(0.01 / len(row) ** 2, 20.0, PRECISIONS):
        around = row * np.exp(-0.5 * spare * kappa * (x - x[row > 0][:, None]) ** 2)
        away = (x - mean) ** 2
        middle = row * np.exp(-0.5 * (1 + LUCK) * kappa * (away - away[row > 0].min()))
        least = float(areas_of_rows(around / around.sum(axis=1, keepdims=True), domain).min())
        if least < enough <= float(areas_of_rows(middle[None] / middle.sum(), domain)[0]):
            return False
    return True
