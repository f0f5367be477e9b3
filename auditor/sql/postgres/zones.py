"""Moments with a time zone: `timestamp with time zone`, AT TIME ZONE and what reads the clock.

What PostgreSQL reckons in the session's time zone is written as what DuckDB reckons in its own: the plan says
which zone that is, and what runs it sets it. Where the two reckon otherwise, near the hours at which clocks
are changed, another form is written.
"""

from __future__ import annotations

import re
from dataclasses import replace

from auditor.sql.postgres import far
from auditor.sql.postgres.values import ADDED, STORED, Value, cast, no_operator, quoted_text, refuse
from auditor.sql.time_zones import written_zone

KIND = "timestamptz"
_OF_ONE_UNIT = re.compile(r"INTERVAL '-?\d+' [A-Z]+")


def local(value: Value) -> Value:
    """A moment with a zone as the timestamp that the session's clocks show."""
    return Value(cast(value, "TIMESTAMP"), "timestamp")


def from_local(value: Value) -> Value:
    """A date or timestamp as the moment at which the session's clocks show it."""
    return Value(cast(value, STORED[KIND]), KIND)


def in_utc(value: Value) -> Value:
    """A moment with a zone as the timestamp that a clock in UTC shows: two moments never share one."""
    return Value(f"timezone('UTC', {value.text})", "timestamp")


def plain(value: Value) -> Value:
    """A moment as a date or timestamp."""
    return local(value) if value.kind == KIND else value


def at_zone(value: Value, zone: Value) -> Value:
    """`value AT TIME ZONE zone`."""
    if zone.literal is None:
        raise refuse("AT TIME ZONE with a zone that is not written out", "Write the zone: 'Europe/Berlin'.")
    try:
        engine = written_zone(zone.literal).engine
    except KeyError:
        raise refuse("AT TIME ZONE with this zone", "Write its full name: 'Europe/Berlin'.") from None
    if value.kind == "date":
        value = from_local(value)
    if value.kind not in (KIND, "timestamp"):
        raise no_operator(value, zone)
    kind = "timestamp" if value.kind == KIND else KIND
    return Value(f"timezone({quoted_text(engine)}, {value.text})", kind)


def shifted(operator: str, moment: Value, span: Value) -> Value:
    """A moment with a zone, and an interval more or less: days by the clocks of the zone, then hours.

    Of an interval with both DuckDB takes hours off first.
    """
    if _OF_ONE_UNIT.fullmatch(span.text):
        return Value(f"{moment.at(ADDED)} {operator} {span.text}", KIND, ADDED)
    days = f"DATE_TRUNC('day', {span.text})"
    return Value(f"{moment.at(ADDED)} {operator} {days} {operator} ({span.at(ADDED)} - {days})", KIND, ADDED)


def truncated(field: str, moment: Value) -> Value:
    """`date_trunc` of a moment with a zone.

    In an hour that the clocks show twice DuckDB's is the second one.
    """
    if field != "hour":
        return Value(f"DATE_TRUNC({quoted_text(field)}, {moment.text})", KIND)
    shown = local(moment)
    return Value(f"{moment.at(ADDED)} - ({shown.text} - DATE_TRUNC('hour', {shown.text}))", KIND, ADDED)


def now() -> Value:
    """`now()`: when the statement arrived."""
    return Value("now()", KIND)


def today() -> Value:
    """`CURRENT_DATE`."""
    return Value(cast(now(), "DATE"), "date")


def clock() -> Value:
    """`LOCALTIMESTAMP`."""
    return local(now())


def age(later: Value, earlier: Value | None = None) -> Value:
    """`age(x)`, until today, and `age(x, y)`."""
    if earlier is None:
        later, earlier = replace(today(), kind="date"), later
    zoned, texts = KIND in (later.kind, earlier.kind), []
    for given in (later, earlier):
        # of an hour that the clocks leave out it is another one
        shown = zoned and given.kind in ("date", "timestamp")
        value = plain(from_local(given) if shown else given)
        if value.kind not in ("date", "timestamp"):
            raise no_operator(value)
        moment = replace(value, text=cast(value, "TIMESTAMP")) if value.kind == "date" else value
        texts.append(far.ordinary(moment).text if given.far else moment.text)
    return Value(f"AGE({', '.join(texts)})", "interval")
