"""Which answers prove a bound, and how: multipliers anybody can check with pencil and paper.

A certificate says Σ λ_q b_q + (boxes) <= c_i, or >=: weak duality, so it needs no trust in a solver. Where
the bound holds only because somebody must attain a MAX or MIN no multipliers prove it; the certificate then
names a set of answers, none of which can be spared, and a mixed integer program is the proof.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from cae_sql.inference.facts.query import Answer, Grid
from cae_sql.inference.intervals.bounds import OneByOne, Solved
from cae_sql.inference.intervals.irreducible import rows_of, spared

Side = Literal["lower", "upper"]


@dataclass(frozen=True)
class Certificate:
    """Why a record's value cannot be less, or more, than a bound."""

    record: int
    """The record."""
    side: Side
    """Which end of its interval."""
    bound: float
    """The bound, in units of the column."""
    terms: list[tuple[int, Fraction]]
    """(answer number from 0, multiplier of its sum; a mean's sum is mean × count)."""
    boxes: tuple[int, ...] = ()
    """Answers (MAX, MIN) whose limits on single records are used beside the domain's."""
    kind: Literal["multipliers", "attained"] = "multipliers"
    """"attained": that somebody has each extreme is needed; `terms` then name sums with multiplier 0."""

    def __str__(self) -> str:
        """A sentence."""
        relation = "at least" if self.side == "lower" else "at most"
        claim = f"record {self.record} is {relation} {self.bound:g}"
        boxes = ", ".join(f"A{number}" for number in self.boxes)
        if self.kind == "attained":
            named = ", ".join(f"A{number}" for number, _ in self.terms)
            parts = " and ".join(part for part in (named, boxes) if part)
            return f"{claim}, because no table agrees with {parts} otherwise"
        if not self.terms:
            return f"{claim}, because of {boxes}" if boxes else f"{claim}, because of the domain"
        formula = ""
        for place, (number, weight) in enumerate(self.terms):
            size = "" if abs(weight) == 1 else f"{abs(weight)} "
            sign = ("- " if weight < 0 else "") if place == 0 else (" - " if weight < 0 else " + ")
            formula += f"{sign}{size}A{number}"
        limits = f", the domain and the limits {boxes}" if boxes else " and the domain"
        return f"{claim}, because of {formula}{limits}"


Rebuild = Callable[[list[int]], Solved]
"""The system of some of the answers alone."""


def certify(
    rebuild: Rebuild, answers: list[Answer], grid: Grid, record: int, side: Side, value: Fraction
) -> Certificate:
    """A certificate that names few answers for a bound already known: `value`, in units of the grid."""
    bound = float(grid.to_value(value))
    edge = Fraction(0) if side == "lower" else grid.top
    if value == edge:
        return Certificate(record, side, bound, [])

    def holds(numbers: list[int]) -> bool:
        system, end = rebuild(numbers), 0 if side == "lower" else 1
        return OneByOne(system).interval(int(system.known.atoms.labels[record]), (end,))[end] == value

    kept, _ = spared(list(range(len(answers))), holds)
    system = rebuild(kept)
    extremes = tuple(number for number in kept if answers[number].kind != "sum")
    found = OneByOne(system).proof_of(int(system.known.atoms.labels[record]), 1 if side == "lower" else -1)
    if found is not None and found.bound == value:
        numbers = rows_of(system.known, {number: answers[number] for number in kept})
        terms = [
            (numbers[row], weight * answers[numbers[row]].factor)
            for row, weight in zip(found.rows, found.weights, strict=True)
        ]
        return Certificate(record, side, bound, sorted(terms), extremes)
    sums = [(number, Fraction(0)) for number in kept if answers[number].kind == "sum"]
    return Certificate(record, side, bound, sums, extremes, "attained")
