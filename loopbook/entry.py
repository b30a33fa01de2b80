"""The envelope: what an event gets when it enters a book, and how the two become bytes.

A stored state is one JSON object: the envelope's ``at, session, unit, host_ref, line, v, prev,
sum`` and the event's own fields; the topic column is the event's ``type``. ``sum`` is SHA-256
over stream, version, topic, ``prev`` and the rest of the state; ``prev`` is the ``sum`` before
it ("" for the first). So ``fsck`` sees any edit. Stored bytes are never written again: an
entry's sum is taken over its bytes as they stand.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

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
