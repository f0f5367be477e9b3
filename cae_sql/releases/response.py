"""Randomised response: what somebody believes who has the distorted records and knows the probabilities.

The released records are anonymous, so any of them may be the target's. Its weight is how likely the target's
known values would be reported as the record has them, Π P_i(reported | known) over the known columns,
normalised; and of its confidential value v the record tells p_d ∝ P_s(v | d):

    p_d = Σ_records weight · P_s(v | d),  Σ_d P_s(v | d) = 1

That is Bayes' rule for an intruder to whom all records and all confidential values were equally likely
before, as `noise` has it for noise: the figures of all techniques stand on one scale. RR-S, RR-QI and
RR-Both are a matter of which columns have a probability. What the whole release tells of the population (π̂,
in `reconstruction`) is not counted against its members.

Source: paper 004, Section III, in the place of the noise of paper 000, Appendix.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction

import numpy as np
import pandas as pd

from cae_sql.domain import Domain
from cae_sql.errors import InvalidInput
from cae_sql.releases.arguments import checked_domain, checked_mapping
from cae_sql.releases.beliefs import Beliefs, Floats, Ints, check_room
from cae_sql.releases.distortion import Attribute, Distortion
from cae_sql.releases.matching import Classes, check_known, check_release, classes_of, joined, positions

_AT_ONCE = 5_000_000
"""Pairs of a class and a kind of released record that are compared at once."""


def randomised(
    original: pd.DataFrame,
    released: pd.DataFrame,
    column: str,
    known: Sequence[str],
    domain: Domain,
    probabilities: Mapping[str, float],
    domains: Mapping[str, Sequence[Hashable]] | None = None,
    *,
    epsilon: float | Fraction | None = None,
) -> pd.DataFrame:
    """The risk of a randomised release, for each combination of values of the known columns in the original.

    Args:
        original: All records.
        released: As many, what `randomise` gave; columns `column` and `known` at least.
        column: The confidential column; its values lie in the domain.
        known: What the intruder knows of the target.
        domain: Which values are possible; also of the distortion of `column`.
        probabilities: Column to p, as for `randomise`; those of other columns do not matter.
        domains: Column to its possible values, for each known column with a probability.
        epsilon: Approximate compromise range at which H is wanted too.

    Returns:
        The known columns, matches, initial_entropy, area and risk; see `Beliefs.frame`.

    Raises:
        InvalidInput: tables that cannot be used, a release that is not one of the original, a probability out
            of range, a known column with a probability and without a domain, or a value outside of its own.
    """
    return randomised_beliefs(original, released, column, known, domain, probabilities, domains).frame(
        epsilon
    )


def randomised_beliefs(
    original: pd.DataFrame,
    released: pd.DataFrame,
    column: str,
    known: Sequence[str],
    domain: Domain,
    probabilities: Mapping[str, float],
    domains: Mapping[str, Sequence[Hashable]] | None = None,
) -> Beliefs:
    """The candidate distributions behind `randomised`; arguments and errors as there."""
    names = check_known(original, column, known)
    checked_domain(domain)
    checked_mapping(probabilities, "probabilities", "{'salary': 0.8}")
    checked_mapping({} if domains is None else domains, "domains", "{'sex': ['f', 'm']}")
    check_release(original, released, [column, *names], "the release")
    if len(released) != len(original):
        raise InvalidInput(
            f"the release has {len(released)} records and the original {len(original)}: randomised response "
            "distorts records, and neither adds nor drops any"
        )
    positions(original, column, domain, "the original")
    places = positions(released, column, domain, "the release")
    sensitive = Attribute(column, tuple(domain.values.tolist()), probabilities.get(column, 1.0))
    classes, kinds = classes_of(original, names), classes_of(released, names)
    check_room(classes.count + kinds.count, domain)
    seen = np.bincount(kinds.labels * domain.count + places, minlength=kinds.count * domain.count)
    told = _weighted(classes, kinds, seen.reshape(kinds.count, domain.count), probabilities, domains or {})
    r = sensitive.retention
    return Beliefs(classes.values, classes.members, r * told + (1 - r) / domain.count, domain)


def _weighted(
    classes: Classes,
    kinds: Classes,
    seen: Ints,
    probabilities: Mapping[str, float],
    domains: Mapping[str, Sequence[Hashable]],
) -> Floats:
    """(k, |D|) how the reported confidential values are spread over the records that may be the target's.

    Args:
        classes: Of the original.
        kinds: Of the released records, by their values of the same columns.
        seen: (kinds, |D|) how many records of each kind report each value.
        probabilities: As `randomised`.
        domains: As `randomised`.

    Raises:
        InvalidInput: a class that no released record can come from.
    """
    columns = [_reported(classes, kinds, name, probabilities, domains) for name in classes.known]
    if all((kept, moved) == (0.0, -math.inf) for _, _, kept, moved in columns):
        return _as_they_are(classes, columns, seen)
    found = np.empty((classes.count, seen.shape[1]))
    block = max(1, _AT_ONCE // max(kinds.count, 1))
    for begin in range(0, classes.count, block):
        part = slice(begin, min(begin + block, classes.count))
        # In logarithms: many columns together may leave less than the least float, and still decide.
        weights = np.zeros((part.stop - begin, kinds.count))
        for own, reported, kept, moved in columns:
            weights += np.where(own[part, None] == reported, kept, moved)
        greatest = weights.max(axis=1)
        lost = np.flatnonzero(greatest == -math.inf)
        if lost.size:
            raise _not_of_this(classes, begin + int(lost[0]))
        spread = np.exp(weights - greatest[:, None]) @ seen
        found[part] = spread / spread.sum(axis=1, keepdims=True)
    return found


def _as_they_are(classes: Classes, columns: Sequence[tuple[Ints, Ints, float, float]], seen: Ints) -> Floats:
    """`_weighted` where no known column is distorted: the records with the known values, in linear time."""
    codes = np.zeros(classes.count + len(seen), dtype=np.int64)
    for own, reported, _, _ in columns:
        codes = joined(codes, np.concatenate([own, reported]))
    own, kind = codes[: classes.count], codes[classes.count :]
    by_code = np.full(int(codes.max()) + 1, -1, dtype=np.int64)
    by_code[own] = np.arange(classes.count)
    there = by_code[kind] >= 0
    found = np.zeros((classes.count, seen.shape[1]))
    np.add.at(found, by_code[kind[there]], seen[there])
    total = found.sum(axis=1)
    lost = np.flatnonzero(total == 0)
    if lost.size:
        raise _not_of_this(classes, int(lost[0]))
    found /= total[:, None]
    return found


def _not_of_this(classes: Classes, row: int) -> InvalidInput:
    told = ", ".join(f"{name} = {classes.values[name].iloc[row]}" for name in classes.known)
    return InvalidInput(
        f"no released record can be one with {told}: the release is not one of the original with "
        "these probabilities"
    )


def _reported(
    classes: Classes,
    kinds: Classes,
    name: str,
    probabilities: Mapping[str, float],
    domains: Mapping[str, Sequence[Hashable]],
) -> tuple[Ints, Ints, float, float]:
    """Codes of a column's values in the original's classes and in the released kinds, and the logarithms of
    the probabilities that a value is reported as it is, and as one other."""
    p = probabilities.get(name, 1.0)
    if p == 1.0 and name not in domains:
        both = pd.concat([classes.values[name], kinds.values[name]], ignore_index=True)
        code, _ = pd.factorize(both)
        return code[: classes.count], code[classes.count :], 0.0, -math.inf
    if name not in domains:
        raise InvalidInput(f"{name!r} has a probability but no domain: name its possible values in domains")
    distortion = Distortion.of({name: p}, {name: domains[name]})
    attribute = distortion.attributes[0]
    own, reported = distortion.codes(classes.values)[0], distortion.codes(kinds.values)[0]
    other = (1 - attribute.retention) / attribute.size
    return own, reported, math.log(attribute.retention + other), math.log(other) if other > 0 else -math.inf
