"""Certificates hold, and nothing can be dropped from them: checked by enumeration and by SciPy's programs."""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil, floor
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from auditor import audit
from auditor.history.findings import Finding
from cae_sql.inference.lookback import located_so_far

from . import worlds

LOW, HIGH, SIZE = 0, 2, 5


@st.composite
def sums(draw: st.DrawFn) -> worlds.Said:
    members = draw(st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=SIZE, unique=True).map(sorted))
    return "sum", tuple(members), (1,) * len(members)


@st.composite
def mixed(draw: st.DrawFn) -> worlds.Said:
    kind, members, weights = draw(sums())
    return draw(st.sampled_from([kind, kind, "max", "min"])), members, weights


def by_reals(said: list[worlds.Said], table: list[int], record: int) -> tuple[float, float]:
    """The interval over the reals; extremes bound those they are over."""
    bounds = [[LOW, HIGH] for _ in table]
    rows, sides = [], []
    for each in said:
        kind, members, weights = each
        value = worlds.answer(each, table)
        if kind == "sum" or len(members) == 1:
            row = np.zeros(len(table))
            row[list(members)] = weights
            rows.append(row)
            sides.append(value)
        for member in members if kind != "sum" and len(members) > 1 else ():
            end = 1 if kind == "max" else 0
            bounds[member][end] = (
                min(bounds[member][1], value) if kind == "max" else max(bounds[member][0], value)
            )
    ends = []
    for sign in (1, -1):
        costs = np.zeros(len(table))
        costs[record] = sign
        found = linprog(costs, A_eq=np.array(rows) if rows else None, b_eq=sides or None, bounds=bounds)
        assert found.status == 0
        ends.append(sign * found.fun)
    return ends[0], ends[1]


def leaves(finding: Finding, said: list[worlds.Said], table: list[int]) -> bool:
    """Whether some answers leave a record nothing but what a finding says, by its own kind of proof."""
    if finding.certificate.proof == "reals":
        low, high = by_reals(said, table, finding.record)
        if finding.kind == "approximate":
            low, high = ceil(low - 1e-7), floor(high + 1e-7)
        return finding.lower <= low + 1e-7 and high - 1e-7 <= finding.upper
    left = worlds.possible(said, table, LOW, HIGH)[finding.record]
    return all(finding.lower <= value <= finding.upper for value in left)


@pytest.mark.slow
@given(
    table=st.lists(st.integers(LOW, HIGH), min_size=SIZE, max_size=SIZE),
    asked=st.lists(st.one_of(sums(), mixed()), min_size=2, max_size=6, unique=True),
)
def test_answers_of_a_certificate_suffice_and_none_of_them_can_be_dropped(
    table: list[int], asked: list[worlds.Said], tmp_path_factory: pytest.TempPathFactory
) -> None:
    database = worlds.build(tmp_path_factory.mktemp("t") / "t.duckdb", table)
    statements = worlds.log([worlds.sql_of(each) for each in asked])
    found = audit(database, worlds.policy(LOW, HIGH), statements, gate_seconds=0)
    for finding in found.findings:
        if finding.party != "everyone":
            continue
        terms = [asked[term.statement.number - 1] for term in finding.certificate.terms]
        assert leaves(finding, terms, table)
        for place in range(len(terms)):
            assert not leaves(finding, terms[:place] + terms[place + 1 :], table)


@pytest.mark.slow
@given(
    table=st.lists(st.integers(LOW, HIGH), min_size=SIZE, max_size=SIZE),
    asked=st.lists(sums(), min_size=2, max_size=6, unique=True),
)
def test_equations_add_up_and_queries_give_the_same(
    table: list[int], asked: list[worlds.Said], tmp_path_factory: pytest.TempPathFactory
) -> None:
    database = worlds.build(tmp_path_factory.mktemp("t") / "t.duckdb", table)
    found = audit(
        database,
        worlds.policy(LOW, HIGH),
        worlds.log([worlds.sql_of(each) for each in asked]),
        gate_seconds=0,
    )
    with duckdb.connect(str(database), read_only=True) as plain:
        for finding in found.findings:
            if finding.certificate.proof == "direct" or not finding.certificate.sql:
                continue
            values = {term.name: term.value for term in finding.certificate.terms}
            for term in finding.certificate.terms:
                assert plain.execute(term.sql).fetchall() == [(term.value,)]
            below, above = bounds(finding.certificate.equation, values)
            assert ceil(below) == finding.lower
            assert floor(above) == finding.upper
            by_reals = finding.certificate.proof == "reals"
            if finding.kind == "exact":
                # the grid has no part in a proof by reals, and has one in the others
                assert (below == above) == by_reals
            (shown,) = plain.execute(finding.certificate.sql).fetchall()
            assert ceil(shown[0] - 1e-9) == finding.lower
            assert floor(shown[-1] + 1e-9) == finding.upper


def bounds(equation: str, values: dict[str, Fraction]) -> tuple[Fraction, Fraction]:
    """Both ends of an equation, added up in fractions."""
    if equation.startswith("x = "):
        value = added(equation.split(" = ")[1], values)
        return value, value
    left, right = equation.split(" <= x <= ")
    return added(left.split(" = ")[-1], values), added(right.split(" = ")[0], values)


def added(text: str, values: dict[str, Fraction]) -> Fraction:
    """A sum of multiples of answers and a constant."""
    total, sign = Fraction(0), 1
    for part in re.findall(r"[-+] |-?[^-+ ]+(?: A\d+)?", text):
        if part in ("- ", "+ "):
            sign = -1 if part == "- " else 1
            continue
        *size, name = part.split(" ")
        weight = Fraction(size[0]) if size else Fraction(1)
        total += sign * weight * (values[name] if name in values else Fraction(name))
        sign = 1
    return total


def test_a_value_that_only_the_grid_gives_has_a_proof_by_integers(tmp_path: Path) -> None:
    """3 a + 3 b + 2 c = 7 with values 0 … 2: over the reals c may be anything, on the grid it is 2."""
    database = worlds.build(tmp_path / "t.duckdb", [1, 0, 2])
    asked = ["SELECT SUM(v * CASE id WHEN 3 THEN 2 ELSE 3 END) FROM t"]
    found = audit(database, worlds.policy(0, 2), worlds.log(asked), gate_seconds=0)
    finding = next(each for each in found.findings if each.record == 2)
    assert (finding.kind, finding.certificate.proof, finding.lower) == ("exact", "integers", 2.0)
    assert "no other table" in finding.certificate.sentence


def test_a_row_that_was_read_is_not_named_where_the_sum_says_as_much_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two persons have 8 together and nobody more than 4: that the other one's row was read adds nothing."""
    monkeypatch.setattr(located_so_far, "MOST_ALONE", 0)
    database = worlds.build(tmp_path / "t.duckdb", [1, 4, 4])
    asked = ["SELECT v FROM t WHERE id = 2", "SELECT SUM(v) FROM t WHERE id IN (2, 3)"]
    found = audit(database, worlds.policy(0, 4), worlds.log(asked), gate_seconds=0)
    finding = next(each for each in found.findings if each.record == 2)
    assert (finding.kind, finding.certificate.proof, finding.lower) == ("exact", "reals", 4.0)
    assert [term.statement.number for term in finding.certificate.terms] == [2]
