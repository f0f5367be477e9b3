"""What drivers add is taken out where it changes nothing, and left for the gate to judge where it may."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.proxy.protocol.sqlstate import ProtocolError
from auditor.proxy.session.spelling import listed_arrays, spread, without_casts, without_database


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("SELECT d.public.t.a FROM d.public.t", "SELECT public.t.a FROM public.t"),
        ('SELECT * FROM "d"."hr"."t", D.hr.u', 'SELECT * FROM "hr"."t", hr.u'),
        (
            'SELECT * FROM "D".hr.t, e.hr.t, d.other.t, d.hr',
            'SELECT * FROM "D".hr.t, e.hr.t, d.other.t, d.hr',
        ),
        (
            "SELECT 'd.public.t', x.d.public.t -- d.public.t",
            "SELECT 'd.public.t', x.d.public.t -- d.public.t",
        ),
    ],
)
def test_the_database_before_a_schema_is_left_out(text: str, wanted: str) -> None:
    assert without_database(text, "d", {"public", "hr"}) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("SELECT a LIMIT 3::bigint OFFSET $1::int8", "SELECT a LIMIT 3 OFFSET $1"),
        ("SELECT $1::numeric + $2::numeric", "SELECT $1::numeric + $2"),
        ("SELECT $2::numeric(4, 1), $2::numeric[], $2::numeric::int", None),
        ("SELECT a LIMIT 3::text", None),
        ("SELECT 3::bigint, '$2::numeric'", None),
    ],
)
def test_casts_that_change_nothing_are_left_out(text: str, wanted: str | None) -> None:
    assert without_casts(text, [1, Decimal(2)]) == (text if wanted is None else wanted)


@pytest.mark.parametrize(
    ("text", "wanted", "given"),
    [
        ("a = ANY($1) AND b = $2", "a IN ($1, $2) AND b = $3", ["x", "y", 7]),
        ("b = $2 AND a = any ( $1::text[] )", "b = $1 AND a IN ($2, $3)", [7, "x", "y"]),
        ("a <> ALL($1) OR b != ALL (CAST($1 AS pg_catalog.text[]))",
         "a NOT IN ($1, $2) OR b NOT IN ($3, $4)", ["x", "y", "x", "y"]),
        ("a = SOME($1::character varying[])", "a IN ($1, $2)", ["x", "y"]),
    ],
)  # fmt: skip
def test_an_array_that_is_compared_is_a_list(text: str, wanted: str, given: list[object]) -> None:
    assert spread(text, [["x", "y"], 7]) == (wanted, given)


@pytest.mark.parametrize(
    "text",
    ["a < ANY($1)", "a = ALL($1)", "a <> ANY($1)", "a >= ANY($1)", "f($1)", "a = ANY($1 || b)", "$1 = a"],
)
def test_what_is_no_list_stays_an_array_for_the_gate_to_refuse(text: str) -> None:
    assert spread(text, [["x", "y"]]) == (text, [["x", "y"]])


def test_an_empty_array_is_refused_with_a_hint() -> None:
    with pytest.raises(ProtocolError, match="empty array") as caught:
        spread("a = ANY($1)", [[]])
    assert "Leave the condition out" in caught.value.fields.hint


def test_long_arrays_are_refused_before_they_are_written_out() -> None:
    with pytest.raises(ProtocolError, match="5000 elements") as caught:
        spread(" OR ".join(["a = ANY($1)"] * 1_000), [["x"] * 400_000])
    assert caught.value.fields.sqlstate == "54000"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a = ANY(ARRAY['x','y'])", "a IN ('x','y')"),
        ("a = ANY (array[1, 2]::int[]) OR b <> ALL(ARRAY[3])", "a IN (1, 2) OR b NOT IN (3)"),
        ("a = ANY(ARRAY[])", None),
        ("a = ANY(ARRAY[[1], [2]])", None),
        ("a < ANY(ARRAY[1])", None),
        ("ARRAY[1]", None),
    ],
)
def test_a_written_array_that_is_compared_is_a_list(text: str, wanted: str | None) -> None:
    assert listed_arrays(text) == (text if wanted is None else wanted)


PIECES = [
    "a", "=", "<", ">", "!", "any", "all", "(", ")", "$1", "$2", "::", "text", "[", "]", "array", ".", "d",
    "public", "cast", "as", "limit", "3", "'x'", "--", "\n", '"d"', ",",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=14))
def test_whatever_a_text_is_it_is_spelled_or_refused(pieces: list[str]) -> None:
    text = " ".join(pieces)
    listed_arrays(without_casts(without_database(text, "d", {"public"}), [1, Decimal(1)]))
    found, values = spread(text, [["x", "y"], 3])
    assert ("$1" in found) == bool(values) or "--" in text or "$" not in text
