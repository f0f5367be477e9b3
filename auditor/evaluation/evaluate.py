"""One release, evaluated: what is left to guess of each class of supplementary knowledge.

Promise: classes are those of `Release.beliefs`, worst first; a record is beyond the limit where its class is,
judged as the gate judges. The same seed gives the same figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from auditor.evaluation.releases import FIGURES, Release
from auditor.evaluation.subject import Subject
from auditor.evaluation.techniques import Settings, Technique, release_of
from cae_sql.errors import InvalidInput
from cae_sql.measure import uniform_entropy
from cae_sql.measure.curve import curve_of
from cae_sql.measure.distribution import distribution
from cae_sql.releases.beliefs import entropies_at
from cae_sql.releases.drawing import generator
from cae_sql.risk import Limit, Risk

if TYPE_CHECKING:
    import pandas as pd

    from cae_sql.releases.beliefs import Beliefs

CURVES = 3
"""Worst classes whose curve is kept."""
MOST_STEPS = 1_000
"""Values up to which a curve has all its steps."""
WIDTHS = 60
"""At which longer curves are computed, evenly spaced."""
MOST_SUBSETS = 50
"""Sets of known columns of one size that are looked at; of more, so many are drawn."""

Points = tuple[tuple[float, float], ...]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Summary:
    """All classes together."""

    records: int
    classes: int
    beyond_records: int
    """Records whose class breaks the limit; 0 without a limit."""
    beyond_classes: int
    mean_risk: float
    """Each record counting once."""
    worst_risk: float
    mean_entropy: float
    """H0 in bits, each record counting once."""
    privacy_loss: float
    """Bits that the release takes away of log2 |D|, the greatest of a class (paper 003)."""
    figures: Mapping[str, float]
    """`FIGURES`, the greatest of a class; those that the release has."""

    @classmethod
    def of(cls, classes: pd.DataFrame) -> Summary:
        """Of the figures of classes, as `judged` gives them."""
        matches = classes["matches"].to_numpy()
        beyond = classes["beyond"].to_numpy()
        return cls(
            records=int(matches.sum()),
            classes=len(classes),
            beyond_records=int(matches[beyond].sum()),
            beyond_classes=int(beyond.sum()),
            mean_risk=float(np.average(classes["risk"], weights=matches)),
            worst_risk=float(classes["risk"].max()),
            mean_entropy=float(np.average(classes["initial_entropy"], weights=matches)),
            privacy_loss=float(classes["privacy_loss"].max()),
            figures={
                name: float(classes[name].max())
                for name in FIGURES
                if name in classes.columns and classes[name].notna().any()
            },
        )


@dataclass(frozen=True)
class NumberKnown:
    """Somebody who knows so many of the columns, whichever they are."""

    known: int
    subsets: int
    """Sets of so many columns that were looked at."""
    all_subsets: int
    """How many there are."""
    mean_risk: float
    """Over these sets and all records."""
    worst_risk: float
    mean_entropy: float
    """H0 in bits, over the same."""
    beyond_share: float
    """Share of records beyond the limit, mean of the sets."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What was found."""

    subject: Subject
    technique: Technique
    settings: Settings
    source: str | None
    """The release, where it was given; None: it was made here."""
    seed: int
    """Of what was made here."""
    classes: pd.DataFrame
    """Known columns, matches, initial_entropy, privacy_loss, entropy_at_epsilon where the limit has an ε,
    area, risk, `FIGURES` that the release has, beyond; worst first."""
    release: Release
    summary: Summary
    anybody: float
    """The risk where nothing is known of the person: what the release tells about everybody."""
    curves: Sequence[tuple[Mapping[str, object], Points]]
    """(ε, H(ε)) of the worst classes, with the values they share."""
    prior: Points
    """The same of somebody who knows the domain alone."""
    numbers: Sequence[NumberKnown] = ()
    """By number of known columns, where that was asked for."""

    @property
    def broken(self) -> bool:
        """Whether a record is beyond the limit."""
        return self.summary.beyond_records > 0


def evaluate(
    subject: Subject,
    technique: Technique,
    settings: Settings,
    *,
    released: pd.DataFrame | None = None,
    source: str | None = None,
    seed: int = 0,
    numbers: bool = False,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate a release, or one that is made from a seed.

    Args:
        subject: The table, and what is known and wanted of it.
        technique: How the release was, or is to be, made.
        settings: Its parameters.
        released: The release; None: one is made.
        source: How to call it.
        seed: Of what is made, and of the sets of columns that are drawn.
        numbers: Whether a line for each number of known columns is wanted too.
        progress: Told how many sets of columns were looked at, of how many.

    Raises:
        InvalidInput: as `release_of`.
    """
    release = release_of(subject, technique, settings, released, seed)
    subsets = _subsets(subject.public, seed) if numbers else []
    total = 1 + sum(len(each) for each in subsets)
    tell = progress or silent
    tell(0, total)
    beliefs = release.beliefs(subject.known)
    frame = judged(beliefs, subject.limit, release.figures(subject.known))
    frame = frame.sort_values(["beyond", "risk"], ascending=False, kind="stable")
    tell(1, total)
    return Evaluation(
        subject=subject,
        technique=technique,
        settings=settings,
        source=source,
        seed=seed,
        classes=frame.reset_index(drop=True),
        release=release,
        summary=Summary.of(frame),
        anybody=anybody_of(release, subject),
        curves=[_curve(beliefs, int(place)) for place in frame.index[:CURVES]],
        prior=_points(beliefs.domain.values, None),
        numbers=_numbers(release, subject, subsets, lambda done: tell(1 + done, total)),
    )


def judged(
    beliefs: Beliefs, limit: Limit | None, figures: Mapping[str, NDArray[np.float64]] | None = None
) -> pd.DataFrame:
    """The figures of every class, and whether it is beyond the limit.

    Args:
        beliefs: Of classes.
        limit: What they are held against.
        figures: `FIGURES` of the same classes.

    Raises:
        InvalidInput: a known column with the name of a figure.
    """
    for name in (*FIGURES, "privacy_loss", "beyond"):
        if name in beliefs.known.columns:
            raise InvalidInput(f"a known column cannot be named {name!r}: the result has one; rename it")
    frame = beliefs.frame(None if limit is None else limit.epsilon)
    lost = np.maximum(np.log2(beliefs.domain.count) - frame["initial_entropy"].to_numpy(), 0.0)
    frame.insert(frame.columns.get_loc("initial_entropy") + 1, "privacy_loss", lost)
    return frame.assign(**(figures or {}), beyond=_beyond(frame, limit))


def anybody_of(release: Release, subject: Subject) -> float:
    """The risk where nothing is known of the person but that they are in the table."""
    return float(judged(release.beliefs(()), subject.limit)["risk"].iloc[0])


def silent(done: int, total: int) -> None:
    """Progress that nobody looks at."""
    del done, total


def _beyond(frame: pd.DataFrame, limit: Limit | None) -> NDArray[np.bool_]:
    if limit is None:
        return np.zeros(len(frame), dtype=np.bool_)
    at = frame["entropy_at_epsilon"] if limit.epsilon is not None else [None] * len(frame)
    rows = zip(frame["initial_entropy"], at, frame["area"], frame["risk"], strict=True)
    return np.array([not limit.allows(Risk(*row)) for row in rows], dtype=np.bool_)


def _subsets(public: Sequence[str], seed: int) -> list[list[tuple[str, ...]]]:
    """Sets of public columns by size; of too many, some."""
    found = []
    for size in range(len(public) + 1):
        if comb(len(public), size) <= MOST_SUBSETS:
            found.append(list(combinations(public, size)))
            continue
        rng, drawn = generator([seed, size]), set[tuple[int, ...]]()
        while len(drawn) < MOST_SUBSETS:
            drawn.add(tuple(sorted(rng.choice(len(public), size, replace=False).tolist())))
        found.append([tuple(public[place] for place in each) for each in sorted(drawn)])
    return found


def _numbers(
    release: Release, subject: Subject, subsets: list[list[tuple[str, ...]]], tell: Callable[[int], None]
) -> list[NumberKnown]:
    found, done = [], 0
    for size, chosen in enumerate(subsets):
        summaries = []
        for known in chosen:
            summaries.append(Summary.of(judged(release.beliefs(known), subject.limit)))
            done += 1
            tell(done)
        found.append(
            NumberKnown(
                known=size,
                subsets=len(chosen),
                all_subsets=comb(len(subject.public), size),
                mean_risk=float(np.mean([each.mean_risk for each in summaries])),
                worst_risk=max(each.worst_risk for each in summaries),
                mean_entropy=float(np.mean([each.mean_entropy for each in summaries])),
                beyond_share=float(np.mean([each.beyond_records / each.records for each in summaries])),
            )
        )
    return found


def _curve(beliefs: Beliefs, place: int) -> tuple[dict[str, object], Points]:
    shared = {str(name): beliefs.known[name].iloc[place] for name in beliefs.known.columns}
    return shared, _points(beliefs.domain.values, beliefs.probabilities[place])


def _points(values: NDArray[np.float64], weights: NDArray[np.float64] | None) -> Points:
    if weights is not None:
        values, weights = values[weights > 0], weights[weights > 0]
    if values.size <= MOST_STEPS:
        found = curve_of(distribution(values, weights))
        return tuple(zip(found.epsilon.tolist(), found.entropy.tolist(), strict=True))
    widths = np.linspace(0.0, float(values[-1] - values[0]), WIDTHS + 1)
    if weights is None:
        step = float(values[1] - values[0])
        heights = [uniform_entropy(values.size, step, width) for width in widths.tolist()]
    else:
        heights = entropies_at(values, weights, widths).tolist()
    return tuple(zip(widths.tolist(), heights, strict=True))
