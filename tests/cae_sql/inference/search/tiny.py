"""Tiny systems with all of their tables."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from cae_sql import AnsweredSystem
from cae_sql.inference.facts.query import Query
from tests.enumeration.oracle import Possible, Question


@st.composite
def answered(draw: st.DrawFn) -> tuple[AnsweredSystem, Possible, int]:
    """A tiny system with sums, differences and extremes, all of its tables, and the greatest value."""
    size = draw(st.integers(2, 6))
    top = draw(st.integers(1, 3 if size == 6 else 5))
    truth = np.array(draw(st.lists(st.integers(0, top), min_size=size, max_size=size)))
    signs = st.lists(st.sampled_from((-1, 0, 0, 1, 1, 1)), min_size=size, max_size=size).filter(any)
    asked = draw(st.lists(st.tuples(st.sampled_from(("sum", "sum", "max", "min")), signs), max_size=4))
    possible, system, answers = Possible.everything(size, top), AnsweredSystem(size, 0, top, 1, pool=6), []
    for kind, given_signs in asked:
        weights = np.array(given_signs) if kind == "sum" else np.abs(given_signs)
        members = np.flatnonzero(weights)
        query = Query(
            kind=kind,  # type: ignore[arg-type]
            members=members,
            coefficients=weights[members] if (weights < 0).any() else None,
        )
        value = int(query.of(truth))
        answers.append(query.answered(value))
        possible = possible.told(Question(kind, tuple(weights.tolist())), value)
    system.accept(answers)
    return system, possible, top
