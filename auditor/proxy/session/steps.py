"""What a session asks of its server while it answers an event: to run something elsewhere, to send.

A session's methods are generators of these. The server runs a `Job` in a thread and sends back what it gives,
or throws what it raises; on `DRAIN` it sends what is queued and waits for a slow reader.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar


@dataclass(frozen=True)
class Job:
    """Something that may block. It touches nothing of the session, for it may be given up while it runs."""

    work: Callable[[], object]
    seconds: float | None = None
    """After which it is given up, where the session says so; the server has a limit of its own."""
    user: str = ""
    """Who asks."""
    asks: Hashable = None
    """What is asked, by whom: another job that asks the same comes to the same. None where none does."""


class Drain(Enum):
    """The one value below."""

    DRAIN = "drain"


DRAIN = Drain.DRAIN
_Given = TypeVar("_Given")
Steps = Generator[Job | Drain, Any, _Given]
