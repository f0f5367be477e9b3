"""`OFFSET 0`, which programs write that page through rows (Prisma): nothing is left out, so nothing is said.

Promise: the same rows. Any other OFFSET stays, and is judged as what chooses rows by their place.
"""

from __future__ import annotations

from sqlglot import exp

from auditor.sql.context import Context


def drop_offset(tree: exp.Query, _: Context) -> exp.Query:
    """Take each OFFSET of a whole number 0 that is written out from a tree."""
    for offset in list(tree.find_all(exp.Offset)):
        number = offset.expression
        if isinstance(number, exp.Literal) and not number.is_string and number.this == "0":
            offset.pop()
    return tree
