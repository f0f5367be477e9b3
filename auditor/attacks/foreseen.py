"""EXPLAIN and remainders: what fates, what is left of the limit and withheld groups together say.

Promise: conclusions from fates and from `left` hold where these hang on true values; of a gate that keeps its
word nothing follows. Remainders are answers like any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from auditor.attacks.attack import Attack
from auditor.attacks.extremes import EXTREMES, Extreme, beyond, few
from auditor.attacks.selection import Selection
from auditor.attacks.sources import KENTHAPADI, OWN, SDC
from auditor.attacks.target import Claim, Target, number

SIZES = (2, 3, 5, 8)
"""How many persons a small set has."""
GROUPS = 4
"""Small groups of a table, of two persons each."""


def explained(target: Target) -> list[Claim]:
    """EXPLAIN of MAX and MIN over many small sets: of sets alike, the withheld ones are low, or high."""
    found: list[Claim] = []
    for kind in EXTREMES:
        for size in SIZES:
            persons = target.crowd(min(40, 8 * size))
            sets = [persons[k : k + size] for k in range(0, len(persons) - size + 1, size)]
            fates = [_fate(target, kind, each) for each in sets]
            if len(set(fates)) < 2:
                continue  # all alike: that says nothing about anybody
            for members, fate in zip(sets, fates, strict=True):
                if fate == "withheld":
                    found += beyond(target, kind, members, guess=True)
    return found + target.claims(target.crowd(6))


def _fate(target: Target, kind: Extreme, members: Sequence[int]) -> str:
    """What EXPLAIN says; where there is none, it is asked straight away."""
    said = target.check(_sql(target, kind, target.among(members)))
    if said is not None:
        return said.fates[0].fate if said.fates else said.verdict
    return "withheld" if target.aggregate(kind, target.among(members)) is None else "exact"


def _sql(target: Target, kind: Extreme, who: Selection) -> str:
    return f"SELECT {kind}({target.column}) FROM {target.table} WHERE {who.text}"


def left(target: Target) -> list[Claim]:
    """`left` of small sets, before and after their extreme is asked: no fall where nothing is told."""
    for aim in target.aims:
        for size in SIZES:
            who = target.among([aim, *target.crowd(size - 1, [aim])])
            for kind in EXTREMES:
                before = _left(target, kind, who)
                told, ranges = target.told_of(kind, who)
                after = _left(target, kind, who)
                if told is not None or ranges or before is None or after is None or before <= after:
                    continue
                target.remarks.append("left fell where nothing was told")
                if after == 0:  # all of it is spent: the extreme leaves its members too few values
                    claim = beyond(target, kind, [aim])[0]
                    end = claim.upper if kind == "max" else claim.lower
                    target.notes.hears(
                        kind, who.members.astype(np.int64), end, "at most" if kind == "max" else "at least"
                    )
    return target.claims()


def _left(target: Target, kind: Extreme, who: Selection) -> float | None:
    said = target.check(_sql(target, kind, who))
    return said.fates[0].left if said is not None and said.fates else None


def shifted(target: Target) -> list[Claim]:
    """Small groups beside a large one, and the same with one person moved, or left out: remainders differ."""
    for aim in target.aims:
        others = target.crowd(2 * GROUPS - 1, [aim])
        sides = [aim, *others]
        small = {chr(ord("a") + k): sides[2 * k : 2 * k + 2] for k in range(GROUPS)}
        first, second, *_ = small
        without = small | {first: small[first][1:]}
        target.sum(target.everyone)
        grouped(target, small)
        grouped(target, without)  # moved into the large group
        grouped(target, without | {second: [aim, *small[second]]})
        grouped(target, without, ~target.only(aim))
    return target.claims()


def grouped(target: Target, small: Mapping[str, Sequence[int]], who: Selection | None = None) -> None:
    """Ask for the sum of small groups and of all others, and note what is told, a remainder too."""
    who = target.everyone if who is None else who
    parts = {name: target.among(members) & who for name, members in small.items() if members}
    rest = who
    for part in parts.values():
        rest = rest & ~part
    cases = " ".join(f"WHEN {part.text} THEN '{name}'" for name, part in parts.items())
    parts["z"] = rest
    said = target.reply(
        f"SELECT CASE {cases} ELSE 'z' END AS k, SUM({target.column}) AS s FROM {target.table} "
        f"WHERE {who.text} GROUP BY k"
    )
    ends = {each.group["k"]: each for each in said.ranges if "k" in each.group}
    lost = np.zeros(target.size, dtype=np.bool_)
    for name, total in said.rows or []:
        part, told = parts[str(name)], number(total)
        if told is not None:
            target.note("sum", part, told)
        elif name in ends:
            target.note_ends("sum", part, [ends[name]])
        else:
            lost |= part.members
    for _, total in said.remainder:
        told = number(total)
        if told is not None:
            target.note("sum", lost.astype(np.int64), told)


ATTACKS = (
    Attack(
        "explained-extremes", "EXPLAIN of extremes of many small sets: fates that differ say who is low.",
        f"{KENTHAPADI}; {OWN}", explained, few,
    ),
    Attack(
        "left-before-and-after", "What is left of the limit, before and after a refused extreme.",
        OWN, left, few,
    ),
    Attack(
        "remainder-of-groups", "Withheld groups together, beside the same with one person moved.",
        f"{SDC}; {OWN}", shifted, few,
    ),
)  # fmt: skip
