"""Casts inside of aggregates: one that no value changes or fails is read over, any other is refused."""

from __future__ import annotations

from fractions import Fraction

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from auditor.sql import Column, Plan, Protected, Schema, Table, Unsupported, casts, understand

TYPES = {
    "TINYINT": (-128, 127), "SMALLINT": (-32768, 32767), "INTEGER": (-(2**31), 2**31 - 1),
    "BIGINT": (-(2**63), 2**63 - 1), "UTINYINT": (0, 255), "USMALLINT": (0, 65535),
    "UINTEGER": (0, 2**32 - 1),
}  # fmt: skip
TARGETS = [*TYPES, "HUGEINT", "DOUBLE", "FLOAT", "DECIMAL(18, 3)", "DECIMAL(4, 1)", "DECIMAL(38, 10)"]


def harmless(type_: str, target: str, least: int | None = None, most: int | None = None) -> bool:
    bounds = [None if each is None else Fraction(each) for each in (least, most)]
    cast = exp.cast(exp.column("pay"), target, dialect="duckdb")
    casts.mark(cast, Protected("t", "pay", type_, *bounds))
    return casts.is_marked(cast)


@given(st.sampled_from(list(TYPES)), st.sampled_from(TARGETS), st.data())
def test_what_is_read_over_gives_every_value_as_the_same_number(
    type_: str, target: str, data: st.DataObject
) -> None:
    low, high = TYPES[type_]
    ends = sorted(data.draw(st.tuples(st.integers(low, high), st.integers(low, high))))
    if not harmless(type_, target, *ends):
        return
    with duckdb.connect(":memory:") as plain:
        for value in (*ends, data.draw(st.integers(*ends))):
            (same,) = plain.execute(
                f"SELECT CAST(({value})::{type_} AS {target})::DECIMAL(38, 0) = ({value})::DECIMAL(38, 0)"
            ).fetchone() or (None,)
            assert same, (value, type_, target)


@pytest.mark.parametrize(
    ("type_", "target", "domain", "read_over"),
    [
        ("INTEGER", "DOUBLE", (), True),
        ("INTEGER", "BIGINT", (), True),
        ("INTEGER", "SMALLINT", (), False),
        ("INTEGER", "SMALLINT", (0, 1000), True),
        ("BIGINT", "DOUBLE", (), False),
        ("BIGINT", "DOUBLE", (0, 10**9), True),
        ("INTEGER", "FLOAT", (0, 10**6), True),
        ("INTEGER", "FLOAT", (0, 10**8), False),
        ("DECIMAL(10,2)", "DECIMAL(12, 2)", (), True),
        ("DECIMAL(10,2)", "DECIMAL(12, 1)", (), False),
        ("DECIMAL(10,2)", "DECIMAL(6, 2)", (0, 250), True),
        ("DECIMAL(10,2)", "INTEGER", (0, 250), False),
        ("DECIMAL(10,2)", "DOUBLE", (), True),
        ("DECIMAL(30,10)", "DOUBLE", (), False),
        ("DOUBLE", "DOUBLE", (), True),
        ("DOUBLE", "DECIMAL(18, 2)", (0, 250), False),
        ("DOUBLE", "INTEGER", (0, 250), False),
        ("FLOAT", "DOUBLE", (), True),
        ("INTEGER", "VARCHAR", (), False),
        ("INTEGER", "BOOLEAN", (), False),
        ("INTEGER", "DATE", (), False),
    ],
)
def test_the_type_or_the_domain_says_whether_a_cast_changes_values(
    type_: str, target: str, domain: tuple[int, ...], read_over: bool
) -> None:
    assert harmless(type_, target, *domain) is read_over


@pytest.mark.parametrize(("target", "understood"), [("BIGINT", True), ("TINYINT", False)])
def test_an_aggregate_with_one_is_understood_with_its_type(target: str, understood: bool) -> None:
    table = Table("t", (Column("dept", "VARCHAR"),))
    found = understand(
        f"SELECT MAX(CAST(pay AS {target})) FROM t",
        None,
        Schema((table,), (Protected("t", "pay", "INTEGER"),)),
    )
    if understood:
        assert isinstance(found, Plan)
        assert found.types == (target,)
    else:
        assert isinstance(found, Unsupported)
        assert found.code == "protected-cast"


@given(
    st.sampled_from([("INTEGER", 0), ("DECIMAL(9,2)", 2), ("SMALLINT", 0), ("DECIMAL(9,1)", 1)]),
    st.integers(-3, 4),
    st.integers(1, 2_000),
    st.integers(0, 500),
    st.lists(st.integers(0, 40), min_size=1, max_size=5),
)
def test_round_that_is_read_over_gives_every_value_of_the_domain(
    of: tuple[str, int], digits: int, step: int, start: int, places: list[int]
) -> None:
    type_, scale = of
    grid, least = Fraction(step, 10**scale), Fraction(start, 10**scale)
    round_ = exp.maybe_parse(f"ROUND(pay, {digits})", dialect="duckdb")
    assert isinstance(round_, exp.Round)
    casts.mark_rounding(round_, Protected("t", "pay", type_, least, None, grid))
    values = [least + place * grid for place in places]
    unit = Fraction(10) ** -digits
    if not casts.is_marked(round_):
        assert digits < scale
        assert any((least + place * grid) % unit for place in range(2))
        return
    shown = [f"{float(value):.{scale}f}" for value in values if value < 30_000]
    with duckdb.connect(":memory:") as plain:
        for value in shown:
            assert plain.execute(f"SELECT ROUND({value}::{type_}, {digits}) = {value}").fetchone() == (True,)


def test_round_of_anything_else_is_not_read_over() -> None:
    schema = Schema(
        (Table("staff", (Column("id", "INTEGER"),)),),
        (Protected("staff", "pay", "INTEGER", Fraction(0), Fraction(900), Fraction(10)),),
    )
    assert isinstance(understand("SELECT AVG(ROUND(pay, -1)) FROM staff", None, schema), Plan)
    for inner in ("ROUND(pay, -2)", "ROUND(pay / 3, 1)", "ROUND(pay, id)", "ROUND(pay::DOUBLE / 7)"):
        found = understand(f"SELECT AVG({inner}) FROM staff", None, schema)
        assert isinstance(found, Unsupported), inner
        assert found.code == "argument"
