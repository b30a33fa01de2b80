"""Three ways to drive the flow in a scenario: with an event loop, blocking, and as a host.

Theory. They must not differ in what they leave in the book. The judge is the scenario's script; what
a step says happens ``during`` its thinking happens when it is first asked. A process that dies is a
book that raises where it dies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from threading import Barrier, BrokenBarrierError, Thread
from typing import Protocol

import anyio
from anyio import to_thread

from loopbook.book import Book
from loopbook.engine import Driven, T, drive, drive_blocking
from loopbook.entry import Draft, Entry
from loopbook.events import Judged, Noticed, PassedOver
from loopbook.judges import Answer, Failure, Packet
from loopbook.testing.scenario_model import As

#: What a judge says to a packet.
Says = Callable[[Packet], Answer | Failure]


class Died(Exception):
    """The process of a settle has died."""


class Script:
    """The judge of one step: ``says`` answers. ``during`` happens once, while it thinks; ``together``: it
    answers when so many have asked."""

    def __init__(self, says: Says, during: Callable[[], None] = lambda: None, together: int = 1) -> None:
        self._says = says
        self._during: Callable[[], None] | None = during
        self._barrier = Barrier(together)
        self.asked: list[Packet] = []

    def say(self, packet: Packet) -> Answer | Failure:
        """Answer at once."""
        self.asked.append(packet)
        if (during := self._during) is not None:
            self._during = None
            during()
        return self._says(packet)

    async def ask(self, packet: Packet, deadline: float) -> Answer | Failure:  # noqa: ARG002 - part of the shape
        """The same for a task."""
        return await to_thread.run_sync(self._say_together, packet)

    def _say_together(self, packet: Packet) -> Answer | Failure:
        with suppress(BrokenBarrierError):
            self._barrier.wait(TOGETHER_SEC)
        return self.say(packet)


#: How long one of several who settle at once waits for the others to ask too, in seconds.
TOGETHER_SEC = 1.0


class WatchedBook:
    """A book that tells before and after a decision of a flow is appended, and after its run is."""

    def __init__(self, book: Book, tell: Callable[[str], None]) -> None:
        self._book = book
        self._tell = tell

    def __getattr__(self, name: str) -> object:
        """Whatever else a flow asks of a book, as the book has it."""
        return getattr(self._book, name)

    def append(self, stream: str, *drafts: Draft, after: int, session: str = "") -> tuple[Entry, ...]:
        """As the book does."""
        decides = any(isinstance(draft.event, Judged | Noticed | PassedOver) for draft in drafts)
        if decides:
            self._tell("before-append")
        entries = self._book.append(stream, *drafts, after=after, session=session)
        self._tell("after-append" if decides else "after-settled")
        return entries


class Driver(Protocol):
    """One way to drive flows: what ``--as`` chooses among."""

    def one(self, driven: Driven[T], judge: Script | None) -> T:
        """Drive one flow to its end."""

    def race(self, flows: Sequence[Driven[T]], judge: Script | None) -> list[T]:
        """Drive several at once."""


class Async:
    """With an event loop."""

    def one(self, driven: Driven[T], judge: Script | None) -> T:
        """Drive one flow to its end."""
        return anyio.run(drive, driven, judge)

    def race(self, flows: Sequence[Driven[T]], judge: Script | None) -> list[T]:
        """Drive several as tasks."""

        async def all_of_them() -> list[T]:
            async with anyio.create_task_group() as group:
                for driven in flows:
                    group.start_soon(partial(drive, driven, judge))
            return [driven.result for driven in flows]

        return anyio.run(all_of_them)


class Blocking:
    """Without one."""

    def one(self, driven: Driven[T], judge: Script | None) -> T:
        """Drive one flow to its end."""
        return drive_blocking(driven, judge)

    def race(self, flows: Sequence[Driven[T]], judge: Script | None) -> list[T]:
        """Drive several in threads."""
        threads = [Thread(target=drive_blocking, args=(driven, judge)) for driven in flows]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [driven.result for driven in flows]


class Host:
    """By a host that answers each ask itself."""

    def one(self, driven: Driven[T], judge: Script | None) -> T:
        """Drive one flow to its end."""
        return self._answer(driven.start(), judge)

    def race(self, flows: Sequence[Driven[T]], judge: Script | None) -> list[T]:
        """Let all of them ask before any is answered."""
        for driven in flows:
            driven.start()
        return [self._answer(driven, judge) for driven in flows]

    def _answer(self, driven: Driven[T], judge: Script | None) -> T:
        while driven.ask is not None:
            driven.answer(judge.say(driven.ask.packet) if judge else Failure("no-judge"))
        return driven.result


DRIVERS: Mapping[As, Driver] = {"async": Async(), "blocking": Blocking(), "host": Host()}
