"""EXPLAIN before a statement, in either dialect: where the statement begins, and what was asked for besides.

Promise: the first words alone are looked at, by PostgreSQL's lexer; nothing is raised, whatever the text.
"""

from __future__ import annotations

from dataclasses import dataclass

_OPTIONS = frozenset({"analyze", "analyse", "verbose"})
_QUERIES = frozenset({"select", "with", "from", "values", "table", "("})
"""What a query begins with that stands in parentheses: anything else there is an option."""


@dataclass(frozen=True)
class Explained:
    """A statement behind EXPLAIN."""

    before: str
    """All that stands before it, EXPLAIN included, as written."""
    statement: str
    """The statement itself."""
    options: bool
    """Whether it is explained in a way of its own: ANALYZE, VERBOSE, or options in parentheses."""


def explained(text: str) -> Explained | None:
    """What EXPLAIN stands before; None where the text does not begin with it.

    >>> explained("EXPLAIN SELECT 1")
    Explained(before='EXPLAIN ', statement='SELECT 1', options=False)
    >>> explained("explain (format json) SELECT 1").options
    True
    """
    if "explain" not in text.lower():  # the lexer need not be loaded
        return None
    words = [
        (text[start:end].lower(), start)
        for (kind, start, end), _ in zip(_said(text), range(3), strict=False)
        if kind in ("word", "sign")
    ]
    if not words or words[0][0] != "explain":
        return None
    start = words[1][1] if len(words) > 1 else len(text)
    second, third = (words[place][0] if len(words) > place else "" for place in (1, 2))
    options = second in _OPTIONS or (second == "(" and third not in _QUERIES)
    return Explained(text[:start], text[start:], options)


def _said(text: str) -> list[tuple[str, int, int]]:
    """The first lexemes that say something."""
    from auditor.sql.postgres.lexing import BLANKS, lexemes

    found = list[tuple[str, int, int]]()
    for each in lexemes(text):
        if each[0] not in BLANKS:
            found.append(each)
        if len(found) == 3:
            break
    return found
