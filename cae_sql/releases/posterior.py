"""Bayes' rule over released records with noise: how likely each is the target, and what that says.

Released record r weighs Π P(noise = released − known) over the known attributes. Its own value says of the
confidential one P(noise = released − d), divided by the sum over the domain's d. Weights of a class are
normalised, the terms averaged. Noise is Binomial(M, ½) − M/2 steps.

Weights are taken relative to the likeliest noise; where all of a class's are too small for floats they are
added up again as logarithms. Records are sorted by the attribute that leaves fewest of them, so that a class
looks only at those within reach.

Source: `mathematics.md`, 5 (noise addition); paper 000 prints another algorithm in its place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cae_sql.compiled import compiled
from cae_sql.errors import InvalidInput
from cae_sql.releases.beliefs import LARGEST, Floats, Ints

_TINY = 1e-200
"""Below this a class's total is worked out in logarithms."""


def binomial(most: int) -> Floats:
    """(M + 1,) logarithm of the probability of noise j − M/2."""
    j = np.arange(most + 1)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])
    found: Floats = log_factorial[most] - log_factorial[j] - log_factorial[most - j] - most * math.log(2.0)
    return found


@dataclass(frozen=True, eq=False)
class Noise:
    """The noise on some attributes, as flat tables."""

    logs: Floats
    """Logarithms of probabilities relative to the likeliest, one attribute's after the other's."""
    start: Ints
    """(a,) where each attribute's begin."""
    half: Ints
    """(a,) M/2 of each."""

    @classmethod
    def of(cls, most: list[int]) -> Noise:
        """Of attributes with these M."""
        tables = [binomial(each) for each in most]
        logs = np.concatenate([table - table.max() for table in tables] or [np.zeros(0)])
        start = np.cumsum([0, *(table.size for table in tables)])[:-1].astype(np.int64)
        return cls(logs, start, np.array(most, dtype=np.int64) // 2)


def said_of(count: int, most: int) -> Floats:
    """(count + M, |D|) what each released confidential value says of the original one, rows of sum 1.

    Row r is of the released place r − M/2. Far out all chances are too small for floats, so each row's are
    taken relative to its likeliest.

    Raises:
        InvalidInput: more probabilities than are held at once.
    """
    if (count + most) * count > LARGEST:
        raise InvalidInput(
            f"a domain of {count:,} values with {most:,} steps of noise is too much to hold; take a larger "
            "step of the domain, or less noise"
        )
    table = binomial(most)
    place = np.arange(count + most)[:, None] - np.arange(count)
    logs = np.where((place >= 0) & (place <= most), table[place.clip(0, most)], -math.inf)
    found = np.exp(logs - logs.max(axis=1, keepdims=True))
    total: Floats = found / found.sum(axis=1, keepdims=True)
    return total


def weights(targets: Ints, released: Ints, confidential: Ints, size: int, noise: Noise) -> Floats:
    """How likely the target's released confidential value is each.

    Args:
        targets: (k, a) known places of each class.
        released: (n, a) released places of the known attributes.
        confidential: (n,) released confidential places, counted from the least that noise can reach.
        size: How many of these there are.
        noise: On the known attributes.

    Returns:
        (k, size) rows of sum 1; of a class that no released record can be, all 0.
    """
    if not targets.shape[1]:
        row = np.bincount(confidential, minlength=size) / confidential.size
        return np.repeat(row[None, :], len(targets), axis=0)
    spread = [np.unique(released[:, a]).size / (2 * noise.half[a] + 1) for a in range(targets.shape[1])]
    by = np.argsort(spread, kind="stable")[::-1]  # the attribute that leaves fewest records first
    order = np.argsort(released[:, by[0]], kind="stable")
    near = np.ascontiguousarray(released[order][:, by])
    out = np.zeros((len(targets), size))
    _weights(
        np.ascontiguousarray(targets[:, by]), near, np.ascontiguousarray(near[:, 0]), confidential[order],
        noise.logs, np.exp(noise.logs), noise.start[by], noise.half[by], out,
    )  # fmt: skip
    return out


@compiled(error_model="numpy")
def _weights(
    targets: Ints, released: Ints, sorted_by: Ints, confidential: Ints,
    logs: Floats, chances: Floats, start: Ints, half: Ints, out: Floats,
) -> None:  # fmt: skip
    """Fill `out`; records are sorted by their first attribute."""
    attributes = targets.shape[1]
    for k in range(targets.shape[0]):
        first = np.searchsorted(sorted_by, targets[k, 0] - half[0])
        last = np.searchsorted(sorted_by, targets[k, 0] + half[0] + 1)
        total = 0.0
        for r in range(first, last):
            weight = 1.0
            for a in range(attributes):
                away = released[r, a] - targets[k, a]
                if away < -half[a] or away > half[a]:
                    weight = 0.0
                    break
                weight *= chances[start[a] + half[a] + away]
            out[k, confidential[r]] += weight
            total += weight
        if total < _TINY:
            total = _in_logarithms(
                targets[k], released[first:last], confidential[first:last], logs, start, half, out[k]
            )
        if total > 0.0:
            for c in range(out.shape[1]):
                out[k, c] /= total


@compiled(error_model="numpy")
def _in_logarithms(
    target: Ints, released: Ints, confidential: Ints, logs: Floats, start: Ints, half: Ints, out: Floats
) -> float:
    """As `_weights` for one class, relative to its likeliest record; returns the total."""
    found = np.full(released.shape[0], -math.inf)
    for r in range(released.shape[0]):
        weight = 0.0
        for a in range(target.size):
            away = released[r, a] - target[a]
            if away < -half[a] or away > half[a]:
                weight = -math.inf
                break
            weight += logs[start[a] + half[a] + away]
        found[r] = weight
    most = -math.inf
    for r in range(found.size):
        most = max(most, found[r])
    out[:] = 0.0
    if most == -math.inf:
        return 0.0
    total = 0.0
    for r in range(found.size):
        weight = math.exp(found[r] - most)
        out[confidential[r]] += weight
        total += weight
    return total
