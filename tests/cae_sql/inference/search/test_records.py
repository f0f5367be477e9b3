"""What runs and integer programs say of records without an insider is what listing every table says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cae_sql import AnsweredSystem
from cae_sql.inference.search.records import grow, search, values_of
from cae_sql.inference.search.runs import Runs
from cae_sql.inference.standard import Effort
from cae_sql.inference.tables.pool import Pool
from tests.cae_sql.inference.search.tiny import answered
from tests.enumeration.oracle import Possible, longest_run


def runs_of(system: AnsweredSystem, need: int, programs: int = 10_000) -> Runs:
    pool = system.pool()
    assert isinstance(pool, Pool)
    runs = Runs(pool.knowledge, need, effort=Effort(programs, 10**9))
    runs.absorb_some(pool.totals())
    assert runs.worlds
    return runs


@given(answered())
def test_all_values_of_a_record_are_those_of_all_tables(case: tuple[AnsweredSystem, Possible, int]) -> None:
    system, possible, top = case
    runs = runs_of(system, top)
    labels = runs.knowledge.atoms.labels
    for record in range(possible.size):
        found = values_of(runs, int(labels[record]))
        assert found is not None
        assert set(found.tolist()) == set(possible.values(record))


@given(answered(), st.integers(1, 5), st.sampled_from((0, 1, 10_000)))
def test_a_run_is_of_values_in_tables_and_as_long_as_needed_where_one_is(
    case: tuple[AnsweredSystem, Possible, int], need: int, programs: int
) -> None:
    system, possible, top = case
    need = min(need, top)
    runs = runs_of(system, need, programs)
    real = [longest_run(possible.values(record)) - 1 for record in range(possible.size)]
    assert grow(runs) <= (min(real) >= need)
    labels = runs.knowledge.atoms.labels
    for record, width in enumerate(real):
        atom = int(labels[record])
        shown = range(runs.low[atom], runs.high[atom] + 1)
        assert set(shown) <= set(possible.values(record))
        if programs > 1:
            assert (search(runs, atom, None) or not runs.lacking[atom]) == (width >= need)


@given(answered())
def test_a_walk_ends_in_a_table_and_takes_no_total_that_none_has(
    case: tuple[AnsweredSystem, Possible, int],
) -> None:
    system, possible, top = case
    runs = runs_of(system, top, 0)
    for turn in range(3):
        assert runs.walk_from(runs.worlds[-1], 2, turn)
    sums = runs.knowledge.matrix @ runs.worlds[0]
    assert all((runs.knowledge.matrix @ world == sums).all() for world in runs.worlds)
    for record, atom in enumerate(runs.knowledge.atoms.labels[: possible.size].tolist()):
        assert set(range(runs.low[atom], runs.high[atom] + 1)) <= set(possible.values(record))
