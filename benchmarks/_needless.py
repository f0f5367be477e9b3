"""Which refusals unlimited integer programs would not have demanded: SciPy's, not the package's.

When a statement is refused, what was known and what the gate thought possible is noted. Afterwards, of a
sample of the refusals, each of a few sets of answers is added to what was known, and records are looked at as
`benchmarks/_outside.py` does it. A refusal was

- *needless* where all records looked at keep the limit with all these answers,
- *needed* where one is shown not to with one of them,
- *undecided* otherwise: the programs came to no end.

In the simulatable mode the answers are those of hypothetical tables, since a verdict must not rest on the
true one; else the true ones. It is a sample in two ways: a record or a hypothetical answer that was not
looked at may have demanded the refusal. The reading without ties is not looked at either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from auditor import Gate
from auditor.ledger import KnownAnswer
from benchmarks._data import timed
from benchmarks._inside import offer
from benchmarks._outside import check
from cae_sql import Domain

SEED = 20130527
HYPOTHETICAL = 2
"""Sets of answers that each refusal is looked at with."""
WORLDS = 20
CHECK_SECONDS = 90.0
"""For one set of answers."""


@dataclass(frozen=True)
class Refusal:
    """A refused statement, and all that was known when it was."""

    sql: str
    code: str
    known: int
    """Answers on record before."""
    possible: tuple[tuple[KnownAnswer, ...], ...]
    """Sets of answers that would have been added."""


@dataclass(frozen=True)
class Judged:
    """A refusal, seen from outside."""

    sql: str
    code: str
    verdict: str
    """"needless", "needed" or "undecided"."""
    records: int
    """Looked at, over all sets of answers."""
    seconds: float


def refusal(gate: Gate, sql: str, code: str, simulatable: bool) -> Refusal | None:
    """Note a refusal before anything else is asked; None where nothing was asked of protected values."""
    thought = offer(gate, sql, WORLDS)
    if thought is None or thought.derivable:
        return None
    sets = [thought.truth]
    if simulatable:
        sets = list(dict.fromkeys(thought.hypothetical))[:HYPOTHETICAL]
    known = [each for entry in gate._ledger.entries() for each in entry.answers if each.kind != "leak"]
    possible = tuple(
        tuple(replace(each, value=value) for each, value in zip(thought.answers, values, strict=True))
        for values in sets
    )
    return Refusal(sql, code, len(known), possible)


def judge(
    refusals: Sequence[Refusal],
    released: Sequence[KnownAnswer],
    size: int,
    domain: Domain,
    limit: float,
    insiders: int,
    most: int,
) -> list[Judged]:
    """Look at some of the refusals, drawn."""
    released = [each for each in released if each.kind != "leak"]
    drawn = np.random.default_rng(SEED).permutation(len(refusals))[:most]
    found = []
    for place in sorted(drawn.tolist()):
        each, verdicts, records = refusals[place], list[str](), 0
        with timed() as watch:
            for answers in each.possible:
                checked = check(
                    *([*released[: each.known], *answers], size, domain, limit, insiders, CHECK_SECONDS)
                )
                records += len(checked)
                kept = bool(checked) and all(one.keeps for one in checked)
                broken = any(one.broken for one in checked)
                verdicts.append("needed" if broken else "needless" if kept else "undecided")
                if broken:
                    break
        told = next((one for one in ("needed", "undecided") if one in verdicts), "needless")
        found.append(Judged(each.sql, each.code, told, records, watch.seconds))
    return found


def counted(judged: Sequence[Judged]) -> str:
    """In a few words."""
    counts = Counter(each.verdict for each in judged)
    words = ", ".join(f"{counts[name]} {name}" for name in ("needless", "needed", "undecided"))
    return f"of {len(judged)} looked at {words}" if judged else "none looked at"


def kept(judged: Sequence[Judged]) -> list[dict[str, object]]:
    """As JSON takes it."""
    return [asdict(each) for each in judged]
