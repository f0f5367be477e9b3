"""Masks: the column times a vector that the intruder made, so that all but one person are multiplied away."""

from __future__ import annotations

import numpy as np

from auditor.attacks.attack import Attack
from auditor.attacks.sources import DATASHIELD, HUTH_2023
from auditor.attacks.target import Claim, Target, number


def zero_one(target: Target) -> list[Claim]:
    """A vector of zeros and a single one, in each way of writing it."""
    column, table, size = target.column, target.table, target.size
    found = []
    for aim in target.aims:
        person = target.only(aim).text
        for expression, times in (
            (f"SUM({column} * CASE WHEN {person} THEN 1 ELSE 0 END)", 1),
            (f"AVG(CASE WHEN {person} THEN {column} ELSE 0 END)", size),
            (f"SUM(CASE WHEN {person} THEN {column} END)", 1),
            (f"SUM({column}) FILTER (WHERE {person})", 1),
            (f"MAX(CASE WHEN {person} THEN {column} END)", 1),
            (f"SUM({column} * ({person})::INTEGER)", 1),
            (f"SUM(if({person}, {column}, 0))", 1),
            (f"SUM({column}) - SUM(CASE WHEN NOT ({person}) THEN {column} ELSE 0 END)", 1),
            (f"SUM({column} * (1 - sign(abs({_distance(target, aim)}))))", 1),
        ):
            rows = target.ask(f"SELECT {expression} FROM {table}")
            value = None if not rows else number(rows[0][0])
            if value is None:
                continue
            value *= times
            slack = target.scene.resolution / 2
            found.append(target.claim(aim, value - slack, value + slack, f"{expression} of everybody"))
    return found


def _distance(target: Target, aim: int) -> str:
    return f"CASE WHEN {target.only(aim).text} THEN 0 ELSE 1 END"


def independent_vectors(target: Target) -> list[Claim]:
    """Vectors of plus and minus one over a few persons, as many as there are persons, then solved."""
    crowd = target.crowd(7, target.aims[:1])
    persons = [target.aims[0], *crowd]
    who = target.among(persons)
    for pattern in range(len(persons) + 1):
        weights = np.zeros(target.size, dtype=np.int64)
        minus = []
        for place, record in enumerate(persons):
            negative = bin(place & pattern).count("1") % 2 == 1
            weights[record] = -1 if negative else 1
            minus += [record] if negative else []
        if minus:
            argument = f"CASE WHEN {target.among(minus).text} THEN -{target.column} ELSE {target.column} END"
        else:
            argument = target.column
        rows = target.ask(f"SELECT SUM({argument}) FROM {target.table} WHERE {who.text}")
        value = None if not rows else number(rows[0][0])
        if value is not None:
            target.note("sum", weights, value)
    return target.claims(persons)


ATTACKS = (
    Attack(
        "zero-one-mask",
        "The column times a vector of zeros with a single one.",
        f"{DATASHIELD} issue 250",
        zero_one,
    ),
    Attack(
        "independent-vectors",
        "The column times as many independent vectors as there are persons.",
        HUTH_2023,
        independent_vectors,
    ),
)
