"""Everything `cae_sql` raises on purpose.

CaeSqlError                     anything below
├── InvalidInput                (also ValueError) an argument that cannot be used; may have `.position`
├── InconsistentAnswers         no table agrees with every answer
└── OutOfTime                   the work allowed for a question was not enough to settle it

ExactIsSlow (UserWarning)       an exact area takes long, and a tolerance would not
"""

from __future__ import annotations


class CaeSqlError(Exception):
    """Base of every error that `cae_sql` raises on purpose."""


class InvalidInput(CaeSqlError, ValueError):
    """An argument that cannot be used.

    Attributes:
        position: Index of the offending element, or None where the whole argument is at fault.
    """

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


class InconsistentAnswers(CaeSqlError):
    """No table inside the domain agrees with every answer."""


class OutOfTime(CaeSqlError):
    """The time or work allowed for a question ended before it was settled."""


class ExactIsSlow(UserWarning):
    """What is computed exactly takes long, and would not with a tolerance."""
