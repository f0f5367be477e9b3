"""Properties that are worked out once for each instance, without a lock.

In Python 3.11 `functools.cached_property` takes one lock for all instances of a class: threads that work on
different instances wait for each other, and one that is interrupted between taking the lock and the block
that gives it back leaves it taken for good. Later versions have no lock. Two threads that ask one instance at
the same time may both work the value out; that of the last one stays. Models of pydantic know
`functools.cached_property` alone, and keep it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["cached_property"]

if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property:  # noqa: N801 (the name that it stands for)
        """A property whose value replaces it in the instance."""

        def __init__(self, function: Any) -> None:
            """Of a method without arguments."""
            self.function = function
            self.__doc__ = function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            """Under this name it is kept."""
            self.name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """The value; of the class, this."""
            if instance is None:
                return self
            found = instance.__dict__[self.name] = self.function(instance)
            return found
