"""A way past no: answers that the owner releases although the gate refuses them, and requests for them.

Promise: a release is recorded with its reason and who made it before anything is told, as knowledge that
every later verdict counts. Who is not shown to keep the limit with it is set aside
(`auditor.parties.set_aside`): no later answer tells more of them, and everybody else keeps the limit. A
request is recorded and tells nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from auditor.data.database import Asked, Database
from auditor.decision import Decision
from auditor.errors import AuditorError, QueryUnsupported, StatementError
from auditor.ledger import Entry, KnownAnswer
from auditor.ledger.entries import AGGREGATES
from auditor.parties.party import Knowledge, Party
from auditor.parties.release import Release, release_of
from auditor.told import Told, exactly
from cae_sql.inference.facts.query import Name
from cae_sql.risk import class_risks

if TYPE_CHECKING:
    import pandas as pd

    from auditor.parties.column import ColumnKnowledge

RELEASED, REQUEST, OPEN, DECLINED = "released", "request", "open", "declined"
"""Code of a release; verdict of a request, and its codes."""
LISTED = 1_000
"""Persons that are listed; how many there are is said of all."""
EXACT = ("sum", "max", "min")
"""Aggregates that can be released."""
_NOT_EXACT = Decision(
    "unsupported",
    "release",
    "A release tells sums, averages, minima and maxima; of counts of values, quantiles, deviations and "
    "weighted sums ranges alone are told.",
    "Ask for AT_LEAST and AT_MOST of it, or release the sums that it is made of.",
)


@dataclass(frozen=True, eq=False)
class Exposure:
    """Whom a release would set aside."""

    persons: pd.DataFrame
    """Those listed, nearest to being located first: what names them (key, unit, public columns), `lower` and
    `upper`, outside of which all is excluded then, `risk`, and `beyond`: whether that is past the limit."""
    count: int
    """How many records are set aside that were not before."""
    beyond: int
    """How many of those listed are past the limit by themselves; the others are not shown to keep it beside
    somebody who knows an own value, or hang together with those who are past it."""
    records: tuple[bytes, ...]
    """By protected column, which: what a confirmation is held to."""
    besides: int = 0
    """How many extremes are told besides: those of all others, where it would hang on those who has them."""

    @property
    def words(self) -> str:
        """In one line."""
        if not self.count:
            return "everybody keeps the limit with it: nobody is set aside"
        more = (
            f"; the extremes of all others are told as well, {self.besides} of them" if self.besides else ""
        )
        return (
            f"{self.count:,} are set aside, {self.beyond:,} of them past the limit by themselves: no later "
            f"answer will tell more of them{more}"
        )


@dataclass(frozen=True, eq=False)
class Planned:
    """A release that is worked out and not recorded."""

    told: list[Told[Fraction]]
    """By asked, in column units."""
    answers: list[KnownAnswer]
    """What the ledger is to hold."""
    exposure: Exposure
    risk_after: float | None
    """The greatest of anybody, those set aside included; None where it is not known."""


def planned(person: Party, asked: Sequence[Asked], knowledge: Knowledge, database: Database) -> Planned:
    """What a release comes to.

    Args:
        person: Who is to know it, read from the ledger anew.
        asked: What the statement asks.
        knowledge: Of the gate.
        database: The public instance.

    Raises:
        QueryUnsupported: something is asked that has no exact answer here.
    """
    if any(each.kind not in EXACT or each.statistic is not None for each in asked):
        raise QueryUnsupported(_NOT_EXACT)
    values: dict[tuple[int, Name], Fraction] = {}
    found = dict[int, Release]()
    for place, queries in person.whole_reads(asked).items():
        known = person.columns[place]
        found[place] = release_of(known, queries, knowledge.rules)
        for query, row in zip(queries, found[place].rows, strict=False):
            assert row.told.least is not None
            values[place, query.name] = known.system.column_value(query, row.told.least)
    told = list[Told[Fraction]]()
    for each in asked:
        value = values[each.protected, person.columns[each.protected].whole_query(each).name]
        negated = each.signs is not None and (each.signs == -1).all()
        told.append(exactly(-value if negated else value))
    wholes = {place: release.whole() for place, release in found.items()}
    risks = [known.risk() for known in wholes.values()]
    risk = None if None in risks else max((each for each in risks if each is not None), default=None)
    asks = person.whole_reads(asked)
    besides = sum(len(each.rows) - len(asks[place]) for place, each in found.items())
    exposure = replace(_exposure(found, wholes, knowledge, database), besides=besides)
    return Planned(told, [answer for each in found.values() for answer in _answers(each)], exposure, risk)


def decided(found: Planned, user: str, seen: Exposure | None) -> Decision:
    """The verdict by which a release is recorded.

    Args:
        found: What it comes to.
        user: Who releases it.
        seen: What was looked at before, if anything was.

    Raises:
        AuditorError: others are set aside than were seen.
    """
    if seen is not None and found.exposure.records != seen.records:
        raise AuditorError(
            "nothing was released: since it was looked at, other answers were given, and others would be set "
            "aside by now; look again"
        )
    words = f"Released by {user}: {found.exposure.words}."
    return Decision("answered", RELEASED, words, risk_after=found.risk_after)


def _answers(release: Release) -> list[KnownAnswer]:
    """As the ledger keeps it: what is told, and who is set aside."""
    known, found = release.known, list[KnownAnswer]()
    for row in release.rows:
        query, value = row.query, row.told.least
        assert value is not None
        signs = None if query.coefficients is None else query.coefficients.astype(np.int8)
        ends = exactly(known.system.column_value(query, value))
        found.append(KnownAnswer.told(AGGREGATES[query.kind], query.members, signs, ends, known.column.name))
    if release.aside.any():
        found.append(
            KnownAnswer("aside", np.flatnonzero(release.aside), None, Fraction(0), *known.column.name)
        )
    return found


def _exposure(
    releases: dict[int, Release], wholes: dict[int, ColumnKnowledge], knowledge: Knowledge, database: Database
) -> Exposure:
    import pandas as pd  # for administrators alone

    frames, count = [], 0
    for place, release in releases.items():
        fresh = np.flatnonzero(release.fresh)
        count += int(release.known.system.people[fresh].sum())
        frame = _listed(place, fresh, wholes[place], knowledge, database) if len(fresh) else None
        if frame is not None and len(knowledge.columns) > 1:
            frame.insert(0, "column", ".".join(release.known.column.name))
        frames += [] if frame is None else [frame]
    persons = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=["beyond"])
    persons = persons.sort_values(["beyond", "risk"], ascending=False, kind="stable") if frames else persons
    records = tuple(np.packbits(each.fresh).tobytes() for each in releases.values())
    return Exposure(persons.reset_index(drop=True), count, int(persons["beyond"].sum()), records)


def _listed(
    place: int, fresh: np.ndarray, whole: ColumnKnowledge, knowledge: Knowledge, database: Database
) -> pd.DataFrame:
    """Some of one column's, by what answers leave of each: those of whom least is left."""
    from auditor.gate.admin import classes_of

    column, standing = whole.column, whole.standing()
    fresh = fresh[fresh < whole.system.size]
    fresh = fresh[np.argsort((standing.upper - standing.lower)[fresh], kind="stable")][:LISTED]
    standing.look(fresh)
    lower, upper = standing.lower[fresh], standing.upper[fresh]
    domain, limits = column.protect.domain, column.limits
    risk = class_risks(np.arange(len(fresh)), lower, upper, domain, limits.epsilon).risk
    least = column.standard.least * float(column.protect.grid)
    beyond = upper - lower < least
    if column.weighs:
        likely = _likely(whole, fresh, knowledge)
        risk, beyond = (
            np.maximum(risk, likely),
            beyond | (likely > (1 if limits.risk is None else limits.risk)),
        )
    codes, shared = classes_of(knowledge, database, place)
    named = shared.iloc[codes[fresh]].reset_index(drop=True)
    if column.whose is not None:
        unit = (column.protect.unit or "unit").rpartition(".")[2]
        named.insert(0, unit, [column.called(record) for record in fresh.tolist()], allow_duplicates=True)
    keys = database.vaults[place].keys
    if keys is not None and column.protect.key is not None:
        of_data = column.codes(np.arange(len(keys)), len(keys))[fresh]
        names = [[*keys, None][number] for number in of_data.tolist()]
        named.insert(0, column.protect.key, names, allow_duplicates=True)
    named = named.loc[:, ~named.columns.duplicated()]
    return named.assign(lower=lower, upper=upper, risk=risk, beyond=beyond)


def _likely(whole: ColumnKnowledge, records: np.ndarray, knowledge: Knowledge) -> np.ndarray:
    """Risks of some records by what is likely, nobody being an insider."""
    from cae_sql.inference.posterior.baselines import posterior_risks
    from cae_sql.inference.posterior.judging import LikelyKnowledge, LikelyStandard

    column, baseline = whole.column, knowledge.policy.intruder.baseline
    standard = LikelyStandard(column.limits.limit, column.protect.domain, baseline)
    likely = LikelyKnowledge(whole.system, standard).likely
    risks = posterior_risks(likely, column.protect.domain, baseline).risk
    found: np.ndarray = risks[likely.known.atoms.labels[records]]
    return found


def requests_of(entries: Iterable[Entry]) -> pd.DataFrame:
    """Every request with its state; see `Gate.requests`."""
    import pandas as pd

    found: dict[int, dict[str, object]] = {}
    last: dict[tuple[str, str], str] = {}
    for entry in entries:
        sql = _plain(entry.sql)
        if entry.verdict == REQUEST and entry.code == OPEN:
            found[entry.number] = {
                "number": entry.number, "time": entry.time, "user": entry.user, "sql": entry.sql,
                "because": entry.because, "code": last.get((entry.user, sql), ""), "state": OPEN, "by": "",
                "reason": "",
            }  # fmt: skip
        elif entry.verdict == REQUEST:
            _settle([found.get(int(entry.normalised))], entry, DECLINED)
        elif entry.code == RELEASED:
            _settle([each for each in found.values() if _plain(str(each["sql"])) == sql], entry, RELEASED)
        elif not entry.check:
            last[entry.user, sql] = entry.code
    columns = ["number", "time", "user", "sql", "because", "code", "state", "by", "reason"]
    return pd.DataFrame(list(found.values()), columns=columns)


def _settle(requests: Iterable[dict[str, object] | None], entry: Entry, state: str) -> None:
    for each in requests:
        if each is not None and each["state"] != RELEASED:
            each |= {"state": state, "by": entry.by, "reason": entry.because}


def _plain(sql: str) -> str:
    """A statement without what makes no difference between two ways of sending it."""
    return " ".join(sql.split()).rstrip("; ")


def said(text: str, name: str) -> str:
    """A reason that can be recorded.

    Raises:
        StatementError: it is no text, or empty.
    """
    if not isinstance(text, str) or not text.strip():
        raise StatementError(f"{name} must say why in words: it is recorded, and read by whoever asks later")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise StatementError(f"{name} must be Unicode text, not {text!r:.40}") from None
    return text.strip()


def open_request(requests: pd.DataFrame, number: int) -> tuple[str, str]:
    """The statement of a request that nobody decided on, and whose it is.

    Args:
        requests: All requests.
        number: Which.

    Raises:
        StatementError: there is none of that number.
    """
    mine = requests[(requests["number"] == number) & (requests["state"] == OPEN)]
    if mine.empty:
        raise StatementError(f"there is no open request {number}; `cae-sql requests` lists those there are")
    return str(mine["sql"].iloc[0]), str(mine["user"].iloc[0])
