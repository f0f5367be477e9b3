"""Thresholds of size: from how many parts of a system on somebody is looked at in another way.

None of these numbers changes what is true of an answer, only who is looked at by what, and what it costs.
"""

from __future__ import annotations

SWAPPED = 2_000
"""Of fewer atoms no swaps are looked for: they have room themselves."""
SINGLE = 20_000
"""From so many parts on single floats are taken, and rounded down."""
MEASURED = 20_000
"""Up to so many it is measured how far everybody goes where nobody is left open."""
MOST_CANDIDATES = 20_000
"""Of more atoms no basic ones are looked for."""
MOST_OPEN = 3_000
"""So many are looked at at once by payments out of shared rooms."""
MOST_POOLED = 20_000
"""Up to so many parts all are left to payments out of shared rooms, which reserves would take their parts
from: of 70 random range sums over 10,000 records 70 are given so, and 49 where it is 3,000."""
MOST_SHARED = 50_000
"""Up to so many parts all whom reserves leave open are left to shared rooms, however many they are.
With 20,000, 7 statements of Adult's day (45,222 records) were refused, and now 2. With no reserves up to here
it is 1, but fewer groups of the others are given."""
MOST_PAYING = 60_000
"""Of more parts nobody is looked at by payments out of shared rooms, nor is a central table looked for:
reserves are what serves there."""
