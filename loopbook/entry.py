"""The envelope: what an event gets when it enters a book.

Theory. An event knows no ids. On its way into a book it is a *draft*, with what the envelope shall say of
it; there it is an *entry*, at its seq in its stream, when and by which session it was written, and sealed
to the entry before it by ``prev`` and ``sum``. What the two are as bytes: ``loopbook.encoding``.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from loopbook.errors import InvalidEvent
from loopbook.events import Event


class Draft(NamedTuple):
    """An event on its way into a book, with what the envelope shall say of it.

    ``at`` and ``session`` default to the book's own when it is appended.
    """

    event: Event
    unit: str | None = None
    host_ref: str | None = None
    line: int | None = None
    at: datetime | None = None
    session: str | None = None


class Entry(NamedTuple):
    """An event where it stands. The first two names are the store library's; use ``stream`` and ``seq``."""

    originator_id: str
    originator_version: int
    event: Event
    at: datetime
    session: str = ""
    unit: str | None = None
    host_ref: str | None = None
    line: int | None = None
    prev: str = ""
    sum: str = ""

    @property
    def stream(self) -> str:
        """The stream it stands in, such as ``loop:42``."""
        return self.originator_id

    @property
    def seq(self) -> int:
        """Its 1-based place in the stream: the only order there is."""
        return self.originator_version


def utc(at: datetime) -> datetime:
    """The same instant in UTC. Raises ``InvalidEvent`` for a time that does not say where it was read."""
    if at.tzinfo is UTC:
        return at
    if at.utcoffset() is None:
        raise InvalidEvent(f"the time {at.isoformat()} has no time zone", ("at",))
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise InvalidEvent(f"the time {at.isoformat()} lies outside the years 1 to 9999", ("at",)) from None
