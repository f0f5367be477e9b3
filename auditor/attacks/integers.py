"""Whole numbers: values that are read off digits, remainders and parities where no interval moves."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from auditor.attacks.attack import Attack, nobody_alone
from auditor.attacks.sources import BOOLEAN_2000, LINEAR_1979, OWN
from auditor.attacks.target import Claim, Target, number


def weights(target: Target) -> list[Claim]:
    """The person with weight 1, all others with as many as there are values: the remainder is the value."""
    base = target.notes.top + 1
    column, table = target.column, target.table
    for aim in target.aims:
        person = target.only(aim).text
        heavy = np.full(target.size, base, dtype=np.int64)
        heavy[aim] = 1
        for argument in (
            f"{column} * CASE WHEN {person} THEN 1 ELSE {base} END",
            f"CASE WHEN {person} THEN {column} ELSE {base} * {column} END",
            f"CASE WHEN {person} THEN {column} END + {base} * CASE WHEN NOT ({person}) THEN {column} END",
            f"{column} * power({base}, CASE WHEN {person} THEN 0 ELSE 1 END)",
        ):
            rows = target.ask(f"SELECT SUM({argument}) FROM {table}")
            value = None if not rows else number(rows[0][0])
            if value is not None:
                target.note("sum", heavy, value)
    return target.claims()


def digits(target: Target) -> list[Claim]:
    """Several persons in one sum, each a digit of another order."""
    base = target.notes.top + 1
    column, table = target.column, target.table
    persons = [*target.aims, *target.crowd(3, target.aims)]
    while len(persons) > 1 and target.size * base ** len(persons) > 2**60:
        persons.pop()
    cases = " ".join(
        f"WHEN {target.only(i).text} THEN {base**place}::BIGINT" for place, i in enumerate(persons)
    )
    rest = base ** len(persons)
    all_weights = sum(base**place for place in range(len(persons))) + rest * (target.size - len(persons))
    scene, found = target.scene, list[Claim]()
    for argument in (
        f"{column} * CASE {cases} ELSE {rest}::BIGINT END",
        f"CASE {cases} ELSE {rest}::BIGINT END * {column}",
    ):
        rows = target.ask(f"SELECT SUM({argument}) FROM {table}")
        value = None if not rows else number(rows[0][0])
        if value is None:
            continue
        units = (value - scene.minimum * all_weights) / scene.resolution
        for place, record in enumerate(persons):
            digit = scene.minimum + (units // base**place % base) * scene.resolution
            found.append(target.claim(record, digit, digit, f"digit {place} of one sum"))
    return found


def _parts(target: Target, aim: int, count: int, most: int) -> list[list[int]]:
    others = target.crowd(count * most, [aim])
    each = len(others) // count
    return [others[k * each : (k + 1) * each] for k in range(count)] if each else []


def parity(target: Target) -> list[Claim]:
    """Three sums in which everybody else is twice: together they are odd only if the person's value is."""
    for aim in target.aims[:1]:
        parts = _parts(target, aim, 3, 10)
        for left in range(len(parts)):
            members = [aim, *(i for k, part in enumerate(parts) if k != left for i in part)]
            target.sum(target.among(members))
    return target.claims(target.aims[:1])


def remainder(target: Target) -> list[Claim]:
    """One sum more than there are values, each without one group of others: the value by its remainder."""
    count = target.notes.top + 2
    aim = target.aims[0]
    parts = _parts(target, aim, count, 3)
    for left in range(len(parts)):
        members = [aim, *(i for k, part in enumerate(parts) if k != left for i in part)]
        target.sum(target.among(members))
    return target.claims([aim])


def crowds(target: Target) -> list[Claim]:
    """The same with groups of hundreds: however many others, each is in all sums but one."""
    count, aim, scene = target.notes.top + 2, target.aims[0], target.scene
    parts = _parts(target, aim, count, 200)
    total = Fraction(0)
    for left in range(len(parts)):
        members = [aim, *(i for k, part in enumerate(parts) if k != left for i in part)]
        told = target.sum(target.among(members))
        if told is None:
            return []
        total += (told - scene.minimum * len(members)) / scene.resolution
    if not parts:
        return []
    value = scene.minimum + total % (count - 1) * scene.resolution
    return [target.claim(aim, value, value, f"the remainder of {count} sums divided by {count - 1}")]


def few_values(target: Target) -> str | None:
    """As many groups of others as the domain has values, and one more."""
    wanted = target.notes.top + 2
    if wanted > 64:
        return f"the domain has {wanted - 1} values: more sums than anybody would try"
    missing = len(target.alone) <= wanted
    return nobody_alone(target) or ("too few records that can be named" if missing else None)


def enough(target: Target) -> str | None:
    """Three groups of others."""
    return nobody_alone(target) or ("too few records that can be named" if len(target.alone) < 4 else None)


ATTACKS = (
    Attack(
        "two-weights",
        "Weight 1 for the person, a large one for the others.",
        f"{LINEAR_1979}; {OWN}",
        weights,
    ),
    Attack("digits", "Several persons as digits of one sum.", f"{LINEAR_1979}; {OWN}", digits),
    Attack(
        "parity", "Three sums that are odd together only if the person's value is.", f"{BOOLEAN_2000}; {OWN}",
        parity, enough,
    ),
    Attack(
        "remainder-of-crowds", "One sum more than values, over large groups, then the remainder.", OWN,
        crowds, few_values,
    ),
    Attack("remainder", "As many sums as values, then the remainder.", OWN, remainder, few_values),
)  # fmt: skip
