"""Persons with several rows: each row is well hidden, and what is said of all of somebody's rows is not.

A person is one in a column that is public: who has which rows is known to everybody. What these attacks are
after is the total of somebody's rows, in a group or altogether.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from auditor.attacks.attack import Attack
from auditor.attacks.likelihood import MOST_VALUES, Company
from auditor.attacks.selection import Selection
from auditor.attacks.sources import OWN
from auditor.attacks.target import AIMS, Claim, Target, number
from auditor.sql.schema import quoted

FEWEST = 4
"""Rows of a person below which a row says as much as all of them."""
PARTNERS = 40
"""Persons whose rows are asked for together with somebody's."""
TURNS = 12
"""Companies that are tried for a person, of a share between these of as many rows as the person has."""
LEAST_SHARE, MOST_SHARE = 0.5, 0.95
MOST_GROUPS = 60
"""Values of a column up to which it makes groups."""

Floats = NDArray[np.float64]


def _heavy(target: Target) -> list[object]:
    """Who has most rows."""
    return [name for name, rows in target.persons.items() if len(rows) >= FEWEST][:AIMS]


def no_person(target: Target) -> str | None:
    """Somebody with several rows, whom a public column names."""
    return None if _heavy(target) else "no public column names persons who have several rows each"


def no_group(target: Target) -> str | None:
    """And groups, in which they are."""
    return no_person(target) or (None if _columns(target) else "no public column has few values")


def no_lonely_group(target: Target) -> str | None:
    """And groups in which somebody is alone."""
    reason = no_group(target)
    if reason is None and next(_lonely(target), None) is None:
        return "no group has one person's rows alone"
    return reason


def few_values(target: Target) -> str | None:
    """And values that can be looked at one by one."""
    if Company(target).values > MOST_VALUES:
        return f"the column has more than {MOST_VALUES:,} values"
    return no_person(target)


def _columns(target: Target) -> list[str]:
    return [name for name in target.categories(2, MOST_GROUPS) if name != target.scene.unit]


def by_group(target: Target) -> list[Claim]:
    """Group by group the sum with a person's rows and without: what the person has there, then altogether."""
    sets = []
    for name in _heavy(target):
        person = target.rows_of(name)
        for column in _columns(target):
            for group in target.groups(column):
                if (group & person).size:
                    target.sum(group)
                    target.sum(group & ~person)
                    sets.append(group & person)
        sets.append(person)
    return target.totals(sets)


def _lonely(target: Target) -> Iterator[tuple[Sequence[str], Selection]]:
    """Groups by one or two columns, with the columns, all of whose several rows are one person's."""
    assert target.scene.unit is not None
    whose, columns = target.values[target.scene.unit], _columns(target)
    for by in [*((each,) for each in columns), *combinations(columns, 2)]:
        cells: dict[tuple[object, ...], list[int]] = {}
        for record in range(target.size):
            cells.setdefault(tuple(target.values[name][record] for name in by), []).append(record)
        for records in sorted(cells.values(), key=len, reverse=True):
            if len(records) >= FEWEST and len({whose[record] for record in records}) == 1:
                group = target.everyone
                for name in by:
                    group = group & next(g for g in target.groups(name) if g.members[records[0]])
                yield by, group


def alone_in_a_group(target: Target) -> list[Claim]:
    """Groups in which one person has all rows: by GROUP BY, and as the rest of everybody."""
    found = list[Claim]()
    for (by, group), _ in zip(_lonely(target), range(AIMS), strict=False):
        listed = ", ".join(quoted(name) for name in by)
        sql = f"SELECT {listed}, SUM({target.column}) FROM {target.table} GROUP BY {listed}"
        first = int(np.flatnonzero(group.members)[0])
        key = tuple(target.values[name][first] for name in by)
        for row in target.ask(sql) or []:
            value = number(row[-1])
            if tuple(row[:-1]) == key and value is not None:
                target.note("sum", group, value)
        target.sum(target.everyone)
        target.sum(~group)
        found += target.totals([group])
    return found


def in_every_sum(target: Target) -> list[Claim]:
    """All rows of a person in many sums, each with all of somebody else's: what is likely of the total."""
    company, found = Company(target), list[Claim]()
    for name in _heavy(target):
        person, top = target.rows_of(name), company.values - 1
        totals = np.arange(person.size * top + 1)
        logs, of_rows = company.of(person.size, totals), list[Floats]()
        others = [each for each in target.persons if each != name]
        for other in others[:PARTNERS]:
            both = target.rows_of(name, other)
            total = target.sum(both)
            if total is not None:
                units = company.units(float(total), both.size)
                logs = logs + company.of(both.size - person.size, units - totals)
                of_rows.append(_shares(company.of(both.size - 1, units - np.arange(top + 1))))
        if of_rows:
            found.append(_likely(target, person, logs, np.mean(of_rows, axis=0), len(of_rows)))
    return found


def _shares(logs: Floats) -> Floats:
    found: Floats = np.exp(logs - logsumexp(logs))
    return found


def _likely(target: Target, who: Selection, logs: Floats, row: Floats, sums: int) -> Claim:
    """What logarithms say of a total, beside that of as many rows of which each sum alone is known."""
    likely, base = _shares(logs), np.ones(1)
    for _ in range(who.size):
        base = np.convolve(base, row)
    place = int(likely.argmax())
    value = who.size * target.scene.minimum + place * target.scene.resolution
    proof = f"of {sums} sums, all tables alike: {100 * likely[place]:.1f} % for {float(value):g}"
    claim = target.total(who, Fraction(value), Fraction(value), proof)
    return replace(claim, likely=tuple(likely.tolist()), of_another=tuple(base.tolist()))


def beside_extremes(target: Target) -> list[Claim]:
    """A person with fewer rows of others: the sum of all, and the ends of what the others can have of it."""
    found = list[Claim]()
    for name in _heavy(target):
        person = target.rows_of(name)
        for _ in range(TURNS):
            others = _company(target, name, person.size)
            if others is None:
                continue
            target.sum(person | others)
            target.aggregate("max", others)
            target.aggregate("min", others)
        found += target.totals([person])
    return found


def _company(target: Target, name: object, rows: int) -> Selection | None:
    """Persons drawn until they have so many rows together, fewer than somebody."""
    most, chosen, count = int(MOST_SHARE * rows), list[object](), 0
    names = list(target.persons)
    for place in target.rng.permutation(len(names)).tolist():
        more = len(target.persons[names[place]])
        if names[place] != name and count + more <= most:
            chosen.append(names[place])
            count += more
    return target.rows_of(*chosen) if chosen and count >= LEAST_SHARE * rows else None


def _attack(
    name: str,
    about: str,
    run: Callable[[Target], list[Claim]],
    needs: Callable[[Target], str | None],
) -> Attack:
    return Attack(name, about, OWN, run, needs)


ATTACKS = (
    _attack("total-by-groups", "Each group with a person's rows and without them.", by_group, no_group),
    _attack(
        "alone-in-a-group", "Groups all of whose rows are one person's.", alone_in_a_group, no_lonely_group
    ),
    _attack(
        "person-in-every-sum", "All rows of a person in many sums: what is likely.", in_every_sum, few_values
    ),
    _attack(
        "total-beside-extremes",
        "A person with most rows of a sum, and MAX and MIN of the others.",
        beside_extremes,
        no_person,
    ),
)
