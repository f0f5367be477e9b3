"""In which orders statements are asked. Pure.

Promise: an order has every statement once. It hangs on public data, on what statements are worth and on what
runs have shown; equals stand as written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from auditor.planning.statements import Statement

Numbers = tuple[int, ...]
"""Of statements, in the order in which they are asked."""


def written(statements: Sequence[Statement]) -> Numbers:
    """As the list has them."""
    return tuple(each.number for each in statements)


def totals(statements: Sequence[Statement]) -> Numbers:
    """Totals before what they are made of: those of few groups first, of these the ones of large groups."""
    ordered = sorted(statements, key=lambda each: (each.asks, -min(each.groups, default=0)))
    return tuple(each.number for each in ordered)


def worth(statements: Sequence[Statement]) -> Numbers:
    """What is worth most first."""
    return tuple(each.number for each in sorted(statements, key=lambda each: -each.worth))


ORDERS: Mapping[str, Callable[[Sequence[Statement]], Numbers]] = {
    "written": written,
    "totals": totals,
    "worth": worth,
}
"""By name."""


def costly_last(order: Numbers, net: Mapping[int, float]) -> Numbers:
    """An order with the statements that take more from others than they bring them moved to its end.

    Args:
        order: The others stay as they are here.
        net: By number, what the others would be told more without it; the costliest comes last.
    """
    costly = sorted((number for number in order if net.get(number, 0) > 0), key=lambda number: net[number])
    moved = frozenset(costly)
    return tuple(number for number in order if number not in moved) + tuple(costly)
