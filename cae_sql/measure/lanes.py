"""The measure of many distributions on short lattices at once: side by side, so that the processor's vector
units work on several of them in each step.

A lattice has `cells` equally spaced places, some of probability 0. H under a window of w cells is the least
entropy over partitions into blocks of at most w cells; cells of probability 0 change nothing, since a block
may be stretched over them or cut before them at no cost. All distributions of a group share the windows, so
the dynamic program is the same for all of them, and only the numbers differ.

Of two adjacent blocks one may be taken to be full (w cells): the entropy is concave in the place of the
boundary between them. So a short block follows the start or a full block, and is followed by a full block or
the end. That leaves a sixth of the recurrence's terms at 25 cells.

Nothing here checks its input. The logarithm is that of fdlibm's e_log.c (Sun Microsystems, 1993), right to
4·10⁻¹⁶: calls to the C library's would keep the compiler from using vector units.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from cae_sql.compiled import as_int64, compiled, numba_without_file

_numba = numba_without_file()
intrinsic, types = _numba.extending.intrinsic, _numba.types

Floats = NDArray[np.float64]

LANES = 64
"""At most this many distributions side by side."""
MOST_CELLS = 512
"""Longest lattice that is worth it; the table of block entropies grows with its square. Of 381 cells a row
takes 2.2 ms, and 4.1 by itself; of 1,000 as long."""
_TABLE = 1 << 19
"""Floats in the table of block entropies of all lanes, 4 MB: of long lattices eight lanes beside each other
are worth more than staying in a processor's second-level cache. Of 201 cells a row took 0.5 ms; with 1 MB it
took 1.0 ms."""
SIMD: dict[str, Any] = {"error_model": "numpy", "fastmath": {"nnan", "nsz", "contract"}}
"""Checks for division by zero keep loops from being vectorised, and so does a minimum that minds NaN."""


def _bits_of(_typing: Any, _x: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


def _float_of(_typing: Any, _x: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


bits_of: Any = intrinsic(_bits_of)
float_of: Any = intrinsic(_float_of)

_ROOT = np.int64(0x3FE6A09E667F3BCD)  # the bits of √½: mantissas are taken from [√½, √2)
_SHIFT = np.int64(0x3FF0000000000000) - _ROOT
_MANTISSA = np.int64(0x000FFFFFFFFFFFFF)
_MAGIC = np.int64(0x4330000000000000)  # 2⁵² as bits: a small integer or-ed into it becomes a float
_BIAS = 2.0**52 + 1023.0
_BITS = 1.0 / math.log(2.0)


@compiled(**SIMD)
def f(q: float) -> float:
    """−q log2 q for 0 <= q <= 1 and a rounding more; 0 at 0 and 1."""
    shifted = bits_of(q) + _SHIFT
    exponent = float_of((shifted >> np.int64(52)) | _MAGIC) - _BIAS
    g = float_of((shifted & _MANTISSA) + _ROOT) - 1.0
    s = g / (2.0 + g)
    z = s * s
    t = z * (1.818357216161805012e-01 + z * (1.531383769920937332e-01 + z * 1.479819860511658591e-01))
    t = z * (2.857142874366239149e-01 + z * (2.222219843214978396e-01 + t))
    t = z * (6.666666666666735130e-01 + z * (3.999999999940941908e-01 + t))
    half = 0.5 * g * g
    return -q * float(exponent + (g - (half - s * (half + t))) * _BITS)


@compiled(error_model="numpy", fastmath={"nnan", "nsz", "contract", "reassoc"})
def shannon(p: Floats, first: int, last: int) -> float:
    """Σ f(p_k) over first <= k < last."""
    total = 0.0
    for k in range(first, last):
        total += f(p[k])
    return total


# Offsets are unsigned below: a signed index may be negative, and that check too stops the vectoriser.
@compiled(**SIMD)
def to_entropies(a: Floats, count: int) -> None:
    """f of each of the first items, in place."""
    for k in range(count):
        a[k] = f(a[k])


@compiled(**SIMD)
def _add(a: Floats, i: int, b: Floats, j: int, c: Floats, k: int, lanes: int) -> None:
    for lane in range(lanes):
        a[np.uint64(i + lane)] = b[np.uint64(j + lane)] + c[np.uint64(k + lane)]


@compiled(**SIMD)
def _copy(a: Floats, i: int, b: Floats, j: int, lanes: int) -> None:
    for lane in range(lanes):
        a[np.uint64(i + lane)] = b[np.uint64(j + lane)]


@compiled(**SIMD)
def _lower(a: Floats, i: int, b: Floats, j: int, c: Floats, k: int, lanes: int) -> None:
    for lane in range(lanes):
        a[np.uint64(i + lane)] = min(a[np.uint64(i + lane)], b[np.uint64(j + lane)] + c[np.uint64(k + lane)])


@compiled()
def lanes_for(cells: int) -> int:
    """How many distributions of so many cells to take side by side."""
    return max(8, min(LANES, _TABLE // (cells * (cells + 1) // 2)))


@compiled()
def entropies(p: Floats, cells: int, lanes: int, table: Floats, heights: Floats) -> None:
    """H of each lane under windows of 1 … cells cells.

    Args:
        p: (cells · lanes,) probabilities, those of one cell side by side.
        cells: How many.
        lanes: How many.
        table: Room for cells · (cells + 1) / 2 · lanes floats: what the block of the cells u … v − 1 adds
            stands at (v (v − 1) / 2 + u) · lanes.
        heights: (cells · lanes,) receives H, windows of one cell first.
    """
    for v in range(1, cells + 1):
        row = v * (v - 1) // 2
        _copy(table, (row + v - 1) * lanes, p, (v - 1) * lanes, lanes)
        for u in range(v - 2, -1, -1):  # added up, not subtracted from prefix sums: tiny ones would drown
            _add(table, (row + u) * lanes, table, (row + u + 1) * lanes, p, u * lanes, lanes)
    to_entropies(table, cells * (cells + 1) // 2 * lanes)
    whole = cells * (cells - 1) // 2 * lanes
    for lane in range(lanes):
        table[whole + lane] = 0.0  # certainty, whatever the sum was rounded to
    for k in range(cells * lanes):
        heights[k] = 0.0
    start = as_int64(0)
    for v in range(cells):
        _add(heights, start, heights, start, table, (v * (v + 1) // 2 + v) * lanes, lanes)
    distance = np.zeros((cells + 1) * lanes)
    after_full = np.zeros((cells + 1) * lanes)
    for w in range(2, cells):
        # below w a single block does; what was below w − 1 stands there since the width before
        _copy(distance, (w - 1) * lanes, table, (w - 1) * (w - 2) // 2 * lanes, lanes)
        for v in range(w, cells + 1):
            row = v * (v - 1) // 2
            here = v * lanes
            _add(after_full, here, distance, (v - w) * lanes, table, (row + v - w) * lanes, lanes)
            if v + w > cells and v < cells:
                continue  # no full block fits behind: the one that ends here is full, and the last but one
            _copy(distance, here, after_full, here, lanes)
            for u in range(max(w, v - w + 1), v):
                _lower(distance, here, after_full, u * lanes, table, (row + u) * lanes, lanes)
        _copy(heights, (w - 1) * lanes, distance, cells * lanes, lanes)


@compiled(error_model="numpy")
def areas(rows: Floats, cells: int, out: Floats) -> None:
    """Areas, in bits × cells, of distributions on one lattice.

    A kernel of its own, though `many.areas` has these too: what first decisions wait for compiles in a
    seventh of the time.

    Args:
        rows: (r · cells,) weights, those of one distribution side by side; of each some are positive.
        cells: How many; at most `MOST_CELLS`.
        out: (r,) filled.
    """
    most = min(lanes_for(cells), len(out))
    side, heights = np.empty(cells * most), np.empty(cells * most)
    room = np.empty(cells * (cells + 1) // 2 * most)
    for first in range(0, len(out), most):
        lanes = min(most, len(out) - first)
        for lane in range(lanes):
            start, total = (first + lane) * cells, 0.0
            for k in range(cells):
                total += rows[start + k]
            for k in range(cells):
                side[k * lanes + lane] = rows[start + k] / total
        entropies(side, cells, lanes, room, heights)
        for lane in range(lanes):
            area = 0.0
            for window in range(cells - 1):
                area += max(heights[window * lanes + lane], 0.0)
            out[first + lane] = area
