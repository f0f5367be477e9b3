"""The SQL functions: Arrow columns in, one Arrow column out, whole vectors at a time.

Pure: no connection, no state. NULL in, NULL out, row by row. What cannot be used raises `InvalidInput`, which
names the function, the row's position in the vector (from 0) and what is wrong with it. How functions are
called in SQL, with which arguments, stands in docs/sql-functions.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any
from warnings import warn

import numpy as np

from cae_sql.candidates import check_inside
from cae_sql.domain import Domain
from cae_sql.errors import ExactIsSlow, InconsistentAnswers, InvalidInput
from cae_sql.measure import batch
from cae_sql.measure.mixtures import LARGEST_RESULT, mixtures
from cae_sql.measure.rows import Flags, Floats, Lists, beyond, fixed
from cae_sql.risk import TOLERANCE
from udfs.columns import (
    ListColumn,
    is_list,
    is_null,
    list_of_numbers,
    list_of_structs,
    numbers,
    result,
    struct,
    struct_of_lists,
)

Function = Callable[..., Any]

_LONG = 50.0
"""Areas of a thousand irregular values in one vector: several seconds, after which a hint is due."""


def named(function: Function) -> Function:
    """Errors say which function they come from."""
    name = function.__name__

    @wraps(function)
    def call(*columns: Any) -> Any:
        try:
            return function(*columns)
        except InvalidInput as error:
            raise InvalidInput(f"{name}: {error}", error.position) from None

    return call


@named
def cae_entropy(*columns: Any) -> Any:
    """cae_entropy(values [, probabilities] [, epsilon]): H(ε) in bits."""
    values, *rest = _taken(columns, 3, "values, probabilities and epsilon (both of these may be left out)")
    epsilon = rest.pop() if rest and (len(rest) == 2 or not _lists_or_null(rest[-1])) else None
    candidates = _Candidates(values, *rest)
    widths, given = _or(epsilon, "epsilon", 0.0, candidates.live.size)
    live = candidates.checked(given)
    return result(batch.entropies(candidates.values, candidates.weights, widths, live), live)


@named
def cae_area(*columns: Any) -> Any:
    """cae_area(values [, probabilities] [, tolerance]): the area under H(ε), in bits × units."""
    values, *rest = _taken(columns, 3, "values, probabilities and tolerance (both of these may be left out)")
    given = rest.pop() if rest and (len(rest) == 2 or not _lists_or_null(rest[-1])) else None
    candidates = _Candidates(values, *rest)
    tolerance, there = _or(given, "tolerance", 0.0, candidates.live.size)
    live = candidates.checked(there)
    if batch.exact_work(candidates.values, live & (tolerance == 0)) > _LONG:
        warn(
            "cae_area computes many areas exactly, which takes long: cae_area_agg(x, tolerance := 0.001) or "
            "cae_area(values, weights, 0.001) is quicker, and certainly right to a thousandth",
            ExactIsSlow,
            stacklevel=2,
        )
    return result(batch.areas(candidates.values, candidates.weights, live, tolerance), live)


@named
def cae_area_bounds(*columns: Any) -> Any:
    """cae_area_bounds(values [, probabilities] [, relative_error]): STRUCT(lower, upper) around the area."""
    values, *rest = _taken(
        columns, 3, "values, probabilities and relative_error (both of these may be left out)"
    )
    relative = rest.pop() if rest and (len(rest) == 2 or not _lists_or_null(rest[-1])) else None
    candidates = _Candidates(values, *rest)
    errors, given = _or(relative, "relative_error", batch.RELATIVE_ERROR, candidates.live.size)
    live = candidates.checked(given)
    lower, upper = batch.area_bounds(candidates.values, candidates.weights, errors, live)
    return struct({"lower": lower, "upper": upper}, live)


@named
def cae_curve(*columns: Any) -> Any:
    """cae_curve(values [, probabilities]): the steps of H(ε), a list of STRUCT(epsilon, entropy)."""
    candidates = _Candidates(*_taken(columns, 2, "values and probabilities (may be left out)"))
    live = candidates.checked()
    epsilon, entropy, begins = batch.curves(candidates.values, candidates.weights, live)
    return list_of_structs({"epsilon": epsilon, "entropy": entropy}, begins, live)


@named
def cae_risk(*columns: Any) -> Any:
    """cae_risk(values [, probabilities], minimum, maximum, step): 1 − A / A_prior."""
    if len(columns) not in (4, 5):
        raise InvalidInput(
            "takes values, probabilities (may be left out), minimum, maximum and step, "
            f"not {len(columns)} arguments"
        )
    candidates = _Candidates(*columns[:-3])
    domains = _Domains(*columns[-3:])
    live = candidates.checked(domains.live)
    prior = np.full(live.size, np.nan)
    for domain, rows in domains.each(live):
        _check_inside(candidates.values, rows, domain)
        prior[rows] = domain.area
    areas = batch.areas(candidates.values, candidates.weights, live)
    with np.errstate(divide="ignore", invalid="ignore"):
        risk = np.where(prior == 0, 1.0, 1.0 - areas / prior)
    return result(np.where(np.abs(risk) <= TOLERANCE, 0.0, risk), live)


@named
def cae_candidates(*columns: Any) -> Any:
    """cae_candidates(lower, upper, minimum, maximum, step): STRUCT(values, probabilities) by Algorithm 2."""
    if len(columns) != 5:
        raise InvalidInput(f"takes lower, upper, minimum, maximum and step, not {len(columns)} arguments")
    lower, upper = ListColumn(columns[0], "lower"), ListColumn(columns[1], "upper")
    domains = _Domains(*columns[2:])
    live = lower.valid & upper.valid & domains.live
    lower.check(live)
    upper.check(live)
    each = domains.each(live)
    room = LARGEST_RESULT
    if len(each) == 1:
        x, p, begins = mixtures(lower.lists, upper.lists, each[0][0], live, room)
        return struct_of_lists({"values": x, "probabilities": p}, begins, live)
    values, shares = [np.empty(0)] * live.size, [np.empty(0)] * live.size
    for domain, rows in each:
        chosen = np.zeros(live.size, np.bool_)
        chosen[rows] = True
        x, p, begins = mixtures(lower.lists, upper.lists, domain, chosen, room)
        room -= x.size
        for row in rows.tolist():
            values[row], shares[row] = x[begins[row] : begins[row + 1]], p[begins[row] : begins[row + 1]]
    begins = np.concatenate([[0], np.cumsum([each.size for each in values])]).astype(np.int64)
    flat = [np.concatenate([np.empty(0), *each]) for each in (values, shares)]
    return struct_of_lists({"values": flat[0], "probabilities": flat[1]}, begins, live)


@named
def shannon_entropy(*columns: Any) -> Any:
    """shannon_entropy(probabilities): −Σ p log2 p in bits, of weights that need not sum to 1."""
    weights = ListColumn(_taken(columns, 1, "probabilities")[0], "probabilities")
    weights.check(weights.valid)
    given = weights.lists
    for row in np.flatnonzero(weights.valid & (given.begin == given.end)).tolist():
        raise InvalidInput(f"row {row}: probabilities must not be empty", row)
    # Which values these are the probabilities of is of no account, as long as they differ.
    places = np.arange(given.items.size, dtype=np.float64)
    values = Lists(places, given.begin, given.end)
    return result(batch.entropies(values, given, np.zeros(weights.valid.size), weights.valid), weights.valid)


@named
def attribute_disclosure_risk(*columns: Any) -> Any:
    """attribute_disclosure_risk(counts, sizes, probabilities): Pr(S | QI) of each cell of a table, a list."""
    if len(columns) != 3:
        raise InvalidInput(f"takes counts, sizes and probabilities, not {len(columns)} arguments")
    from cae_sql.releases.disclosure import table_disclosure_risk  # late: few who register will call it

    names = ("counts", "sizes", "probabilities")
    counts, sizes, kept = (ListColumn(column, name) for column, name in zip(columns, names, strict=True))
    live = counts.valid & sizes.valid & kept.valid
    for column in (counts, sizes, kept):
        column.check(live)
    found = [np.empty(0)] * live.size
    for row in np.flatnonzero(live).tolist():
        try:
            shape = _shape(sizes.lists[row], counts.lists[row].size)
            table = counts.lists[row].reshape(shape)
            found[row] = table_disclosure_risk(table, kept.lists[row].tolist()).ravel()
        except InvalidInput as error:
            raise InvalidInput(f"row {row}: {error}", row) from error
    begins = np.concatenate([[0], np.cumsum([each.size for each in found])]).astype(np.int64)
    return list_of_numbers(np.concatenate([np.empty(0), *found]), begins, live)


@named
def privacy_loss(*columns: Any) -> Any:
    """privacy_loss(values [, probabilities], size, total): bits each of `size` records loses by their sum."""
    if len(columns) not in (3, 4):
        raise InvalidInput(
            f"takes values, probabilities (may be left out), size and total, not {len(columns)} arguments"
        )
    from cae_sql.releases.privacy import privacy_loss as loss_of_sum  # late: few who register will call it

    candidates = _Candidates(*columns[:-2])
    sizes, totals = numbers(columns[-2], "size"), numbers(columns[-1], "total")
    live = candidates.checked(sizes[1] & totals[1])
    found, known = np.zeros(live.size), dict[tuple[object, ...], float]()
    for row in np.flatnonzero(live).tolist():
        size, total = float(sizes[0][row]), float(totals[0][row])
        weights = None if candidates.weights is None else candidates.weights[row]
        name = (
            candidates.values[row].tobytes(),
            weights if weights is None else weights.tobytes(),
            size,
            total,
        )
        if name not in known:
            try:
                count = int(size) if size.is_integer() else size
                known[name] = loss_of_sum(candidates.values[row], count, total, weights)  # type: ignore[arg-type]
            except (InvalidInput, InconsistentAnswers) as error:
                raise InvalidInput(f"row {row}: {error}", row) from error
        found[row] = known[name]
    return result(found, live)


class _Candidates:
    """The first arguments of most functions: values, and weights where there are any."""

    def __init__(self, values: Any, probabilities: Any = None) -> None:
        self._values = ListColumn(values, "values")
        self._weights = None if probabilities is None else ListColumn(probabilities, "probabilities")
        self.values = self._values.lists
        self.weights = None if self._weights is None else self._weights.lists
        self.live: Flags = self._values.valid
        if self._weights is not None:
            self.live = self.live & self._weights.valid

    def checked(self, also: Flags | None = None) -> Flags:
        """The rows without a NULL argument, none with a NULL inside a list."""
        live = self.live if also is None else self.live & also
        self._values.check(live)
        if self._weights is not None:
            self._weights.check(live)
        return live


class _Domains:
    """The arguments minimum, maximum and step: a domain for each row."""

    def __init__(self, minimum: Any, maximum: Any, step: Any) -> None:
        found = [numbers(each, name) for each, name in zip((minimum, maximum, step), _BOUNDS, strict=True)]
        self._figures = np.column_stack([each for each, _ in found])
        self.live: Flags = found[0][1] & found[1][1] & found[2][1]

    def each(self, live: Flags) -> list[tuple[Domain, Any]]:
        """Every domain that occurs, with the rows that have it."""
        rows = np.flatnonzero(live)
        if not rows.size:
            return []
        figures = self._figures[rows]
        if np.all(figures == figures[0]):
            return [(_domain_of_row(figures[0], rows[0]), rows)]
        # NaN is unequal to itself: as bits, so that it stands for one row and not for none.
        _, first, kind = np.unique(figures.view(np.int64), axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        return [
            (_domain_of_row(figures[first[k]], rows[first[k]]), rows[kind.reshape(-1) == k])
            for k in order.tolist()
        ]


_BOUNDS = ("minimum", "maximum", "step")
LARGEST_DOMAIN = 100_000_000
"""The area of a domain of so many values takes seconds, during which a query cannot be interrupted."""


@lru_cache(maxsize=1024)
def _domain(minimum: float, maximum: float, step: float) -> Domain:
    return Domain(minimum, maximum, step)


def _domain_of_row(figures: Floats, row: Any) -> Domain:
    try:
        domain = _domain(*figures.tolist())
    except InvalidInput as error:
        raise InvalidInput(f"row {row}: {error}", int(row)) from error
    if domain.count > LARGEST_DOMAIN:
        raise InvalidInput(
            f"row {row}: a domain of {domain.count:,} values is too fine; "
            f"take a larger step, for at most {LARGEST_DOMAIN:,}",
            int(row),
        )
    return domain


def _check_inside(values: Lists, rows: Any, domain: Domain) -> None:
    """Refuse values outside of the domain.

    Raises:
        InvalidInput: names the row, the value and the domain.
    """
    low, high = float(domain.minimum), float(domain.maximum)
    suspects = beyond(values.items, values.begin, values.end, fixed(rows), low, high)
    for row in rows[suspects].tolist():  # hardly any; rounding may have put a value just outside
        try:
            check_inside(values[row], domain, "values")
        except InvalidInput as error:
            raise InvalidInput(f"row {row}: {error}", row) from error


def _shape(sizes: Floats, cells: int) -> tuple[int, ...]:
    """How many values each attribute has, if they make so many cells.

    Raises:
        InvalidInput: a size that is no whole number from 1, or another number of cells.
    """
    bad = np.flatnonzero(~((sizes >= 1) & (sizes == np.floor(sizes)) & np.isfinite(sizes)))
    if bad.size:
        raise InvalidInput(f"sizes[{bad[0]}] must be a whole number from 1, not {sizes[bad[0]]:g}")
    shape = tuple(int(size) for size in sizes)
    if math.prod(shape) != cells:
        raise InvalidInput(
            f"sizes make {math.prod(shape):,} combinations, and there are {cells:,} counts; "
            "every combination needs one, 0 where no record has it"
        )
    return shape


def _taken(columns: tuple[Any, ...], most: int, which: str) -> tuple[Any, ...]:
    if len(columns) > most:
        raise InvalidInput(f"takes {which}, not {len(columns)} arguments")
    return columns


def _lists_or_null(column: Any) -> bool:
    return is_list(column) or is_null(column)


def _or(column: Any, name: str, default: float, size: int) -> tuple[Floats, Flags]:
    """An argument that may be left out."""
    if column is None:
        return np.full(size, default), np.ones(size, np.bool_)
    return numbers(column, name)
