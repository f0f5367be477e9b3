"""One day: a table, a policy, and statements in their order; and what a line of the oracle is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from auditor import Policy

PATIENCE = 3_600.0
"""Seconds of the policy's last resort. So many that it ends nothing: counts then hang on work alone, and are
the same on a busy machine. `late` says whether it did end something."""


@dataclass(frozen=True)
class Day:
    """What is asked of one gate with an empty ledger."""

    database: Path
    policy: Policy
    statements: Sequence[str]
    column: str
    """The protected one."""
    optimum: Mapping[str, str] | None = None
    """The groups that may be told exactly, and the value of each, where that is known in closed form."""


@dataclass(frozen=True)
class Line:
    """A line of the table: a day, or a family of days that differ in what is drawn."""

    name: str
    day: Callable[[int, Path], Day]
    """From a seed, and a folder for the database."""
    drawn: int = 0
    """How many seeds it is asked with where nobody says otherwise; 0 where nothing is drawn: then one, and
    more seeds are other worlds."""
    budget: float = 120.0
    """CPU seconds for one seed; what takes longer is cut."""
    absent: str = ""
    """Why its data are not there; empty where they are."""


def patient(text: str) -> Policy:
    """A policy with a last resort that ends nothing."""
    kept = [line for line in text.splitlines() if not line.replace(" ", "").startswith("timeout=")]
    if "[decision]" not in kept:
        return Policy.parse("\n".join([*kept, "[decision]", f"timeout = {PATIENCE}"]))
    kept.insert(kept.index("[decision]") + 1, f"timeout = {PATIENCE}")
    return Policy.parse("\n".join(kept))
