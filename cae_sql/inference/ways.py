"""Switches of the mechanisms that show and judge: all are on, but in an ablation.

A `Ways` is handed to an `AnsweredSystem` and reaches each mechanism from there. Without one of the plain ones
less is shown, or the same in more time; what is answered is as safe. The last ones, `…_benchmark_only`, are
parts of what is judged: without one of them answers break the promise. No policy can name any of this.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

PROMISED = "_benchmark_only"


@dataclass(frozen=True)
class Ways:
    """What is used. Each is True where it is."""

    # all records at once (`certify`, `tables`)
    closed_form: bool = True  # records of a part with room enough are shown without a move
    bases: bool = True  # the roomy table's basis pays for what moves
    further_bases: bool = True  # of payments out of shared rooms: over more bases than the first turns have
    payments: bool = True  # many short payments out of shared rooms, for records that the basis does not show
    kept_moves: bool = True  # moves that showed a record serve later questions
    central: bool = True  # tables around the analytic centre
    single_answers: bool = True  # tables between those of the single hypothetical answers
    margin: bool = True  # an end stays inside of what breaks the limit
    # small systems
    search: bool = True  # records are searched one by one, in small systems
    paired_search: bool = True  # and with an insider every pair of them, of narrow runs
    exact_sets: bool = True  # what small systems leave is known exactly where their sums allow it
    # refusals before any search
    certain_refusals: bool = True  # bounds alone refuse
    # without these what is answered is not safe
    likely_insiders_benchmark_only: bool = True  # what is likely is judged for insiders too
    residues_benchmark_only: bool = True  # what sums leave modulo small numbers
    counting_benchmark_only: bool = True  # small components are counted exactly
    skewness_benchmark_only: bool = True  # the formula counts skewness

    def without(self, *names: str) -> Ways:
        """All of these but some; a TypeError where there is no such way."""
        return replace(self, **dict.fromkeys(names, False))


def names() -> Iterator[str]:
    """Of all ways."""
    return (field.name for field in fields(Ways))


ALL = Ways()
"""What every gate uses."""
