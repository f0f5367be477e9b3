"""Names stand for one thing at a time, and what a client keeps stays within the limits."""

from __future__ import annotations

import pytest

from auditor.proxy.protocol import Limits, Parse, Portal, ProtocolError, Statement
from auditor.proxy.protocol.messages import Bind
from auditor.proxy.protocol.statements import Statements

LIMITS = Limits(message=10_000, statements=3, portals=2, memory=20_000, name=20)
SELECT = Statement("s", "SELECT $1", (25,), 1)


def kept(limits: Limits = LIMITS) -> Statements:
    statements = Statements(limits)
    statements.add_statement(SELECT)
    return statements


def sqlstate_of(error: pytest.ExceptionInfo[ProtocolError]) -> str:
    return error.value.fields.sqlstate


def test_a_name_is_free_once_its_statement_is_closed() -> None:
    statements = kept()
    with pytest.raises(ProtocolError, match="already exists") as caught:
        statements.check_parse(Parse("s", "SELECT 2", ()))
    assert sqlstate_of(caught) == "42P05"
    assert statements.close_statement("s") is SELECT
    statements.check_parse(Parse("s", "SELECT 2", ()))
    assert statements.close_statement("s") is None


def test_named_statements_are_counted_and_unnamed_ones_not() -> None:
    statements = kept()
    for name in ("t", "u", ""):
        statements.check_parse(Parse(name, "SELECT 1", ()))
        statements.add_statement(Statement(name, "SELECT 1", (), 1))
    statements.check_parse(Parse("", "SELECT 1", ()))
    with pytest.raises(ProtocolError, match="3 prepared statements") as caught:
        statements.check_parse(Parse("v", "SELECT 1", ()))
    assert sqlstate_of(caught) == "54000"
    assert "DEALLOCATE" in caught.value.fields.hint


def test_portals_are_counted() -> None:
    statements = kept()
    for name in ("a", "b", ""):
        statements.add_portal(statements.bound(Bind(name, "s", (), (b"",))))
    statements.bound(Bind("", "s", (), (b"",)))
    with pytest.raises(ProtocolError, match="2 cursors") as caught:
        statements.bound(Bind("c", "s", (), (b"",)))
    assert sqlstate_of(caught) == "54000"


@pytest.mark.parametrize("text", ["x" * 20_000, "ł" * 10_000, "\U0001f600" * 5_000])
def test_texts_are_counted_by_what_they_take(text: str) -> None:
    with pytest.raises(ProtocolError, match="more than 20000 bytes") as caught:
        kept().check_parse(Parse("t", text, ()))
    assert sqlstate_of(caught) == "53200"
    assert caught.value.fields.hint


def test_values_are_counted() -> None:
    statements = kept()
    statements.add_portal(statements.bound(Bind("a", "s", (), (b"x" * 9_000,))))
    with pytest.raises(ProtocolError, match="more than 20000 bytes"):
        statements.bound(Bind("b", "s", (), (b"x" * 11_000,)))
    statements.end_transaction()
    statements.bound(Bind("b", "s", (), (b"x" * 11_000,)))


def test_a_portal_counts_its_statement_too_which_may_be_closed_before_it() -> None:
    statements = Statements(LIMITS)
    statements.add_statement(Statement("", "x" * 9_000, (), None))
    statements.add_portal(statements.bound(Bind("a", "", (), ())))
    with pytest.raises(ProtocolError, match="more than"):
        statements.check_parse(Parse("", "x" * 12_000, ()))


def test_everything_is_given_back() -> None:
    statements = kept()
    for name in ("a", "b", ""):
        statements.add_portal(statements.bound(Bind(name, "s", (), (b"value",))))
    statements.add_portal(Portal("held", SELECT, hold=True))
    statements.close_portal("a")
    statements.end_transaction()
    assert len(statements) == 2
    statements.close_all_portals()
    statements.close_all_statements()
    assert (len(statements), statements.size) == (0, 0)


def test_a_held_cursor_outlives_its_transaction_and_others_do_not() -> None:
    statements = kept()
    statements.declare(Portal("held", SELECT, hold=True))
    statements.declare(Portal("other", SELECT))
    statements.end_transaction()
    assert statements.portal("held").name == "held"
    with pytest.raises(ProtocolError) as caught:
        statements.portal("other")
    assert sqlstate_of(caught) == "34000"


def test_cursors_and_portals_share_their_names() -> None:
    statements = kept()
    statements.declare(Portal("c", SELECT))
    with pytest.raises(ProtocolError) as caught:
        statements.bound(Bind("c", "s", (), (b"",)))
    assert sqlstate_of(caught) == "42P03"
    with pytest.raises(ProtocolError):
        statements.declare(Portal("c", SELECT))


@pytest.mark.parametrize("name", ["x" * 21, "é" * 11])
def test_a_name_that_is_too_long_is_refused(name: str) -> None:
    statements = kept()
    for attempt in (
        lambda: statements.check_parse(Parse(name, "SELECT 1", ())),
        lambda: statements.bound(Bind(name, "s", (), (b"",))),
        lambda: statements.declare(Portal(name, SELECT)),
    ):
        with pytest.raises(ProtocolError) as caught:
            attempt()
        assert sqlstate_of(caught) == "42622"


def test_a_name_of_any_length_that_stands_for_nothing_gives_a_short_error() -> None:
    for attempt in (kept().statement, kept().portal):
        with pytest.raises(ProtocolError) as caught:
            attempt("x" * 100_000)
        assert len(caught.value.fields.message) < 200


@pytest.mark.parametrize(
    ("formats", "count", "expected"),
    [((), 2, (0, 0)), ((1,), 2, (1, 1)), ((0, 1), 2, (0, 1)), ((1,), 1, (1,)), ((1,), 0, ()), ((), 0, ())],
)
def test_formats_are_none_one_for_all_or_one_for_each(
    formats: tuple[int, ...], count: int, expected: tuple[int, ...]
) -> None:
    assert Portal("", SELECT, result_formats=formats).formats(count) == expected


@pytest.mark.parametrize(("formats", "expected"), [((0, 0), "08P01"), ((0, 0, 0), "08P01"), ((2,), "22023")])
def test_formats_that_do_not_fit_are_refused_as_soon_as_the_columns_are_known(
    formats: tuple[int, ...], expected: str
) -> None:
    with pytest.raises(ProtocolError) as caught:
        kept().bound(Bind("", "s", (), (b"",), formats))
    assert sqlstate_of(caught) == expected
    unknown = Statements(LIMITS)
    unknown.add_statement(Statement("s", "SELECT 1", (), None))
    if expected == "22023":
        with pytest.raises(ProtocolError):
            unknown.bound(Bind("", "s", (), (), formats))
        return
    portal = unknown.bound(Bind("", "s", (), (), formats))
    with pytest.raises(ProtocolError):
        portal.formats(1)


def test_text_values_are_utf8_and_binary_ones_are_anything() -> None:
    statements = kept()
    assert statements.bound(Bind("", "s", (1,), (b"\xff\0",))).values == (b"\xff\0",)
    for value in (b"\xff", b"a\0b"):
        with pytest.raises(ProtocolError) as caught:
            statements.bound(Bind("", "s", (0,), (value,)))
        assert sqlstate_of(caught) == "22021"


def test_values_are_not_shown() -> None:
    assert "secret" not in repr(kept().bound(Bind("", "s", (), (b"secret",))))
