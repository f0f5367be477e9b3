"""Small tables for hypothesis, and what several tests of releases share."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from cae_sql import Domain

DOMAIN = Domain(10, 50, 10)


@st.composite
def tables(draw: st.DrawFn, most: int = 8, domain: Domain = DOMAIN) -> pd.DataFrame:
    """A confidential column `pay` on the domain's grid, and two public ones, of numbers and of words."""
    n = draw(st.integers(1, most))
    pay = draw(st.lists(st.sampled_from(domain.values.tolist()), min_size=n, max_size=n))
    age = draw(st.lists(st.integers(30, 33), min_size=n, max_size=n))
    job = draw(st.lists(st.sampled_from(["cook", "nurse"]), min_size=n, max_size=n))
    return pd.DataFrame({"pay": pay, "age": age, "job": job})


KNOWN = st.sampled_from([[], ["age"], ["job"], ["age", "job"]])


def matching(table: pd.DataFrame, known: list[str], values: pd.Series) -> pd.DataFrame:
    """The records of a table that share these values, by looking at each."""
    keep = [all(record[name] == values[name] for name in known) for _, record in table.iterrows()]
    return table[np.array(keep, dtype=bool)]
