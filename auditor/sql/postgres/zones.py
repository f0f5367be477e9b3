"""Moments with a time zone: `timestamp with time zone`, AT TIME ZONE and what reads the clock.

The proxy tells its clients that the session's zone is UTC, so what PostgreSQL reckons in the session's zone
is reckoned in UTC, whatever the engine's own zone is: each such step says so.
"""

from __future__ import annotations

from dataclasses import replace

from auditor.sql.postgres import far
from auditor.sql.postgres.values import ADDED, MULTIPLIED, Value, cast, no_operator, quoted_text, refuse

KIND = "timestamptz"


def in_utc(value: Value) -> Value:
    """A moment with a zone as the timestamp that a clock in UTC shows."""
    return Value(f"timezone('UTC', {value.text})", "timestamp")


def from_utc(value: Value) -> Value:
    """A date or timestamp as the moment at which a clock in UTC shows it."""
    text = cast(value, "TIMESTAMP") if value.kind == "date" else value.text
    return Value(f"timezone('UTC', {text})", KIND)


def plain(value: Value) -> Value:
    """A moment as a date or timestamp."""
    return in_utc(value) if value.kind == KIND else value


def at_zone(value: Value, zone: Value) -> Value:
    """`value AT TIME ZONE zone`."""
    if zone.literal is None:
        raise refuse("AT TIME ZONE with a zone that is not written out", "Write the zone: 'Europe/Berlin'.")
    if value.kind == "date":
        value = from_utc(value)
    if value.kind not in (KIND, "timestamp"):
        raise no_operator(value, zone)
    kind = "timestamp" if value.kind == KIND else KIND
    return Value(f"timezone({quoted_text(zone.literal)}, {value.text})", kind)


def shifted(operator: str, moment: Value, span: Value) -> Value:
    """A moment with a zone, and an interval more or less."""
    text = f"{in_utc(moment).text} {operator} {span.at(MULTIPLIED)}"
    return from_utc(Value(text, "timestamp", ADDED))


def now() -> Value:
    """`now()`: when the statement arrived."""
    return Value("now()", KIND)


def today() -> Value:
    """`CURRENT_DATE`."""
    return Value(cast(in_utc(now()), "DATE"), "date")


def clock() -> Value:
    """`LOCALTIMESTAMP`."""
    return in_utc(now())


def age(later: Value, earlier: Value | None = None) -> Value:
    """`age(x)`, until today, and `age(x, y)`."""
    if earlier is None:
        later, earlier = replace(today(), kind="date"), later
    texts = []
    for given in (later, earlier):
        value = plain(given)
        if value.kind not in ("date", "timestamp"):
            raise no_operator(value)
        moment = replace(value, text=cast(value, "TIMESTAMP")) if value.kind == "date" else value
        texts.append(far.ordinary(moment).text if given.far else moment.text)
    return Value(f"AGE({', '.join(texts)})", "interval")
