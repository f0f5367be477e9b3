"""What the rules know of a statement besides its tree: one object, from the text to the plan.

Promises that the engine is asked once for the columns of the statement, and only where a rule needs them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from sqlglot import exp

from auditor.sql.names import readable
from auditor.sql.schema import Schema
from auditor.sql.shape import Parameters, Shape, shape_of
from auditor.sql.where_protected import Names, protected_by_select


@dataclass
class Context:
    """A statement, and what it may name."""

    text: str
    """The statement in DuckDB's dialect."""
    schema: Schema
    parameters: Parameters = None
    """Values for `?` and `$1` (a sequence) or `$name` (a mapping)."""
    arrived: datetime | None = None
    """When it arrived, as the clocks of the session's time zone show it; None: no rule asks."""
    clock: bool = False
    """Whether it reads the clock: `fix_clock` says so."""
    histogram: bool = False
    """Whether it was written as one SELECT for each bin: `count_bins` says so."""
    unmerged: exp.Query | None = None
    """The tree as it was before `merge_groups` wrote it anew."""

    @cached_property
    def shape(self) -> Shape:
        """The engine with the schema's tables, without a row."""
        return shape_of(self.schema)

    @cached_property
    def columns(self) -> list[tuple[str, str]]:
        """Names and types that plain DuckDB gives to the statement's columns.

        Raises:
            NotUnderstood: code "engine", if it gives none.
        """
        return self.shape.describe(self.text.strip().rstrip(";"), self.parameters)

    @cached_property
    def tables(self) -> str:
        """The readable tables, for hints."""
        return readable(self.schema)

    def protected(self, tree: exp.Query) -> dict[int, Names]:
        """By id of a SELECT of a qualified tree, its sources' protected columns."""
        return protected_by_select(tree, self.schema)


Rule = Callable[[exp.Query, Context], exp.Query]
"""A rule: see `auditor.sql.rules`."""
