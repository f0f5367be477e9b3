"""Queries: SELECT with its clauses, set operations and WITH, as PostgreSQL reads them.

Promises that the translated query has PostgreSQL's column names, and that each name in it says which table it
is of.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from auditor.sql.postgres import casts, functions, series
from auditor.sql.postgres.aggregates import ordered
from auditor.sql.postgres.expressions import Expressions, only, parameter
from auditor.sql.postgres.naming import NAMELESS, figured
from auditor.sql.postgres.scopes import Output, Relation, Scope, name_of, passed_on, relation
from auditor.sql.postgres.values import Value, cast, no_operator, refuse
from auditor.sql.rules.write_rows import flat, plainer
from auditor.sql.schema import folded, quoted
from auditor.sql.trees import copied
from auditor.sql.understood import NotUnderstood

_SET_OPERATIONS: dict[type[exp.Expr], str] = {
    exp.Union: "UNION",
    exp.Intersect: "INTERSECT",
    exp.Except: "EXCEPT",
}
MOST_QUERIES = 5_000
"""Queries gone through for one statement: those inside of set operations are more than once."""
_SIDES = {"": "", "LEFT": "LEFT ", "RIGHT": "RIGHT ", "FULL": "FULL "}


def translated(
    node: exp.Expr, scope: Scope, names: list[str] | None = None, wanted: list[Value] | None = None
) -> Output:
    """A query.

    Args:
        node: SELECT, a set operation, or one in parentheses.
        scope: An empty scope, with what is around it.
        names: Names for the leading columns, where the query's alias lists them.
        wanted: Kinds and scales of the columns, where the query around it says so.
    """
    return _translated(node, scope, names, wanted, {})


Known = dict[tuple[int, tuple[Value, ...] | None, tuple[str, ...] | None], Output]
"""Parts of one set operation that are translated already, by node, kinds that were wanted, and names."""


def _translated(
    node: exp.Expr, scope: Scope, names: list[str] | None, wanted: list[Value] | None, known: Known
) -> Output:
    if next(scope.work) >= MOST_QUERIES:
        raise NotUnderstood("too-large")
    if isinstance(node, exp.Subquery):
        only(node, "this", "with_", "order", "limit", "offset")
        if not any(node.args.get(each) for each in ("with_", "order", "limit", "offset")):
            inner = _translated(node.this, scope, names, wanted, known)
            return replace(inner, text=f"({inner.text})")
        raise NotUnderstood("construct", name="ORDER BY after a query in parentheses")
    if isinstance(node, exp.Select):
        return _Select(node, scope).output(names, wanted)
    if type(node) in _SET_OPERATIONS:
        return _set_operation(node, scope, names, wanted, known)
    if isinstance(node, exp.Values):
        raise NotUnderstood("values")
    raise NotUnderstood("construct", name="This query")


def _with(node: exp.Expr, scope: Scope) -> str:
    clause = node.args.get("with_")
    if clause is None:
        return ""
    if clause.args.get("recursive"):
        raise NotUnderstood("recursive")
    pieces = []
    for cte in clause.expressions:
        only(cte, "this", "alias", "materialized")
        name = name_of(cte.args["alias"].this)
        names = [name_of(each) for each in cte.args["alias"].args.get("columns") or []]
        if not isinstance(cte.this, exp.Query):
            raise NotUnderstood("statement-inside")
        output = translated(cte.this, scope.beside(), names)
        _distinct_names(output)
        scope.queries[name] = tuple(passed_on(*each) for each in output.columns)
        pieces.append(f"{quoted(name)} AS ({output.text})")
    return f"WITH {', '.join(pieces)} "


def _distinct_names(output: Output) -> None:
    seen: set[str] = set()
    for name, _ in output.columns:
        if folded(name) in seen:
            raise NotUnderstood("duplicate-column", name=name)
        seen.add(folded(name))


def _set_operation(
    node: exp.Expr, scope: Scope, names: list[str] | None, wanted: list[Value] | None, known: Known
) -> Output:
    only(node, "with_", "this", "expression", "distinct", "order", "limit", "offset")
    with_ = _with(node, scope)

    def part(side: exp.Expr, fit: list[Value] | None, named: list[str] | None) -> Output:
        # twice, for the kinds and to fit them: without `known`, 2^n times in a chain of n
        asked = id(side), None if fit is None else tuple(fit), None if named is None else tuple(named)
        if asked not in known:
            known[asked] = _translated(side, scope.beside(), named, fit, known)
        return known[asked]

    left, right = part(node.this, None, names), part(node.args["expression"], None, None)
    if len(left.columns) != len(right.columns):
        raise refuse("the parts of a set operation have different numbers of columns")
    pairs = [functions.unify(a, b) for (_, a), (_, b) in zip(left.columns, right.columns, strict=True)]
    fit = wanted or [functions.like("", kind, *parts) for kind, parts in pairs]
    left, right = part(node.this, fit, names), part(node.args["expression"], fit, None)
    columns = [(name, each) for (name, _), each in zip(left.columns, fit, strict=True)]
    word = _SET_OPERATIONS[type(node)] + ("" if node.args.get("distinct") else " ALL")
    texts = [
        _operand(output.text, side) for output, side in ((left, node.this), (right, node.args["expression"]))
    ]
    output = Output(f"{with_}{texts[0]} {word} {texts[1]}", tuple(columns))
    return replace(output, text=output.text + _ending(node, output, None))


def _operand(text: str, side: exp.Expr) -> str:
    plain = isinstance(side, exp.Select | exp.Subquery) and not any(
        side.args.get(each) for each in ("with_", "order", "limit", "offset")
    )
    return text if plain else f"({text})"


def _ending(node: exp.Expr, output: Output, expressions: Expressions | None) -> str:
    """ORDER BY, LIMIT and OFFSET."""
    text = ""
    order = node.args.get("order")
    if order is not None:
        only(order, "expressions")
        keys = [ordered(each, _order_key(each.this, output, expressions)) for each in order.expressions]
        text += f" ORDER BY {', '.join(keys)}"
    limit = node.args.get("limit")
    if isinstance(limit, exp.Fetch):
        only(limit, "direction", "count", "limit_options")
        options = limit.args.get("limit_options")
        if options is not None and (options.args.get("with_ties") or options.args.get("percent")):
            raise NotUnderstood("construct", name="FETCH … WITH TIES")
        text += f" LIMIT {_number_of_rows(limit.args.get('count')) or '1'}"
    elif limit is not None:
        only(limit, "expression")
        rows = _number_of_rows(limit.expression)
        text += f" LIMIT {rows}" if rows else ""
    offset = node.args.get("offset")
    if offset is not None:
        only(offset, "expression")
        rows = _number_of_rows(offset.expression)
        text += f" OFFSET {rows}" if rows else ""
    return text


def _number_of_rows(node: exp.Expr | None) -> str:
    """A number of rows; empty for ALL and NULL, which are no limit."""
    if node is None or isinstance(node, exp.Null) or (isinstance(node, exp.Var | exp.Column | exp.All) and
                                                      node.name.upper() in ("ALL", "")):  # fmt: skip
        return ""
    if isinstance(node, exp.Literal) and node.name.isdecimal():
        return node.name
    if isinstance(node, exp.Parameter | exp.Placeholder):
        return parameter(node).text
    raise NotUnderstood("construct", name="LIMIT with an expression")


def _order_key(node: exp.Expr, output: Output, expressions: Expressions | None) -> Value:
    if isinstance(node, exp.Literal) and not node.args.get("is_string"):
        if not node.name.isdecimal() or not 1 <= int(node.name) <= max(len(output.columns), 1):
            raise refuse(f"there is no column {node.name[:10]} to order by")
        return (
            replace(output.columns[int(node.name) - 1][1], text=node.name)
            if output.columns
            else Value(node.name, "")
        )
    if isinstance(node, exp.Column) and not node.table and not isinstance(node.this, exp.Star):
        name = name_of(node.this)
        found = [value for each, value in output.columns if each == name]
        if len(found) > 1 and any(value.text != found[0].text for value in found):
            raise refuse(f"{name} is the name of several columns", "Name them apart with AS.")
        if found and any(each != name and folded(each) == folded(name) for each, _ in output.columns):
            raise refuse(f"{name} is the name of several columns to DuckDB", "Name them apart with AS.")
        if found:
            return replace(found[0], text=quoted(name))
    if expressions is None:
        raise refuse("ORDER BY after a set operation by anything but a column of the result", "Use its name.")
    value = expressions.value(node)
    if value.constant is not None or value.kind in ("unknown", "parameter"):
        # DuckDB would take a number for a position.
        raise refuse("ORDER BY a constant", "Leave it out.")
    return value


class _Select:
    """One SELECT on its way."""

    def __init__(self, node: exp.Select, scope: Scope) -> None:
        only(
            node, "with_", "distinct", "expressions", "from_", "joins", "where", "group", "having", "order",
            "limit", "offset", "windows",
        )  # fmt: skip
        flat(node)
        _inline_windows(node)
        self._node = node
        self._scope = scope
        self._expressions = Expressions(scope, translated)
        self._using = False
        self._starred = False

    def output(self, names: list[str] | None, wanted: list[Value] | None) -> Output:
        """The translated SELECT."""
        node = self._node
        text = _with(node, self._scope)
        source = self._from()
        columns, projections = self._projections(names, wanted)
        # In a query with * whose columns are not all known, positions are not either.
        output = Output("", tuple(columns))
        text += f"SELECT {self._distinct()}{', '.join(projections)}{source}"
        for clause, word in (("where", "WHERE"), ("having", "HAVING")):
            if word == "HAVING" and node.args.get("group") is not None:
                text += f" GROUP BY {self._group(node.args['group'], columns)}"
            if node.args.get(clause) is not None:
                text += f" {word} {self._expressions.selected(node.args[clause].this)}"
        return replace(output, text=text + _ending(node, output, self._expressions))

    def _from(self) -> str:
        clause = self._node.args.get("from_")
        if clause is None:
            return ""
        text = f" FROM {self._source(clause.this)}"
        for join in self._node.args.get("joins") or []:
            text += self._join(join)
        return text

    def _source(self, node: exp.Expr) -> str:
        if isinstance(node, exp.Values):
            node = _as_subquery(node)
        if isinstance(node, exp.Unnest) or (
            isinstance(node, exp.Table) and not isinstance(node.this, exp.Identifier)
        ):
            name, text, columns = series.source(node, self._expressions)
            self._scope.add(relation(name, Output("", columns)))
            return text
        if isinstance(node, exp.Table):
            only(node, "this", "db", "catalog", "alias")
            name, found = self._scope.table(node)
            if node.args.get("alias"):
                found = _renamed(node.args["alias"], found)
            self._scope.add(found)
            return f"{name} AS {quoted(found.alias)}"
        if isinstance(node, exp.Lateral):
            return self._lateral(node)
        if not isinstance(node, exp.Subquery) or not isinstance(node.this, exp.Query):
            raise NotUnderstood("construct", name="A table in parentheses")
        only(node, "this", "alias")
        alias = node.args.get("alias")
        name = name_of(alias.this) if alias else f"_q{len(self._scope.relations)}"
        names = [name_of(each) for each in (alias.args.get("columns") or [])] if alias else []
        # A derived table sees the WITH queries, not its neighbours in FROM.
        output = translated(node.this, self._scope.beside(), names)
        _distinct_names(output)
        self._scope.add(relation(name, Output("", tuple(passed_on(*each) for each in output.columns))))
        return f"({output.text}) AS {quoted(name)}"

    def _lateral(self, node: exp.Lateral) -> str:
        """A query that sees its neighbours before it."""
        alias = node.args.get("alias")
        if (
            not isinstance(node.this, exp.Subquery)
            or not isinstance(node.this.this, exp.Query)
            or alias is None
        ):
            raise NotUnderstood("lateral")
        names = [name_of(each) for each in alias.args.get("columns") or []]
        output = translated(node.this.this, self._scope.inside(), names)
        _distinct_names(output)
        name = name_of(alias.this)
        self._scope.add(relation(name, Output("", tuple(passed_on(*each) for each in output.columns))))
        return f"LATERAL ({output.text}) AS {quoted(name)}"

    def _join(self, node: exp.Join) -> str:
        only(node, "this", "on", "using", "side", "kind", "method")
        kind, side = str(node.args.get("kind") or "").upper(), str(node.args.get("side") or "").upper()
        natural = str(node.args.get("method") or "").upper() == "NATURAL"
        if kind not in ("", "INNER", "CROSS", "OUTER") or side not in _SIDES:
            raise NotUnderstood("join-kind")
        if node.args.get("method") and not natural:
            raise NotUnderstood("join-kind")
        before = list(self._scope.relations)
        text = self._source(node.this)
        on, using = node.args.get("on"), node.args.get("using")
        if natural:
            right = self._scope.relations[-1].columns
            known = [name for each in before for name in each.columns]
            names = [name for name in dict.fromkeys(known) if name in right]
            using = [exp.to_identifier(name, quoted=True) for name in names]
            if not using:
                return f" CROSS JOIN {text}" if not side else f" {_SIDES[side]}JOIN {text} ON TRUE"
        if on is not None:
            return f" {_SIDES[side]}JOIN {text} ON {self._expressions.selected(on)}"
        if using:
            names = [name_of(each) for each in using]
            self._merge(names, before, side)
            return f" {_SIDES[side]}JOIN {text} USING ({', '.join(quoted(name) for name in names)})"
        if side or kind in ("INNER", "OUTER"):
            raise NotUnderstood("syntax")
        return f" CROSS JOIN {text}" if kind == "CROSS" else f", {text}"

    def _merge(self, names: list[str], before: list[Relation], side: str) -> None:
        self._using = True
        for name in names:
            found = [value for each in before if (value := each.columns.get(name)) is not None]
            right = self._scope.relations[-1].columns.get(name)
            if len(found) != 1 or right is None:
                raise refuse(f"USING ({name})", "Write the condition with ON.")
            kind, _ = functions.unify(found[0], right)
            if found[0].kind != right.kind:
                raise no_operator(found[0], right)
            merged = f"COALESCE({found[0].text}, {right.text})" if side == "FULL" else ""
            text = merged or (right.text if side == "RIGHT" else found[0].text)
            self._scope.merged[name] = replace(found[0], text=text, kind=kind)

    def _distinct(self) -> str:
        node = self._node.args.get("distinct")
        if node is None:
            return ""
        on = node.args.get("on")
        if on is None:
            return "DISTINCT "
        keys = on.expressions if isinstance(on, exp.Tuple) else [on]
        values = [self._expressions.value(each.unnest()) for each in keys]
        if any(value.constant is not None for value in values):
            raise refuse("DISTINCT ON a position or constant", "Write the expression.")
        return f"DISTINCT ON ({', '.join(value.text for value in values)}) "

    def _projections(
        self, names: list[str] | None, wanted: list[Value] | None
    ) -> tuple[list[tuple[str, Value]], list[str]]:
        columns: list[tuple[str, Value]] = []
        texts: list[str] = []
        for node in self._node.expressions:
            if isinstance(node, exp.Star) or (
                isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
            ):
                held = self._star(node)
                if self._using or names or wanted:
                    # PostgreSQL puts the columns of USING first; and others may be renamed, or fitted
                    for name, value in held:
                        place = len(columns)
                        value = (
                            functions.fitted(value, wanted[place].kind, wanted[place].scale)
                            if wanted
                            else value
                        )
                        name = names[place] if names and place < len(names) else name
                        columns.append((name, value))
                        texts.append(f"{value.text} AS {quoted(name)}")
                    continue
                columns += held
                texts.append(
                    "*" if isinstance(node, exp.Star) else f"{quoted(name_of(node.args['table']))}.*"
                )
                continue
            inner = node.this if isinstance(node, exp.Alias) else node
            value = self._expressions.value(inner)
            place = len(columns)
            if wanted:
                value = functions.fitted(value, wanted[place].kind, wanted[place].scale)
            alias = node.args["alias"] if isinstance(node, exp.Alias) else None
            name = name_of(alias) if alias is not None else figured(inner) or NAMELESS
            if names and place < len(names):
                name = names[place]
            columns.append((name, value))
            shown = casts.typed(value, "text")
            natural = value.bare and value.text.endswith(f".{quoted(name)}")
            texts.append(shown.text if natural else f"{shown.text} AS {quoted(name)}")
        if names and len(names) > len(columns):
            raise refuse("a list of column names is longer than the query's columns")
        return columns, texts

    def _star(self, node: exp.Expr) -> list[tuple[str, Value]]:
        only(node, *("this", "table") if isinstance(node, exp.Column) else ())
        table = name_of(node.args["table"]) if isinstance(node, exp.Column) else None
        found = [each for each in self._scope.relations if table in (None, each.alias)]
        if not found:
            raise NotUnderstood("star")
        self._starred = True
        merged = list(self._scope.merged.items()) if table is None else []
        others = [
            (name, value)
            for each in found
            for name, value in each.columns.items()
            if table is not None or name not in self._scope.merged
        ]
        return [*merged, *others]

    def _group(self, node: exp.Expr, columns: list[tuple[str, Value]]) -> str:
        if node.args.get("all") is not None:
            raise NotUnderstood("construct", name="GROUP BY ALL or DISTINCT")
        only(node, "expressions", "rollup", "cube", "grouping_sets")
        parts = [self._grouping(each, columns) for each in node.expressions]
        for clause in ("rollup", "cube", "grouping_sets"):
            parts += [self._grouping(each, columns) for each in node.args.get(clause) or []]
        return ", ".join(parts)

    def _grouping(self, node: exp.Expr, columns: list[tuple[str, Value]]) -> str:
        words: dict[type[exp.Expr], str] = {
            exp.Rollup: "ROLLUP",
            exp.Cube: "CUBE",
            exp.GroupingSets: "GROUPING SETS",
        }
        word = words.get(type(node))
        if word or isinstance(node, exp.Tuple):
            inner = ", ".join(self._grouping(each, columns) for each in node.expressions)
            return f"{word or ''} ({inner})".strip()
        if isinstance(node, exp.Paren):
            return f"({self._grouping(node.this, columns)})"
        return self._key(node, columns)

    def _key(self, node: exp.Expr, columns: list[tuple[str, Value]]) -> str:
        if isinstance(node, exp.Literal) and not node.args.get("is_string"):
            if self._starred or not node.name.isdecimal() or not 1 <= int(node.name) <= len(columns):
                raise refuse(f"there is no column {node.name[:10]} to group by")
            value = columns[int(node.name) - 1][1]
            return node.name if value.constant is not None or value.kind == "unknown" else value.text
        if isinstance(node, exp.Column) and not node.table:
            # A column of FROM comes before a name that AS gives.
            try:
                return self._expressions.value(node).text
            except NotUnderstood as refusal:
                found = [value for name, value in columns if name == name_of(node.this)]
                if refusal.reason.code != "unknown-column" or len(found) != 1:
                    raise
                return found[0].text
        value = self._expressions.value(node)
        plain = node
        while isinstance(plain, exp.Neg | exp.Paren):
            plain = plain.this
        if isinstance(plain, exp.Literal | exp.Null | exp.Boolean) or value.kind in ("unknown", "parameter"):
            raise refuse("GROUP BY a constant", "Leave it out.")
        if value.constant is not None:
            return cast(value, "VARCHAR")
        return value.text


def _as_subquery(values: exp.Values) -> exp.Expr:
    """VALUES in FROM as a query in parentheses."""
    held = exp.Select(expressions=[exp.Star()]).from_(values.copy(), copy=False)
    plainer(held, lambda place: f"column{place + 1}")
    found = held.args["from_"].this
    if not isinstance(found, exp.Subquery):
        raise NotUnderstood("values")
    return found


def _inline_windows(select: exp.Select) -> None:
    """Write definitions of WINDOW where they are used."""
    named = {name_of(each.this): each for each in select.args.get("windows") or []}
    for window in list(select.find_all(exp.Window)) if named else []:
        base = window.args.get("alias")
        if base is None or window.find_ancestor(exp.Select) is not select or window.arg_key == "windows":
            continue
        found = named.get(name_of(base))
        if (
            found is None
            or found.args.get("alias")
            or any(window.args.get(each) for each in ("partition_by", "order", "spec"))
        ):
            raise NotUnderstood("construct", name="A window that changes another one")
        window.set("alias", None)
        copied(found, ("partition_by", "order", "spec"), window)
    select.set("windows", None)


def _renamed(alias: exp.Expr, found: Relation) -> Relation:
    if alias.args.get("columns"):
        raise NotUnderstood("alias-columns")
    return found
