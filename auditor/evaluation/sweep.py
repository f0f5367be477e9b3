"""Several techniques over their parameters: risk against utility, so that a person can choose.

Promise: every setting is made from the same seeds, measured with the same knowledge, and used in the same
way; the figures of repetitions are averaged, the worst risk is the worst of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from auditor.evaluation.evaluate import Progress, Summary, anybody_of, judged, release_of, silent
from auditor.evaluation.subject import Subject
from auditor.evaluation.techniques import TECHNIQUES, Technique
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


@dataclass(frozen=True, eq=False)
class Sweep:
    """What was found."""

    subject: Subject
    repetitions: int
    seed: int
    """Of the first repetition; the others follow."""
    points: Sequence[Point]
    """In the order in which they were asked for."""

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
        InvalidInput: another technique, one without a parameter, or what is no list of numbers.
    """
    found = []
    for text in texts:
        name, colon, values = text.partition(":")
        name = name.strip()
        if name not in TECHNIQUES:
            raise InvalidInput(
                f"--sweep {text}: there is no technique {name}; {', '.join(TECHNIQUES)} are there"
            )
        if TECHNIQUES[name].parameter is None:
            raise InvalidInput(f"--sweep {text}: {name} cannot be made here, so there is nothing to vary")
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
) -> Sweep:
    """Make each setting's releases and measure them.

    Args:
        subject: The table, and what is known and wanted of it.
        settings: What to compare.
        repetitions: Releases of each, with seeds that follow each other.
        seed: Of the first.
        progress: Told how many releases were measured, of how many.

    Raises:
        InvalidInput: a table or a parameter that cannot be used.
    """
    tell = progress or silent
    total = len(settings) * repetitions
    points = []
    for place, setting in enumerate(settings):
        found = []
        for repetition in range(repetitions):
            tell(place * repetitions + repetition, total)
            found.append(_measured(subject, setting, seed + repetition))
        points.append(_point(setting, found))
    tell(total, total)
    return Sweep(subject, repetitions, seed, points)


_Found = tuple[Summary, float, Utility]


def _measured(subject: Subject, setting: Setting, seed: int) -> _Found:
    technique = setting.technique
    chosen = technique.settings(subject, setting.value)
    try:
        release = release_of(subject, technique, chosen, None, seed)
        summary = Summary.of(judged(release.beliefs(subject.known), subject.limit))
        anybody = anybody_of(release, subject)
        comparisons = [release.comparison(by) for by in subject.public or (None,)]
    except InvalidInput as error:
        raise InvalidInput(f"{technique.name}, {setting.label}: {error}") from error
    return summary, anybody, utility(comparisons, subject.domain)


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
        utility=Utility(
            float(np.mean([each.distance for each in utilities])),
            float(np.mean([each.query_error for each in utilities])),
            float(np.mean([each.association_error for each in utilities])),
        ),
    )
