"""Findings made up for the report's tests: of any number, several parties, all kinds, of a salary table.

Nothing here was inferred: sums are those of made-up salaries, so that certificates add up, and all else is
plausible. What an audit really finds is tested where it is found.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from auditor.history.findings import (
    Certificate,
    Cited,
    ClassRisk,
    Finding,
    Findings,
    GateView,
    MadeLikely,
    Moment,
    PartyFindings,
    Term,
    Unmodelled,
)

BEGIN = datetime(2026, 3, 2, 8, 15, tzinfo=UTC)
DOMAIN = range(10, 251, 10)
DEPARTMENTS = ("Claims", "Accounts", "Legal", "IT & Networks")
POLICY = """[protect]
table = "staff"
column = "salary"
minimum = 10
maximum = 250
step = 10
key = "id"
public = ["age", "sex", "dept", "id"]

[limit]
risk = 0.5
"""
USERS = ("anna", "ben", "dashboard")


def made(count: int = 1000, seed: int = 7, people: int = 2435) -> Findings:
    """So many findings by user anna, user ben and everyone together, who have all of theirs and more."""
    chance = random.Random(seed)
    salaries = [chance.choice(DOMAIN) for _ in range(people)]
    anna, ben = count * 3 // 10, count // 10
    places = chance.sample(range(people), count - anna - ben)
    owners = ["user anna"] * anna + ["user ben"] * ben + ["everyone"] * (len(places) - anna - ben)
    single = [finding(*pair, salaries, chance) for pair in zip(places, owners, strict=True)]
    findings = [one for one in single if one.party != "everyone"]
    findings += [replace(one, party="everyone") for one in single]
    parties = [_party(party, findings, people, chance) for party in ("everyone", "user anna", "user ben")]
    parties.append(_party("user dashboard", findings, people, chance))
    return Findings(
        findings=findings,
        parties=parties,
        timeline=[moment for party in parties for moment in _timeline(party.party, findings)],
        classes=_classes(),
        prior_curve=curve(list(DOMAIN)),
        prior_width=240.0,
        unmodelled=_unmodelled(),
        kinds={
            "SUM": 812,
            "AVG": 2310,
            "GROUP BY": 407,
            "row-level": 34,
            "MEDIAN": 12,
            "public": 5120,
            "failed": 96,
        },
        reading=_reading(),
        policy=POLICY,
        likely=_likely(),
        policy_digest="5d41402abc4b2a76b9719d911017c592ae8f1c2d3b4a59687786a5b4c3d2e1f0",
        fingerprint="7d793037a0760186574b0282f2f435e7c1f09e8d7c6b5a493827160504f3e2d1",
        seconds=381.4,
    )


def nothing_found() -> Findings:
    """An audit of a harmless log, in which one kind of statement could not be modelled."""
    found = made(0)
    parties = [replace(party, open=0, widths=((240.0, 2435),), risk=0.02) for party in found.parties]
    parties = [replace(party, likely=0, likely_risk=0.1) for party in parties]
    return replace(found, parties=parties, unmodelled=found.unmodelled[:1], likely=())


def finding(record: int, party: str, salaries: Sequence[int], chance: random.Random) -> Finding:
    """One record, located by its row, by a difference of two sums, or by whole numbers."""
    kind = chance.choice(("direct", "exact", "exact", "integers", "approximate"))
    number = chance.randrange(40, 3500)
    user = party.removeprefix("user ") if party.startswith("user ") else chance.choice(USERS)
    value, dept = salaries[record], DEPARTMENTS[record % 4]
    if kind == "direct":
        sql = f"SELECT id, dept, salary FROM staff WHERE id = {record}"
        cited = cite(number, user, sql)
        proof = Certificate(
            "direct",
            [Term(cited, "A1", "row", 1, Fraction(value), None, sql)],
            f"A1 returned the row itself, salary and all: {value}.",
            f"salary[{record}] = A1 = {value}",
            sql,
        )
        return Finding(
            record, f"P-{record:05}", "staff", "salary", party, "direct", value, value, cited, proof
        )
    others = [n % len(salaries) for n in range(record + 1, record + 6 + chance.randrange(9))]
    whole = f"SELECT SUM(salary) FROM staff\nWHERE dept = '{dept}' AND id BETWEEN {record} AND {others[-1]}"
    less = whole + f"\n  AND id <> {record}"
    total = sum(salaries[other] for other in others)
    terms = [
        Term(cite(number - 7, user, less), "A1", "sum", len(others), Fraction(total), Fraction(-1), less),
        Term(
            cite(number, user, whole),
            "A2",
            "sum",
            len(others) + 1,
            Fraction(total + value),
            Fraction(1),
            whole,
        ),
    ]
    again = f"SELECT ({whole}) - ({less})".replace("\n", " ")
    cited = terms[1].statement
    if kind == "integers":
        sentence = (
            f"On the grid of tens only {value} agrees with A1 and A2 together; on all numbers "
            f"{value - 10} to {value + 10} would."
        )
        terms = [replace(term, multiplier=None) for term in terms]
        proof = Certificate("integers", terms, sentence, f"A2 and A1 leave salary[{record}] = {value}", "")
        return Finding(
            record, f"P-{record:05}", "staff", "salary", party, "exact", value, value, cited, proof
        )
    low, high = (value, value) if kind == "exact" else (max(10, value - 20), min(250, value + 30))
    ends = f"exactly {value}" if low == high else f"between {low} and {high}"
    proof = Certificate(
        "reals",
        terms,
        f"A2 less A1 leaves this record alone: its salary is {ends}.",
        f"salary[{record}] = A2 − A1 = {total + value} − {total}",
        again,
    )
    return Finding(
        record,
        f"P-{record:05}",
        "staff",
        "salary",
        party,
        "exact" if low == high else "approximate",
        low,
        high,
        cited,
        proof,
    )


def cite(number: int, user: str, sql: str) -> Cited:
    """A statement, with the time that its number implies."""
    return Cited(
        number, BEGIN + timedelta(minutes=19 * number), user, sql, f"postgresql.csv, line {number * 3}"
    )


def curve(values: Sequence[float]) -> list[tuple[float, float]]:
    """H(ε) of evenly spaced, equally likely values: as many full windows as fit, then one remainder."""
    points = []
    for window in range(len(values)):
        full, rest = divmod(len(values), window + 1)
        shares = [(window + 1) / len(values)] * full + ([rest / len(values)] if rest else [])
        entropy = -sum(share * math.log2(share) for share in shares) + 0.0
        points.append((float(values[window] - values[0]), entropy))
    return points


def _party(party: str, findings: Sequence[Finding], people: int, chance: random.Random) -> PartyFindings:
    own = [one for one in findings if one.party == party]
    exact = sum(one.lower == one.upper for one in own)
    widths: dict[float, int] = {}
    for one in own:
        widths[one.upper - one.lower] = widths.get(one.upper - one.lower, 0) + 1
    rest = people - len(own)
    for share in (0.05, 0.1, 0.15):
        width = float(round(240 * (1 - 2 * share), -1))
        widths[width] = widths.get(width, 0) + int(rest * share)
    widths[240.0] = rest - sum(int(rest * share) for share in (0.05, 0.1, 0.15))
    first = min((one.first for one in own), key=lambda cited: cited.number, default=None)
    return PartyFindings(
        party=party,
        users=USERS if party == "everyone" else (party.removeprefix("user "),),
        statements=3529 if party == "everyone" else 1170,
        answers=412 if party == "everyone" else chance.randrange(60, 240),
        located=len(own),
        exact=exact,
        direct=sum(one.kind == "direct" for one in own),
        open=6 if party == "everyone" else 0,
        risk=1.0 if own else 0.21,
        widths=sorted(widths.items()),
        gate=GateView(3105, 412, 12, first) if party == "everyone" else GateView(1100, 64, 6, first),
        likely=2 if party == "everyone" else 0,
        likely_risk=None if party == "user ben" else 0.62,
    )


def _timeline(party: str, findings: Sequence[Finding]) -> list[Moment]:
    own = sorted((one for one in findings if one.party == party), key=lambda one: one.first.number)
    moments = [Moment(1, BEGIN + timedelta(minutes=19), party, 1, 0, 0, 0, 0.02)]
    exact = 0
    for place, one in enumerate(own, 1):
        exact += one.lower == one.upper
        risk = 1.0 if exact else 0.8
        moments.append(Moment(one.first.number, one.first.time, party, place + 1, place, exact, 0, risk))
    if not own:
        for number in range(100, 3500, 170):
            time = BEGIN + timedelta(minutes=19 * number)
            moments.append(Moment(number, time, party, number // 20, 0, 0, 0, min(0.21, number / 9000)))
    return moments


def _classes() -> list[ClassRisk]:
    made_up = []
    for place, (party, count) in enumerate(
        (("everyone", 1), ("everyone", 3), ("user anna", 9), ("user ben", 16))
    ):
        values = [100.0 + 10 * n for n in range(count)]
        points = curve(values)
        area = sum(b[0] * a[1] - a[0] * a[1] for a, b in itertools.pairwise(points))
        known = {"age": str(34 + place), "sex": "mf"[place % 2], "dept": DEPARTMENTS[place]}
        made_up.append(
            ClassRisk(
                party, known, 1 + 2 * place, values[0], values[-1], points[0][1], area, 1 - area / 420,
                beyond=place < 3, curve=points,
            )
        )  # fmt: skip
    return made_up


def _likely() -> list[MadeLikely]:
    """Two records; the second by an extreme, which no sum carries."""
    said = [
        cite(50 + place, "anna", f"SELECT SUM(salary) FROM staff WHERE team = {place}") for place in range(3)
    ]
    where = "staff", "salary", "everyone"
    return [
        MadeLikely(25, 10.0, 250.0, 60.0, 90.0, 0.62, 0.81, 0.77, 2433, "P-02433", *where, said[2], said),
        MadeLikely(20, 10.0, 200.0, 190.0, 200.0, 0.55, 0.02, 0.0, 2434, "", *where, said[1], ()),
    ]


def _unmodelled() -> list[Unmodelled]:
    median = cite(311, "ben", "SELECT dept, MEDIAN(salary) FROM staff GROUP BY dept")
    condition = cite(918, "anna", "SELECT COUNT(*) FROM staff WHERE salary > 200 AND dept = 'Legal'")
    return [
        Unmodelled("MEDIAN", 12, "A median orders values; what it tells is not modelled.", [median]),
        Unmodelled(
            "condition on the protected column",
            29,
            "A count under a condition on salary tells of it.",
            [condition],
        ),
    ]


def _reading() -> dict[str, object]:
    return {
        "files": ["postgresql.csv", "postgresql.1.csv"],
        "entries": 30211,
        "statements": 8791,
        "passed_over": {"connection": 9120, "checkpoint": 410},
        "broken": {"not enough columns": 2, "not UTF-8": 1},
        "examples": ["postgresql.csv, line 4112: not enough columns"],
        "first": BEGIN,
        "last": BEGIN + timedelta(minutes=19 * 3500),
    }


def said(text: str) -> Findings:
    """Findings in which everything that can come from a log, a table or a policy is this text."""
    found = made(6)
    cited = replace(found.findings[0].first, user=text, sql=text, source=text)
    findings = [
        replace(
            one,
            key=text,
            table=text,
            column=text,
            party=f"user {text}",
            first=cited,
            certificate=replace(
                one.certificate,
                sentence=text,
                equation=text,
                sql=text,
                terms=[replace(term, statement=cited, sql=text) for term in one.certificate.terms],
            ),
        )
        for one in found.findings
    ]
    return replace(
        found,
        findings=findings,
        parties=[replace(one, party=f"user {text}", users=[text]) for one in found.parties],
        timeline=[replace(one, party=f"user {text}") for one in found.timeline],
        classes=[replace(one, party=f"user {text}", known={text: text}) for one in found.classes],
        unmodelled=[replace(one, kind=text, reason=text, examples=[cited]) for one in found.unmodelled],
        kinds={text: 3},
        reading={"files": [text], "broken": {text: 1}, "examples": [text], text: text},
        policy=text,
        policy_digest=text,
        fingerprint=text,
        partial=text,
    )
