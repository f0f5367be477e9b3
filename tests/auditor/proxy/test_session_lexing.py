"""Statements of a text are found whatever stands in texts, names and comments."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.proxy.protocol import ProtocolError
from auditor.proxy.session.classifying import classify
from auditor.proxy.session.lexing import in_main, lexemes, split
from tests.clocks import at_once

PIECES = [
    "'",
    '"',
    "$$",
    "$a$",
    ";",
    "--",
    "\n",
    "/*",
    "*/",
    "E'",
    "\\",
    "x",
    "1.5e3",
    "$1",
    " ",
    "é",
    "public",
    ".",
]


def code_of(work: Callable[[str], object], text: str) -> str:
    """The SQLSTATE of the one error that may come out, or nothing."""
    try:
        work(text)
    except ProtocolError as error:
        return str(error.fields.sqlstate)
    return ""


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("", []),
        (" ; ;; -- x", []),
        ("a;b", ["a", "b"]),
        ("a ; -- ;\n b", ["a", "b"]),
        ("';';\";\";$$;$$;$x$;$$;$x$;E'\\';'", ["';'", '";"', "$$;$$", "$x$;$$;$x$", "E'\\';'"]),
        ("a /* ; /* ; */ ; */ ; b", ["a /* ; /* ; */ ; */", "b"]),
        ("f($1,$2);g", ["f($1,$2)", "g"]),
        ("'never closed ; x", ["'never closed ; x"]),
        ("/* never closed ; x", []),
    ],
)
def test_semicolons_count_where_they_end_a_statement(text: str, statements: list[str]) -> None:
    assert split(text) == statements


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("SELECT public.staff.id FROM public.staff", "SELECT main.staff.id FROM main.staff"),
        ('SELECT 1 FROM "public"."staff"', 'SELECT 1 FROM main."staff"'),
        ("SELECT 'public.staff', x FROM PUBLIC . staff", "SELECT 'public.staff', x FROM main . staff"),
        ("SELECT public.id FROM staff AS public", "SELECT public.id FROM staff AS public"),
        ("SELECT a.public FROM public.staff a", "SELECT a.public FROM public.staff a"),
        ("SELECT 1 FROM public", "SELECT 1 FROM public"),
    ],
)
def test_the_schema_public_is_duckdbs_main(text: str, written: str) -> None:
    assert in_main(text) == written


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_nothing_is_lost_and_nothing_but_the_one_error_comes_out(text: str) -> None:
    found = list(lexemes(text))
    assert all(text[each.start : each.end] == each.written for each in found)
    assert all(one.end <= two.start for one, two in pairwise(found))
    for statement in split(text):
        assert statement in text
        assert split(statement) == [statement]
    assert in_main(text).count(".") == text.count(".")
    for begin in ("", "SET ", "FETCH ", "DECLARE ", "ROLLBACK ", "SHOW "):
        assert code_of(classify, begin + text) in ("", "42601", "0A000", "42501", "55000")


@pytest.mark.slow
@pytest.mark.parametrize("piece", [";", "'", "/*", "$", "$a", "--\n", "E'\\", "a", '"', ". ", "/**/", "$$ "])
def test_time_grows_with_the_text_alone(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    with at_once():
        in_main("public" + text)
        assert code_of(split, text) in ("", "54000")
