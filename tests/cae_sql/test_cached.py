"""Properties that are worked out once, of which no instance waits for another."""

from __future__ import annotations

from threading import Event, Thread

from cae_sql.cached import cached_property


class Waiting:
    """Its value is there once another's is being worked out."""

    def __init__(self, begun: Event, other: Event) -> None:
        self.begun, self.other, self.times = begun, other, 0

    @cached_property
    def value(self) -> bool:
        """Whether the other began meanwhile."""
        self.times += 1
        self.begun.set()
        return self.other.wait(20)


def test_a_value_is_worked_out_once_and_kept() -> None:
    event = Event()
    one = Waiting(event, event)
    assert one.value is one.value is True
    assert one.times == 1
    assert Waiting.__dict__["value"].__doc__ == "Whether the other began meanwhile."
    assert Waiting.value is Waiting.__dict__["value"]


def test_no_instance_waits_for_another() -> None:
    """With one lock for all, each would wait for the other until its time is over."""
    first, second = Event(), Event()
    both = Waiting(first, second), Waiting(second, first)
    threads = [Thread(target=lambda each=each: each.value) for each in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(each.value for each in both)
