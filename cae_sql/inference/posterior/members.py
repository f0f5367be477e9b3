"""How risky a posterior is: against what is said of the groups that somebody is in, or against the prior.

What is said of a group is not disclosure about one person: that nurses earn little is a finding, that *this*
nurse does is not to be had. So the risk is 1 − A / A_baseline with

- `members`: A_baseline the least, over the answered sets that contain a record, of the area of the average
  tilted distribution of that set's members. Of who is in no set it is that of the prior.
- `prior`: A_baseline the area of what is believed before any answer, as in paper 000. It counts what is
  learned of groups too.

That a group's members are all alike counts against nobody here: it is excluded values (runs of worlds) that
must catch that eleven people who all have the same value are known. A set of one person is no group, and no
baseline.

Source: `mathematics.md`, 7 (baseline).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import scipy

from cae_sql.domain import Domain
from cae_sql.errors import InvalidInput
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Answer, Query
from cae_sql.inference.posterior.areas import NOTHING, areas_of_rows, entropies_of_rows
from cae_sql.inference.posterior.likely import Likely
from cae_sql.inference.posterior.weights import Floats
from cae_sql.risk import TOLERANCE

Baseline = Literal["members", "prior"]
BASELINES: tuple[Baseline, ...] = get_args(Baseline)


class Sets:
    """The answered sets of two records or more, over atoms, as weights for averages: rows of sum 1."""

    def __init__(self, known: Knowledge, queries: Sequence[Query | Answer]) -> None:
        """Look at each set once.

        Args:
            known: The atoms that these sets make; spare records are no members.
            queries: What was asked and answered.
        """
        labels, rows = known.atoms.labels, list[scipy.sparse.csr_array]()
        names = set[bytes]()
        for query in queries:
            members = query.members[: int(np.searchsorted(query.members, known.atoms.real))]
            name = members.tobytes()
            if len(members) < 2 or name in names:
                continue
            names.add(name)
            counts = np.bincount(labels[members], minlength=known.count)
            rows.append(scipy.sparse.csr_array(counts[None, :] / len(members)))
        nothing = scipy.sparse.csr_array((0, known.count))
        self.shares = scipy.sparse.vstack(rows).tocsr() if rows else nothing
        """(s, p)"""

    def joined(self, before: Knowledge, known: Knowledge, queries: Sequence[Query]) -> Sets:
        """With the sets of some queries, over the parts that these make of the atoms.

        Args:
            before: The atoms.
            known: Their parts.
            queries: What made them.
        """
        found = Sets(known, queries)
        labels = known.atoms.labels[: before.atoms.real]
        parent, sizes = np.zeros(known.count, dtype=np.int64), np.bincount(labels, minlength=known.count)
        parent[labels] = before.atoms.labels[: before.atoms.real]
        of = np.bincount(before.atoms.labels[: before.atoms.real], minlength=before.count)
        each = self.shares[:, parent] @ scipy.sparse.diags_array(sizes / np.maximum(of[parent], 1))
        found.shares = scipy.sparse.vstack([each, found.shares]).tocsr()
        return found

    def least(self, areas: Floats, otherwise: float, count: int) -> Floats:
        """(p,) the least area (s,) of the sets that each atom is in; `otherwise` where it is in none."""
        found = np.full(count, np.inf)
        for row in range(self.shares.shape[0]):
            some = self.shares.indices[self.shares.indptr[row] : self.shares.indptr[row + 1]]
            found[some] = np.minimum(found[some], areas[row])
        return np.where(np.isfinite(found), found, otherwise)


@dataclass(frozen=True, eq=False)
class Risks:
    """Figures by atom, (p,); of atoms that are nobody's they mean nothing."""

    risk: Floats
    """1 − A / A_baseline, as it comes out; 1 where the baseline leaves nothing open."""
    area: Floats
    """A of the posterior: bits × units of the column."""
    baseline: Floats
    """A_baseline."""
    entropy_at_epsilon: Floats | None
    """H(ε) of the posterior in bits; None where no ε was asked for."""


def posterior_risks(
    likely: Likely,
    sets: Sets | None,
    domain: Domain,
    baseline: Baseline = "members",
    epsilon: float | None = None,
) -> Risks:
    """The risk of every record's posterior, by atoms.

    Args:
        likely: What answers make likely, gathered in windows of the domain's step.
        sets: The answered sets; needed for `members`.
        domain: What was possible before any answer.
        baseline: What risk is held against.
        epsilon: Approximate compromise range at which H is wanted too.

    Raises:
        InvalidInput: no such baseline, or no sets where they are needed.
    """
    rows = likely.rows
    area = np.zeros(len(rows))
    mine = np.flatnonzero(likely.known.protected)
    area[mine] = areas_of_rows(rows[mine], domain)
    base = baseline_areas(likely, sets, domain, baseline)
    at = None
    if epsilon is not None:
        at = np.zeros(len(rows))
        at[mine] = entropies_of_rows(rows[mine], domain, float(epsilon))
    return Risks(against(area, base, domain), area, base, at)


def baseline_areas(likely: Likely, sets: Sets | None, domain: Domain, baseline: Baseline) -> Floats:
    """(p,) A_baseline. As `posterior_risks`."""
    if baseline not in BASELINES:
        raise InvalidInput(f'baseline must be "members" or "prior", not {baseline!r:.60}')
    count = likely.known.count
    before = float(areas_of_rows(prior_row(likely), domain)[0])
    if baseline == "prior":
        return np.full(count, before)
    if sets is None:
        raise InvalidInput("the baseline of members needs the answered sets")
    if not sets.shares.shape[0]:
        return np.full(count, before)
    return sets.least(areas_of_rows(sets.shares @ likely.tilted, domain), before, count)


def prior_row(likely: Likely) -> Floats:
    """(1, w) what is believed of anybody before any answer."""
    nothing = np.zeros(1, dtype=np.int64)
    return likely.tilt.rows(nothing, nothing + likely.top, np.zeros(1))


def against(area: Floats, base: Floats, domain: Domain) -> Floats:
    """1 − A / A_baseline, each with its own; 1 where a baseline leaves nothing open."""
    some = base > NOTHING * domain.area
    risk = np.where(some, 1.0 - area / np.where(some, base, 1.0), 1.0)
    found: Floats = np.where(np.abs(risk) <= TOLERANCE, 0.0, risk)
    return found
