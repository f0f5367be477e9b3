"""What one logged statement teaches, as far as it is modelled, and what of it is not.

    text --sorting--> parts --binding--> text without parameters --dialects--> DuckDB's SQL
      --auditor.sql--> qualified tree --lineage--> SQL that lists records --public instance--> facts

Promises that a statement counts as public only if it was understood and reads no protected column, or names
neither the protected column nor anything that could hold it. Nothing that a statement shows of a protected
column is left out: it is a fact, or it is named as not modelled.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from auditor.data.database import Database, StatementFailed
from auditor.data.python_values import python_values
from auditor.history import budget
from auditor.history.alike import Alike
from auditor.history.binding import Unbound, bound
from auditor.history.budget import Budget
from auditor.history.facts import Fact, Unusable, facts_of
from auditor.history.lesson import Lesson, Work
from auditor.history.lineage import Lowered, lower
from auditor.history.meanings import Grid, Known
from auditor.history.mentions import Mentions
from auditor.history.sorting import Part, first_kind, parts_of
from auditor.sql.catalogue import listed
from auditor.sql.context import Context
from auditor.sql.dialects import translate
from auditor.sql.limits import parse, tokens_of
from auditor.sql.pipeline import READ, rewritten
from auditor.sql.schema import folded
from auditor.sql.shape import DATA, shape_of
from auditor.sql.statement import Plan
from auditor.sql.understood import NotUnderstood
from auditor.sql.writing import generate

OWN = frozenset({"duckdb", "postgres", ""})
"""Dialects that the project reads itself; others go through sqlglot."""
CATALOGUE = "catalogue"
PUBLIC = "public"
UNASKED = frozenset({"definition", "change", "settings"})
"""Kinds of statements that ask for nothing, however long they are."""


@dataclass(eq=False)
class Taught:
    """A lesson's facts, and how the places that they stand in look."""

    facts: list[Fact] = field(default_factory=list)
    publics: dict[tuple[int, int], dict[int, object]] = field(default_factory=dict)
    """By branch and row, the public values of the row by column; only of rows that have facts."""
    unmodelled: list[tuple[str, str]] = field(default_factory=list)
    """What turned out not to be modelled when it ran."""


class School:
    """Reads statements over one database."""

    def __init__(self, database: Database, grids: Sequence[Grid], spending: Budget | None = None) -> None:
        """Take the database as it is now, and what statements may cost."""
        self._database, self._grids = database, list(grids)
        self.budget = Budget() if spending is None else spending
        self._mentions = Mentions(database.schema)
        self._alike = Alike(database.schema)

    # --- reading

    def lesson(
        self, sql: str, parameters: Sequence[str | None] | None, dialect: str, zone: str = "UTC"
    ) -> Lesson:
        """What a statement teaches; nothing runs yet.

        Args:
            sql: The statement.
            parameters: Values of $1, $2, …
            dialect: Whose words it is read by.
            zone: The time zone in which it reckons, a name of `auditor.sql.time_zones`.
        """
        return replace(self._lesson(sql, parameters, dialect), zone=zone)

    def _lesson(self, sql: str, parameters: Sequence[str | None] | None, dialect: str) -> Lesson:
        if len(sql) > budget.ENTRY:
            return self.unread(sql)
        alike = self._alike.lesson(sql, dialect, lambda text: self._read(text, None, dialect))
        if alike is not None and self._engine_reads(alike):
            return alike
        return self._read(sql, parameters, dialect)

    def _engine_reads(self, lesson: Lesson) -> bool:
        """Whether the engine takes a statement with these numbers: names and types are as they were."""
        try:
            for work in lesson.works:
                shape_of(self._database.schema).describe(work.shown)
        except NotUnderstood:
            return False
        return True

    def _read(self, sql: str, parameters: Sequence[str | None] | None, dialect: str) -> Lesson:
        # the same statement again teaches nothing more
        parts = list(dict.fromkeys(parts_of(sql, dialect)))
        if not parts:
            return Lesson("empty")
        if len(parts) > budget.PARTS:
            return Lesson.too_costly(f"more than {budget.PARTS:,} statements in one entry of the log")
        lessons = [self._part(part, parameters, dialect) for part in parts]
        first = next((each for each in lessons if each.works), None)
        first = first or next((each for each in lessons if each.unmodelled), lessons[0])
        works = tuple(work for each in lessons for work in each.works)
        return Lesson(first.kind, works, tuple(dict.fromkeys(u for each in lessons for u in each.unmodelled)))

    def unread(self, sql: str, reason: str = "") -> Lesson:
        """A text whose statements are not told apart: by its first word, and by words alone."""
        kind = first_kind(sql)
        if kind in UNASKED and self._mentions.asks_nothing(sql):
            return Lesson(kind)
        long = len(sql) > budget.ENTRY
        return Lesson.too_costly(f"longer than {budget.ENTRY:,} characters" if long else reason)

    def _part(self, part: Part, parameters: Sequence[str | None] | None, dialect: str) -> Lesson:
        if part.kind != "query":
            return self._other(part, dialect)
        if len(part.sql) > budget.STATEMENT:
            return self._not_read(
                part.sql, dialect, "too-large", f"longer than {budget.STATEMENT:,} characters"
            )
        try:
            text = bound(part.sql, parameters, dialect)
            return self._query(text, dialect)
        except Unbound as error:
            return self._not_read(part.sql, dialect, "parameters", str(error))
        except NotUnderstood as error:
            return self._not_read(part.sql, dialect, error.reason.code, error.reason.message)
        except RecursionError:
            return self._not_read(part.sql, dialect, "too-large", "The statement is nested too deeply.")
        except SqlglotError as error:
            return self._not_read(part.sql, dialect, "syntax", str(error).splitlines()[0])
        except ValueError:
            return self._not_read(part.sql, dialect, "too-large", "A number has thousands of digits.")

    def _other(self, part: Part, dialect: str) -> Lesson:
        """Statements that are no queries may still show, or copy, protected values."""
        if part.kind in ("transaction", "settings", "preparation", "empty"):
            return Lesson(part.kind)
        if part.kind == "cursor":
            return Lesson(part.kind)  # what a cursor shows is counted where it is declared
        if part.kind == "explanation":
            ran = "ANALYZE" in part.sql.upper().split("SELECT")[0]
            return (
                self._not_read(part.sql, dialect, "EXPLAIN", "plans show estimates", part.kind)
                if ran
                else Lesson(part.kind)
            )
        if part.kind in ("definition", "change") and not self._mentions.copies(part.sql):
            return Lesson(part.kind)
        if part.kind == "call":
            return Lesson("unmodelled", (), (("call or EXECUTE", "what it runs is not in the statement"),))
        kinds = {
            "definition": "copied into another table",
            "change": "change that reads the protected column",
        }
        kind = kinds.get(part.kind, f"{part.sql.split(None, 1)[0].upper()[:20]} statement")
        return self._not_read(part.sql, dialect, kind, "what it tells is not followed", part.kind)

    def _not_read(self, sql: str, dialect: str, code: str, reason: str, otherwise: str = PUBLIC) -> Lesson:
        """Not understood: unmodelled, unless nothing in it could be protected."""
        if code == "catalogue":
            return Lesson(CATALOGUE)
        mention = self._mentions.of(sql, dialect)
        if mention is None and otherwise == "unknown" and self._mentions.touches(sql):
            mention = "row"
        if mention is None and code in ("unknown-column", "unknown-table", "engine", "parameters"):
            mention = "unknown"
        if mention is None:
            return Lesson(otherwise)
        kind = self._mentions.kind_of(sql, code, mention)
        return Lesson("unmodelled", (), ((kind, reason),))

    def _query(self, text: str, dialect: str) -> Lesson:
        schema = self._database.schema
        text = self._mentions.plain_names(text, dialect)
        if dialect in OWN:
            sql = translate(text, "postgres" if dialect == "postgres" else "duckdb", schema)
        else:
            tokens_of(text, Dialect.get_or_raise(dialect))  # within the limits that keep the parser quick
            sql = sqlglot.transpile(text, read=dialect, write="duckdb")[0]
        shape = shape_of(schema)
        if isinstance(listed(sql, schema, shape.describe), Plan):
            return Lesson(CATALOGUE)
        tree = rewritten(parse(sql), Context(sql, schema), READ)
        shape.describe(sql)  # the engine's own word on names, for what the tree does not resolve
        shown = self._as_stored(tree)
        found = lower(tree, schema, self._grids)
        works = tuple(self._work(each, shown) for each in found.lowered)
        if sum(len(work.sql) for work in works) > budget.LOWERED:
            return Lesson.too_costly("what it shows takes too much SQL to be listed record by record")
        unmodelled = tuple((each.kind, each.reason) for each in found.opaque)
        return Lesson(_kind(found.lowered, found.functions, bool(unmodelled)), works, unmodelled)

    def _work(self, lowered: Lowered, shown: str) -> Work:
        return Work(generate(lowered.tree), tuple(lowered.outputs), lowered.limit, shown)

    def _as_stored(self, tree: exp.Query) -> str:
        """A qualified statement with the tables' names as the database has them."""
        copy = tree.copy()
        paths = {folded(table.name): table.path for table in self._database.schema.tables}
        for table in copy.find_all(exp.Table):
            if table.db == DATA:
                schema, name = paths[table.name]
                table.set("db", exp.to_identifier(schema, quoted=True))
                table.set("this", exp.to_identifier(name, quoted=True))
        return generate(copy)

    # --- running

    def taught(self, lesson: Lesson) -> Taught:
        """Run what lists records, and read its facts."""
        result = Taught()
        for branch, work in enumerate(lesson.works):
            names = tuple(f"c{place}" for place in range(len(work.outputs)))
            plan = Plan(work.sql, (), work.sql, names, (), zone=lesson.zone)
            try:
                table = self._run(plan)
            except StatementFailed as error:
                result.unmodelled.append(
                    (f"could not be run again ({error.code})", "it failed on the data as they are")
                )
                continue
            if work.limit is not None and table.num_rows > work.limit:
                result.unmodelled.append(("LIMIT", "which rows LIMIT left is not known"))
                continue
            known = [each for _, each in work.outputs]
            problems: list[Unusable] = []
            result.facts += facts_of(table, known, branch, self._grids, problems)
            result.unmodelled += dict.fromkeys((each.kind, str(each)) for each in problems)
            self._note_publics(result, table, known, branch)
        return result

    def _run(self, plan: Plan) -> pa.Table:
        limits, began = self._database.limits, time.monotonic()
        self._database.limits = replace(limits, seconds=self.budget.patience(limits.seconds))
        try:
            return self._database.run_public(plan)
        finally:
            self._database.limits = limits
            self.budget.wait(time.monotonic() - began)

    def _note_publics(self, result: Taught, table: pa.Table, known: list[Known | None], branch: int) -> None:
        """Public values of the rows, where there are few rows: they say which row an answer is."""
        if table.num_rows == 1 or table.num_rows > 5_000:
            return
        columns = {
            place: python_values(table.column(place)) for place, each in enumerate(known) if each is None
        }
        for row in range(table.num_rows):
            result.publics[branch, row] = {place: values[row] for place, values in columns.items()}


def _kind(lowered: Sequence[Lowered], functions: Sequence[str], unmodelled: bool) -> str:
    if not lowered:
        return "unmodelled" if unmodelled else PUBLIC
    if any(not each.aggregated for each in lowered) and not functions:
        return "row-level"
    if any(each.grouped for each in lowered):
        return "GROUP BY"
    return functions[0] if functions else "SUM"


def term_sql(work: Work, fact: Fact, publics: dict[int, object] | None) -> str:
    """A query for the one number of a result that a fact was read off, "" where the rows look alike."""
    from auditor.sql.parameters import literal

    names = ", ".join(f"c{place}" for place in range(len(work.outputs)))
    asked = f"SELECT c{fact.place[2]} FROM ({work.shown}) AS q({names})"
    if publics is None:
        return asked
    try:
        conditions = [
            f"c{place} IS NOT DISTINCT FROM {literal(value).sql(dialect='duckdb')}"
            for place, value in publics.items()
        ]
    except NotUnderstood:
        return ""
    return f"{asked} WHERE {' AND '.join(conditions)}" if conditions else ""
