"""Maxima and minima: who attains them, what their refusals say, and what they say beside a sum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from auditor.attacks.attack import Attack, nobody_alone
from auditor.attacks.selection import Selection
from auditor.attacks.sources import CHIN_OZSOYOGLU, KENTHAPADI, OWN
from auditor.attacks.target import Claim, Target

Extreme = Literal["max", "min"]
EXTREMES: tuple[Extreme, ...] = ("max", "min")
CROWD = 64
MOST_CHECKS = 100


def few(target: Target) -> str | None:
    """Some records that can be named."""
    return nobody_alone(target) or ("too few records that can be named" if len(target.alone) < 8 else None)


def halving(target: Target) -> list[Claim]:
    """MAX of all, then of halves: down to the one who attains it."""
    found = []
    for kind in EXTREMES:
        persons = target.crowd(CROWD)
        value = target.aggregate(kind, target.among(persons))
        while value is not None and len(persons) > 1:
            half = persons[: len(persons) // 2]
            reached = target.aggregate(kind, target.among(half))
            if reached is None:
                break
            persons = half if reached == value else persons[len(persons) // 2 :]
        if value is not None and len(persons) == 1:
            found.append(target.claim(persons[0], value, value, f"the only one left who has the {kind}imum"))
        found += target.claims(persons[:2])
    return found


def overlapping(target: Target) -> list[Claim]:
    """Equal maxima of sets with one person in common: that person has it, or it is an odd coincidence."""
    found = []
    for kind in EXTREMES:
        persons = target.crowd(CROWD)
        bits = max(1, (len(persons) - 1).bit_length())
        greatest = target.aggregate(kind, target.among(persons))
        left = set(range(len(persons)))
        for bit in range(bits):
            for side in (0, 1):
                members = {place for place in range(len(persons)) if place >> bit & 1 == side}
                value = target.aggregate(kind, target.among(persons[p] for p in sorted(members)))
                if value is not None and value == greatest:
                    left &= members
        if greatest is not None and len(left) == 1:
            record = persons[left.pop()]
            found.append(target.claim(record, greatest, greatest, f"in every set with this {kind}imum"))
    return found + target.claims()


def refused(target: Target) -> list[Claim]:
    """Pairs whose MAX is refused where that of others is answered: it was refused for being low."""
    found: list[Claim] = []
    persons = target.crowd(40)
    pairs = list(zip(persons[::2], persons[1::2], strict=False))
    for kind in EXTREMES:
        answered = [target.aggregate(kind, target.among(pair)) is not None for pair in pairs]
        if all(answered) or not any(answered):
            continue  # all alike: that says nothing about anybody
        for pair, told in zip(pairs, answered, strict=True):
            if not told:
                found += beyond(target, kind, pair, guess=True)
    return found + target.claims(persons[:6])


def beyond(target: Target, kind: Extreme, members: Sequence[int], guess: bool = False) -> list[Claim]:
    """Everybody is on the near side of the least extreme that would have been answered."""
    scene = target.scene
    width = (scene.least_run - 2) * scene.step
    proof = f"the {kind}imum was refused, so it leaves too few values"
    ends = (scene.minimum, scene.minimum + width) if kind == "max" else (scene.maximum - width, scene.maximum)
    return [target.claim(record, *ends, proof, guess) for record in members]


def beside_sums(target: Target) -> list[Claim]:
    """MAX, MIN and SUM of the same small sets."""
    for aim in target.aims:
        for size in (1, 2, 3):
            who = target.among([aim, *target.crowd(size, [aim])])
            target.sum(who)
            for kind in EXTREMES:
                target.aggregate(kind, who)
    return target.claims()


def ends_of_groups(target: Target) -> list[Claim]:
    """Extremes of large groups that pass `check`: where values are skewed, ends are told of them."""
    sets = [target.everyone, *target.cuts(), *(~cut for cut in target.cuts())]
    for name in target.categories(2, 60):
        sets += target.groups(name)
    return _passing(target, sorted(sets, key=lambda each: each.size)[:MOST_CHECKS])


def lucky_checks(target: Target) -> list[Claim]:
    """The same with small sets, which break the limit often: those are asked for which a check is lucky."""
    sets = []
    for _ in range(8):
        persons = target.rng.permutation(target.alone).tolist()[:CROWD]
        sets += [target.among(persons[k : k + 3]) for k in range(0, len(persons) - 2, 3)]
    return _passing(target, sets[:MOST_CHECKS])


def chosen_company(target: Target) -> list[Claim]:
    """MIN and MAX of one person and others, chosen so that `check` says yes: all ends are about the one."""
    found: list[Claim] = []
    for aim in target.aims:
        sets = []
        for turn in range(MOST_CHECKS // (2 * len(target.aims))):
            sets.append(target.among([aim, *target.crowd(2 + turn % 8, [aim])]))
        found += _passing(target, sets)
    return found


def _passing(target: Target, sets: Sequence[Selection]) -> list[Claim]:
    found: list[Claim] = []
    for who in sets:
        for kind in EXTREMES:
            sql = f"SELECT {kind}({target.column}) FROM {target.table} WHERE {who.text}"
            passes = target.check(sql)
            if passes is not None and passes.verdict != "answered":
                continue
            refused = target.tally.refused
            target.aggregate(kind, who)
            if target.tally.refused > refused:
                members = [record for record in target.alone if who.members[record]][:20]
                # what else may have refused it is not known: a guess
                found += beyond(target, kind, members, guess=True)
    return found + target.claims()


ATTACKS = (
    Attack("halving-by-max", "MAX of ever smaller sets, down to one person.", CHIN_OZSOYOGLU, halving, few),
    Attack(
        "equal-maxima", "Equal maxima of sets that have one person in common.", f"{KENTHAPADI}; {OWN}",
        overlapping, few,
    ),
    Attack("refused-maxima", "Pairs whose maximum is refused.", KENTHAPADI, refused, few),
    Attack("extremes-and-sums", "MAX, MIN and SUM of the same small sets.", CHIN_OZSOYOGLU, beside_sums, few),
    Attack(
        "ends-of-groups", "Extremes of groups that pass a check: refused, or told as ends.",
        f"{KENTHAPADI}; docs/decisions.md, Ends", ends_of_groups, few,
    ),
    Attack(
        "lucky-checks", "Small sets whose extreme passes a check by luck, and is then told otherwise.",
        f"{KENTHAPADI}; docs/decisions.md, Ends", lucky_checks, few,
    ),
    Attack(
        "chosen-company", "One person's extreme with others for whom a check says yes.",
        f"{KENTHAPADI}; {OWN}", chosen_company, few,
    ),
)  # fmt: skip
