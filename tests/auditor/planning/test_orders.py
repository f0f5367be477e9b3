"""In which orders statements are asked."""

from __future__ import annotations

from auditor.planning.orders import costly_last, totals, worth, written
from auditor.planning.statements import Statement


def stated(*groups: tuple[int, ...], worths: tuple[float, ...] = ()) -> list[Statement]:
    found = [Statement(n, f"SELECT {n}", "duckdb", groups=sizes) for n, sizes in enumerate(groups, 1)]
    if not worths:
        return found
    return [
        Statement(each.number, each.sql, "duckdb", groups=each.groups, stated=one)
        for each, one in zip(found, worths, strict=True)
    ]


def test_as_written_is_the_order_of_the_list() -> None:
    assert written(stated((5,), (9,), (2, 3))) == (1, 2, 3)


def test_totals_come_before_groups_and_large_groups_before_small_ones() -> None:
    assert totals(stated((2, 3, 4), (5,), (9,), (6, 7), (8, 9))) == (3, 2, 5, 4, 1)


def test_a_statement_whose_groups_hang_on_answers_is_not_in_the_way() -> None:
    assert set(totals(stated((), (9,)))) == {1, 2}


def test_what_is_worth_most_is_asked_first_and_equals_stay_as_written() -> None:
    assert worth(stated((1,), (1,), (1,), worths=(1.0, 3.0, 3.0))) == (2, 3, 1)


def test_what_takes_from_others_comes_last_the_costliest_at_the_end() -> None:
    assert costly_last((4, 1, 2, 3), {1: 5.0, 2: -1.0, 4: 2.0}) == (2, 3, 4, 1)


def test_nothing_is_moved_where_nothing_costs_others() -> None:
    assert costly_last((2, 1, 3), {1: 0.0, 3: -2.0}) == (2, 1, 3)
