"""What a plan comes to, in sentences and tables; the same on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Iterator

from auditor.evaluation.words import limit_words
from auditor.planning.plan import Plan, Result, Setting
from auditor.report.figures import counted, number
from auditor.report.visible import line

Row = list[object]
NAMES = {
    "written": "as written",
    "totals": "totals first",
    "worth": "by worth",
    "costly last": "costly ones last",
}
"""Orders, as people call them."""
LIMIT_COLUMNS = ["risk", "insiders", "exactly", "as ends", "withheld", "refused", "seconds", "note"]
ORDER_COLUMNS = ["order", *LIMIT_COLUMNS[2:]]
COST_COLUMNS = ["statement", "exactly", "at all", "which"]
MOST_NAMED = 8
"""Other statements that a row of the costs names."""


def order_name(setting: Setting) -> str:
    """An order, as people call it."""
    return ", ".join(NAMES.get(each, each) for each in setting.order.split(", ", 1))


def limit(found: Plan, setting: Setting) -> str:
    """A limit in words."""
    if setting.risk is None:
        stated = dict.fromkeys(
            limit_words(found.policy.limits_of(each).limit) for each in found.policy.protects
        )
        return "; ".join(stated)
    return f"risk at most {setting.risk:g}"


def headline(found: Plan) -> str:
    """What is told as things are."""
    if not found.statements:
        return "No statement could be asked"
    own = found.own
    return f"{own.exact:,} of {counted(groups(own), 'group')} are told exactly at the policy's limit"


def groups(result: Result) -> int:
    """All groups that a run asked of."""
    return result.exact + result.ends + result.withheld


def lead(found: Plan) -> str:
    """The policy's own run in a sentence."""
    if not found.statements:
        return "None of the statements is about a protected value and understood; the reasons stand below."
    own, how = found.own, limit(found, found.own.setting)
    return (
        f"{counted(len(found.statements), 'statement')}, asked as written with {how} and insiders = "
        f"{own.setting.insiders}: {counted(own.exact, 'group')} told exactly, {own.ends:,} as ends, "
        f"{own.withheld:,} not. It took {number(round(own.seconds, 1))} s."
    )


def limit_rows(found: Plan) -> list[Row]:
    """As written, by limit; None where the policy has several."""
    rows = list[Row]()
    for each in found.results:
        note = ["the policy's own"] if each.setting.own else []
        rows.append([each.setting.risk, each.setting.insiders, *_figures(each, note)])
    return rows


def order_rows(found: Plan) -> list[Row]:
    """Under the policy's own limit, by order."""
    best = found.best if len(found.orders) > 1 else None
    return [
        [order_name(each.setting), *_figures(each, ["recommended"] if each is best else [])]
        for each in found.orders
    ]


def _figures(each: Result, note: list[str]) -> Row:
    cut = each.cut
    note += [] if cut is None else [f"cut after {cut} of {counted(len(each.numbers), 'statement')}"]
    note += [f"{each.late} decided by the clock"] if each.late else []
    note += [line(each.error, 120)] if each.error else []
    return [each.exact, each.ends, each.withheld, each.refused, round(each.seconds, 1), "; ".join(note)]


def cost_rows(found: Plan) -> list[Row]:
    """Statements without which others are told more or less, the costliest first."""
    rows = list[tuple[float, Row]]()
    for number_, effects in found.effects.items():
        if effects:
            exact, told = sum(each.exact for each in effects), sum(each.told for each in effects)
            named = [
                f"{each.number} ({each.exact:+d})" if each.exact else f"{each.number} ({each.told:+d} at all)"
                for each in effects[:MOST_NAMED]
            ]
            named += [f"{len(effects) - MOST_NAMED} more"] if len(effects) > MOST_NAMED else []
            rows.append((-found.net(number_), [number_, f"{exact:+d}", f"{told:+d}", ", ".join(named)]))
    return [row for _, row in sorted(rows, key=lambda each: each[0])]


def recommendation(found: Plan) -> str:
    """Which order to take."""
    best, own = found.best, found.own
    if len(found.orders) == 1:
        return "No other order was tried."
    if best is own:
        return "No order that was tried tells more than the one as written."
    more = best.exact - own.exact
    told = (
        f"{abs(more):,} groups {'more' if more >= 0 else 'fewer'} are told exactly"
        if more
        else "as many groups are told exactly"
    )
    worth = ""
    if found.listed.weighed:
        in_all = sum(each.worth for each in found.statements)
        shares = [100 * each.worth(found.statements) / in_all for each in (best, own)]
        worth = f"; by worth {shares[0]:.1f} % in place of {shares[1]:.1f} %"
    return f"Ask in the order “{order_name(best.setting)}”: {told} than as written{worth}."


def doubts(found: Plan) -> Iterator[str]:
    """What was left out, and what figures hang on."""
    if found.partial:
        yield f"PARTIAL: {found.partial}."
    if found.left_out:
        yield (
            f"Time sufficed for the first {counted(len(found.statements), 'statement')}; "
            f"{found.left_out:,} later ones are in no figure. --seconds gives more."
        )
    if found.listed.repeated:
        times = counted(found.listed.repeated, "repetition")
        yield f"Each statement was asked once: {times} left out, as what they ask is known by then."
    for setting, reason in found.not_run:
        what = f"{order_name(setting)}, risk {setting.risk if setting.risk is not None else 'as stated'}"
        yield f"Not run: {what}, insiders = {setting.insiders}: {line(reason, 200)}"
    if found.unknown:
        yield (
            f"What {counted(len(found.unknown), 'statement')} cost others was not looked at: "
            f"{', '.join(map(str, found.unknown[:20]))}{' …' if len(found.unknown) > 20 else ''}."
        )
    late = sum(each.late for each in (*found.results, *found.orders))
    if late:
        times = counted(late, "statement")
        yield f"The policy's timeout refused {times}: on a quieter machine more may be told."
    for reason, count in (*found.listed.reading.broken.items(), *found.listed.reading.lost.items()):
        yield f"Not read: {count:,} times: {reason}."


def passed_over(found: Plan) -> str:
    """What was in the files besides."""
    listed = found.listed
    said = [f"{counted(listed.read, 'statement')} in the list"]
    said += [f"{listed.repeated:,} repeated"] if listed.repeated else []
    said += [f"{listed.public:,} without protected values"] if listed.public else []
    said += (
        [f"{sum(each.count for each in listed.not_asked.values()):,} not understood"]
        if listed.not_asked
        else []
    )
    said += [f"{count:,} {kind}" for kind, count in listed.passed_over.items()]
    return "; ".join(said)
