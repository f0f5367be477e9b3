"""What is likely, though nothing is excluded: one person in many sums, each with company of its own.

Every sum alone says next to nothing, and all of them together leave every value possible; yet what they have
in common is what they agree about. How likely each value is then, all tables that agree with the answers
alike, is counted here: exactly, since the company of a sum is in no other one, so that how often it has each
total is a convolution (`auditor.attacks.totals`). Nothing of the gate's own reckoning has a part in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp

from auditor.attacks.attack import Attack
from auditor.attacks.sources import OWN
from auditor.attacks.target import Claim, Target, number
from auditor.attacks.totals import log_likely, log_likely_near
from auditor.told import Range

PERSONS, SUMS, OTHERS = 2, 60, 12
"""Whom it is after, in how many sums each, with how many others in each of them."""
FEWEST = 10
"""Sums below which there is nothing to be learned."""
MEMBERS, BESIDE = 8, 3
"""Persons of whom each two are in a sum, and with how many others."""
SWEEPS, LEFT_OUT = 3_000, 200
"""Of a walk over the values of a clique."""
MOST_COUNTED = 100_000
"""Tables of a clique up to which all are counted."""
IMPOSSIBLE = -80.0
"""The logarithm of nearly nothing."""
STEEPEST = 50.0
"""Of a slope from one value to the next: beyond, only one of the two is possible."""
MOST_VALUES = 1_000
"""Values of the domain up to which they are looked at one by one."""
MOST_BESIDE = 2_000
"""People beside a star, beyond which how often they have a total is worked out near that total alone."""

Floats = NDArray[np.float64]


class Company:
    """How likely each total of some people is, each of whose values is as likely as any other."""

    def __init__(self, target: Target) -> None:
        """Take the domain."""
        scene = target.scene
        self._least, self._resolution = scene.minimum, scene.resolution
        self.values = int((scene.maximum - scene.minimum) / scene.resolution) + 1
        """Values of the domain."""

    def with_total(self, count: int, total: float, others: int) -> Floats:
        """(values · others − others + 1,) log P(the company makes up for it), by the sum of some others.

        Args:
            count: How many the company is.
            total: Of company and others together, in units of the column.
            others: How many these are.
        """
        left = self.units(total, count + others) - np.arange(others * (self.values - 1) + 1)
        return self.of(count, left)

    def units(self, total: float, count: int) -> int:
        """A sum over so many people, in steps of the resolution above the least that it can be."""
        return round((total - float(count * self._least)) / float(self._resolution))

    def of(self, count: int, units: NDArray[np.int64], most: int | None = None) -> Floats:
        """log P(so many people have these totals), each as many units above the least, and this maximum."""
        top = self.values - 1 if most is None else most
        found = log_likely(count, top, self.values)
        if most is not None and most > 0:
            lower = np.full(len(found), -np.inf)
            fewer = log_likely(count, most - 1, self.values)
            lower[: len(fewer)] = fewer
            with np.errstate(divide="ignore"):
                found = found + np.log1p(-np.exp(np.minimum(lower - found, 0.0)))
        inside = (units >= 0) & (units < len(found))
        logs: Floats = np.where(inside, found[np.clip(units, 0, len(found) - 1)], -np.inf)
        return logs


def crowded(target: Target) -> str | None:
    """Company enough, and values that can be looked at one by one."""
    if Company(target).values > MOST_VALUES:
        return f"the column has more than {MOST_VALUES:,} values"
    return None if len(target.alone) > FEWEST * OTHERS else "too few records that can be named"


def _stars(target: Target) -> Iterator[tuple[int, list[list[int]]]]:
    """Persons, each with company that no other sum has."""
    count = max(1, min(PERSONS, len(target.alone) // (1 + SUMS * OTHERS)))
    persons = target.crowd(count)
    company = target.crowd(count * SUMS * OTHERS, without=persons)
    arms = [company[first : first + OTHERS] for first in range(0, len(company) - OTHERS + 1, OTHERS)]
    for place, person in enumerate(persons):
        yield person, arms[place::count]


def _shares(logs: NDArray[np.floating]) -> Floats:
    found: Floats = np.exp(logs - logs.max())
    found /= found.sum()
    return found


def _claimed(target: Target, person: int, logs: Floats, other: Floats, told: str) -> list[Claim]:
    """What logarithms (values,) say of a person, up to a constant, beside what is said of another."""
    likely = _shares(logs)
    top = int(likely.argmax())
    value = float(target.scene.minimum + top * target.scene.resolution)
    proof = f"of {told}, all tables alike: {100 * likely[top]:.1f} % for {value:g}"
    return [target.likelihood(person, likely.tolist(), other.tolist(), proof)]


def people_like(logs: Floats) -> Floats:
    """(values,) what sums say of people like somebody: the baseline of members in `docs/measure.md`.

    The slope of what they say, log P(answers | v), is the tilt θ where v is what is expected under θ. The
    tilt t of people like somebody is the slope where v is greater, by as much as they have more than anybody.

    Args:
        logs: (3 · values,) log P(answers | v) up to a constant, from a domain below the domain's values to
            one above.
    """
    values = len(logs) // 3
    # what is impossible lies to either side of the possible: slopes there lead back to it
    slopes = np.where(np.arange(len(logs) - 1) < logs.argmax(), STEEPEST, -STEEPEST)
    some = np.isfinite(logs[1:]) & np.isfinite(logs[:-1])
    slopes[some] = np.clip(logs[1:][some] - logs[:-1][some], -STEEPEST, STEEPEST)
    middles, every = np.arange(len(slopes)) - values + 0.5, np.arange(values)

    def mean(tilt: float) -> float:
        return float(every @ _shares(tilt * every))

    def falls_to(beyond: float) -> float:
        """The tilt t that is the slope at μ(t) + `beyond`."""
        return float(brentq(lambda t: t - np.interp(mean(t) + beyond, middles, slopes), -STEEPEST, STEEPEST))

    tilt = falls_to(0.0)
    return _shares(falls_to(mean(tilt) - mean(0.0)) * every)


class Star:
    """What sums over one person and company of its own each say, beside the total of all if that is known."""

    def __init__(self, target: Target, company: Company, whole: Fraction | None) -> None:
        """Nothing is told yet."""
        self._target, self._company, self._whole = target, company, whole
        self._sums = list[tuple[int, int, int | None]]()
        """Of each sum: how many others are in it, its total in units, and the greatest value of the others,
        if it is known."""
        self._between = list[tuple[int, int, int, int | None]]()
        """The same of each sum that was told as a range, with its least and greatest total."""

    def told(self, count: int, total: Fraction, most: int | None = None) -> None:
        """A sum over the person and so many others; `most`: the greatest value of these, if it is known."""
        self._sums.append((count, self._company.units(float(total), 1 + count), most))

    def told_between(self, count: int, told: Range, most: int | None = None) -> None:
        """As `told`, a sum that was told as a range."""
        top = self._company.values - 1
        low = 0 if told.least is None else self._company.units(float(told.least), 1 + count)
        high = (1 + count) * top if told.most is None else self._company.units(float(told.most), 1 + count)
        self._between.append((count, low, high, most))

    def claims(self, person: int) -> list[Claim]:
        """What is likely of the person, held against people like it."""
        if not self._sums:
            return []
        told = f"{len(self._sums)} sums" + (f" and {len(self._between)} ranges" if self._between else "")
        values = self._company.values
        likely = self.says(np.arange(-values, 2 * values))
        return _claimed(self._target, person, likely[values : 2 * values], people_like(likely), told)

    def says(self, at: NDArray[np.int64] | None = None) -> Floats:
        """(values,) what all of it says, as logarithms up to a constant, of the domain's values or of others.

        Whoever is in none of the sums has what these leave of the total: where values are low, so are sums,
        and a total that is as low explains them.
        """
        company = self._company
        at = np.arange(company.values) if at is None else at
        likely = np.zeros(len(at))
        for count, total, most in self._sums:
            likely = likely + company.of(count, total - at, most)
        ranged = [self._of_ranges(value) for value in at]
        if self._whole is None or not self._sums:
            alone: Floats = likely + np.array([logsumexp(each) for each in ranged])
            return alone
        left = company.units(float(self._whole), self._target.size) - sum(total for _, total, _ in self._sums)
        of_sums, of_ranges = (sum(each[0] for each in some) for some in (self._sums, self._between))
        beside = self._target.size - 1 - of_sums - of_ranges
        # (values, c) what is left to whoever is in none of the sums, by the total of companies told as ranges
        totals = left + ((len(self._sums) - 1) * at)[:, None] - np.arange(len(ranged[0]))
        if beside <= MOST_BESIDE or totals.min() < 0 or totals.max() > beside * (company.values - 1):
            rest = company.of(beside, totals)
        else:
            near = np.arange(totals.min(), totals.max() + 1)
            rest = log_likely_near(beside, company.values - 1, near)[totals - near[0]]
        whole: Floats = likely + logsumexp(np.array(ranged) + rest, axis=1)
        return whole

    def _of_ranges(self, value: int) -> Floats:
        """(c,) log P(each total of the companies of sums told as ranges), if the person has a value."""
        found = np.ones(1)
        for count, low, high, most in self._between:
            totals = np.arange(count * (self._company.values - 1) + 1)
            inside = (totals + value >= low) & (totals + value <= high)
            found = np.convolve(found, np.where(inside, np.exp(self._company.of(count, totals, most)), 0.0))
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(found)
        return logs


def _known_total(target: Target) -> Fraction | None:
    """The sum over everybody, if that is known already: a published mean."""
    said = target.check(f"SELECT SUM({target.column}) FROM {target.table}")
    known = said is not None and said.verdict == "answered" and not said.decided
    return target.sum(target.everyone) if known else None


def star(target: Target) -> list[Claim]:
    """Each person in many sums, all with different company."""
    company, found, whole = Company(target), list[Claim](), _known_total(target)
    for person, arms in _stars(target):
        told = Star(target, company, whole)
        for arm in arms:
            _tell(told, len(arm), target.told_of("sum", target.among([person, *arm])))
        found += told.claims(person)
    return found


def _tell(
    told: Star, count: int, answer: tuple[Fraction | None, Sequence[Range]], most: int | None = None
) -> None:
    """What came back of a sum over the person and so many others: whoever was told a range counts it."""
    total, ranges = answer
    if total is not None:
        told.told(count, total, most)
    for each in ranges if total is None else ():
        told.told_between(count, each, most)


def beside_extremes(target: Target) -> list[Claim]:
    """The same, and of each company the greatest value, which says more of how its total spreads."""
    company, found, whole = Company(target), list[Claim](), _known_total(target)
    for person, arms in _stars(target):
        told = Star(target, company, whole)
        for arm in arms:
            greatest = target.aggregate("max", target.among(arm))
            most = None if greatest is None else company.units(float(greatest), 1)
            _tell(told, len(arm), target.told_of("sum", target.among([person, *arm])), most)
        found += told.claims(person)
    return found


def differences(target: Target) -> list[Claim]:
    """The same, every sum as the difference of two large ones."""
    company, found, everything = Company(target), list[Claim](), _known_total(target)
    halves = target.cuts()[:4] or [target.everyone]
    for person, arms in _stars(target):
        told = Star(target, company, everything)
        for turn, arm in enumerate(arms):
            large, small = halves[turn % len(halves)], target.among([person, *arm])
            whole = target.sum(large | small)
            rest = None if whole is None else target.sum(large & ~small)
            if whole is not None and rest is not None:
                told.told(len(arm), whole - rest)
        found += told.claims(person)
    return found


def groups(target: Target) -> list[Claim]:
    """The same by GROUP BY: one group is the person with company, the other is everybody else."""
    company, found = Company(target), list[Claim]()
    whole = target.sum(target.everyone)
    for person, arms in _stars(target):
        told = Star(target, company, whole)
        for arm in arms:
            _tell(told, len(arm), _of_its_group(target, [person, *arm], whole))
        found += told.claims(person)
    return found


def _of_its_group(
    target: Target, people: Sequence[int], whole: Fraction | None
) -> tuple[Fraction | None, Sequence[Range]]:
    """The sum over some people, from a grouping by whether one is among them: told, or the rest of all.

    Or the ranges in which it was told to be.
    """
    among = f"CASE WHEN {target.among(people).text} THEN 'these' ELSE 'those' END"
    reply = target.reply(f"SELECT {among} AS g, SUM({target.column}) FROM {target.table} GROUP BY g")
    told = {name: number(value) for name, value in reply.rows or []}
    these, those = told.get("these"), told.get("those")
    if these is None and those is not None and whole is not None:
        these = whole - those
    return these, [each for each in reply.ranges if "these" in each.group.values()]


def clique(target: Target) -> list[Claim]:
    """Some persons, every two of them in a sum with company of its own."""
    company, persons = Company(target), target.crowd(MEMBERS)
    edges = list(combinations(range(len(persons)), 2))
    others = target.crowd(BESIDE * len(edges), without=persons)
    logs: dict[tuple[int, int], Floats] = {}
    alone: dict[tuple[int, int], Floats] = {}
    for turn, (i, j) in enumerate(edges):
        beside = others[turn * BESIDE : (turn + 1) * BESIDE]
        total = target.sum(target.among([persons[i], persons[j], *beside])) if beside else None
        if total is not None:
            logs[i, j] = logs[j, i] = company.with_total(len(beside), float(total), 2)
            alone[i, j] = company.with_total(len(beside) + 1, float(total), 1)
    rows = _together(len(persons), company.values, logs, target.rng)
    found = list[Claim]()
    for place, person in enumerate(persons):
        with np.errstate(divide="ignore"):
            likely = np.log(rows[place])
        mine = [_shares(alone[edge]) for edge in alone if place in edge]
        if mine:
            other: Floats = np.mean(mine, axis=0)
            found += _claimed(target, person, likely, other, f"{len(mine)} sums")
    return found


def _together(
    persons: int, values: int, logs: dict[tuple[int, int], Floats], rng: np.random.Generator
) -> Floats:
    """(persons, values) how likely each value is: counted where that is little work, else by a walk."""
    if values**persons > MOST_COUNTED:
        return _walked(persons, values, logs, rng)
    tables = np.indices((values,) * persons).reshape(persons, -1)
    likely = np.zeros(tables.shape[1])
    for (i, j), each in logs.items():
        likely += each[tables[i] + tables[j]] if i < j else 0.0
    weights = np.exp(likely - likely.max())
    return np.array([np.bincount(row, weights, values) for row in tables])


def _walked(
    persons: int, values: int, logs: dict[tuple[int, int], Floats], rng: np.random.Generator
) -> Floats:
    """As `_together`: one person's value drawn after the other, given all others'."""
    at, found, every = [values // 2] * persons, np.zeros((persons, values)), np.arange(values)
    for sweep in range(SWEEPS if logs else 0):
        for i in range(persons):
            here = np.zeros(values)
            for j in range(persons):
                if (i, j) in logs:
                    # what is impossible is nearly so: the walk may begin there, and leaves it for good
                    here += np.maximum(logs[i, j][every + at[j]], IMPOSSIBLE)
            likely = np.exp(here - here.max())
            likely /= likely.sum()
            if sweep >= LEFT_OUT:
                found[i] += likely
            at[i] = int(rng.choice(values, p=likely))
    return found


ATTACKS = (
    Attack("star", "A person in many sums, each with others of its own: what is likely.", OWN, star, crowded),
    Attack(
        "star-of-differences",
        "The same, sums as differences of large ones.",
        OWN,
        differences,
        crowded,
    ),
    Attack("star-of-groups", "The same by GROUP BY, everybody else in a group.", OWN, groups, crowded),
    Attack(
        "star-beside-extremes",
        "The same, with the greatest value of each company.",
        OWN,
        beside_extremes,
        crowded,
    ),
    Attack("clique", "Persons, each two of them in a sum with company of its own.", OWN, clique, crowded),
)
