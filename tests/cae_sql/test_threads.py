"""A pass is shared by two threads: whole, in order, and not before both are done."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from cae_sql.threads import ENOUGH_WORK, alone, in_two


def test_both_halves_are_done_and_come_in_order() -> None:
    done = np.zeros(100, dtype=int)

    def work(first: int, last: int) -> tuple[int, int]:
        done[first:last] += 1
        return first, last

    assert in_two(work, 100, ENOUGH_WORK) == [(0, 50), (50, 100)]
    assert (done == 1).all()


def test_little_work_is_done_here_and_now() -> None:
    seen = list[str]()
    in_two(lambda *_: seen.append(threading.current_thread().name), 10, 1)
    assert seen == [threading.current_thread().name]


def test_a_pass_inside_of_a_pass_is_not_shared_again() -> None:
    def outer(first: int, last: int) -> list[tuple[int, int]]:
        return in_two(lambda a, b: (a, b), last - first, ENOUGH_WORK)

    assert in_two(outer, 8, ENOUGH_WORK) == [[(0, 4)], [(0, 4)]]
    assert len(in_two(lambda a, b: (a, b), 8, ENOUGH_WORK)) == 2  # and afterwards it is


@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_is_raised_once_the_other_half_is_done(failing: int) -> None:
    done = list[int]()

    def work(first: int, last: int) -> None:
        if (first > 0) == bool(failing):
            raise ValueError("this half")
        time.sleep(0.05)
        done.append(last)

    with pytest.raises(ValueError, match="this half"):
        in_two(work, 2, ENOUGH_WORK)
    assert len(done) == 1


def test_many_callers_share_the_second_thread() -> None:
    found = list[int]()

    def call() -> None:
        for _ in range(50):
            found.append(sum(in_two(lambda a, b: b - a, 9, ENOUGH_WORK)))

    callers = [threading.Thread(target=call) for _ in range(4)]
    for each in callers:
        each.start()
    for each in callers:
        each.join(30)
    assert found == [9] * 200


def test_alone_within_alone_leaves_the_library_in_one_thread() -> None:
    def threads() -> set[int]:
        return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

    with alone():
        pass  # it brings its library
    before = threads()
    with alone():
        with alone():
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == before
