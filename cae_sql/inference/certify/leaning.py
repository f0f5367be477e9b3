"""Ends of people in no other answer: of all tables one is looked at that has them where they have room.

"At least 18 of these 20 said yes" is the exact answer about them and some spare records. Where nothing else
was answered of any of these, what the people have more the spare records have less (or more), and every other
sum stays. So of all tables that agree the one is looked at in which the people's total leaves both sides what
`Rooms.rich` asks for, if there is one: the exact answer at the end is among those the end allows, and if
everybody keeps a run with that one told, they do with the end told.

Promise: the tables that are given agree with all that those taken agree with.

Source: engine rule "ends in closed form"; the proof is `Rooms.rich`.
"""

from __future__ import annotations

import numpy as np

from cae_sql.inference.facts.extremes import Pins, bounds_of
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.tables.exchange import Tables
from cae_sql.inference.tables.question_tables import QuestionTables


def leaning(
    question_tables: QuestionTables, boxes: Knowledge, pins: Pins, tables: Tables, need: int, insiders: int
) -> Tables:
    """Tables in which people whose total spare records share have as much room to both sides as may be.

    Args:
        question_tables: The queries.
        boxes: Its parts with the boxes of this judgement.
        pins: The held records.
        tables: Agree with past answers and the new ones. Where they differ in a part it stays.
        need: Greatest minus least value, in units, that everybody should keep.
        insiders: 0 or 1.
    """
    spare = np.flatnonzero(~boxes.protected & (tables.least == tables.most))
    if not len(spare) or question_tables.softs:
        return tables
    marks = question_tables.marks_of(np.arange(boxes.count))
    if not marks.shape[1]:
        return tables
    inside = marks != 0
    of_row, of_part = inside.sum(axis=0), inside.sum(axis=1)
    spare = spare[of_part[spare] == 1]
    row = inside[spare].argmax(axis=1)
    spare, row = spare[of_row[row] == 2], row[of_row[row] == 2]
    if not len(spare):
        return tables
    fellows = inside[:, row]
    fellows[spare, np.arange(len(spare))] = False
    people = fellows.argmax(axis=0)
    fit = (of_part[people] == 1) & boxes.protected[people] & (pins.count[people] == 0)
    fit &= tables.least[people] == tables.most[people]
    spare, row, people = spare[fit], row[fit], people[fit]
    bounds = bounds_of(boxes, pins)
    whole = need + (boxes.high - boxes.low)[people] * (insiders > 0)
    low, high = bounds.least[people] + whole, bounds.most[people] - whole
    now, wanted = tables.least[people], np.minimum(np.maximum(tables.least[people], low), high)
    # a unit more of the people is a unit less of the spare records, or a unit more
    way = -(marks[people, row].astype(np.int64) * marks[spare, row])
    down, up = tables.least[spare] - bounds.least[spare], bounds.most[spare] - tables.least[spare]
    moved = np.clip(wanted - now, -np.where(way > 0, down, up), np.where(way > 0, up, down))
    found = tables.least.copy()
    found[people] += moved
    found[spare] += way * moved
    same = tables.least == tables.most
    return Tables(np.where(same, found, tables.least), np.where(same, found, tables.most))
