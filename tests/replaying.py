"""Every book that a flow has written in a test is replayed: what was decided must be decided again.

``REPLAYED`` notes what flows append and whose advisors they ask. A book is replayed when it is closed,
and at the end of its test. Entries that a test has put there by hand are nobody's decisions: of these
nothing is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import pytest

from loopbook import settlement
from loopbook.advisors.shape import Advisor
from loopbook.audit.replay import MAKERS, Replay, replay
from loopbook.book import Book
from loopbook.engine import Driven
from loopbook.entry import Entry
from loopbook.errors import StoreError
from loopbook.settlement import Append, Flow, Written

T = TypeVar("T")


class Replayed:
    """What flows have written since the test began."""

    def __init__(self) -> None:
        self.makers = dict(MAKERS)
        self._written: dict[int, tuple[Book, dict[str, set[int]]]] = {}

    def note(self, book: Book, stream: str, seqs: Iterable[int]) -> None:
        """A flow has written these."""
        streams = self._written.setdefault(id(book), (book, {}))[1]
        streams.setdefault(stream, set()).update(seqs)

    def meet(self, advisor: Advisor) -> None:
        """A flow asks this advisor: whoever can be made from its policy is."""
        self.makers[advisor.name] = getattr(advisor, "under", lambda _policy: advisor)

    def look(self, book: Book) -> None:
        """Replay what was written to a book; a book that cannot be read any more is the test's own affair."""
        _, streams = self._written.pop(id(book), (book, {}))
        for stream, seqs in streams.items():
            with suppress(StoreError):
                self.same(list(book.entries(stream)), seqs)

    def same(self, entries: Iterable[Entry], seqs: set[int]) -> Replay:
        """Replay entries; the decisions at ``seqs`` must come out the same."""
        came = replay(entries, self.makers)
        for one in came.decisions:
            if one.seq in seqs:
                assert one.verdict.outcome == "same", f"entry {one.seq} decided again: {one.verdict}"
        return came

    def end(self) -> None:
        """Replay what is still open."""
        for book, _ in list(self._written.values()):
            if not book.closed:
                self.look(book)
        self.__init__()  # type: ignore[misc]  # as new


REPLAYED = Replayed()


@contextmanager
def noting(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Note what flows do, and replay at the end."""
    written, closed = Driven._written, Book.close

    def note(self: Driven[T], step: Append) -> Written:
        came = written(self, step)
        if came.taken:
            book = getattr(self._book, "_book", self._book)  # of a book whose process may die, the book
            REPLAYED.note(book, self._stream, range(step.after + 1, step.after + 1 + len(step.drafts)))
        return came

    def close(self: Book) -> None:
        REPLAYED.look(self)
        closed(self)

    patch.setattr(Driven, "_written", note)
    patch.setattr(Book, "close", close)
    for name in ("advise", "observe"):
        patch.setattr(settlement, name, _meeting(getattr(settlement, name)))
    yield
    REPLAYED.end()


def _meeting(turn: Callable[..., Flow[T]]) -> Callable[..., Flow[T]]:
    def met(case: object, advisor: Advisor, *rest: object, **more: object) -> Flow[T]:
        REPLAYED.meet(advisor)
        return turn(case, advisor, *rest, **more)

    return met
