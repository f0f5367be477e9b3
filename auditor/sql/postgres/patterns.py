"""LIKE, SIMILAR TO and regular expressions: PostgreSQL's patterns as DuckDB's; and arrays written as texts.

Promises a pattern that matches the same texts. Patterns of SIMILAR TO and of `~` must be written out, and
hold nothing that the two engines read differently: no back references, no classes such as \\w whose letters
depend on the engine, no look-around.
"""

from __future__ import annotations

import re

from auditor.sql.postgres.values import ATOM, COMPARED, OTHER, Value, quoted_text, refuse

_CLASSES = {
    r"\w": r"[\pL\pN_]", r"\W": r"[^\pL\pN_]", r"\s": r"[\s\x0b]", r"\S": r"[^\s\x0b]", r"\D": "[^0-9]",
}  # fmt: skip
"""Letters are letters of any alphabet, as in a database of PostgreSQL's in UTF-8."""
_HINT = "Use letters, digits, . * + ? | ( ) ^ $, ranges such as [a-z] and \\d; or LIKE."
_PIECE = re.compile(
    r"""
      (?P<bracket>\[\^?\]?(?:\[:(?:alpha|digit|alnum|upper|lower|space|punct|xdigit):\]|[^\[\]\\])*\])
    | (?P<repeat>\{\d{1,3}(?:,\d{0,3})?\})
    | (?P<digit>\\d)
    | (?P<word>\\[wWsSD])
    | \\(?P<escaped>[^A-Za-z0-9])
    | (?P<special>[.*+?|()^$])
    | (?P<plain>[^\\\[\]{}.*+?|()^$])
    """,
    re.VERBOSE | re.DOTALL,
)


def like(value: Value, pattern: Value, escape: str | None, operator: str) -> Value:
    """LIKE or ILIKE; the backslash escapes unless ESCAPE says otherwise."""
    text = f"{value.at(OTHER)} {operator} {pattern.at(OTHER)}"
    if escape is None:
        escape = "\\"
    if len(escape) > 1:
        raise refuse("an escape of several characters", "Use one character.")
    known = pattern.literal
    if known is not None and escape:
        ending = len(known) - len(known.replace(escape * 2, "").rstrip(escape))
        if known.replace(escape * 2, "").endswith(escape) and ending:
            raise refuse("a LIKE pattern ends with its escape character", "Double it.")
    if escape and (known is None or escape in known):
        text += f" ESCAPE {quoted_text(escape)}"
    return Value(text, "bool", COMPARED)


def similar(value: Value, pattern: Value, escape: str | None) -> Value:
    """SIMILAR TO: a regular expression of which the whole text is a match."""
    if pattern.literal is None or escape not in (None, "\\"):
        raise refuse("SIMILAR TO with a pattern that is not written out", "Write the pattern as a text.")
    source, index, inside = [], 0, False
    written = pattern.literal
    while index < len(written):
        letter = written[index]
        if letter == "\\" and index + 1 < len(written):
            following = written[index + 1]
            source.append(following if following.isalnum() else "\\" + following)
            index += 2
            continue
        if inside or letter == "[":
            inside = letter != "]"
            source.append(letter)
        else:
            source.append({"%": ".*", "_": ".", ".": "\\.", "^": "\\^", "$": "\\$"}.get(letter, letter))
        index += 1
    return _matches(value, f"^(?:{_translated(''.join(source))})$", "s")


def regular(value: Value, pattern: Value, ignore_case: bool) -> Value:
    """`~` and `~*`."""
    if pattern.literal is None:
        raise refuse("a regular expression that is not written out", "Write the pattern as a text.")
    return _matches(value, _translated(pattern.literal), "si" if ignore_case else "s")


def source(pattern: str, ignore_case: bool) -> str:
    """A regular expression that is written out, as DuckDB's."""
    return f"(?{'si' if ignore_case else 's'})" + _translated(pattern)


def _matches(value: Value, source: str, flags: str) -> Value:
    return Value(f"REGEXP_MATCHES({value.text}, {quoted_text(f'(?{flags})' + source)})", "bool", ATOM)


def _translated(source: str) -> str:
    """A regular expression in what the two engines share."""
    if (
        source.startswith("***")
        or "(?" in source
        or re.search(r"[*+?}][*+?{]|^[*+?{]|[(|^][*+?{]|\{,", source)
    ):
        raise refuse("a part of this regular expression", _HINT)
    if re.search(r"\(\)|\|\||\(\||\|\)|^\||\|$", source):
        raise refuse("an empty alternative in a regular expression", _HINT)
    pieces, position = [], 0
    while position < len(source):
        piece = _PIECE.match(source, position)
        if piece is None:
            raise refuse("a part of this regular expression", _HINT)
        pieces.append(
            "[0-9]"
            if piece["digit"]
            else _CLASSES[piece[0]]
            if piece["word"]
            else _bracket(piece[0])
            if piece["bracket"]
            else piece[0]
        )
        position = piece.end()
    translated = "".join(pieces)
    if _unbalanced(translated):
        raise refuse("a regular expression with unbalanced parentheses", _HINT)
    return translated


def _bracket(written: str) -> str:
    content = written.removeprefix("[").removeprefix("^")
    if "&&" in content or "--" in content or "~~" in content or content.startswith("]"):
        raise refuse("a part of this regular expression", _HINT)
    return written


def _unbalanced(source: str) -> bool:
    depth = 0
    for letter in re.sub(r"\\.|\[[^\]]*\]", "", source, flags=re.DOTALL):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth < 0:
            return True
    return depth != 0


_ELEMENT = re.compile(
    r'\s*(?:"((?:[^"\\]|\\.)*)"|([^",{}\\\s](?:[^",{}\\]*[^",{}\\\s])?))\s*(?:,|$)', re.DOTALL
)


def elements(text: str) -> list[Value] | None:
    """The elements of an array of one dimension, such as '{a,"b c",NULL}'; None if it is none or empty."""
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")) or text[1:-1].rstrip().endswith(","):
        return None
    found, position, inner = [], 0, text[1:-1]
    while position < len(inner):
        element = _ELEMENT.match(inner, position)
        if element is None:
            return None
        position = element.end()
        if element[2] is not None and element[2].upper() == "NULL":
            found.append(Value("NULL", "unknown"))
            continue
        written = (
            element[2] if element[2] is not None else re.sub(r"\\(.)", r"\1", element[1], flags=re.DOTALL)
        )
        found.append(Value(quoted_text(written), "unknown", literal=written))
    return found or None
