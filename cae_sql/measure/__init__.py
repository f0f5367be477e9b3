"""The measure: Confidential Attribute Equivocation of a candidate distribution, exact and fast.

distribution.py     checked input on an exact integer grid
curve.py            H(ε), the curve, the area
uniform.py          closed forms for equally likely, equally spaced values
kernels.py          compiled with numba, imported at the first use
batch.py            many distributions at once: rows.py, many.py, lanes.py, widths.py, mixtures.py
long.py            thousands of values: one ε in O(n log n)
bounds.py          the area between certified bounds
reference.py        the same, plainly, for tests and reading
"""

from cae_sql.measure.curve import EntropyCurve, cae_area, cae_curve, cae_entropy
from cae_sql.measure.uniform import uniform_area, uniform_entropy

__all__ = ["EntropyCurve", "cae_area", "cae_curve", "cae_entropy", "uniform_area", "uniform_entropy"]
