"""What an attack is: a name, a source, whom it needs, and what it does with a `Target`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from auditor.attacks.target import Claim, Target

Need = Callable[[Target], str | None]


def nobody_alone(target: Target) -> str | None:
    """Most attacks name a person by public columns."""
    return None if target.aims else "no record is alone in its public columns"


def no_cut(target: Target) -> str | None:
    """Trackers hide the person in a fair part of the table."""
    return nobody_alone(target) or (None if target.cuts() else "no public column splits the records evenly")


@dataclass(frozen=True)
class Attack:
    """One attack. It sees a `Target` and nothing else; whether its claims are true is for others to check."""

    name: str
    """Short, unique, as `--only` takes it."""
    about: str
    """What it does, in one line."""
    source: str
    """Where it was published or shown."""
    run: Callable[[Target], list[Claim]]
    """Asks, and says what it found out."""
    needs: Need = nobody_alone

    def applicable(self, target: Target) -> str | None:
        """Why it cannot be tried on this target, or None where it can."""
        return self.needs(target)
