"""Reconstruction: many sums over pseudo-random sets, solved for everybody at once."""

from __future__ import annotations

import numpy as np

from auditor.attacks.attack import Attack, nobody_alone
from auditor.attacks.selection import Selection
from auditor.attacks.sources import AIRCLOAK, COHEN_NISSIM, DINUR_NISSIM
from auditor.attacks.target import Claim, Target
from auditor.sql.schema import quoted

PERSONS = 24
QUERIES = 60


def enough(target: Target) -> str | None:
    """Persons to reconstruct."""
    return nobody_alone(target) or ("too few records that can be named" if len(target.alone) < 4 else None)


def random_subsets(target: Target) -> list[Claim]:
    """Sums over random halves of some persons."""
    persons = target.crowd(PERSONS)
    for _ in range(min(QUERIES, 3 * len(persons))):
        chosen = [record for record in persons if target.rng.random() < 0.5]
        if chosen:
            target.sum(target.among(chosen))
    return target.claims(persons)


def _number_column(target: Target) -> str | None:
    """A column of whole numbers that names everybody."""
    name = target.names[0] if len(target.names) == 1 else ""
    whole = bool(name) and all(isinstance(v, int) and not isinstance(v, bool) for v in target.values[name])
    return name if whole else None


def no_number(target: Target) -> str | None:
    """Conditions that are arithmetic on a key."""
    if _number_column(target) is None:
        return "no public column of whole numbers names everybody"
    return enough(target)


def arithmetic(target: Target) -> list[Claim]:
    """Sets that arithmetic on the key draws, so that no list betrays them."""
    name = _number_column(target)
    assert name is not None
    persons = target.crowd(PERSONS)
    among = target.among(persons)
    content = np.array(target.values[name], dtype=object)
    for _ in range(min(QUERIES, 3 * len(persons))):
        modulus = int(target.rng.integers(5, 60))
        factor = int(target.rng.integers(1, modulus))
        half = modulus // 2
        members = np.array([(abs(int(v)) * factor) % modulus < half for v in content], dtype=np.bool_)
        drawn = Selection(f"(abs({quoted(name)}) * {factor}) % {modulus} < {half}", members)
        target.sum(among & drawn)
    return target.claims(persons)


ATTACKS = (
    Attack(
        "random-subsets", "Sums over random halves of some persons, then an integer program.", DINUR_NISSIM,
        random_subsets, enough,
    ),
    Attack(
        "arithmetic-subsets", "The same with sets that arithmetic on the key draws.",
        f"{COHEN_NISSIM}; {AIRCLOAK}, Linear program reconstruction", arithmetic, no_number,
    ),
)  # fmt: skip
