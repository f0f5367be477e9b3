"""Patterns of FORMAT and PRINTF: which ones make texts of a bounded length, whatever they are given.

Promise: a pattern that passes pads to at most `WIDEST` characters in each of its places, of which there are
as many as it has letters at most.
"""

from __future__ import annotations

import re

WIDEST = 1_000
LONGEST = 1_000
"""Letters of a pattern."""
_NUMBER = re.compile(r"[0-9]+")
_GIVEN = re.compile(r"\*|\{[^}]*\{")
"""A width that an argument says: `%*d`, `{:{}}`."""


def is_bounded(pattern: str) -> bool:
    """Whether no width or precision of a pattern is large, or an argument's."""
    if len(pattern) > LONGEST or _GIVEN.search(pattern.replace("{{", "").replace("}}", "")):
        return False
    return all(len(each) < 5 and int(each) <= WIDEST for each in _NUMBER.findall(pattern))
