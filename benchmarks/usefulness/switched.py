"""Gates that are opened while some ways of showing are switched off, or with worlds drawn otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from auditor.parties.confidential import Confidential
from cae_sql.inference.ways import Ways


@contextmanager
def switched(ways: Ways | None = None, seed: int = 0) -> Iterator[None]:
    """Every gate opened inside judges in these ways; for measurements alone.

    Args:
        ways: Which ways of showing are used; None: as outside.
        seed: 0: worlds are drawn as in every gate; else in another way for each seed, so that it is seen
            what a day's counts owe to luck.
    """
    before = Confidential.ways, Confidential.seed
    Confidential.ways, Confidential.seed = before[0] if ways is None else ways, before[1] + seed
    try:
        yield
    finally:
        Confidential.ways, Confidential.seed = before
