"""Privacy loss of a released mean, and what all tables with given sums make likely: counting against rivals.

Run as `python -m benchmarks.privacy_loss`. The rivals, in the same process on the same input:

- enumeration: all tables of so many records, those with the released sum kept, as paper 003 defines it; of
  more than eight records it takes for ever, and is timed on few;
- naive convolution: the number of ways to have each sum, record by record, in whole numbers of Python, which
  is exact; of more than 200 records it is timed on 200 and taken to grow with the square of the records;
- the same with NumPy's `convolve` in floats, scaled at every step, of up to 10,000 records.

Times are the processor's, of one thread. What ours comes to is compared with whole numbers, and the
difference printed beside the times.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console

from benchmarks._data import shown
from benchmarks._results import Line, markdown, options, write
from cae_sql.inference.posterior.marginals import marginals
from cae_sql.inference.system import AnsweredSystem
from cae_sql.releases import expected_privacy_loss, privacy_loss

SALARIES = range(10, 251, 10)
"""The 25 values of the paper-like table."""
TIMED_EXACTLY = 200


@dataclass(frozen=True)
class Timed:
    """What something took, and gave."""

    seconds: float
    loss: float


def timed(work: Callable[[], float], times: int = 1) -> Timed:
    best, found = math.inf, 0.0
    for _ in range(times):
        start = time.process_time()
        found = work()
        best = min(best, time.process_time() - start)
    return Timed(best, found)


def entropy(weights: Sequence[float]) -> float:
    total = sum(weights)
    return -sum(w / total * math.log2(w / total) for w in weights if w)


def by_enumeration(values: Sequence[int], size: int, total: int) -> float:
    """All tables."""
    first = Counter(t[0] for t in itertools.product(values, repeat=size) if sum(t) == total)
    return math.log2(len(values)) - entropy(list(first.values()))


def by_whole_numbers(values: Sequence[int], size: int, total: int) -> float:
    """Ways to have each sum, record by record."""
    ways = {0: 1}
    for _ in range(size - 1):
        grown: dict[int, int] = {}
        for s, count in ways.items():
            for value in values:
                grown[s + value] = grown.get(s + value, 0) + count
        ways = grown
    counts = [ways.get(total - value, 0) for value in values]
    whole = sum(counts)
    return math.log2(len(values)) - entropy([count / whole for count in counts])


def by_floats(values: Sequence[int], size: int, total: int) -> float:
    """The same in floats: sums far from the mean vanish."""
    low, step = values[0], math.gcd(*np.diff(values).tolist())
    one = np.zeros((values[-1] - low) // step + 1)
    places = (np.array(values) - low) // step
    one[places] = 1.0
    ways = np.ones(1)
    for _ in range(size - 1):
        ways = np.convolve(ways, one)
        ways /= ways.max()
    wanted = (total - size * low) // step - places
    counts = np.where((wanted >= 0) & (wanted < len(ways)), ways[np.clip(wanted, 0, len(ways) - 1)], 0.0)
    return math.log2(len(values)) - entropy(counts.tolist())


def sums(console: Console, sizes: Sequence[int], convolved: int) -> list[Line]:
    """One sum over more and more records."""
    lines = []
    for size in sizes:
        total = size * 90 // 10 * 10
        ours = timed(lambda n=size, s=total: privacy_loss(SALARIES, n, s), 5)  # type: ignore[misc]
        label = f"{size:,} records, {len(SALARIES)} values"
        told = f"{label}: {ours.loss:.12g} bits in {shown(ours.seconds)}"
        if size <= 5:
            theirs = timed(lambda n=size, s=total: by_enumeration(SALARIES, n, s))  # type: ignore[misc]
            lines.append(_line(label, ours, "enumeration", theirs.seconds))
            told += f"; enumeration {theirs.loss - ours.loss:+.0e}"
        if size > 10_000:
            lines.append(Line("privacy_loss", "uniform", label, ours.seconds))
            console.print(told)
            continue
        few = min(size, TIMED_EXACTLY)
        part = few * 90 // 10 * 10
        exact = timed(lambda n=few, s=part: by_whole_numbers(SALARIES, n, s))  # type: ignore[misc]
        off = abs(exact.loss - privacy_loss(SALARIES, few, part))
        lines.append(
            _line(label, ours, "naive convolution, whole numbers", exact.seconds * (size / few) ** 2)
        )
        told += f"; whole numbers ({few} records) {off:.0e}"
        if size <= convolved:
            theirs = timed(lambda n=size, s=total: by_floats(SALARIES, n, s))  # type: ignore[misc]
            lines.append(_line(label, ours, "naive convolution, NumPy", theirs.seconds))
            told += f"; floats {theirs.loss - ours.loss:+.0e}"
        console.print(told)
    return lines


def _line(size: str, ours: Timed, rival: str, seconds: float, what: str = "privacy_loss") -> Line:
    return Line(what, "uniform", size, ours.seconds, rival, seconds)


def others(console: Console, size: int, counted: int) -> list[Line]:
    """Values on no coarse step, expected losses, and an answered system."""
    chance = np.random.default_rng(0)
    irregular = [0.0, 31_415_926.0, 27_182_818.28]
    total = round(float(chance.choice(irregular, size).sum()), 2)
    few = timed(lambda: privacy_loss(irregular, size, total), 3)
    wages = np.sort(chance.choice(10**7, 50, replace=False)) / 100
    paid = round(float(chance.choice(wages, 8).sum()), 2)
    cents = timed(lambda: privacy_loss(wages, 8, paid), 3)
    expected = timed(lambda: expected_privacy_loss(SALARIES, size), 3)
    lines = [
        Line("privacy_loss", "irregular", f"{size:,} records, 3 values", few.seconds),
        Line("privacy_loss", "irregular", "8 records, 50 values in cents", cents.seconds),
        Line("expected_privacy_loss", "uniform", f"{size:,} records, 25 values", expected.seconds),
    ]
    system = AnsweredSystem(counted, 10, 250, 10)
    salaries = chance.integers(1, 26, counted) * 10
    for low, high in ((0, counted), (0, counted // 3), (counted // 3, counted // 2)):
        system.add_sum(np.arange(low, high), int(salaries[low:high].sum()))
    marginals(system)
    found = timed(lambda: float(marginals(system).probabilities.sum()), 3)
    lines.append(Line("marginals, exact", "uniform", f"{counted:,} records, 3 sums", found.seconds))
    for line in lines:
        console.print(f"{line.what}, {line.size}: {shown(line.ours or 0)}")
    return lines


def main(arguments: list[str] | None = None) -> None:
    given = options("privacy_loss", __doc__).parse_args(arguments)
    console = Console(width=150)
    privacy_loss(SALARIES, 100, 9_000)
    sizes, convolved = ((3, 50), 50) if given.quick else ((3, 5, 50, 200, 1_000, 10_000, 1_000_000), 10_000)
    lines = sums(console, sizes, convolved)
    lines += others(console, 300 if given.quick else 10_000, 300 if given.quick else 2_400)
    console.print(markdown(lines))
    write(given.json, lines)


if __name__ == "__main__":
    main()
