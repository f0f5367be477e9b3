"""Releases: what somebody believes who has one, what a user takes it for, and what is written to a file.

Promise: every release answers the same questions in the same form, whatever made it. The mathematics is
`cae_sql.releases`'; here is only which of its functions is meant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from auditor.evaluation.subject import Subject
from cae_sql.cached import cached_property
from cae_sql.errors import InvalidInput
from cae_sql.releases import estimates
from cae_sql.releases.beliefs import Beliefs, Floats, Ints
from cae_sql.releases.by_group import GroupStatistics
from cae_sql.releases.disclosure import attribute_disclosure_risk
from cae_sql.releases.drawing import generator
from cae_sql.releases.estimates import Comparison
from cae_sql.releases.generalisation import generalised_beliefs
from cae_sql.releases.groups import grouped_beliefs
from cae_sql.releases.matching import classes_of
from cae_sql.releases.noise import perturbed_beliefs
from cae_sql.releases.response import randomised_beliefs
from cae_sql.releases.restriction import answered_beliefs, query_sets, restricted_beliefs
from cae_sql.releases.sampling import sampled_beliefs

if TYPE_CHECKING:
    import pandas as pd

FIGURES: Mapping[str, str] = {
    "likely_risk": "risk by what the sums make likely, where the risk beside it is by what they exclude",
    "disclosure_risk": "attribute disclosure risk, the chance of the right guess (greatest of the class)",
    "histogram_risk": "what one record does to synthetic draws from a group's histogram (bound on a chance)",
    "compute_risk_1": "what one record does to a synthetic table's mean (ComputeRisk1, bound on a chance)",
    "compute_risk_2": "what one record does to its group's mean and variance (ComputeRisk2, per cent)",
}
"""Beside those of the measure: of posteriors (`mathematics.md`, 7), and of companion papers, 004 and 002."""
NAMED: Mapping[str, str] = {
    "likely_risk": "Risk by likelihood",
    "disclosure_risk": "Attribute disclosure risk",
    "histogram_risk": "Histogram’s risk",
    "compute_risk_1": "ComputeRisk1",
    "compute_risk_2": "ComputeRisk2, %",
}
"""The same, as headings."""

MOST_SUMS = 700
"""Of more than so many what they make likely is not worked out: it takes their cube."""


@dataclass(frozen=True, eq=False)
class Release:
    """Something that was, or could be, published."""

    subject: Subject

    def beliefs(self, known: Sequence[str]) -> Beliefs:
        """What somebody believes who knows these columns of the target."""
        raise NotImplementedError

    def comparison(self, by: str | None) -> Comparison:
        """The table of a public column and the confidential one, and what a user takes it to be: each
        record's probability as the release leaves it."""
        known = [] if by is None else [by]
        return estimates.of_beliefs(self.subject.table, self.beliefs(known), self.subject.column)

    def figures(self, known: Sequence[str]) -> dict[str, Floats]:
        """`FIGURES` of the classes of `beliefs(known)`, in their order; NaN where one has none."""
        del known
        return {}

    def published(self) -> pd.DataFrame | None:
        """What is published, in the original's order; None: answers, and no table."""
        return None

    @property
    def ordered(self) -> bool:
        """Whether its records stand in the original's order, which may say who is who."""
        return True


@dataclass(frozen=True, eq=False)
class Sample(Release):
    """A simple random sample."""

    table: pd.DataFrame

    def beliefs(self, known: Sequence[str]) -> Beliefs:
        """By `sampled`."""
        s = self.subject
        return sampled_beliefs(s.table, self.table, s.column, known, s.domain)

    def comparison(self, by: str | None) -> Comparison:
        """Its own proportions."""
        s = self.subject
        return estimates.of_sample(s.table, self.table, s.column, by, s.domain)

    def published(self) -> pd.DataFrame:
        """Its records."""
        return self.table


@dataclass(frozen=True, eq=False)
class Noisy(Release):
    """A table with noise on every attribute."""

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

    def published(self) -> pd.DataFrame:
        """Its records."""
        return self.table


@dataclass(frozen=True, eq=False)
class QuerySets(Release):
    """Sums over overlapping query sets of one size."""

    size: int
    seed: int

    def beliefs(self, known: Sequence[str]) -> Beliefs:
        """By `restricted`."""
        s = self.subject
        return restricted_beliefs(s.table, s.column, known, s.domain, self.size, self.seed)

    def figures(self, known: Sequence[str]) -> dict[str, Floats]:
        """What the same sums make likely; none where there are more sums than a factor is made of."""
        s = self.subject
        sets = query_sets(len(s.table), self.size, self.seed)
        if len(sets) > MOST_SUMS:
            return {}
        found = answered_beliefs(s.table, s.column, known, s.domain, sets, likely=True)
        return {"likely_risk": found.frame()["risk"].to_numpy()}

    def comparison(self, by: str | None) -> Comparison:
        """Records spread over what the sums leave of each, with the right total."""
        s = self.subject
        return estimates.of_answers(s.table, s.column, by, s.domain, self.size, self.seed)


@dataclass(frozen=True, eq=False)
class Randomised(Release):
    """Randomised response."""

    table: pd.DataFrame
    probabilities: Mapping[str, float]

    @cached_property
    def domains(self) -> dict[str, list[object]]:
        """Of the columns that have a probability: of public ones the values that occur."""
        return domains_of(self.subject, list(self.probabilities))

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

    def figures(self, known: Sequence[str]) -> dict[str, Floats]:
        """Paper 004's Result 1, the known columns as quasi-identifiers; none where nothing is known."""
        import numpy as np

        s = self.subject
        if not known:
            return {}
        used = {name: p for name, p in self.probabilities.items() if name in (*known, s.column)}
        domains = domains_of(s, [*known, s.column])
        risk = attribute_disclosure_risk(s.table, list(known), s.column, used, domains)
        classes = classes_of(s.table, known)
        found = np.zeros(classes.count)
        np.maximum.at(found, classes.labels, risk.to_numpy())
        return {"disclosure_risk": found}

    def published(self) -> pd.DataFrame:
        """Its records."""
        return self.table


@dataclass(frozen=True, eq=False)
class Generalised(Release):
    """Quasi-identifiers made coarser, or groups, as they were given."""

    table: pd.DataFrame
    group: str | None

    def beliefs(self, known: Sequence[str]) -> Beliefs:
        """By `generalised`."""
        s = self.subject
        return generalised_beliefs(s.table, self.table, s.column, known, s.domain, group=self.group)


@dataclass(frozen=True, eq=False)
class Grouped(Release):
    """Groups whose records are at hand: of anatomy, or classes that were made coarser."""

    group: Ints
    """(n,) of each record of the subject's table, 0 … g − 1."""
    coarse: pd.DataFrame | None = None
    """The table with coarser values, where that is what is published."""
    seed: int = 0

    def beliefs(self, known: Sequence[str]) -> Beliefs:
        """By `grouped_beliefs`: the figures of `generalised`, sooner."""
        s = self.subject
        return grouped_beliefs(s.table, self.group, s.column, known, s.domain)

    def published(self) -> pd.DataFrame:
        """Coarser values; or public columns and group, the confidential values permuted within each group."""
        import numpy as np

        if self.coarse is not None:
            return self.coarse
        s = self.subject
        if "group" in s.public or s.column == "group":
            raise InvalidInput("a column is named 'group' as that of the groups would be; rename it")
        order = np.argsort(self.group, kind="stable")
        shuffled = generator([self.seed, 2]).permutation(self.group.size)
        drawn = shuffled[np.argsort(self.group[shuffled], kind="stable")]
        values = s.table[s.column].to_numpy().copy()
        values[order] = s.table[s.column].to_numpy()[drawn]
        return s.table[list(s.public)].assign(group=self.group, **{s.column: values})


@dataclass(frozen=True, eq=False)
class Tabulated(Release):
    """Statistics by group."""

    statistics: GroupStatistics

    def beliefs(self, known: Sequence[str]) -> Beliefs:
        """By `by_group`."""
        s = self.subject
        return self.statistics.beliefs(s.table, s.column, known, s.domain)

    def figures(self, known: Sequence[str]) -> dict[str, Floats]:
        """Of responsible release, where the statistics have them."""
        of = self.statistics
        return {name: of.worst(self.subject.table, known, name) for name in of.figures}

    def published(self) -> pd.DataFrame:
        """A row for each group."""
        return self.statistics.published

    @property
    def ordered(self) -> bool:
        """Groups stand in the order of their values."""
        return False


def domains_of(subject: Subject, names: Sequence[str]) -> dict[str, list[object]]:
    """Possible values of columns: the domain of the confidential one, of public ones those that occur.

    Raises:
        InvalidInput: another column.
    """
    found: dict[str, list[object]] = {}
    for name in names:
        if name == subject.column:
            found[name] = subject.domain.values.tolist()
        elif name in subject.public:
            found[name] = classes_of(subject.table, [name]).values[name].tolist()
        else:
            there = ", ".join([subject.column, *subject.public])
            raise InvalidInput(f"a probability is given for {name}, which is not released; there are {there}")
    return found
