"""Other names for the same thing: the protected column, or a whole row, without saying so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction

from auditor.attacks.attack import Attack
from auditor.attacks.selection import literal
from auditor.attacks.sources import AIRCLOAK, OWN
from auditor.attacks.target import Claim, Target, number
from auditor.sql.schema import quoted


def _statements(target: Target, aim: int) -> list[str]:
    table, column, bare = target.table, target.column, target.scene.column
    person = target.only(aim).text
    columns = [quoted(each.name) for each in target.scene.public]
    start = bare[:3].replace("'", "''")
    renamed = ", ".join(f"c{k}" for k in range(len(columns) + 1))
    everything = ", ".join(f"MAX(c{k})" for k in range(len(columns) + 1))
    plain = table.strip('"')
    doubled = person.replace("'", "''")
    key, value = quoted(target.names[0]), literal(target.values[target.names[0]][aim])
    return [
        f"SELECT {column} FROM {table} WHERE {person}",
        f"SELECT * FROM {table} WHERE {person}",
        f"FROM {table} WHERE {person}",
        f"SELECT t FROM {table} AS t WHERE {person}",
        f"SELECT t.* FROM {table} AS t WHERE {person}",
        f"SELECT (t).{column} FROM {table} AS t WHERE {person}",
        f"SELECT to_json(t) FROM {table} AS t WHERE {person}",
        f"SELECT row_to_json(t)::VARCHAR FROM {table} AS t WHERE {person}",
        f"SELECT unnest(t) FROM {table} AS t WHERE {person}",
        f"SELECT list(t) FROM {table} AS t WHERE {person}",
        f"SELECT struct_extract(t, '{bare}') FROM {table} AS t WHERE {person}",
        f"SELECT * LIKE '{start}%' FROM {table} WHERE {person}",
        f"SELECT COLUMNS('^{start}') FROM {table} WHERE {person}",
        f"SELECT COLUMNS(c -> c LIKE '{start}%') FROM {table} WHERE {person}",
        f"SELECT * EXCLUDE ({', '.join(columns)}) FROM {table} WHERE {person}",
        f"SELECT * REPLACE ({column} + 0 AS {column}) FROM {table} WHERE {person}",
        f"SELECT * RENAME ({column} AS x) FROM {table} WHERE {person}",
        f"SELECT MAX(COLUMNS(*)) FROM {table} WHERE {person}",
        f"SELECT {everything} FROM (SELECT * FROM {table} WHERE {person}) AS s({renamed})",
        f"WITH s AS (FROM {table}) SELECT * FROM s WHERE {person}",
        f"WITH s({renamed}) AS (SELECT * FROM {table} WHERE {person}) SELECT * FROM s",
        f"SELECT x FROM (SELECT {key} AS k, {column} AS x FROM {table}) WHERE k = {value}",
        f"PIVOT (SELECT * FROM {table} WHERE {person}) ON {key} USING SUM({column})",
        f"UNPIVOT (SELECT {column} FROM {table} WHERE {person}) ON COLUMNS(*)",
        f"SUMMARIZE SELECT {column} FROM {table} WHERE {person}",
        f"SELECT first({column}) FROM {table} WHERE {person}",
        f"SELECT any_value({column}) FROM {table} WHERE {person}",
        f"SELECT string_agg({column}, ',') FROM {table} WHERE {person}",
        f"SELECT histogram({column}) FROM {table} WHERE {person}",
        f"SELECT quantile_disc({column}, 0.5) FROM {table} WHERE {person}",
        f"SELECT DISTINCT {column} FROM {table} WHERE {person}",
        f"SELECT {column}, COUNT(*) FROM {table} WHERE {person} GROUP BY {column}",
        f"SELECT SUM({column}) OVER () FROM {table} WHERE {person}",
        f"SELECT lag({column}, 0) OVER (ORDER BY {key}) FROM {table} WHERE {person}",
        f"SELECT {column} FROM {table} WHERE {person} UNION SELECT {column} FROM {table} WHERE {person}",
        f"SELECT (SELECT {column} FROM {table} WHERE {person})",
        f"SELECT [{column}] FROM {table} WHERE {person}",
        f"SELECT {{'v': {column}}} FROM {table} WHERE {person}",
        f"SELECT q FROM query('SELECT {column} AS q FROM {table} WHERE {doubled}')",
        f"SELECT max FROM pragma_storage_info('{plain}')",
    ]


def renamed(target: Target) -> list[Claim]:
    """Each way to name the column without its name, asked of one person."""
    found = []
    for aim in target.aims[:1]:
        for sql in _statements(target, aim):
            rows = target.ask(sql)
            for value in _values(target, aim, rows or []):
                found.append(target.claim(aim, value, value, sql))
    return found


def _values(target: Target, aim: int, rows: object) -> list[Fraction]:
    """Numbers in an answer about one person that are not their public values."""
    public = {number(each) for each in target.rows[aim]} | {Fraction(0), Fraction(1)}
    found: list[Fraction] = []

    def walk(cell: object) -> None:
        if isinstance(cell, Mapping):
            for each in (cell[target.scene.column],) if target.scene.column in cell else cell.values():
                walk(each)
        elif isinstance(cell, list | tuple):
            for each in cell:
                walk(each)
        elif isinstance(cell, str) and cell[:1] in "{[0123456789":
            try:
                walk(json.loads(cell))
            except ValueError:
                return
        else:
            value = number(cell)
            inside = value is not None and target.scene.minimum <= value <= target.scene.maximum
            if value is not None and inside and value not in public and value not in found:
                found.append(value)

    walk(rows)
    return found[:3]


ATTACKS = (
    Attack(
        "other-names",
        "The column or a whole row under another name, in a structure, a star or a window.",
        f"{AIRCLOAK}, Attribute value inspection attacks; {OWN}",
        renamed,
    ),
)
