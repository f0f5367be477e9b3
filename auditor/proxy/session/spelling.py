"""What drivers add to statements about data, in words that the gate reads: the database before a schema,
arrays in ANY, casts of numbers that change nothing.

Promises the same meaning: what is not exactly one of these forms is left as it is, for the gate to judge.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from decimal import Decimal

from auditor.proxy.protocol.sqlstate import ProtocolError, SqlState
from auditor.proxy.session.lexing import Lexeme, lexemes

MOST_ELEMENTS = 5_000
"""Of the arrays of one statement, each as often as it is named; the gate's own limits are lower for most."""
_WHOLE = frozenset({"bigint", "int8", "integer", "int", "int4"})


def without_database(text: str, database: str, schemas: Collection[str]) -> str:
    """`staff.public.person` as `public.person`, where staff is the database.

    >>> without_database('SELECT * FROM "staff"."public"."person"', "staff", {"public"})
    'SELECT * FROM "public"."person"'
    """
    if "." not in text:
        return text
    found = list(lexemes(text))
    pieces, position = [], 0
    for place, (one, dot, two, next_dot) in enumerate(
        zip(found, found[1:], found[2:], found[3:], strict=False)
    ):
        if (
            _is_name(one)
            and one.value == database
            and dot.written == next_dot.written == "."
            and _is_name(two)
            and two.value in schemas
            and not (place and found[place - 1].written == ".")
        ):
            pieces.append(text[position : one.start])
            position = two.start
    return "".join(pieces) + text[position:]


def without_casts(text: str, values: Sequence[object] = ()) -> str:
    """`LIMIT 3::bigint` as `LIMIT 3`, and a decimal that is cast to numeric as what it is.

    >>> without_casts("SELECT a FROM t WHERE b > $1::numeric LIMIT 3::bigint", [Decimal(2)])
    'SELECT a FROM t WHERE b > $1 LIMIT 3'
    """
    decimals = {f"${number}" for number, each in enumerate(values, 1) if isinstance(each, Decimal)}
    if "::" not in text:
        return text
    found = list(lexemes(text))
    pieces, position = [], 0
    for place, each in enumerate(found[:-3]):
        if [one.written for one in found[place + 1 : place + 3]] != [":", ":"]:
            continue
        kind, after = found[place + 3], found[place + 4] if place + 4 < len(found) else None
        if kind.kind != "word" or (after is not None and after.written in ("(", "[", ".", ":")):
            continue
        counted = place and found[place - 1].value in ("limit", "offset") and kind.value in _WHOLE
        counted = counted and each.kind in ("number", "parameter")
        if counted or (each.written in decimals and kind.value in ("numeric", "decimal")):
            pieces.append(text[position : each.end])
            position = kind.end
    return "".join(pieces) + text[position:]


def spread(text: str, values: Sequence[object]) -> tuple[str, list[object]]:
    """`= ANY($1)` with an array as `IN ($1, $2)` with its elements, and `<> ALL($1)` likewise.

    >>> spread("SELECT a FROM t WHERE b = ANY($1::text[]) AND c < $2", [["x", "y"], 3])
    ('SELECT a FROM t WHERE b IN ($1, $2) AND c < $3', ['x', 'y', 3])

    Raises:
        ProtocolError: an array is empty, or they are too long.
    """
    if not any(isinstance(each, list) for each in values):
        return text, list(values)
    found = list(lexemes(text))
    given: list[object] = []
    numbers: dict[int, int] = {}
    pieces, position = [], 0
    for place, each in enumerate(found):
        if each.kind != "parameter" or each.start < position:
            continue
        number = int(each.written[1:])
        value = values[number - 1] if 1 <= number <= len(values) else None
        span = _compared(found, place) if isinstance(value, list) else None
        if span is not None:
            assert isinstance(value, list)
            if not value:
                raise _empty()
            if len(given) + len(value) > MOST_ELEMENTS:
                raise _too_long()
            first, last, word = span
            listed = ", ".join(f"${len(given) + count}" for count in range(1, len(value) + 1))
            pieces.append(f"{text[position : found[first].start]}{word} ({listed})")
            given += value
            position = found[last].end
            continue
        if number not in numbers:
            given.append(value)
            numbers[number] = len(given)
        pieces.append(f"{text[position : each.start]}${numbers[number]}")
        position = each.end
    return "".join(pieces) + text[position:], given


def listed_arrays(text: str) -> str:
    """`= ANY (ARRAY['a', 'b'])` as `IN ('a', 'b')`, which DuckDB's dialect reads too.

    >>> listed_arrays("SELECT a FROM t WHERE b = ANY (ARRAY['x', 'y']::text[])")
    "SELECT a FROM t WHERE b IN ('x', 'y')"
    """
    if "array" not in text.lower():
        return text
    found = list(lexemes(text))
    pieces, position = [], 0
    for place, each in enumerate(found):
        after = found[place + 1].written if place + 1 < len(found) else ""
        if each.kind != "word" or each.value != "array" or each.start < position or after != "[":
            continue
        end = next((at for at in range(place + 2, len(found)) if found[at].written in ("[", "]")), None)
        if end is None or end == place + 2 or found[end].written != "]":
            continue
        span = _compared(found, place, end)
        if span is not None:
            first, last, word = span
            inside = text[found[place + 1].end : found[end].start]
            pieces.append(f"{text[position : found[first].start]}{word} ({inside})")
            position = found[last].end
    return "".join(pieces) + text[position:]


def _compared(found: Sequence[Lexeme], place: int, end: int | None = None) -> tuple[int, int, str] | None:
    """Where `= ANY(…)` around an array begins and ends, and the word for it; None if it is anything else.

    Args:
        found: The lexemes.
        place: Where the array begins.
        end: Where it ends.
    """
    last = (place if end is None else end) + 1
    cast = [each.written for each in found[last : last + 2]] == [":", ":"]
    start = place
    if cast:
        last = _type_end(found, last + 2)
    elif place > 1 and found[place - 1].written == "(" and found[place - 2].value == "cast":
        if last >= len(found) or found[last].value != "as":
            return None
        last = _type_end(found, last + 1)
        if last >= len(found) or found[last].written != ")":
            return None
        start, last = place - 2, last + 1
    if last >= len(found) or found[last].written != ")" or start < 3 or found[start - 1].written != "(":
        return None
    word = found[start - 2].value if found[start - 2].kind == "word" else ""
    before, one_more = found[start - 3].written, found[start - 4].written if start > 3 else ""
    if word in ("any", "some") and before == "=" and one_more not in ("<", ">", "!"):
        return start - 3, last, "IN"
    if word == "all" and before == ">" and one_more == "<":
        return start - 4, last, "NOT IN"
    if word == "all" and before == "=" and one_more == "!":
        return start - 4, last, "NOT IN"
    return None


def _type_end(found: Sequence[Lexeme], place: int) -> int:
    """Where the name of an array's type is over; the end of the text if it is none."""
    while place < len(found) and (_is_name(found[place]) or found[place].written == "."):
        place += 1
    if [each.written for each in found[place : place + 2]] == ["[", "]"]:
        return place + 2
    return len(found)


def _is_name(lexeme: Lexeme) -> bool:
    return lexeme.kind in ("word", "name")


def _empty() -> ProtocolError:
    return ProtocolError(
        SqlState.FEATURE_NOT_SUPPORTED,
        "an empty array as a parameter is not supported",
        hint="Leave the condition out, or the statement: no row has a value of an empty array.",
    )


def _too_long() -> ProtocolError:
    return ProtocolError(
        SqlState.PROGRAM_LIMIT_EXCEEDED,
        f"the arrays of a statement may have {MOST_ELEMENTS} elements together",
        hint="Ask with a join, or in several statements.",
    )
