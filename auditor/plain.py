"""Text from elsewhere, made fit for a terminal and for a cell of CSV: one guard for everything that prints.

Promise: no character that steers a terminal, hides or turns round what follows it is passed on, and no cell
of text is a formula to a spreadsheet. JSON is not for here: it is exact, and escapes what it must. Pages have
`auditor.report.visible`.
"""

from __future__ import annotations

import unicodedata

_STARTS = frozenset("=+-@'|%＝＋－＠")
"""How a formula begins for one spreadsheet or another, and the mark that says it is none."""


def plain(text: str, kept: str = "\n") -> str:
    r"""Text whose control, format and other characters that cannot be seen are each shown as its escape.

    >>> plain("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in kept else c.encode("unicode_escape").decode() for c in text)


def line(text: str) -> str:
    """The same in one line, for messages: nobody's text begins a line of its own."""
    return plain(" ".join(text.split()))


def cell(text: str) -> str:
    """Text as a cell of CSV: plain, with an apostrophe in front where a spreadsheet might see a formula.

    >>> cell("=HYPERLINK(A1)")
    "'=HYPERLINK(A1)"
    """
    shown = plain(text, kept="\n\t")
    return f"'{shown}" if _opens(text) in _STARTS else shown


def _opens(text: str) -> str:
    """The first character that a spreadsheet may see: some pass over blanks and invisible characters."""
    return next((c for c in text if not c.isspace() and unicodedata.category(c)[0] != "C"), "")
