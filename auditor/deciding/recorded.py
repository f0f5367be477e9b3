"""What the system is to know of what is told. An end is an answer like any other.

Promise: it is the exact answer to a query that says just what is told: the query itself, or the query
extended by spare records, in whom nobody is protected.

Source: `mathematics.md`, 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from auditor.told import Told
from cae_sql.inference.facts.query import Query
from cae_sql.inference.system import AnsweredSystem


@dataclass(frozen=True)
class Recorded:
    """What the system is to know."""

    query: Query
    """The query as asked, or extended by spare records."""
    value: int
    """Its exact answer in units."""
    told: Told[int]
    """What that says of the query as asked."""


def recorded(
    system: AnsweredSystem, query: Query, told: Told[int], after: Sequence[Query] = ()
) -> Recorded | None:
    """The exact answer that says what is told; None where there is none, so that it cannot be told.

    Args:
        system: Whose spare records are taken, in the order of its answers.
        query: As asked.
        told: What is to be told of it, in units.
        after: What the same decision records before it.
    """
    if told.exact:
        assert told.least is not None
        return Recorded(query, told.least, told)
    if told.least is None or told.most is None:
        value = told.most if told.least is None else told.least
        assert value is not None
        tail = system.at_most if told.least is None else system.at_least
        extended = tail(query, value, after)
        return None if extended is None else Recorded(extended, value, told)
    found = system.within(query, told.least, told.most, after)
    return None if found is None else Recorded(found[0], told.most, Told(found[1], told.most))


def recorded_together(
    system: AnsweredSystem, queries: Sequence[Query], told: Sequence[Told[int] | None]
) -> list[Recorded] | None:
    """The same of several queries that are told in one decision; None where one of them cannot be."""
    found = list[Recorded]()
    for query, each in zip(queries, told, strict=True):
        after = [one.query for one in found if not one.told.exact]
        made = None if each is None else recorded(system, query, each, after)
        if made is None:
            return None
        found.append(made)
    return found
