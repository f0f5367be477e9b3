"""Equivalence classes: what somebody believes who has a table whose quasi-identifiers were made coarser.

The intruder knows the public attributes of everybody in the table, as a register of voters lists them, but
of the target only the `known` ones. Each record i of the original is one of the released records that cover
all of its quasi-identifiers, each equally likely: p_i,d is the share of those with the value d. The matching
records are averaged, p_d = (1/|M_o|) Σ_{i∈M_o} p_i,d, as Algorithm 2 averages them under query restriction.
With all quasi-identifiers known this is the usual reading of k-anonymity and l-diversity: the distribution
of confidential values within the target's class.

Where groups are published instead (anatomy, permutation), both tables have a column that says which group a
record is in, and the confidential values are known by group.

Source: paper 000, Section 2 (equivalence classes) and Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from cae_sql.compiled import compiled
from cae_sql.domain import Domain
from cae_sql.errors import InvalidInput
from cae_sql.releases.beliefs import Beliefs, Floats, Ints, check_room
from cae_sql.releases.covering import Flags, covered
from cae_sql.releases.groups import of_groups
from cae_sql.releases.matching import (
    Classes,
    check_known,
    check_release,
    check_table,
    classes_of,
    codes_of,
    positions,
)

if TYPE_CHECKING:
    import pandas as pd

Covers = Mapping[str, Mapping[Any, Sequence[Any]]]


def generalised(
    original: pd.DataFrame,
    released: pd.DataFrame,
    column: str,
    known: Sequence[str],
    domain: Domain,
    *,
    group: str | None = None,
    covers: Covers | None = None,
    epsilon: float | Fraction | None = None,
) -> pd.DataFrame:
    """The risk of a table of equivalence classes, for each combination of values of the known columns.

    Args:
        original: All records.
        released: As many, confidential values as they are; the other columns are quasi-identifiers, made
            coarser (`covering.py`). With `group`, only that column and the confidential one.
        column: The confidential column; its values lie in the domain.
        known: What the intruder knows of the target; of the quasi-identifiers, unless there is a `group`.
        domain: Which values are possible.
        group: The column of both tables that says in which group a record is.
        covers: For a column and a released value, which values of the original it stands for; not of groups.
        epsilon: Approximate compromise range at which H is wanted too.

    Returns:
        The known columns, matches, initial_entropy, area and risk; see `Beliefs.frame`.

    Raises:
        InvalidInput: tables that cannot be used, a coarse value that is not understood, or a record of the
            original that is in no class.
    """
    found = generalised_beliefs(original, released, column, known, domain, group=group, covers=covers)
    return found.frame(epsilon)


def generalised_beliefs(
    original: pd.DataFrame,
    released: pd.DataFrame,
    column: str,
    known: Sequence[str],
    domain: Domain,
    *,
    group: str | None = None,
    covers: Covers | None = None,
) -> Beliefs:
    """The candidate distributions behind `generalised`; arguments and errors as there."""
    names = check_known(original, column, known)
    if group is not None:
        if group == column:
            raise InvalidInput(f"group names the confidential column {column!r}")
        check_table(original, [group], "the original")
        released = released[[each for each in released.columns if each in (group, column)]]
    check_release(original, released, [column, *(names if group is None else [group])], "the release")
    quasi = [each for each in released.columns if each != column]
    check_table(original, quasi, "the original")
    check_table(released, quasi, "the release")
    places = positions(released, column, domain, "the release")
    _check_same(positions(original, column, domain, "the original"), places, column, domain)
    if group is not None:
        return _grouped(original, released, group, places, names, domain, covers)
    kinds, released_kinds = classes_of(original, quasi), _kinds(released, quasi)
    check_room(kinds.count + released_kinds.count, domain)
    values = np.bincount(
        released_kinds.labels * domain.count + places, minlength=released_kinds.count * domain.count
    ).reshape(released_kinds.count, domain.count)
    tables = [
        _stands_for(kinds.values[name], released_kinds.values[name], (covers or {}).get(name))
        for name in quasi
    ]
    believed = _compatible(kinds, tables, values)
    classes = classes_of(original, names)
    return Beliefs(classes.values, classes.members, _averaged(believed, kinds, classes), domain)


def _grouped(
    original: pd.DataFrame,
    released: pd.DataFrame,
    group: str,
    places: Ints,
    names: Sequence[str],
    domain: Domain,
    covers: Covers | None,
) -> Beliefs:
    """What is believed where each record has the values of its group: in linear time."""
    if group in (covers or {}):
        raise InvalidInput(f"covers names the groups {group!r}; they are compared as they are")
    codes_of(released[group])  # refuses what cannot be compared
    kinds = classes_of(original, [group])
    labels = kinds.of(released, "the release")
    _check_sizes(kinds, np.bincount(labels, minlength=kinds.count), group)
    classes = classes_of(original, names)
    check_room(classes.count, domain)
    believed = of_groups(classes, kinds.labels, labels, places, domain)
    return Beliefs(classes.values, classes.members, believed, domain)


def _kinds(released: pd.DataFrame, quasi: Sequence[str]) -> Classes:
    """Released records that are alike; sets and lists are told apart by how they are written."""
    plain = released[list(quasi)].reset_index(drop=True)
    written = plain.map(lambda value: value if np.isscalar(value) else repr(value))
    found = classes_of(written, quasi)
    _, first = np.unique(found.labels, return_index=True)
    return Classes(found.known, found.labels, found.members, plain.iloc[first].reset_index(drop=True))


def _stands_for(
    original: pd.Series, released: pd.Series, covers: Mapping[Any, Sequence[Any]] | None
) -> tuple[Ints, Flags, Ints]:
    """Which distinct value of the original each kind has, which of them each distinct released one covers
    (values, labels), and which of those each released kind has."""
    import pandas as pd

    codes, values = pd.factorize(original)
    distinct = list(values)
    labels: dict[str, int] = {}
    columns: list[Flags] = []
    released_codes = np.empty(len(released), dtype=np.int64)
    for row, label in enumerate(released.tolist()):
        key = repr(label)
        if key not in labels:
            labels[key] = len(columns)
            columns.append(_flags(label, distinct, covers, str(original.name)))
        released_codes[row] = labels[key]
    return codes.astype(np.int64), np.stack(columns, axis=1), released_codes


def _flags(label: Any, distinct: list[Any], covers: Mapping[Any, Sequence[Any]] | None, name: str) -> Flags:
    if covers is None or label not in covers:
        return covered(label, distinct, name)
    meant = set(covers[label])
    found = np.array([value in meant for value in distinct], dtype=np.bool_)
    if not found.any():
        raise InvalidInput(f"{name} = {label!r} of the release stands for no value of the original")
    return found


def _compatible(kinds: Classes, tables: Sequence[tuple[Ints, Flags, Ints]], values: Ints) -> Floats:
    """(kinds, |D|) what is believed of records whose quasi-identifiers are all known."""
    out = np.zeros((kinds.count, values.shape[1]))
    if not tables:
        out[:] = values.sum(axis=0) / values.sum()
        return out
    # The column whose released values cover least comes first, as lists of the kinds that may be meant.
    order = sorted(range(len(tables)), key=lambda each: float(tables[each][1].mean()))
    codes, flags, labels = tables[order[0]]
    by_label = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels, minlength=flags.shape[1])
    rest = [tables[each] for each in order[1:]]
    starts = np.cumsum([0, *(each[1].size for each in rest)])[:-1].astype(np.int64)
    _add_covering(
        codes, flags, np.cumsum(sizes) - sizes, sizes, by_label,
        _stacked([each[0] for each in rest], kinds.count), _stacked([each[2] for each in rest], len(values)),
        np.concatenate([each[1].ravel() for each in rest] or [np.zeros(0, dtype=np.bool_)]), starts,
        np.array([each[1].shape[1] for each in rest], dtype=np.int64), values, out,
    )  # fmt: skip
    total = out.sum(axis=1)
    lost = np.flatnonzero(total == 0.0)
    if lost.size:
        row = int(lost[0])
        told = kinds.told(kinds.values.iloc[row])
        raise InvalidInput(f"the records with {told} are in no class of the release", row)
    out /= total[:, None]
    return out


def _stacked(columns: Sequence[Ints], rows: int) -> Ints:
    return np.stack(columns) if columns else np.zeros((0, rows), dtype=np.int64)


@compiled(error_model="numpy")
def _add_covering(
    codes: Ints, flags: Flags, begin: Ints, sizes: Ints, listed: Ints,
    others: Ints, labels: Ints, covers: Flags, starts: Ints, widths: Ints, values: Ints, out: Floats,
) -> None:  # fmt: skip
    """Add up, for each kind of record, the values of the released kinds that cover it in every column.

    Args:
        codes: (k,) value of each kind in the first column; `flags` (values, labels): which it is covered by.
        begin: (labels,) where in `listed` the released kinds with each label of it begin; `sizes` how many.
        others: (a, k) values in the other columns, `labels` (a, r) what the released kinds have there, and
            `covers` from `starts` on, `widths` to a value: whether a label covers it.
        values: (r, |D|) how many records of each released kind have each confidential value.
    """
    for kind in range(codes.size):
        for label in range(flags.shape[1]):
            if not flags[codes[kind], label]:
                continue
            for place in range(begin[label], begin[label] + sizes[label]):
                released = listed[place]
                inside = True
                for a in range(others.shape[0]):
                    if not covers[starts[a] + others[a, kind] * widths[a] + labels[a, released]]:
                        inside = False
                        break
                if inside:
                    for value in range(values.shape[1]):
                        out[kind, value] += values[released, value]


def _averaged(believed: Floats, kinds: Classes, classes: Classes) -> Floats:
    """(classes, |D|) the average over the matching records."""
    pairs, counts = np.unique(classes.labels * kinds.count + kinds.labels, return_counts=True)
    label, kind = np.divmod(pairs, kinds.count)
    starts = np.searchsorted(label, np.arange(classes.count))
    totals = np.add.reduceat(believed[kind] * counts[:, None], starts, axis=0)
    found: Floats = totals / classes.members[:, None]
    return found


def _check_same(there: Ints, released: Ints, column: str, domain: Domain) -> None:
    """Refuse confidential values that are not the original's."""
    was = np.bincount(there, minlength=domain.count)
    now = np.bincount(released, minlength=domain.count)
    other = np.flatnonzero(was != now)
    if other.size:
        place = int(other[0])
        raise InvalidInput(
            f"the release has {now[place]} records with {column} = {domain.values[place]:g}, the original "
            f"{was[place]}: generalisation leaves records and confidential values as they are (a suppressed "
            "record is released with * everywhere)"
        )


def _check_sizes(kinds: Classes, there: Ints, group: str) -> None:
    """Refuse groups that have more or fewer values than records."""
    other = np.flatnonzero(there != kinds.members)
    if other.size:
        row = int(other[0])
        raise InvalidInput(
            f"{group} {kinds.values[group].iloc[row]} has {kinds.members[row]} records and {there[row]} "
            "released values",
            row,
        )
