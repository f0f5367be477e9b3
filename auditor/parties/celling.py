"""Whether cells are read of a source, and where the policy says that their values lie."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from auditor.data.sources import Celling, Lattice, Source
from auditor.errors import PolicyError
from auditor.policy.policy import Policy, Protect


def celling_of(policy: Policy, protects: Sequence[Protect], source: Source) -> Celling | None:
    """How cells are made of the protected tables of a source; None: records are read."""
    if not policy.in_cells(source.far):
        return None
    lattices = (
        Lattice(*(Fraction(each) for each in (protect.minimum, protect.maximum, protect.grid)))
        for protect in protects
    )
    return Celling(tuple(lattices), policy.source.values)


def with_values(policy: Policy, protects: Sequence[Protect], source: Source, who: str) -> Celling | None:
    """The same for what looks at single values.

    Raises:
        PolicyError: of the source sums, least and greatest of cells are read alone.
    """
    cells = celling_of(policy, protects, source)
    if cells is not None and not cells.by_value:
        raise PolicyError(
            f'source.mode = "cells": {who} looks at single values, and of this source cells are read; take '
            'mode = "records", or values = true'
        )
    return cells
