"""What an answer says of each of its groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import sqlglot
from sqlglot import exp

from auditor import Answer, Decision
from auditor.told import Range
from benchmarks.usefulness.log import Decided, Told


def protected_places(sql: str, column: str, columns: Sequence[str]) -> list[int]:
    """Which columns of an answer are worked out from a protected one, by the names that queries give.

    A name stands for the protected column wherever something worked out from it is called so; that is too
    much where two relations of a statement share a name, which no statement here does.
    """
    tree, names = sqlglot.parse_one(sql, dialect="duckdb"), {column.lower()}
    selects = list(tree.find_all(exp.Select))
    for _ in selects:  # inner ones may come later: until nothing is added
        for select in selects:
            for each in select.expressions:
                if isinstance(each, exp.Alias) and _reads(each, names):
                    names.add(each.alias.lower())
    outer = tree if isinstance(tree, exp.Select) else tree.find(exp.Select)
    assert outer is not None
    if len(outer.expressions) == len(columns):
        return [place for place, each in enumerate(outer.expressions) if _reads(each, names)]
    return [place for place, name in enumerate(columns) if name.lower() in names]


def _reads(tree: exp.Expr, names: set[str]) -> bool:
    return any(each.name.lower() in names for each in tree.find_all(exp.Column))


def decided(
    number: int, sql: str, column: str, answer: Answer | None, decision: Decision
) -> Iterator[Decided]:
    """A line for each row of an answer, or one for a statement that is not answered."""
    if answer is None:
        told: Told = "unsupported" if decision.verdict == "unsupported" else "refused"
        yield Decided(number, "", decision.verdict, decision.code, told, "")
        return
    places = protected_places(sql, column, answer.columns)
    ends = {(each.row, each.column): each for each in answer.ranges if each.row is not None}
    loose = [each for each in answer.ranges if each.row is None]
    seen = Counter[str]()
    for row, cells in enumerate(answer.fetchall()):
        found = [_cell(cells[place], ends.get((row, answer.columns[place]))) for place in places]
        if decision.code != "partial" and not answer.ranges:
            # nothing is withheld: NULL is the value
            found = [("exact", "NULL") if told == "withheld" else (told, value) for told, value in found]
        name = ", ".join(str(each) for place, each in enumerate(cells) if place not in places)
        seen[name] += 1
        name += f" #{seen[name]}" if seen[name] > 1 else ""
        yield Decided(number, name, decision.verdict, decision.code, *_together(found))
    for each in loose:
        # told of a value that the answer does not show by itself
        yield Decided(number, each.name, decision.verdict, decision.code, *_ended(each))


def _cell(value: object, ended: Range | None) -> tuple[Told, str]:
    if value is not None:
        return "exact", f"{value:.12g}" if isinstance(value, float) else str(value)
    return ("withheld", "–") if ended is None else _ended(ended)


def _ended(each: Range) -> tuple[Told, str]:
    return ("end" if each.least is None or each.most is None else "range"), each.sign


def _together(found: Sequence[tuple[Told, str]]) -> tuple[Told, str]:
    """Of several values in a row the one that says least."""
    for told in ("withheld", "range", "end"):
        if any(each == told for each, _ in found):
            return told, "; ".join(value for _, value in found)
    return "exact", "; ".join(value for _, value in found)
