"""Joins: rows that are there twice, rows that are missing, and sides that only let others through."""

from __future__ import annotations

import numpy as np

from auditor.attacks.attack import Attack
from auditor.attacks.oracles import searched
from auditor.attacks.sources import AIRCLOAK, DATASHIELD, DIFFIX
from auditor.attacks.target import Claim, Target, number
from auditor.sql.schema import quoted


def repeated_rows(target: Target) -> list[Claim]:
    """The person's row twice, everybody else's once; and the plain sum."""
    table, column = target.table, target.column
    for aim in target.aims:
        person = target.only(aim).text
        twice = np.ones(target.size, dtype=np.int64)
        twice[aim] = 2
        for sql in (
            f"SELECT SUM({column}) FROM {table} JOIN (SELECT 1 AS one UNION ALL SELECT 2) AS r "
            f"ON one = 1 OR ({person})",
            f"SELECT SUM(v) FROM (SELECT {column} AS v FROM {table} UNION ALL "
            f"SELECT {column} FROM {table} WHERE {person})",
            f"SELECT SUM({column}) FROM {table}, (SELECT 1 AS one UNION ALL SELECT 2) AS r "
            f"WHERE one <= CASE WHEN {person} THEN 2 ELSE 1 END",
            f"SELECT SUM(v) FROM (SELECT {column} AS v, unnest(CASE WHEN {person} THEN [1, 2] ELSE [1] END) "
            f"FROM {table})",
        ):
            rows = target.ask(sql)
            value = None if not rows else number(rows[0][0])
            if value is not None:
                target.note("sum", twice, value)
        target.sum(target.everyone)
    return target.claims()


def outer_joins(target: Target) -> list[Claim]:
    """Outer and anti joins that leave one person out, or let only one person in."""
    table, column = target.table, target.column
    for aim in target.aims:
        person = target.only(aim)
        keys = ", ".join(quoted(name) for name in target.names)
        using = f"({keys})"
        one = f"(SELECT {keys} FROM {table} WHERE {person.text}) AS x"
        alone = f"SELECT SUM({column}) FROM {table} JOIN {one} USING {using}"
        first = quoted(target.names[0])
        rest = f"SELECT SUM({column}) FROM {table} LEFT JOIN {one} USING {using} WHERE x.{first} IS NULL"
        for sql, who in (
            (alone, person),
            (f"SELECT SUM({column}) FROM {table} SEMI JOIN {one} USING {using}", person),
            (rest, ~person),
            (f"SELECT SUM({column}) FROM {table} ANTI JOIN {one} USING {using}", ~person),
            (f"SELECT SUM({column}) FROM {table} NATURAL JOIN {one}", person),
        ):
            rows = target.ask(sql)
            value = None if not rows else number(rows[0][0])
            if value is not None:
                target.note("sum", who, value)
        target.sum(target.everyone)
    return target.claims()


def wide_then_narrow(target: Target) -> list[Claim]:
    """One side of a join holds the person only if the value is large; the other side is what is shown."""
    name, table, column = quoted(target.names[0]), target.table, target.column
    found = []
    for aim in target.aims:
        person = target.only(aim).text
        found += searched(
            target,
            aim,
            f"SELECT COUNT(*) FROM (SELECT {name} FROM {table} WHERE {person} AND {column} > {{0}}) AS l "
            f"JOIN (SELECT {name} FROM {table} GROUP BY {name}) AS r USING ({name}) HAVING COUNT(*) > 0",
        )
    return found


ATTACKS = (
    Attack(
        "repeated-rows",
        "A join or a union in which the person's row stands twice.",
        f"{DATASHIELD}; {AIRCLOAK}, JOINs with non-personal tables",
        repeated_rows,
    ),
    Attack(
        "outer-joins",
        "Outer, semi and anti joins that leave one person in, or out.",
        "diffix/reference issue 164 (NULL values with JOIN)",
        outer_joins,
    ),
    Attack(
        "wide-then-narrow",
        "A side of a join that is empty unless the person's value is large.",
        f"{DIFFIX}/attacks.md, Wide then narrow",
        wide_then_narrow,
    ),
)
