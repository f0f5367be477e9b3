"""STRUCT, MAP and UNION as JSON: PostgreSQL has no type for them that clients know beforehand."""

from __future__ import annotations

import json
import math
from datetime import datetime
from decimal import Decimal

import pyarrow as pa

from auditor.proxy.values.calendar import interval_text


def json_of(value: object, type_: pa.DataType) -> str:
    """A value as JSON: a map's keys are texts, decimals keep their digits, NaN and infinities are null.

    Args:
        value: As Arrow gives it to Python.
        type_: Arrow's type of it.
    """
    if value is None:
        return "null"
    if pa.types.is_struct(type_) and isinstance(value, dict):
        members = (f"{_text(field.name)}:{json_of(value[field.name], field.type)}" for field in type_)
        return "{" + ",".join(members) + "}"
    if pa.types.is_map(type_) and isinstance(value, list):
        members = (f"{_key(key)}:{json_of(item, type_.item_type)}" for key, item in value)
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(json_of(item, type_.value_type) for item in value) + "]"
    if isinstance(value, dict):  # inside a union, whose types Arrow does not tell apart
        return "{" + ",".join(f"{_text(str(k))}:{_scalar(v)}" for k, v in value.items()) + "}"
    return _scalar(value)


def _scalar(value: object) -> str:
    if isinstance(value, bool | int | None):
        return json.dumps(value)
    if isinstance(value, float):
        return json.dumps(value) if math.isfinite(value) else "null"
    if isinstance(value, Decimal):
        return f"{value:f}"
    return _text(_key_text(value))


def _key(value: object) -> str:
    return _text(_key_text(value))


def _key_text(value: object) -> str:
    if isinstance(value, pa.MonthDayNano):
        return interval_text(value.months, value.days, value.nanoseconds // 1000)
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    return value if isinstance(value, str) else str(value)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
