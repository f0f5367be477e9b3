"""The policy: what is protected, from whom, and how far the answers may go. Read from TOML, checked whole.

Promise: a `Policy` that exists can be used. Every way in which a text cannot be one is a single
`PolicyError` that names the key, the value and what would do. Numbers stay as written: `step = 0.1` is one
tenth. What a later version will offer and this one does not is an error too, never ignored.

Whether the data fit the policy (tables exist, values lie in their domains) is for those who read the data;
what each section may say by itself is `auditor.policy.sections`'s.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr, ValidationError, model_validator

from auditor.errors import PolicyError
from auditor.policy.messages import explain, prepared
from auditor.policy.numbers import written
from auditor.policy.prior import Prior
from auditor.policy.sections import (
    MOST_VALUES,
    DecisionRules,
    HouseRules,
    Intruder,
    LedgerPlace,
    Limits,
    Protect,
    Section,
    SourceRules,
    Tables,
    wrong,
)
from auditor.sql.schema import folded

__all__ = ["MOST_VALUES", "Dialect", "Limits", "Policy", "Protect", "written"]

Dialect = Literal["duckdb", "postgres"]

LEAST_PART = 0.1
"""Of the bits at epsilon that must remain where there is no risk. Without any, 60 of 60 sums of a star were
told. Of two values the likelier then has 99 % at most, and of more less."""


class Policy(Section):
    """Protected columns and the rules under which they are asked about.

    Read with `Policy.load` (a file) or `Policy.parse` (a text). Two policies are equal if they say the same.
    """

    protects: tuple[Protect, ...] = Field(alias="protect")
    """the section [protect], or several [[protect]]: table, column, minimum, maximum, step and public"""
    dialect: Dialect = "duckdb"
    """whose SQL statements are written in: dialect = "duckdb" or "postgres\""""
    tables: Tables = Tables()
    """the section [tables]"""
    source: SourceRules = SourceRules()
    """the section [source]"""
    intruder: Intruder = Intruder()
    """the section [intruder]"""
    limits: Limits | None = Field(default=None, alias="limit")
    """the section [limit]: risk, or epsilon with min_entropy, for example risk = 0.5"""
    decision: DecisionRules = DecisionRules()
    """the section [decision]"""
    rules: HouseRules = HouseRules()
    """the section [rules]: what is withheld whatever the risk, for example min_size = 10"""
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
            return cls._read(text)
        except RecursionError:  # lists and tables in one another, or a key of hundreds of parts
            raise PolicyError(
                "nested too deeply; a policy is sections of keys, with lists as values"
            ) from None

    @classmethod
    def _read(cls, text: str) -> Policy:
        try:
            document = tomllib.loads(text, parse_float=Decimal)
        except ValueError as error:  # its own kind, and Python's about a number of thousands of digits
            raise PolicyError(f"not valid TOML: {error}") from error
        document = prepared(document)
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            raise PolicyError(explain(error, cls, len(document.get("protect", ())))) from error

    @property
    def on_scratch(self) -> Policy:
        """The same policy with a ledger that lies nowhere yet: for one that is thrown away."""
        place = self.ledger.model_copy(update={"path": None, "anchor": None, "editions": False})
        return self.model_copy(update={"ledger": place})

    def varied(self, risk: float, insiders: int) -> Policy:
        """The same policy with another limit on the risk of every column, and other insiders.

        Raises:
            PolicyError: together with the rest that is no policy.
        """

        def limited(limits: Limits | None) -> dict[str, object] | None:
            return None if limits is None else _stated(limits) | {"risk": risk}

        protects = [_stated(each) | {"limit": limited(each.limits)} for each in self.protects]
        found = _stated(self) | {"protect": protects, "limit": limited(self.limits)}
        found["intruder"] = _stated(self.intruder) | {"insiders": insiders}
        try:
            policy = type(self).model_validate(found)
        except ValidationError as error:
            raise PolicyError(explain(error, type(self), len(protects))) from error
        policy._folder = self._folder
        return policy

    @model_validator(mode="after")
    def _fits_together(self) -> Policy:
        _once_each(self.protects)
        _alike_by_table(self.protects)
        self._tables_apart()
        self._intruder_knows_public_columns()
        if self.intruder.published and self.ledger.scope == "user":
            text = 'counts for everyone, so it needs [ledger] scope = "everyone"; leave one of the two out'
            wrong("intruder.published", self.intruder.published, text)
        for protect in self.protects:
            if protect.limits is None and self.limits is None:
                wrong("limit", None, "missing; give [limit] with risk = 0.5, or each [[protect]] its own")
        self._priors_fit()
        for protect in self.protects:
            self._can_be_kept(protect)
            self._units_are_judged(protect)
        return self

    def _units_are_judged(self, protect: Protect) -> None:
        """What answers make likely of several rows together is known of one model, and as a risk."""
        if protect.unit is None:
            return
        if self.intruder.candidates != "posterior":
            text = f'needs candidates = "posterior" under [intruder], not "{self.intruder.candidates}"'
            wrong("protect.unit", protect.unit, text)
        if self.limits_of(protect).epsilon is not None:
            wrong("protect.unit", protect.unit, "needs a limit of risk alone; leave epsilon out")
        table, _, column = protect.unit.rpartition(".")
        if table and _table(table) not in {_table(name) for name in self.tables.public}:
            text = (
                f"is a column of {table}, which is not in tables.public; list that there, or write "
                f'unit = "{column}" for a column of {protect.table} itself'
            )
            wrong("protect.unit", protect.unit, text)

    def _tables_apart(self) -> None:
        protected = {protect.name[0]: protect.table for protect in self.protects}
        for key, names in (("public", self.tables.public), ("views", self.tables.views)):
            for name in names:
                if _table(name) in protected:
                    text = "is a protected table, whose public columns may be read anyway; leave it out"
                    wrong(f"tables.{key}", name, text)
        public = {_table(name) for name in self.tables.public}
        for name in self.tables.views:
            if _table(name) in public:
                wrong("tables.views", name, "is in tables.public too; list it in one of the two")

    def _intruder_knows_public_columns(self) -> None:
        if self.intruder.knows == "all":
            return
        protected = {protect.name[1] for protect in self.protects}
        listed = {
            folded(name) for protect in self.protects if protect.public != "all" for name in protect.public
        }
        every = any(protect.public == "all" for protect in self.protects)
        for name in self.intruder.knows:
            if folded(name) in protected and folded(name) not in listed:
                wrong("intruder.knows", name, "is a protected column; leave it out")
            if folded(name) not in listed and not every:
                text = "is not in protect.public; the intruder's columns are public ones"
                wrong("intruder.knows", name, text)

    def _can_be_kept(self, protect: Protect) -> None:
        """A limit that is broken before anything has been asked would refuse everything."""
        limits, place = self.limits_of(protect), "limit" if protect.limits is None else "protect.limit"
        if limits.epsilon is None:
            return
        from cae_sql.measure import uniform_entropy

        bits = uniform_entropy(protect.domain.count, protect.step, limits.epsilon)
        of = f" of {protect.table}.{protect.column}" if len(self.protects) > 1 else ""
        if bits <= 0:
            text = (
                f"reaches over the whole domain{of}: nothing could be answered; take less than "
                "maximum - minimum"
            )
            wrong(f"{place}.epsilon", limits.epsilon, text)
        if limits.min_entropy is not None and bits < limits.min_entropy:
            text = (
                f"is more than the {bits:.3f} bits{of} that are there at epsilon before any answer; take less"
            )
            wrong(f"{place}.min_entropy", limits.min_entropy, text)
        least = LEAST_PART * bits
        if limits.risk is None and (limits.min_entropy is None or limits.min_entropy < least):
            text = (
                f"alone is no limit{of}: nearly certain is not certain; give min_entropy too, at least "
                f"{least:.2f} of the {bits:.3f} bits that are there at epsilon before any answer, or "
                "risk = 0.5 beside it"
            )
            wrong(f"{place}.epsilon", limits.epsilon, text)
        believed = self.intruder.candidates == "posterior"
        prior = self.prior_of(protect) if believed else None
        if prior is not None and prior.probabilities is not None:
            self._can_be_kept_with(prior.probabilities, protect, f"{place}.epsilon")

    def _can_be_kept_with(self, probabilities: NDArray[np.float64], protect: Protect, place: str) -> None:
        """Where answers are judged by what they make likely, a prior is what is believed before any."""
        from cae_sql.measure import cae_entropy

        limits, width = self.limits_of(protect), int(protect.step / protect.grid)
        windows = np.add.reduceat(probabilities, np.arange(0, len(probabilities), width))
        bits = cae_entropy(protect.domain.values[: len(windows)], windows, float(limits.epsilon or 0))
        if bits < (limits.min_entropy or 0) or bits <= 0:
            text = (
                f'leaves {bits:.3f} bits under candidates = "posterior" with the prior of '
                f"{protect.table}.{protect.column}, before any answer; take less, or a smaller min_entropy, "
                "or a wider prior"
            )
            wrong(place, limits.epsilon, text)

    def _priors_fit(self) -> None:
        """A prior is of one column, and of its domain and grid."""
        if self.intruder.prior is not None and len(self.protects) > 1:
            text = "is of one column, and there are several; give each [[protect]] its own prior"
            wrong("intruder.prior", None, text)
        for protect in self.protects:
            given = self.intruder.prior if protect.prior is None else protect.prior
            if given is None:
                continue
            try:
                protect.spread(given)
            except ValueError as error:
                place = "intruder.prior" if protect.prior is None else "protect.prior"
                of = f" of {protect.table}.{protect.column}" if len(self.protects) > 1 else ""
                wrong(f"{place}{of}", None, str(error))

    def prior_of(self, protect: Protect) -> Prior | None:
        """How a protected column's values are known to be spread; None: evenly, as far as anyone knows."""
        given = self.intruder.prior if protect.prior is None else protect.prior
        return None if given is None else protect.spread(given)

    def in_cells(self, far: bool) -> bool:
        """Whether cells are read of a source; by default, if it is `far`: not on this machine."""
        return far or self.source.values if self.source.mode is None else self.source.mode == "cells"

    def limits_of(self, protect: Protect) -> Limits:
        """The limit of a protected column: its own, or that of [limit]."""
        limits = self.limits if protect.limits is None else protect.limits
        assert limits is not None
        return limits

    @cached_property
    def protect_canonical(self) -> str:
        """What all [[protect]] mean, as JSON: one text for all ways and orders of writing the same."""
        meanings = [protect.meaning for protect in sorted(self.protects, key=lambda each: each.name)]
        return json.dumps(meanings, sort_keys=True, separators=(",", ":"))

    @property
    def protect_digest(self) -> str:
        """What a ledger is bound to: a hex digest of the meaning of all [[protect]], and of nothing else."""
        return blake2b(self.protect_canonical.encode(), digest_size=32).hexdigest()

    def ledger_location(self, database: str | Path | None) -> str:
        """Path or SQLAlchemy URL of the ledger for a database, by default beside it.

        Args:
            database: A file or folder; None: the data are in no such place.

        Raises:
            PolicyError: the policy names no ledger, and there is nothing beside which it could lie.
        """
        if self.ledger.path is None:
            if database is None:
                raise PolicyError(
                    "ledger.path: missing; these data have no folder in which a ledger could lie: write "
                    '[ledger] path = "staff.ledger", or name one when the gate is opened'
                )
            place = Path(database).absolute()
            # a folder's name has no ending
            return f"{place}.ledger" if place.is_dir() else str(place.with_suffix(".ledger"))
        return self.ledger.path if "://" in self.ledger.path else str(self._place(self.ledger.path))

    @property
    def anchor_path(self) -> Path | None:
        """Where the ledger's anchor is kept, or None where the policy asks for none."""
        return None if self.ledger.anchor is None else self._place(self.ledger.anchor)

    def _place(self, name: str) -> Path:
        return (self._folder or Path.cwd()) / Path(name).expanduser()


def _stated(section: Section) -> dict[str, object]:
    """What a section says, by key."""
    fields = type(section).model_fields
    return {field.alias or name: getattr(section, name) for name, field in fields.items()}


def _table(name: str) -> str:
    """A table as DuckDB compares it."""
    return folded(name).removeprefix("main.")


def _once_each(protects: Sequence[Protect]) -> None:
    seen = set[tuple[str, str]]()
    for protect in protects:
        if protect.name in seen:
            text = f"of table {protect.table} is protected twice; give it one [[protect]]"
            wrong("protect.column", protect.column, text)
        seen.add(protect.name)


def _alike_by_table(protects: Sequence[Protect]) -> None:
    """Several columns of one table have one list of public columns and one key."""
    ordered = sorted(protects, key=lambda each: each.name)
    columns = {protect.name for protect in protects}
    for protect in ordered:
        table = protect.name[0]
        for name in _named(protect):
            if (table, folded(name)) in columns:
                key = next((each for each in ("key", "unit") if name == getattr(protect, each)), "public")
                key = f"protect.{key}"
                wrong(
                    key, name, f"is protected by another [[protect]] of table {protect.table}; leave it out"
                )
    for one, other in pairwise(ordered):
        if one.name[0] != other.name[0]:
            continue
        if one.meaning["public"] != other.meaning["public"]:
            text = f"{one.column} of the same table {one.table} has others; list the same in both"
            wrong("protect.public", other.public, text)
        if one.meaning["key"] != other.meaning["key"]:
            text = f"{one.column} of the same table {one.table} has another; name the same in both"
            wrong("protect.key", other.key or "", text)
        if one.meaning.get("unit") != other.meaning.get("unit"):
            text = f"{one.column} of the same table {one.table} has another; name the same in both"
            wrong("protect.unit", other.unit or "", text)


def _named(protect: Protect) -> Iterator[str]:
    """The columns that a policy names beside the protected one."""
    yield from () if protect.public == "all" else protect.public
    yield from (name for name in (protect.key, protect.unit) if name is not None)
