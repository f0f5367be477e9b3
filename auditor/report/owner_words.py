"""The first screen of the owner's page, in plain words.

Promise: short sentences whose every number is counted from the account; that nothing was found is never
called a proof of safety.
"""

from __future__ import annotations

from math import ceil

from auditor.gate.growth import of_classes
from auditor.report.account import Account, Statement
from auditor.report.figures import counted, day, number
from auditor.report.owner_figures import limit_of
from auditor.report.visible import line
from auditor.report.words import NAME, Fact, Step, Summary

NOTHING = "Nobody has asked anything yet"


def first_screen(found: Account) -> Summary:
    """Headline, figures, steps and doubts."""
    bad = bool(found.verification.problems) or bool(found.beyond)
    return Summary(
        located=int(bad),
        headline=_headline(found),
        lead=_lead(found),
        who=_asked(found),
        by=_told(found),
        since=_near(found),
        doubts=_doubts(found),
        steps=_steps(found),
    )


def columns_of(found: Account) -> str:
    """Which columns it is about: "salary of staff"."""
    shown = [f"{line(each.column, NAME)} of {line(each.table, NAME)}" for each in found.columns]
    return ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")


def period(found: Account) -> str:
    """From the first statement to the last."""
    if not found.statements:
        return ""
    first, last = (day(found.statements[place].time) for place in (0, -1))
    return first if first == last else f"{first} to {last}"


def surprises(found: Account) -> list[Statement]:
    """Statements of which a value was not shown to be safe once the true answer was looked at."""
    return [each for each in found.statements if each.surprises]


def past_the_limit(found: Account) -> list[str]:
    """When somebody's risk went beyond the limit that the policy states now, in words."""
    said = []
    for grown in found.growth:
        limit, before = limit_of(found, grown), 0
        for look in grown.looks:
            if limit is None:
                break
            highest = float(of_classes(look).max())
            if highest > limit + 1e-9:
                since = f"statement {look.entry:,}"
                if before and look.entry > before + 1:
                    since = f"a statement between {before + 1:,} and {look.entry:,}"
                whose = ", ".join(line(str(value), NAME) for value in grown.about.values())
                said.append(f"{whose + ': ' if whose else ''}since {since}, risk {highest:.3f} of {limit:g}")
                break
            before = look.entry
    return said


def risk_words(figure: float) -> str:
    """A risk that nobody's is above, rounded up."""
    return f"{ceil(1000 * figure - 1e-9) / 1000:.3f}"


def _headline(found: Account) -> str:
    if found.verification.problems:
        return "The ledger does not agree with itself or with the data"
    if found.beyond:
        return f"{counted(found.beyond, 'class is', 'classes are')} beyond the limit"
    if not found.statements:
        return NOTHING
    if found.held is None:
        return "How great a risk the gate holds is not on record"
    return f"Nobody’s risk is above {risk_words(found.held)}"


def _lead(found: Account) -> str:
    limits = list(dict.fromkeys(each.limit for each in found.columns))
    stated = f"The policy’s limit: {'; '.join(limits)}."
    if not found.statements:
        return (
            f"The ledger is there and empty: no statement has come through a gate with this policy. {stated}"
        )
    users = len({each.user for each in found.statements})
    return (
        f"{counted(len(found.statements), 'statement')} of {counted(users, 'user')} went through the gate. "
        f"{stated} That is held for everybody, also against an intruder who is one of them, as far as the "
        "policy says."
    )


def _asked(found: Account) -> list[Fact]:
    users = {each.user for each in found.statements}
    checks = sum(each.fate == "check" for each in found.statements)
    facts = [
        Fact(number(len(found.statements)), "statements", "a question that was asked twice counts twice"),
        Fact(number(len(users)), "user" if len(users) == 1 else "users"),
    ]
    return facts + ([Fact(number(checks), "of these only checked", "a verdict, no answer")] if checks else [])


def _told(found: Account) -> list[Fact]:
    def statements(count: int) -> str:
        return "statement" if count == 1 else "statements"

    exact, ends = (sum(getattr(each, name) for each in found.statements) for name in ("exact", "ends"))
    refused, part = (sum(each.fate == fate for each in found.statements) for fate in ("refused", "part"))
    return [
        Fact(number(exact), "new values exactly", "others were known already, or follow from these"),
        Fact(number(ends), "new values as ends", "at most, at least, or between"),
        Fact(number(part), f"{statements(part)} in part", "some groups were withheld, or told as ends"),
        Fact(number(refused), f"{statements(refused)} refused"),
    ]


def _near(found: Account) -> list[Fact]:
    facts = []
    if found.held is not None:
        facts.append(
            Fact(risk_words(found.held), "the gate holds", "nobody’s risk is above that, whoever asks")
        )
    limits = [each.risk for each in found.columns if each.risk is not None]
    if limits:
        facts.append(Fact(f"{min(limits):g}", "the limit"))
    if found.growth and found.growth[0].looks:
        facts.append(
            Fact(
                f"{float(found.growth[0].worst.max()):.3f}",
                "the highest of a class",
                "to somebody outside of the table",
            )
        )
    strange = sum(each.surprises for each in found.statements)
    return [*facts, Fact(number(strange), "surprises", "see below" if strange else "")]


def _doubts(found: Account) -> list[str]:
    doubts = []
    if any(look.likely is None for each in found.growth for look in each.looks[-1:]):
        doubts.append(
            "There are too many groups of records and values to say what is likely: risk by class is by what "
            "is excluded alone."
        )
    if any(len(each.looks) < each.entries for each in found.growth):
        doubts.append("Of so many answers risk was looked at after some, evenly spread.")
    if found.verification.past:
        doubts.append(
            f"{counted(found.verification.past, 'answer is', 'answers are')} about values of earlier states "
            "of the data, which are gone: they could not be held against the data."
        )
    doubts.append(
        "What somebody was told elsewhere, or knows beyond what the policy says, is not in these figures."
    )
    return doubts


def _steps(found: Account) -> list[Step]:
    steps = []
    if found.verification.problems:
        steps.append(
            Step(
                "Find out what happened to the ledger.",
                "Until then do not rely on it, nor on this page.",
                "ledger",
            )
        )
    if past_the_limit(found):
        steps.append(
            Step(
                "See who is beyond the limit and since when.",
                "New answers are refused as long as they are.",
                "surprises",
            )
        )
    elif surprises(found):
        count = sum(each.surprises for each in found.statements)
        steps.append(
            Step(
                f"Look at the {counted(count, 'surprise')}.",
                "What was refused there tells something.",
                "surprises",
            )
        )
    questions = found.coming.questions
    refused = sum(each.decision.verdict == "refused" for each in questions)
    part = sum(each.decision.code == "partial" for each in questions)
    if refused or part:
        what = f"{refused} of {len(questions)} natural questions would be refused, {part} told in part."
        steps.append(Step("See what would be refused next.", what, "next"))
    return steps
