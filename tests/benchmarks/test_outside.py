"""The check from outside against enumeration: every table of small systems, with and without an insider."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from auditor.ledger import KnownAnswer
from benchmarks._outside import check
from cae_sql import Domain, cae_area

RECORDS, VALUES, LIMIT = 5, 5, 0.5
DOMAIN = Domain(10, 10 * VALUES, 10)
KINDS = {"sum": sum, "max": max, "min": min}


def asked(rng: np.random.Generator) -> tuple[np.ndarray, list[KnownAnswer], np.ndarray]:
    """A random table, answers about it, and all tables that agree with them, in units."""
    truth = rng.integers(0, VALUES, RECORDS)
    tables = np.array(list(product(range(VALUES), repeat=RECORDS)))
    answers = []
    for _ in range(int(rng.integers(1, 4))):
        members = np.flatnonzero(rng.random(RECORDS) < 0.6)
        if len(members) < 2:
            continue
        kind = str(rng.choice(list(KINDS)))
        value = KINDS[kind](truth[members].tolist())
        tables = tables[[KINDS[kind](row) == value for row in tables[:, members].tolist()]]
        shift = 10 * (len(members) if kind == "sum" else 1)
        answers.append(KnownAnswer(kind, members, None, Fraction(10 * value + shift), "t", "c"))
    return truth, answers, tables


def risk(values: set[int]) -> float:
    """Of exactly these values, or of the longest run of them where that is less."""
    ordered = sorted(values)
    runs, run = [], [ordered[0]]
    for value in ordered[1:]:
        if value != run[-1] + 1:
            runs.append(run)
            run = []
        run = [*run, value]
    areas = [cae_area([10.0 * x for x in each]) if len(each) > 1 else 0.0 for each in (*runs, run, ordered)]
    return 1 - max(areas) / cae_area(DOMAIN.values)


def broken(tables: np.ndarray, record: int, insiders: int) -> bool:
    """Whether the record's values break the limit, alone or with any one other's value known."""
    if risk(set(tables[:, record].tolist())) > LIMIT + 1e-6:
        return True
    pairs = [
        (other, v) for other in range(RECORDS) for v in set(tables[:, other].tolist()) if other != record
    ]
    return bool(insiders) and any(
        risk(set(tables[tables[:, other] == value][:, record].tolist())) > LIMIT + 1e-6
        for other, value in pairs
    )


@pytest.mark.slow
@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("insiders", [0, 1])
def test_what_it_calls_broken_is_and_without_insiders_the_reverse_holds_too(
    insiders: int, near: bool
) -> None:
    rng = np.random.default_rng(insiders)
    found = {True: 0, False: 0}
    missed = 0
    for _ in range(20):
        truth, answers, tables = asked(rng)
        for each in check(answers, RECORDS, DOMAIN, LIMIT, insiders, truth=truth if near else None):
            assert not each.undecided
            assert each.keeps is not each.broken
            true = broken(tables, each.record, insiders)
            assert true or not each.broken
            if not insiders:
                assert each.broken is true
            missed += true and not each.broken
            found[each.broken] += 1
    assert min(found.values()) > 10, "systems of both kinds"
    assert missed < found[True] / 4, "few insiders are looked at, but those who learn most"
