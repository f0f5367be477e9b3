"""Noise on every attribute: what somebody believes who has the perturbed table and knows how much noise.

k % noise: to every attribute, sensitive or not, whole steps of its domain are added, Binomial(M, ½) − M/2, M
being k % of |D| − 1, rounded to the nearest even number. `attributes.py` says what a step is, also of words.
The intruder reasons by Bayes' rule (`posterior.py`). The number of matching records is reported, and does not
enter: whose record is whose is not known.

Source: paper 000, Section 5 and Appendix, Noise Addition; `mathematics.md`, 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from cae_sql.domain import Domain, exact
from cae_sql.errors import InvalidInput
from cae_sql.releases.arguments import checked_domain
from cae_sql.releases.attributes import Attribute, attribute_of
from cae_sql.releases.beliefs import Beliefs, Floats, Ints, check_room
from cae_sql.releases.drawing import generator
from cae_sql.releases.matching import Classes, check_known, check_release, classes_of, positions
from cae_sql.releases.posterior import Noise, said_of, weights

if TYPE_CHECKING:
    import pandas as pd


def perturbed(
    original: pd.DataFrame,
    released: pd.DataFrame,
    column: str,
    known: Sequence[str],
    domain: Domain,
    noise: float | Fraction,
    *,
    domains: Mapping[str, Domain] | None = None,
    epsilon: float | Fraction | None = None,
) -> pd.DataFrame:
    """The risk of a table with noise, for each combination of values of the known columns.

    Args:
        original: All records.
        released: As many, with noise on every attribute; columns `column` and `known`, and no others than the
            original's. Values may lie outside of their domains, as noise carries them.
        column: The confidential column; in the original its values lie in the domain.
        known: What the intruder knows of the target.
        domain: Which confidential values are possible.
        noise: Percent of |D| − 1 of each attribute.
        domains: Of known columns of numbers; by default what the original spans (`attributes.py`).
        epsilon: Approximate compromise range at which H is wanted too.

    Returns:
        The known columns, matches, initial_entropy, area and risk; see `Beliefs.frame`.

    Raises:
        InvalidInput: tables that cannot be used, or a release that so much noise cannot have made.
    """
    found = perturbed_beliefs(original, released, column, known, domain, noise, domains=domains)
    return found.frame(epsilon)


def perturbed_beliefs(
    original: pd.DataFrame,
    released: pd.DataFrame,
    column: str,
    known: Sequence[str],
    domain: Domain,
    noise: float | Fraction,
    *,
    domains: Mapping[str, Domain] | None = None,
) -> Beliefs:
    """The candidate distributions behind `perturbed`; arguments and errors as there."""
    names = check_known(original, column, known)
    checked_domain(domain)
    check_release(original, released, [column, *names], "the release")
    if len(released) != len(original):
        raise InvalidInput(f"the release has {len(released)} records, the original {len(original)}")
    positions(original, column, domain, "the original")
    attributes = _attributes(original, names, domains)
    classes = classes_of(original, names)
    check_room(classes.count, domain)
    targets = _table(
        [each.places(classes.values[each.name], "the original") for each in attributes], classes.count
    )
    seen = [_reachable(released, each, noise) for each in attributes]
    confidential = _confidential(column, domain)
    most = confidential.largest_noise(noise)
    heard = _reachable(released, confidential, noise) + most // 2
    levels = Noise.of([each.largest_noise(noise) for each in attributes])
    likely = weights(targets, _table(seen, len(released)), heard, domain.count + most, levels)
    _check_possible(likely, classes)
    return Beliefs(classes.values, classes.members, likely @ said_of(domain.count, most), domain)


def add_noise(
    original: pd.DataFrame,
    column: str,
    known: Sequence[str],
    domain: Domain,
    noise: float | Fraction,
    seed: int,
    *,
    domains: Mapping[str, Domain] | None = None,
) -> pd.DataFrame:
    """A table with noise on the confidential and the known columns; others are left out.

    Args:
        original: All records.
        column: The confidential column.
        known: Further columns that are released.
        domain: Of the confidential column.
        noise: Percent of |D| − 1 of each attribute.
        seed: Of the noise.
        domains: As for `perturbed`.

    Returns:
        As many records, in the original's order; of words their numbers, from 1 (`attributes.py`).

    Raises:
        InvalidInput: a table that cannot be used.
    """
    import pandas as pd

    names = check_known(original, column, known)
    positions(original, column, domain, "the original")
    rng = generator(seed)
    released = {}
    for each in [_confidential(column, domain), *_attributes(original, names, domains)]:
        places = each.places(original[each.name], "the original")
        released[each.name] = each.values(places + drawn(len(places), each.largest_noise(noise), rng))
    return pd.DataFrame(released, index=original.index)


def drawn(size: int, most: int, rng: np.random.Generator) -> Ints:
    """(size,) steps of noise, Binomial(M, ½) − M/2."""
    return rng.binomial(most, 0.5, size).astype(np.int64) - most // 2


def _confidential(column: str, domain: Domain) -> Attribute:
    return Attribute(column, domain.count, exact(domain.minimum), exact(domain.step))


def _attributes(
    original: pd.DataFrame, names: Sequence[str], domains: Mapping[str, Domain] | None
) -> list[Attribute]:
    given = dict(domains or {})
    for name in given:
        if name not in original.columns:
            raise InvalidInput(f"domains names {name!r}, which the original does not have")
    return [attribute_of(original, name, given.get(name)) for name in names]


def _table(columns: Sequence[Ints], rows: int) -> Ints:
    return np.stack(columns, axis=1) if columns else np.zeros((rows, 0), dtype=np.int64)


def _reachable(released: pd.DataFrame, attribute: Attribute, noise: float | Fraction) -> Ints:
    """Places of a released column, all within the noise of some value."""
    places = attribute.places(released[attribute.name], "the release")
    half = attribute.largest_noise(noise) // 2
    beyond = np.flatnonzero((places < -half) | (places > attribute.count - 1 + half))
    if beyond.size:
        row = int(beyond[0])
        raise InvalidInput(
            f"row {row} of the release: {attribute.name} = {released[attribute.name].iloc[row]} is outside "
            f"of the domain by more than the {half} steps that {noise} percent of noise can add",
            row,
        )
    return places


def _check_possible(likely: Floats, classes: Classes) -> None:
    """Refuse a release in which some class has no record: it was not made from this original."""
    empty = np.flatnonzero(likely.sum(axis=1) == 0.0)
    if empty.size:
        told = classes.told(classes.values.iloc[int(empty[0])])
        raise InvalidInput(
            f"no released record can be one with {told}: all differ by more than the noise; check the "
            "percentage"
        )
