"""Ranges of statistics that hang on every member: weighted sums, and the spread (all deviations squared).

A table keeps such a range by a margin: it lies inside, and what is moved changes it by less than that
(`cae_sql.inference.tables.margins`).

Source: `mathematics.md`, 8 (any statistic can be a range).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cae_sql.inference.facts.query import Query


@dataclass(frozen=True, eq=False)
class Bound:
    """A weighted sum or a spread lies between two ends."""

    query: Query
    least: int | None
    """None: nothing is said of that end."""
    most: int | None
    width: int
    """Of the cells that such a statistic is told by: how far inside a table should be led."""

    def goal(self, part: float) -> tuple[float, float]:
        """Between which values a table leaves so much of a cell on both sides."""
        off = part * self.width
        return (
            -np.inf if self.least is None else self.least + off,
            np.inf if self.most is None else self.most - off,
        )
