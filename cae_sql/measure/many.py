"""Compiled kernels over many checked distributions (`rows.py`): H(ε), area and curve of each.

Each takes the quickest exact way that a distribution's shape allows:

- equally likely neighbours on a grid: closed forms;
- short lattices: side by side (`lanes.py`);
- a few values at irregular distances: all widths side by side (`widths.py`), or, of some more, edges let in
  one by one (`kernels.growing_entropies`).

What is left is marked, for Python to send it elsewhere. Nothing here checks its input.
"""

from __future__ import annotations

import math

import numpy as np

from cae_sql.compiled import compiled
from cae_sql.measure import lanes, long
from cae_sql.measure import widths as side_by_side
from cae_sql.measure.kernels import growing_entropies, least_entropy, weight_table
from cae_sql.measure.rows import Flags, Floats, Ints, sort

MOST_IRREGULAR = 128
"""Longer rows off a short lattice are left to Python, whose share of their time is small. At most 256: a pair
is kept as one number."""
_SHORT = 48
"""Up to this many values the plain recurrence beats the one in O(n log n)."""
_CLOSE = 2.0**-46
_SAME = 16 * 2.0**-52
"""Relative difference below which two entropies are one, summed in another order."""


@compiled(error_model="numpy")
def _steps(epsilon: float, top: float, bottom: float) -> float:
    """⌊ε⌋ in grid units of top / bottom, ε taken as the decimal that it prints as.

    Decimals are in the order of the floats nearest to them, and a quotient of whole numbers is the nearest.
    """
    steps = float(np.floor(epsilon * bottom / top))
    if (steps + 1.0) * top / bottom <= epsilon:
        steps += 1.0
    elif steps * top / bottom > epsilon:
        steps -= 1.0
    return steps


@compiled(error_model="numpy")
def _near(x: Floats, first: int, last: int, width: float, slack: float) -> bool:
    """Whether some difference is so close to the width that rounding may decide."""
    v = first
    for u in range(first, last):
        while v < last and x[v] - x[u] < width - slack:
            v += 1
        if v < last and x[v] - x[u] <= width + slack:
            return True
    return False


@compiled(error_model="numpy")
def _uniform(count: int, window: int) -> float:
    """H of equally likely neighbours under windows of so many values (`uniform.py`)."""
    full, rest = divmod(count, window)
    return full * lanes.f(window / count) + lanes.f(rest / count)


@compiled(error_model="numpy")
def _windowed(x: Floats, p: Floats, first: int, size: int, width: float) -> float:
    """H of one distribution for one width."""
    total = np.zeros(size + 1)
    for k in range(size):
        total[k + 1] = total[k] + p[first + k]
    part, q = x[first : first + size], p[first : first + size]
    if size > _SHORT:
        return long.least_entropy(part, q, total, width)
    reach = np.empty(size + 2, np.int64)
    v = 0
    for u in range(size):
        while v < size and part[v] - part[u] <= width:
            v += 1
        reach[u] = v
    reach[size] = reach[size + 1] = size + 1
    return max(least_entropy(reach, q, total, np.empty((0, 0))), 0.0)


@compiled(error_model="numpy")
def entropies(
    x: Floats, p: Floats, at: Ints, size: Ints, top: Floats, bottom: Floats, even: Flags, odd: Flags,
    epsilon: Floats, out: Floats, left: Flags,
) -> None:  # fmt: skip
    """H(ε) of each row in `out`; `left` marks rows that need exact arithmetic."""
    for r in range(size.size):
        n, first, width = size[r], at[r], epsilon[r]
        if n == 0:
            continue
        if odd[r]:
            left[r] = True
            continue
        grid = top[r] > 0.0
        if grid:
            width = _steps(width, top[r], bottom[r])
        last = first + n - 1
        if n == 1 or width >= x[last] - x[first]:
            slack = 0.0 if grid else _CLOSE * (abs(x[first]) + abs(x[last]))
            out[r] = 0.0
            left[r] = n > 1 and width - (x[last] - x[first]) <= slack and not grid
        elif width == 0.0:
            out[r] = math.log2(n) if even[r] else lanes.shannon(p, first, first + n)
        elif grid and even[r] and x[last] == n - 1:
            out[r] = _uniform(n, int(width) + 1)
        elif not grid and _near(x, first, first + n, width, _CLOSE * (abs(x[first]) + abs(x[last]))):
            left[r] = True
        else:
            out[r] = _windowed(x, p, first, n, width)


@compiled()
def _short_lattice(cells: float, n: int) -> bool:
    """Whether a row is cheaper as a lattice of so many cells than by its pairs (fitted to measured times)."""
    return cells <= lanes.MOST_CELLS and (
        cells <= 32 or cells * cells * (0.3 + 0.03 * cells) <= 40.0 * n * (n - 1)
    )


@compiled(error_model="numpy")
def _pairs(x: Floats, p: Floats, first: int, n: int) -> tuple[Floats, Floats]:
    """Every width where H of n irregular values can change, 0 first, and H from there on."""
    count = n * (n - 1) // 2
    spread, pair = np.empty(count), np.empty(count)
    k = 0
    for gap in range(1, n):  # so that they are nearly sorted
        for u in range(n - gap):
            spread[k] = x[first + u + gap] - x[first + u]
            pair[k] = u * 256 + u + gap
            k += 1
    sort(spread, pair, 0, count)
    table = weight_table(p[first : first + n].copy())
    if n <= side_by_side.MOST_VALUES:
        return _few_irregular(spread, pair, table)
    return _more_irregular(spread, pair, p[first : first + n].copy(), table)


@compiled(error_model="numpy")
def _few_irregular(spread: Floats, pair: Floats, table: Floats) -> tuple[Floats, Floats]:
    """Widths and H, of pairs of values by their spread."""
    rank = np.zeros(table.shape, np.int32)
    widths = np.zeros(spread.size + 1)
    last = 0
    for k in range(spread.size):
        if spread[k] != widths[last]:
            last += 1
            widths[last] = spread[k]
        rank[int(pair[k]) >> 8, (int(pair[k]) & 255) + 1] = last
    heights = side_by_side.entropies(rank, table, last + 1)
    return widths[: last + 1], heights


@compiled(error_model="numpy")
def _more_irregular(spread: Floats, pair: Floats, p: Floats, table: Floats) -> tuple[Floats, Floats]:
    """As `_few_irregular`, of more than a few values."""
    count = spread.size
    start, end = np.empty(count, np.int32), np.empty(count, np.int32)
    widths = np.zeros(count + 1)
    bounds = np.zeros(count + 1, np.int64)
    groups = 0
    for k in range(count):
        start[k], end[k] = int(pair[k]) >> 8, (int(pair[k]) & 255) + 1
        if groups == 0 or spread[k] != widths[groups]:
            bounds[groups] = k
            groups += 1
            widths[groups] = spread[k]
    bounds[groups] = count
    total = np.zeros(table.shape[0])
    heights = growing_entropies(start, end, bounds[: groups + 1], p, total, table)
    heights[groups] = 0.0
    return widths[: groups + 1], heights


@compiled(error_model="numpy")
def _irregular_area(x: Floats, p: Floats, first: int, n: int) -> float:
    widths, heights = _pairs(x, p, first, n)
    area = 0.0
    for k in range(widths.size - 1):
        area += max(heights[k], 0.0) * (widths[k + 1] - widths[k])
    return area


@compiled(error_model="numpy")
def _uniform_area(n: int, known: Floats) -> float:
    """Area of n equally likely neighbours one apart; remembered, since rows tend to be alike."""
    if n < known.size and known[n] > 0.0:
        return float(known[n])
    area = 0.0
    for window in range(1, n):
        area += max(_uniform(n, window), 0.0)
    if n < known.size:
        known[n] = area
    return area


@compiled(error_model="numpy")
def areas(
    x: Floats, p: Floats, at: Ints, size: Ints, top: Floats, bottom: Floats, even: Flags, odd: Flags,
    known: Floats, out: Floats, left: Flags,
) -> None:  # fmt: skip
    """The area of each row in `out`; `left` marks those that are odd, or long and irregular.

    `known` remembers areas of equally likely neighbours, 0 where there is none yet.
    """
    cells = np.zeros(size.size, np.int64)
    for r in range(size.size):
        n, first = size[r], at[r]
        if n == 0:
            continue
        grid = top[r] > 0.0
        scale = top[r] / bottom[r] if grid else 1.0
        spread = x[first + n - 1] if grid else math.inf
        if odd[r]:
            left[r] = True
        elif n == 1:
            out[r] = 0.0
        elif grid and even[r] and spread == n - 1:
            out[r] = _uniform_area(n, known) * scale
        elif n == 2:
            apart = x[first + 1] - x[first]
            out[r] = apart * top[r] / bottom[r] if grid else apart
            if not even[r]:
                out[r] *= lanes.shannon(p, first, first + 2)
        elif _short_lattice(spread + 1.0, n):
            cells[r] = int(spread) + 1
        elif n <= MOST_IRREGULAR:
            out[r] = _irregular_area(x, p, first, n) * scale
        else:
            left[r] = True
    _lattices(x, p, at, size, top, bottom, cells, out)


@compiled(error_model="numpy")
def _lattices(
    x: Floats, p: Floats, at: Ints, size: Ints, top: Floats, bottom: Floats, cells: Ints, out: Floats
) -> None:
    """Areas of the rows with cells, rows of about the same length side by side."""
    begin = np.zeros(lanes.MOST_CELLS + 2, np.int64)  # counted, and then put in their places
    for r in range(cells.size):
        begin[cells[r] + 1] += 1
    for length in range(1, begin.size):
        begin[length] += begin[length - 1]
    first_lattice = begin[1]
    order = np.empty(cells.size, np.int64)
    for r in range(cells.size):
        order[begin[cells[r]]] = r
        begin[cells[r]] += 1
    end = cells.size
    room = np.empty(0)
    # from the longest down, whose room is room for the others
    while end > first_lattice:
        longest = cells[order[end - 1]]
        count = min(lanes.lanes_for(longest), end - first_lattice)
        if room.size < longest * (longest + 1) // 2 * count:
            room = np.empty(longest * (longest + 1) // 2 * count)
        _lattice_areas(x, p, at, size, top, bottom, cells, order[end - count : end], longest, room, out)
        end -= count


@compiled(error_model="numpy")
def _lattice_areas(
    x: Floats, p: Floats, at: Ints, size: Ints, top: Floats, bottom: Floats, cells: Ints, rows: Ints,
    longest: int, room: Floats, out: Floats,
) -> None:  # fmt: skip
    """Areas of rows side by side, each on the lattice of the longest of them."""
    count = rows.size
    side = np.zeros(longest * count)
    for lane in range(count):
        first = at[rows[lane]]
        for k in range(first, first + size[rows[lane]]):
            side[int(x[k]) * count + lane] = p[k]
    heights = np.empty(longest * count)
    lanes.entropies(side, longest, count, room, heights)
    for lane in range(count):
        r = rows[lane]
        area = 0.0
        for window in range(cells[r] - 1):
            area += max(heights[window * count + lane], 0.0)
        out[r] = area * top[r] / bottom[r]


@compiled(error_model="numpy")
def _curve_of(x: Floats, p: Floats, first: int, n: int, grid: bool) -> tuple[Floats, Floats]:
    """Widths and H of one row, every width where H can change."""
    cells = int(x[first + n - 1]) + 1 if grid and x[first + n - 1] < lanes.MOST_CELLS else 0
    if cells == 0 or not _short_lattice(float(cells), n):
        return _pairs(x, p, first, n)
    side = np.zeros(cells)
    for k in range(first, first + n):
        side[int(x[k])] = p[k]
    heights = np.empty(cells)
    lanes.entropies(side, cells, 1, np.empty(cells * (cells + 1) // 2), heights)
    heights[cells - 1] = 0.0
    return np.arange(cells).astype(np.float64), heights


@compiled(error_model="numpy")
def curve(
    x: Floats, p: Floats, first: int, n: int, top: float, bottom: float, epsilon: Floats, entropy: Floats
) -> int:
    """Write the steps of one row's curve, as far as there is room; returns how many there are."""
    epsilon[0] = entropy[0] = 0.0
    if n == 1:
        return 1
    widths, heights = _curve_of(x, p, first, n, top > 0.0)
    count = 0
    least = math.inf
    for k in range(widths.size):
        height = min(heights[k], least) if k else heights[0]
        if k == 0 or height < least * (1.0 - _SAME):
            if count < epsilon.size:
                epsilon[count] = widths[k] * top / bottom if top > 0.0 else widths[k]
                entropy[count] = max(height, 0.0)
            count += 1
        least = min(least, height)
    return count


@compiled()
def _grown(a: Floats, used: int, more: int) -> Floats:
    """A copy of the used part, with room for as much again and more."""
    larger = np.empty(2 * a.size + more)
    for k in range(used):
        larger[k] = a[k]
    return larger


@compiled(error_model="numpy")
def curves(
    x: Floats, p: Floats, at: Ints, size: Ints, top: Floats, bottom: Floats, left: Flags, counts: Ints,
) -> tuple[Floats, Floats]:  # fmt: skip
    """The steps of all rows that are not `left`, one row's after the other's; `counts` receives how many."""
    epsilon, entropy = np.empty(1024), np.empty(1024)
    used = 0
    for r in range(size.size):
        counts[r] = 0
        if size[r] == 0 or left[r]:
            continue
        most = size[r] * (size[r] - 1) // 2 + 1
        if used + most > epsilon.size:
            epsilon = _grown(epsilon, used, most)
            entropy = _grown(entropy, used, most)
        counts[r] = curve(
            x, p, at[r], size[r], top[r], bottom[r], epsilon[used : used + most], entropy[used : used + most]
        )
        used += counts[r]
    return epsilon[:used], entropy[:used]
