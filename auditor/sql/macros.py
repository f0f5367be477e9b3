"""Functions of ours in the engine: what a dialect has and DuckDB has no function for.

Promise: each is made of functions that are pure, takes time in proportion to its text, and its name begins
with a sign that no statement of a client needs. An argument stands once in what a macro makes: calls within
each other would double it with every level. Where it is needed several times, a list of one element holds it.
"""

from __future__ import annotations

INITCAP = "_initcap"
"""The first letter of each word in upper case, the others in lower case."""
MONTHS = "_months"
"""The months of an interval, those of its years among them."""
MICROSECONDS = "_microseconds"
"""The microseconds of an interval beside its months and days."""
SPAN = "_span"
"""An interval of months, days and microseconds; of hours beyond 285 years as days, for Arrow has no more."""
SPAN_QUOTIENT = "_span_quotient"
"""Months, days and microseconds of an interval by a number: PostgreSQL's `interval_div`, in its steps."""
JUSTIFY_HOURS = "_justify_hours"
"""An interval with every 24 hours as a day."""
JUSTIFY_DAYS = "_justify_days"
"""An interval with every 30 days as a month."""
JUSTIFY_INTERVAL = "_justify_interval"
"""Both, and all parts with one sign."""

_DAY = 86_400_000_000
"""Microseconds of a day."""
_MOST = 9_000_000_000_000_000
"""Microseconds up to which Arrow's intervals reach, which count 64 bits of nanoseconds."""


def _held(value: str, name: str, body: str) -> str:
    """A body in which a name stands for a value that is computed once."""
    return f"list_transform([{value}], lambda {name}: {body})[1]"


def _span(months: str, days: str, microseconds: str) -> str:
    whole = (f"CAST({part} AS BIGINT)" for part in (months, days, microseconds))
    return "to_months({}) + to_days({}) + to_microseconds({})".format(*whole)


def _parts(months: str, days: str, microseconds: str) -> str:
    return f"{{'m': {months}, 'd': {days}, 't': {microseconds}}}"


def _of(interval: str) -> tuple[str, str, str]:
    """Months, days and microseconds of an interval that is a name."""
    months = f"(12 * extract(year FROM {interval}) + extract(month FROM {interval}))"
    days = f"extract(day FROM {interval})"
    return months, days, f"(epoch_us({interval}) - (30 * {months} + {days}) * {_DAY})"


def _one_sign(rest: str, part: str, after: str = "FALSE") -> str:
    """1 where a unit must be given to a negative rest, -1 where one must be taken from a positive rest."""
    up, down = (
        f"{part} > 0 AND ({rest} < 0{after.format('<')})",
        f"{part} < 0 AND ({rest} > 0{after.format('>')})",
    )
    return f"CASE WHEN {up} THEN 1 WHEN {down} THEN -1 ELSE 0 END"


def _clock_signed(parts: str) -> str:
    """Months, days and microseconds as an interval whose days and hours have one sign."""
    moved = _one_sign("q.t", "q.d", "")
    return _held(parts, "q", _span("q.m", f"q.d - ({moved})", f"q.t + ({moved}) * {_DAY}"))


def _quotient() -> str:
    # digits after the sixth are noise to PostgreSQL: its TSROUND
    rounded = "round_even({} * 1000000, 0) / 1000000"
    month_rest = rounded.format("((s.m / s.n - trunc(s.m / s.n)) * 30)")
    with_rest = f"{{'m': s.m, 'd': s.d, 't': s.t, 'n': s.n, 'r': {month_rest}}}"
    seconds = rounded.format("((s.d / s.n - trunc(s.d / s.n) + s.r - trunc(s.r)) * 86400)")
    with_seconds = f"{{'m': s.m, 'd': s.d, 't': s.t, 'n': s.n, 'r': s.r, 's': {seconds}}}"
    days = "trunc(s.d / s.n) + trunc(s.r) + trunc(s.s / 86400)"
    clock = "round_even(s.t / s.n + (s.s - trunc(s.s / 86400) * 86400) * 1000000, 0)"
    body = _held(with_seconds, "s", _span("trunc(s.m / s.n)", days, clock))
    doubles = ", ".join(f"'{each}': CAST({each} AS DOUBLE)" for each in "mdtn")
    return "(m, d, t, n) AS " + _held(f"{{{doubles}}}", "s", _held(with_rest, "s", body))


def _whole() -> str:
    given = ", ".join(f"'{each}': CAST({each} AS BIGINT)" for each in "mdt")
    days = f"abs(q.t) > {_MOST}"
    made = _span(
        "q.m",
        f"q.d + CASE WHEN {days} THEN q.t // {_DAY} ELSE 0 END",
        f"CASE WHEN {days} THEN q.t % {_DAY} ELSE q.t END",
    )
    return "(m, d, t) AS " + _held(f"{{{given}}}", "q", made)


def _justified() -> dict[str, str]:
    months, days, clock = _of("i")
    whole = _parts(months, f"{days} + {clock} // {_DAY}", f"{clock} % {_DAY}")
    by_days = _parts("p.m + p.d // 30", "p.d % 30", "p.t")
    moved = _one_sign("p.d", "p.m", "")
    moved_all = _one_sign("p.d", "p.m", " OR (p.d = 0 AND p.t {} 0)")
    days_body = _held(by_days, "p", _span(f"p.m - ({moved})", f"p.d + 30 * ({moved})", "p.t"))
    all_body = _held(
        by_days, "p", _clock_signed(_parts(f"p.m - ({moved_all})", f"p.d + 30 * ({moved_all})", "p.t"))
    )
    return {
        JUSTIFY_HOURS: "(x) AS " + _held("x", "i", _clock_signed(whole)),
        JUSTIFY_DAYS: "(x) AS " + _held("x", "i", _held(_parts(months, days, clock), "p", days_body)),
        JUSTIFY_INTERVAL: "(x) AS " + _held("x", "i", _held(whole, "p", all_body)),
    }  # fmt: skip


DEFINITIONS = {
    INITCAP: (
        "(x) AS array_to_string(list_transform(regexp_extract_all(x, '[\\pL\\pN]+|[^\\pL\\pN]+'), "
        "lambda part: upper(part[1]) || lower(part[2:])), '')"
    ),
    MONTHS: "(x) AS " + _held("x", "i", _of("i")[0]),
    MICROSECONDS: "(x) AS " + _held("x", "i", _of("i")[2]),
    SPAN: _whole(),
    SPAN_QUOTIENT: _quotient(),
    **_justified(),
}
STATEMENTS = [f"CREATE MACRO {name}{definition}" for name, definition in DEFINITIONS.items()]
"""For an instance in which statements are described, or run."""
ARITIES = {**dict.fromkeys(DEFINITIONS, ((1, 1),)), SPAN: ((3, 3),), SPAN_QUOTIENT: ((4, 4),)}
"""Least and greatest number of arguments."""
