"""Lowering: a classified tree becomes one groups query per block and a final statement over their relations.

Promises that only nodes of the classified tree and fixed SQL are put together, that a groups query reads
public columns and record numbers alone, and that the final statement reads the relations instead of the
protected column. Groups that a public filter removes are not in the relation, so they are never asked.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from auditor.sql.arithmetic import read
from auditor.sql.around import argument_of, is_aggregate
from auditor.sql.grouping import CALLS, grouping
from auditor.sql.kinds import Kinds, Reading
from auditor.sql.linear import Argument
from auditor.sql.names import cte_of
from auditor.sql.ranges import end_of
from auditor.sql.scopes import conjuncts, own_nodes, sources_of
from auditor.sql.shape import Describe
from auditor.sql.statement import (
    ENDS,
    Aggregate,
    Block,
    Function,
    Term,
    aggregate_name,
    end_name,
    exact_name,
    told_name,
)
from auditor.sql.statistics import StatisticArgument
from auditor.sql.trees import derived, holder_of
from auditor.sql.understood import NotUnderstood
from auditor.sql.windows import is_windowed, rows_are_public
from auditor.sql.writing import bracketed, generate

_FUNCTIONS: dict[type[exp.Expr], Function] = {exp.Sum: "sum", exp.Avg: "avg", exp.Max: "max", exp.Min: "min"}
_NUMERIC = ("INTEGER", "UTINYINT", "USMALLINT", "UBIGINT", "TINYINT", "SMALLINT", "BIGINT", "HUGEINT",
            "UHUGEINT", "UINTEGER", "DECIMAL", "DOUBLE", "FLOAT", "BOOLEAN")  # fmt: skip
_MAX_EXPANSIONS = 200


def lower(kinds: Kinds, describe: Describe) -> tuple[Block, ...]:
    """Lower every block of a tree; the tree itself becomes the final statement."""
    name = _unused(kinds)
    return tuple(
        _Lowering(reading, f"{name}{number}", _outer_conditions(reading, kinds), describe).block()
        for number, reading in enumerate(kinds.blocks)
    )


def _unused(kinds: Kinds) -> str:
    """How the relations' names begin: no name of the statement does, so that none is taken for them."""
    used = {
        identifier.name
        for reading in kinds.readings
        for identifier in reading.select.find_all(exp.Identifier)
    }
    name = "_block"
    while any(each.startswith(name) for each in used):
        name = "_" + name
    return name


class _Lowering:
    """Lowers one block."""

    def __init__(self, reading: Reading, name: str, outer: list[exp.Expr], describe: Describe) -> None:
        self._reading = reading
        self._select = reading.select
        self._name = name
        self._outer = outer
        self._describe = describe
        self._grouping = grouping(self._select)
        self._keys = self._grouping.keys
        self._public: list[exp.Expr] = []
        self._protected: list[tuple[exp.Expr, exp.AggFunc, Argument | StatisticArgument]] = []
        self._ranged = [node for node in own_nodes(self._select) if end_of(node) is not None]
        self._worked_out: list[exp.Expr] = []
        for call in self._ranged:
            if not is_aggregate(argument_of(call)) and argument_of(call) not in self._worked_out:
                self._worked_out.append(argument_of(call).copy())
        self._collect()

    def _collect(self) -> None:
        for node in _aggregates(self._select):
            holder = holder_of(node)
            argument = self._reading.aggregates.get(id(node))
            if argument is None:
                if holder not in self._public:
                    self._public.append(holder)
            elif all(holder != known for known, _, _ in self._protected):
                self._protected.append((holder, node, argument))
        levels: list[exp.Expr] = [call for call in own_nodes(self._select) if isinstance(call, CALLS)]
        level = self._grouping.level()
        for call in levels + ([level] if level is not None else []):
            if call not in self._public:
                self._public.append(call)

    def block(self) -> Block:
        """The block; its SELECT is rewritten to read the relation."""
        plain = [(f"_k{i}", key) for i, key in enumerate(self._keys)]
        plain += [(f"_p{i}", node) for i, node in enumerate(self._public)]
        typed = plain + [(aggregate_name(i), holder) for i, (holder, _, _) in enumerate(self._protected)]
        typed += [(f"_w{i}", exp.Max(this=exp.paren(weight))) for i, weight in enumerate(self._weights())]
        types = self._describe(bracketed(self._query(typed)))
        for _, type_ in types[len(plain) :]:
            if not type_.startswith(_NUMERIC) or type_.endswith("]"):
                raise NotUnderstood("type", name=f"{type_} inside of an aggregate")
        columns = list(plain)
        arithmetic = tuple(self._term(each) for each in self._worked_out)
        inside = frozenset[int]().union(*(term.places("told") for term in arithmetic))
        aggregates = []
        starts: dict[tuple[str, ...], int] = {}
        for i, (holder, node, argument) in enumerate(self._protected):
            type_ = types[len(plain) + i][1]
            leaves = list(_leaf_columns(holder, argument))
            # SUM and AVG of one argument share their query set.
            start = starts.setdefault(tuple(generate(leaf) for leaf in leaves), len(columns))
            if start == len(columns):
                columns += [(f"_m{i}_{j}", leaf) for j, leaf in enumerate(leaves)]
            statistic = argument.statistic if isinstance(argument, StatisticArgument) else None
            function = (
                argument.function if isinstance(argument, StatisticArgument) else _FUNCTIONS[type(node)]
            )
            ranged = i in inside or any(call in self._ranged for call in _ends_of(holder).values())
            aggregates.append(
                Aggregate(argument.kind, function, type_, argument.leaves, start, ranged, statistic)
            )
        groups = self._query(columns)
        self._restrict(groups)
        grouped = self._select.args.get("group") is not None and self._is_shown()
        self._replace(plain)
        typed_columns = tuple(types[: len(plain)])
        return Block(self._name, bracketed(groups), typed_columns, tuple(aggregates), grouped, arithmetic)

    def _weights(self) -> list[exp.Expr]:
        """What the protected column is multiplied by inside of AT_LEAST and AT_MOST."""
        arguments = [each for _, _, each in self._protected if isinstance(each, StatisticArgument)]
        return [each.weight for each in arguments if each.weight is not None]

    def _term(self, expression: exp.Expr) -> Term:
        """What AT_LEAST or AT_MOST stands around, over the relation's columns."""
        protected = [holder for holder, _, _ in self._protected]
        public = [*self._keys, *self._public]

        def leaf(node: exp.Expr) -> Term | None:
            if node in protected:
                return Term("told", place=protected.index(node))
            return Term("public", place=public.index(node)) if node in public else None

        found = read(expression, leaf)
        if found is None:
            raise NotUnderstood("ungrouped")
        return found

    def _is_shown(self) -> bool:
        """Whether the groups are rows of the answer, and it can be told what hangs on several of them."""
        scope: Scope | None = self._reading.scope
        while scope is not None and scope.is_set_operation:
            scope = scope.parent
            if scope is None or not isinstance(scope.expression, exp.Union):
                return False
        windows = [node for node in own_nodes(self._select) if isinstance(node, exp.Window)]
        return scope is not None and scope.is_root and rows_are_public(self._select, windows, self._is_public)

    def _query(self, columns: list[tuple[str, exp.Expr]]) -> exp.Select:
        expand = _Expansion()
        query = exp.Select(expressions=[exp.alias_(expand(node), name) for name, node in columns])
        query.set("from_", expand(self._select.args["from_"]))
        query.set("joins", [expand(join) for join in self._select.args.get("joins") or []])
        if self._select.args.get("where"):
            query.set("where", expand(self._select.args["where"]))
        query.set("group", self._grouping.clause(expand))
        return query

    def _restrict(self, groups: exp.Select) -> None:
        """Leave out the groups that public filters remove; order the others by their keys."""
        expand = _Expansion()
        having = self._select.args.get("having")
        parts = list(conjuncts(having.this)) if having else []
        public = [node for node in parts if self._is_public(node)]
        kept = [expand(node) for node in public + self._outer]
        if kept:
            groups.set("having", exp.Having(this=exp.and_(*kept, copy=False)))
        total = self._total_order() if len(public) == len(parts) else None
        if total is not None:
            groups.set("order", exp.Order(expressions=[expand(node) for node in total]))
            for clause in ("limit", "offset"):
                # The relation is cut here; cutting it again would skip OFFSET's groups twice.
                groups.set(clause, self._select.args.get(clause))
                self._select.set(clause, None)
        elif self._keys:
            # A position names a column even where the key is a constant.
            places = [i + 1 for i in range(len(self._keys))]
            level = self._grouping.level()
            if level is not None:
                places.append(len(self._keys) + self._public.index(level) + 1)
            ordered = [exp.Ordered(this=exp.Literal.number(place)) for place in places]
            groups.set("order", exp.Order(expressions=ordered))

    def _is_public(self, node: exp.Expr) -> bool:
        if self._reading.nested and node.find(exp.Query):
            return False
        return not any(id(inner) in self._reading.aggregates for inner in node.walk())

    def _total_order(self) -> list[exp.Ordered] | None:
        """The statement's order if it ends in LIMIT, is public and tells all groups apart."""
        order, select = self._select.args.get("order"), self._select
        if not order or not select.args.get("limit") or select.args.get("distinct") or not self._keys:
            return None
        if self._grouping.sets or _has_windows(select):
            return None
        aliases = {projection.alias_or_name: projection.unalias() for projection in select.expressions}
        result, seen = [], []
        for ordered in order.expressions:
            node = ordered.this
            if isinstance(node, exp.Column) and not node.table:
                node = aliases.get(node.name, node)
            if isinstance(node, exp.Literal | exp.Var) or node.find(exp.Query) or not self._is_public(node):
                return None
            if not node.find(exp.Column, exp.AggFunc):
                continue  # a constant orders nothing
            if any(isinstance(column, exp.Column) and not column.table for column in node.walk()):
                return None
            seen.append(node)
            copy = ordered.copy()
            copy.set("this", node.copy())
            result.append(copy)
        told_apart = all(key in seen for key in self._keys if key.find(exp.Column))
        return result if told_apart and result else None

    def _replace(self, plain: list[tuple[str, exp.Expr]]) -> None:
        """Turn the SELECT into one over the relation."""
        select = self._select
        # constants are left as they are: not every number that equals one stands for the key
        names = [
            (node.copy(), self._held(name))
            for name, node in plain
            if node.find(exp.Column, exp.AggFunc, *CALLS)
        ]
        names[:0] = list(self._of_arithmetic(names))
        for i, (holder, _, _) in enumerate(self._protected):
            names += [(call, self._held(end_name(word, i))) for word, call in _ends_of(holder).items()]
            names.append((holder.copy(), self._held(aggregate_name(i))))
        having = select.args.get("having")
        for clause in ("where", "group", "from_", "joins"):
            select.set(clause, None)
        after = [having, *(select.args.get(clause) for clause in ("order", "qualify", "distinct"))]
        for clause in [*select.expressions, *after, *(select.args.get("windows") or [])]:
            if clause is not None:
                _substitute(clause, names)
                self._substitute_inside(clause, plain)
        if having:
            select.set("having", None)
            select.set("where", exp.Where(this=having.this))
        aliases = set(select.named_selects)
        for node in own_nodes(select):
            if (
                isinstance(node, exp.Column)
                and node.table != self._name
                and (node.table or node.name not in aliases)
            ):
                raise NotUnderstood("ungrouped")
        relation = exp.table_(self._name, db="main", catalog="temp", quoted=True)
        relation.set("alias", exp.TableAlias(this=exp.to_identifier(self._name, quoted=True)))
        select.set("from_", exp.From(this=relation))

    def _held(self, name: str) -> exp.Expr:
        """A column of the relation."""
        return exp.column(name, table=self._name, quoted=True)

    def _of_arithmetic(self, plain: list[tuple[exp.Expr, exp.Expr]]) -> Iterator[tuple[exp.Expr, exp.Expr]]:
        """Calls around arithmetic, and what stands for them: the engine's value where all of it is exact."""
        held = [(holder, self._held(exact_name(i))) for i, (holder, _, _) in enumerate(self._protected)]
        for number, expression in enumerate(self._worked_out):
            value = exp.paren(expression)
            _substitute(value, [*plain, *held])
            exact = exp.cast(value, "DOUBLE", dialect="duckdb")
            for word, call in _ends_of(expression).items():
                end = self._held(end_name(word, len(self._protected) + number))
                yield call, exp.Case().when(self._held(told_name(number)), exact.copy()).else_(end)

    def _substitute_inside(self, clause: exp.Expr, plain: list[tuple[str, exp.Expr]]) -> None:
        """In subqueries, replace references to this SELECT's rows, which must be keys, by the relation's."""
        for query in list(clause.find_all(exp.Query)):
            for column in list(query.find_all(exp.Column)):
                if id(column) not in self._reading.read_inside:
                    continue
                found = [name for name, node in plain[: len(self._keys)] if node == column]
                if not found:
                    raise NotUnderstood("ungrouped")
                column.replace(exp.column(found[0], table=self._name, quoted=True))


def _ends_of(holder: exp.Expr) -> dict[str, exp.Expr]:
    """AT_LEAST and AT_MOST of an aggregate, as `ranges.plainer` writes them."""
    return {word: exp.Anonymous(this=word, expressions=[holder.copy()]) for word in ENDS}


def _leaf_columns(holder: exp.Expr, argument: Argument | StatisticArgument) -> Iterator[exp.Expr]:
    for leaf in argument.leaves:
        condition = argument.condition(leaf)
        # of a statistic, FILTER may have conditions on values: the public ones are the argument's
        if isinstance(holder, exp.Filter) and isinstance(argument, Argument):
            condition = exp.and_(holder.expression.this.copy(), condition)
        once = argument.once if isinstance(argument, Argument) else None
        of = argument.record if leaf.coefficient else once
        held: exp.Expr = exp.Star() if of is None else of.copy()
        if once is not None:
            held = exp.Distinct(expressions=[held])
        column: exp.Expr = exp.Count(this=held)
        if leaf.coefficient:
            column = exp.Anonymous(this="LIST", expressions=[held])
        yield exp.Filter(this=column, expression=exp.Where(this=condition))
        if isinstance(argument, StatisticArgument) and argument.weight is not None:
            # two lists of the same rows need not be in the same order
            assert argument.record is not None
            by_record = [exp.Ordered(this=argument.record.copy())]
            ordered = exp.Order(this=argument.weight.copy(), expressions=by_record)
            listed = exp.Anonymous(this="LIST", expressions=[ordered])
            yield exp.Filter(this=listed, expression=exp.Where(this=condition.copy()))


def _aggregates(select: exp.Select) -> list[exp.AggFunc]:
    nodes = own_nodes(select)
    found = [node for node in nodes if isinstance(node, exp.AggFunc) and not isinstance(node, CALLS)]
    return [node for node in found if not is_windowed(node)]


def _has_windows(select: exp.Select) -> bool:
    return any(isinstance(node, exp.Window | exp.Qualify) for node in own_nodes(select))


def _substitute(root: exp.Expr, held: list[tuple[exp.Expr, exp.Expr]]) -> None:
    """Replace, from the outside in, what the relation holds by what is read of it."""
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, exp.Query):
            continue
        for known, instead in held:
            if type(known) is type(node) and known == node:
                node.replace(instead.copy())
                break
        else:
            pending.extend(node.iter_expressions())


def _outer_conditions(reading: Reading, kinds: Kinds) -> list[exp.Expr]:
    """Conjuncts of the only reader's WHERE on public columns of a block, as conditions on its groups."""
    select, scope = reading.select, reading.scope
    if select.args.get("limit") or select.args.get("offset") or _has_windows(select):
        return []
    if select.args.get("distinct") and select.args["distinct"].args.get("on"):
        return []  # which row of several is kept hangs on all of them
    readers = [
        (other, name)
        for other in kinds.readings
        for name, source in sources_of(other.scope)
        if source is scope
    ]
    if len(readers) != 1:
        return []
    outer, name = readers[0]
    where = outer.select.args.get("where")
    if where is None or outer.select.args.get("joins"):
        return []
    outputs = {projection.alias_or_name: projection.unalias() for projection in select.expressions}
    public = {
        output: node
        for output, node in outputs.items()
        # a constant loses its type when it is written into a condition
        if not node.find(exp.Query)
        and node.find(exp.Column, exp.AggFunc)
        and not any(id(inner) in reading.aggregates for inner in node.walk())
    }
    result = []
    for conjunct in conjuncts(where.this):
        columns = list(conjunct.find_all(exp.Column))
        if conjunct.find(exp.Query) or not columns:
            continue
        if all(column.table == name and column.name in public for column in columns):
            result.append(_rewritten(conjunct, public))
    return result


def _rewritten(conjunct: exp.Expr, outputs: dict[str, exp.Expr]) -> exp.Expr:
    holder = exp.paren(conjunct)
    for column in list(holder.find_all(exp.Column)):
        column.replace(exp.paren(outputs[column.name]))
    return holder


class _Expansion:
    """Copies nodes with WITH queries written out where they are read, so that a copy stands alone."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, node: exp.Expr) -> exp.Expr:
        copy = node.copy()
        pairs = list(zip(node.find_all(exp.Table), copy.find_all(exp.Table), strict=True))
        inside = {id(inner) for inner in node.walk()}
        for original, twin in pairs:
            cte = cte_of(original)
            if cte is None or id(cte) in inside:
                continue
            self._count += 1
            if self._count > _MAX_EXPANSIONS:
                raise NotUnderstood("too-large")
            twin.replace(derived(self(cte.this), original.alias_or_name))
        return copy
