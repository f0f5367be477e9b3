"""Averaging: pairs of sets that make up the same set, to wear down noise or a rule about small sets."""

from __future__ import annotations

from auditor.attacks.attack import Attack, no_cut
from auditor.attacks.sources import AIRCLOAK
from auditor.attacks.target import Claim, Target


def split(target: Target) -> list[Claim]:
    """Every split of everybody, and of everybody but one: each pair of sums makes up the same total."""
    for aim in target.aims:
        rest = ~target.only(aim)
        for cut in target.cuts()[:4]:
            for who in (target.everyone, rest):
                target.sum(who & cut)
                target.sum(who & ~cut)
    return target.claims()


ATTACKS = (
    Attack(
        "split-averaging",
        "Many pairs of complementary sums, with the person and without.",
        f"{AIRCLOAK}, Split averaging attack",
        split,
        no_cut,
    ),
)
