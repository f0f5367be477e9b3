"""The policy: what is protected, from whom, and how far the answers may go. Read from TOML, checked whole.

Promise: a `Policy` that exists can be used. Every way in which a text cannot be one is a single
`PolicyError` that names the key, the value and what would do. Numbers stay as written: `step = 0.1` is one
tenth. What a later version will offer and this one does not is an error too, never ignored.

Whether the data fit the policy (the table exists, values lie in the domain) is for those who read the data.
"""

from __future__ import annotations

import json
import tomllib
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    StringConstraints,
    ValidationError,
    model_validator,
)

from auditor.errors import PolicyError
from auditor.policy_messages import explain, unavailable
from cae_sql.domain import Domain, exact
from cae_sql.errors import InvalidInput

if TYPE_CHECKING:
    from cae_sql.risk import Limit

MOST_STEPS = 100_000
"""A domain of more steps than this is a mistake in `step` rather than a wish, and slow to judge."""

MOST_VALUES = 10**12
"""The same for `resolution`: sums over millions of records must stay whole numbers of 64 bits."""

MOST_DIGITS = 40
"""Exponents beyond this are slips of the pen; `1e999999999` as an exact number would fill the memory."""


def _exact(number: object) -> Fraction:
    if isinstance(number, bool) or not isinstance(number, int | float | Decimal | Fraction):
        raise ValueError("must be a number")
    if isinstance(number, Decimal) and number.is_finite() and abs(number.adjusted()) > MOST_DIGITS:
        raise ValueError(f"must be a number of at most {MOST_DIGITS} digits")
    try:
        return exact(number)
    except InvalidInput:
        raise ValueError("must be a finite number") from None


def _whole(number: object) -> object:
    if isinstance(number, bool) or not isinstance(number, int):
        raise ValueError("must be a whole number")
    return number


def _small(number: object) -> object:
    if isinstance(number, bool) or not isinstance(number, int | float | Decimal):
        raise ValueError("must be a number")
    return float(number)


Exact = Annotated[Fraction, BeforeValidator(_exact)]
Whole = Annotated[int, BeforeValidator(_whole)]
Real = Annotated[float, BeforeValidator(_small)]
Name = Annotated[str, StringConstraints(strict=True, min_length=1)]
Columns = Literal["all"] | tuple[Name, ...]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Protect(_Section):
    """`[protect]`: the confidential column, its domain and what is public beside it."""

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
    public: Columns
    """the columns that analysts may read and condition on, or "all" others: public = ["age", "sex"]"""

    @model_validator(mode="after")
    def _consistent(self) -> Protect:
        if self.maximum <= self.minimum:
            _wrong("protect.maximum", self.maximum, f"must be greater than minimum = {written(self.minimum)}")
        if self.step <= 0:
            _wrong("protect.step", self.step, "must be greater than 0")
        if self.resolution is not None and self.resolution <= 0:
            _wrong("protect.resolution", self.resolution, "must be greater than 0")
        if self.resolution is not None and self.step % self.resolution:
            text = (
                f"does not divide step = {written(self.step)}; step must be a multiple of resolution, "
                "so change one of the two"
            )
            _wrong("protect.resolution", self.resolution, text)
        if self.step > self.maximum - self.minimum:
            _wrong("protect.step", self.step, "leaves one value in the domain; take less than its width")
        grid = self.resolution if self.resolution is not None else self.step
        if (self.maximum - self.minimum) / self.step > MOST_STEPS:
            _wrong("protect.step", self.step, f"makes more than {MOST_STEPS:,} steps; take a coarser one")
        if (self.maximum - self.minimum) / grid > MOST_VALUES:
            _wrong(
                "protect.resolution",
                grid,
                f"makes more than {MOST_VALUES:,} possible values; take a coarser one",
            )
        _without_column(self)
        return self


class Tables(_Section):
    """`[tables]`: what else may be read."""

    public: tuple[Name, ...] = ()
    """further tables that may be read and joined: public = ["regions"]"""
    views: tuple[Name, ...] = ()
    """stored queries that may be read like tables, judged as if written out: views = ["adults"]"""


class Intruder(_Section):
    """`[intruder]`: against whom the limit holds."""

    knows: Columns = "all"
    """the public columns the intruder knows of a person, or "all": knows = ["age", "sex"]"""
    insiders: Whole = 0
    """how many individuals may pool their own values with the answers; this version offers insiders = 0"""
    candidates: str = "interval"
    """how answers become beliefs; this version offers candidates = "interval\""""


class Limits(_Section):
    """`[limit]`: how far the answers may go. At least one of `risk` and `epsilon`."""

    risk: Real | None = Field(default=None, ge=0, lt=1)
    """the greatest 1 − A/A_prior, from 0 (nothing may be excluded) to below 1 (disclosure): risk = 0.5"""
    epsilon: Exact | None = Field(default=None, ge=0)
    """the range of approximate compromise, in units of the column, 0 or more: epsilon = 20"""
    min_entropy: Real | None = Field(default=None, gt=0)
    """the bits that must remain at epsilon, above 0 (default: anything above 0): min_entropy = 0.5"""

    @model_validator(mode="after")
    def _enough(self) -> Limits:
        if self.risk is None and self.epsilon is None:
            _wrong("limit", None, "needs at least one of risk and epsilon, for example risk = 0.5")
        if self.min_entropy is not None and self.epsilon is None:
            text = "needs epsilon, the range it is judged at, for example epsilon = 20"
            _wrong("limit.min_entropy", self.min_entropy, text)
        return self


class DecisionRules(_Section):
    """`[decision]`: how a verdict is reached."""

    mode: Literal["simulatable", "answer-dependent"] = "simulatable"
    """whether refusals may tell something: mode = "simulatable" (they tell nothing) or "answer-dependent\""""
    worlds: Whole = Field(default=20, ge=1, le=1_000)
    """how many hypothetical answers are judged per decision, 1 or more: worlds = 20"""
    delta: Real = Field(default=0.05, ge=0, lt=1)
    """the fraction of them that may break the limit, from 0 to below 1: delta = 0.05"""
    leaks: Whole = Field(default=3, ge=0)
    """how many leak events may happen; after one more nothing new is answered, 0 or more: leaks = 3"""
    after_leak: Literal["refuse", "continue"] = "refuse"
    """records that a leak event was about: after_leak = "refuse" (nothing new), or "continue\""""
    timeout: Real = Field(default=10.0, gt=0, allow_inf_nan=False)
    """seconds after which a query is refused, above 0: timeout = 10"""
    partial: str = "refuse"
    """what a GROUP BY with an unsafe group gets; this version offers partial = "refuse\""""


class LedgerPlace(_Section):
    """`[ledger]`: where answers are remembered, and for whom."""

    path: Name | None = None
    """a file, or a SQLAlchemy URL (default: beside the database): path = "staff.ledger\""""
    anchor: Name | None = None
    """a file kept elsewhere that proves the ledger whole, or leave it out: anchor = "staff.anchor\""""
    scope: Literal["everyone", "user"] = "everyone"
    """whose answers count together: scope = "everyone" or "user" (users then must not pool what they know)"""


class Policy(_Section):
    """One protected column and the rules under which it is asked about.

    Read with `Policy.load` (a file) or `Policy.parse` (a text). Two policies are equal if they say the same.
    """

    protect: Protect
    """the section [protect]: table, column, minimum, maximum, step and public"""
    tables: Tables = Tables()
    """the section [tables]"""
    intruder: Intruder = Intruder()
    """the section [intruder]"""
    limits: Limits = Field(alias="limit")
    """the section [limit]: at least one of risk and epsilon, for example risk = 0.5"""
    decision: DecisionRules = DecisionRules()
    """the section [decision]"""
    ledger: LedgerPlace = LedgerPlace()
    """the section [ledger]"""

    _folder: Path | None = PrivateAttr(default=None)

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """The policy in a file; relative paths in it are relative to that file.

        Raises:
            PolicyError: it cannot be read, is not TOML, or is not a policy.
        """
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise PolicyError(f"policy {path}: not UTF-8 text ({error.reason})") from error
        except OSError as error:
            raise PolicyError(f"policy {path}: cannot be read: {error.strerror or error}") from error
        try:
            policy = cls.parse(text)
        except PolicyError as error:
            raise PolicyError(f"policy {path}: {error}") from error
        policy._folder = path.absolute().parent
        return policy

    @classmethod
    def parse(cls, text: str) -> Policy:
        """The policy in a text; relative paths in it are relative to the working folder.

        Raises:
            PolicyError: not TOML, or not a policy.
        """
        try:
            document = tomllib.loads(text, parse_float=Decimal)
        except tomllib.TOMLDecodeError as error:
            raise PolicyError(f"not valid TOML: {error}") from error
        document = unavailable(document)
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            raise PolicyError(explain(error, cls)) from error

    @model_validator(mode="after")
    def _fits_together(self) -> Policy:
        if self.protect.table.casefold() in (name.casefold() for name in self.tables.public):
            text = "lists the protected table, whose public columns may be read anyway; leave it out"
            _wrong("tables.public", self.tables.public, text)
        if self.intruder.knows != "all" and self.protect.public != "all":
            public = {name.casefold() for name in self.protect.public}
            for name in self.intruder.knows:
                if name.casefold() not in public:
                    _wrong(
                        "intruder.knows",
                        name,
                        "is not in protect.public; the intruder's columns are public ones",
                    )
        column = self.protect.column
        if self.intruder.knows != "all" and column.casefold() in map(str.casefold, self.intruder.knows):
            _wrong("intruder.knows", column, "is the protected column; leave it out")
        self._can_be_kept()
        return self

    def _can_be_kept(self) -> None:
        """A limit that is broken before anything has been asked would refuse everything."""
        if self.limits.epsilon is None:
            return
        from cae_sql.measure import uniform_entropy

        bits = uniform_entropy(self.domain.count, self.protect.step, self.limits.epsilon)
        if bits <= 0:
            text = (
                "reaches over the whole domain: nothing could be answered; take less than maximum - minimum"
            )
            _wrong("limit.epsilon", self.limits.epsilon, text)
        if self.limits.min_entropy is not None and bits < self.limits.min_entropy:
            text = f"is more than the {bits:.3f} bits that are there at epsilon before any answer; take less"
            _wrong("limit.min_entropy", self.limits.min_entropy, text)

    @cached_property
    def domain(self) -> Domain:
        """The possible values at the resolution risk is judged at, exactly as written."""
        return Domain(self.protect.minimum, self.protect.maximum, self.protect.step)

    @property
    def resolution(self) -> Fraction:
        """The grid of the stored values, in units of the column."""
        return self.protect.step if self.protect.resolution is None else self.protect.resolution

    @property
    def limit(self) -> Limit:
        """The limit, as `cae_sql.risk` judges it."""
        from cae_sql.risk import Limit

        epsilon = None if self.limits.epsilon is None else float(self.limits.epsilon)
        return Limit(risk=self.limits.risk, epsilon=epsilon, min_entropy=self.limits.min_entropy)

    @cached_property
    def protect_canonical(self) -> str:
        """What [protect] means, as JSON: one text for all ways of writing the same."""
        section = self.protect
        public = "all" if section.public == "all" else sorted({name.casefold() for name in section.public})
        meaning = {
            "table": section.table.casefold(),
            "column": section.column.casefold(),
            "minimum": str(section.minimum),
            "maximum": str(section.maximum),
            "step": str(section.step),
            "resolution": str(self.resolution),
            "key": section.key and section.key.casefold(),
            "public": public,
        }
        return json.dumps(meaning, sort_keys=True, separators=(",", ":"))

    @property
    def protect_digest(self) -> str:
        """What a ledger is bound to: a hex digest of the meaning of [protect], and of nothing else."""
        return blake2b(self.protect_canonical.encode(), digest_size=32).hexdigest()

    def ledger_location(self, database: str | Path) -> str:
        """Path or SQLAlchemy URL of the ledger for a database, by default beside it."""
        if self.ledger.path is None:
            return str(Path(database).absolute().with_suffix(".ledger"))
        return self.ledger.path if "://" in self.ledger.path else str(self._place(self.ledger.path))

    @property
    def anchor_path(self) -> Path | None:
        """Where the ledger's anchor is kept, or None where the policy asks for none."""
        return None if self.ledger.anchor is None else self._place(self.ledger.anchor)

    def _place(self, name: str) -> Path:
        return (self._folder or Path.cwd()) / Path(name).expanduser()


def written(number: object) -> str:
    """A number as people write it in TOML: 5/2 as 2.5, one third as 1/3."""
    if not isinstance(number, Fraction):
        return str(number)
    if number.denominator == 1:
        return str(number.numerator)
    decimal = Decimal(number.numerator) / Decimal(number.denominator)
    return f"{decimal:f}" if Fraction(decimal) == number else str(number)


def _wrong(key: str, value: object, text: str) -> None:
    shown = "" if value is None else f" = {_toml(value)}"
    raise ValueError(f"{key}{shown}: {text}")


def _toml(value: object) -> str:
    if isinstance(value, Fraction | float):
        return written(exact(value))
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False, default=str)


def _without_column(section: Protect) -> None:
    column = section.column.casefold()
    if section.public != "all" and column in (name.casefold() for name in section.public):
        _wrong("protect.public", section.column, "is the protected column; leave it out")
    if section.key is not None and section.key.casefold() == column:
        _wrong("protect.key", section.key, "is the protected column; take one that names records, or none")
