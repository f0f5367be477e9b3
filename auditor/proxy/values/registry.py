"""Every type's codec, found by the type.

| type | file | in Python, when it is read |
|---|---|---|
| bool | booleans | bool |
| int2, int4, int8, oid; regclass, regtype | integers | int; names are str |
| float4, float8 | floats | float |
| numeric | numerics | Decimal |
| text, varchar, bpchar, name, char, unknown, void | texts | str |
| bytea | bytea | bytes |
| uuid | uuids | str |
| json, jsonb | jsons | str |
| date | dates | date |
| time, timetz | times | time |
| timestamp, timestamptz | timestamps | datetime; timestamptz in UTC |
| interval | intervals | str |
| arrays | arrays | list, nested; NULL is None |
"""

from __future__ import annotations

from datetime import UTC, tzinfo
from functools import lru_cache

from auditor.proxy.values import (
    arrays,
    booleans,
    bytea,
    dates,
    floats,
    integers,
    intervals,
    jsons,
    numerics,
    texts,
    times,
    timestamps,
    uuids,
)
from auditor.proxy.values.codec import Codec
from auditor.proxy.values.types import BY_OID, TIMESTAMPTZ, Type

_FILES = (
    booleans, bytea, dates, floats, integers, intervals, jsons, numerics, texts, times, timestamps, uuids,
)  # fmt: skip
BY_TYPE = {type_: codec for file in _FILES for type_, codec in file.CODECS.items()}
"""Those of all types but arrays; of timestamptz, in UTC."""
OF_DUCKDB = numerics.OF_DUCKDB | texts.OF_DUCKDB
"""By DuckDB's type, where PostgreSQL's does not say how Arrow holds the values."""


@lru_cache(maxsize=512)
def codec_of(type_: Type, zone: tzinfo = UTC, duckdb: str = "") -> Codec:
    """How values of a type travel.

    Args:
        type_: PostgreSQL's type.
        zone: The session's clocks.
        duckdb: DuckDB's type, of an array that of the elements, where values are written.
    """
    if type_.element:
        element = BY_OID[type_.element]
        return arrays.codec(element, codec_of(element, zone, duckdb))
    return timestamps.of_zone(zone) if type_ is TIMESTAMPTZ else OF_DUCKDB.get(duckdb, BY_TYPE[type_])
