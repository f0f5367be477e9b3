"""What a coarse value of a released table stands for, among the values that the original has.

| released | stands for |
|---|---|
| a value of the original | itself |
| `*` | everything |
| `[30, 39]`, `[30, 40)`, `30-39`, `30–39`, a pandas Interval | the numbers in between, ends as written |
| `<30`, `<=30`, `>60`, `>=60`, `60+` | the numbers beyond |
| `{a, b}`, `a|b`, a set, list or tuple | each of them that the original has |
| `47*`, `47***` | what begins so |

Promise: whatever is none of these, or stands for no value of the original, is an error that names it. A set
may name values that nobody has, as hierarchies do that were drawn up before the data. Spaces at the ends of
words do not count.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cae_sql.errors import InvalidInput

Flags = NDArray[np.bool_]

_NUMBER = r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
_BRACKETS = re.compile(rf"\s*([\[(])\s*{_NUMBER}\s*[,;]\s*{_NUMBER}\s*([\])])\s*")
_DASH = re.compile(rf"\s*{_NUMBER}\s*[-–]\s*{_NUMBER}\s*")
_BEYOND = re.compile(rf"\s*(<=|>=|<|>)\s*{_NUMBER}\s*")
_PLUS = re.compile(rf"\s*{_NUMBER}\s*\+\s*")
_ALONE = re.compile(_NUMBER)
_STARS = re.compile(r"(.+?)\*+")


@dataclass(frozen=True)
class _Range:
    """Numbers from low to high."""

    low: float
    high: float
    closed_low: bool = True
    closed_high: bool = True

    def among(self, values: list[Any]) -> Flags:
        """Which of these are such numbers."""
        found = [
            _is_number(x)
            and (self.low <= x if self.closed_low else self.low < x)
            and (x <= self.high if self.closed_high else x < self.high)
            for x in values
        ]
        return np.array(found, dtype=np.bool_)


def covered(label: Any, values: list[Any], name: str) -> Flags:
    """Which of the original's distinct values a released value stands for.

    Args:
        label: The released value, not missing.
        values: Distinct values of the original, all numbers or all something else.
        name: Of the column, for the error.

    Raises:
        InvalidInput: it is not understood, or stands for none of them.
    """
    found = _of_several(label, values) if _is_several(label) else _of_one(label, values)
    if found is None:
        raise InvalidInput(
            f"{name} = {label!r} of the release is not understood; write *, [30, 39], 30-39, <30, 60+, "
            "{a, b}, 47*, or a value of the original"
        )
    if not found.any():
        raise InvalidInput(f"{name} = {label!r} of the release stands for no value of the original")
    return found


def _is_several(label: Any) -> bool:
    return isinstance(label, (set, frozenset, list, tuple, np.ndarray))


def _of_several(labels: Iterable[Any], values: list[Any]) -> Flags | None:
    return _each(
        [_of_several(each, values) if _is_several(each) else _of_one(each, values) for each in labels], values
    )


def _each(parts: list[Flags | None], values: list[Any]) -> Flags | None:
    """All of a set's parts; a word among words that is no value is one that nobody has."""
    if any(part is None for part in parts) and all(_is_number(each) for each in values):
        return None
    found = np.zeros(len(values), dtype=np.bool_)
    for part in parts:
        if part is not None:
            found |= part
    return found


def _of_one(label: Any, values: list[Any]) -> Flags | None:
    """None: not understood."""
    same = np.array([each == label for each in values], dtype=np.bool_)
    if same.any():
        return same
    if hasattr(label, "closed_left"):  # a pandas Interval
        return _Range(label.left, label.right, label.closed_left, label.closed_right).among(values)
    if not isinstance(label, str):
        return same if isinstance(label, (int, float, np.number)) else None
    return _of_text(label, values)


def _of_text(text: str, values: list[Any]) -> Flags | None:
    inner = text.strip()
    same = np.array([str(each).strip() == inner for each in values], dtype=np.bool_)
    if same.any():
        return same
    if inner == "*":
        return np.ones(len(values), dtype=np.bool_)
    if inner.startswith("{") and inner.endswith("}"):
        return _of_texts(inner[1:-1].split("|" if "|" in inner else ","), values)
    if "|" in inner:
        return _of_texts(inner.split("|"), values)
    if starred := _STARS.fullmatch(inner):
        return np.array([str(each).startswith(starred[1]) for each in values], dtype=np.bool_)
    if all(_is_number(each) for each in values) and (meant := _range(inner)):
        return meant.among(values)
    return None


def _of_texts(texts: list[str], values: list[Any]) -> Flags | None:
    return _each([_of_text(text, values) for text in texts], values)


def _range(text: str) -> _Range | None:
    """The numbers that a text stands for."""
    if found := _BRACKETS.fullmatch(text):
        return _Range(float(found[2]), float(found[3]), found[1] == "[", found[4] == "]")
    if found := _DASH.fullmatch(text):
        return _Range(float(found[1]), float(found[2]))
    if found := _PLUS.fullmatch(text):
        return _Range(float(found[1]), math.inf)
    if found := _BEYOND.fullmatch(text):
        end, closed = float(found[2]), "=" in found[1]
        below = found[1].startswith("<")
        return _Range(-math.inf, end, True, closed) if below else _Range(end, math.inf, closed, True)
    if found := _ALONE.fullmatch(text):
        return _Range(float(found[1]), float(found[1]))
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
