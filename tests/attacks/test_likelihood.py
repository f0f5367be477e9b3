"""What is likely though nothing is excluded: the star and its cousins.

Asked: sums in which a person is again and again, each time with company of its own. How likely each value is
then is counted exactly, by convolution, and held against the limit. Without a gate the person is located,
and with one that judges what is excluded alone; a gate that judges posteriors stops before.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from auditor.attacks import likelihood
from auditor.attacks.runner import Report, run_attacks
from auditor.attacks.target import Claim
from cae_sql import Domain
from cae_sql.risk import risk_of
from tests.auditor.staff import build
from tests.quick import some

from .arena import Row, named, people, policy

# with an insider, or of 0 and 1, no sum of five is answered
CASES = [
    ("star", "bits", 0),
    *((name, kind, 1) for name in ("star", "star-of-differences") for kind in ("bits", "salaries")),
    *(("star-of-differences", kind, 0) for kind in ("bits", "salaries")),
    *(("star-of-groups", kind, 0) for kind in ("bits", "salaries")),
    ("clique", "salaries", 0),
    ("star-beside-extremes", "salaries", 0),
    ("star-beside-extremes", "salaries", 1),
]

OFF = 0.02
"""What the baseline may be off by beside ranges. Of the star of groups of bits (8 sums, 3 ranges, limit
0.5) the posterior is right to eight digits; the risk is 0.494 by the gate, 0.508 by the attack."""


def bits(count: int) -> list[Row]:
    """Persons, half of them 1."""
    return [(*row[:-1], int(str(row[-1])) // 10 % 2) for row in people(count, 5)]


def beyond(claim: Claim, kind: str) -> float:
    """By how much the risk of what is claimed to be likely is beyond the limit of these."""
    assert claim.likely is not None
    assert claim.of_another is not None
    top, limit = (1, 0.5) if kind == "bits" else (len(claim.likely) - 1, 0.2)
    domain = Domain(0, top, 1)
    mine, other = (risk_of(domain.values, np.array(row), domain) for row in (claim.likely, claim.of_another))
    return 1 - mine.area / other.area - limit


def tried(folder: Path, name: str, kind: str, intruder: str) -> Report:
    """An attack on 900 persons."""
    # sixty sums leave 25 values wide open: what is forbidden is less
    rows, domain, limit = people(900, 5), {}, "risk = 0.2"
    if kind == "bits":
        rows, domain, limit = bits(900), {"minimum": 0, "maximum": 1, "step": 1}, "risk = 0.5"
    rules = policy(f"[intruder]\n{intruder}\n[decision]\ntimeout = 30\n", limit, **domain)
    (report,) = run_attacks(build(folder / "staff.duckdb", rows), rules, [named(name)])
    assert report.reason is None
    return report


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind", "insiders"), some(CASES, 1))
def test_where_posteriors_decide_nobody_is_located_by_what_is_likely(
    name: str, kind: str, insiders: int, tmp_path: Path
) -> None:
    report = tried(tmp_path, name, kind, f'candidates = "posterior"\ninsiders = {insiders}')
    assert report.without is not None
    assert report.without.located >= 1, "without the gate the attack must succeed, or this test cannot fail"
    assert report.gate is not None
    assert report.gate.finished
    assert all(beyond(each, kind) <= OFF for each in report.gate.achieved), report.gate.achieved
    assert report.gate.tally.answered >= 1


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), [("star", "salaries"), ("star-of-groups", "bits")])
def test_where_only_what_is_excluded_is_judged_a_star_locates(name: str, kind: str, tmp_path: Path) -> None:
    """Those of which nothing is near an edge: of the star of bits, ends that differ by machine may decide."""
    report = tried(tmp_path, name, kind, 'candidates = "interval"\ninsiders = 0')
    assert report.gate is not None
    assert report.gate.located == 1


@pytest.mark.parametrize("most", [0, 2, 4])
def test_how_often_a_company_has_a_total_and_a_maximum_is_what_listing_finds(most: int) -> None:
    company = object.__new__(likelihood.Company)
    company.values, company._totals = 5, {}
    tables = np.indices((5,) * 3).reshape(3, -1)
    some = tables[:, tables.max(axis=0) == most].sum(axis=0)
    listed = np.bincount(some, minlength=13) / tables.shape[1]
    with np.errstate(divide="ignore"):
        assert np.exp(company.of(3, np.arange(13), most)) == pytest.approx(listed)


def test_a_walk_over_a_clique_finds_what_counting_all_tables_finds() -> None:
    rng = np.random.default_rng(1)
    logs = {}
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        logs[i, j] = logs[j, i] = -0.5 * (np.arange(9) - rng.integers(2, 7)) ** 2 / 4.0
    counted = likelihood._together(3, 5, logs, rng)
    walked = likelihood._walked(3, 5, logs, rng)
    for one, other in zip(counted, walked, strict=True):
        assert one / one.sum() == pytest.approx(other / other.sum(), abs=0.02)
