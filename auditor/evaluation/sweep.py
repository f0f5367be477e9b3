"""Several techniques over their parameters: risk against utility, so that a person can choose.

Promise: every setting is made from the same seeds, measured with the same knowledge, and used in the same
way; the figures of repetitions are averaged, the worst risk is the worst of all. A setting that cannot be
made says why, and does not keep the others from being compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from auditor.evaluation.evaluate import Progress, Summary, anybody_of, judged, silent
from auditor.evaluation.releases import FIGURES, Release
from auditor.evaluation.subject import Subject
from auditor.evaluation.techniques import TECHNIQUES, Settings, Technique, option, release_of
from cae_sql.errors import InvalidInput
from cae_sql.releases.estimates import Utility, utility


@dataclass(frozen=True)
class Setting:
    """A technique with a parameter."""

    technique: Technique
    value: float

    @property
    def label(self) -> str:
        """Its parameter, for people."""
        return self.technique.label(self.value)


@dataclass(frozen=True)
class Point:
    """What a setting costs, and what it is good for; averages of the repetitions."""

    setting: Setting
    mean_risk: float
    """Each record counting once."""
    worst_risk: float
    """Of any class in any repetition."""
    anybody: float
    """Risk where nothing is known of the person: what the release tells about everybody."""
    mean_entropy: float
    """H0 in bits."""
    beyond_share: float
    """Of the records, beyond the limit."""
    keeps: bool
    """Whether no record was beyond the limit in any repetition."""
    utility: Utility
    privacy_loss: float
    """Bits, the greatest of any class in any repetition (paper 003)."""
    figures: Mapping[str, float]
    """`FIGURES` that its releases have, the greatest of any class in any repetition."""


@dataclass(frozen=True)
class Impossible:
    """A setting that cannot be made of this table."""

    setting: Setting
    reason: str


@dataclass(frozen=True, eq=False)
class Sweep:
    """What was found."""

    subject: Subject
    repetitions: int
    seed: int
    """Of the first repetition; the others follow."""
    outcomes: Sequence[Point | Impossible]
    """In the order in which they were asked for; at least one is a `Point`."""
    beside: Settings = field(default_factory=Settings)
    """Options that were given to all."""

    @property
    def points(self) -> list[Point]:
        """Those that could be made."""
        return [each for each in self.outcomes if isinstance(each, Point)]

    @property
    def impossible(self) -> list[Impossible]:
        """Those that could not."""
        return [each for each in self.outcomes if isinstance(each, Impossible)]

    @property
    def best(self) -> Point | None:
        """Of the settings that keep the limit, the one whose users are off by least; None: no limit, or none
        keeps it."""
        if self.subject.limit is None:
            return None
        kept = [point for point in self.points if point.keeps]
        return min(kept, key=lambda point: point.utility.distance, default=None)


def settings_of(texts: Sequence[str]) -> list[Setting]:
    """`sampling:5,10` as settings.

    Raises:
        InvalidInput: another technique, or what is no list of numbers.
    """
    found = []
    for text in texts:
        name, colon, values = text.partition(":")
        name = name.strip()
        if name not in TECHNIQUES:
            raise InvalidInput(
                f"--sweep {text}: there is no technique {name}; {', '.join(TECHNIQUES)} are there"
            )
        try:
            numbers = [float(value) for value in values.split(",") if value.strip()]
        except ValueError as error:
            raise InvalidInput(f"--sweep {text}: write {name}:5,10,20") from error
        if not colon or not numbers:
            raise InvalidInput(f"--sweep {text}: write {name}:5,10,20")
        found += [Setting(TECHNIQUES[name], number) for number in numbers]
    return found


def sweep(
    subject: Subject,
    settings: Sequence[Setting],
    repetitions: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
    beside: Settings | None = None,
) -> Sweep:
    """Make each setting's releases and measure them.

    Args:
        subject: The table, and what is known and wanted of it.
        settings: What to compare.
        repetitions: Releases of each, with seeds that follow each other; one where a seed does not matter.
        seed: Of the first.
        progress: Told how many releases were measured, of how many.
        beside: Options of techniques that have them.

    Raises:
        InvalidInput: a table that cannot be used, an option that no technique here has, or no setting that
            can be made.
    """
    tell = progress or silent
    given = beside or Settings()
    for name in given.given:
        if not any(name in each.technique.options for each in settings):
            raise InvalidInput(f"none of the techniques compared has {option(name)}")
    total, done = len(settings) * repetitions, 0
    outcomes: list[Point | Impossible] = []
    for setting in settings:
        found = []
        try:
            for repetition in range(repetitions if setting.technique.drawn else 1):
                tell(done + repetition, total)
                found.append(_measured(subject, setting, seed + repetition, given))
            outcomes.append(_point(setting, found))
        except InvalidInput as error:
            outcomes.append(Impossible(setting, str(error)))
        done += repetitions
    tell(total, total)
    swept = Sweep(subject, repetitions, seed, outcomes, given)
    if not swept.points and outcomes:
        first = swept.impossible[0]
        raise InvalidInput(f"{first.setting.technique.name}, {first.setting.label}: {first.reason}")
    return swept


_Found = tuple[Summary, float, Utility]


def made(subject: Subject, setting: Setting, seed: int, beside: Settings) -> Release:
    """A setting's release.

    Raises:
        InvalidInput: it cannot be made.
    """
    chosen = setting.technique.settings(subject, setting.value, beside)
    return release_of(subject, setting.technique, chosen, None, seed)


def _measured(subject: Subject, setting: Setting, seed: int, beside: Settings) -> _Found:
    release = made(subject, setting, seed, beside)
    figures = release.figures(subject.known)
    summary = Summary.of(judged(release.beliefs(subject.known), subject.limit, figures))
    comparisons = [release.comparison(by) for by in subject.public or (None,)]
    return summary, anybody_of(release, subject), utility(comparisons, subject.domain)


def _point(setting: Setting, found: Sequence[_Found]) -> Point:
    summaries, risks, utilities = zip(*found, strict=True)
    return Point(
        setting,
        mean_risk=float(np.mean([each.mean_risk for each in summaries])),
        worst_risk=max(each.worst_risk for each in summaries),
        anybody=float(np.mean(risks)),
        mean_entropy=float(np.mean([each.mean_entropy for each in summaries])),
        beyond_share=float(np.mean([each.beyond_records / each.records for each in summaries])),
        keeps=not any(each.beyond_records for each in summaries),
        privacy_loss=max(each.privacy_loss for each in summaries),
        figures={
            name: max(each.figures[name] for each in summaries)
            for name in FIGURES
            if all(name in each.figures for each in summaries)
        },
        utility=Utility(
            float(np.mean([each.distance for each in utilities])),
            float(np.mean([each.query_error for each in utilities])),
            float(np.mean([each.association_error for each in utilities])),
        ),
    )
