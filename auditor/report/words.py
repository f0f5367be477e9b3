"""The first screen: who was located, by whom, since when, what to do now, in plain words.

Promise: short sentences whose every number is counted from the findings; nothing found is never called a
proof of safety; what is uncertain stands beside what is sure. No legal advice, only what a lawyer will ask
for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from auditor.history.findings import Cited, Findings, PartyFindings, TotalFinding
from auditor.history.unread import unread
from auditor.report.figures import counted, day, percent
from auditor.report.reading import span
from auditor.report.tally import Tally, every, first_of, leading, tally
from auditor.report.visible import line

MOST_PARTIES = 4
"""Parties that the first screen names."""
NAME = 60
"""Characters of a name that a line has room for."""


@dataclass(frozen=True)
class Fact:
    """One line under a question: a figure, what it counts, and a remark."""

    figure: str
    text: str
    remark: str = ""


@dataclass(frozen=True)
class Step:
    """One thing to do."""

    what: str
    why: str
    link: str = ""
    """Identifier of the part of the page to go to."""


@dataclass(frozen=True)
class Summary:
    """What the first screen says."""

    located: int
    headline: str
    lead: str
    who: Sequence[Fact]
    by: Sequence[Fact]
    since: Sequence[Fact]
    doubts: Sequence[str]
    steps: Sequence[Step]


def summary(found: Findings) -> Summary:
    """The first screen of these findings."""
    counts = tally(found)
    return Summary(
        located=counts.located + counts.units,
        headline=_headline(found, counts),
        lead=_lead(found, counts),
        who=_who(counts),
        by=_by(found, counts),
        since=_since(counts),
        doubts=_doubts(found, counts),
        steps=_steps(found, counts),
    )


def party_name(party: str) -> str:
    """A party in a sentence."""
    if party == "everyone":
        return "everyone together"
    if party == "user ":
        return "a user whom the log does not name"
    return line(party, NAME)


def _unread(found: Findings) -> bool:
    return not every(found) and found.reading.get("statements") == 0


def _tables(found: Findings) -> str:
    names = sorted({finding.table for finding in every(found)})
    return f"table {line(names[0], NAME)}" if len(names) == 1 else "a protected table"


def columns_of(found: Findings) -> str:
    """Which columns the findings are about: "salary of staff"."""
    names = sorted({(finding.column, finding.table) for finding in every(found)})
    shown = [f"{line(column, NAME)} of {line(table, NAME)}" for column, table in names[:3]]
    more = [f"{len(names) - 3} more"] if len(names) > 3 else []
    return (
        " and ".join([", ".join((shown + more)[:-1]), (shown + more)[-1]])
        if len(names) > 1
        else "".join(shown)
    )


def _headline(found: Findings, counts: Tally) -> str:
    missing = unread(found.reading, found.unmodelled, found.parties)
    reserved = f", but {missing.said}" if missing else ""
    if not counts.located + counts.units:
        none = f"No record{' or total' if found.unit else ''} is shown to be located{reserved}"
        return "No statement was read" if _unread(found) else none
    names = sorted({finding.column for finding in every(found)})
    what = f"“{line(names[0], NAME)}”" if len(names) == 1 else "confidential values"
    units = f"totals of {counted(counts.units, 'unit')}"
    if not counts.located:
        return f"The answers give away {what}: {units}{reserved}"
    reserved = f", and {units}{reserved}" if counts.units else reserved
    known = counts.records >= counts.located
    whole = counts.records if known else counts.located
    of = f"{counts.located:,} of {counts.records:,}" if known else f"{counts.located:,}"
    return f"The answers give away {what} for {of} {'record' if whole == 1 else 'records'}{reserved}"


def _lead(found: Findings, counts: Tally) -> str:
    if _unread(found):
        return (
            "The log has none that this audit could read, so nothing can be said of what was given away. Is "
            "it in the format it was taken for, and was logging switched on?"
        )
    nobody = not counts.located + counts.units
    if nobody and not any(party.statements for party in found.parties):
        return (
            "Of the statements that were read, none was answered from a protected column in a way that could "
            "be followed."
        )
    if nobody:
        which = "every record that could be judged" if counts.open + counts.totals_open else "every record"
        if counts.likely:
            return (
                f"The answers in this log, as far as they could be followed, exclude too little to locate a "
                f"record, but make too much likely of {counted(counts.likely, 'record')}: see “Made likely”."
            )
        return (
            f"The answers in this log, as far as they could be followed, leave {which} at least as uncertain "
            "as the policy demands."
        )
    whose = "as a rule one person"
    if found.unit:
        whose = f"and a unit is whoever several rows belong to, by the column “{line(found.unit, NAME)}”"
    return (
        "Those named here can work it out from the answers in this log, exactly or more nearly than the "
        f"policy allows. Such a record is called located. A record is one row of {_tables(found)}, {whose}."
    )


def _who(counts: Tally) -> list[Fact]:
    facts = [
        (counts.direct, "read outright", "an answer showed the row itself"),
        (counts.exact, "worked out exactly", "only one value agrees with the answers"),
        (counts.approximate, "worked out nearly", "less is left open than the policy allows"),
        (counts.units, "units’ totals", "what several rows of one unit add up to, exactly or nearly"),
        (counts.likely, "more made likely", "little is excluded, and yet few values are likely"),
    ]
    return [Fact(f"{count:,}", text, remark) for count, text, remark in facts if count]


def _by(found: Findings, counts: Tally) -> list[Fact]:
    able = [party for party in leading(found) if party.located + party.totals]
    single = [party for party in able if party.party != "everyone"]
    facts = [_party(found, party) for party in single[:MOST_PARTIES]]
    left = len(single) - len(facts)
    if left:
        facts.append(
            Fact(f"{left:,}", f"more {'party' if left == 1 else 'parties'}", "see “Who learned what”")
        )
    if len(able) > len(single):
        facts.append(_together(found, able[0], counts))
    return facts


def _together(found: Findings, everyone: PartyFindings, counts: Tally) -> Fact:
    if not counts.pooled or not everyone.located:
        return _party(found, everyone)
    alone = "none of them by any user alone"
    if counts.pooled < counts.located:
        alone = f"{counts.pooled:,} of them only by pooling answers"
    return Fact(f"{everyone.located:,}", party_name(everyone.party), alone)


def _party(found: Findings, party: PartyFindings) -> Fact:
    first, said = first_of(every(found), party.party), []
    if first is not None:
        time, number = first.first.time, first.first.number
        said.append(f"since {day(time)}" if time else f"since statement {number:,}")
    if party.totals:
        said.append(f"{counted(party.totals, 'total')} of units{' too' if party.located else ''}")
    return Fact(f"{party.located or party.totals:,}", party_name(party.party), ", ".join(said))


def _since(counts: Tally) -> list[Fact]:
    facts = []
    if counts.first is not None:
        what = "total" if isinstance(counts.first, TotalFinding) else "record"
        facts.append(_told(f"first {what} given away", counts.first.first))
    if counts.last is not None and counts.first is not None and counts.last.first != counts.first.first:
        facts.append(_told("last one", counts.last.first))
    return facts


def _told(what: str, cited: Cited) -> Fact:
    when = day(cited.time) if cited.time is not None else f"Statement {cited.number:,}"
    number = f"with statement {cited.number:,}" if cited.time is not None else ""
    asked = f"asked by {line(cited.user, NAME)}" if cited.user else ""
    return Fact(when, what, ", ".join(filter(None, (number, asked))))


def _doubts(found: Findings, counts: Tally) -> list[str]:
    """What the figures do not cover."""
    doubts = []
    if counts.unmodelled:
        doubts.append(
            f"{counted(counts.unmodelled, 'statement')} told something that could not be followed: "
            "more may be known."
        )
    if counts.open:
        judged = "could not be judged: that takes more work than an audit spends."
        doubts.append(f"{counted(counts.open, 'record')} {judged}")
    if counts.totals_open:
        doubts.append(f"{counted(counts.totals_open, 'total')} of units could not be judged.")
    if found.unit:
        doubts.append(
            "Of a unit’s sums those over all its rows, and over rows that the same answers are about, are "
            "looked at, by what answers exclude. What is made likely of them is not."
        )
    if counts.unproved > 0:
        doubts.append(
            f"For {counted(counts.unproved, 'more record')}{' or total' if found.unit else ''} no proof was "
            "found: they are counted under “By whom”, not among the findings."
        )
    missing = unread(found.reading, ())
    if missing.lines or missing.statements:
        doubts.append(f"Of the log, {missing.said}: what they told is not in these figures.")
    return doubts


def _steps(found: Findings, counts: Tally) -> list[Step]:
    steps = []
    if counts.located + counts.units:
        check = "The queries it shows, run on your database, give the same numbers again."
        report = (
            "Treat the values as known to those named here. If this is a personal data breach, Article 33 of "
            "the GDPR counts 72 hours from when you became aware. Whether it is one is yours to judge."
        )
        steps.append(Step("Have one finding checked.", check, "findings"))
        steps.append(Step("Decide whether to report it.", report))
    if counts.direct:
        selected = f"{counted(counts.direct, 'value was', 'values were')} simply selected, row by row."
        steps.append(Step("Take away the right to read rows.", selected))
    if counts.unmodelled:
        read = f"Read the {counted(counts.unmodelled, 'statement')} that could not be followed."
        steps.append(Step(read, "What they told is not in these figures.", "unmodelled"))
    steps.extend(_gate_step(found, counts))
    return steps


def _gate_step(found: Findings, counts: Tally) -> list[Step]:
    gate = next((party.gate for party in leading(found) if party.gate is not None), None)
    if gate is None:
        text = "A gate refuses an answer that would locate somebody, before it is given."
        there = counts.located + counts.units
        return [Step("Put a gate in front of the table.", text)] if there else []
    whole = gate.answered + gate.refused + gate.unsupported
    return [
        Step(
            "Put a gate in front of the table.",
            f"With this policy it would have refused {gate.refused:,} of {counted(whole, 'statement')} "
            f"and answered {percent(gate.answered, whole)}.",
            "gate",
        )
    ]


def period(found: Findings) -> str:
    """From when to when the log goes, where that is known."""
    known = span(found.reading)
    if known is None:
        return ""
    first, last = day(known[0]), day(known[1])
    return first if first == last else f"{first} to {last}"
