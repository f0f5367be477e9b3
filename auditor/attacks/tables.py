"""Published tables: cells that are left out, worked out from margins, and groups made for one person."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from auditor.attacks.attack import Attack, nobody_alone
from auditor.attacks.selection import Selection, literal
from auditor.attacks.sources import GARFINKEL, OWN, SDC
from auditor.attacks.target import Claim, Target, number
from auditor.sql.schema import quoted

SMALL = 3
MOST = 40


def _pair(target: Target) -> tuple[str, str] | None:
    """Two columns of groups that put somebody alone into a cell; else any two."""
    names = target.categories(2, MOST)
    pairs = [(a, b) for place, a in enumerate(names) for b in names[place + 1 :]]
    return next((pair for pair in pairs if _lonely(target, pair)), pairs[0] if pairs else None)


def _cells(target: Target, columns: Sequence[str]) -> list[list[int]]:
    found: dict[tuple[object, ...], list[int]] = {}
    for record in range(target.size):
        found.setdefault(tuple(target.values[name][record] for name in columns), []).append(record)
    return list(found.values())


def _lonely(target: Target, columns: Sequence[str]) -> list[int]:
    named = set(target.alone)
    return [cell[0] for cell in _cells(target, columns) if len(cell) == 1 and cell[0] in named]


def no_pair(target: Target) -> str | None:
    """A table needs two columns of groups."""
    return nobody_alone(target) or (None if _pair(target) else "no two public columns have few values")


def margins(target: Target) -> list[Claim]:
    """Cells of fewer than three left out, and both margins: what is left out follows by subtraction."""
    pair = _pair(target)
    assert pair is not None
    for columns in (pair, pair[:1], pair[1:]):
        listed = ", ".join(quoted(name) for name in columns)
        having = f" HAVING COUNT(*) >= {SMALL}" if columns == pair else ""
        sql = f"SELECT {listed}, SUM({target.column}) FROM {target.table} GROUP BY {listed}{having}"
        _note_rows(target, columns, target.ask(sql))
    target.sum(target.everyone)
    return target.claims([*_lonely(target, pair)[:10], *target.aims])


def rollup(target: Target) -> list[Claim]:
    """All margins in one statement."""
    pair = _pair(target)
    assert pair is not None
    listed = ", ".join(quoted(name) for name in pair)
    for grouping in (f"ROLLUP ({listed})", f"CUBE ({listed})", f"GROUPING SETS (({listed}), ())"):
        rows = target.ask(f"SELECT {listed}, SUM({target.column}) FROM {target.table} GROUP BY {grouping}")
        for row in rows or []:
            kept = [(name, value) for name, value in zip(pair, row, strict=False) if value is not None]
            _note_row(target, [name for name, _ in kept], [value for _, value in kept], row[-1])
    return target.claims([*_lonely(target, pair)[:10], *target.aims])


def _note_rows(target: Target, columns: Sequence[str], rows: Sequence[tuple[object, ...]] | None) -> None:
    for row in rows or []:
        _note_row(target, columns, row[: len(columns)], row[len(columns)])


def _note_row(target: Target, columns: Sequence[str], values: Sequence[object], total: object) -> None:
    found = number(total)
    if found is None:
        return
    members = np.ones(target.size, dtype=np.bool_)
    for name, value in zip(columns, values, strict=True):
        members &= np.array([each == value for each in target.values[name]], dtype=np.bool_)
    text = " AND ".join(f"{quoted(n)} = {literal(v)}" for n, v in zip(columns, values, strict=True)) or "TRUE"
    target.note("sum", Selection(text, members), found)


def made_groups(target: Target) -> list[Claim]:
    """Grouping expressions that put one person apart from all others."""
    table, total = target.table, f"SUM({target.column})"
    found = []
    for aim in target.aims:
        person = target.only(aim).text
        keys = ", ".join(quoted(name) for name in target.names)
        where = " AND ".join(f"{quoted(name)} = {literal(target.values[name][aim])}" for name in target.names)
        rest = f"SELECT {total} AS s FROM {table} WHERE NOT ({person})"
        for sql in (
            f"SELECT ({person}) AS one, {total} FROM {table} GROUP BY one HAVING one",
            f"SELECT CASE WHEN {person} THEN 'x' ELSE 'y' END AS g, {total} FROM {table} "
            "GROUP BY g ORDER BY g",
            f"SELECT 'x', SUM(s) FROM (SELECT {keys}, {total} AS s FROM {table} GROUP BY {keys}) "
            f"WHERE {where}",
            f"SELECT 'x', {total} FROM {table} GROUP BY {keys} HAVING {where}",
            f"SELECT 'x', (SELECT {total} FROM {table}) - ({rest})",
            f"SELECT 'x', MAX({target.column}) FROM {table} WHERE {person} GROUP BY ALL",
            f"WITH a AS (SELECT {total} AS s FROM {table}), b AS ({rest}) SELECT 'x', a.s - b.s FROM a, b",
        ):
            rows = target.ask(sql)
            value = number(rows[0][1]) if rows else None
            if value is not None:
                found.append(target.claim(aim, value, value, "a group of one"))
    return found


ATTACKS = (
    Attack(
        "margins",
        "Small cells are left out of a table; its margins tell them.",
        f"{SDC}; {GARFINKEL}",
        margins,
        no_pair,
    ),
    Attack("rollup", "All margins in one statement.", f"{SDC}; {OWN}", rollup, no_pair),
    Attack("groups-of-one", "Groups that are made for one person.", OWN, made_groups),
)
