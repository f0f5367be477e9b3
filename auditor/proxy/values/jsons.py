"""json and jsonb; STRUCT, MAP and UNION are json, for PostgreSQL has no type for them that clients know."""

from __future__ import annotations

import json
import math
from datetime import datetime
from decimal import Decimal

import pyarrow as pa

from auditor.proxy.values import cells, types
from auditor.proxy.values.codec import Codec
from auditor.proxy.values.errors import BadParameter, NotRepresentable
from auditor.proxy.values.intervals import interval_text
from auditor.proxy.values.texts import decoded


def _write(column: pa.Array) -> pa.Array:
    if not pa.types.is_nested(column.type):
        return cells.of_text(column)
    try:
        values = column.to_pylist()
    except (OverflowError, ValueError):
        raise NotRepresentable(
            "22008", "a date inside of a structure is out of the range that can be sent"
        ) from None
    return cells.of_values(None if each is None else _json(each, column.type).encode() for each in values)


def _json(value: object, type_: pa.DataType) -> str:
    """A value as JSON: a map's keys are texts, decimals keep their digits, NaN and infinities are null."""
    if value is None:
        return "null"
    if pa.types.is_struct(type_) and isinstance(value, dict):
        members = (f"{_quoted(field.name)}:{_json(value[field.name], field.type)}" for field in type_)
        return "{" + ",".join(members) + "}"
    if pa.types.is_map(type_) and isinstance(value, list):
        members = (f"{_quoted(key)}:{_json(item, type_.item_type)}" for key, item in value)
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_json(item, type_.value_type) for item in value) + "]"
    if isinstance(value, dict):  # inside a union, whose types Arrow does not tell apart
        return "{" + ",".join(f"{_quoted(str(k))}:{_scalar(v)}" for k, v in value.items()) + "}"
    return _scalar(value)


def _scalar(value: object) -> str:
    if isinstance(value, bool | int | None):
        return json.dumps(value)
    if isinstance(value, float):
        return json.dumps(value) if math.isfinite(value) else "null"
    if isinstance(value, Decimal):
        return f"{value:f}"
    return _quoted(value)


def _quoted(value: object) -> str:
    if isinstance(value, pa.MonthDayNano):
        value = interval_text(value.months, value.days, value.nanoseconds // 1000)
    elif isinstance(value, datetime):
        value = value.isoformat(" ")
    elif isinstance(value, bytes):
        value = "\\x" + value.hex()
    return json.dumps(str(value), ensure_ascii=False)


def _read_jsonb(content: bytes) -> str:
    if content[:1] != b"\1":
        raise BadParameter("22P03", f"unsupported jsonb version number {content[0] if content else 0}")
    return decoded(content[1:])


CODECS = {
    types.JSON: Codec(_write, _write, str, decoded),
    types.JSONB: Codec(read_text=str, read_binary=_read_jsonb),
}
