"""Random numbers that a seed decides, and nothing else does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cae_sql.errors import InvalidInput


def generator(seed: int | Sequence[int]) -> np.random.Generator:
    """NumPy's generator from whole numbers >= 0.

    Raises:
        InvalidInput: a seed that is none; without one nobody could repeat what was found.
    """
    numbers = [seed] if isinstance(seed, int | np.integer) and not isinstance(seed, bool) else seed
    if not isinstance(numbers, Sequence) or not all(
        isinstance(number, int | np.integer) and not isinstance(number, bool) and number >= 0
        for number in numbers
    ):
        raise InvalidInput(f"seed must be a whole number of 0 or more, not {seed!r}")
    return np.random.default_rng([int(number) for number in numbers])
