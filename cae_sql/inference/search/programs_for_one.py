"""Integer programs for one atom: what moves did not find, or the proof that it is not there.

First its run of totals is lengthened, value by value. Where that ends too early, and few values are in
question, the values that a record takes are found out one by one: an exactly known set.
"""

from __future__ import annotations

import numpy as np

from cae_sql.errors import OutOfTime
from cae_sql.inference.facts.constraints import is_world
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.facts.witnesses import choose_witnesses, only
from cae_sql.inference.search.runs import Runs
from cae_sql.inference.standard import Accepts
from cae_sql.inference.tables.programs import ComponentProgram

SHAKES = 4
"""Tries to come back from a world far out; between them the others move at random, away from corners."""
ATTEMPTS = 3
"""Programs tried where a component is too large to be stated whole: each larger, from another world."""
EXACT_VALUES = 64
"""Sets of possible values are found out where at most so many are in question."""


def grow(runs: Runs, accepts: Accepts | None = None) -> bool:
    """Give every atom a long enough run, by moves first; True when all have one, or a set that will do.

    Args:
        runs: What is certified so far; it has absorbed a world.
        accepts: Judges exactly known small sets.
    """
    if not runs.by_moves():
        return False
    for atom in runs.by_difficulty().tolist():
        if not runs.lacks(atom):
            continue
        if runs.allowance.over or runs.effort.left <= 0:
            return False
        if not search(runs, atom, accepts) and not runs.thorough:
            return False
    return not len(runs.short)


def search(runs: Runs, atom: int, accepts: Accepts | None) -> bool:
    """Whether the atom's records get a long enough run, or an exactly known set that will do.

    Args:
        runs: What is certified so far; learns from every world found.
        atom: The atom.
        accepts: Judges exactly known sets; None where no set will do.
    """
    known = runs.knowledge
    rest = int(known.sizes[atom]) - 1
    for attempt in range(ATTEMPTS):
        if runs.allowance.over:
            return False
        program = runs.program_around(atom, attempt)
        least, most = program.interval(atom, runs.allowance)
        low = max(int(known.low[atom]), least - rest * int(known.high[atom]))
        high = min(int(known.high[atom]), most - rest * int(known.low[atom]))
        if high - low >= runs.need or runs.thorough:
            _lengthen(runs, atom, program, least, most)
        if runs.high[atom] - runs.low[atom] >= runs.need:
            return True
        if program.whole:
            break
    if accepts is None or not program.whole or not 0 < high - low < EXACT_VALUES:
        return False
    # sets rarely keep what neither all values nor the two ends do: then the search is spared
    if not accepts(np.arange(low, high + 1)) and not accepts(np.array([low, high])):
        return False
    values = _values(runs, atom, low, high)
    if values is None or not accepts(values):
        return False
    runs.accepted[atom], runs.exact[atom] = True, values
    return True


def values_of(runs: Runs, atom: int) -> Ints | None:
    """All values that a record of an atom takes in some world, in units, ascending.

    None where they are too many to be tried one by one, the component is too large to be stated whole, or
    effort ends.
    """
    known, program = runs.knowledge, runs.program_around(atom)
    if not program.whole:
        return None
    rest = int(known.sizes[atom]) - 1
    least, most = program.interval(atom, runs.allowance)
    low = max(int(known.low[atom]), least - rest * int(known.high[atom]))
    high = min(int(known.high[atom]), most - rest * int(known.low[atom]))
    return _values(runs, atom, low, high) if high - low < EXACT_VALUES else None


def _lengthen(runs: Runs, atom: int, program: ComponentProgram, least: int, most: int) -> None:
    """Lengthen the run: from a world far out moves often lead back, value by value; else add neighbours."""
    for side in (1, -1):
        missing = runs.need - int(runs.high[atom] - runs.low[atom])
        end = int(runs.total_high[atom]) + missing if side > 0 else int(runs.total_low[atom]) - missing
        end = min(max(end, least), most)
        if missing <= 0 or runs.total_low[atom] <= end <= runs.total_high[atom]:
            continue
        world, _ = _world(runs, program, atom, end, missing > 1)
        if world is not None and runs.absorb(world, keep=False):
            for turn in range(SHAKES):
                pins = choose_witnesses(runs.knowledge, world, only(atom, runs.knowledge.count), turn)
                if pins is None:
                    break
                if runs.push_from(atom, world, pins, turn):
                    return
                world = runs.shaken(atom, world, pins, turn)
    excluded: set[int] = set()
    while runs.high[atom] - runs.low[atom] < runs.need:
        near = [int(runs.total_high[atom]) + 1, int(runs.total_low[atom]) - 1]
        open_ends = [total for total in near if least <= total <= most and total not in excluded]
        if not open_ends:
            return
        world, impossible = _world(runs, program, atom, open_ends[0], True)
        if world is not None:
            runs.absorb(world, keep=False)
        elif impossible:
            excluded.add(open_ends[0])
        else:
            return


def _world(
    runs: Runs, program: ComponentProgram, atom: int, total: int, thoroughly: bool
) -> tuple[Ints | None, bool]:
    """A world with this total, and, where there is none to be had, whether that is proved."""
    world = program.quick_world(atom, total, total, runs.allowance)
    if world is not None or not thoroughly or not runs.effort.spend():
        return world, False
    try:
        world = program.world_with(atom, total, total, runs.allowance)
    except OutOfTime:
        return None, False
    return world, world is None and program.whole


def _values(runs: Runs, atom: int, low: int, high: int) -> Ints | None:
    """All values between two that one record of the atom takes in some world, or None where effort ends."""
    known = runs.knowledge
    record = int(known.members[0][known.members[1][atom]])
    alone = known.refined([Query(kind="sum", members=np.array([record]))])
    label = int(alone.atoms.labels[record])
    world = _with_record_alone(runs, atom, alone)
    if world is None:
        return None
    program = ComponentProgram.around(alone, label, world)
    if not program.whole:
        return None  # with the record apart it has one atom more
    found = []
    for value in range(low, high + 1):
        if runs.allowance.over or not runs.effort.spend():
            return None
        try:
            if program.world_with(label, value, value, runs.allowance) is not None:
                found.append(value)
        except OutOfTime:
            return None
    return np.array(found, dtype=np.int64) if found else None


def _with_record_alone(runs: Runs, atom: int, alone: Knowledge) -> Ints | None:
    """Totals of a world in which one record of the atom is an atom of its own, the last one."""
    known, totals = runs.knowledge, runs.worlds[0]
    if alone.count == known.count:
        return totals
    sums = known.matrix @ totals
    for value in range(int(known.low[atom]), int(known.high[atom]) + 1):
        split = np.append(totals, value)
        split[atom] -= value
        if is_world(alone, split, sums):
            return split
    return None
