"""Thresholds of size: from how many parts on a system is looked at in another way.

None of these numbers changes what is true of an answer, only which mechanism looks at a record, at what cost.
"""

from __future__ import annotations

SINGLE = 20_000
"""From so many parts on single floats are taken, and rounded down."""
MEASURED = 20_000
"""Up to so many it is measured how far everybody goes where nobody is left open."""
MOST_CANDIDATES = 20_000
"""Of more atoms no basic ones are looked for."""
MOST_OPEN = 3_000
"""So many are looked at at once by payments out of shared rooms."""
MOST_CENTRED = 60_000
"""Of more parts no table around the analytic centre is looked for."""
