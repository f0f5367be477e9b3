"""Facts that a result says, as whole numbers that fit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from auditor.history.facts import Unusable, facts_of
from auditor.history.meanings import Grid, Known


@pytest.mark.parametrize(("maximum", "usable"), [(10**8, True), (10**10, False)])
def test_sums_that_may_not_fit_64_bits_are_not_modelled(maximum: int, usable: bool) -> None:
    """Wrapped round they would say something else, of records that they do not locate."""
    weights = [2.0**30 + 1, 2.0**30 - 1, 2.0**30 + 3]
    shown = pa.array([[{"r": record, "w": weight} for record, weight in enumerate(weights)]])
    problems: list[Unusable] = []
    grid = Grid(Fraction(0), Fraction(maximum), Fraction(1))
    found = list(facts_of(pa.table({"s": shown}), [Known(0, "form")], 0, [grid], problems))
    assert [problem.kind for problem in problems] == ([] if usable else ["weights"])
    assert len(found) == int(usable)
    for fact in found:
        assert fact.coefficients is not None
        most = np.abs(fact.coefficients).astype(object).sum() * maximum
        assert most < 2**63
