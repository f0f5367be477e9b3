"""What is evaluated: a table, its confidential column, what an intruder knows, and the limit.

Promise: from a policy, from what is said beside it, or from both (what is said beside it counts). Columns are
found as DuckDB compares names; one that the table does not have is one error. Confidential values are moved
only where that was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from auditor.errors import PolicyError
from auditor.sql.names import nearest
from auditor.sql.schema import folded
from cae_sql.domain import Domain, Number, exact
from cae_sql.errors import InvalidInput
from cae_sql.releases.matching import numbers
from cae_sql.risk import Limit

if TYPE_CHECKING:
    import pandas as pd

    from auditor.policy.policy import Policy, Protect


@dataclass(frozen=True)
class Stated:
    """What is said beside a policy, or in place of one; None: not said."""

    column: str | None = None
    """The confidential column."""
    public: tuple[str, ...] | None = None
    """Columns that are released, and that an intruder may know."""
    known: tuple[str, ...] | Literal["all"] | None = None
    """Columns that the intruder knows of the target; "all" that are public."""
    minimum: Number | None = None
    maximum: Number | None = None
    step: Number | None = None
    limit: Limit | None = None
    round: bool = False
    """Whether confidential values are moved to the nearest of the domain, as the paper rounds salaries."""


@dataclass(frozen=True, eq=False)
class Subject:
    """What is evaluated."""

    name: str
    """Of the table, for people."""
    table: pd.DataFrame
    """All records, all columns."""
    column: str
    public: tuple[str, ...]
    known: tuple[str, ...]
    domain: Domain
    limit: Limit | None
    rounds: bool = False
    unit: str | None = None
    """The column that says whose rows they are, where somebody has several; it need not be published."""

    @property
    def units(self) -> pd.Series | None:
        """Whose each record is; None: every record is somebody's own."""
        return None if self.unit is None else self.table[self.unit]

    @property
    def published(self) -> pd.DataFrame:
        """The columns that a release has."""
        return self.table[[self.column, *self.public]]

    def of(self, table: pd.DataFrame) -> Subject:
        """The same of another table."""
        return replace(self, table=table)

    def public_column(self, name: str, where: str) -> str:
        """A public column as the table spells it.

        Raises:
            InvalidInput: it is not public; `where` says who named it.
        """
        found = {folded(each): each for each in self.public}.get(folded(name))
        if found is None:
            raise InvalidInput(
                f"{where} names {name!r}, which is not public; there are {', '.join(self.public) or 'none'}"
            )
        return found

    def like(self, released: pd.DataFrame) -> pd.DataFrame:
        """A released table with its columns spelled as the original's, and rounded where that is."""
        spelled = {folded(str(name)): str(name) for name in self.table.columns}
        named = released.rename(columns=lambda name: spelled.get(folded(str(name)), name))
        if self.rounds and list(named.columns).count(self.column) == 1:
            return _rounded(named, self.column, self.domain, "the release")
        return named


def subject_of(name: str, table: pd.DataFrame, policy: Policy | None, stated: Stated) -> Subject:
    """The subject.

    Args:
        name: Of the table, for people.
        table: All records.
        policy: Where there is one.
        stated: What is said beside it.

    Raises:
        PolicyError: a policy that protects several columns, none of which was named, or not the one that was.
        InvalidInput: a column that the table does not have; without a policy, something that was not said.
    """
    protect = protect_of(policy, stated.column)
    column = protect.column if protect is not None else stated.column
    if column is None or (protect is None and stated.public is None):
        raise InvalidInput("without a policy the columns are needed: --column and --public")
    column = _found(column, table, name)
    public = _public(table, name, column, policy, protect, stated)
    for place, each in enumerate(public):
        if each == column:
            raise InvalidInput(f"public names the confidential column {column!r}", place)
        if each in public[:place]:
            raise InvalidInput(f"public names {each!r} twice", place)
    domain = _domain(protect, stated)
    limit = stated.limit
    if limit is None and protect is not None:
        assert policy is not None
        limit = policy.limits_of(protect).limit
    known = _known(table, name, public, policy, stated)
    unit = None if protect is None or protect.unit is None else _found(protect.unit, table, name)
    subject = Subject(name, table, column, public, known, domain, limit, stated.round, unit)
    if not stated.round:
        return subject
    return replace(subject, table=_rounded(table, column, domain, "the original"))


def protect_of(policy: Policy | None, column: str | None) -> Protect | None:
    """The policy's section that is meant; None without a policy.

    Raises:
        PolicyError: none or several are.
    """
    if policy is None:
        return None
    if column is None:
        if len(policy.protects) > 1:
            names = ", ".join(f"{each.table}.{each.column}" for each in policy.protects)
            raise PolicyError(f"the policy protects {names}: name one of these columns with --column")
        return policy.protects[0]
    found = [each for each in policy.protects if each.name[1] == folded(column)]
    if len(found) > 1:
        names = " and ".join(f"{each.table}.{each.column}" for each in found)
        raise PolicyError(f"the policy protects {names}; take a policy with one of these columns")
    if found:
        return found[0]
    names = ", ".join(each.column for each in policy.protects)
    raise PolicyError(f"the policy does not protect {column}; it protects {names}")


def _public(
    table: pd.DataFrame,
    name: str,
    column: str,
    policy: Policy | None,
    protect: Protect | None,
    stated: Stated,
) -> tuple[str, ...]:
    if stated.public is not None:
        return tuple(_found(each, table, name) for each in stated.public)
    assert protect is not None
    if protect.public != "all":
        return tuple(_found(each, table, name) for each in protect.public)
    assert policy is not None
    hidden = {each.name[1] for each in policy.protects if each.name[0] == protect.name[0]} | {folded(column)}
    return tuple(str(each) for each in table.columns if folded(str(each)) not in hidden)


def _known(
    table: pd.DataFrame, name: str, public: Sequence[str], policy: Policy | None, stated: Stated
) -> tuple[str, ...]:
    if stated.known == "all":
        return tuple(public)
    if stated.known is not None:
        known = tuple(_found(each, table, name) for each in stated.known)
        for each in known:
            if each not in public:
                raise InvalidInput(
                    f"known names {each!r}, which is not public; there are {', '.join(public)}"
                )
        return known
    if policy is None or policy.intruder.knows == "all":
        return tuple(public)
    wanted = {folded(each) for each in policy.intruder.knows}
    return tuple(each for each in public if folded(each) in wanted)


def _domain(protect: Protect | None, stated: Stated) -> Domain:
    said = (stated.minimum, stated.maximum, stated.step)
    if protect is None:
        if None in said:
            raise InvalidInput("without a policy the domain is needed: --minimum, --maximum and --step")
        held: tuple[Number | None, ...] = (None, None, None)
    else:
        held = (protect.minimum, protect.maximum, protect.step)
    low, high, step = (
        exact(of_policy if given is None else given) for given, of_policy in zip(said, held, strict=True)
    )
    return Domain(low, high, step)


def _found(column: str, table: pd.DataFrame, name: str) -> str:
    """A column as the table spells it."""
    spelled = {folded(str(each)): str(each) for each in table.columns}
    if folded(column) not in spelled:
        raise InvalidInput(f"{name} has no column {column}. {nearest(column, spelled.values())}")
    return spelled[folded(column)]


def _rounded(table: pd.DataFrame, column: str, domain: Domain, name: str) -> pd.DataFrame:
    """The nearest values of the grid, halves up; what then lies outside of the domain stays there."""
    from cae_sql.domain import grid_values

    values = numbers(table, column, name)
    low, step = Fraction(exact(domain.minimum)), Fraction(exact(domain.step))
    places = np.floor((values - float(low)) / float(step) + 0.5).astype(np.int64)
    return table.assign(**{column: grid_values(places, low, step)})
