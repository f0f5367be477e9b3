"""Settings that are times or sizes: read in any unit, kept in the setting's own, shown as PostgreSQL does.

SET statement_timeout = '90s'     kept as 90000      shown as 90s
SET statement_timeout = 60000     kept as 60000      shown as 1min
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

MOST = 2**31 - 1
"""Of a setting's own unit: PostgreSQL keeps it in 32 bits."""
_TIMES = {
    "us": Fraction(1, 1_000), "ms": Fraction(1), "s": Fraction(1_000), "min": Fraction(60_000),
    "h": Fraction(3_600_000), "d": Fraction(86_400_000),
}  # fmt: skip
_SIZES = {
    "B": Fraction(1, 1 << 10), "kB": Fraction(1), "MB": Fraction(1 << 10), "GB": Fraction(1 << 20),
    "TB": Fraction(1 << 30),
}  # fmt: skip
_BASES = {
    "ms": (_TIMES, Fraction(1)), "kB": (_SIZES, Fraction(1)), "8kB": (_SIZES, Fraction(8)),
    "B": (_SIZES, Fraction(1, 1024)),
}  # fmt: skip
"""By the unit that a setting is kept in: what it may be written in, and how much of it that unit is."""
UNITS: Mapping[str, str] = {
    **dict.fromkeys(
        ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "idle_session_timeout"),
        "ms",
    ),
    "work_mem": "kB",
}
"""The settings of a session that are times or sizes, and the unit that each is kept in."""
_QUANTITY = re.compile(r"\s*(\d{1,12}(?:\.\d{0,9})?|\.\d{1,9})\s*([A-Za-z]*)\s*", re.ASCII)


def read(text: str, unit: str) -> str:
    """A setting's value in its own unit.

    Raises:
        ValueError: it is no quantity, or too large; with a hint.
    """
    units, own = _BASES[unit]
    found = _QUANTITY.fullmatch(text)
    factor = None if found is None else units.get(found[2]) if found[2] else own
    if found is None or factor is None:
        raise ValueError(f"Write a number, or one with {', '.join(units)} behind it.")
    value = round(Fraction(found[1]) * factor / own)
    if value > MOST:
        raise ValueError(f"It may be {MOST} {unit} at most.")
    return str(value)


def shown(value: str, unit: str) -> str:
    """A value as SHOW writes it: in the largest unit of which it is a whole number."""
    if unit not in _BASES or not value.isdecimal() or value == "0":
        return value
    units, own = _BASES[unit]
    amount = int(value) * own
    name = max((name for name, size in units.items() if amount % size == 0), key=lambda name: units[name])
    return f"{amount // units[name]}{name}"
