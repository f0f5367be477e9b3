"""Anatomy: quasi-identifiers as they are, sensitive values by group, in place of randomised response.

Records are put into groups in which no sensitive value occurs twice, at least l in each, so the most frequent
one makes up 1/l at most (l-diversity). Released are two tables: each record's quasi-identifiers with its
group, and for each group its sensitive values. Who is in a group is public, who has which value is not.

What an intruder believes after such a release is what `generalised` says with `group=`.

Source: X. Xiao and Y. Tao, "Anatomy: Simple and Effective Privacy Preservation", VLDB 2006, Figure 3; a rival
of paper 004.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
import pandas as pd

from cae_sql.errors import InvalidInput
from cae_sql.releases.distortion import Distortion, Floats, Ints, check_one
from cae_sql.releases.drawing import generator
from cae_sql.releases.matching import check_table


def anatomise(frame: pd.DataFrame, sensitive: str, ell: int, seed: int) -> pd.Series:
    """Put records into groups of at least l different sensitive values.

    While l values or more have records left, a group is made of one random record of each of the l values
    that have most. Then each record that is left joins a random group that does not have its value.

    Args:
        frame: The original records.
        sensitive: The column whose values are published by group.
        ell: l, least number of different values in a group, >= 2.
        seed: Of the choices.

    Returns:
        The group of each record, 0 … g − 1, with the frame's index; named "group".

    Raises:
        InvalidInput: an ell that is no whole number from 2, several columns, a bad table, or a value that
            more than 1/l of the records have, in which case no such groups exist; a seed that is no whole
            number >= 0.
    """
    if isinstance(ell, bool) or not isinstance(ell, int | np.integer) or ell < 2:
        raise InvalidInput(f"ell must be a whole number from 2, not {ell!r}")
    check_one(sensitive)
    check_table(frame, [sensitive], "the table")
    code, values = pd.factorize(frame[sensitive])
    counts = np.bincount(code)
    if int(counts.max()) * int(ell) > code.size:
        raise InvalidInput(
            f"{counts.max()} of {code.size} records have {sensitive} = {values[int(counts.argmax())]}, more "
            f"than one in {ell}: no groups of {ell} different values hold them all"
        )
    random = generator(seed)
    shuffled = random.permutation(code.size)
    order = shuffled[np.argsort(code[shuffled], kind="stable")]
    firsts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    taken, left = _groups(counts.tolist(), int(ell))
    group = np.empty(code.size, dtype=np.int64)
    places = np.repeat(firsts, counts)
    # The k-th record of a value, in random order, goes to the k-th group that takes one of that value.
    made = np.argsort(taken.ravel(), kind="stable")
    rank = np.arange(code.size) - places
    grouped = rank < (counts - left)[code[order]]
    group[order[grouped]] = made // ell
    _join(group, order[~grouped], code, taken, random)
    return pd.Series(group, index=frame.index, name="group")


def anatomy_estimate(frame: pd.DataFrame, group: pd.Series, distortion: Distortion) -> Floats:
    """The original contingency table as the two published tables tell it: within a group every record has
    each of its sensitive values alike.

    Args:
        frame: The original records; of the sensitive column only each group's values are used.
        group: As `anatomise` gave.
        distortion: Columns and domains of the table, the sensitive column last; its probabilities do not
            matter.

    Returns:
        Proportions over all domains, of sum 1.

    Raises:
        InvalidInput: as `Distortion.codes`.
    """
    codes = distortion.codes(frame)
    label, groups = pd.factorize(group)
    size = distortion.shape[-1]
    values = np.bincount(label * size + codes[-1], minlength=len(groups) * size).reshape(-1, size)
    places = np.ravel_multi_index(tuple(codes[:-1]), distortion.shape[:-1])
    found: Floats = np.zeros((distortion.cells // size, size))
    np.add.at(found, places, (values / values.sum(axis=1, keepdims=True))[label])
    found /= codes.shape[1]
    return found.reshape(distortion.shape)


def _groups(counts: Sequence[int], ell: int) -> tuple[Ints, Ints]:
    """Which values each group takes one of: (g, l); and how many of each value are left, at most one."""
    left = np.array(counts, dtype=np.int64)
    heap = [(-count, value) for value, count in enumerate(counts) if count]
    heapq.heapify(heap)
    taken: list[int] = []
    while len(heap) >= ell:
        most = [heapq.heappop(heap) for _ in range(ell)]
        for count, value in most:
            taken.append(value)
            if count < -1:
                heapq.heappush(heap, (count + 1, value))
    rows = np.array(taken, dtype=np.int64).reshape(-1, ell)
    return rows, left - np.bincount(rows.ravel(), minlength=left.size)


def _join(group: Ints, records: Ints, code: Ints, taken: Ints, random: np.random.Generator) -> None:
    """Put each record that is left, no two of one value, into a random group that does not have its value."""
    for record in records.tolist():
        free = np.flatnonzero((taken != code[record]).all(axis=1))
        group[record] = random.choice(free)
