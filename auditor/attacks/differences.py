"""Difference attacks: pairs of statements whose sets differ by one person, however it is written."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from auditor.attacks.attack import Attack, nobody_alone
from auditor.attacks.selection import Selection, literal
from auditor.attacks.sources import AIRCLOAK, DATASHIELD, DIFFIX, OWN, PAC
from auditor.attacks.target import AGGREGATES, Claim, Target, number
from auditor.sql.schema import quoted


def with_and_without(target: Target) -> list[Claim]:
    """The mean, then the sum, with and without one row."""
    for aim in target.aims:
        for who in (target.everyone, ~target.only(aim)):
            target.aggregate("avg", who)
            target.sum(who)
    return target.claims()


def small_sets(target: Target) -> list[Claim]:
    """The person with few others, in every aggregate, and those others without the person."""
    for aim in target.aims:
        for size in (1, 2, 4):
            others = target.crowd(size, [aim])
            for kind in AGGREGATES:
                target.aggregate(kind, target.among([aim, *others]))
            target.sum(target.among(others))
    return target.claims()


def growing_ranges(target: Target) -> list[Claim]:
    """A range that grows by one person at a time."""
    order = _ordered(target)
    for column in order:
        content = target.values[column]
        steps = sorted(set(content))
        middle = len(steps) // 2
        for bound in steps[max(0, middle - 12) : middle + 12]:
            members = np.array([each <= bound for each in content], dtype=np.bool_)
            target.sum(Selection(f"{quoted(column)} <= {literal(bound)}", members))
    return target.claims(target.aims + target.alone[:20])


def _ordered(target: Target) -> list[str]:
    numeric = [
        name for name in target.usable if not any(isinstance(v, str | bool) for v in target.values[name])
    ]
    return sorted(numeric, key=lambda name: -len(set(target.values[name])))[:2]


def no_ordered(target: Target) -> str | None:
    """Ranges need an order."""
    return nobody_alone(target) or (None if _ordered(target) else "no public column has an order")


def first_derivative(target: Target) -> list[Claim]:
    """The same GROUP BY for everybody and for everybody but one: one group differs."""
    columns = target.categories()[:2]
    for aim in target.aims:
        for column in columns:
            for where in (target.everyone, ~target.only(aim)):
                _grouped(target, column, where)
    return target.claims()


def _grouped(target: Target, column: str, where: Selection) -> None:
    name = quoted(column)
    rows = target.ask(
        f"SELECT {name}, SUM({target.column}) FROM {target.table} WHERE {where.text} GROUP BY {name}"
    )
    groups = {target.values[column][int(np.argmax(g.members))]: g for g in target.groups(column)}
    for value, total in rows or []:
        found = number(total)
        if found is not None and value in groups:
            target.note("sum", groups[value] & where, found)


def no_category(target: Target) -> str | None:
    """GROUP BY needs groups."""
    return nobody_alone(target) or (None if target.categories() else "no public column has few values")


def missing_values(target: Target) -> list[Claim]:
    """The person alone is made NULL, and what counts NULL is compared with what does not."""
    column = target.column
    for aim in target.aims:
        person = target.only(aim)
        for argument in (
            f"CASE WHEN {person.text} THEN NULL ELSE {column} END",
            f"CASE WHEN {(~person).text} THEN {column} END",
            f"{column} + CASE WHEN {person.text} THEN NULL ELSE 0 END",
            f"nullif({column}, CASE WHEN {person.text} THEN {column} END)",
        ):
            rows = target.ask(
                f"SELECT SUM({column}), SUM({argument}), COUNT({argument}), COUNT(*) FROM {target.table}"
            )
            if rows:
                for who, cell in ((target.everyone, rows[0][0]), (~person, rows[0][1])):
                    found = number(cell)
                    if found is not None:
                        target.note("sum", who, found)
    return target.claims()


def _low_effect(target: Target, aim: int) -> Iterator[Selection]:
    """Conditions that touch one person only, dressed as something else."""
    person = target.only(aim).text
    members = ~target.only(aim).members
    everyone = target.everyone.members
    name = quoted(target.names[0])
    yield Selection(f"1 = 1 AND NOT ({person})", members)
    yield Selection(f"({name} = {name}) AND NOT (({person}) AND 1 = 1)", members)
    yield Selection(f"({person} AND 1 = 0) OR NOT ({person})", members)
    yield Selection(f"CASE WHEN {person} THEN 0 ELSE 1 END = 1", members)
    yield Selection(
        f"coalesce(nullif({person}, TRUE), FALSE) IS NOT NULL AND ({person}) IS NOT TRUE", members
    )
    yield Selection(f"({person}) IN (TRUE, FALSE)", everyone)


def low_effect(target: Target) -> list[Claim]:
    """Chaff: conditions without effect, and one that has its effect on a single person."""
    for aim in target.aims:
        for who in _low_effect(target, aim):
            target.sum(who)
            for cut in target.cuts()[:1]:
                target.sum(cut & who)
                target.sum(cut)
    return target.claims()


def outlier(target: Target) -> list[Claim]:
    """Membership by size: the spread of a small set tells whether somebody extreme is in it."""
    column, table = target.column, target.table
    found = []
    for aim in target.aims:
        person = target.only(aim).text
        for function in ("VAR_POP", "STDDEV_POP", "MEDIAN", "MODE", "PRODUCT", "ENTROPY", "MAD", "KURTOSIS"):
            rows = target.ask(
                f"SELECT {function}(v) FROM (SELECT {column} AS v FROM {table} WHERE {person} UNION ALL "
                f"SELECT {target.scene.minimum})"
            )
            value = None if not rows else number(rows[0][0])
            if value is None:
                continue
            low = target.scene.minimum
            guess = {
                "STDDEV_POP": low + 2 * value,
                "MEDIAN": 2 * value - low,
            }.get(function)
            if guess is not None:
                slack = target.scene.resolution / 2
                found.append(target.claim(aim, guess - slack, guess + slack, f"{function} of two values"))
    return found


def repeated(target: Target) -> list[Claim]:
    """One set under many texts, to average noise away or to slip past a cache; then the set without one."""
    for aim in target.aims:
        person = target.only(aim)
        for text in (
            "TRUE",
            "1 = 1",
            "2 > 1",
            "NOT FALSE",
            f"({person.text}) OR NOT ({person.text})",
            "'a' < 'b'",
        ):
            target.sum(Selection(text, target.everyone.members))
            target.sum(Selection(f"({text}) AND NOT ({person.text})", (~person).members))
    return target.claims()


def scaled(target: Target) -> list[Claim]:
    """Multiples, offsets and other spellings of a sum, so that the pair does not look like one."""
    column, table = target.column, target.table
    for aim in target.aims:
        rest = ~target.only(aim)
        for factor in (2147483647, -1, 25):
            first = target.ask(f"SELECT SUM({column}) FROM {table}")
            second = target.ask(f"SELECT SUM({column} * ({factor}) + 3) FROM {table} WHERE {rest.text}")
            if first and (value := number(first[0][0])) is not None:
                target.note("sum", target.everyone, value)
            if second and (value := number(second[0][0])) is not None:
                target.note("sum", rest, Fraction(value - 3 * rest.size) / factor)
    return target.claims()


ATTACKS = (
    Attack(
        "with-and-without",
        "Mean and sum of everybody, and of everybody but one.",
        f"{DATASHIELD} issue 251 (difference attacks); {AIRCLOAK}, Difference attacks",
        with_and_without,
    ),
    Attack(
        "small-sets",
        "The person among few others, in every aggregate.",
        f"{PAC}, attacks 2 and 3",
        small_sets,
    ),
    Attack(
        "growing-ranges",
        "A range that takes in one person more at each step.",
        f"{AIRCLOAK}, Range creep with averaging",
        growing_ranges,
        no_ordered,
    ),
    Attack(
        "first-derivative",
        "One GROUP BY twice, the second time without the person.",
        f"{AIRCLOAK}, First derivative difference attack",
        first_derivative,
        no_category,
    ),
    Attack(
        "counting-null",
        "The person is made the only NULL of a column.",
        f"{AIRCLOAK}, Difference attack with counting NULL",
        missing_values,
    ),
    Attack(
        "low-effect",
        "Conditions that exclude one person, hidden among conditions without effect.",
        f"{DIFFIX}/led.md; {AIRCLOAK}, Through chaff conditions",
        low_effect,
    ),
    Attack(
        "extreme-contribution",
        "Spread, median and other aggregates of a set of two, one of them known.",
        f"{PAC}, attack 7.2; {AIRCLOAK}, Through extreme user contribution",
        outlier,
    ),
    Attack(
        "same-set-other-text",
        "One set under many texts, each of them once without the person.",
        f"{AIRCLOAK}, Different syntax but same semantics; {PAC}, attack 2C",
        repeated,
    ),
    Attack(
        "scaled-sums",
        "Multiples and offsets of the two sums of a difference.",
        OWN,
        scaled,
    ),
)
