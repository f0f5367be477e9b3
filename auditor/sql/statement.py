"""What `understand` returns: a plan of lowered SQL, or the reason why there is none.

Values only; nothing here parses or runs SQL.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

Function = Literal[
    "sum", "avg", "max", "min", "count", "median", "quantile",
    "stddev", "var", "covar", "regr_slope", "regr_intercept",
]  # fmt: skip

AT_LEAST, AT_MOST = "AT_LEAST", "AT_MOST"
ENDS = (AT_LEAST, AT_MOST)
"""What may stand around an aggregate: the ends of the range in which its value is told to lie."""


@dataclass(frozen=True)
class Unsupported:
    """A statement that is not understood, hence not answered."""

    code: str
    """Stable short name of the reason; see `auditor.sql.understood`."""
    message: str
    """The reason in an analyst's words. Depends on the statement's text alone."""
    hint: str = ""
    """A rewrite that would work, where there is one."""


@dataclass(frozen=True)
class Leaf:
    """One outcome of an aggregate's argument: `coefficient * value + offset`.

    Its column in the groups query lists the records that take it (`coefficient` not 0), or counts the rows
    that do (`coefficient` 0).
    """

    coefficient: Fraction
    """Multiplier of the protected value; 0: the row adds a constant."""
    offset: Fraction
    """Constant part."""


@dataclass(frozen=True)
class Interval:
    """Values between two ends; None: no end on that side."""

    least: Fraction | None
    least_counts: bool
    """Whether the end itself is inside."""
    most: Fraction | None
    most_counts: bool


@dataclass(frozen=True)
class Statistic:
    """What is asked of a protected column that is no sum and no extreme: ranges alone are told of it."""

    kind: Literal["count", "quantile", "weighted", "spread"]
    """"spread": STDDEV and VAR; "weighted": all that is a sum with public weights."""
    region: tuple[Interval, ...] = ()
    """Of a count: which values count, in column values; disjoint, ascending."""
    fraction: Fraction = Fraction(0)
    """Of a quantile: which, from 0 to 1."""
    continuous: bool = False
    """Of a quantile: whether it lies between two values (QUANTILE_CONT, MEDIAN) or is one (QUANTILE_DISC)."""
    sample: bool = False
    """Of STDDEV, VAR and COVAR: whether divided by one less than there are people."""

    inverse: bool = False
    """Of "weighted": whether the weights are one by what is listed."""

    @property
    def other(self) -> Statistic:
        """Of a count: that of all other values."""
        found, start, counts = list[Interval](), None, False
        for each in self.region:
            if each.least is not None:
                found.append(Interval(start, counts, each.least, not each.least_counts))
            start, counts = each.most, not each.most_counts
        if start is not None:
            found.append(Interval(start, counts, None, False))
        return replace(self, region=tuple(found))


@dataclass(frozen=True)
class Aggregate:
    """One aggregate over a protected column."""

    protected: int
    """Position of that column in the schema."""
    function: Function
    """As the statement calls it."""
    type: str
    """DuckDB's text of the type that plain DuckDB gives it."""
    leaves: tuple[Leaf, ...]
    """The outcomes of its argument; one column each in the groups query, from `column` on."""
    column: int
    """Position of the first leaf's column in the groups query."""
    ranged: bool = False
    """Whether AT_LEAST or AT_MOST of it is read: its relation then has `end_name` for both."""
    statistic: Statistic | None = None
    """What it is where it is neither a sum nor an extreme; it is always `ranged` then."""


Operation = Literal[
    "constant", "told", "public", "add", "subtract", "negate", "multiply", "divide", "divide whole", "round",
    "single", "coalesce", "nullif",
]  # fmt: skip


@dataclass(frozen=True)
class Term:
    """Arithmetic over a block's aggregates that AT_LEAST or AT_MOST stands around."""

    operation: Operation
    """"told" is an aggregate of a protected column, "public" one of the block's public columns."""
    parts: tuple[Term, ...] = ()
    """What it is worked out from."""
    number: Fraction = Fraction(0)
    """The constant."""
    place: int = 0
    """Of "told" and "public" the position; of "round" how many digits after the point are kept."""

    def places(self, operation: Operation) -> frozenset[int]:
        """The positions of its aggregates ("told"), or of its public columns."""
        own = [self.place] if self.operation == operation else []
        return frozenset(own).union(*(part.places(operation) for part in self.parts))


@dataclass(frozen=True)
class Block:
    """One SELECT that aggregates protected columns."""

    name: str
    """The relation that stands for it in the final statement: one row per group."""
    groups_sql: str
    """Runs in the public instance: a row per group with keys, public aggregates, the leaves' columns."""
    public_columns: tuple[tuple[str, str], ...]
    """Name and type of the leading columns: keys and public aggregates."""
    aggregates: tuple[Aggregate, ...]
    """Protected aggregates; in the relation they are named `aggregate_name(i)`, after the public columns."""
    grouped: bool
    """Whether its groups are rows of the answer: each may then be withheld without making others wrong."""
    arithmetic: tuple[Term, ...] = ()
    """What AT_LEAST or AT_MOST stands around that is more than one aggregate."""

    @property
    def in_arithmetic(self) -> tuple[int, ...]:
        """The positions of the aggregates that it reads, for which the relation has `exact_name`."""
        return tuple(sorted(frozenset[int]().union(*(each.places("told") for each in self.arithmetic))))

    def ends_of(self, columns: Collection[str], aggregate: int) -> bool:
        """Whether AT_LEAST or AT_MOST of an aggregate, or of arithmetic over it, is among columns."""
        several = enumerate(self.arithmetic, len(self.aggregates))
        places = [aggregate, *(place for place, each in several if aggregate in each.places("told"))]
        return any(end_name(word, place) in columns for place in places for word in ENDS)


def aggregate_name(position: int) -> str:
    """The name of a block's protected aggregate in the block's relation."""
    return f"_a{position}"


def exact_name(position: int) -> str:
    """The name of a protected aggregate in the block's relation as arithmetic reads it."""
    return f"_x{position}"


def told_name(position: int) -> str:
    """The name of the column that says whether all that some arithmetic reads is told exactly."""
    return f"_t{position}"


def end_name(word: str, position: int) -> str:
    """The name of AT_LEAST or AT_MOST of a block's protected aggregate in the block's relation.

    Positions go on after the aggregates: the next ones are those of `Block.arithmetic`.
    """
    return f"_{'least' if word == AT_LEAST else 'most'}{position}"


@dataclass(frozen=True)
class Plan:
    """A statement that is understood, lowered."""

    normalised: str
    """Canonical text, parameters included: equal for statements that differ in layout, comments or case."""
    blocks: tuple[Block, ...]
    """The SELECTs that aggregate protected columns; empty if `public`."""
    final_sql: str
    """The rest of the statement; reads the blocks' relations and the public instance."""
    columns: tuple[str, ...]
    """Column names that plain DuckDB gives."""
    types: tuple[str, ...]
    """Column types that plain DuckDB gives, as text."""
    probe: bool = False
    """Whether it gives no row whatever the data are: nothing is released, and nothing recorded."""
    zone: str = "UTC"
    """The session's time zone, in which it reckons; a name of `auditor.sql.time_zones`."""
    clock: bool = False
    """Whether it reads the clock: the same text means another statement later."""
    preview: bool = False
    """Whether protected columns are NULL in its rows, in place of what was asked."""
    untold: bool = False
    """Whether constants stand in it for values that are to be asked first: only columns mean something."""

    @property
    def public(self) -> bool:
        """Whether no protected value is read."""
        return not self.blocks

    def shows(self, block: int, aggregate: int) -> bool:
        """Whether the rest of it reads an aggregate itself, and not only its AT_LEAST and AT_MOST."""
        return f'"{self.blocks[block].name}"."{aggregate_name(aggregate)}"' in self.final_sql

    @property
    def shows_any(self) -> bool:
        """Whether the rest of it reads some aggregate itself."""
        return any(
            self.shows(place, i)
            for place, block in enumerate(self.blocks)
            for i in range(len(block.aggregates))
        )

    @property
    def asks_ranges(self) -> bool:
        """Whether AT_LEAST or AT_MOST stands in it."""
        return any(aggregate.ranged for block in self.blocks for aggregate in block.aggregates)
