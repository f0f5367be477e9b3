"""An answer as a picture: bars where values are given, bands where only their ends are.

Promises that nothing is drawn that the rows and `Answer.ranges` do not say, and that a band is never taken
for a value. Runs nothing and reads no data.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from auditor.sql.limits import reread
from auditor.sql.statement import ENDS, Plan, aggregate_name, end_name
from auditor.told import Range

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_END = {word: re.compile(end_name(word, 0)[:-1] + r"(\d+)") for word in ENDS}
"""The relation's columns of AT_LEAST and AT_MOST."""
_AGGREGATE = re.compile(aggregate_name(0)[:-1] + r"\d+")
_MOST_LABELS = 60
NOTHING = (
    "nothing to draw: no column of numbers is worked out from a protected column in one SELECT of the answer"
)


@dataclass(frozen=True)
class _Measure:
    """What is drawn: one column, or the two that hold its ends."""

    name: str
    column: int | None = None
    low: int | None = None
    high: int | None = None

    @property
    def columns(self) -> set[int]:
        return {each for each in (self.column, self.low, self.high) if each is not None}


def draw(
    plan: Plan,
    columns: Sequence[str],
    rows: Sequence[tuple[Any, ...]],
    ranges: Sequence[Range],
    ax: Axes | None = None,
) -> Axes:
    """Draw an answer's protected aggregates, one bar or band for each row.

    Args:
        plan: The statement.
        columns: The answer's columns.
        rows: Its rows.
        ranges: What is told of values that are NULL in them.
        ax: Where; None: new axes.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: no column has a protected aggregate, or its ends; or there are too many rows to be read.
    """
    measures = [each for each in _measures(plan, columns) if _is_numeric(each, rows)]
    if not measures:
        raise ValueError(NOTHING)
    if len(rows) > _MOST_LABELS:
        raise ValueError(f"{len(rows):,} rows are too many to be read: ask for {_MOST_LABELS} at most")
    if ax is None:
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise ImportError("plotting needs matplotlib: pip install 'cae-sql[plot]'") from error
        ax = pyplot.subplots()[1]
    drawn = set().union(*(measure.columns for measure in measures))
    labels = [", ".join(_text(value) for i, value in enumerate(row) if i not in drawn) for row in rows]
    told = {(each.row, each.column): (each.least, each.most) for each in ranges if each.row is not None}
    width = 0.8 / len(measures)
    for number, measure in enumerate(measures):
        color = f"C{number % 10}"
        shift = (number - (len(measures) - 1) / 2) * width
        for place, row in enumerate(rows):
            low, high = _ends(measure, row, told.get((place, measure.name), (None, None)))
            if low is None and high is None:
                continue
            middle = place + shift
            if low == high and low is not None:
                ax.bar(middle, low, width, color=color)
            elif low is not None and high is not None:
                ax.bar(middle, high - low, width, low, color=color, alpha=0.35, edgecolor=color, hatch="//")
            elif low is None:
                ax.scatter([middle], [high or 0.0], marker="v", color=color)
            else:
                ax.scatter([middle], [low], marker="^", color=color)
        ax.bar([0], [0], width, color=color, label=measure.name)
    ax.set_xticks(range(len(rows)), labels, rotation=45 if len(rows) > 6 else 0)
    if len(measures) > 1:
        ax.legend()
    else:
        ax.set_ylabel(measures[0].name)
    return ax


def _measures(plan: Plan, columns: Sequence[str]) -> list[_Measure]:
    """The columns with protected aggregates; both ends of one aggregate are one."""
    tree: exp.Expr = reread(plan.final_sql)
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    if not isinstance(tree, exp.Select):
        return []
    blocks = {block.name for block in plan.blocks}
    singles: list[_Measure] = []
    pairs: dict[tuple[str, str], dict[str, int]] = {}
    for place, projection in enumerate(tree.expressions[: len(columns)]):
        read = [column for column in projection.find_all(exp.Column) if column.table in blocks]
        found = [(word, each.table, _END[word].fullmatch(each.name)) for each in read for word in ENDS]
        ends = {(word, (table, match[1])) for word, table, match in found if match}
        if len(ends) == 1:
            [(word, of)] = ends
            pairs.setdefault(of, {}).setdefault(word, place)
        elif not ends and any(_AGGREGATE.fullmatch(each.name) for each in read):
            singles.append(_Measure(columns[place], column=place))
    both = []
    for ends_of in pairs.values():
        low, high = (ends_of.get(word) for word in ENDS)
        name = " … ".join(columns[each] for each in (low, high) if each is not None)
        both.append(_Measure(name, low=low, high=high))
    return singles + both


def _is_numeric(measure: _Measure, rows: Sequence[tuple[Any, ...]]) -> bool:
    """Whether a measure has a height: a text or a truth that is worked out from an aggregate is a label."""
    values = [row[place] for row in rows for place in measure.columns if row[place] is not None]
    return all(isinstance(each, int | float | Decimal) and not isinstance(each, bool) for each in values)


def _ends(
    measure: _Measure, row: tuple[Any, ...], told: tuple[Any, Any]
) -> tuple[float | None, float | None]:
    if measure.column is None:
        low, high = (None if each is None else row[each] for each in (measure.low, measure.high))
        return _number(low), _number(high)
    value = _number(row[measure.column])
    return (value, value) if value is not None else (_number(told[0]), _number(told[1]))


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _text(value: object) -> str:
    return "NULL" if value is None else str(value)
