"""How long something that is measured in bytes will still take.

Promises the slower of two paces, that of all the time and that of the last half minute: new statements are
slow and repeated ones quick, so that neither alone is honest. No estimate before there is something to go by.
"""

from __future__ import annotations

from collections import deque

RECENT = 30.0
"""Seconds that the second pace is taken over."""
_LEAST_SECONDS, _LEAST_SHARE = 3.0, 0.01


class Estimate:
    """Points of time, and how much was done by then."""

    def __init__(self) -> None:
        self._points: deque[tuple[float, int]] = deque()
        self._first: tuple[float, int] | None = None

    def take(self, now: float, done: int) -> None:
        """So much is done now."""
        if self._first is None:
            self._first = (now, done)
        self._points.append((now, done))
        while len(self._points) > 2 and now - self._points[1][0] >= RECENT:
            self._points.popleft()

    def seconds(self, total: int) -> float | None:
        """Seconds left until all is done; None where that cannot be said yet.

        Args:
            total: All there is to do; 0 where it is not known.
        """
        if self._first is None or not total:
            return None
        now, done = self._points[-1]
        left = max(total - done, 0)
        begun, before = self._first
        if now - begun < _LEAST_SECONDS or done - before < _LEAST_SHARE * total:
            return None if left else 0.0
        paces = [(done - was) / (now - when) for when, was in (self._first, self._points[0]) if now > when]
        slowest = min(paces)
        return left / slowest if slowest > 0 else None


def in_words(seconds: float | None) -> str:
    """A duration as a person says it."""
    if seconds is None:
        return "time left not known yet"
    if seconds < 60:
        return "less than a minute left"
    minutes = round(seconds / 60)
    return f"about {minutes} min left" if minutes < 120 else f"about {round(seconds / 3600)} h left"
