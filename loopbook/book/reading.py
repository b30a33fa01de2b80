"""Reading streams and catching up with them.

Theory. The state at version n is the fold of the first n entries, wherever these stand (see
``loopbook.book.lineage`` for forks). A cached state is a value at a version, and catching up reads
and folds what is newer; so nobody holds a lock while reading, and two threads that catch up at once
do the same work twice and agree. A gap in the versions is damage: the store would take one, so
reading looks.

*A state is trusted as long as what it stands on is there.* Catching up begins with the row that
the state was folded up to. Where its ``sum`` is another one by now, or the row is gone, the stream
was scrubbed, forgotten or brought in anew, by whichever process; then all of it is folded again.
The same is asked of a snapshot, and of each parent's last row that a fork stands on.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from threading import Lock
from typing import Self, cast

from loopbook.book.folding import (
    Place,
    caught_up,
    following,
    newest_in,
    opened,
    read_through,
    sum_at,
    sum_of,
    with_snapshot,
)
from loopbook.book.following import follow, follow_async
from loopbook.book.lineage import lineage
from loopbook.entry import Entry
from loopbook.errors import ChangedMeanwhile
from loopbook.projections import BookState
from loopbook.store import Records, Row, Waiter, open_records, parse_url

__all__ = ["Place", "Reader", "following"]

#: Streams whose states are kept.
CACHED = 64

#: Stores of a parent process. They are not closed here: that would reach into the parent's locks.
_LEFT_BEHIND: list[Records] = []


class Reader:
    """One open store, read. Safe across threads; a forked process opens the store anew."""

    def __init__(self, url: str) -> None:
        self._url = parse_url(url)
        self._records = open_records(self._url)
        self._closed = False
        self._forget()

    def _forget(self) -> None:
        self._pid = os.getpid()
        self._lock = Lock()
        self._places: OrderedDict[str, Place] = OrderedDict()

    def forget(self) -> None:
        """Let go of every state that is kept: what is asked for next is read and folded anew."""
        with self._lock:
            self._places.clear()

    @property
    def url(self) -> str:
        """The store's URL, its path absolute."""
        return str(self._url)

    @property
    def records(self) -> Records:
        """The open store itself, row by row: for upkeep."""
        return self._store()

    @property
    def closed(self) -> bool:
        """Whether the store was closed: whoever follows a stream then ends."""
        return self._closed

    def close(self) -> None:
        """Close the store; a forked process leaves its parent's as it is."""
        self._closed = True
        if self._pid == os.getpid():
            self._records.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _store(self) -> Records:
        """The store, opened anew where the process is not the one that opened it."""
        if self._pid != os.getpid():
            if self._url.kind != "memory":
                _LEFT_BEHIND.append(self._records)
                self._records = open_records(self._url)
            self._forget()
        return self._records

    def place(self, stream: str) -> Place:
        """The newest version of a stream and its state: only what is new is read and folded."""
        store = self._store()
        known = self._known(stream)
        place = None if known is None else caught_up(store, stream, known)
        if place is None:
            place = opened(store, stream)
        place = with_snapshot(store, stream, place)
        if place is not known:
            self._keep(stream, place, known)
        return place

    def place_at(self, stream: str, version: int) -> Place:
        """A stream as it was at a version. Raises ``DamagedEntry`` where it has fewer."""
        return opened(self._store(), stream, version)

    def state(self, stream: str) -> BookState:
        """The state of a stream now."""
        return self.place(stream).state

    def entries(
        self, stream: str, after: int = 0, limit: int | None = None, *, known: str = ""
    ) -> Iterator[Entry]:
        """The entries of a stream that follow a version, at most ``limit``, read in pieces of 5,000.

        ``known`` is the ``sum`` of the entry at that version, where it was read. Raises ``DamagedEntry``, and
        ``ChangedMeanwhile`` where what was read does not stand there any more: there is no telling
        what else was.
        """
        store = self._store()
        yield from map(store.codec.entry, read_through(store, stream, after, limit, known))

    def whole(self, stream: str) -> list[Entry]:
        """All entries of a stream as they stand there now: read again where that changes meanwhile."""
        while True:
            with suppress(ChangedMeanwhile):
                return list(self.entries(stream))

    def sum_at(self, stream: str, version: int) -> str:
        """The ``sum`` of the entry at a version; "" where there is none, or it shows none."""
        return sum_at(self._store(), stream, version)

    def newest(self, stream: str, topic: str) -> Entry | None:
        """The newest entry of a type in a stream; nothing else is read, save in a fork's parents."""
        store = self._store()
        row = store.rows.newest(stream, topic)
        if row is None:
            parents = reversed(lineage(store.rows, stream)[:-1])
            row = next(filter(None, (newest_in(store, segment, topic) for segment in parents)), None)
        return store.codec.entry(row) if row else None

    def head(self, stream: str) -> tuple[int, str]:
        """The newest version of a stream and its ``sum``, without reading the rest; (0, "") for none.

        A row that is damaged may have no ``sum`` ("").
        """
        rows = cast("Sequence[Row]", self._store().rows.select_events(stream, desc=True, limit=1))
        return (rows[0].originator_version, sum_of(rows[0])) if rows else (0, "")

    def waiter(self) -> Waiter:
        """A waiter for what anybody commits to the store from now on; close it afterwards."""
        return self._store().rows.waiter()

    def follow(self, stream: str, after: int = 0, timeout: float | None = None) -> Iterator[Entry]:
        """The entries that follow a version, and each new one as it comes (see ``following``)."""
        return follow(self, stream, after, timeout)

    def follow_async(self, stream: str, after: int = 0, timeout: float | None = None) -> AsyncIterator[Entry]:
        """The same for a task."""
        return follow_async(self, stream, after, timeout)

    def _known(self, stream: str) -> Place | None:
        """The state of a stream as it was last seen."""
        self._store()  # in a forked process the lock is another one
        with self._lock:
            known = self._places.get(stream)
            if known is not None:
                self._places.move_to_end(stream)
            return known

    def _keep(self, stream: str, place: Place, instead: Place | None = None) -> None:
        """Keep a state, unless a newer one than ``instead`` was kept meanwhile."""
        with self._lock:
            known = self._places.get(stream)
            if known is not None and known is not instead and known.version > place.version:
                return
            if not place.version:
                self._places.pop(stream, None)  # nothing there: should it begin, it may be as a fork
                return
            self._places[stream] = place
            self._places.move_to_end(stream)
            if len(self._places) > CACHED:
                self._places.popitem(last=False)
