"""Attacks on the gate, published ones and our own, and the owner's proof that they locate nobody.

    attack.py           Attack: a name, a source, whom it needs, what it does
    target.py           Target: all that an intruder has; Claim: what an attack says it found
    selection.py        sets of records as conditions on public columns
    deduction.py        what exact answers tell, by integer programs that share nothing with the gate's
    sources.py          publications and tools
    trackers.py, differences.py, joins.py, masks.py, integers.py, averaging.py, oracles.py, failures.py,
    extremes.py, foreseen.py, reconstruction.py, tables.py, names.py, people.py, likelihood.py,
    units.py            the attacks
    totals.py           how likely each total of people is, for likelihood.py
    runner.py           the owner's side: asks through a gate with a ledger of its own, checks every claim

Promise: an attack sees public columns, the policy's domain and what it was answered, nothing else; whether a
claim is true and narrower than the policy allows is decided by the runner, which has the data.
"""

from __future__ import annotations

from auditor.attacks import (
    averaging,
    differences,
    extremes,
    failures,
    foreseen,
    integers,
    joins,
    likelihood,
    masks,
    names,
    oracles,
    people,
    reconstruction,
    tables,
    trackers,
    units,
)
from auditor.attacks.attack import Attack
from auditor.attacks.target import Claim, Reply, Scene, Target

ATTACKS: tuple[Attack, ...] = (
    *trackers.ATTACKS,
    *differences.ATTACKS,
    *joins.ATTACKS,
    *masks.ATTACKS,
    *averaging.ATTACKS,
    *oracles.ATTACKS,
    *failures.ATTACKS,
    *integers.ATTACKS,
    *extremes.ATTACKS,
    *foreseen.ATTACKS,
    *reconstruction.ATTACKS,
    *tables.ATTACKS,
    *names.ATTACKS,
    *people.ATTACKS,
    *likelihood.ATTACKS,
    *units.ATTACKS,
)
"""All of them, in the order they are run."""

__all__ = ["ATTACKS", "Attack", "Claim", "Reply", "Scene", "Target"]
