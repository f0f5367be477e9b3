"""The pictures and tables of the owner's page, each picture with a table that says the same.

Promise: numbers are those of the account, nothing is inferred anew; names that come from data or users pass
`visible`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from auditor.gate.growth import Growth, Look, of_classes
from auditor.report.account import FATES, Account, Statement
from auditor.report.chart import Bar, Figure, Points, Table, Upwards, bars, stepped
from auditor.report.figures import brief_moment, number
from auditor.report.timeline import MOST_ROWS, Axis, limit_words
from auditor.report.visible import line

DRAWN = ("whole", "part", "refused", "unsupported")
"""Fates that have a line."""
MOST_GROWTHS = 4
"""Columns and parties whose growth is drawn."""
MOST_CLASSES = 12
"""Rows of the table of classes."""
CLASSES_DRAWN = 3
_HELD, _EACH = 5, 40
"""Style of what the gate holds; characters of a name and of a value."""
_SURE = 1e-9


def class_of(shared: Mapping[str, object]) -> str:
    """What the records of a class share, in one line."""
    said = ", ".join(
        f"{line(name, _EACH)} {'NULL' if value is None or value != value else line(str(value), _EACH)}"
        for name, value in shared.items()
    )
    return line(said, 120) if said else "everybody"


def asked_figure(statements: Sequence[Statement]) -> Figure | None:
    """How many statements fared how by when; None where there are none."""
    if not statements:
        return None
    axis = Axis.of([(each.number, each.time) for each in statements])
    met = [fate for fate in DRAWN if any(each.fate == fate for each in statements)]
    counts: dict[str, list[tuple[float, float]]] = {fate: [(axis.across.low, 0.0)] for fate in met}
    rows = []
    for each in statements:
        if each.fate in counts:
            counts[each.fate].append((axis.at(each.number, each.time), counts[each.fate][-1][1] + 1))
            rows.append([f"{each.number:,}", brief_moment(each.time),
                         *(f"{counts[fate][-1][1]:,.0f}" for fate in met)])  # fmt: skip
    if not rows:
        return None
    most = max(points[-1][1] for points in counts.values())
    return stepped(
        "asked",
        "Statements, by what became of them",
        f"How many there were by then, {axis.said}. A statement is counted once, whoever asked it.",
        [(style, FATES[fate], counts[fate]) for style, fate in enumerate(met)],
        (axis.across, Upwards(most, whole=True)),
        _thinned(["Statement", "Time", *(FATES[fate].capitalize() for fate in met)], rows),
    )


def growth_figures(found: Account) -> list[Figure]:
    """How the risk of the worst classes grew, for each protected column and party."""
    grown = [each for each in found.growth if each.looks][:MOST_GROWTHS]
    return [_growth(found, each, place, len(grown) > 1) for place, each in enumerate(grown)]


def _growth(found: Account, grown: Growth, place: int, several: bool) -> Figure:
    times = {each.number: each.time for each in found.statements}
    axis = Axis.of([(each.number, each.time) for each in found.statements])
    limit = limit_of(found, grown)
    worst = np.argsort(-grown.worst, kind="stable")[:CLASSES_DRAWN].tolist()
    names = [class_of(_shared(grown, each)) for each in worst]

    def at(look: Look) -> float:
        return axis.at(look.entry, times[look.entry])

    begin = (axis.across.low, 0.0)
    highest = [begin, *((at(each), float(of_classes(each).max())) for each in grown.looks)]
    series: list[tuple[int, str, Points]] = [(0, "highest of all classes", highest)]
    for style, (code, name) in enumerate(zip(worst, names, strict=True), 1):
        series.append(
            (style, name, [begin, *((at(each), float(of_classes(each)[code])) for each in grown.looks)])
        )
    # of several columns and users the ledger holds one figure for all
    held = [
        (axis.at(each.number, each.time), each.held) for each in found.statements if each.held is not None
    ]
    if held and not several:
        series.append((_HELD, "held by the gate, whoever asks", [begin, *held]))
    caption = (
        "The risk of who is worst off in a class, by what answers exclude and by what they make likely, "
        f"{axis.said}. 0: nothing is told beyond what is said of people like them; 1: somebody’s value is "
        f"known. {limit_words(limit)}"
    )
    rows = [
        [f"{each.entry:,}", brief_moment(times[each.entry]), f"{float(of_classes(each).max()):.3f}",
         *(f"{float(of_classes(each)[code]):.3f}" for code in worst)]
        for each in grown.looks
    ]  # fmt: skip
    about = class_of(grown.about) if grown.about else ""
    title = "How the highest risk grew" + (f": {about}" if about else "")
    return stepped(
        f"growth-{place}",
        title,
        caption,
        series,
        (axis.across, Upwards(1.0, rule=None if limit is None else (limit, "limit"))),
        Table(("Statement", "Time", "Highest", *names), rows),
    )


def risks_figure(found: Account) -> Figure | None:
    """For how many records how high the risk is by now; None where nothing was answered."""
    grown = next((each for each in found.growth if each.looks), None)
    if grown is None:
        return None
    limit, rows = limit_of(found, grown), list[tuple[str, int, bool]]()
    highest = max(float(grown.worst.max()), limit or 0.0)
    edges = [round(0.1 * each, 1) for each in range(11)]
    for low, high in zip(edges[-2::-1], edges[:0:-1], strict=True):
        if low > highest:
            continue
        inside = (grown.worst > max(low, _SURE)) & (grown.worst <= high)
        grave = limit is not None and low >= limit
        rows.append((f"{low:.1f} to {high:.1f}", int(grown.records[inside].sum()), grave))
    rows.append(("0 (nothing)", int(grown.records[grown.worst <= _SURE].sum()), False))
    table = Table(("Risk", "Records"), [(name, f"{count:,}") for name, count, _ in rows])
    about = f" ({class_of(grown.about)})" if len(found.growth) > 1 else ""
    return bars(
        "risks",
        "Records by risk",
        f"How many records are in classes of which risk{about}, by the one in the class who is worst off. "
        f"Coloured: beyond the limit.",
        [Bar(name, count, f"{count:,}", grave=grave) for name, count, grave in rows],
        table,
    )


def limit_of(found: Account, grown: Growth) -> float | None:
    """The limit on risk of a growth's column."""
    wanted = grown.about.get("table"), grown.about.get("column")
    named = [each for each in found.columns if (each.table, each.column) == wanted]
    return (named or list(found.columns))[0].risk


def classes_table(found: Account) -> Table | None:
    """The classes with the highest risk, and how it grew; None where nothing was answered."""
    grown = [each for each in found.growth if each.looks]
    if not grown:
        return None
    worst = [
        (each, code)
        for each in grown
        for code in np.argsort(-each.worst, kind="stable")[:MOST_CLASSES].tolist()
    ]
    worst.sort(key=lambda pair: -float(pair[0].worst[pair[1]]))
    rows = [_class_row(each, code) for each, code in worst[:MOST_CLASSES]]
    of = sum(len(each.records) for each in grown)
    note = f"{len(rows)} of {of:,} classes, those with the highest risk." if of > len(rows) else ""
    columns = ("What is known of them", "Records", "Risk now", "After a quarter of the answers",
               "After a half", "After three quarters", "By what is likely",
               "By what is excluded, at least")  # fmt: skip
    return Table(columns, rows, note)


def _class_row(grown: Growth, code: int) -> list[str]:
    looks, last = grown.looks, grown.looks[-1]
    past = [looks[max((len(looks) * quarter + 3) // 4 - 1, 0)] for quarter in (1, 2, 3)]
    risks = [float(grown.worst[code]), *(float(of_classes(each)[code]) for each in past)]
    likely = "–" if last.likely is None else f"{max(float(last.likely[code]), 0.0):.3f}"
    return [
        class_of({**grown.about, **_shared(grown, code)}),
        f"{grown.records[code]:,}",
        *(f"{risk:.3f}" for risk in risks),
        likely,
        f"{float(last.excluded[code]):.3f}",
    ]


def users_table(statements: Sequence[Statement]) -> Table:
    """Who asked what, and what was told, those who asked most first."""
    shown = [fate for fate in FATES if any(each.fate == fate for each in statements)]
    columns = ["User", "Statements", *(FATES[fate].capitalize() for fate in shown), "New values, exactly",
               "New values, as ends", "Surprises"]  # fmt: skip
    users: dict[str, list[Statement]] = {}
    for each in statements:
        users.setdefault(each.user, []).append(each)
    rows = []
    for user, mine in sorted(users.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        counts = [sum(each.fate == fate for each in mine) for fate in shown]
        told = [
            sum(each.exact for each in mine),
            sum(each.ends for each in mine),
            sum(each.surprises for each in mine),
        ]
        rows.append(
            [line(user, 60) or "not named", f"{len(mine):,}", *(f"{count:,}" for count in (*counts, *told))]
        )
    return Table(
        columns, rows[:MOST_ROWS], "" if len(rows) <= MOST_ROWS else f"{MOST_ROWS} of {len(rows):,} users."
    )


def codes_table(statements: Sequence[Statement]) -> Table:
    """Why statements were not told in full, by the code that analysts see."""
    counts: dict[str, int] = {}
    for each in statements:
        if each.fate not in ("whole", "public", "edition", "check"):
            name = f"{FATES[each.fate]}: {line(each.code, 60)}"
            counts[name] = counts.get(name, 0) + 1
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return Table(
        ("What became of it, and the code", "Statements"), [(name, number(n)) for name, n in ordered]
    )


def _shared(grown: Growth, code: int) -> dict[str, object]:
    return {str(name): value for name, value in grown.shared.iloc[code].to_dict().items()}


def _thinned(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    if len(rows) <= MOST_ROWS:
        return Table(columns, rows)
    kept = [rows[place * (len(rows) - 1) // (MOST_ROWS - 1)] for place in range(MOST_ROWS)]
    return Table(columns, kept, f"{MOST_ROWS} of {len(rows):,} rows, evenly chosen; cae-sql history has all.")
