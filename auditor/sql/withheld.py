"""The final statement where some aggregates are not given exactly: NULL, and so is all that is made of them.

Promise: nothing that is worked out from an aggregate that is not given looks like a value. An expression of
it is NULL in the rows of its group; where something else than a cell of the answer would hang on it (a
condition, a total, a derived table), there is no such statement, and nothing of it is shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from auditor.sql.beside_answer import Beside, beside, guarded
from auditor.sql.limits import reread
from auditor.sql.rules.sum_truths import total_of
from auditor.sql.statement import Block, Plan, aggregate_name
from auditor.sql.writing import bracketed

GROUP = "_group"
"""Of a block's relation: the group's position."""


def mark_name(position: int) -> str:
    """Of a block's relation: whether the aggregate is not given exactly in a group."""
    return f"_w{position}"


def lost_name(position: int) -> str:
    """Of a block's relation: whether nothing at all is told of the aggregate in a group."""
    return f"_n{position}"


@dataclass(frozen=True)
class Rest:
    """What is left to run, over relations with `GROUP` and marks."""

    sql: str
    cells: Mapping[tuple[int, int], int]
    """By block and aggregate, the column of the answer that is just that."""
    numbered: int | None
    """The block whose group stands in a further column, the last one, where there is one."""


def rest_of(plan: Plan, withheld: Mapping[int, Collection[int]]) -> Rest | None:
    """The rest of a statement; None where more would be worked out from what is not given.

    Args:
        plan: The statement.
        withheld: By position of the block, positions of the aggregates that some group lacks.
    """
    tree = reread(plan.final_sql)
    shown = list(_shown(tree))
    cells: dict[tuple[int, int], int] = {}
    for place, lacking in withheld.items():
        block = plan.blocks[place]
        homes = [select for select in shown if _source(select) == block.name]
        stands = beside(tree, block) if block.grouped and not homes else None
        if stands is not None:
            for column, aggregate in _beside_rows(stands, lacking):
                cells.setdefault((place, aggregate), column)
            continue
        if not block.grouped and not _harmless(tree, block, lacking, homes, shown):
            return None
        for select in homes:
            if select.args.get("where"):
                _put_conditions(select.args["where"].this, block, lacking)
        for select in shown:
            for column, projection in enumerate(select.expressions):
                value = projection.unalias()
                marks = _marks(value, block, lacking)
                if select not in homes:
                    if _reads_any(value, block, lacking):
                        _put(projection, exp.cast(exp.null(), plan.types[column], dialect="duckdb"))
                    continue
                bare = total_of(value)
                exact = next((i for i in lacking if _is(bare, block, i)), None)
                if exact is not None:
                    cells.setdefault((place, exact), column)
                if marks and (exact is None or bare is not value):
                    _put(projection, _guarded(value, block, marks, _under_windows(value, block, lacking)))
    numbered = None
    if shown == [tree] and not tree.args.get("distinct"):
        found = [place for place in withheld if plan.blocks[place].name == _source(shown[0])]
        if found:
            numbered = found[0]
            shown[0].select(exp.column(GROUP, table=_source(shown[0]), quoted=True), copy=False)
    return Rest(bracketed(tree), cells, numbered)


def _beside_rows(stands: Beside, lacking: Collection[int]) -> Iterator[tuple[int, int]]:
    """Let what is worked out from groups beside rows be NULL, in place; cells that are just one of them."""
    marks = {i: mark_name(i) for i in lacking}
    for column, projection, lost in guarded(stands, marks):
        value, (first, *more) = projection.unalias(), sorted(lost)
        if isinstance(value.unnest(), exp.Column) and not more:
            yield column, first
        lacks = exp.or_(*(exp.column(marks[i], table=stands.name, quoted=True) for i in (first, *more)))
        _put(projection, exp.Case().when(lacks, exp.null()).else_(value.copy()))


def _shown(tree: exp.Expr) -> Iterator[exp.Select]:
    """The SELECTs whose rows are rows of the answer."""
    if isinstance(tree, exp.Subquery):
        tree = tree.this
    if isinstance(tree, exp.SetOperation):
        yield from _shown(tree.this)
        yield from _shown(tree.expression)
    elif isinstance(tree, exp.Select):
        yield tree


def _source(select: exp.Select) -> str:
    source = select.args.get("from_")
    return source.this.name if source is not None and isinstance(source.this, exp.Table) else ""


def _harmless(
    tree: exp.Expr,
    block: Block,
    lacking: Collection[int],
    homes: list[exp.Select],
    shown: list[exp.Select],
) -> bool:
    """Whether what a block that is no list of groups lacks is read by cells of the answer alone.

    Of such a block something is told of each aggregate, so what AT_LEAST and AT_MOST give is a value.
    """
    if not _reads_any(tree, block, lacking):
        return True
    cells = {id(node) for select in shown for cell in select.expressions for node in cell.walk()}
    sources = {id(select.args["from_"].this) for select in homes}
    read = [node for node in tree.find_all(exp.Table) if node.name == block.name]
    if not all(id(node) in cells or id(node) in sources for node in read):
        return False
    for select in homes:
        for clause in ("where", "qualify", "distinct", "windows", "joins"):
            part = select.args.get(clause)
            if part and (clause != "where" or _reads_any(part, block, lacking)):
                return False
        if any(cell.find(exp.Window, exp.AggFunc) for cell in select.expressions):
            return False
    return not any(isinstance(node, exp.SetOperation) and node.args.get("distinct") for node in tree.walk())


def _reads(node: exp.Expr, block: Block, aggregate: int) -> bool:
    return any(_is(column, block, aggregate) for column in node.find_all(exp.Column))


def _is(node: exp.Expr, block: Block, aggregate: int) -> bool:
    return isinstance(node, exp.Column) and (node.table, node.name) == (block.name, aggregate_name(aggregate))


def _inside(node: exp.Expr, block: Block) -> bool:
    return any(table.name == block.name for table in node.find_all(exp.Table))


def _reads_any(node: exp.Expr, block: Block, aggregates: Collection[int]) -> bool:
    return any(_reads(node, block, i) for i in aggregates)


def _marks(value: exp.Expr, block: Block, lacking: Collection[int]) -> list[str]:
    """The marks of what an expression reads that may be withheld."""
    columns = {column.name for column in value.find_all(exp.Column) if column.table == block.name}
    exact = [mark_name(i) for i in lacking if aggregate_name(i) in columns]
    return exact + [lost_name(i) for i in lacking if block.ends_of(columns, i)]


def _put_conditions(condition: exp.Expr, block: Block, lacking: Collection[int]) -> None:
    """Let what is said of a value that is withheld be unknown, and so neither true nor false."""
    if isinstance(condition, exp.And | exp.Or | exp.Not | exp.Paren):
        for part in list(condition.iter_expressions()):
            _put_conditions(part, block, lacking)
        return
    marks = _marks(condition, block, lacking)
    if marks:
        condition.replace(exp.paren(_guarded(condition, block, marks)))


def _under_windows(value: exp.Expr, block: Block, lacking: Collection[int]) -> list[exp.Expr]:
    """Whether windows read a group of which something is withheld: its mark, under the same window."""
    found = list[exp.Expr]()
    for window in value.find_all(exp.Window):
        for mark in _marks(window.this, block, lacking):
            copy = window.copy()
            copy.set("this", exp.LogicalOr(this=exp.column(mark, table=block.name, quoted=True)))
            found.append(copy)
    return found


def _guarded(value: exp.Expr, block: Block, marks: list[str], windows: Sequence[exp.Expr] = ()) -> exp.Expr:
    lacks = exp.or_(*(exp.column(mark, table=block.name, quoted=True) for mark in marks), *windows)
    return exp.Case().when(lacks, exp.null()).else_(value.copy())


def _put(projection: exp.Expr, value: exp.Expr) -> None:
    """Let a column of the answer be something else, under its name."""
    if isinstance(projection, exp.Alias):
        projection.set("this", value)
    else:
        projection.replace(exp.alias_(value, projection.alias_or_name, quoted=True))
