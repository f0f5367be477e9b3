"""Distortions and contingency tables for tests, and the matrices that the package never forms."""

from __future__ import annotations

from functools import reduce

import numpy as np
from hypothesis import strategies as st

from cae_sql.releases.distortion import Attribute, Distortion


@st.composite
def distortions(draw: st.DrawFn, least: float = 0.05) -> Distortion:
    """One to three attributes of up to four values, each retained with at least this probability."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    attributes = []
    for place, d in enumerate(sizes):
        r = draw(st.floats(least, 1)) if d > 1 else 1.0
        attributes.append(Attribute(f"a{place}", tuple(range(d)), r + (1 - r) / d))
    return Distortion(tuple(attributes))


def kronecker(distortion: Distortion) -> np.ndarray:
    """P, formed."""
    return reduce(np.kron, [attribute.matrix for attribute in distortion.attributes])


def a_table(distortion: Distortion, seed: int) -> np.ndarray:
    """Some proportions."""
    return np.random.default_rng(seed).dirichlet(np.ones(distortion.cells)).reshape(distortion.shape)
