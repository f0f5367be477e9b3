"""What `cae-sql evaluate` prints and writes.

Promise: files are written whole or not at all; on the terminal figures have three decimals, and one that is
not 0 is never shown as 0.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from auditor import private
from auditor.cli import show
from auditor.cli.show import Format
from auditor.errors import AuditorError

if TYPE_CHECKING:
    from auditor.evaluation.evaluate import Evaluation
    from auditor.evaluation.sweep import Sweep


def tell_sweep(found: Sweep, form: Format, saved: Path | None) -> None:
    """All settings; on the terminal without what none of them has."""
    from auditor.evaluation.json_form import sweep_members, sweep_rows
    from auditor.evaluation.words import choice, impossible

    columns, rows = sweep_rows(found)
    if form is not Format.TABLE:
        show.rows(columns, rows, form, sweep_members(found, saved))
        return
    left_out = {"value", "impossible"}
    left_out |= {name for place, name in enumerate(columns) if all(row[place] is None for row in rows)}
    shown = [place for place, name in enumerate(columns) if name not in left_out]
    cells = [["–" if row[place] is None else row[place] for place in shown] for row in rows]
    show.rows([columns[place] for place in shown], [show.short(row) for row in cells], form, {})
    for each in found.impossible:
        print(show.plain(impossible(each)))
    print(show.plain(choice(found)))


def tell_evaluation(found: Evaluation, form: Format, top: int | None, saved: Path | None) -> None:
    """The worst classes and the verdict; as CSV or JSON all classes."""
    from auditor.evaluation.json_form import class_table, evaluation_members
    from auditor.evaluation.words import caution, companions, origin, verdict

    classes = class_table(found)
    most = top or (show.MOST_CLASSES if form is Format.TABLE else len(classes))
    content = show.frame_rows(classes.head(most))
    if form is not Format.TABLE:
        show.rows(list(classes.columns), content, form, evaluation_members(found, saved))
        return
    print(show.plain(origin(found)))
    if found.numbers:
        _tell_numbers(found)
    show.rows(list(classes.columns), [show.short(row) for row in content], form, {})
    if len(classes) > len(content):
        print(f"the {len(content)} riskiest of {len(classes):,} classes; --top shows more")
    print(show.plain(verdict(found)))
    if figures := companions(found):
        print(show.plain(figures))
    print(caution(found.subject))


def _tell_numbers(found: Evaluation) -> None:
    columns = ["known columns", "sets", "mean_entropy", "mean_risk", "worst_risk", "beyond_share"]
    rows: list[list[object]] = []
    for line in found.numbers:
        sets = f"{line.subsets}" + (f" of {line.all_subsets}" if line.subsets < line.all_subsets else "")
        rows.append([line.known, sets, line.mean_entropy, line.mean_risk, line.worst_risk, line.beyond_share])
    if found.subject.limit is None:
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    show.rows(columns, [show.short(row) for row in rows], Format.TABLE, {})


def write_report(output: Path | None, found: Evaluation | Sweep) -> None:
    """The report, whole or not at all."""
    if output is None:
        return
    from auditor.evaluation.page import html

    text = html(found)
    try:
        private.replace(output, text, ".part")
    except OSError as error:
        raise AuditorError(f"{output}: cannot be written: {error.strerror or error}") from error
    print(f"wrote {show.line(str(output))}", file=sys.stderr)
