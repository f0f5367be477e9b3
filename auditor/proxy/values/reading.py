"""Parameters in: the bytes of Bind, read by their type and format into Python values (see `registry`).

Promises that `BadParameter` is all that comes out otherwise, with PostgreSQL's code: 22P02 and 22007 for text
that is none of the type, 22P03 for bytes, 22003 and 22008 out of range, 22021 for text that is not UTF-8,
0A000 for a type that is not spoken; and time and memory in proportion to the bytes.
"""

from __future__ import annotations

from auditor.proxy.values.errors import BadParameter
from auditor.proxy.values.registry import codec_of
from auditor.proxy.values.texts import decoded
from auditor.proxy.values.types import BY_OID, TEXT
from auditor.sql.time_zones import session_zone


def read_parameter(oid: int, code: int, content: bytes | None, zone: str = "UTC") -> object:
    """A parameter's value.

    Args:
        oid: Its type; 0: text.
        code: Its format code.
        content: Its bytes; None: NULL.
        zone: The session's time zone, for timestamps that name none.

    Raises:
        BadParameter: see the module.
        KeyError: no such zone.
    """
    if content is None:
        return None
    type_ = BY_OID.get(oid or TEXT.oid)
    if type_ is None:
        raise BadParameter("0A000", f"parameters of the type with OID {oid} are not understood")
    if code not in (0, 1):
        raise BadParameter("08P01", f"unsupported format code: {code}")
    codec = codec_of(type_, session_zone(zone).clocks)
    if code == 1 and codec.read_binary is not None:
        return codec.read_binary(content)
    if code == 0 and codec.read_text is not None:
        return codec.read_text(decoded(content))
    form = " in binary format" if code else ""
    raise BadParameter("0A000", f"parameters of type {type_.sql} are not understood{form}")
