"""The page of a plan: one file, in the style of the audit's.

Promise: as the audit's page (`auditor.report.page`): templates that escape, a policy of the page's own that
allows nothing but the one style in it, no script, no request. The chart has a table.
"""

from __future__ import annotations

from collections.abc import Callable

from auditor.planning import words
from auditor.planning.plan import Plan, Result
from auditor.planning.statements import Statement
from auditor.report.chart import Figure, Table
from auditor.report.figures import counted, number
from auditor.report.page import asset, digest, environment
from auditor.report.scatter import Axes, Point, Series, scatter
from auditor.report.visible import line, visible

MOST_STATEMENTS = 200
"""Statements on the page; the JSON has all."""
Fact = tuple[str, str]


def html(found: Plan) -> str:
    """The plan as one HTML document."""
    style, told = asset("report.css"), bool(found.statements)
    protects = [f"{each.column} in {each.table}" for each in found.policy.protects]
    return (
        environment()
        .get_template("plan.html.j2")
        .render(
            style=style,
            style_digest=digest(style),
            kicker=visible(", ".join(protects)),
            headline=words.headline(found),
            lead=words.lead(found),
            facts=_facts(found) if told else [],
            doubts=[visible(each) for each in words.doubts(found)],
            curves=_curves(found) if told else [],
            limits=_table(words.LIMIT_COLUMNS, words.limit_rows(found)),
            orders=_table(words.ORDER_COLUMNS, words.order_rows(found) if told else []),
            recommendation=words.recommendation(found) if told else "",
            steps=_steps(found) if told else [],
            tried=len(found.effects),
            costs=_table(words.COST_COLUMNS, words.cost_rows(found)),
            statements=[_stated(found, each) for each in found.statements[:MOST_STATEMENTS]],
            more=max(len(found.statements) - MOST_STATEMENTS, 0),
            not_asked=found.listed.not_asked.values(),
            basis=_basis(found),
        )
    )


def _facts(found: Plan) -> list[tuple[str, list[Fact]]]:
    own = found.own
    told = [(f"{own.exact:,}", "groups told exactly"), (f"{own.ends:,}", "told as ends or ranges")]
    told += [(f"{own.withheld:,}", "withheld"), (f"{own.refused:,}", "statements of which nothing is told")]
    limits = [
        (_more(each, own), f"groups exactly with {_other(found, each)}")
        for each in found.results
        if not each.setting.own
        and each.cut is None
        # one step away alone: the table has all
        and (each.setting.insiders == own.setting.insiders or each.setting.risk == own.setting.risk)
    ]
    orders = [
        (words.order_name(each.setting), f"{_more(each, own)} groups exactly")
        for each in found.orders
        if each is not own and each.cut is None
    ]
    none = [("–", "nothing else was run")]
    return [
        ("What is told?", told),
        ("What would another limit buy?", limits or none),
        ("What would another order buy?", orders or none),
    ]


def _other(found: Plan, each: Result) -> str:
    own = found.own.setting
    return (
        words.limit(found, each.setting)
        if each.setting.insiders == own.insiders
        else f"insiders = {each.setting.insiders}"
    )


def _more(each: Result, own: Result) -> str:
    return f"{each.exact - own.exact:+,}".replace("-", "−")


def _curves(found: Plan) -> list[Figure]:
    """What each limit buys; none where there are no two limits to be compared."""
    points = [each for each in found.results if each.setting.risk is not None and each.cut is None]
    risks = [each.setting.risk or 0.0 for each in points]
    if len(set(risks)) < 2:
        return []
    axes = Axes("limit on risk; upwards: groups", min(risks), max(risks), max(map(words.groups, points)))
    table = _table(words.LIMIT_COLUMNS, words.limit_rows(found))
    said = "in the order as written. Full marks: the policy as it is."
    return [
        scatter(
            *("exactly", "What each limit buys", f"Groups that are told exactly, {said}"),
            *(_series(points, lambda each: each.exact), axes, table),
        ),
        scatter(
            *("told", "Ends counted too", f"Groups that are told exactly or as ends, {said}"),
            *(_series(points, lambda each: each.exact + each.ends), axes, table),
        ),
    ]


def _series(points: list[Result], figure: Callable[[Result], int]) -> list[Series]:
    """A line for each number of insiders."""
    found = list[Series]()
    for insiders in sorted({each.setting.insiders for each in points}, reverse=True):
        marks = [
            Point(each.setting.risk or 0.0, figure(each), f"{figure(each):,}", each.setting.own)
            for each in points
            if each.setting.insiders == insiders
        ]
        found.append(Series(len(found), f"insiders = {insiders}", marks))
    return found


def _table(columns: list[str], rows: list[words.Row]) -> Table:
    return Table([each.capitalize() for each in columns], [[_cell(cell) for cell in row] for row in rows])


def _cell(cell: object) -> str:
    if cell is None:
        return "as stated"
    return number(cell) if isinstance(cell, int | float) else visible(str(cell))


def _steps(found: Plan) -> list[str]:
    """The recommended order, where it is another than the one as written."""
    best = found.best
    if best is found.own:
        return []
    by_number = {each.number: each for each in found.statements}
    return [f"{number}: {line(by_number[number].sql, 160)}" for number in best.numbers[:MOST_STATEMENTS]]


def _stated(found: Plan, each: Statement) -> dict[str, object]:
    own = found.own.outcomes[each.number]
    said = [f"{own.exact} of {counted(own.groups, 'group')} exactly"]
    said += [f"{own.ends} as ends"] if own.ends else []
    if each.number in found.unknown:
        said.append("what it costs others was not looked at")
    elif effects := found.effects.get(each.number):
        said.append(f"without it others: {sum(one.exact for one in effects):+d} exactly".replace("-", "−"))
    facts = [each.source, f"asked {counted(each.times, 'time')}" if each.times > 1 else ""]
    facts += [f"worth {number(each.worth)}" if found.listed.weighed else "", f"verdict {own.code}"]
    facts += [f"smallest group {counted(min(each.groups), 'record')}" if each.groups else ""]
    return {
        "number": each.number,
        "brief": line(each.sql, 100),
        "said": "; ".join(said),
        "facts": visible(", ".join(filter(None, facts))),
        "sql": each.sql,
    }


def _basis(found: Plan) -> list[Fact]:
    policy = found.policy
    said = [
        ("Data", found.source),
        ("Protected", ", ".join(f"{each.table}.{each.column}" for each in policy.protects)),
        ("Policy’s limit", "; ".join(words.limit(found, each.setting) for each in found.orders[:1]) or "–"),
        ("Insiders", str(policy.intruder.insiders)),
        ("What is likely", f"candidates = {policy.intruder.candidates}, mode = {policy.decision.mode}"),
        ("The list", words.passed_over(found)),
        (
            "Ledger",
            "of each run its own, empty at first, and gone; the policy’s was neither read nor written",
        ),
        ("Time", f"{number(round(found.seconds))} s, {counted(found.workers, 'process', 'processes')}"),
    ]
    return [(name, visible(text)) for name, text in said]
