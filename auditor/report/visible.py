"""Text that came from a log, made fit to be looked at.

Promise: what `visible` returns has no control character, no character that turns the direction of text, and
none that cannot be seen or cannot be written as UTF-8; each stands there by its name instead, so that
nothing in a log can hide in a report or rearrange it. Quotes and angle brackets are left to whoever writes
HTML.
"""

from __future__ import annotations

import re
import unicodedata

_KEPT = frozenset("\n\t")
"""Layout that statements need; a page shows both as such."""

_SUSPECT = re.compile(r"[^\x20-\x7e\n\t]")
"""Everything that has to be looked at; most statements have none of it."""


def visible(text: str) -> str:
    """The text, with control, format, unassigned and unpaired characters replaced by visible names.

    >>> visible("a\\x00b")
    'a␀b'
    >>> visible("user\\u202etxt")
    'user⟨U+202E⟩txt'
    """
    return _SUSPECT.sub(_seen, text.replace("\r\n", "\n"))


def cut(text: str, most: int) -> str:
    """At most so many characters of it; what is left out is counted.

    >>> cut("SELECT 1", 100)
    'SELECT 1'
    >>> cut("abcdefgh", 3)
    'abc … (5 characters more)'
    """
    if len(text) <= most:
        return text
    return f"{text[:most]} … ({len(text) - most:,} characters more)"


def line(text: str, most: int) -> str:
    """Its beginning, in one line: each run of blanks is one space.

    >>> line("SELECT a\\n  FROM b", 13)
    'SELECT a FROM …'
    """
    shown = visible(" ".join(text[: 16 * most].split()))
    if len(text) <= 16 * most and len(shown) <= most:
        return shown
    return f"{shown[:most].rstrip()} …"


def _seen(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    if character in _KEPT:
        return character
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    kind = unicodedata.category(character)
    if kind[0] == "C" or kind in {"Zl", "Zp"}:
        return _named(match)
    return character


def _named(match: re.Match[str]) -> str:
    return f"⟨U+{ord(match.group()):04X}⟩"
