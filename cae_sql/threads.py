"""Two threads for one pass: kernels let go of the interpreter's lock; two cores are what is reckoned with."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Found = TypeVar("Found")

ENOUGH_WORK = 1 << 20
"""Elementary steps from which two threads share a pass."""


def in_two(work: Callable[[int, int], Found], count: int, each: int) -> list[Found]:
    """Do `work(first, last)` over 0..count, on two threads where `each` step costs enough."""
    if count * each < ENOUGH_WORK:
        return [work(0, count)]
    middle = count // 2
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(work, (0, middle), (middle, count)))
