"""What the tests of a book share."""

from __future__ import annotations

from datetime import UTC, datetime

from loopbook.book import CATALOGUE, Book
from loopbook.entry import Draft
from loopbook.errors import LoopbookError
from loopbook.events import LoopOpened, TodoOpened

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
A = "loop:a"
#: A book that needs no opening.
OWN = "session:h:own"
OPENED = Draft(LoopOpened(kind="fix", intent="i"))


def clock() -> datetime:
    """Always noon."""
    return NOON


def everything(book: Book, stream: str = A) -> tuple[object, ...]:
    """All that a failed append must leave as it was."""
    return [*book.entries(stream)], book.state(stream), [*book.entries(CATALOGUE)], book.head(stream)


def todo(name: str, host_ref: str | None = None) -> Draft:
    """A draft that opens a todo."""
    return Draft(TodoOpened(todo=name, subject="s"), host_ref=host_ref)


def told_nothing(_draft: Draft, _why: LoopbookError) -> None:
    """For histories of which a book refuses some."""
