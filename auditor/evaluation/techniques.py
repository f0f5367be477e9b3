"""The techniques that can be evaluated: how a release is made or taken, believed and used.

Promise: a release answers two questions in the same form, whatever made it: what somebody believes who knows
some columns of the target (`beliefs`), and what a user takes a two-way table to be (`comparison`). The
mathematics is `cae_sql.releases`'; here is only which of its functions is meant, and what they need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from auditor.evaluation.subject import Subject
from cae_sql.errors import InvalidInput
from cae_sql.releases import estimates
from cae_sql.releases.anatomy import anatomise
from cae_sql.releases.beliefs import Beliefs, Ints
from cae_sql.releases.distortion import randomise
from cae_sql.releases.estimates import Comparison
from cae_sql.releases.generalisation import generalised_beliefs
from cae_sql.releases.groups import grouped_beliefs
from cae_sql.releases.matching import check_table, classes_of
from cae_sql.releases.noise import add_noise, perturbed_beliefs
from cae_sql.releases.response import randomised_beliefs
from cae_sql.releases.restriction import restricted_beliefs
from cae_sql.releases.sampling import draw_sample, sampled_beliefs

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Settings:
    """Parameters of techniques; None: not given."""

    percent: float | None = None
    """Of the records, in a sample."""
    noise: float | None = None
    """Percent of |D| − 1 of each attribute."""
    query_set_size: int | None = None
    """Records in a sum."""
    probability: Mapping[str, float] = field(default_factory=dict)
    """Of keeping a value, by column."""
    ell: int | None = None
    """Least number of different values in a group."""
    group: str | None = None
    """The column of both tables that says in which group a record is."""

    @property
    def given(self) -> dict[str, object]:
        """Those that are."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value is not None and value != {}}


class Release(Protocol):
    """Something that was, or could be, published."""

    def beliefs(self, known: Sequence[str]) -> Beliefs:
        """What somebody believes who knows these columns of the target."""

    def comparison(self, by: str | None) -> Comparison:
        """The table of a public column and the confidential one, and what a user takes it to be."""


@dataclass(frozen=True, eq=False)
class Sample:
    """A simple random sample."""

    subject: Subject
    table: pd.DataFrame

    def beliefs(self, known: Sequence[str]) -> Beliefs:
        """By `sampled`."""
        s = self.subject
        return sampled_beliefs(s.table, self.table, s.column, known, s.domain)

    def comparison(self, by: str | None) -> Comparison:
        """Its own proportions."""
        s = self.subject
        return estimates.of_sample(s.table, self.table, s.column, by, s.domain)


@dataclass(frozen=True, eq=False)
class Noisy:
    """A table with noise on every attribute."""

    subject: Subject
    table: pd.DataFrame
    noise: float

    def beliefs(self, known: Sequence[str]) -> Beliefs:
        """By `perturbed`."""
        s = self.subject
        return perturbed_beliefs(s.table, self.table, s.column, known, s.domain, self.noise)

    def comparison(self, by: str | None) -> Comparison:
        """Its values as they are."""
        s = self.subject
        return estimates.of_noise(s.table, self.table, s.column, by, s.domain)


@dataclass(frozen=True, eq=False)
class QuerySets:
    """Sums over overlapping query sets of one size."""

    subject: Subject
    size: int
    seed: int

    def beliefs(self, known: Sequence[str]) -> Beliefs:
        """By `restricted`."""
        s = self.subject
        return restricted_beliefs(s.table, s.column, known, s.domain, self.size, self.seed)

    def comparison(self, by: str | None) -> Comparison:
        """Records spread over what the sums leave of each, with the right total."""
        s = self.subject
        return estimates.of_answers(s.table, s.column, by, s.domain, self.size, self.seed)


@dataclass(frozen=True, eq=False)
class Randomised:
    """Randomised response."""

    subject: Subject
    table: pd.DataFrame
    probabilities: Mapping[str, float]

    @cached_property
    def domains(self) -> dict[str, list[object]]:
        """Of the columns that have a probability: of public ones the values that occur."""
        return _domains(self.subject, self.probabilities)

    def beliefs(self, known: Sequence[str]) -> Beliefs:
        """By `randomised`."""
        s = self.subject
        domains = {name: values for name, values in self.domains.items() if name in known}
        used = {name: p for name, p in self.probabilities.items() if name in (*known, s.column)}
        return randomised_beliefs(s.table, self.table, s.column, known, s.domain, used, domains)

    def comparison(self, by: str | None) -> Comparison:
        """The reconstruction."""
        s = self.subject
        return estimates.of_randomised(s.table, self.table, s.column, by, s.domain, self.probabilities)


@dataclass(frozen=True, eq=False)
class Generalised:
    """Quasi-identifiers made coarser, or groups."""

    subject: Subject
    table: pd.DataFrame
    group: str | None

    def beliefs(self, known: Sequence[str]) -> Beliefs:
        """By `generalised`."""
        s = self.subject
        return generalised_beliefs(s.table, self.table, s.column, known, s.domain, group=self.group)

    def comparison(self, by: str | None) -> Comparison:
        """Records spread as their classes are."""
        known = [] if by is None else [by]
        return estimates.of_beliefs(self.subject.table, self.beliefs(known), self.subject.column)


@dataclass(frozen=True, eq=False)
class Grouped:
    """Groups that were made here."""

    subject: Subject
    group: Ints
    """(n,) of each record, 0 … g − 1."""

    def beliefs(self, known: Sequence[str]) -> Beliefs:
        """By `grouped_beliefs`: the figures of `generalised`, sooner."""
        s = self.subject
        return grouped_beliefs(s.table, self.group, s.column, known, s.domain)

    def comparison(self, by: str | None) -> Comparison:
        """Records spread as their groups are."""
        known = [] if by is None else [by]
        return estimates.of_beliefs(self.subject.table, self.beliefs(known), self.subject.column)


def _make_sample(subject: Subject, settings: Settings, seed: int) -> Release:
    assert settings.percent is not None
    check_table(subject.table, [subject.column, *subject.public], "the original")
    return Sample(subject, draw_sample(subject.published, settings.percent, seed))


def _make_noise(subject: Subject, settings: Settings, seed: int) -> Release:
    assert settings.noise is not None
    made = add_noise(subject.table, subject.column, subject.public, subject.domain, settings.noise, seed)
    return Noisy(subject, made, settings.noise)


def _make_answers(subject: Subject, settings: Settings, seed: int) -> Release:
    assert settings.query_set_size is not None
    return QuerySets(subject, settings.query_set_size, seed)


def _make_randomised(subject: Subject, settings: Settings, seed: int) -> Release:
    check_table(subject.table, [subject.column, *subject.public], "the original")
    domains = _domains(subject, settings.probability)
    return Randomised(
        subject, randomise(subject.published, settings.probability, domains, seed), settings.probability
    )


def _make_anatomy(subject: Subject, settings: Settings, seed: int) -> Release:
    assert settings.ell is not None
    check_table(subject.table, [subject.column, *subject.public], "the original")
    group = anatomise(subject.published, subject.column, settings.ell, seed)
    return Grouped(subject, group.to_numpy())


def _read_sample(subject: Subject, table: pd.DataFrame, settings: Settings) -> Release:
    del settings
    return Sample(subject, table)


def _read_noise(subject: Subject, table: pd.DataFrame, settings: Settings) -> Release:
    assert settings.noise is not None
    return Noisy(subject, table, settings.noise)


def _read_randomised(subject: Subject, table: pd.DataFrame, settings: Settings) -> Release:
    return Randomised(subject, table, settings.probability)


def _read_generalised(subject: Subject, table: pd.DataFrame, settings: Settings) -> Release:
    del settings
    return Generalised(subject, table, None)


def _read_groups(subject: Subject, table: pd.DataFrame, settings: Settings) -> Release:
    return Generalised(subject, table, settings.group)


@dataclass(frozen=True)
class Technique:
    """A technique, and what it needs."""

    name: str
    parameter: str | None
    """The member of `Settings` that a sweep varies."""
    unit: str
    """Of it, for people; "{}" is the number."""
    make: Callable[[Subject, Settings, int], Release] | None
    """A release from a seed; None: it cannot be made here."""
    read: Callable[[Subject, pd.DataFrame, Settings], Release] | None
    """A release from a table; None: it is none."""
    to_read: tuple[str, ...] = ()
    """Members of `Settings` without which a release cannot be judged."""

    def label(self, value: float) -> str:
        """A parameter as people say it."""
        return self.unit.format(f"{value:g}")

    def settings(self, subject: Subject, value: float) -> Settings:
        """The parameter of a sweep, as settings.

        Raises:
            InvalidInput: a technique without a parameter, or a number that should be whole.
        """
        if self.parameter is None:
            raise InvalidInput(f"{self.name} has no parameter to sweep over: give a release of it")
        if self.parameter == "probability":
            return Settings(probability={subject.column: value})
        if self.parameter in ("query_set_size", "ell"):
            if not float(value).is_integer():
                raise InvalidInput(f"{self.name}: {value:g} must be a whole number")
            return Settings(**{self.parameter: int(value)})  # type: ignore[arg-type]
        return Settings(**{self.parameter: value})  # type: ignore[arg-type]


TECHNIQUES: Mapping[str, Technique] = {
    each.name: each
    for each in (
        Technique("sampling", "percent", "{} %", _make_sample, _read_sample),
        Technique("noise", "noise", "{} %", _make_noise, _read_noise, ("noise",)),
        Technique("query-restriction", "query_set_size", "Q = {}", _make_answers, None),
        Technique("generalisation", None, "{}", None, _read_generalised),
        Technique("anatomy", "ell", "l = {}", _make_anatomy, _read_groups, ("group",)),
        Technique(
            "randomised-response",
            "probability",
            "p = {}",
            _make_randomised,
            _read_randomised,
            ("probability",),
        ),
    )
}


def _domains(subject: Subject, probabilities: Mapping[str, float]) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    for name in probabilities:
        if name == subject.column:
            found[name] = subject.domain.values.tolist()
        elif name in subject.public:
            found[name] = classes_of(subject.table, [name]).values[name].tolist()
        else:
            there = ", ".join([subject.column, *subject.public])
            raise InvalidInput(f"a probability is given for {name}, which is not released; there are {there}")
    return found
