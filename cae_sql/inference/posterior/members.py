"""How risky a posterior is: against what is said of people like somebody, or against the prior.

What is said of a group is not disclosure about one person: that nurses earn little is a finding, that *this*
nurse does is not to be had. So the risk is 1 − A / A_baseline with

- `members`: A_baseline is the area of p(v) ∝ prior(v) exp(t v), where t is the record's own tilt θ less what
  the own value has in it. Of the sums x_i is a measurement with precision κ = h / ((1 − h) σ²), which does
  not hang on what is believed of i, so θ = κ (c − μ(θ)) with some c that comes from the others and x_i. Had
  x_i been that of nobody in particular, μ(0), in place of what is expected of it, μ(θ), c were so much less:

      t + κ (μ(t) − μ(0)) = θ.

  Near the prior that is t = (1 − h) θ. Who has little weight in large groups keeps the tilt, and is believed
  what anybody in the same sums would be; whom the sums determine keeps nothing, and is held against the
  prior.
- `prior`: A_baseline the area of what is believed before any answer, as in paper 000. It counts what is
  learned of groups too.

What skewness adds to a record's slope (`bell`) counts with the tilt, as what an insider tells does; of who is
counted, often one of a few, for whom it is no approximation, it does not. Risks are the greater of those with
skewness and without (`likely.Likely.both`); under a prior, where the one without may be far too great, at
most `MARGIN` more than with it.

(1 − h) θ itself is no such baseline: where somebody at an end of the domain is in sums with a dozen others
each, θ grows with the sums, σ² and with it h fall, and 60 sums that leave a tenth of the prior's area would
count as risk 0.44.

A baseline is over the whole domain, also where an answered extreme leaves somebody less: it is no narrower
for what is excluded of one person.

That people like somebody are all alike counts against nobody here: it is excluded values (runs of worlds)
that must catch that eleven people who all have the same value are known.

Source: `mathematics.md`, 7 (baseline).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from cae_sql.cached import cached_property
from cae_sql.compiled import compiled
from cae_sql.domain import Domain
from cae_sql.errors import InvalidInput
from cae_sql.inference.posterior.areas import NOTHING, areas_of_rows, entropies_of_rows
from cae_sql.inference.posterior.bell import STILL, stiffness
from cae_sql.inference.posterior.likely import Likely
from cae_sql.inference.posterior.tabulated import Table
from cae_sql.inference.posterior.weights import Floats
from cae_sql.inference.posterior.windows import Tilt
from cae_sql.risk import TOLERANCE

Baseline = Literal["members", "prior"]
BASELINES: tuple[Baseline, ...] = get_args(Baseline)

MARGIN = 0.05
"""By how much more at most the risk is under a prior than with skewness. In 15 stars of 25 falling values, up
to 25 sums over 12 or 40 others, that was too low by up to 0.014; without skewness by up to 0.32, and too
great by up to 0.29."""
TILTS, STEEPEST = 1_024, 1e4
"""Tilts of which areas of baselines are known, to either side of none, up to so much over the domain: there
next to nothing is left open. From one to the next areas change by a hundredth, and between them by a line up
to 1e-5."""


class _Listed(NamedTuple):
    """Baselines of some tilts. Near no tilt areas are greatest, and change with the square: there the tilts
    lie close."""

    tilts: Floats
    """(m,) ascending."""
    turns: Floats
    """(m,) μ(t) − μ(0), in units."""
    areas: Floats
    """(m + 1,) with a 0 behind them."""


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
    """A_baseline by tilt, for one prior and domain."""

    def __init__(self, tilt: Tilt, top: int, domain: Domain, baseline: Baseline) -> None:
        """Work out nothing yet, of a prior and windows, and values up to `top` units.

        Raises:
            InvalidInput: no such baseline.
        """
        if baseline not in BASELINES:
            raise InvalidInput(f'baseline must be "members" or "prior", not {baseline!r:.60}')
        self._tilt, self._top, self._domain = tilt, top, domain
        self._by_tilt = baseline == "members"
        self._tables: dict[float | None, Table] = {}

    def table(self, epsilon: float | None, left: Callable[[Floats], Floats]) -> Table:
        """Bells under the same prior, by what is left of them: H(ε), or without ε the area."""
        found = self._tables.get(epsilon)
        if found is None:
            most = 1.0 if epsilon is not None else float(self._domain.step) * self._tilt.windows.count
            found = self._tables.setdefault(epsilon, Table(self._tilt, left, most))
        return found

    def areas(self, kappa: Floats, theta: Floats) -> Floats:
        """A_baseline of records with these κ and θ, of one shape, (r,): to five digits of the prior's."""
        found: Floats = np.interp(self.tilts(kappa, theta), self._listed.tilts, self._listed.areas[:-1])
        return found

    def tilts(self, kappa: Floats, theta: Floats) -> Floats:
        """(r,) t for κ and θ, of one shape: it rises with θ, and is nearer to 0 the greater κ. By lines
        between listed tilts."""
        found = np.empty(len(theta))
        tilts_of(self._listed.tilts, self._listed.turns, kappa, theta, found)
        return found

    def of(self, likely: Likely) -> Floats:
        """(p,) A_baseline of every record, by atoms."""
        seen, some = likely.fit.observed, slice(0, likely.fit.observed.people)
        found = np.full(likely.known.count, self.areas(np.zeros(1), np.zeros(1))[0])  # whom no sum is about
        fit, by_formula = likely.fit, ~likely.exact[1][seen.atoms] & (likely.fit.variances[some] > STILL)
        kappa = stiffness(fit.leverage[some], fit.variances[some])
        turn = np.where(by_formula, fit.shift[some] / np.where(by_formula, fit.variances[some], 1.0), 0.0)
        found[seen.atoms] = self.areas(kappa, fit.theta[some] + turn)
        return found

    def judged(self, without: Floats, skewed: Floats) -> Floats:
        """(r,) risks that a limit is held against, by those without skewness and with it."""
        margin = np.inf if self._tilt.logs is None else MARGIN
        found: Floats = np.maximum(skewed, np.minimum(without, skewed + margin))
        return found

    def greatest(self, low: Floats, high: Floats) -> Floats:
        """(r,) a bound of A_baseline for all `tilts` between two, (r,) each.

        Up to what the area can rise between two neighbours of `TILTS` and fall again: it is taken at those
        that are in between, and at the next one to either side.
        """
        if not len(low):
            return np.zeros(0)
        tilts, areas = self._listed.tilts, self._listed.areas
        first = np.maximum(np.searchsorted(tilts, low, "right") - 1, 0)
        last = np.minimum(np.searchsorted(tilts, high, "left"), len(tilts) - 1)
        found: Floats = np.maximum.reduceat(areas, np.column_stack([first, last + 1]).ravel())[::2]
        return found

    @cached_property
    def _listed(self) -> _Listed:
        side = np.sinh(np.linspace(0.0, np.arcsinh(STEEPEST), TILTS + 1)) / self._top
        tilts = np.append(-side[:0:-1], side) if self._by_tilt else np.zeros(3)  # of the prior one for all
        low, high = np.zeros(len(tilts), dtype=np.int64), np.full(len(tilts), self._top)
        means = self._tilt.moments(low, high)(tilts).means
        areas = areas_of_rows(self._tilt.rows(low, high, tilts), self._domain)
        return _Listed(tilts, means - means[len(means) // 2], np.append(areas, 0.0))


HELD = 8
"""Baselines that are remembered: one for each column of a policy, and for its neighbours in tests."""
_held: dict[tuple[object, ...], Baselines] = {}


def held(tilt: Tilt, top: int, domain: Domain, baseline: Baseline) -> Baselines:
    """Baselines as `Baselines` makes them; the same ones, and with them their areas, for like arguments.

    They hang on nothing that is answered, so one list of areas serves every decision of a process.
    """
    name = tilt.name, top, domain, baseline
    found = _held.pop(name, None) or Baselines(tilt, top, domain, baseline)
    _held[name] = found  # the last one that was asked for is the last one to go
    for old in list(_held)[:-HELD]:
        _held.pop(old, None)
    return found


@dataclass(frozen=True, eq=False)
class Risks:
    """Figures by atom, (p,); of atoms that are nobody's they mean nothing."""

    risk: Floats
    """1 − A / A_baseline, as it comes out, or greater where both forms of the formula are judged; 1 where the
    baseline leaves nothing open."""
    area: Floats
    """A of the posterior: bits × units of the column."""
    baseline: Floats
    """A_baseline."""
    entropy_at_epsilon: Floats | None
    """H(ε) of the posterior in bits, the lesser of both forms; None where no ε was asked for."""


def posterior_risks(
    likely: Likely, domain: Domain, baseline: Baseline = "members", epsilon: float | None = None
) -> Risks:
    """The risk of every record's posterior, by atoms.

    Args:
        likely: What answers make likely, gathered in windows of the domain's step.
        domain: What was possible before any answer.
        baseline: What risk is held against.
        epsilon: Approximate compromise range at which H is wanted too.

    Raises:
        InvalidInput: no such baseline.
    """
    mine, baselines = np.flatnonzero(likely.known.protected), held(likely.tilt, likely.top, domain, baseline)
    found = list[Risks]()
    for each in likely.both:
        area, base = np.zeros(len(each.rows)), baselines.of(each)
        area[mine] = areas_of_rows(each.rows[mine], domain)
        at = None
        if epsilon is not None:
            at = np.zeros(len(area))
            at[mine] = entropies_of_rows(each.rows[mine], domain, float(epsilon))
        found.append(Risks(against(area, base, domain), area, base, at))
    skewed, without = found[0], found[-1]
    at = skewed.entropy_at_epsilon
    if at is not None and without.entropy_at_epsilon is not None:
        at = np.minimum(at, without.entropy_at_epsilon)
    risk = baselines.judged(without.risk, skewed.risk)
    return Risks(risk, skewed.area, skewed.baseline, at)


def against(area: Floats, base: Floats, domain: Domain) -> Floats:
    """1 − A / A_baseline, each with its own; 1 where a baseline leaves nothing open."""
    some = base > NOTHING * domain.area
    risk = np.where(some, 1.0 - area / np.where(some, base, 1.0), 1.0)
    found: Floats = np.where(np.abs(risk) <= TOLERANCE, 0.0, risk)
    return found
