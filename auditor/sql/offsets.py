"""`OFFSET 0`, which programs write that page through rows (Prisma): nothing is left out, so nothing is said.

Promises the same rows. Any other OFFSET stays, and is judged as what chooses rows by their place.
"""

from __future__ import annotations

from sqlglot import exp


def of_nothing_left_out(tree: exp.Query) -> None:
    """Take each OFFSET of a whole number 0 that is written out from a tree, in place."""
    for offset in list(tree.find_all(exp.Offset)):
        number = offset.expression
        if isinstance(number, exp.Literal) and not number.is_string and number.this == "0":
            offset.pop()
