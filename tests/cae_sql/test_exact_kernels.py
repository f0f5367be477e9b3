"""Kernels that are said to be exact come to the same bits where Python runs them: of random calls."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

import cae_sql.compiled as compiled_module
import cae_sql.inference
from cae_sql.compiled import Compiled
from cae_sql.inference.facts import basis, rank
from cae_sql.inference.intervals import interior, presolve
from cae_sql.inference.search import unimodular
from cae_sql.inference.tables import columns, kernel_moves, short_moves
from cae_sql.inference.tables.margins import Toll
from tests.quick import rounds

Call = tuple[Any, ...]


def counts(draw: Generator, most: int, *shape: int) -> NDArray[np.int64]:
    return draw.integers(0, most + 1, shape)


def signs(draw: Generator, most: int, *shape: int, there: float = 0.6) -> NDArray[np.int64]:
    return draw.integers(-most, most + 1, shape) * (draw.random(shape) < there)


def sparse(draw: Generator, lines: int, length: int, kind: Any) -> tuple[Any, Any, Any]:
    """Where each of some sparse lines begins, its places and its entries, some of them fractions."""
    lengths = draw.integers(0, length + 1, lines)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(kind)
    places = [np.sort(draw.choice(length, size, replace=False)) for size in lengths]
    rows = np.concatenate([np.zeros(0), *places]).astype(kind)
    return starts, rows, np.where(draw.random(len(rows)) < 0.7, 1.0, draw.normal(size=len(rows)))


def pivoted(draw: Generator) -> columns.Pivoted:
    """Columns of 11 parts of 6 atoms, after pending pivots."""
    atoms, parts, width, count = 6, 11, int(draw.integers(0, 5)), int(draw.integers(0, 3))
    whole = np.zeros((atoms, width + count), np.int8)
    whole[:, :width] = signs(draw, 3, atoms, width)
    ys = signs(draw, 2, count, parts).astype(np.int32)
    pivots = signs(draw, 2, count, width + count).astype(np.int32)
    return columns.Pivoted(whole, counts(draw, atoms - 1, parts), ys, pivots)


def helped(draw: Generator) -> tuple[int, int, NDArray[np.int8], NDArray[np.int64]]:
    """Basic parts, helpers, the helpers' columns and what all may lose and gain."""
    size, many = int(draw.integers(1, 7)), int(draw.integers(1, 40))
    most = int(draw.choice([1, 4, 60]))
    return (
        size,
        many,
        signs(draw, int(draw.choice([1, 3])), size, many).astype(np.int8),
        counts(draw, most, 2, size + many),
    )


def kept(draw: Generator, atoms: int) -> kernel_moves.Moves:
    """Moves of records of some atoms."""
    made, (starts, parts, _) = 5, sparse(draw, 5, atoms, np.int32)
    whom = np.sort(draw.integers(0, atoms, made)).astype(np.int32)
    by = np.where(draw.random(len(parts)) < 0.5, 1, -1) * draw.integers(1, 3, len(parts))
    return kernel_moves.Moves(whom, starts.astype(np.int64), parts, by.astype(np.int32))


def collected(draw: Generator) -> Call:
    size, _, theirs, free = helped(draw)
    looked, load = np.zeros(1, np.int64), np.zeros_like(free)
    return signs(draw, 3, size), theirs, free, int(draw.integers(1, 30)), 40, load, looked


def paid(draw: Generator) -> Call:
    size, many, theirs, _ = helped(draw)
    whom, ranges = 4, int(draw.integers(0, 3))
    parts = size + many + whom
    room = counts(draw, int(draw.choice([3, 40])), 2, parts)
    moves, these = kept(draw, parts), np.sort(draw.choice(parts, whom, replace=False))
    records = kernel_moves.Records(
        these, signs(draw, 2, whom, size).astype(np.int8), counts(draw, 5, whom), counts(draw, 2, whom),
        counts(draw, 12, whom), *moves.of(these), np.zeros(whom, np.int64), np.zeros(whom, np.int64),
    )  # fmt: skip
    toll = Toll(draw.normal(size=(ranges, parts)), draw.random((ranges, parts)), 9 * draw.random(ranges))
    payers = draw.permutation(parts)[: size + many]
    alone = int(draw.integers(1, 7))
    return (
        records, theirs, payers, room, np.maximum(room - 2, 0), moves, toll, alone,
        units_in(draw, parts), 0, whom
    )  # fmt: skip


def units_in(draw: Generator, parts: int) -> kernel_moves.UnitsByPart:
    """Some units in random parts; or every record a unit, in half of all."""
    none, insiders = np.zeros(0, np.int64), int(draw.integers(0, 2))
    if draw.random() < 0.5:
        return kernel_moves.UnitsByPart(none, none, none, none, insiders, counts(draw, 1, parts))
    there = draw.random((parts, 6)) < 0.4
    part, unit = np.nonzero(there)
    by_unit, of_unit = np.nonzero(there.T)
    return kernel_moves.UnitsByPart(
        np.searchsorted(part, np.arange(parts + 1)), unit, np.searchsorted(by_unit, np.arange(7)), of_unit,
        insiders, counts(draw, 3, parts),
    )  # fmt: skip


def loads(draw: Generator) -> Call:
    form = pivoted(draw)
    (parts, rank), m = (form.ys.shape[1], form.pivots.shape[1]), int(draw.integers(0, 3))
    these = np.sort(draw.choice(parts, 7, replace=False))
    toll = Toll(draw.normal(size=(m, parts)), draw.random((m, parts)), 1 + draw.random(m))
    return (
        form, 1 / draw.integers(1, 50, (4, rank)), these, draw.permutation(parts)[:rank], toll,
        float(draw.choice([1.0, 1 - 1e-5])), 0, 7, np.zeros((4, 7)),
    )  # fmt: skip


def columns_of(draw: Generator) -> Call:
    return pivoted(draw), np.sort(draw.choice(11, 6, replace=False))


def eliminated(draw: Generator) -> Call:
    k, p = int(draw.integers(1, 7)), int(draw.integers(2, 30))
    entries = signs(draw, 1, k, p + 1, there=0.5)
    room = draw.integers(0, 9, p) / 3.0
    return entries, np.ones(k, np.bool_), room, np.full(k, -1)


def narrowed(draw: Generator) -> Call:
    starts, places, _ = sparse(draw, 4, 9, np.int64)
    entries = draw.choice([-2, -1, 1, 3], len(places))
    low, high, table = np.zeros(9, np.int64), np.full(9, 20), counts(draw, 20, 9)
    values = [int(entries[a:b] @ table[places[a:b]]) for a, b in pairwise(starts)]
    return starts, places, entries, np.array(values), low, high, float(2**52)


def factored(draw: Generator) -> Call:
    k = int(draw.integers(1, 9))
    whole = draw.normal(size=(k, k + int(draw.integers(-2, 3)) if k > 2 else k))
    return whole @ whole.T, np.zeros((k, k))


def outer(draw: Generator) -> Call:
    kind = draw.choice([np.int32, np.int64])
    starts, rows, entries = sparse(draw, 8, 5, kind)
    return starts, rows, entries, draw.random(8), 0, 8, np.zeros((5, 5))


def squared(draw: Generator) -> Call:
    kind = draw.choice([np.int32, np.int64])
    starts, rows, entries = sparse(draw, 8, 5, kind)
    return starts, rows, entries, draw.normal(size=(5, 5)), draw.permutation(8)[:6], np.zeros(6)


def settled(draw: Generator) -> Call:
    rows, atoms = int(draw.integers(1, 4)), int(draw.integers(2, 7))
    ends = np.sort(draw.integers(0, atoms + 1, (rows, 2, 1)), axis=1)  # sums over ranges are unimodular
    matrix = ((np.arange(atoms) >= ends[:, 0]) & (np.arange(atoms) < ends[:, 1])).astype(np.int64)
    low, sizes = counts(draw, 2, atoms), 1 + counts(draw, 3, atoms)
    high = low + 1 + counts(draw, 5, atoms)
    rest = matrix @ draw.integers(sizes * low, sizes * high + 1)
    table = draw.integers(sizes * low, sizes * high + 1)
    return (
        matrix, rest, low, high, sizes, draw.random(atoms) < 0.8, table, int(draw.integers(1, 4)),
        int(draw.integers(0, 2)), np.full(1, 20_000),
    )  # fmt: skip


def found(draw: Generator) -> Call:
    k, atoms, prime = int(draw.integers(1, 6)), 9, int(draw.choice([2, 3, 65_537]))
    starts, rows, _ = sparse(draw, atoms, k, np.int32)
    entries = draw.choice([-1, 1, 2], len(rows))
    return starts, rows, entries, draw.permutation(atoms), prime, np.eye(k, dtype=np.int64), np.full(k, atoms)


CASES: dict[Any, Callable[[Generator], Call]] = {
    basis.eliminate: eliminated,
    columns.columns_of: columns_of,
    columns.loads: loads,
    interior.add_outer: outer,
    interior.add_squares: squared,
    interior.invert_factor: factored,
    presolve.narrow: narrowed,
    rank._eliminate: found,
    kernel_moves.collected: collected,
    kernel_moves.pay: paid,
    short_moves.reduce_lattice: lambda draw: (signs(draw, 4, 5, 8), 0.99),
    unimodular._settle: settled,
}


def test_every_exact_kernel_is_compared() -> None:
    exact = set()
    for module in pkgutil.walk_packages(cae_sql.inference.__path__, "cae_sql.inference."):
        for each in vars(import_module(module.name)).values():
            exact |= {each} if isinstance(each, Compiled) and each.exact else set()
    assert exact == set(CASES)


def bits(found: Any) -> Any:
    """What is the same exactly where all bits are."""
    if isinstance(found, tuple):
        return tuple(bits(each) for each in found)
    if isinstance(found, np.ndarray):
        return found.dtype, found.shape, found.tobytes()
    return type(found), np.asarray(found).tobytes() if found is not None else None


def copied_call(call: Any) -> Any:
    """The same, with arrays of its own."""
    if isinstance(call, tuple):
        each = map(copied_call, call)
        return type(call)(*each) if hasattr(call, "_fields") else tuple(each)
    return call.copy() if isinstance(call, np.ndarray) else call


@pytest.mark.parametrize("kernel", CASES, ids=lambda kernel: kernel.py_func.__name__)
def test_python_comes_to_the_same_bits(kernel: Any) -> None:
    draw, compared = np.random.default_rng(43), 0
    for _ in range(rounds(200)):
        call = CASES[kernel](draw)
        copies = copied_call(call)
        compared += python(kernel, call) == bits((kernel.dispatcher(*copies), copies))
    assert compared == rounds(200)


def python(kernel: Compiled, call: Call) -> Any:
    """What Python comes to, of what is returned and of what is changed."""
    compiled_module._here.python = True
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            return bits((compiled_module._plain(kernel(*call)), call))
    finally:
        compiled_module._here.python = False
