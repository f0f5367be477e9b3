"""A text of several statements, cut where they end: quotes, comments and dollar quotes are seen through.

Reads no grammar, so that what no parser takes is cut as the server that ran it did.
"""

from __future__ import annotations

from auditor.sql.postgres.lexing import BLANKS, lexemes


def pieces(text: str, mark: str, dialect: str = "postgres") -> list[tuple[int, int]]:
    """Where the pieces between a mark outside of parentheses start and end; the last may be blank."""
    found, start, depth = [], 0, 0
    for kind, place, after in lexemes(text, dialect):
        if kind != "sign":
            continue
        sign = text[place]
        if sign in "([":
            depth += 1
        elif sign in ")]":
            depth = max(depth - 1, 0)
        elif sign == mark and not depth:
            found.append((start, place))
            start = after
    found.append((start, len(text)))
    return found


def begin(text: str) -> int:
    """Where a text begins, behind blanks and comments; a comment that never ends is no comment."""
    return next((start for kind, start, _ in lexemes(text) if kind not in BLANKS), len(text))


def blank(text: str, dialect: str = "postgres") -> bool:
    """Whether there is nothing but semicolons, blanks and comments; one that never ends is something."""
    return all(kind in BLANKS or text[start:end] == ";" for kind, start, end in lexemes(text, dialect))


def statements(text: str, dialect: str = "postgres") -> list[tuple[int, str]]:
    """The statements of a text, and where each starts; a single one is left exactly as it is."""
    semicolons = text.count(";")
    if not semicolons or (semicolons == 1 and text.rstrip().endswith(";")):
        return [] if blank(text, dialect) else [(0, text)]
    found = [(start, text[start:end].strip()) for start, end in pieces(text, ";", dialect)]
    found = [each for each in found if not blank(each[1], dialect)]
    return [(0, text)] if len(found) == 1 else found
