"""Rules of statistical offices beside this gate's verdicts, group by group: the figures of docs/rules.md.

The groups are disjoint and asked in one statement on a ledger of its own. Which rule calls which group unsafe
is worked out from the true values, as an office would.

    python -m benchmarks.rules        from the project's folder; data in ../shared/data
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import duckdb

from auditor import Gate, Policy
from benchmarks._data import ACS
from cae_sql import Domain
from cae_sql.risk import Limit

TABLE, KEYS = ACS.stem, "occupation, industry"
MINIMUM, MAXIMUM, STEP = 10, 250, 10
CASES = ((1, "posterior"), (1, "interval"), (0, "posterior"))
"""Insiders, and what decides."""
TOLD = ("exactly", "as an end", "withheld")

Rule = Callable[[Sequence[int]], bool]
"""Whether a group may be published, by its values, the greatest first."""


def threshold(least: int) -> Rule:
    """At least so many contribute."""
    return lambda values: len(values) >= least


def dominance(first: int, percent: int) -> Rule:
    """The first ones together have no more than so many per cent of the total."""
    return lambda values: 100 * sum(values[:first]) <= percent * sum(values)


def p_percent(percent: int) -> Rule:
    """Who has the second greatest value cannot tell the greatest within so many per cent, from above."""
    return lambda values: len(values) > 2 and 100 * sum(values[2:]) >= percent * values[0]


RULES: dict[str, Rule] = {
    "threshold, 3": threshold(3),
    "threshold, 10": threshold(10),
    "(1, 75) dominance": dominance(1, 75),
    "(2, 85) dominance": dominance(2, 85),
    "p % rule, p = 10": p_percent(10),
    "p % rule, p = 20": p_percent(20),
}


def width_left(risk: float) -> int:
    """How wide a run of possible values everybody keeps under a limit, in units of the column."""
    run = Limit(risk=risk).least_run(Domain(MINIMUM, MAXIMUM, STEP))
    assert run is not None
    return (run - 1) * STEP


def least_told(risk: float) -> int:
    """Of how many people a sum may be told at all, where nothing else was: n >= 2 + 2 L / (M - m)."""
    return 2 + -(-2 * width_left(risk) // (MAXIMUM - MINIMUM))


def percent_kept(risk: float) -> float:
    """Below which p nobody's value can be named within p % for certain: 100 L / (2 M - L)."""
    return 100 * width_left(risk) / (2 * MAXIMUM - width_left(risk))


def greatest_share(risk: float) -> float:
    """How many per cent of a sum that is told exactly the greatest value is at most."""
    others = (least_told(risk) - 1) * MINIMUM
    return 100 * MAXIMUM / (MAXIMUM + width_left(risk) + others)


def risk_for(percent: int) -> float:
    """The greatest risk, in hundredths, that keeps everybody from being named within so many per cent."""
    return max(each / 100 for each in range(1, 100) if percent_kept(each / 100) > percent)


def proved() -> Iterable[str]:
    """The page's table of what a limit of risk implies."""
    yield "| `risk` | width left, L | sums of at least | nobody named within | (1, k) dominance from k = |"
    yield "|---|---|---|---|---|"
    for risk in (0.3, 0.5, 0.7, 0.85):
        cells = width_left(risk), least_told(risk), percent_kept(risk), greatest_share(risk)
        yield "| {} | {} | {} people | {:.1f} % | {:.1f} |".format(risk, *cells)


def policy(insiders: int, candidates: str) -> Policy:
    """That of the page."""
    return Policy.parse(
        f'[protect]\ntable = "{TABLE}"\ncolumn = "salary"\nminimum = {MINIMUM}\nmaximum = {MAXIMUM}\n'
        f'step = {STEP}\npublic = ["occupation", "industry"]\n[limit]\nrisk = 0.5\n'
        f'[intruder]\ninsiders = {insiders}\ncandidates = "{candidates}"\n[ledger]\neditions = false\n'
    )


def values_by_group() -> dict[tuple[object, ...], list[int]]:
    """The true values of each group, the greatest first."""
    listed = f"SELECT {KEYS}, list(salary ORDER BY salary DESC) FROM read_csv('{ACS}') GROUP BY ALL"
    return {tuple(keys): values for *keys, values in duckdb.sql(listed).fetchall()}


def told_by_gate(insiders: int, candidates: str) -> dict[tuple[object, ...], str]:
    """What the gate tells of the sum of each group."""
    sums = f"SELECT {KEYS}, SUM(salary) FROM {TABLE} GROUP BY {KEYS}"
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Gate.open(ACS, policy(insiders, candidates), ledger=Path(folder) / "ledger") as gate:
            answer = gate.execute(sums)
            ended = {tuple(each.group.values()) for each in answer.ranges}
            rows = answer.fetchall()
    return {
        tuple(keys): "exactly" if total is not None else "as an end" if tuple(keys) in ended else "withheld"
        for *keys, total in rows
    }


def beside(rule: Rule, told: dict[tuple[object, ...], str]) -> dict[tuple[bool, str], int]:
    """How many groups a rule lets pass, or not, by what the gate tells of them."""
    values = values_by_group()
    return Counter((rule(values[group]), how) for group, how in told.items())


def table(told: dict[tuple[object, ...], str]) -> Iterable[str]:
    """The page's table."""
    yield "| rule | passes: " + ", ".join(TOLD) + " | fails: " + ", ".join(TOLD) + " |"
    yield "|---|---|---|"
    for name, rule in RULES.items():
        found = beside(rule, told)
        cells = [", ".join(str(found[passes, how]) for how in TOLD) for passes in (True, False)]
        yield f"| {name} | {cells[0]} | {cells[1]} |"


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="what is proved, without the gate")
    quick = parser.parse_args().quick
    print("\n".join(proved()))
    print({percent: risk_for(percent) for percent in (5, 10, 15, 20, 30)})
    if not quick and not ACS.is_file():
        print(f"no {ACS}: nothing is counted")
    for insiders, candidates in CASES if not quick and ACS.is_file() else ():
        told = told_by_gate(insiders, candidates)
        print(f"\ninsiders = {insiders}, candidates = {candidates}: {dict(Counter(told.values()))}")
        print("\n".join(table(told)))


if __name__ == "__main__":
    main()
