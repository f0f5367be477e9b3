"""Of whom answers make too much likely, where they do not exclude too much: the posterior of every record.

Promise: a record is named only where its posterior is counted, or the formula is relied upon
(`cae_sql.inference.posterior.likely`), and is beyond the policy's limit. It was beyond it after the statement
that is named as the first; which one that is is found by halving, so one before it counts only if it was so
from then on. Insiders are not considered, as nowhere in an audit. Where a system is too large, or the
steps are used up, there is no figure.

Source: `mathematics.md`, 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from auditor.history.findings import MadeLikely
from auditor.history.parties import PartyColumn
from auditor.history.risks import in_column_units
from auditor.likeliest import shortest_run
from cae_sql.domain import Domain
from cae_sql.errors import InconsistentAnswers, InvalidInput
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.posterior.baselines import Baseline, posterior_risks
from cae_sql.inference.posterior.fit import FOUND, Fit
from cae_sql.inference.posterior.judging import LikelyKnowledge, LikelyStandard, breaks
from cae_sql.inference.posterior.likely import Likely
from cae_sql.inference.posterior.tilt import CLOSE
from cae_sql.inference.system import AnsweredSystem
from cae_sql.risk import Limit

Ints = NDArray[np.int64]

STEPS = 2 * 10**9
"""For all parties of an audit together, about twenty seconds, up to one look at a system."""
A_LOOK, BY_CELL = 10**6, 50
"""Steps that a look takes at least, and more for each atom times answer."""
MOST_CELLS = 1_000_000
"""Atoms times answers of a system that is looked at."""
NAMED = 100
"""Records of a party and column that are named."""
ROUGHLY = 1e-6
"""Standard deviations by which expected sums may be off where it is asked since when: a sum at the edge of
what boxes allow takes a step for each factor of e, and of such a look no more is kept than who is beyond."""
FEW = 5
"""Statements that are named as those that carry what is likely."""


@dataclass(frozen=True)
class _Look:
    """A system after some statements."""

    system: AnsweredSystem
    likely: Likely
    labels: Ints
    """(n,) atom of each record."""
    risk: NDArray[np.float64]
    """(n,) of their posteriors."""
    beyond: NDArray[np.bool_]
    """(n,) who is beyond the limit, as far as posteriors are relied upon."""
    unknown: NDArray[np.bool_]
    """(n,) whose posterior cannot be relied upon."""


class _Looks:
    """What a party was made to believe of one column, statement by statement."""

    def __init__(self, part: PartyColumn, baseline: Baseline, allowance: Allowance) -> None:
        self._part, self._baseline, self.allowance = part, baseline, allowance
        self._found: dict[int, _Look | None] = {}

    def after(self, place: int) -> _Look | None:
        """After the statement of this place among those that taught something; None where it is not known."""
        if place not in self._found:
            last, so_far = place == len(self._part.counts) - 1, self._part.so_far
            self.allowance.spend(A_LOOK + BY_CELL * so_far.known.count * self._part.counts[place])
            try:
                self._found[place] = self._look(self._part.counts[place], CLOSE if last else ROUGHLY)
            except (InvalidInput, InconsistentAnswers):
                self._found[place] = None
        return self._found[place]

    def _look(self, answers: int, close: float) -> _Look | None:
        column = self._part.column
        domain, limit = column.protect.domain, column.limits.limit
        system = column.new_system()
        system.accept(self._part.so_far.answers[:answers])
        likely = LikelyKnowledge(system, LikelyStandard(limit, domain, self._baseline)).likely
        likely.tilt.windows.check_rows(likely.known.count)
        fit = Fit.of_answers(likely.known, likely.sums, likely.tilt, close=close)
        likely = Likely(likely.known, likely.sums, likely.tilt, likely.top, fit)
        if likely.fit.off > FOUND:
            return None
        epsilon = None if limit.epsilon is None else float(limit.epsilon)
        risks = posterior_risks(likely, domain, self._baseline, epsilon)
        labels = likely.known.atoms.labels[: column.size]
        beyond = breaks(limit, risks.risk, risks.entropy_at_epsilon) & likely.reliable
        return _Look(system, likely, labels, risks.risk[labels], beyond[labels], ~likely.reliable[labels])


def prepare() -> None:
    """Compile what looks call, on three records: no clock shall count it."""
    system, domain = AnsweredSystem(3, 0, 2, 1), Domain(0, 2, 1)
    system.add_sum([0, 1], 2)
    likely = LikelyKnowledge(system, LikelyStandard(Limit(0.5), domain)).likely
    posterior_risks(likely, domain, "members", 1.0)
    system.carried_by(0, likely=likely)


def made_likely(
    party: str,
    part: PartyColumn,
    ends: tuple[Ints, Ints],
    keys: Sequence[str],
    baseline: Baseline,
    allowance: Allowance,
) -> tuple[float | None, int, NDArray[np.bool_], list[MadeLikely]]:
    """The greatest risk of a posterior, records beyond the limit and not located, (n,) records not judged,
    and the worst ones beyond the limit.

    Args:
        party: Whose knowledge it is.
        part: What the party knows of a column.
        ends: (n,) each, least and greatest value that is left to every record, in units.
        keys: What the policy's key column calls the records; empty without one.
        baseline: What likelihood is held against.
        allowance: What looks may spend; nothing more is looked at beyond it.
    """
    so_far, column = part.so_far, part.column
    nobody = np.zeros(column.size, dtype=np.bool_)
    if not so_far.answers:
        return 0.0, 0, nobody, []
    if so_far.known.count * len(so_far.answers) > MOST_CELLS or allowance.over:
        return None, 0, nobody, []
    looks = _Looks(part, baseline, allowance)
    last = looks.after(len(part.cited) - 1)
    if last is None:
        return None, 0, nobody, []
    who = np.flatnonzero(last.beyond & ~part.located)
    worst = who[np.argsort(-last.risk[who], kind="stable")][:NAMED]
    since = _since(looks, worst, len(part.cited) - 1)
    protect, values = column.protect, last.likely.tilt.windows.values
    # a prior is read in other windows there
    known = last.likely if last.system.prior is None else None
    lower, upper = (in_column_units(column, each) for each in ends)
    found = []
    for record, place in zip(worst.tolist(), since.tolist(), strict=True):
        atom = last.labels[record]
        low, high = shortest_run(last.likely.rows[atom])
        carried = last.system.carried_by(record, most=FEW, likely=known)
        cited = {part.sources[number].cited.number: part.sources[number].cited for number, _ in carried}
        found.append(
            MadeLikely(
                record=record,
                key=keys[record] if keys else "",
                table=protect.table,
                column=protect.column,
                party=party,
                possible=int((upper[record] - lower[record]) / float(protect.domain.step) + 1e-9) + 1,
                lower=float(lower[record]),
                upper=float(upper[record]),
                likely_lower=float(values[low]),
                likely_upper=float(values[high]),
                risk=float(last.risk[record]),
                leverage=float(last.likely.leverage[atom]),
                first=part.cited[place],
                carried_by=tuple(cited[number] for number in sorted(cited)),
                carried=carried[-1][1] if carried else 0.0,
            )
        )
    return float(last.risk.max()), len(who), last.unknown & ~part.located, found


def _since(looks: _Looks, records: Ints, last: int) -> Ints:
    """(r,) place of the statement since which each is beyond the limit, found by halving."""
    since = np.full(len(records), last)
    spans = [(0, last, np.arange(len(records)))]
    while spans:
        low, high, some = spans.pop()  # beyond the limit after `high`, and after `low - 1` not
        since[some] = high
        if low == high or not len(some) or looks.allowance.over:
            continue
        middle = (low + high) // 2
        look = looks.after(middle)
        yes = np.zeros(len(some), dtype=np.bool_) if look is None else look.beyond[records[some]]
        spans += [(low, middle, some[yes]), (middle + 1, high, some[~yes])]
    return since
