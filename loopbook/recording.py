"""One book of a store, read and written: what a loop's book and a session's own have in common.

Theory. A ``Recorder`` is a stream and who writes to it; it holds nothing that is not in the store. Its
state is always the newest. What advises on runs stands on top of it (``loopbook.ledger``), and is not
imported here: a hook that only records must not pay for it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import islice

from loopbook import given
from loopbook.book import Book, Tell
from loopbook.entry import Draft, Entry
from loopbook.events import Check, Event
from loopbook.limits import Options
from loopbook.projections import BookState

#: Drafts saved at once by ``feed``: large enough to be fast, small enough not to keep others waiting.
BATCH = 500


class Recorder:
    """A stream of a store, read and written as one session.

    >>> from loopbook.events import Task
    >>> recorder = Recorder(Book("memory:"), "session:cli:s1", "s1")
    >>> recorder.record(Task(text="look"))[0].seq, recorder.version
    (1, 1)
    """

    def __init__(self, book: Book, stream: str, session: str, options: Options | None = None) -> None:
        self.book = book
        self.stream = stream
        self.session = session
        self.options = given.options(options)

    @property
    def state(self) -> BookState:
        """What the book comes to, caught up: only entries that are new are read."""
        return self.book.state(self.stream)

    @property
    def version(self) -> int:
        """How many entries the book has now."""
        return self.book.head(self.stream)[0]

    def entries(self, after: int = 0, limit: int | None = None) -> Iterator[Entry]:
        """The entries that follow a version, oldest first, at most ``limit``, read in pieces.

        Raises ``InvalidArgument`` for what is no whole number.
        """
        most = None if limit is None else max(0, given.version(limit, "a limit", "give an int, or None"))
        return self.book.entries(self.stream, max(0, given.version(after)), most)

    def follow(self, after: int = 0, timeout: float | None = None) -> Iterator[Entry]:
        """The entries that follow a version, and then each new one as it comes, whoever writes it.

        Ends when nothing has come for ``timeout`` seconds (``None``: waits for ever), and when the
        books are closed.

        >>> from loopbook.events import Task
        >>> recorder = Recorder(Book("memory:"), "session:cli:s1", "s1")
        >>> _ = recorder.record(Task(text="look"))
        >>> [entry.event.type for entry in recorder.follow(timeout=0)]
        ['task']
        """
        return self.book.follow(self.stream, max(0, given.version(after)), given.wait(timeout))

    def follow_async(self, after: int = 0, timeout: float | None = None) -> AsyncIterator[Entry]:
        """The same for a task: ``async for entry in loop.follow_async()``."""
        return self.book.follow_async(self.stream, max(0, given.version(after)), given.wait(timeout))

    def record(
        self,
        *events: Event | Draft,
        unit: str | None = None,
        host_ref: str | None = None,
        session: str | None = None,
    ) -> tuple[Entry, ...]:
        """Write what happened, whatever else was written meanwhile: all of it in one save, or nothing.

        ``host_ref`` is the host's own id of it (for several events it is numbered ``#1``, ``#2``):
        an event whose host_ref the book has already changes nothing. Returns what was written.
        A ``Check`` whose ``scope`` nobody gave gets the one that its command line tells. Raises
        ``Refused`` in its many forms, and ``InvalidEvent``, also for a ``Check`` whose outcome its exit
        code contradicts.
        """
        drafts = self._drafts(events, unit, host_ref)
        return self.book.record(self.stream, *drafts, session=self._by(session))

    def append(
        self,
        *events: Event | Draft,
        after: int,
        unit: str | None = None,
        host_ref: str | None = None,
        session: str | None = None,
    ) -> tuple[Entry, ...]:
        """``record`` if the book still stands at version ``after``; else raise ``Stale``, write nothing."""
        at = given.version(after)
        drafts = self._drafts(events, unit, host_ref)
        return self.book.append(self.stream, *drafts, after=at, session=self._by(session))

    def feed(self, drafts: Iterable[Draft], *, session: str | None = None, tell: Tell | None = None) -> int:
        """Write a long row of drafts in saves of 500, skipping what the book has; how many were written.

        Fed again from its beginning, a row goes on where it had ended. A draft that cannot be
        taken raises, and the batches before it stay; with ``tell`` it is told of and left out. What is
        fed is taken as it is: whoever read it has read the scopes of its checks too.
        """
        rest, written = iter(drafts), 0
        while batch := tuple(islice(rest, BATCH)):
            for draft in batch:
                given.look_at(draft)
            written += len(self.book.record(self.stream, *batch, session=self._by(session), tell=tell))
        return written

    def _by(self, session: str | None) -> str:
        if session is None:
            return self.session
        given.text("a session", session)
        return session

    def _drafts(self, events: Iterable[Event | Draft], unit: str | None, host_ref: str | None) -> list[Draft]:
        drafts = given.drafts(events, unit, host_ref)
        return [
            draft._replace(event=self._counted(draft.event)) if isinstance(draft.event, Check) else draft
            for draft in drafts
        ]

    def _counted(self, check: Check) -> Check:
        """A check as this book counts it. Its command line is read only where it must be."""
        if "scope" in check.model_fields_set and not check.told_twice:
            return check
        from loopbook.evidence.by_hand import as_counted
        from loopbook.evidence.outcomes import Rules, UserCheck

        return as_counted(check, Rules(tuple(UserCheck(*one) for one in self.options.checks)))
