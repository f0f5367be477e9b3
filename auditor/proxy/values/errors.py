"""What goes wrong with values: one exception for what clients send, one for what cannot be sent.

ValueProblem              `.sqlstate`, `.hint`
├── BadParameter          a parameter that is none of its type
└── NotRepresentable      a result that PostgreSQL's types or formats cannot carry
"""

from __future__ import annotations

SHOWN = 40
"""Letters of a client's own text that a message repeats."""
BLANKS = " \t\n\r\v\f"
"""What may stand around numbers and truth values."""


class ValueProblem(Exception):
    """Base of both; the message is fit for ErrorResponse."""

    def __init__(self, sqlstate: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.sqlstate = sqlstate
        """PostgreSQL's code of the error."""
        self.hint = hint
        """What would do, where something would."""


class BadParameter(ValueProblem):
    """A parameter that a client sent does not fit its type."""


class NotRepresentable(ValueProblem):
    """A result that cannot be sent; the message names types, never values."""


def invalid_text(type_name: str, text: str, sqlstate: str = "22P02") -> BadParameter:
    """PostgreSQL's error for a text that is no value of a type."""
    shown = text if len(text) <= SHOWN else text[:SHOWN] + "…"
    return BadParameter(sqlstate, f'invalid input syntax for type {type_name}: "{shown}"')


def invalid_binary(type_name: str) -> BadParameter:
    """PostgreSQL's error for bytes that are no value of a type."""
    return BadParameter("22P03", f"incorrect binary data format for type {type_name}")


def out_of_range(type_name: str, sqlstate: str = "22003") -> BadParameter:
    """PostgreSQL's error for a value that a type is too small for."""
    return BadParameter(sqlstate, f"value out of range for type {type_name}")
