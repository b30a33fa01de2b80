"""A store that is gone with the process: the library's plain objects, safe across threads."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import cast
from uuid import UUID

from eventsourcing.persistence import ApplicationRecorder, StoredEvent
from eventsourcing.popo import POPOApplicationRecorder, POPOFactory

from loopbook.store.records import Row


class MemoryRecorder(POPOApplicationRecorder):
    """The library's recorder, reading from a version on without passing over all rows before it."""

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        """The rows of a stream; a book's versions have no gaps, so they are counted off."""
        with self._database_lock:
            places = self._stored_events_index.get(str(originator_id), {})
            last = len(places) if lte is None else min(lte, len(places))
            versions = range((gt or 0) + 1, last + 1)
            picked = (versions[::-1] if desc else versions)[:limit]
            return [self._stored_events[places[version]] for version in picked]

    def taken(self, streams: Collection[str]) -> set[str]:
        """Which of these streams have a first row."""
        with self._database_lock:
            return {stream for stream in streams if self._stored_events_index.get(stream)}

    def newest(self, stream: str, topic: str) -> Row | None:
        """The newest row of a topic in a stream."""
        rows = cast("Sequence[Row]", self.select_events(stream, desc=True))
        return next((row for row in rows if row.topic == topic), None)


class Factory(POPOFactory):
    """What the library makes a memory store with."""

    def application_recorder(self) -> ApplicationRecorder:
        """Ours."""
        return MemoryRecorder()
