"""Lexemes are PostgreSQL's, whatever the text is, and nothing of it is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.history.readers.prepared import Prepared, executed, is_utility, resolve
from auditor.history.readers.splitting import blank, pieces, statements
from auditor.proxy.protocol import ProtocolError
from auditor.proxy.session.classifying import classify
from auditor.proxy.session.commands import Execute
from auditor.proxy.session.lexing import split
from auditor.proxy.values.placeholders import places
from auditor.sql.postgres.lexing import content, lexemes
from tests.clocks import at_once

FRAGMENTS = [
    "'", "''", '"', "\\", "E'", "U&'", 'U&"', "B'", "X'", "N'", "$", "$$", "$a$", "$é$", "$1", "1", "1.5e3",
    ".", "..", "0x", "_", "a", "é", "\xa0", ";", "--", "-", "/*", "*/", "/", "*", "\n", "\r", " ", "\t",
    "#", "//", "`", "?", "(", ")", ",", "e", "x", "\U0001f600", "\ud800", "\0",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join)
DIALECTS = st.sampled_from(["postgres", "duckdb", "bigquery", "snowflake"])


def kinds(text: str, dialect: str = "postgres") -> list[tuple[str, str]]:
    """Each lexeme with its kind; blanks are left out."""
    return [(kind, text[start:end]) for kind, start, end in lexemes(text, dialect) if kind != "blank"]


CASES: list[tuple[str, list[tuple[str, str]]]] = [
    # identifiers go on with digits and $; tags of dollar quotes have no $
    ("a$1", [("word", "a$1")]),
    ("_é$b$", [("word", "_é$b$")]),
    ("é\xa0٣", [("word", "é\xa0٣")]),
    ("a $b$ ' $b$", [("word", "a"), ("dollar", "$b$ ' $b$")]),
    ("$é1$;$é1$", [("dollar", "$é1$;$é1$")]),
    ("$a$ $$ $b$ $a$ b", [("dollar", "$a$ $$ $b$ $a$"), ("word", "b")]),
    ("$a$ $$a$ b", [("dollar", "$a$ $$a$"), ("word", "b")]),
    ("$a b$", [("sign", "$"), ("word", "a"), ("word", "b$")]),
    ("$$ never", [("dollar", "$$ never")]),
    # a parameter is $ and digits, wherever a word or a text does not hold it
    ("$1$2", [("parameter", "$1"), ("parameter", "$2")]),
    ("1$1", [("number", "1"), ("parameter", "$1")]),
    ("$1a", [("parameter", "$1"), ("word", "a")]),
    ("$1$a$ $1 $a$", [("parameter", "$1"), ("dollar", "$a$ $1 $a$")]),
    ("$٣", [("sign", "$"), ("word", "٣")]),
    # texts
    ("'a''b' c", [("text", "'a''b'"), ("word", "c")]),
    ("'\\' c", [("text", "'\\'"), ("word", "c")]),
    ("'never\n;", [("text", "'never\n;")]),
    ("E'\\'' c", [("escaped", "E'\\''"), ("word", "c")]),
    ("1e'\\'' c", [("number", "1"), ("escaped", "e'\\''"), ("word", "c")]),
    ("xE'\\' c", [("word", "xE"), ("text", "'\\'"), ("word", "c")]),
    ("E'never\\", [("escaped", "E'never\\")]),
    ("E'never\n", [("escaped", "E'never\n")]),
    ("U&'\\' c", [("escaped", "U&'\\'"), ("word", "c")]),
    ('u&"a""b" c', [("escaped", 'u&"a""b"'), ("word", "c")]),
    ("u & 'a'", [("word", "u"), ("sign", "&"), ("text", "'a'")]),
    ("B'1''0'", [("bits", "B'1'"), ("text", "'0'")]),
    ("x'1F'", [("bits", "x'1F'")]),
    ("N'\\'", [("word", "N"), ("text", "'\\'")]),
    ('"a""b;"', [("name", '"a""b;"')]),
    ('"never;', [("name", '"never;')]),
    ("`a'`'", [("sign", "`"), ("word", "a"), ("text", "'`'")]),
    # a text goes on behind a line's end, as what it is
    ("'a' 'b'", [("text", "'a'"), ("text", "'b'")]),
    ("'a' -- it's\n\n'b' c", [("text", "'a' -- it's\n\n'b'"), ("word", "c")]),
    ("'a' /* */\n'b'", [("text", "'a'"), ("comment", "/* */"), ("text", "'b'")]),
    ("E'a'\n'\\'' c", [("escaped", "E'a'\n'\\''"), ("word", "c")]),
    ("E'a' '\\' c", [("escaped", "E'a'"), ("text", "'\\'"), ("word", "c")]),
    ("B'1'\r'0'", [("bits", "B'1'\r'0'")]),
    # numbers
    ("1.5e-3", [("number", "1.5e-3")]),
    ("1.e", [("number", "1."), ("word", "e")]),
    ("1..2", [("number", "1"), ("sign", ".."), ("number", "2")]),
    ("1_000 0x1_F 1__0", [("number", "1_000"), ("number", "0x1_F"), ("number", "1"), ("word", "__0")]),
    # comments nest, and end operators; a line ends with \r too
    ("/* /* */ ; */ a", [("comment", "/* /* */ ; */"), ("word", "a")]),
    ("/*/*/ a */ b */ c", [("comment", "/*/*/ a */ b */"), ("word", "c")]),
    ("/*/ a", [("unclosed", "/*/ a")]),
    ("a+--b", [("word", "a"), ("sign", "+"), ("comment", "--b")]),
    ("a*/*b*/c", [("word", "a"), ("sign", "*"), ("comment", "/*b*/"), ("word", "c")]),
    ("--a\rb", [("comment", "--a"), ("word", "b")]),
    ("# // a", [("sign", "#"), ("sign", "/"), ("sign", "/"), ("word", "a")]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_lexemes_are_those_of_postgresqls_lexer(text: str, expected: list[tuple[str, str]]) -> None:
    assert kinds(text) == expected


@pytest.mark.parametrize(
    ("dialect", "text", "expected"),
    [
        ("bigquery", "# ';\n`a;'` 'b\\';'", [("comment", "# ';"), ("name", "`a;'`"), ("text", "'b\\';'")]),
        ("bigquery", "b'\\';'", [("bits", "b'\\';'")]),
        ("bigquery", "/* /* */ a", [("comment", "/* /* */"), ("word", "a")]),
        ("snowflake", "// ';\n'b\\';'", [("comment", "// ';"), ("text", "'b\\';'")]),
        ("snowflake", "/* /* */ a", [("comment", "/* /* */"), ("word", "a")]),
        ("duckdb", "/* /* */ ; */ a", [("comment", "/* /* */ ; */"), ("word", "a")]),
    ],
)
def test_other_databases_have_comments_and_texts_of_their_own(
    dialect: str, text: str, expected: list[tuple[str, str]]
) -> None:
    assert kinds(text, dialect) == expected


@given(TEXTS | st.text(max_size=60), DIALECTS)
def test_every_letter_belongs_to_exactly_one_lexeme(text: str, dialect: str) -> None:
    place = 0
    for _, start, end in lexemes(text, dialect):
        assert start == place < end
        place = end
    assert place == len(text)


@given(TEXTS, DIALECTS)
def test_a_lexeme_alone_is_the_same_lexeme(text: str, dialect: str) -> None:
    for kind, start, end in lexemes(text, dialect):
        assert kinds(text[start:end], dialect) == ([(kind, text[start:end])] if kind != "blank" else [])


@given(TEXTS)
def test_a_text_that_is_cut_at_its_semicolons_is_joined_again(text: str) -> None:
    assert ";".join(text[start:end] for start, end in pieces(text, ";")) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT E'a'\n'\\';' ; x", ["SELECT E'a'\n'\\';'", "x"]),
        ("SELECT 1 -- ;\r; x", ["SELECT 1 -- ;", "x"]),
        ("SELECT 1 ` ; x `", ["SELECT 1 `", "x `"]),
        ("SELECT 1$a$;$a$; x", ["SELECT 1$a$;$a$", "x"]),
        ("SELECT E'\\'\n;' ; x", ["SELECT E'\\'\n;'", "x"]),
    ],
)
def test_logs_and_sessions_are_cut_into_the_same_statements(text: str, expected: list[str]) -> None:
    assert split(text) == expected
    assert [sql for _, sql in statements(text)] == expected


def test_a_comment_that_nests_hides_no_command() -> None:
    assert is_utility("/* /* a */ b */ EXECUTE q(1)", "EXECUTE")
    assert executed("/* /* a */ b */ EXECUTE q(1)") == ("q", ["1"])
    assert blank("/* /* */ */ ; ")
    assert not blank("/* never closed")


def test_a_parameter_behind_a_number_is_one() -> None:
    assert resolve(Prepared("q", "SELECT 1+a$1, 1$1"), ["now()"]) == ("SELECT 1+a$1, 1(now())", None)
    assert [(place.start, place.end) for place in places("SELECT 1+a$1, 1$1")] == [(15, 17)]


def test_what_a_bit_string_says_is_not_taken_for_a_text() -> None:
    assert classify("EXECUTE q('1'\n'F')") == Execute("q", ("1F",))
    for written in ("X'1F'", "B'1'", "U&'1'", "E'1'"):
        with pytest.raises(ProtocolError):
            classify(f"EXECUTE q({written})")


@given(TEXTS)
def test_what_a_text_says_is_what_stands_between_its_quotes(said: str) -> None:
    written = "'" + said.replace("'", "''") + "'"
    assert content(written) == said
    assert content(written + "--'\n" + written) == said + said


@pytest.mark.parametrize(
    "piece",
    ["'", "''", "'\n", "'a'\n", "'--\n", "E'", "E'\\", 'U&"', "B'", '"', "`", "/*", "/**/", "*/", "$", "$a",
     "$a$", "$$ ", "$1", "--", "--\r", "\n", ";--\n", ";/**/", "1", "1_", "1.", ".", "0x", "1e", "a", "-"],
)  # fmt: skip
def test_time_grows_with_the_text_alone(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    with at_once():
        assert sum(end - start for _, start, end in lexemes(text)) == len(text)
        blank(text)


def test_many_unclosed_tags_take_time_that_grows_with_the_text_alone() -> None:
    text = "".join(f"$a{number} " for number in range(100_000)) + "$b$" * 100_001
    with at_once():
        assert [kind for kind, _, _ in lexemes(text)].count("dollar") == 50_001
