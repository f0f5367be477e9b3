"""A log of decisions as counts."""

from __future__ import annotations

from collections import Counter

from benchmarks.usefulness.asking import Asked

MEASURES = ("exact", "end", "range", "withheld", "refused", "unsupported", "surprises", "late")
"""Groups, or statements that have none; `refused` and `unsupported` are statements."""
MORE_IS_BETTER, LESS_IS_BETTER = ("exact", "told"), ("surprises", "late")
"""What a build is held to: what it tells exactly, what it tells at all, and what it should not do."""


def counts(asked: Asked) -> dict[str, int]:
    """By measure; `told` is all that is told exactly, as an end or as a range.

    `beyond`: groups told exactly that may not be, or not so; a fault, not a gain.
    """
    kinds = Counter(each.told for each in asked.decided)
    found = {name: kinds[name] for name in MEASURES if name in kinds or name not in ("surprises", "late")}
    found["told"] = sum(kinds[name] for name in ("exact", "end", "range"))
    found["surprises"], found["late"] = asked.surprises, asked.late
    if asked.optimum is not None:
        found["optimum"] = len(asked.optimum)
        exact = [each for each in asked.decided if each.told == "exact"]
        found["beyond"] = sum(asked.optimum.get(each.group) != each.value for each in exact)
    return found
