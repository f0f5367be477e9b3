"""The published trackers: a person who may not be asked about is hidden in sets that may."""

from __future__ import annotations

from auditor.attacks.attack import Attack, no_cut
from auditor.attacks.sources import DENNING_1979, SCHLOERER_1980
from auditor.attacks.target import Claim, Target


def individual(target: Target) -> list[Claim]:
    """q(A and B) = q(A) − q(A and not B), with A broad and B the rest of what singles the person out."""
    for aim in target.aims:
        person = target.only(aim)
        for broad in target.cuts()[:2]:
            part = broad if broad.members[aim] else ~broad
            target.sum(part)
            target.sum(part & ~person)
    return target.claims()


def general(target: Target) -> list[Claim]:
    """q(C) = q(C or T) + q(C or not T) − q(all), and q(all) = q(T) + q(not T)."""
    tracker = target.cuts()[0]
    target.sum(tracker)
    target.sum(~tracker)
    for aim in target.aims:
        person = target.only(aim)
        target.sum(person | tracker)
        target.sum(person | ~tracker)
    return target.claims()


def double(target: Target) -> list[Claim]:
    """q(C) = q(U) + q(C or T) − q(T) − q(not (C and T) and U), T a part of U."""
    cuts = target.cuts()
    upper, lower = cuts[0], cuts[0] & cuts[-1] if len(cuts) > 1 else cuts[0]
    target.sum(upper)
    target.sum(lower)
    for aim in target.aims:
        person = target.only(aim)
        target.sum(person | lower)
        target.sum(~(person & lower) & upper)
    return target.claims()


def union(target: Target) -> list[Claim]:
    """Disjoint sets X, Y, Z: q(X or C) + q(Y or C) − q(X or Y) is twice q(C)."""
    for aim in target.aims:
        person = target.only(aim)
        first = target.cuts()[0] & ~person
        second = ~target.cuts()[0] & ~person
        target.sum(first | person)
        target.sum(second | person)
        target.sum(first | second)
    return target.claims()


ATTACKS = (
    Attack(
        "individual-tracker",
        "A broad set with the person and without: the difference is the value.",
        f"J. Schlörer, 1975, as reviewed in {DENNING_1979}",
        individual,
        no_cut,
    ),
    Attack(
        "general-tracker",
        "Any person, padded with a tracker and with its complement.",
        DENNING_1979,
        general,
        no_cut,
    ),
    Attack(
        "double-tracker",
        "The same with a pair of trackers, one inside the other.",
        DENNING_1979,
        double,
        no_cut,
    ),
    Attack(
        "union-tracker",
        "Unions of disjoint sets that contain the person twice.",
        SCHLOERER_1980,
        union,
        no_cut,
    ),
)
