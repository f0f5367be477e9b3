"""What a group whose sum alone is told leaves to everybody, in closed form: the engine is held against it.

Of m records with values from 0 to T and the sum s: given that one of them has v, another one takes every
value from max(0, s − v − (m − 2) T) to min(T, s − v), and v itself may be anything from max(0, s − (m − 1) T)
to min(T, s). The sum may be told where each of these is at least R wide, R being what everybody must keep.
Where both rooms, s and m T − s, are at least T + R, that is so of every v.

Nothing of the engine is used here; `tests/benchmarks/test_usefulness.py` lists all tables of small groups.
"""

from __future__ import annotations

from auditor import Policy


def may_be_told(size: int, total: int, top: int, need: int) -> bool:
    """Whether everybody keeps what they need, whatever an insider has.

    Args:
        size: Records of the group, m.
        total: Their sum in steps above the minimum, s.
        top: The greatest value in steps, T.
        need: Width in steps that everybody must keep, R.
    """
    if size < 3:
        return False  # of two the other's value leaves one
    low, high = _between(size - 1, total, top)
    if high - low < need:
        return False
    ends = (_between(size - 2, total - own, top) for own in range(low, high + 1))
    return all(most - least >= need for least, most in ends)


def _between(others: int, total: int, top: int) -> tuple[int, int]:
    """Which values one record takes where so many others have the rest of a sum."""
    return max(0, total - others * top), min(top, total)


def is_roomy(size: int, total: int, top: int, need: int) -> bool:
    """Whether the short rule says so: then `may_be_told` does."""
    return size >= 3 and min(total, size * top - total) >= top + need


def needed(policy: Policy) -> int:
    """Width in steps of the grid that the limit demands of everybody: greatest minus least value."""
    (protect,) = policy.protects
    least = policy.limits_of(protect).limit.least_run(protect.domain)
    assert least is not None
    return int((least - 1) * protect.step / protect.grid)
