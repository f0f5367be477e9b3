"""Properties that are worked out once for each instance, without a lock.

In Python 3.11 `functools.cached_property` takes one lock for all instances of a class: threads that work on
different instances wait for each other, and one that is interrupted between taking the lock and the block
that gives it back leaves it taken for good. Later versions have no lock. Two threads that ask one instance at
the same time may both work the value out; that of the last one stays.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

__all__ = ["cached_property"]

if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801 (the name that it stands for)
        """A property whose value replaces it in the instance; pydantic knows the class that it is of."""

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """The value; of the class, this."""
            if instance is None:
                return self
            found = instance.__dict__[self.attrname] = self.func(instance)
            return found
