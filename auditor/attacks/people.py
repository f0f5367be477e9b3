"""Several users, many checks, and the clock: attacks by the way of asking."""

from __future__ import annotations

import statistics
import time

from auditor.attacks.attack import Attack
from auditor.attacks.sources import AIRCLOAK, HAEBERLEN, KENTHAPADI, OWN
from auditor.attacks.target import Claim, Target

ROUNDS = 3


def collusion(target: Target) -> list[Claim]:
    """Each half of a difference is asked by another user; they put the answers together."""
    for aim in target.aims:
        rest = ~target.only(aim)
        target.sum(target.everyone, user="eve")
        target.sum(rest, user="mallory")
        for place, cut in enumerate(target.cuts()[:2]):
            target.sum(rest & cut, user=f"user{place}")
            target.sum(rest & ~cut, user=f"other{place}")
    return target.claims()


def probing(target: Target) -> list[Claim]:
    """Checks are free: the statement that passes is looked for, then asked."""
    for aim in target.aims:
        person = target.only(aim)
        for size in (0, 1, 2, 3, 5, 8, 13):
            others = target.crowd(size, [aim])
            pair = (target.among([aim, *others]), target.among(others) if others else ~person)
            for who in pair:
                passes = target.check(f"SELECT SUM({target.column}) FROM {target.table} WHERE {who.text}")
                if passes is None or passes.verdict == "answered":
                    target.sum(who)
    return target.claims()


def timing(target: Target) -> list[Claim]:
    """How long verdicts take: measured and shown. Nothing is concluded from it."""
    times: dict[str, list[float]] = {"refused": [], "answered": [], "unsupported": []}
    for aim in target.aims:
        for who in (target.only(aim), target.everyone, ~target.only(aim)):
            for _ in range(ROUNDS):
                start = time.perf_counter()
                reply = target.reply(f"SELECT SUM({target.column}) FROM {target.table} WHERE {who.text}")
                times[reply.verdict].append(time.perf_counter() - start)
    shown = (f"{name} {1000 * statistics.median(each):.1f} ms" for name, each in times.items() if each)
    target.remarks.append("median times: " + ", ".join(shown))
    return []


ATTACKS = (
    Attack(
        "collusion", "The halves of a difference asked by different users.", f"{KENTHAPADI}; {OWN}", collusion
    ),
    Attack("repeated-checks", "Checks until a useful statement passes.", f"{KENTHAPADI}; {OWN}", probing),
    Attack(
        "timing", "How long verdicts take; measured, nothing is claimed.",
        f"{AIRCLOAK}, Timing attacks; {HAEBERLEN}", timing,
    ),
)  # fmt: skip
