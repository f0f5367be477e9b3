"""A groups query over cells instead of rows.

Promises a query whose groups, public columns and orders are those of the given one, and whose lists name each
cell as often as the given query's lists name each of its records; or None where that is not certain, and the
rows are to be taken. The one occurrence of the protected table that the lists come from is replaced by its
cell table: one row of it stands for `weight` equal rows, through joins, conditions, derived tables and UNION
ALL, and COUNT adds weights. Subqueries of which only the set of rows matters read cells, too: under IN and
EXISTS, DISTINCT, MIN and MAX. All else in the query reads rows as before. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from auditor.data.cells import CellTable
from auditor.sql import guard, pure
from auditor.sql.limits import parse
from auditor.sql.schema import folded, quoted
from auditor.sql.scopes import own_nodes
from auditor.sql.shape import DATA
from auditor.sql.understood import NotUnderstood
from auditor.sql.writing import bracketed

# They are the same however often a row is repeated.
_INDIFFERENT = (exp.Min, exp.Max, exp.LogicalAnd, exp.LogicalOr)
_LEVELS = (exp.Grouping, exp.GroupingId)
# Parts of a SELECT, and of a set operation, under which equal rows are not just repeated.
_SELECT_PARTS = frozenset({"expressions", "from_", "joins", "where"})
_TOP_PARTS = _SELECT_PARTS | {"group", "having", "order", "limit", "offset"}
_UNION_PARTS = frozenset({"this", "expression"})
_JOIN_PARTS = frozenset({"this", "on", "side", "kind"})
_LONGEST = 20_000
# LIST is lowering's own; of a client it is ARRAY_AGG, and what has that is evaluated on rows
_AGGREGATES = frozenset(each.name for each in pure.ENTRIES if each.kind.startswith("aggregate")) - {"list"}


class _Rows(Exception):
    """The query is to be evaluated on rows."""


@dataclass(frozen=True)
class _Carried:
    """A source whose rows stand for several, as the SELECT around it sees it."""

    table: CellTable
    original: str
    """Name of the table that it stands for."""
    protected: Mapping[str, str]
    """The source's names of protected columns, and the table's."""
    readable: frozenset[str] | None
    """The public columns it has; None: all that the SELECT can name."""


def on_cells(groups_sql: str, tables: Mapping[str, CellTable]) -> str | None:
    """Rewrite a groups query, or say by None that it reads rows.

    Args:
        groups_sql: As lowering wrote it.
        tables: The cell tables, by the name of the table that each stands for.
    """
    if not tables or len(groups_sql) > _LONGEST:
        return None
    try:
        tree = parse(groups_sql)
        _name_lists(tree)
        # what two readings of one text do not agree on is left alone
        if not isinstance(tree, exp.Select) or bracketed(tree) != groups_sql:
            return None
        rewriting = _Rewriting(tables, groups_sql)
        rewriting.top(tree)
        rewriting.subqueries(tree)
        rewritten = bracketed(tree)
    except (_Rows, NotUnderstood, RecursionError):
        return None
    return rewritten if guard.refusal(rewritten, ()) is None else None


def public_on_cells(sql: str, tables: Mapping[str, CellTable]) -> str | None:
    """Rewrite a statement about public columns, or say by None that it reads rows.

    One SELECT that aggregates, groups or has DISTINCT, and reads one of the tables once, subqueries aside.

    Args:
        sql: As lowering wrote it.
        tables: The cell tables, by the name of the table that each stands for.
    """
    if (
        not tables
        or len(sql) > _LONGEST
        or not any(f'"{DATA}".{quoted(name)}' in folded(sql) for name in tables)
    ):
        return None
    try:
        tree = parse(sql)
        if not isinstance(tree, exp.Select) or bracketed(tree) != sql:
            return None
        rewriting = _Rewriting(tables, sql)
        rewriting.public(tree)
        rewriting.subqueries(tree)
        rewritten = bracketed(tree)
    except (_Rows, NotUnderstood, RecursionError):
        return None
    return rewritten if guard.refusal(rewritten, ()) is None else None


def _name_lists(tree: exp.Expr) -> None:
    for node in list(tree.find_all(exp.ArrayAgg)):
        node.replace(exp.Anonymous(this="LIST", expressions=[node.this]))


def _is_list(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this).upper() == "LIST"


class _Rewriting:
    """Rewrites one query in place."""

    def __init__(self, tables: Mapping[str, CellTable], text: str) -> None:
        self._tables = tables
        self._carriers: list[exp.Select] = []
        self._weight = "_weight"
        while self._weight in text:
            self._weight = "_" + self._weight

    def top(self, select: exp.Select) -> None:
        """The SELECT that groups.

        Raises:
            _Rows: it is to be evaluated on rows.
        """
        _require_parts(select, _TOP_PARTS)
        lists = [node for node in own_nodes(select) if _is_list(node)]
        columns = [node.expressions[0] for node in lists]
        if not columns or not all(isinstance(column, exp.Column) for column in columns):
            raise _Rows
        alias = _only(column.table for column in columns)
        self._weighed(select, alias, {column.name for column in columns})

    def public(self, select: exp.Select) -> None:
        """A SELECT that aggregates public columns, or of which only the set of rows matters.

        Raises:
            _Rows: it is to be evaluated on rows.
        """
        distinct = select.args.get("distinct")
        if distinct is None:
            _require_parts(select, _TOP_PARTS)
        else:
            _require_parts(select, _SELECT_PARTS | {"distinct", "order", "limit", "offset"})
        grouped = select.args.get("group") is not None
        aggregates = any(_aggregates(node) for node in own_nodes(select))
        if distinct is None and not grouped and not aggregates:
            raise _Rows
        if distinct is not None and (aggregates or distinct.args.get("on")):
            raise _Rows
        alias = _only(
            each.alias_or_name
            for each in _sources(select)
            if isinstance(each, exp.Table) and each.db == DATA and each.name in self._tables
        )
        self._weighed(select, alias, ())

    def _weighed(self, select: exp.Select, alias: str, names: Collection[str]) -> None:
        """Read cells in place of the source, and have COUNT add up their weights."""
        carried = self._source(select, alias, names)
        _require_plain(select, alias, carried, shows=False)
        for clause in ("expressions", "having", "order"):
            if any(isinstance(each, exp.Query) for each in _walk(select.args.get(clause))):
                raise _Rows  # an aggregate of this SELECT may stand inside
        for node in list(own_nodes(select)):
            if isinstance(node, exp.Count):
                self._weigh(node, alias, carried)
            elif _aggregates(node) and not isinstance(node, (*_INDIFFERENT, *_LEVELS)):
                raise _Rows

    def _source(self, select: exp.Select, alias: str, names: Collection[str]) -> _Carried:
        """Put cells in the place of a source of a SELECT."""
        self._carriers.append(select)
        for join in select.args.get("joins") or []:
            _require_parts(join, _JOIN_PARTS)
        chosen = [each for each in _sources(select) if each.alias_or_name == alias]
        if len(chosen) != 1:
            raise _Rows
        source = chosen[0]
        if isinstance(source, exp.Table):
            _require_parts(source, {"this", "db", "alias"})
            return self._table(source, alias, names)
        if isinstance(source, exp.Subquery):
            _require_parts(source, {"this", "alias"})
            return self._query(source.this, names, {column.name for column in _reads(select, alias)})
        raise _Rows

    def _table(self, source: exp.Table, alias: str, names: Collection[str]) -> _Carried:
        cells = self._tables.get(source.name)
        if source.db != DATA or cells is None or not set(names) <= cells.protected:
            raise _Rows
        twin = exp.table_(cells.name, db=DATA, quoted=True, alias=exp.to_identifier(alias, quoted=True))
        source.replace(twin)
        protected = {name: name for name in cells.protected}
        return _Carried(cells, source.name, protected, cells.columns)

    def _query(self, query: exp.Expr, names: Collection[str], read: Collection[str]) -> _Carried:
        """Put cells into a derived table and give it a column of weights; columns that nothing reads go."""
        if isinstance(query, exp.Select):
            return self._derived(query, names, read)
        if not isinstance(query, exp.Union):
            raise _Rows
        _require_parts(query, _UNION_PARTS)
        twins = _by_place(query.left.named_selects, query.right.named_selects)
        read = {*read, *names}
        if not read <= twins.keys() or len({twins[name] for name in read}) != len(read):
            raise _Rows
        left = self._query(query.left, names, read)
        right = self._query(query.right, {twins[name] for name in names}, {twins[name] for name in read})
        kept = {twins[name]: original for name, original in left.protected.items()}
        if right.original != left.original or right.protected != kept:
            raise _Rows
        if not set(names) <= set(left.protected):
            raise _Rows
        return _Carried(left.table, left.original, left.protected, None)

    def _derived(self, select: exp.Select, names: Collection[str], read: Collection[str]) -> _Carried:
        _require_parts(select, _SELECT_PARTS)
        outputs = {projection.alias_or_name: projection.unalias() for projection in select.expressions}
        if len(outputs) != len(select.expressions):
            raise _Rows
        kept = [each for each in select.expressions if each.alias_or_name in {*read, *names}]
        select.set("expressions", kept)
        outputs = {projection.alias_or_name: projection.unalias() for projection in kept}
        columns = [node for node in map(outputs.get, names) if isinstance(node, exp.Column)]
        if len(columns) != len(names) or not set(read) <= outputs.keys():
            raise _Rows
        alias = _only(column.table for column in columns)
        carried = self._source(select, alias, {column.name for column in columns})
        _require_plain(select, alias, carried, shows=True)
        if any(_aggregates(node) for node in own_nodes(select)):
            raise _Rows
        protected = {
            name: carried.protected[node.name]
            for name, node in outputs.items()
            if isinstance(node, exp.Column) and node.table == alias and node.name in carried.protected
        }
        if not set(names) <= set(protected):
            raise _Rows
        select.append("expressions", exp.alias_(self._weight_of(alias, carried), self._weight, quoted=True))
        return _Carried(carried.table, carried.original, protected, None)

    def subqueries(self, tree: exp.Select) -> None:
        """Put cells into the queries inside that are the same however often a row is repeated."""
        for select in list(tree.find_all(exp.Select)):
            if any(select is carrier for carrier in self._carriers) or not _is_set(select):
                continue
            for source in _sources(select):
                if not isinstance(source, exp.Table) or source.db != DATA:
                    continue
                cells = self._tables.get(source.name)
                if cells is None:
                    continue
                alias = source.alias_or_name
                carried = _Carried(
                    cells, source.name, {each: each for each in cells.protected}, cells.columns
                )
                try:
                    _require_parts(source, {"this", "db", "alias"})
                    _require_plain(select, alias, carried, shows=False)
                except _Rows:
                    continue
                self._table(source, alias, ())

    def _weight_of(self, alias: str, carried: _Carried) -> exp.Expr:
        # an outer join's row without a partner is one row
        name = self._weight if carried.readable is None else carried.table.weight
        return exp.Coalesce(
            this=exp.column(name, table=alias, quoted=True), expressions=[exp.Literal.number(1)]
        )

    def _weigh(self, count: exp.Count, alias: str, carried: _Carried) -> None:
        """COUNT of rows as the sum of the weights of cells."""
        if _counts_different(count):
            return
        if count.expressions or count.this is None:
            raise _Rows
        conditions = []
        holder: exp.Expr = count
        if isinstance(count.parent, exp.Filter):
            holder = count.parent
            conditions.append(holder.expression.this.copy())
        if not isinstance(count.this, exp.Star):
            conditions.append(exp.not_(exp.Is(this=count.this.copy(), expression=exp.Null()), copy=False))
        total: exp.Expr = exp.Sum(this=self._weight_of(alias, carried))
        if conditions:
            total = exp.Filter(this=total, expression=exp.Where(this=exp.and_(*conditions, copy=False)))
        whole = exp.Coalesce(this=total, expressions=[exp.Literal.number(0)])
        holder.replace(exp.cast(whole, exp.DataType.Type.BIGINT))


def _by_place(left: Sequence[str], right: Sequence[str]) -> dict[str, str]:
    """The right side's names by those of the left.

    Raises:
        _Rows: they are not as many, or the left has a name twice.
    """
    if len(left) != len(right) or len(set(left)) != len(left):
        raise _Rows
    return dict(zip(left, right, strict=True))


def _only(names: Iterable[str]) -> str:
    """The one name among them.

    Raises:
        _Rows: there are several.
    """
    found = set(names)
    if len(found) != 1:
        raise _Rows
    return found.pop()


def _require_plain(select: exp.Select, alias: str, carried: _Carried, shows: bool) -> None:
    """Columns of the source that are read are there; protected ones only listed, counted or shown.

    Raises:
        _Rows: one is not, or it is read otherwise.
    """
    for node in own_nodes(select):
        if isinstance(node, exp.Window):
            raise _Rows
        if isinstance(node, exp.Column) and not node.table and not _orders_by_output(node, select):
            raise _Rows
    for column in _reads(select, alias):
        if column.name in carried.protected:
            if not (_harmless(column) or (shows and _projected(column, select))):
                raise _Rows
        elif carried.readable is not None and column.name not in carried.readable:
            raise _Rows


def _orders_by_output(column: exp.Column, select: exp.Select) -> bool:
    """Whether a name without a table is what an ORDER BY has of the SELECT's own columns."""
    ordered = column.parent
    return (
        isinstance(ordered, exp.Ordered)
        and isinstance(ordered.parent, exp.Order)
        and ordered.parent.parent is select
        and column.name in select.named_selects
    )


def _reads(select: exp.Select, alias: str) -> Iterator[exp.Column]:
    """The columns of a source that a SELECT names, in the queries inside it too.

    Raises:
        _Rows: it names one in letters of another case, or all at once.
    """
    for column in select.find_all(exp.Column):
        if folded(column.table) == folded(alias) and not _hidden(column, select, alias):
            if column.table != alias or isinstance(column.this, exp.Star):
                raise _Rows
            yield column


def _hidden(column: exp.Column, select: exp.Select, alias: str) -> bool:
    """Whether a query inside the SELECT has a source of the alias's name, which is meant instead."""
    node: exp.Expr = column
    below: exp.Expr = column
    while node is not select and node.parent is not None:
        parent = node.parent
        if isinstance(parent, exp.Select) and parent is not select:
            # a source does not see the sources beside it
            beside = isinstance(node, exp.From) or (isinstance(node, exp.Join) and below.arg_key == "this")
            if not beside and any(folded(each.alias_or_name) == folded(alias) for each in _sources(parent)):
                return True
        below, node = node, parent
    return False


def _sources(select: exp.Select) -> list[exp.Expr]:
    """What a SELECT reads."""
    sources = [select.args["from_"].this] if select.args.get("from_") else []
    return sources + [join.this for join in select.args.get("joins") or []]


def _is_set(select: exp.Select) -> bool:
    """Whether a query inside another hangs on which rows there are, and not on how often each is there."""
    parts = _SELECT_PARTS | {"distinct"}
    distinct = select.args.get("distinct")
    if any(value for part, value in select.args.items() if part not in parts) or not select.args.get("from_"):
        return False
    if distinct is not None and distinct.args.get("on"):
        return False
    for join in select.args.get("joins") or []:
        if any(value for part, value in join.args.items() if part not in _JOIN_PARTS):
            return False
    found = [node for node in own_nodes(select) if _aggregates(node)]
    if found:
        return all(isinstance(node, _INDIFFERENT) or _counts_different(node) for node in found)
    query = select.parent if isinstance(select.parent, exp.Subquery) else select
    tested = isinstance(query.parent, exp.Exists) or (
        isinstance(query.parent, exp.In) and query.arg_key == "query"
    )
    return distinct is not None or tested


def _counts_different(node: exp.Expr) -> bool:
    return isinstance(node, exp.Count) and isinstance(node.this, exp.Distinct)


def _require_parts(node: exp.Expr, parts: Collection[str]) -> None:
    """Nothing but these may be there.

    Raises:
        _Rows: something is.
    """
    if any(value for part, value in node.args.items() if part not in parts):
        raise _Rows


def _walk(clause: object) -> list[exp.Expr]:
    nodes = clause if isinstance(clause, list) else [clause]
    return [inner for node in nodes if isinstance(node, exp.Expr) for inner in node.walk()]


def _aggregates(node: exp.Expr) -> bool:
    """Whether a node is an aggregate, other than the lists and counts of lowering."""
    if isinstance(node, exp.AggFunc):
        return True
    return isinstance(node, exp.Anonymous) and str(node.this).lower() in _AGGREGATES


def _harmless(column: exp.Column) -> bool:
    """Whether a protected column is listed, counted, or asked whether it is NULL."""
    parent = column.parent
    if isinstance(parent, exp.Is):
        return isinstance(parent.expression, exp.Null)
    return _is_list(parent) or isinstance(parent, exp.Count)


def _projected(column: exp.Column, select: exp.Select) -> bool:
    """Whether a column is one of the SELECT's, as it is."""
    projection = column.parent if isinstance(column.parent, exp.Alias) else column
    return projection.parent is select and projection.arg_key == "expressions"
