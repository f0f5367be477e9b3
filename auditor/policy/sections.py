"""The sections of a policy, each checked by itself; `auditor.policy.policy` holds them to one another.

Promise: numbers stay as written, as exact fractions; a mistake within one section is a `ValueError` that says
key, value and what would do. The first line under each key says what would do for it, and messages quote it.
"""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    StringConstraints,
    model_validator,
)

from auditor.policy.numbers import Exact, Real, Whole, written
from auditor.policy.prior import Listed, Prior, Shaped, stated
from auditor.sql.schema import Table, folded
from cae_sql.domain import Domain, exact

if TYPE_CHECKING:
    from cae_sql.risk import Limit

MOST_STEPS = 100_000
"""A domain of more steps than this is a mistake in `step` rather than a wish, and slow to judge."""

MOST_VALUES = 10**12
"""The same for `resolution`: sums over millions of records must stay whole numbers of 64 bits."""

DEFAULT_INSIDERS = 1
"""How many insiders a policy that does not say reckons with."""


def _insiders(number: object) -> object:
    if isinstance(number, bool) or not isinstance(number, int) or number not in (0, 1):
        raise ValueError("must be 0 or 1")
    return number


def _remainder(given: object) -> object:
    """`false`, `true`, or what stands in text keys."""
    if isinstance(given, bool) or (isinstance(given, str) and given.strip()):
        return given
    raise ValueError("must be true, false or a label in quotes")


def _prior(given: object) -> object:
    return given if isinstance(given, Listed | Shaped) else stated(given)


def _candidates(name: object) -> object:
    if name == "tilted":
        text = 'is gone; take candidates = "posterior", which judges what answers make likely too'
        wrong("intruder.candidates", name, text)
    return name


Candidates = Annotated[Literal["interval", "posterior", "exact"], BeforeValidator(_candidates)]
Remainder = Annotated[bool | str, BeforeValidator(_remainder)]
Stated = Annotated[InstanceOf[Listed] | InstanceOf[Shaped], BeforeValidator(_prior)]
Name = Annotated[str, StringConstraints(strict=True, min_length=1)]
Columns = Literal["all"] | tuple[Name, ...]


class Section(BaseModel):
    """What all sections share: frozen, and no key but those named."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Limits(Section):
    """`[limit]`, or `limit` of a `[[protect]]`: how far answers may go. At least one of risk and epsilon."""

    risk: Real | None = Field(default=None, ge=0, lt=1)
    """the greatest 1 − A/A_prior, from 0 (nothing may be excluded) to below 1 (disclosure): risk = 0.5"""
    epsilon: Exact | None = Field(default=None, ge=0)
    """the range of approximate compromise, in units of the column, 0 or more: epsilon = 20"""
    min_entropy: Real | None = Field(default=None, gt=0)
    """the bits that must remain at epsilon, above 0 (required without risk): min_entropy = 0.5"""

    @model_validator(mode="after")
    def _enough(self) -> Limits:
        if self.risk is None and self.epsilon is None:
            wrong("limit", None, "needs at least one of risk and epsilon, for example risk = 0.5")
        if self.min_entropy is not None and self.epsilon is None:
            text = "needs epsilon, the range it is judged at, for example epsilon = 20"
            wrong("limit.min_entropy", self.min_entropy, text)
        return self

    @property
    def limit(self) -> Limit:
        """As `cae_sql.risk` judges it."""
        from cae_sql.risk import Limit

        epsilon = None if self.epsilon is None else float(self.epsilon)
        return Limit(risk=self.risk, epsilon=epsilon, min_entropy=self.min_entropy)


class Protect(Section):
    """`[[protect]]`: a confidential column, its domain and what is public beside it."""

    table: Name
    """the table that holds the confidential column, as in table = "staff\""""
    column: Name
    """the confidential column, as in column = "salary\""""
    minimum: Exact
    """the least value that anyone may have, as a number, rounded downwards: minimum = 10"""
    maximum: Exact
    """the greatest value that anyone may have, as a number above minimum: maximum = 250"""
    step: Exact
    """the resolution at which risk is judged, a positive multiple of resolution: step = 10"""
    resolution: Exact | None = None
    """the grid of the stored values, a number above 0 that divides step: resolution = 10 (default: step)"""
    key: Name | None = None
    """a column that names records in the owner's findings, or leave it out: key = "id\""""
    unit: Name | None = None
    """whose rows they are, where somebody has several: unit = "patient", or "stays.patient" by a join"""
    public: Columns
    """the columns that analysts may read and condition on, or "all" others: public = ["age", "sex"]"""
    limits: Limits | None = Field(default=None, alias="limit")
    """a limit for this column alone, or leave it out for that of [limit]: limit = {risk = 0.5}"""
    prior: Stated | None = None
    """how this column's values are known to be spread, or leave it out: prior = [[10, 30], [100, 70]]"""

    @model_validator(mode="after")
    def _consistent(self) -> Protect:
        if self.maximum <= self.minimum:
            wrong("protect.maximum", self.maximum, f"must be greater than minimum = {written(self.minimum)}")
        if self.step <= 0:
            wrong("protect.step", self.step, "must be greater than 0")
        if self.resolution is not None and self.resolution <= 0:
            wrong("protect.resolution", self.resolution, "must be greater than 0")
        if self.resolution is not None and self.step % self.resolution:
            text = (
                f"does not divide step = {written(self.step)}; step must be a multiple of resolution, "
                "so change one of the two"
            )
            wrong("protect.resolution", self.resolution, text)
        if self.step > self.maximum - self.minimum:
            wrong("protect.step", self.step, "leaves one value in the domain; take less than its width")
        if (self.maximum - self.minimum) / self.step > MOST_STEPS:
            wrong("protect.step", self.step, f"makes more than {MOST_STEPS:,} steps; take a coarser one")
        if (self.maximum - self.minimum) / self.grid > MOST_VALUES:
            wrong(
                "protect.resolution",
                self.grid,
                f"makes more than {MOST_VALUES:,} possible values; take a coarser one",
            )
        _without_column(self)
        return self

    @property
    def name(self) -> tuple[str, str]:
        """Table and column as DuckDB compares them: one name for all ways of writing the same."""
        schema, table = Table(self.table, ()).path
        return folded(f"{schema}.{table}").removeprefix("main."), folded(self.column)

    @cached_property
    def domain(self) -> Domain:
        """The possible values at the resolution risk is judged at, exactly as written."""
        return Domain(self.minimum, self.maximum, self.step)

    @property
    def grid(self) -> Fraction:
        """The grid of the stored values, in units of the column: `resolution`, by default `step`."""
        return self.step if self.resolution is None else self.resolution

    def spread(self, given: Listed | Shaped) -> Prior:
        """A prior on the grid of the stored values.

        Raises:
            ValueError: it is one of another domain or grid.
        """
        return Prior.of(given, self.minimum, self.grid, int((self.maximum - self.minimum) // self.grid))

    @property
    def meaning(self) -> dict[str, object]:
        """What this section means for answers, in one form for all ways of writing the same."""
        table, column = self.name
        # a ledger of before units were known is bound to a policy without any
        unit = {} if self.unit is None else {"unit": _unit(self.unit)}
        return {
            "table": table,
            "column": column,
            "minimum": str(self.minimum),
            "maximum": str(self.maximum),
            "step": str(self.step),
            "resolution": str(self.grid),
            "key": self.key and folded(self.key),
            "public": "all" if self.public == "all" else sorted({folded(name) for name in self.public}),
            **unit,
        }


class Tables(Section):
    """`[tables]`: what else may be read."""

    public: tuple[Name, ...] = ()
    """further tables that may be read and joined: public = ["regions"]"""
    views: tuple[Name, ...] = ()
    """stored queries that may be read like tables, judged as if written out: views = ["adults"]"""


class SourceRules(Section):
    """`[source]`: how data are read."""

    mode: Literal["records", "cells"] | None = None
    """what is read: mode = "records", or "cells", one GROUP BY, as by default of engines elsewhere"""
    values: bool = False
    """whether cells are by protected value too, so that medians and counts can be asked: values = true"""

    @model_validator(mode="after")
    def _of_cells(self) -> SourceRules:
        if self.values and self.mode == "records":
            wrong("source.values", True, 'is about cells; take mode = "cells", or leave values out')
        return self


class Intruder(Section):
    """`[intruder]`: against whom the limit holds."""

    knows: Columns = "all"
    """the public columns the intruder knows of a person, or "all": knows = ["age", "sex"]"""
    insiders: Annotated[int, BeforeValidator(_insiders)] = DEFAULT_INSIDERS
    """how many individuals may pool their own values with the answers, 0 or 1: insiders = 1"""
    candidates: Candidates = "posterior"
    """what decides: candidates = "interval" (what is excluded), "posterior", "exact" (also what is likely)"""
    baseline: Literal["members", "prior"] = "members"
    """against what likelihood is judged: baseline = "members" (people like somebody) or "prior\""""
    published: tuple[Name, ...] = ()
    """statements whose answers everybody knows anyway: published = ["SELECT AVG(salary) FROM staff"]"""
    prior: Stated | None = None
    """how values are known to be spread: prior = { shape = "lognormal", median = 40, sigma = 0.8 }"""


class DecisionRules(Section):
    """`[decision]`: how a verdict is reached."""

    mode: Literal["simulatable", "answer-dependent"] = "simulatable"
    """whether refusals may tell something: mode = "simulatable" (they tell nothing) or "answer-dependent\""""
    worlds: Whole = Field(default=20, ge=1, le=1_000)
    """how many hypothetical answers are judged per decision, 1 or more: worlds = 20"""
    delta: Real = Field(default=0.05, ge=0, lt=1)
    """the fraction of them that may break the limit, from 0 to below 1: delta = 0.05"""
    timeout: Real = Field(default=60.0, gt=0, allow_inf_nan=False)
    """seconds after which a query is refused, as a last resort, above 0: timeout = 60"""
    partial: Literal["suppress", "refuse"] = "suppress"
    """what a GROUP BY with an unsafe group gets: partial = "suppress" (the other groups), or "refuse\""""
    remainder: Remainder = False
    """whether withheld groups together are a row too: remainder = true (keys NULL), or a label: "(other)\""""
    ranges: Literal["asked", "never"] = "asked"
    """whether AT_LEAST(…) and AT_MOST(…) are answered: ranges = "asked" (who writes them) or "never\""""
    preview: Literal["refuse", "null"] = "refuse"
    """what rows of a protected table are: preview = "refuse", or "null" (NULL in the protected column)"""
    checks: Whole | None = Field(default=None, ge=0)
    """how often each user may EXPLAIN or check in a day, or leave it out (without limit): checks = 1000"""

    @model_validator(mode="after")
    def _of_withheld(self) -> DecisionRules:
        if self.remainder is not False and self.partial == "refuse":
            text = 'is of groups that are withheld; take partial = "suppress", or leave remainder out'
            wrong("decision.remainder", self.remainder, text)
        return self


class HouseRules(Section):
    """`[rules]`: rules of the house, besides the limit."""

    min_size: Whole | None = Field(default=None, ge=2, le=1_000_000)
    """records, or units, below which nothing is told of a group, 2 to 1,000,000: min_size = 10"""


class LedgerPlace(Section):
    """`[ledger]`: where answers are remembered, and for whom."""

    path: Name | None = None
    """a file, or a SQLAlchemy URL (default: beside the database): path = "staff.ledger\""""
    anchor: Name | None = None
    """a file kept elsewhere that proves the ledger whole, or leave it out: anchor = "staff.anchor\""""
    scope: Literal["everyone", "user"] = "everyone"
    """whose answers count together: scope = "everyone" or "user" (users then must not pool what they know)"""
    editions: bool | None = None
    """whether the ledger holds who is who, so that `cae-sql renew` can open later states of the data:
    editions = true or false (default: in a file true, on a server false, where a key is named)"""


def wrong(key: str, value: object, text: str) -> NoReturn:
    """Say key, value and what would do, as pydantic's validators want it said."""
    shown = "" if value is None else f" = {_toml(value)}"
    raise ValueError(f"{key}{shown}: {text}")


def _toml(value: object) -> str:
    if isinstance(value, Fraction | float):
        return written(exact(value))
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False, default=str)


def _unit(name: str) -> str:
    """One name for all ways of writing the same."""
    table, _, column = folded(name).rpartition(".")
    return f"{table.removeprefix('main.')}.{column}" if table else column


def _without_column(section: Protect) -> None:
    column = folded(section.column)
    if section.public != "all" and column in (folded(name) for name in section.public):
        wrong("protect.public", section.column, "is the protected column; leave it out")
    if section.key is not None and folded(section.key) == column:
        wrong("protect.key", section.key, "is the protected column; take one that names records, or none")
    if section.unit is not None and folded(section.unit) == column:
        wrong("protect.unit", section.unit, "is the protected column; take one that names persons, or none")
