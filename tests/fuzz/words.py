"""Statements as words: cut up, put together, laid out otherwise, mutated."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

_WORD = re.compile(
    r"""
    \s+ | --[^\n]*\n? | /\*.*?\*/ | '(?:[^']|'')*' | "(?:[^"]|"")*" | §\d+§ | \$\w+
    | \d+(?:\.\d+)?(?:[eE][+-]?\d+)? | \w+ | <=|>=|<>|!=|::|\|\||\*\*|// | .
    """,
    re.VERBOSE | re.DOTALL,
)
_MARK = re.compile(r"§(\d+)§")


def words(text: str) -> list[str]:
    """The words of a text, blanks and comments among them: `"".join` gives the text back."""
    return _WORD.findall(text)


def solid(text: str) -> list[str]:
    """The words without blanks and comments."""
    return [word for word in words(text) if word.strip() and not word.startswith(("--", "/*"))]


def joined(listed: Sequence[str]) -> str:
    """Words as a text again, blanks only where they are needed to keep them apart."""
    text = ""
    for word in listed:
        if text and ((_sticky(text[-1]) and _sticky(word[0])) or text[-1] + word[0] in _PAIRS):
            text += " "
        text += word
    return text


def _sticky(letter: str) -> bool:
    return letter.isalnum() or letter in "_$'\"."


_PAIRS = {"--", "/*", "||", "<=", ">=", "<>", "!=", "::", "**", "//", "->", "@>", "<<", ">>", "=="}


def with_parameters(
    text: str, values: Sequence[object], style: str | None
) -> tuple[str, list[object] | dict[str, object] | None]:
    """Write a text's marks in a style; the parameters fit what is in the text."""
    used = [int(number) for number in _MARK.findall(text)]
    if not used:
        return text, None
    if style == "?":
        return _MARK.sub("?", text), [values[number] for number in used]
    order = list(dict.fromkeys(used))
    if style == "$name":
        return _MARK.sub(r"$p\1", text), {f"p{number}": values[number] for number in order}
    return _MARK.sub(lambda mark: f"${order.index(int(mark[1])) + 1}", text), [
        values[number] for number in order
    ]


def decorated(text: str, rng: random.Random) -> str:
    """Comments, line breaks and other cases now and then."""
    if rng.random() > 0.12:
        return text
    made = []
    for word in words(text):
        if word == " " and rng.random() < 0.2:
            word = rng.choice(["\n", "  ", "\t", " /* x */ ", " -- it's\n", "\r\n", ' /* " */ '])
        elif word.isalpha() and word.isupper() and rng.random() < 0.3:
            word = word.lower() if rng.random() < 0.5 else word.title()
        made.append(word)
    return "".join(made)
