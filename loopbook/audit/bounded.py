"""Lists that keep their beginning and their end."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class FirstAndLast(Generic[T]):
    """Keeps the first ``first`` and the last ``last`` things added, and counts the rest.

    >>> kept = FirstAndLast(2, 1)
    >>> for n in range(5): kept.add(n)
    >>> kept.kept, kept.left_out, kept.total
    ((0, 1, 4), 2, 5)
    """

    def __init__(self, first: int, last: int) -> None:
        self._limit = first
        self._first: list[T] = []
        self._last: deque[T] = deque(maxlen=last)
        self.total = 0

    def add(self, thing: T) -> None:
        """Take one more thing."""
        self.total += 1
        (self._first if len(self._first) < self._limit else self._last).append(thing)

    @property
    def kept(self) -> tuple[T, ...]:
        """What was kept, in the order it was added."""
        return (*self._first, *self._last)

    @property
    def left_out(self) -> int:
        """How many between the beginning and the end were not kept."""
        return self.total - len(self._first) - len(self._last)
