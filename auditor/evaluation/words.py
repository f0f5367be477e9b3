"""What an evaluation comes to, in plain words; the same on the terminal, in JSON and on the page."""

from __future__ import annotations

from collections.abc import Sequence

from auditor.evaluation.evaluate import Evaluation
from auditor.evaluation.releases import FIGURES
from auditor.evaluation.subject import Subject
from auditor.evaluation.sweep import Impossible, Point, Sweep
from auditor.policy.numbers import written
from auditor.report.figures import counted, number, percent
from cae_sql.domain import exact
from cae_sql.risk import Limit


def limit_words(limit: Limit | None) -> str:
    """A limit as people say it.

    >>> limit_words(Limit(risk=0.5)), limit_words(None)
    ('risk at most 0.5', 'no limit was given')
    """
    if limit is None:
        return "no limit was given"
    parts = [] if limit.risk is None else [f"risk at most {limit.risk:g}"]
    if limit.epsilon is not None:
        least = "more than 0" if limit.min_entropy is None else f"at least {limit.min_entropy:g}"
        parts.append(f"{least} bits left at ε = {limit.epsilon:g}")
    return " and ".join(parts)


def risk(figure: float) -> str:
    """A risk as people read it; "-0.000" is 0.

    >>> risk(0.12345), risk(-0.0001)
    ('0.123', '0.000')
    """
    return f"{round(figure, 3) + 0.0:.3f}"


def listed(names: Sequence[str]) -> str:
    """Names as a person lists them.

    >>> listed([]), listed(["a"]), listed(["a", "b", "c"])
    ('nothing', 'a', 'a, b and c')
    """
    if not names:
        return "nothing"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def knowing(subject: Subject) -> str:
    """Against whom a release was judged."""
    if not subject.known:
        there = "they are" if subject.unit is None else "it is"
        return f"somebody who knows nothing of the {target(subject)} but that {there} in the table"
    return f"somebody who knows the {target(subject)}'s {listed(subject.known)}"


def target(subject: Subject) -> str:
    """Of whom something is known: one row is one person, but where the policy names a unit."""
    return "person" if subject.unit is None else "row"


def domain_words(subject: Subject) -> str:
    """The possible values."""
    domain = subject.domain
    low, high, step = (written(exact(each)) for each in (domain.minimum, domain.maximum, domain.step))
    return f"{low} to {high} in steps of {step}, {domain.count:,} values"


def parameters(found: Evaluation) -> str:
    """The technique with its parameters: "sampling, percent 50"."""
    parts = [found.technique.name]
    for name, value in found.settings.given.items():
        if isinstance(value, dict):
            parts += [f"probability of keeping {column} {p:g}" for column, p in value.items()]
        else:
            shown = f"{value:g}" if isinstance(value, int | float) else str(value)
            if isinstance(value, tuple):
                shown = listed(value)
            parts.append(f"{name.replace('_', ' ')} {shown}")
    return ", ".join(parts)


def origin(found: Evaluation) -> str:
    """Whether the release was made here or given."""
    table = f"of {found.subject.column} in {found.subject.name}"
    if found.source is None:
        seed = f", seed {found.seed}" if found.technique.drawn else ""
        if found.subject.unit is not None and found.technique.name == "sampling":
            seed = f" of the units ({found.subject.unit}), each with all rows{seed}"
        return f"Made here: a release {table} by {parameters(found)}{seed}."
    return f"Given: {found.source}, taken as a release {table} by {parameters(found)}."


def verdict(found: Evaluation) -> str:
    """How many records are beyond the limit."""
    all_of, who = found.summary, knowing(found.subject)
    worst = f"The highest risk is {risk(all_of.worst_risk)}, the mean {risk(all_of.mean_risk)}"
    worst += f"; to somebody who knows nothing of the {target(found.subject)} it is {risk(found.anybody)}."
    if found.subject.limit is None:
        return f"{counted(all_of.records, 'record')} judged against {who}; no limit was given. {worst}"
    limit = limit_words(found.subject.limit)
    if not found.broken:
        return f"No record is beyond the limit ({limit}), against {who}. {worst}"
    share = percent(all_of.beyond_records, all_of.records).replace("\u00a0", " ")
    beyond = f"{all_of.beyond_records:,} of {counted(all_of.records, 'record')} ({share})"
    verb = "is" if all_of.beyond_records == 1 else "are"
    return f"{beyond} {verb} beyond the limit ({limit}), against {who}. {worst}"


def companions(found: Evaluation) -> str:
    """What the companion papers' measures come to; empty where the release has none."""
    parts = [
        f"{name} is at most {number(figure)}: {FIGURES[name]}"
        for name, figure in found.summary.figures.items()
    ]
    return "; ".join(parts) + "." if parts else ""


def impossible(each: Impossible) -> str:
    """A setting that cannot be made, and why."""
    return f"{each.setting.technique.name} ({each.setting.label}) is impossible: {each.reason}."


def choice(found: Sweep) -> str:
    """What a sweep comes to."""
    limit, best = found.subject.limit, found.best
    who = knowing(found.subject)
    if limit is None:
        return f"{counted(len(found.points), 'setting')} compared against {who}; no limit was given."
    if best is None:
        return f"No setting keeps the limit ({limit_words(limit)}) for every record, against {who}."
    kept = sum(point.keeps for point in found.points)
    verb = "keeps" if kept == 1 else "keep"
    return (
        f"{kept} of {counted(len(found.outcomes), 'setting')} {verb} the limit ({limit_words(limit)}) for "
        f"every record, against {who}. Of these {named(best)} is nearest to the original: its users have "
        f"{number(100 * best.utility.distance)} % of the records in the wrong place."
    )


def named(point: Point) -> str:
    """A setting by technique and parameter."""
    return f"{point.setting.technique.name} ({point.setting.label})"


def caution(subject: Subject) -> str:
    """What a risk does not say."""
    found = (
        "Risk says what the release excludes for somebody who knows that much and no more; it says nothing "
        "of what other releases or answers about the same persons add."
    )
    if subject.unit is None:
        return found
    alone = f"A record is one row: what several rows of one unit ({subject.unit}) tell together is not in it."
    return f"{found} {alone}"
