"""COPY as it is written, and what is refused instead."""

from __future__ import annotations

import pytest

from auditor.proxy.protocol.sqlstate import ProtocolError
from auditor.proxy.session.copying import read_copy
from auditor.proxy.values.copying import CopyForm

CSV = CopyForm("csv", delimiter=",", null="")


@pytest.mark.parametrize(
    ("text", "query", "form"),
    [
        ("COPY (SELECT 1) TO STDOUT", "SELECT 1", CopyForm()),
        ("copy(select ')', $$($$) to stdout with (format 'csv')", "select ')', $$($$", CSV),
        ('COPY (SELECT (1)) TO STDOUT (FORMAT "binary")', "SELECT (1)", CopyForm("binary")),
        ("COPY (TABLE t) TO STDOUT WITH BINARY", "TABLE t", CopyForm("binary")),
        ("COPY (SELECT 1) TO STDOUT CSV HEADER", "SELECT 1", CopyForm("csv", ",", "", header=True)),
        ("COPY (SELECT 1) TO STDOUT (HEADER off, ENCODING 'utf-8')", "SELECT 1", CopyForm()),
        ("COPY (SELECT 1 -- )\n) TO STDOUT DELIMITERS", "", None),
    ],
)
def test_a_query_is_copied_in_the_form_that_is_asked(text: str, query: str, form: CopyForm | None) -> None:
    if form is None:
        with pytest.raises(ProtocolError):
            read_copy(text)
        return
    found = read_copy(text)
    assert (found.query, found.form) == (query, form)


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        ("COPY staff TO STDOUT", "0A000", "COPY (SELECT count(*) FROM staff) TO STDOUT"),
        ('COPY "a"."B c" (x, y) TO STDOUT', "0A000", 'FROM "a"."B c")'),
        ("COPY staff FROM STDIN", "42501", "cannot be changed"),
        ("COPY staff (id) FROM '/etc/passwd'", "42501", "cannot be changed"),
        ("COPY (SELECT 1) TO '/tmp/x'", "42501", "TO STDOUT"),
        ("COPY (SELECT 1) TO PROGRAM 'sh'", "42501", "TO STDOUT"),
        ("COPY (SELECT 1) FROM STDIN", "42601", ""),
        ("COPY (SELECT 1", "42601", ""),
        ("COPY", "0A000", ""),
        ("COPY (SELECT 1) TO STDOUT (FORMAT parquet)", "22023", "FORMAT"),
        ("COPY (SELECT 1) TO STDOUT (FREEZE)", "0A000", "FORMAT"),
        ("COPY (SELECT 1) TO STDOUT (FORCE_NULL (a))", "0A000", "FORMAT"),
        ("COPY (SELECT 1) TO STDOUT (FORMAT binary, HEADER)", "42601", "FORMAT"),
        ("COPY (SELECT 1) TO STDOUT (DELIMITER 'ab')", "0A000", "FORMAT"),
        ("COPY (SELECT 1) TO STDOUT (DELIMITER 'a')", "22023", "FORMAT"),
        ("COPY (SELECT 1) TO STDOUT (NULL E'\\n', QUOTE '!')", "0A000", "FORMAT"),
        ("COPY (SELECT 1) TO STDOUT (ENCODING 'LATIN1')", "0A000", "FORMAT"),
        ("COPY (SELECT 1) TO STDOUT (FORMAT csv) x", "42601", ""),
    ],
)
def test_everything_else_is_refused_with_what_to_write(text: str, code: str, hint: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        read_copy(text)
    assert caught.value.fields.sqlstate == code
    assert hint in caught.value.fields.hint
