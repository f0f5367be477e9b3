"""What comes from a log can be seen, and does not rearrange or break what is around it."""

from __future__ import annotations

import doctest
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from auditor.report import curves, figures, visible

ANY = st.text(st.characters(), max_size=60)  # surrogates and unassigned characters included


@pytest.mark.parametrize("module", [curves, figures, visible], ids=lambda module: module.__name__)
def test_the_examples_in_the_docstrings_hold(module: object) -> None:
    tried = doctest.testmod(module)
    assert tried.attempted
    assert not tried.failed


@given(ANY)
@example("a\u202eb\u2066c\u200bd\ufeff\x00\x1b[31m\x7f\x85\u2028\ud800\U000e0041")
def test_nothing_invisible_is_left(text: str) -> None:
    shown = visible.visible(text)
    shown.encode("utf-8")
    for character in shown.replace("\n", "").replace("\t", ""):
        assert unicodedata.category(character)[0] != "C"
        assert unicodedata.category(character) not in {"Zl", "Zp"}
        assert unicodedata.bidirectional(character) not in {
            "LRE",
            "RLE",
            "LRO",
            "RLO",
            "PDF",
            "LRI",
            "RLI",
            "FSI",
            "PDI",
        }


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert visible.visible(text) == text


@given(ANY, st.integers(1, 30))
def test_a_line_is_one_line_and_no_longer_than_asked(text: str, most: int) -> None:
    shown = visible.line(text, most)
    assert "\n" not in shown
    assert "\t" not in shown
    assert len(shown) <= most + 2


def test_a_letter_of_any_language_stays() -> None:
    assert visible.visible("Grüße, 北京, שלום, مرحبا") == "Grüße, 北京, שלום, مرحبا"


def test_what_is_cut_is_counted() -> None:
    assert visible.cut("x" * 5000, 10) == "x" * 10 + " … (4,990 characters more)"
