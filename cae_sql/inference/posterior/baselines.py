"""Risk of a posterior, 1 − A / A_baseline, its area A and H(ε): against people like somebody, or the prior.

What is said of a group is not disclosure about one person: that nurses earn little is a finding, that *this*
nurse does is not to be had. So A_baseline is

- `members`: the area of p(v) ∝ prior(v) exp(t v), t the record's tilt θ less what the own value has in it:
  t + κ (μ(t) − μ(0)) = θ, κ = h / ((1 − h) σ²). A record with little weight in large groups keeps the
  tilt; one that the sums determine is held against the prior.
- `prior`: the area of what is believed before any answer, as in paper 000: learning of groups counts too.

What skewness adds to a slope (`bell`) counts with the tilt, as what an insider tells does, but not of counted
records. A baseline is over the whole domain, whatever an answered extreme leaves. That all people like
somebody are known to be alike counts against nobody here: runs of worlds must catch that.

Source: `mathematics.md`, 7 (baseline).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from cae_sql.compiled import compiled
from cae_sql.domain import Domain
from cae_sql.errors import InvalidInput
from cae_sql.inference.posterior.bell import STILL, SURE, stiffness
from cae_sql.inference.posterior.likely import Likely
from cae_sql.inference.posterior.tabulated import Table
from cae_sql.inference.posterior.tilt import Tilt
from cae_sql.inference.posterior.weights import Floats
from cae_sql.risk import TOLERANCE
from cae_sql.threads import in_two

Baseline = Literal["members", "prior"]
BASELINES: tuple[Baseline, ...] = get_args(Baseline)

MARGIN = 0.05
"""By how much more at most the risk is under a prior than with skewness. In 15 stars of 25 falling values
that was too low by up to 0.014; without skewness by up to 0.32, and too great by up to 0.29."""
TILTS, STEEPEST = 1_024, 1e4
"""Tilts of which areas of baselines are known, to either side of none, up to so much over the domain. From
one to the next areas change by a hundredth, and between them by a line up to 1e-5."""
NOTHING = 1e-9
"""Part of the domain's area that is none: λ is not found to more digits where it has no finite value."""


def areas_of_rows(rows: Floats, domain: Domain) -> Floats:
    """(r,) bits × units of distributions (r, w) over the domain's values."""
    if not len(rows):
        return np.zeros(0)
    from cae_sql.measure import lanes  # late: a question that is known measures nothing

    cells, total = rows.shape[1], rows.sum(axis=1)
    if cells <= lanes.MOST_CELLS and (rows >= 0).all() and (np.isfinite(total) & (total > 0)).all():
        found = np.empty(len(rows))

        def work(first: int, last: int) -> None:
            lanes.areas(rows[first:last].ravel(), cells, found[first:last])

        in_two(work, len(rows), cells**2)
        return found * float(domain.step)
    from cae_sql.measure.batch import areas
    from cae_sql.measure.rows import lists_of

    return areas(*lists_of(rows, domain.values), np.ones(len(rows), dtype=np.bool_))


def entropies_of_rows(rows: Floats, domain: Domain, epsilon: float) -> Floats:
    """(r,) H(ε) in bits of distributions (r, w) over the domain's values."""
    from cae_sql.measure.batch import entropies
    from cae_sql.measure.rows import lists_of

    live = np.ones(len(rows), dtype=np.bool_)
    return entropies(*lists_of(rows, domain.values), np.full(len(rows), epsilon), live)


def against(area: Floats, base: Floats, domain: Domain) -> Floats:
    """1 − A / A_baseline, each with its own; 1 where a baseline leaves nothing open."""
    some = base > NOTHING * domain.area
    risk = np.where(some, 1.0 - area / np.where(some, base, 1.0), 1.0)
    found: Floats = np.where(np.abs(risk) <= TOLERANCE, 0.0, risk)
    return found


@compiled()
def tilts_of(tilts: Floats, turns: Floats, kappa: Floats, theta: Floats, found: Floats) -> None:
    """t of many, (r,), by bisection, and by a line between two listed tilts."""
    for i in range(len(found)):
        low, high = 0, len(tilts) - 1
        while high - low > 1:
            middle = (low + high) // 2
            if tilts[middle] + kappa[i] * turns[middle] > theta[i]:
                high = middle
            else:
                low = middle
        start, end = tilts[low] + kappa[i] * turns[low], tilts[high] + kappa[i] * turns[high]
        part = min(max((theta[i] - start) / (end - start), 0.0), 1.0) if end > start else 0.0
        found[i] = tilts[low] + part * (tilts[high] - tilts[low])


class Baselines:
    """A_baseline by tilt, for one prior and domain; and what bells under that prior leave."""

    def __init__(self, tilt: Tilt, top: int, domain: Domain, baseline: Baseline) -> None:
        """Of a prior and windows, and values up to `top` units; `InvalidInput` without such a baseline."""
        if baseline not in BASELINES:
            raise InvalidInput(f'baseline must be "members" or "prior", not {baseline!r:.60}')
        self._tilt, self._domain = tilt, domain
        self._tables: dict[tuple[float | None, int], Table] = {}
        # near no tilt areas are greatest, and change with the square: there the tilts lie close
        side = np.sinh(np.linspace(0.0, np.arcsinh(STEEPEST), TILTS + 1)) / top
        self._listed = np.append(-side[:0:-1], side) if baseline == "members" else np.zeros(3)
        low, high = np.zeros(len(self._listed), dtype=np.int64), np.full(len(self._listed), top)
        means = tilt.moments(low, high)(self._listed).means
        self._turns = means - means[len(means) // 2]  # μ(t) − μ(0), in units
        self._areas = areas_of_rows(tilt.rows(low, high, self._listed), domain)

    def table(self, epsilon: float | None, left: Callable[[Floats], Floats], cells: int) -> Table:
        """Bells under the same prior, by what is left of them: H(ε), or without ε the area. As `Table`."""
        found = self._tables.get((epsilon, cells))
        if found is None:
            most = 1.0 if epsilon is not None else float(self._domain.step) * self._tilt.windows.count
            found = self._tables.setdefault((epsilon, cells), Table(self._tilt, left, most, cells))
        return found

    def areas(self, kappa: Floats, theta: Floats) -> Floats:
        """A_baseline of records with these κ and θ, of one shape, (r,): to five digits of the prior's."""
        found: Floats = np.interp(self.tilts(kappa, theta), self._listed, self._areas)
        return found

    def tilts(self, kappa: Floats, theta: Floats) -> Floats:
        """(r,) t for κ and θ, of one shape: it rises with θ, and is nearer to 0 the greater κ."""
        found = np.empty(len(theta))
        tilts_of(self._listed, self._turns, kappa, theta, found)
        return found

    def of(self, likely: Likely) -> Floats:
        """(p,) A_baseline of every record, by atoms."""
        seen, some = likely.fit.observed, slice(0, likely.fit.observed.people)
        found = np.full(likely.known.count, self.areas(np.zeros(1), np.zeros(1))[0])  # a record in no sum
        fit, by_formula = likely.fit, ~likely.exact[1][seen.atoms] & (likely.fit.variances[some] > STILL)
        kappa = stiffness(fit.leverage[some], fit.variances[some])
        turn = np.where(by_formula, fit.slope[some] * np.maximum(1.0 - fit.leverage[some], SURE), 0.0)
        found[seen.atoms] = self.areas(kappa, fit.theta[some] + turn)
        return found

    def judged(self, without: Floats, skewed: Floats) -> Floats:
        """(r,) risks that a limit is held against: the greater of those without skewness and with it, but
        under a prior, where the former may be far too great, at most `MARGIN` more than the latter."""
        margin = np.inf if self._tilt.logs is None else MARGIN
        found: Floats = np.maximum(skewed, np.minimum(without, skewed + margin))
        return found

    def greatest(self, low: Floats, high: Floats) -> Floats:
        """(r,) a bound of A_baseline for all `tilts` between two, (r,) each: the greatest listed in between
        and next to them, up to what it can rise between two neighbours of `TILTS` and fall again."""
        if not len(low):
            return np.zeros(0)
        first = np.maximum(np.searchsorted(self._listed, low, "right") - 1, 0)
        last = np.minimum(np.searchsorted(self._listed, high, "left"), len(self._listed) - 1)
        ends = np.column_stack([first, last + 1]).ravel()
        found: Floats = np.maximum.reduceat(np.append(self._areas, 0.0), ends)[::2]
        return found


held = lru_cache(8)(Baselines)
"""The same `Baselines`, areas and tables for like arguments: they hang on nothing that is answered."""


@dataclass(frozen=True, eq=False)
class Risks:
    """Figures by atom, (p,); of atoms that are nobody's they mean nothing."""

    risk: Floats
    """1 − A / A_baseline, as it comes out, or greater where both forms of the formula are judged; 1 where the
    baseline leaves nothing open."""
    baseline: Floats
    """A_baseline."""
    entropy_at_epsilon: Floats | None
    """H(ε) of the posterior in bits, the lesser of both forms; None where no ε was asked for."""


def posterior_risks(
    likely: Likely, domain: Domain, baseline: Baseline = "members", epsilon: float | None = None
) -> Risks:
    """The risk of every record's posterior, by atoms, and H(ε) where an ε is given.

    By what answers make likely, in windows of the step of the domain; `InvalidInput` without such a baseline.
    """
    mine, baselines = np.flatnonzero(likely.known.protected), held(likely.tilt, likely.top, domain, baseline)
    area, at = np.zeros((2, len(likely.both), likely.known.count))
    for number, each in enumerate(likely.both):
        area[number, mine] = areas_of_rows(each.rows[mine], domain)
        if epsilon is not None:
            at[number, mine] = entropies_of_rows(each.rows[mine], domain, float(epsilon))
    base = np.stack([baselines.of(each) for each in likely.both])
    risk = against(area, base, domain)
    entropy = None if epsilon is None else at.min(axis=0)
    return Risks(baselines.judged(risk[-1], risk[0]), base[0], entropy)
