"""What one more answer says at once of its records, from what is known of the others in it.

Bounds over the reals, by whole numbers alone: a sum of ones leaves each record what the others, at their
least or greatest, do not take; an extreme bounds everybody. Who is located by a few persons' sum near the end
of the domain is seen so with the answer that shows it.
"""

from __future__ import annotations

import numpy as np

from cae_sql.inference.facts.query import Answer, Ints


def narrow(answer: Answer, least: Ints, most: Ints) -> Ints:
    """Narrow the bounds (n,) of an answer's records, in place.

    Returns:
        The records whose bounds are narrower than before.
    """
    members, value = answer.members, int(answer.value)
    low, high = least[members], most[members]
    if answer.kind == "max":
        after = low, np.minimum(high, value)
    elif answer.kind == "min":
        after = np.maximum(low, value), high
    elif answer.coefficients is None:
        below, above = value - int(low.sum()), int(high.sum()) - value
        if min(below, above) >= int((high - low).max(initial=0)):
            return members[:0]
        after = np.maximum(low, high - above), np.minimum(high, low + below)
    else:
        return members[:0]
    changed = (after[0] > low) | (after[1] < high)
    least[members], most[members] = after
    found: Ints = members[changed]
    return found
