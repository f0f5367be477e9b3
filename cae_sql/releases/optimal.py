"""Which probabilities of randomised response lose least, when nobody's sensitive value may be found with more
than a given probability (paper 004, Section IV-B, Result 2).

Minimise Π ‖P_i⁻¹‖_F² over the distorted attributes, subject to Pr(S | QI) <= limit for every record. In
retentions: ‖P_i⁻¹‖_F² = 1 + (d_i − 1) / r_i². The sum of the logarithms is minimised, by SciPy's SLSQP with
analytic gradients. Both sides are monotone in every r_i: the limit binds wherever leaving the table alone
breaks it, and a feasible point stays feasible when retentions fall.

Contract: what is returned keeps the limit for every record, checked after the last step. That no better point
exists is not proven (the feasible set need not be convex): the search starts at several points, and the tests
compare with a grid. Few combinations bind, so those that break the limit become constraints, until none does.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cae_sql.errors import InvalidInput
from cae_sql.measure.distribution import is_number
from cae_sql.releases.arguments import checked_columns
from cae_sql.releases.disclosure import Combinations, Watched, in_order
from cae_sql.releases.distortion import Distortion, Floats, Ints, check_one, distorted
from cae_sql.releases.drawing import generator

_LEAST_RETENTION = 1e-6
"""Below, nothing can be reconstructed in practice: variances grow with 1 / r²."""
_MARGIN = 1e-8
"""Relative: aimed for below the limit, so that what is reached to rounding keeps it."""
_BINDING = 1e-6
"""Relative: combinations this near to the limit are said to bind."""
_ROUNDS = 50
_FINE, _COARSE = 1e-10, 1e-5
"""When a search ends: by how little the logarithm of the objective still falls."""
_ADDED = 4
_HALVINGS = 12
_LOWER = 0.7
"""What is left of all retentions at each step, until everybody keeps the limit and a search can start."""
_NEAR, _FAR = 1e-9, 1e-3
"""By which part retentions are lowered at first, when a search ends just beyond the limit, and at most so."""
_STARTS = 1
_MORE = 0.4
"""How much lower an attribute's retention is where another search starts."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """Probabilities that keep the limit, and who forbids better ones."""

    probabilities: Mapping[str, float]
    """Column to p, for `randomise`; those of 1 included."""
    objective: float
    """Π ‖P_i⁻¹‖_F² over the distorted attributes; N trace(Σ) is that over Π d_i of the same, less Σ π²."""
    risk: float
    """The greatest Pr(S | QI) of a record."""
    binding: pd.DataFrame
    """One row per combination that is at the limit: its values, records, and risk. Empty where the limit is
    kept without distortion."""


def optimal_probabilities(
    frame: pd.DataFrame,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    domains: Mapping[str, Sequence[Hashable]],
    limit: float,
    distort: Sequence[str] | None = None,
) -> Optimum:
    """The probabilities of least loss under a limit on every record's Pr(S | QI).

    Args:
        frame: The original records.
        quasi_identifiers: What the intruder knows of the target.
        sensitive: What the intruder wants to know.
        domains: Column to its possible values, for each of these columns.
        limit: Of the risk; 1 / l for the requirement of l-diversity.
        distort: Which of these columns; the sensitive one is RR-S, the quasi-identifiers RR-QI, None: all
            (RR-Both).

    Raises:
        InvalidInput: a limit out of range, or one that no distortion of these columns keeps, or hardly any
            (the message names the combination); as `attribute_disclosure_risk`.
    """
    return _table(frame, quasi_identifiers, sensitive, domains, limit, distort)[0]


def randomise_within(
    frame: pd.DataFrame,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    domains: Mapping[str, Sequence[Hashable]],
    limit: float,
    seed: int,
    distort: Sequence[str] | None = None,
) -> tuple[Optimum, pd.DataFrame]:
    """`optimal_probabilities`, and the table that `randomise` releases with them: read once, where the two
    calls read it twice.

    Args:
        frame: The original records.
        quasi_identifiers: As there, and so all the others.
        sensitive: See there.
        domains: See there.
        limit: See there.
        seed: As `randomise` takes it.
        distort: See there.

    Raises:
        InvalidInput: as both of them.
    """
    random = generator(seed)
    optimum, distortion, codes = _table(frame, quasi_identifiers, sensitive, domains, limit, distort)
    chosen = distortion.only(optimum.probabilities)
    rows = [distortion.names.index(name) for name in chosen.names]
    return optimum, distorted(frame, chosen, codes[rows], random)


def _table(
    frame: pd.DataFrame,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    domains: Mapping[str, Sequence[Hashable]],
    limit: float,
    distort: Sequence[str] | None,
) -> tuple[Optimum, Distortion, Ints]:
    """The optimum, its distortion of all columns, and the table's codes."""
    if not is_number(limit) or not 0 < limit <= 1:
        raise InvalidInput(f"limit must be greater than 0 and at most 1, not {limit!r}")
    check_one(sensitive)
    names = [*checked_columns(quasi_identifiers, "quasi_identifiers"), sensitive]
    chosen = names if distort is None else list(distort)
    if isinstance(distort, str) or not chosen:
        raise InvalidInput("distort must be a list of at least one column")
    distortion = in_order(quasi_identifiers, sensitive, dict.fromkeys(chosen, 1.0), domains)
    codes = distortion.codes(frame)
    combinations = Combinations.read(codes, distortion.shape)
    axes = np.array([names.index(name) for name in dict.fromkeys(chosen)])
    found = _optimum(combinations, axes, float(limit), names, domains)
    return found, Distortion.of(found.probabilities, {name: domains[name] for name in names}), codes


def _optimum(
    combinations: Combinations,
    axes: Ints,
    limit: float,
    names: Sequence[str],
    domains: Mapping[str, Sequence[Hashable]],
) -> Optimum:
    _check_possible(combinations, axes, limit, names, domains)
    retentions = best_retentions(combinations, axes, limit)
    p = retentions + (1 - retentions) / np.array(combinations.shape)
    risks = combinations.risks(retentions.tolist())
    if risks.max() > limit:
        raise InvalidInput(
            f"the limit {limit:g} is kept only where next to nothing is left to be reconstructed; distort "
            "more columns, or take a higher limit"
        )
    return Optimum(
        {names[axis]: float(min(1.0, p[axis])) for axis in axes.tolist()},
        float(np.prod([1 + (combinations.shape[axis] - 1) / retentions[axis] ** 2 for axis in axes])),
        float(risks.max()),
        _binding(combinations, risks, limit, names, domains),
    )


def best_retentions(combinations: Combinations, axes: Ints, limit: float) -> Floats:
    """r of all attributes, when those of these axes may be distorted; where that is next to impossible, the
    risk of some stays above the limit."""
    return _Search(combinations, axes, limit).best()


class _Search:
    """Retentions of the distorted attributes, by SLSQP under a growing list of constraints."""

    def __init__(self, combinations: Combinations, axes: Ints, limit: float) -> None:
        self._all = combinations
        self._axes = axes
        self._room = np.array([combinations.shape[axis] - 1 for axis in axes], dtype=np.float64)
        self._limit = limit
        self._aim = np.log(limit) + np.log1p(-_MARGIN)
        self._held: Ints = np.empty(0, dtype=np.int64)
        self._watched: Watched | None = None
        self._last: tuple[bytes, tuple[Floats, Floats]] = (b"", (np.empty(0), np.empty(0)))
        self._seen: tuple[bytes, Floats] = (b"", np.empty(0))

    def loss(self, r: Floats) -> float:
        """Σ log ‖P_i⁻¹‖_F²."""
        return float(np.log1p(self._room / r**2).sum())

    def best(self) -> Floats:
        """Retentions of all attributes, the best of those that the starts lead to.

        The first start distorts all attributes alike. Another one distorts the most distorted attribute still
        more, which keeps the limit, and leaves it to the rest to be distorted less.
        """
        start = np.ones(self._axes.size)
        if self._worst(start) <= self._limit:
            return self._full(start)
        for axis in range(start.size):  # whoever is at risk when this attribute alone is distorted
            self._hold(self._breaking(np.where(np.arange(start.size) == axis, _MORE, 1.0)))
        while (breaking := self._breaking(start)).size and start[0] > _LEAST_RETENTION:
            self._hold(breaking)
            start = np.maximum(start * _LOWER, _LEAST_RETENTION)
        best = self._from(start, _FINE)
        for axis in np.argsort(best)[:_STARTS] if best.size > 1 else ():
            start = best.copy()
            start[axis] *= _MORE
            found = self._from(start, _COARSE)
            if self.loss(found) < self.loss(best) - _COARSE:
                best = min(best, self._from(found, _FINE), key=self.loss)
        whole = np.where(best > 1 - _NEAR, 1.0, best)  # what rounding has left distorted
        return self._full(whole if self._worst(whole) <= self._limit else best)

    def _from(self, start: Floats, accuracy: float) -> Floats:
        """Where SLSQP goes from a feasible point; combinations that break the limit there join it."""
        from scipy.optimize import minimize

        r = start
        for _ in range(_ROUNDS):
            r = minimize(
                self.loss, r, jac=self._loss_slopes, method="SLSQP", bounds=[(_LEAST_RETENTION, 1)] * r.size,
                constraints={"type": "ineq", "fun": self._slack, "jac": self._slack_slopes},
                options={"maxiter": 200, "ftol": accuracy},
            ).x.clip(_LEAST_RETENTION, 1)  # fmt: skip
            if not self._hold(self._breaking(r)):
                break
        return self._within(r)

    def _hold(self, breaking: Ints) -> bool:
        """Make constraints of these combinations, and say whether any of them was none."""
        held = np.union1d(self._held, breaking)
        if held.size == self._held.size:
            return False
        self._held = held
        self._watched = None
        self._last = (b"", self._last[1])
        return True

    def _within(self, r: Floats) -> Floats:
        """Drawn towards total distortion until everybody keeps the limit; a point that does is left alone."""
        less = 0.0
        while self._worst(r * (1 - less)) > self._limit and less < _FAR:
            less = max(_NEAR, 8 * less)
        if less < _FAR:
            return r * (1 - less)
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._worst(r * middle) <= self._limit else (low, middle)
        return np.maximum(r * low, _LEAST_RETENTION)

    def _breaking(self, r: Floats) -> Ints:
        """The worst few combinations that break the limit, flat."""
        risks = self._risks(r)
        worst = np.argpartition(risks, -_ADDED)[-_ADDED:] if risks.size > _ADDED else np.arange(risks.size)
        found: Ints = worst[risks[worst] > self._limit]
        return found

    def _slack(self, r: Floats) -> Floats:
        """log limit − log risk of the combinations held."""
        found: Floats = self._aim - self._held_at(r)[0]
        return found

    def _slack_slopes(self, r: Floats) -> Floats:
        return -self._held_at(r)[1]

    def _held_at(self, r: Floats) -> tuple[Floats, Floats]:
        """Logarithms of the risks of the combinations held and their slopes, once for both askers."""
        key = r.tobytes()
        if self._last[0] != key:
            if self._watched is None:  # several may be held before anybody asks
                self._watched = Watched(self._all, self._held, self._axes)
            self._last = (key, self._watched.at(self._full(r).tolist()))
        return self._last[1]

    def _loss_slopes(self, r: Floats) -> Floats:
        found: Floats = -2 * self._room / (r**3 + self._room * r)
        return found

    def _worst(self, r: Floats) -> float:
        return float(self._risks(r).max())

    def _risks(self, r: Floats) -> Floats:
        """Of all combinations, flat; once where they are asked for again."""
        key = r.tobytes()
        if self._seen[0] != key:
            self._seen = (key, self._all.risks(self._full(r).tolist()).ravel())
        return self._seen[1]

    def _full(self, r: Floats) -> Floats:
        """Retentions of all attributes, from those of the distorted ones."""
        full = np.ones(len(self._all.shape))
        full[self._axes] = r
        return full


def _check_possible(
    combinations: Combinations,
    axes: Ints,
    limit: float,
    names: Sequence[str],
    domains: Mapping[str, Sequence[Hashable]],
) -> None:
    """Refuse a limit that total distortion of these attributes breaks.

    Raises:
        InvalidInput: names the worst combination and its least risk.
    """
    least = combinations.least(axes.tolist())
    if least.max() < limit or combinations.risks([1.0] * len(names)).max() <= limit:
        return
    at = int(least.argmax())
    told = ", ".join(f"{name} = {value}" for name, value in _values(combinations, at, names, domains).items())
    raise InvalidInput(
        f"no distortion of {', '.join(names[axis] for axis in axes)} brings the risk of every record below "
        f"{limit:g}: that of {told} stays above {least.max():.6g}; distort more columns, or take a higher "
        "limit"
    )


def _binding(
    combinations: Combinations,
    risks: Floats,
    limit: float,
    names: Sequence[str],
    domains: Mapping[str, Sequence[Hashable]],
) -> pd.DataFrame:
    """The combinations at the limit, worst first."""
    flat = risks.ravel()
    at = np.flatnonzero(flat >= limit * (1 - _BINDING))
    rows = [
        {**_values(combinations, int(i), names, domains),
         "records": int(combinations.counts.ravel()[i]),
         "of": int(combinations.counts[i // combinations.shape[-1]].sum()),
         "risk": float(flat[i])}
        for i in at[np.argsort(-flat[at], kind="stable")]
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=[*names, "records", "of", "risk"])


def _values(
    combinations: Combinations, at: int, names: Sequence[str], domains: Mapping[str, Sequence[Hashable]]
) -> dict[str, Hashable]:
    """The values of a combination."""
    row, value = divmod(at, combinations.shape[-1])
    codes = np.unravel_index(
        int(combinations.occurring[row]) * combinations.shape[-1] + value, combinations.shape
    )
    return {name: domains[name][int(code)] for name, code in zip(names, codes, strict=True)}
