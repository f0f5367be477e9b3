"""The techniques that can be evaluated: how a release is made or taken, and what that needs.

Promise: one table, `TECHNIQUES`; what belongs to no technique, or to another, is one error that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from auditor.evaluation.releases import (
    Generalised,
    Grouped,
    Noisy,
    QuerySets,
    Randomised,
    Release,
    Sample,
    Tabulated,
    domains_of,
)
from auditor.evaluation.subject import Subject
from cae_sql.errors import InvalidInput
from cae_sql.releases.anatomy import anatomise
from cae_sql.releases.by_group import histograms_by_group, parameters_by_group, sums_by_group
from cae_sql.releases.distortion import randomise
from cae_sql.releases.matching import check_table, classes_of
from cae_sql.releases.mondrian import equivalence_classes, generalise
from cae_sql.releases.noise import add_noise
from cae_sql.releases.sampling import draw_sample

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Settings:
    """Parameters of techniques; None: not given."""

    percent: float | None = None
    """Of the records, or of the subject's units, in a sample."""
    noise: float | None = None
    """Percent of |D| − 1 of each attribute."""
    query_set_size: int | None = None
    """Records in a sum."""
    probability: Mapping[str, float] = field(default_factory=dict)
    """Of keeping a value, by column."""
    ell: int | None = None
    """Least number of different values in a group."""
    group: str | None = None
    """The column that says in which group a record is."""
    k: int | None = None
    """Least number of records that coarse values do not tell apart."""
    by: tuple[str, ...] | None = None
    """Public columns by whose values statistics are grouped; none: one group."""
    least: int | None = None
    """Groups of fewer records are withheld."""
    draws: int | None = None
    """Synthetic records for which responsible release is judged."""
    confidence: float | None = None
    """The same."""

    @property
    def given(self) -> dict[str, object]:
        """Those that are."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value is not None and value != {}}

    def beside(self, technique: Technique) -> dict[str, object]:
        """Those given that are options of a technique, but not what a sweep varies."""
        return {name: value for name, value in self.given.items() if name in technique.options}


Make = Callable[[Subject, Settings, int], Release]
Read = Callable[[Subject, "pd.DataFrame", Settings], Release]


@dataclass(frozen=True)
class Technique:
    """A technique, and what it needs."""

    name: str
    parameter: str
    """The member of `Settings` that a sweep varies."""
    unit: str
    """Of it, for people; "{}" is the number."""
    make: Make
    """A release from a seed."""
    read: Read | None
    """A release from a table; None: it is none."""
    to_read: tuple[str, ...] = ()
    """Members of `Settings` without which a release cannot be judged."""
    options: tuple[str, ...] = ()
    """Members that may be given, and have a default."""
    drawn: bool = True
    """Whether a seed matters."""

    @property
    def to_make(self) -> tuple[str, ...]:
        """Members without which a release cannot be made."""
        return () if self.parameter in self.options else (self.parameter,)

    def label(self, value: float) -> str:
        """A parameter as people say it."""
        return self.unit.format(f"{value:g}")

    def settings(self, subject: Subject, value: float, beside: Settings | None = None) -> Settings:
        """The parameter of a sweep, with the options that were given beside it.

        Raises:
            InvalidInput: a number that should be whole.
        """
        if self.parameter == "probability":
            return Settings(probability={subject.column: value})
        chosen: dict[str, object] = {} if beside is None else beside.beside(self)
        chosen[self.parameter] = value
        if self.parameter in _WHOLE:
            if not float(value).is_integer():
                raise InvalidInput(f"{option(self.parameter)} must be a whole number, not {value:g}")
            chosen[self.parameter] = int(value)
        return Settings(**chosen)  # type: ignore[arg-type]


_WHOLE = ("query_set_size", "ell", "k", "least")


def release_of(
    subject: Subject, technique: Technique, settings: Settings, released: pd.DataFrame | None, seed: int
) -> Release:
    """The release that is given, or one that is made.

    Raises:
        InvalidInput: a parameter that is missing, or belongs to another technique; a technique that is no
            table; tables that cannot be used.
    """
    known = {technique.parameter, *technique.to_read, *technique.options}
    foreign = [name for name in settings.given if name not in known]
    if foreign:
        raise InvalidInput(f"{technique.name} has no {option(foreign[0])}")
    if released is not None:
        if technique.read is None:
            raise InvalidInput(
                f"{technique.name} publishes statistics of the original, and not a table of persons: leave "
                f"--release out{''.join(f' and give {option(name)}' for name in technique.to_make)}"
            )
        idle = [name for name in settings.given if name not in technique.to_read]
        if idle:
            raise InvalidInput(
                f"{option(idle[0])} says how a release is made, and one is given: leave one of the two out"
            )
    elif "group" in settings.given:
        raise InvalidInput("--group says which column of a release holds its groups: give --release too")
    for name in technique.to_make if released is None else technique.to_read:
        if name not in settings.given:
            raise InvalidInput(f"{technique.name} needs {option(name)}")
    check_table(subject.table, [subject.column, *subject.public], "the original")
    if released is not None:
        assert technique.read is not None
        return technique.read(subject, subject.like(released), settings)
    return technique.make(subject, settings, seed)


def option(name: str) -> str:
    """A member of `Settings` as the command line calls it."""
    return f"--{name.replace('_', '-')}"


def _make_sample(subject: Subject, settings: Settings, seed: int) -> Release:
    assert settings.percent is not None
    return Sample(subject, draw_sample(subject.published, settings.percent, seed, subject.units))


def _make_noise(subject: Subject, settings: Settings, seed: int) -> Release:
    assert settings.noise is not None
    made = add_noise(subject.table, subject.column, subject.public, subject.domain, settings.noise, seed)
    return Noisy(subject, made, settings.noise)


def _make_answers(subject: Subject, settings: Settings, seed: int) -> Release:
    assert settings.query_set_size is not None
    return QuerySets(subject, settings.query_set_size, seed)


def _make_randomised(subject: Subject, settings: Settings, seed: int) -> Release:
    domains = domains_of(subject, list(settings.probability))
    made = randomise(subject.published, settings.probability, domains, seed)
    return Randomised(subject, made, settings.probability)


def _make_generalised(subject: Subject, settings: Settings, seed: int) -> Release:
    del seed
    assert settings.k is not None
    group = equivalence_classes(subject.table, subject.public, settings.k)
    coarse = generalise(subject.table, subject.column, subject.public, settings.k)
    return Grouped(subject, group, coarse)


def _make_anatomy(subject: Subject, settings: Settings, seed: int) -> Release:
    assert settings.ell is not None
    group = anatomise(subject.published, subject.column, settings.ell, seed)
    return Grouped(subject, group.to_numpy(), seed=seed)


def _make_sums(subject: Subject, settings: Settings, seed: int) -> Release:
    del seed
    by, least = _by(subject, settings), 1 if settings.least is None else settings.least
    return Tabulated(subject, sums_by_group(subject.table, subject.column, by, subject.domain, least))


def _make_histogram(subject: Subject, settings: Settings, seed: int) -> Release:
    del seed
    found = histograms_by_group(
        subject.table, subject.column, _by(subject, settings), subject.domain,
        1 if settings.least is None else settings.least, settings.draws, _confidence(settings),
    )  # fmt: skip
    return Tabulated(subject, found)


def _make_parameters(subject: Subject, settings: Settings, seed: int) -> Release:
    del seed
    found = parameters_by_group(
        subject.table, subject.column, _by(subject, settings), subject.domain,
        3 if settings.least is None else settings.least, settings.draws, _confidence(settings),
    )  # fmt: skip
    return Tabulated(subject, found)


def _by(subject: Subject, settings: Settings) -> tuple[str, ...]:
    return tuple(subject.public_column(name, "--by") for name in settings.by or ())


def _confidence(settings: Settings) -> float:
    return 0.95 if settings.confidence is None else settings.confidence


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
    """Groups that the original has too; or one table with groups and public columns, values permuted within
    each group, as is written here."""
    group, s = settings.group, subject
    assert group is not None
    if group in s.table.columns or not set(s.public) <= set(table.columns):
        return Generalised(subject, table, group)
    check_table(table, [s.column, *s.public, group], "the release")
    there, here = classes_of(s.table, s.public), classes_of(table, s.public)
    if (
        len(table) != len(s.table)
        or not there.values.equals(here.values)
        or (there.members != here.members).any()
    ):
        raise InvalidInput(
            f"the release has other records than the original: {', '.join(s.public)} must be the same in both"
        )
    if sorted(s.table[s.column].tolist()) != sorted(table[s.column].tolist()):
        raise InvalidInput(f"the release has other values of {s.column} than the original")
    return Grouped(subject.of(table), classes_of(table, [group]).labels)


_STATISTICS = ("by", "least")
_SYNTHETIC = (*_STATISTICS, "draws", "confidence")

TECHNIQUES: Mapping[str, Technique] = {
    each.name: each
    for each in (
        Technique("sampling", "percent", "{} %", _make_sample, _read_sample),
        Technique("noise", "noise", "{} %", _make_noise, _read_noise, ("noise",)),
        Technique("query-restriction", "query_set_size", "Q = {}", _make_answers, None),
        Technique("generalisation", "k", "k = {}", _make_generalised, _read_generalised, drawn=False),
        Technique("anatomy", "ell", "l = {}", _make_anatomy, _read_groups, ("group",)),
        Technique(
            "randomised-response", "probability", "p = {}", _make_randomised, _read_randomised,
            ("probability",),
        ),
        Technique("sums", "least", "n >= {}", _make_sums, None, options=_STATISTICS, drawn=False),
        Technique("histogram", "least", "n >= {}", _make_histogram, None, options=_SYNTHETIC, drawn=False),
        Technique("parameters", "least", "n >= {}", _make_parameters, None, options=_SYNTHETIC, drawn=False),
    )
}  # fmt: skip
