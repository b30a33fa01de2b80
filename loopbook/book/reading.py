"""Reading streams and catching up with them.

Theory. The state at version n is the fold of the first n entries. A cached state is a value at a
version, and catching up reads and folds what is newer; so nobody holds a lock while reading, and
two threads that catch up at once do the same work twice and agree. A gap in the versions is
damage: the store would take one, so reading looks.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import NamedTuple, Self, cast

from loopbook.entry import Entry, damaged, sum_in
from loopbook.projections import EMPTY, BookState, evolve
from loopbook.store import Records, Row, open_records, parse_url

#: Rows read at once: what bounds memory while a long stream is read.
CHUNK = 5_000
#: Streams whose states are kept.
CACHED = 64

#: Stores of a parent process. They are not closed here: that would reach into the parent's locks.
_LEFT_BEHIND: list[Records] = []


class Place(NamedTuple):
    """A stream at a version: what an append is conditional on."""

    version: int = 0
    sum: str = ""
    state: BookState = EMPTY


class Reader:
    """One open store, read. Safe across threads; a forked process opens the store anew."""

    def __init__(self, url: str) -> None:
        self._url = parse_url(url)
        self._records = open_records(self._url)
        self._forget()

    def _forget(self) -> None:
        self._pid = os.getpid()
        self._lock = Lock()
        self._places: OrderedDict[str, Place] = OrderedDict()

    @property
    def url(self) -> str:
        """The store's URL, its path absolute."""
        return str(self._url)

    def close(self) -> None:
        """Close the store."""
        if self._pid == os.getpid():
            self._records.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _store(self) -> Records:
        """The store, opened anew where the process is not the one that opened it."""
        if self._pid != os.getpid() and self._url.path is not None:
            _LEFT_BEHIND.append(self._records)
            self._records = open_records(self._url)
            self._forget()
        return self._records

    def place(self, stream: str) -> Place:
        """The newest version of a stream and its state: only what is new is read and folded."""
        store = self._store()
        with self._lock:
            known = self._places.get(stream) or Place()
        place = known
        while rows := self._read(store, stream, place.version, CHUNK):
            for row in rows:
                place = following(place, store.codec.entry(row))
            if len(rows) < CHUNK:
                break
        if place is not known:
            self._keep(stream, place)
        return place

    def state(self, stream: str) -> BookState:
        """The state of a stream now."""
        return self.place(stream).state

    def entries(self, stream: str, after: int = 0) -> Iterator[Entry]:
        """The entries of a stream that follow a version, read in pieces of 5,000."""
        store, version = self._store(), after
        while rows := self._read(store, stream, version, CHUNK):
            for row in rows:
                version += 1
                if row.originator_version != version:
                    raise damaged(stream, version, "it is missing")
                yield store.codec.entry(row)

    def newest(self, stream: str, topic: str) -> Entry | None:
        """The newest entry of a type in a stream; nothing else is read."""
        store = self._store()
        row = store.rows.newest(stream, topic)
        return store.codec.entry(row) if row else None

    def head(self, stream: str) -> tuple[int, str]:
        """The newest version of a stream and its ``sum``, without reading the rest; (0, "") for none."""
        rows = cast("Sequence[Row]", self._store().rows.select_events(stream, desc=True, limit=1))
        return (rows[0].originator_version, sum_in(rows[0].state)) if rows else (0, "")

    @staticmethod
    def _read(store: Records, stream: str, after: int, limit: int) -> Sequence[Row]:
        return cast("Sequence[Row]", store.rows.select_events(stream, gt=after or None, limit=limit))

    def _keep(self, stream: str, place: Place) -> None:
        with self._lock:
            known = self._places.get(stream)
            if known is None or known.version < place.version:
                self._places[stream] = place
                self._places.move_to_end(stream)
                if len(self._places) > CACHED:
                    self._places.popitem(last=False)


def following(place: Place, entry: Entry) -> Place:
    """The place after one more entry. Raises ``DamagedEntry`` where one is missing between."""
    if entry.originator_version != place.version + 1:
        raise damaged(entry.originator_id, place.version + 1, "it is missing")
    return Place(entry.originator_version, entry.sum, evolve(place.state, entry))
