"""How likely an intruder who knows somebody's quasi-identifiers finds that person's sensitive value in a
table that went through randomised response: Pr(S | QI) of every record (paper 004, Section IV-A, Result 1).

The intruder knows the original proportions π and the distortion, takes a released record for one with the
target's quasi-identifiers α with its posterior probability, then guesses its sensitive value with that of
the value u:

    Pr(S = u | QI = α) = η(α) · κ(α, u)
    η(α)    = Σ_β Pr(β | α)² π(α) / λ(β)                        reconstruction of the quasi-identifiers
    κ(α, u) = c(u) · Σ_v P_s(v, u)² c(u) / Σ_w P_s(v, w) c(w)    of the sensitive value, c(u) = π(α, u) / π(α)

Without distortion that is c(u), the paper's worst case; of single attributes at p = 1/d it is π(α, u) for
RR-QI, as its example has it, and c(u)² for RR-S. RR-S and RR-QI are RR-Both with a probability of 1.

Contract: computed for the combinations of values that occur, factor by factor, never record by record. In
each retention r_i both factors only grow: each has a factor 1 + χ² divergence, which distorting further only
lowers. So `least` is what no distortion of the attributes in question can go below.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from cae_sql.cached import cached_property
from cae_sql.errors import InvalidInput
from cae_sql.releases.arguments import checked_columns, checked_mapping
from cae_sql.releases.distortion import (
    Attribute,
    Distortion,
    Floats,
    Ints,
    along,
    check_one,
    factors,
    squared,
)

_ALMOST = 1 - 1e-10
"""Where slopes at r = 1 are taken: cells that no record is in come up here, though hardly ever."""
_NEVER = 1e-200
"""In the place of a probability of 0 where its logarithm is taken."""
_AT_ONCE = 500_000
"""Differences between combinations and cells that are held at once."""


@dataclass(frozen=True, eq=False)
class Combinations:
    """The combinations of quasi-identifiers and sensitive value that occur in a table."""

    proportions: Floats
    """π over the quasi-identifiers' domains, an axis for each."""
    occurring: Ints
    """(k,) flat places in it of the combinations that occur, ascending."""
    counts: Ints | Floats
    """(k, d_s) how many records each has with each sensitive value."""

    @classmethod
    def read(cls, codes: Ints, shape: tuple[int, ...]) -> Combinations:
        """Of coded records; the sensitive attribute is the last.

        Args:
            codes: (m + 1, n) as `Distortion.codes`.
            shape: Of the table, as `Distortion.shape`.
        """
        places = np.ravel_multi_index(tuple(codes), shape)
        return cls.of_table(np.bincount(places, minlength=math.prod(shape)).reshape(shape))

    @classmethod
    def of_table(cls, counts: Ints | Floats) -> Combinations:
        """Of a contingency table, the sensitive attribute's axis last."""
        rows = counts.reshape(-1, counts.shape[-1])
        members = rows.sum(axis=1)
        occurring = np.flatnonzero(members)
        proportions = (members / members.sum()).reshape(counts.shape[:-1])
        return cls(proportions, occurring, rows[occurring])

    def places(self, codes: Ints) -> Ints:
        """(n,) the place of each record in the flat array of all risks; of records that were read."""
        quasi = np.ravel_multi_index(tuple(codes[:-1]), self.proportions.shape)
        found: Ints = np.searchsorted(self.occurring, quasi) * self.shape[-1] + codes[-1]
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of all domains, the sensitive attribute's last."""
        return (*self.proportions.shape, self.counts.shape[1])

    @cached_property
    def conditional(self) -> Floats:
        """(k, d_s) c: the distribution of the sensitive value within each combination."""
        found: Floats = self.counts / self.counts.sum(axis=1, keepdims=True)
        return found

    def risks(self, retentions: Sequence[float]) -> Floats:
        """(k, d_s) Pr(S | QI) of each combination; 0 where no record has it.

        Args:
            retentions: r of each attribute, 0 … 1, the sensitive one's last; 1 for those left alone.
        """
        return self.identified(retentions[:-1])[:, None] * self.guessed(retentions[-1])

    def identified(self, retentions: Sequence[float]) -> Floats:
        """(k,) η: reconstruction probability of the quasi-identifiers."""
        own = factors(retentions, self.proportions.shape)
        released = along(self.proportions, own)
        found = self.proportions * along(_inverted(released), squared(own))
        return found.ravel()[self.occurring]

    def guessed(self, retention: float) -> Floats:
        """(k, d_s) κ: a record of the class has the value and it is reconstructed."""
        (a, b), *_ = squared(factors([retention], [self.shape[-1]]))
        inverted = _inverted(retention * self.conditional + (1 - retention) / self.shape[-1])
        found: Floats = self.conditional**2 * (a * inverted + b * inverted.sum(axis=1, keepdims=True))
        return found

    def least(self, distorted: Iterable[int]) -> Floats:
        """(k, d_s) what Pr(S | QI) tends to as these attributes are distorted ever more."""
        gone = set(distorted)
        return self.risks([0.0 if axis in gone else 1.0 for axis in range(len(self.shape))])


class Watched:
    """Some of the combinations, and how their risks grow with retentions; made once, asked often.

    Args:
        combinations: All of them.
        flat: (h,) places of those to watch, which occur, in the flat array of all risks.
        axes: (a,) the attributes by whose retentions derivatives are wanted.
    """

    def __init__(self, combinations: Combinations, flat: Ints, axes: Ints) -> None:
        row, self._value = np.divmod(flat, combinations.shape[-1])
        self._all, self._axes = combinations, axes
        self._distorted = frozenset(axes.tolist())
        self._shape = combinations.proportions.shape
        self._within = axes < len(self._shape)
        self._quasi = axes[self._within]
        self._codes = np.stack(np.unravel_index(combinations.occurring[row], self._shape), axis=1)
        self._share = combinations.proportions.ravel()[combinations.occurring[row]]
        self._conditional = combinations.conditional[row]
        self._block = max(1, _AT_ONCE // max(self._codes.size, 1))
        self._whole = self._differs(0) if combinations.proportions.size <= self._block else None

    def at(self, retentions: Sequence[float]) -> tuple[Floats, Floats]:
        """(h,) natural logarithms of Pr(S | QI), and (h, a) their derivatives; where r = 1 just below that.

        Args:
            retentions: As `Combinations.risks`.
        """
        below = [min(r, _ALMOST) if axis in self._distorted else r for axis, r in enumerate(retentions)]
        identified, by_quasi = self._identified(below[:-1])
        guessed, by_sensitive = self._guessed(below[-1])
        slopes = np.empty((identified.size, self._axes.size))
        slopes[:, self._within] = by_quasi
        slopes[:, ~self._within] = by_sensitive[:, None]
        return np.log(identified * guessed), slopes

    def _differs(self, begin: int) -> Floats:
        """(h, cells, m) 1 where a cell of this block differs from a combination in an attribute."""
        cells = np.arange(begin, min(begin + self._block, self._all.proportions.size))
        places = np.stack(np.unravel_index(cells, self._shape), axis=1)
        found: Floats = (places != self._codes[:, None]).astype(np.float64)
        return found

    def _identified(self, below: Sequence[float]) -> tuple[Floats, Floats]:
        """(h,) η, and (h, quasi-identifiers among the axes) the derivatives of log η.

        A term of η is Π_i w_i(β_i) / λ(β), w_i = p_i² where β_i = α_i and q_i² elsewhere. By r_i, w_i grows
        by 2 (1 − 1/d) / p of itself in the first case and by −2 / (d q) in the second, and λ by (λ − its mean
        along axis i) / r_i. Cells β are taken in blocks, so that much is not held at once.
        """
        r, d = np.array(below), np.array(self._shape)
        q = (1 - r) / d
        p = r + q
        released = along(self._all.proportions, factors(below, self._shape))
        inverted = _inverted(released)
        pulls = np.empty((released.size, self._quasi.size))
        for place, axis in enumerate(self._quasi.tolist()):
            mean = released.sum(axis=axis, keepdims=True) / d[axis]
            pulls[:, place] = ((released - mean) * inverted).ravel() / r[axis]
        inverted = inverted.ravel()
        exponents = 2 * np.log(np.maximum(q, _NEVER) / p)
        held = self._share.size
        total, differing, pulled = (
            np.zeros((held, 1)),
            np.zeros((held, d.size)),
            np.zeros((held, self._quasi.size)),
        )
        for begin in range(0, inverted.size, self._block):
            differs = self._differs(begin) if self._whole is None else self._whole
            part = slice(begin, begin + self._block)
            terms = np.exp(differs @ exponents) * inverted[part]
            total += terms.sum(axis=1, keepdims=True)
            differing += (terms[:, None, :] @ differs)[:, 0]
            pulled += terms @ pulls[part]
        other = differing[:, self._quasi]
        d, p, q = d[self._quasi], p[self._quasi], q[self._quasi]
        slopes = (2 * (1 - 1 / d) / p * (total - other) - 2 / (d * q) * other - pulled) / total
        return self._share * float(np.prod(r + (1 - r) / np.array(self._shape))) ** 2 * total[:, 0], slopes

    def _guessed(self, below: float) -> tuple[Floats, Floats]:
        """(h,) κ, and (h,) the derivatives of log κ."""
        c, d, held = self._conditional, self._conditional.shape[1], np.arange(self._value.size)
        q = (1 - below) / d
        inverted = _inverted(below * c + q)
        weights = np.full_like(c, q**2)
        weights[held, self._value] = (below + q) ** 2
        grown = np.full_like(c, -2 * q / d)
        grown[held, self._value] = 2 * (below + q) * (1 - 1 / d)
        total = (weights * inverted).sum(axis=1)
        slope = ((grown - weights * inverted * (c - 1 / d)) * inverted).sum(axis=1)
        return c[held, self._value] ** 2 * total, slope / total


def attribute_disclosure_risk(
    frame: pd.DataFrame,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    probabilities: Mapping[str, float],
    domains: Mapping[str, Sequence[Hashable]],
) -> pd.Series:
    """Pr(S | QI) of every record of a table that is released by `randomise` (Result 1).

    Args:
        frame: The original records.
        quasi_identifiers: What the intruder knows of the target.
        sensitive: What the intruder wants to know.
        probabilities: Column to p; the sensitive one alone is RR-S, quasi-identifiers alone RR-QI.
        domains: Column to its possible values, for each of these columns.

    Returns:
        The risk of each record, 0 … 1, with the frame's index.

    Raises:
        InvalidInput: no quasi-identifiers, the sensitive column among them, or as `randomise`.
    """
    distortion = in_order(quasi_identifiers, sensitive, probabilities, domains)
    codes = distortion.codes(frame)
    found = Combinations.read(codes, distortion.shape)
    risks = found.risks(distortion.retentions).ravel()[found.places(codes)]
    return pd.Series(risks, index=frame.index, name="attribute_disclosure_risk")


def table_disclosure_risk(counts: ArrayLike, probabilities: Sequence[float]) -> Floats:
    """Pr(S | QI) of every cell of a contingency table (Result 1).

    Args:
        counts: How many records have each combination of values, an axis for each attribute, the sensitive
            one's last.
        probabilities: p of each attribute, in the order of the axes.

    Returns:
        The risk of the records of each cell, in the shape of counts; NaN where there are none.

    Raises:
        InvalidInput: fewer than two attributes, as many probabilities as there are not axes, a probability
            out of range, a count that is negative or not finite, or no records.
    """
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim < 2:
        raise InvalidInput("counts need a quasi-identifier and a sensitive attribute at least")
    if len(probabilities) != table.ndim:
        raise InvalidInput(f"there are {table.ndim} attributes and {len(probabilities)} probabilities")
    attributes = [
        Attribute(f"attribute {place}", tuple(range(d)), p)
        for place, (d, p) in enumerate(zip(table.shape, probabilities, strict=True), 1)
    ]
    bad = np.flatnonzero(~(np.isfinite(table.ravel()) & (table.ravel() >= 0)))
    if bad.size:
        raise InvalidInput(
            f"counts[{bad[0]}] is {table.ravel()[bad[0]]:g}; it must be 0 or more", int(bad[0])
        )
    if not table.sum() > 0:
        raise InvalidInput("counts has no records")
    found = Combinations.of_table(table)
    risks = np.full((found.proportions.size, table.shape[-1]), np.nan)
    risks[found.occurring] = found.risks([each.retention for each in attributes])
    return np.where(table > 0, risks.reshape(table.shape), np.nan)


def in_order(
    quasi_identifiers: Sequence[str],
    sensitive: str,
    probabilities: Mapping[str, float],
    domains: Mapping[str, Sequence[Hashable]],
) -> Distortion:
    """The distortion of the quasi-identifiers, then of the sensitive column.

    Raises:
        InvalidInput: no quasi-identifiers, one text in their place, the sensitive column among them, several
            of these, or as `Distortion.of`; more combinations than fit into memory.
    """
    if not checked_columns(quasi_identifiers, "quasi_identifiers"):
        raise InvalidInput("quasi_identifiers must be a list of at least one column")
    check_one(sensitive)
    if sensitive in quasi_identifiers:
        raise InvalidInput(f"the sensitive column {sensitive!r} is among the quasi-identifiers")
    if len(set(quasi_identifiers)) < len(quasi_identifiers):
        raise InvalidInput(f"a column is named twice in quasi_identifiers: {list(quasi_identifiers)}")
    names = [*quasi_identifiers, sensitive]
    for name in checked_mapping(probabilities, "probabilities", "{'salary': 0.8}"):
        if name not in names:
            raise InvalidInput(f"there is a probability for {name!r}, which is neither of {names}")
    found = Distortion.of(probabilities, domains).only(names)
    found.check_room()
    return found


def _inverted(table: Floats) -> Floats:
    """1 / x; 0 for cells that cannot come up, which the squares that go with them are 0 for too."""
    return np.divide(1.0, table, out=np.zeros(table.shape), where=table > 0)
