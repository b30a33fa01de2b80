"""Following a stream: the one way to wait for what is new in it.

Theory. A follower takes its waiter first and reads then, so whatever is committed after the read
wakes it: nothing is missed between looking and waiting. The waiter wakes for commits of anybody to
anything in the store; whether they are the follower's is seen by reading. It is asked for a short
time only, so that a follower whose book is closed, or whose task is cancelled, ends soon; it sleeps
in between (see ``loopbook.store.Waiter``).

What is followed may be forgotten, and begun anew. So the last entry that was handed over has to
stand there still whenever more is read; where it does not, ``ChangedMeanwhile`` is raised.

There is no asynchronous store: the same steps are taken in a thread of the follower's own.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from typing import Protocol

from loopbook.entry import Entry
from loopbook.errors import StoreError
from loopbook.store import Waiter

#: Seconds that a follower waits before it looks whether it is still wanted.
TURN = 0.25
#: Entries handed over at once.
BATCH = 500


class Followed(Protocol):
    """What a follower asks of a book."""

    def entries(
        self, stream: str, after: int = 0, limit: int | None = None, *, known: str = ""
    ) -> Iterator[Entry]:
        """The entries of a stream that follow a version, whose ``sum`` is known."""

    def sum_at(self, stream: str, version: int) -> str:
        """The ``sum`` of an entry; "" for none."""

    def waiter(self) -> Waiter:
        """A waiter for what is committed from now on."""

    @property
    def closed(self) -> bool:
        """Whether the book was closed."""


class Follower:
    """One stream from a version on. For one thread; close it afterwards."""

    def __init__(self, book: Followed, stream: str, after: int = 0) -> None:
        self._book, self._stream, self._version = book, stream, after
        self._waiter = book.waiter()
        self._look = True
        try:
            self._sum = book.sum_at(stream, after) if after else ""
        except BaseException:
            self._waiter.close()
            raise

    def close(self) -> None:
        """Give up the waiter."""
        self._waiter.close()

    def more(self, seconds: float) -> list[Entry]:
        """The next entries, at most 500: as soon as there are some, and none after so many seconds.

        Raises ``StoreError``, and ``ChangedMeanwhile`` where the last one does not stand any more.
        """
        until = time.monotonic() + seconds
        try:
            while not self._book.closed:
                if self._look and (found := self._new()):
                    return found
                left = until - time.monotonic()
                if left <= 0:
                    break
                self._look = self._waiter.wait(min(left, TURN))
        except StoreError:
            if not self._book.closed:
                raise
        return []

    def _new(self) -> list[Entry]:
        found = list(self._book.entries(self._stream, self._version, BATCH, known=self._sum))
        if found:
            self._version, self._sum = found[-1].seq, found[-1].sum
        return found


def follow(book: Followed, stream: str, after: int = 0, timeout: float | None = None) -> Iterator[Entry]:
    """The entries that follow a version, and then each new one as it comes.

    Ends when nothing has come for ``timeout`` seconds (``None``: waits for ever), and when the book
    is closed. Raises ``ChangedMeanwhile`` where the last one was forgotten, scrubbed or written anew.
    """
    with closing(Follower(book, stream, after)) as follower:
        while found := follower.more(float("inf") if timeout is None else timeout):
            yield from found


async def follow_async(
    book: Followed, stream: str, after: int = 0, timeout: float | None = None
) -> AsyncIterator[Entry]:
    """The same for a task, which may be cancelled; it ends within a quarter of a second."""
    from anyio import CapacityLimiter  # noqa: PLC0415 - whoever follows nothing does not pay for it
    from anyio.to_thread import run_sync  # noqa: PLC0415

    own = CapacityLimiter(1)  # a thread that waits must not be one that others wait for
    follower = await run_sync(Follower, book, stream, after, limiter=own)
    try:
        quiet = time.monotonic()
        while not book.closed:
            left = TURN if timeout is None else min(TURN, quiet + timeout - time.monotonic())
            found = await run_sync(follower.more, max(left, 0), limiter=own)
            for entry in found:
                yield entry
            if found:
                quiet = time.monotonic()
            elif timeout is not None and time.monotonic() - quiet >= timeout:
                break
    finally:
        follower.close()
