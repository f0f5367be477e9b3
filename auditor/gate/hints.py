"""What would make a refused statement safer: read off its text, and off nothing else.

Promise: a hint depends on the normalised statement, the names of the protected columns and the policy, never
on data or past answers. Where the policy has a unit, sizes of groups are counted in it. Each suggestion
carries the statement that follows from it. A text of which nothing particular can be said gets a fixed hint.

Nothing here promises that the statement suggested is answered. Arithmetic around aggregates would not help:
every aggregate that a statement computes counts as told, for every group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from auditor.policy.policy import Protect
from auditor.sql import arithmetic, ranges, statistics
from auditor.sql.dialects import Dialect
from auditor.sql.limits import reread
from auditor.sql.rules.divide_correlations import CORRELATIONS
from auditor.sql.schema import folded
from auditor.sql.scopes import conjuncts
from auditor.sql.shape import DATA
from auditor.sql.spelling import written
from auditor.sql.statement import AT_LEAST, AT_MOST
from auditor.sql.statement import ENDS as END_NAMES

FEWEST = 10
"""Groups of fewer records than this, or units, are the ones that HAVING is suggested against."""
MOST = 3
"""Suggestions in one hint."""
LONGEST = 60
"""Letters of a condition that are shown; of a longer one, its columns are named."""

EVERYBODY = {
    "risk": "It asks about everybody already, so no larger group is left; what was told may be asked again.",
    "time": "It asks about everybody already; ask for fewer aggregates at once.",
}
"""By code: the same where the statement has no conditions, groups and joins."""
FIXED = {
    "risk": "Ask about a larger group: drop a condition, widen a range, or ask for an average.",
    "time": "Ask about fewer groups at once, or about a larger group.",
    "uncounted": "Ask for sums and averages of groups that do not overlap, or that are nested.",
    "partial": "Group more coarsely.",
    "range": "Select the aggregates themselves, without conditions or totals over them.",
}
"""By code: the hint where nothing particular can be said."""

ENDS = "AT_LEAST and AT_MOST give the ends as columns."
"""What is said of a value that is told as an end."""
COST = "Each answer leaves less room for later ones."
"""What is said of suggestions to ask something else: if it is answered, that counts."""
RANGE = "Or ask for a range, which may be told where the exact value is not"
"""What is said where the exact value of a sum or mean is refused."""
LONGEST_STATEMENT = 1_000
"""Letters of a statement that a hint writes out."""

_EXTREMES = (exp.Max, exp.Min)
_AGGREGATES = (exp.Sum, exp.Avg, *_EXTREMES)
_NARROW = (exp.EQ, exp.NEQ, exp.In, exp.Not, exp.Is, exp.Like, exp.NullSafeEQ, exp.NullSafeNEQ)
_SELECTING = (exp.Where, exp.Group, exp.Having, exp.Join, exp.Case, exp.If, exp.Limit)
"""What makes a statement one about some people, or about groups."""
_RANGES = (exp.Between, exp.LT, exp.LTE, exp.GT, exp.GTE)


@dataclass(frozen=True)
class Suggestion:
    """One change to a statement."""

    text: str
    """What to do, to follow "…, or …"."""
    sql: str
    """The normalised statement with that done."""


@dataclass(frozen=True)
class Counted:
    """The policy's unit: where somebody has several rows, groups are as large as it has values in them."""

    table: str
    """The table that has the column, folded."""
    column: str
    """The column that says whose rows they are."""
    readable: bool
    """Whether statements may read it."""

    @classmethod
    def of(cls, protect: Protect) -> Counted | None:
        """That of a protected column; None: each row is a unit."""
        if protect.unit is None:
            return None
        table, _, column = protect.unit.rpartition(".")
        listed = protect.public == "all" or folded(column) in map(folded, protect.public)
        return cls(folded(table or protect.table), column, bool(table) or listed)

    def condition(self, select: exp.Select) -> str | None:
        """That a group is large, as HAVING in a SELECT says it; None: nothing there can count units."""
        joins = bool(select.args.get("joins"))
        for table in select.find_all(exp.Table) if self.readable else ():
            bare = folded(table.name).rpartition(".")[2]
            if table.find_ancestor(exp.Select) is select and bare == self.table.rpartition(".")[2]:
                holder = f"{written(table.alias_or_name)}." if joins else ""
                return f"COUNT(DISTINCT {holder}{written(self.column)}) >= {FEWEST}"
        return None


def hint(
    code: str,
    normalised: str,
    columns: Sequence[str],
    said: str,
    refuses_whole: bool,
    dialect: Dialect = "duckdb",
    sql: str = "",
    counted: Counted | None = None,
) -> str:
    """What would help, in one or two sentences.

    Args:
        code: "risk", "range", "time", "uncounted" or "partial".
        normalised: The statement, as `Plan.normalised` has it.
        columns: Names of the protected columns that it reads.
        said: What the analyst wrote, with parameters: nothing else is quoted, such as a view's conditions.
        refuses_whole: Whether one unsafe group refuses all.
        dialect: What the statement was written in: the hint is, too.
        sql: The statement as it was written; read where the dialect is not DuckDB's.
        counted: The policy's unit.
    """
    if code in ("uncounted", "range"):
        return FIXED[code]
    tree, lower = _parsed(normalised) if dialect == "duckdb" else _as_written(sql, dialect), folded(said)
    try:
        changes = list(_changes(tree, columns, dialect, counted))
    except RecursionError:
        changes = []
    texts = dict.fromkeys(text for text, node, _ in changes if all(word in lower for word in _words(node)))
    found = list(islice(texts, MOST))
    whole = tree is not None and _asks_everybody(tree, {folded(column) for column in columns})
    sentences = [_sentence(found) if found else (EVERYBODY if whole and code in EVERYBODY else FIXED)[code]]
    if code == "time" and found:
        sentences.append("Fewer groups at once take less time.")
    if code == "partial":
        sentences.insert(0, "What is worked out over all groups leaves these out.")
    elif refuses_whole and tree is not None and _shows_groups(tree):
        sentences.append('With partial = "suppress" in the policy only the unsafe groups would be withheld.')
    if found:
        sentences.append(COST)
    return " ".join(sentences)


def of_size(least: int, counted: Counted | None) -> str:
    """What would do where a statement is about fewer than `rules.min_size`.

    Args:
        least: The rule.
        counted: The policy's unit.
    """
    what = "records" if counted is None else f"different values of {written(counted.column)}"
    return f"Ask about {least:,} {what} or more: drop a condition, widen a range, or group more coarsely."


def suggestions(normalised: str, columns: Sequence[str], counted: Counted | None = None) -> list[Suggestion]:
    """Every change that is suggested, the least painful first."""
    changes = _changes(_parsed(normalised), columns, counted=counted)
    return [Suggestion(text, _plain(change())) for text, _, change in changes]


def with_ends(sql: str, dialect: Dialect, columns: Sequence[str]) -> str | None:
    """A statement with AT_LEAST and AT_MOST in place of each aggregate that it selects; None if that is long.

    Where an aggregate is compared, what holds for certain is asked: AT_LEAST(x) > 1, AT_MOST(x) < 1.

    Args:
        sql: The statement as it was written.
        dialect: Its dialect.
        columns: Names of the protected columns that it reads.
    """
    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
        if not isinstance(tree, exp.Select):
            return None
        if dialect == "duckdb":
            ranges.plain_quantiles(tree)
        _ends_instead(tree, {folded(column) for column in columns})
        text = tree.sql(dialect=dialect, comments=False)
    except (SqlglotError, RecursionError):
        return None
    return text if len(text) <= LONGEST_STATEMENT else None


def _asks_everybody(tree: exp.Expr, wanted: set[str]) -> bool:
    return next(_aggregates(tree, wanted), None) is not None and not tree.find(*_SELECTING)


def joins(sql: str, dialect: Dialect) -> bool:
    """Whether a statement, as it was written, joins tables."""
    try:
        return sqlglot.parse_one(sql, dialect=dialect).find(exp.Join) is not None
    except (SqlglotError, RecursionError):
        return False


def _ends_instead(select: exp.Select, wanted: set[str]) -> None:
    """Select the ends of aggregates, in place."""
    projections: list[exp.Expr] = []
    places: dict[int, int] = {}
    named: dict[str, exp.Expr] = {}
    seen: list[exp.Expr] = []
    binned = _is_binned(select, wanted) or _is_picked(select, wanted)
    for number, projection in enumerate(select.expressions, 1):
        places[number] = len(projections) + 1
        found = list(dict.fromkeys(_holders(projection, wanted, binned)))
        asked = [each for each in projection.walk() if ranges.end_of(each) is not None]
        if not found or asked:
            projections.append(projection)
            continue
        if arithmetic.of_aggregates(projection.unalias()) is not None:
            found = [projection.unalias()]
        for holder in found:
            name = projection.alias if len(found) == 1 else ""
            if name:
                named[folded(name)] = holder
            if holder in seen:
                continue
            seen.append(holder)
            for word in END_NAMES:
                end: exp.Expr = _end(word, holder)
                quoted = projection.args["alias"].args.get("quoted") if name else False
                projections.append(exp.alias_(end, f"{name}_{word.lower()}", quoted=quoted) if name else end)
    select.set("expressions", projections)
    clauses = {
        name: select.args[name] for name in ("group", "having", "order", "qualify") if select.args.get(name)
    }
    for name in clauses.keys() & {"group", "order"}:
        for node in list(clauses[name].find_all(exp.Literal)):
            direct = node.parent.parent if isinstance(node.parent, exp.Ordered) else node.parent
            if node.is_int and direct is clauses[name]:
                node.replace(exp.Literal.number(places.get(int(node.name), int(node.name))))
    for name in clauses.keys() - {"group"}:
        for node in list(clauses[name].find_all(exp.Column)):
            if not node.table and folded(node.name) in named:
                node.replace(_end(_certain(node), named[folded(node.name)]))
        for node in list(_compared(clauses[name], wanted, binned)):
            node.replace(_end(_certain(node), node))
        for holder in list(_holders(clauses[name], wanted, binned)):
            if ranges.end_above(holder) is None:
                holder.replace(_end(_certain(holder), holder))


def _compared(clause: exp.Expr, wanted: set[str], binned: bool) -> Iterator[exp.Expr]:
    """Arithmetic over aggregates that is compared, or that rows are ordered by."""
    for node in clause.find_all(exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Ordered):
        for side in (node.this, node.args.get("expression")):
            if side is None or any(ranges.end_of(each) is not None for each in side.walk()):
                continue
            if next(_holders(side, wanted, binned), None) and arithmetic.of_aggregates(side) is not None:
                yield side


def _is_binned(select: exp.Select, wanted: set[str]) -> bool:
    """Whether groups are bins of a protected column: each count is one by its value then."""
    group = select.args.get("group")
    parts = [] if group is None else [*select.expressions, group]
    return any(
        folded(column.name) in wanted and column.find_ancestor(exp.AggFunc, exp.Filter) is None
        for part in parts
        for column in part.find_all(exp.Column)
    )


def _is_picked(select: exp.Select, wanted: set[str]) -> bool:
    """Whether WHERE picks rows by a protected value: each count is one by it then."""
    where = select.args.get("where")
    return where is not None and any(
        folded(column.name) in wanted and not isinstance(column.parent, exp.Is)
        for column in where.find_all(exp.Column)
    )


def _holders(root: exp.Expr, wanted: set[str], binned: bool) -> Iterator[exp.Expr]:
    """Aggregates and other statistics of protected columns with their FILTER.

    Those of subqueries and windows are left out.

    Args:
        root: An expression.
        wanted: Names of the protected columns.
        binned: Whether groups are bins of one.
    """

    def kind_of(column: exp.Column) -> int | None:
        return 0 if folded(column.name) in wanted else None

    plain = {id(node) for node in _aggregates(root, wanted)}
    for node in root.find_all(exp.AggFunc):
        counts = binned and type(node) is exp.Count
        holder: exp.Expr = node.parent if isinstance(node.parent, exp.WithinGroup) else node
        asked = ranges.as_quantile(holder) if isinstance(holder, exp.WithinGroup) else node
        told = id(node) in plain or _is_correlated(node, wanted)
        if not counts and not told and (asked is None or statistics.read(asked, kind_of) is None):
            continue
        holder = holder.parent if isinstance(holder.parent, exp.Filter) else holder
        inside = holder.find_ancestor(exp.Query)
        if (inside is None or inside is root.parent_select) and not isinstance(holder.parent, exp.Window):
            yield holder


def _is_correlated(node: exp.AggFunc, wanted: set[str]) -> bool:
    """Whether it is CORR, or its square, of a protected column and something public."""
    sides = (node.this, node.expression) if type(node) in CORRELATIONS else ()
    protected = [each for each in sides if isinstance(each, exp.Column) and folded(each.name) in wanted]
    return len(protected) == 1


def _end(word: str, holder: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=word, expressions=[holder.copy()])


def _certain(node: exp.Expr) -> str:
    """Which end of an aggregate has to be compared so that what is said holds for certain."""
    parent = node.parent
    smaller = isinstance(parent, exp.LT | exp.LTE) and node.arg_key == "this"
    smaller = smaller or (isinstance(parent, exp.GT | exp.GTE) and node.arg_key == "expression")
    return AT_MOST if smaller else AT_LEAST


def _changes(
    tree: exp.Expr | None,
    columns: Sequence[str],
    dialect: Dialect = "duckdb",
    counted: Counted | None = None,
) -> Iterator[_Change]:
    if tree is None:
        return
    wanted = {folded(column) for column in columns}
    yield from _having(tree, wanted, counted)
    yield from _fewer_keys(tree, wanted, dialect)
    yield from _conditions(tree, wanted, _NARROW, "drop the condition {}", dialect)
    yield from _conditions(tree, wanted, _RANGES, "widen or drop {}", dialect)
    yield from _averages(tree, wanted, dialect)
    yield from _ungrouped(tree, wanted)


def _shows_groups(tree: exp.Expr) -> bool:
    """Whether groups are rows of the answer: where more is computed from them, none can be withheld."""
    if isinstance(tree, exp.Union):
        return _shows_groups(tree.this) or _shows_groups(tree.expression)
    return isinstance(tree, exp.Select) and bool(tree.args.get("group")) and tree.find(exp.Window) is None


_Change = tuple[str, exp.Expr | None, Callable[[], exp.Expr]]
"""What to do, the part of the statement that this quotes, and how to get the statement that follows."""


def _parsed(normalised: str) -> exp.Expr | None:
    try:
        return reread(normalised)
    except (SqlglotError, RecursionError):
        return None


def _as_written(sql: str, dialect: Dialect) -> exp.Expr | None:
    try:
        return sqlglot.parse_one(sql, dialect=dialect)
    except (SqlglotError, RecursionError):
        return None


def _plain(tree: exp.Expr) -> str:
    """As an analyst may send it: tables by their own names."""
    for table in tree.find_all(exp.Table):
        if table.db == DATA:
            schema, _, name = table.name.rpartition(".")
            table.set("this", exp.to_identifier(name, quoted=True))
            table.set("db", exp.to_identifier(schema, quoted=True) if schema else None)
    return tree.sql(dialect="duckdb")


def _words(node: exp.Expr | None) -> list[str]:
    """Names and values that a text takes from the statement."""
    return [] if node is None else [folded(each.name) for each in node.find_all(exp.Column, exp.Literal)]


def _changed(tree: exp.Expr, node: exp.Expr, change: Callable[[exp.Expr], None]) -> exp.Expr:
    """A copy of the tree, in which the twin of a node was changed."""
    place = next(number for number, each in enumerate(tree.walk()) if each is node)
    copy = tree.copy()
    change(next(each for number, each in enumerate(copy.walk()) if number == place))
    return copy


def _aggregates(tree: exp.Expr, wanted: set[str]) -> Iterator[exp.Expr]:
    """Aggregates of protected columns."""
    for node in tree.find_all(*_AGGREGATES):
        if any(folded(column.name) in wanted for column in node.find_all(exp.Column)):
            yield node


def _grouped(tree: exp.Expr, wanted: set[str]) -> Iterator[exp.Select]:
    """SELECTs that aggregate protected columns by group."""
    seen: list[exp.Expr] = []
    for node in _aggregates(tree, wanted):
        select = node.find_ancestor(exp.Select)
        if isinstance(select, exp.Select) and select.args.get("group") and all(select is not s for s in seen):
            seen.append(select)
            yield select


def _having(tree: exp.Expr, wanted: set[str], counted: Counted | None) -> Iterator[_Change]:
    for select in _grouped(tree, wanted):
        having = select.args.get("having")
        counts = list(having.find_all(exp.Count)) if having else []
        large = f"COUNT(*) >= {FEWEST}" if counted is None else counted.condition(select)
        if large is None:
            assert counted is not None
            what = f"keep to groups with at least {FEWEST} different values of {written(counted.column)}"
            yield what, None, tree.copy
        elif not any(counted is None or each.find(exp.Distinct) for each in counts):
            yield f"add HAVING {large}", None, partial(_changed, tree, select, partial(_with_having, large))


def _with_having(large: str, select: exp.Expr) -> None:
    having = select.args.get("having")
    condition: exp.Expr = sqlglot.parse_one(large, dialect="duckdb")
    joined = exp.and_(having.this.copy(), condition) if having else condition
    select.set("having", exp.Having(this=joined))


def _fewer_keys(tree: exp.Expr, wanted: set[str], dialect: Dialect) -> Iterator[_Change]:
    for select in _grouped(tree, wanted):
        keys = select.args["group"].expressions
        for key in reversed(keys if len(keys) > 1 else []):
            if key.find(exp.Column):
                yield (
                    f"leave {_shown(key, dialect)} out of GROUP BY",
                    key,
                    partial(_changed, tree, select, _without(key)),
                )
                break


def _without(key: exp.Expr) -> Callable[[exp.Expr], None]:
    def leave_out(select: exp.Expr) -> None:
        group = select.args["group"]
        group.set("expressions", [each for each in group.expressions if each != key])
        select.set("expressions", [each for each in select.expressions if each.unalias() != key])
        select.set("order", None)

    return leave_out


def _conditions(
    tree: exp.Expr, wanted: set[str], kinds: tuple[type[exp.Expr], ...], text: str, dialect: Dialect
) -> Iterator[_Change]:
    """Conjuncts of WHERE and FILTER on public columns."""
    for where in tree.find_all(exp.Where):
        for conjunct in conjuncts(where.this):
            names = {folded(column.name) for column in conjunct.find_all(exp.Column)}
            if isinstance(conjunct, kinds) and names and not names & wanted and not conjunct.find(exp.Query):
                yield (
                    text.format(_shown(conjunct, dialect)),
                    conjunct,
                    partial(_changed, tree, conjunct, _drop),
                )


def _drop(conjunct: exp.Expr) -> None:
    """True takes its place: the rest of the condition stays as it was."""
    conjunct.replace(exp.true())


def _averages(tree: exp.Expr, wanted: set[str], dialect: Dialect) -> Iterator[_Change]:
    def average(node: exp.Expr) -> None:
        node.replace(exp.Avg(this=node.this.copy()))

    for node in _aggregates(tree, wanted):
        if isinstance(node, _EXTREMES):
            instead = exp.Avg(this=node.this.copy())
            text = f"ask for {_shown(instead, dialect)} instead of {_shown(node, dialect)}"
            yield text, node, partial(_changed, tree, node, average)


def _ungrouped(tree: exp.Expr, wanted: set[str]) -> Iterator[_Change]:
    """One group instead of many: arithmetic over the groups would still tell each of them."""

    def flatten(select: exp.Expr) -> None:
        kept = [each for each in select.expressions if any(True for _ in _aggregates(each, wanted))]
        select.set("expressions", kept)
        for clause in ("group", "having", "order", "limit", "offset", "qualify", "distinct"):
            select.set(clause, None)

    for select in _grouped(tree, wanted):
        if select is tree and any(
            any(True for _ in _aggregates(each, wanted)) for each in select.expressions
        ):
            yield (
                "ask for all groups together, without GROUP BY",
                None,
                partial(_changed, tree, select, flatten),
            )


def _shown(node: exp.Expr, dialect: Dialect) -> str:
    """A part of the statement as people write it: no table names, quotes only where they are needed."""
    copy = node.copy()
    for column in list(copy.find_all(exp.Column)):
        column.set("table", None)
        column.set("db", None)
    for name in copy.find_all(exp.Identifier):
        name.set("quoted", written(name.name) != name.name)
    text = " ".join(copy.sql(dialect=dialect).split())
    if len(text) <= LONGEST:
        return text
    columns = dict.fromkeys(column.name for column in node.find_all(exp.Column))
    return f"on {', '.join(columns)}"[:LONGEST]


def _sentence(texts: Sequence[str]) -> str:
    joined = texts[0] if len(texts) == 1 else ", ".join(texts[:-1]) + f", or {texts[-1]}"
    return f"{joined[0].upper()}{joined[1:]}."
