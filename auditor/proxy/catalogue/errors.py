"""The one error of statements about the catalogue, with the SQLSTATE that a client is told."""

from __future__ import annotations

from auditor.errors import AuditorError

UNSUPPORTED, NO_TABLE, NO_COLUMN, NO_OBJECT = "0A000", "42P01", "42703", "42704"
DENIED, SYNTAX, TOO_MUCH, TOO_SLOW, TOO_DEEP = "42501", "42601", "54000", "57014", "54001"

_HINT = (
    "This server imitates PostgreSQL's catalogue for clients that list and describe tables; "
    "information_schema.tables and information_schema.columns say what there is."
)


class CatalogueError(AuditorError):
    """A statement about the catalogue that is not answered. Carries no protected value: there is none
    here."""

    def __init__(self, message: str, sqlstate: str = UNSUPPORTED, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        """What is wrong."""
        self.sqlstate = sqlstate
        """PostgreSQL's code of it."""
        self.statement = ""
        """What was asked, for the log."""
        self.hint = hint or (_HINT if sqlstate == UNSUPPORTED else "")
        """What would do instead; may be empty."""


def not_imitated(what: str) -> CatalogueError:
    """The error for a construct that is not understood."""
    return CatalogueError(f"in a statement about the catalogue, {what} is not understood")
