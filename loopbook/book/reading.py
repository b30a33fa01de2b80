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
from itertools import chain
from threading import Lock
from typing import NamedTuple, Self, cast

from loopbook.book.following import follow, follow_async
from loopbook.book.lineage import Segment, lineage
from loopbook.book.snapshots import EVERY, Stand, pack, unpack
from loopbook.entry import Entry, damaged, sum_in
from loopbook.errors import DamagedEntry
from loopbook.projections import EMPTY, BookState, evolve
from loopbook.store import Records, Row, Waiter, open_records, parse_url

#: Rows read at once: what bounds memory while a long stream is read.
CHUNK = 5_000
#: Streams whose states are kept.
CACHED = 64

#: Stores of a parent process. They are not closed here: that would reach into the parent's locks.
_LEFT_BEHIND: list[Records] = []


class Place(NamedTuple):
    """A stream at a version: what an append is conditional on.

    ``forebears`` are the rows that a fork stands on, its parent's first. ``kept`` is the version
    at which there is a snapshot (0: none).
    """

    version: int = 0
    sum: str = ""
    state: BookState = EMPTY
    forebears: tuple[Stand, ...] = ()
    kept: int = 0


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
        """Close the store."""
        self._closed = True
        if self._pid == os.getpid():
            self._records.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _store(self) -> Records:
        """The store, opened anew where the process is not the one that opened it."""
        if self._pid != os.getpid() and self._url.kind != "memory":
            _LEFT_BEHIND.append(self._records)
            self._records = open_records(self._url)
            self._forget()
        return self._records

    def place(self, stream: str) -> Place:
        """The newest version of a stream and its state: only what is new is read and folded."""
        store = self._store()
        known = self._known(stream)
        place = None if known is None else _caught_up(store, stream, known)
        if place is None:
            place = _opened(store, stream)
        place = with_snapshot(store, stream, place)
        if place is not known:
            self._keep(stream, place, known)
        return place

    def place_at(self, stream: str, version: int) -> Place:
        """A stream as it was at a version. Raises ``DamagedEntry`` where it has fewer."""
        return _opened(self._store(), stream, version)

    def state(self, stream: str) -> BookState:
        """The state of a stream now."""
        return self.place(stream).state

    def entries(self, stream: str, after: int = 0) -> Iterator[Entry]:
        """The entries of a stream that follow a version, read in pieces of 5,000."""
        store = self._store()
        for segment in lineage(store.rows, stream):
            for rows in _pieces(store, segment, max(after, segment.first - 1)):
                yield from map(store.codec.entry, rows)

    def newest(self, stream: str, topic: str) -> Entry | None:
        """The newest entry of a type in a stream; nothing else is read, save in a fork's parents."""
        store = self._store()
        row = store.rows.newest(stream, topic)
        if row is None:
            older = (_newest_in(store, segment, topic) for segment in reversed(lineage(store.rows, stream)))
            row = next(filter(None, older), None)
        return store.codec.entry(row) if row else None

    def head(self, stream: str) -> tuple[int, str]:
        """The newest version of a stream and its ``sum``, without reading the rest; (0, "") for none."""
        rows = cast("Sequence[Row]", self._store().rows.select_events(stream, desc=True, limit=1))
        return (rows[0].originator_version, sum_in(rows[0].state)) if rows else (0, "")

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


def following(place: Place, entry: Entry) -> Place:
    """The place after one more entry. Raises ``DamagedEntry`` where one is missing between."""
    if entry.originator_version != place.version + 1:
        raise damaged(entry.originator_id, place.version + 1, "it is missing")
    state = evolve(place.state, entry)
    return Place(entry.originator_version, entry.sum, state, place.forebears, place.kept)


# --- reading rows ----------------------------------------------------------------------------


def _read(store: Records, segment: Segment, after: int, limit: int) -> Sequence[Row]:
    rows = store.rows.select_events(segment.stream, gt=after or None, lte=segment.last, limit=limit)
    return cast("Sequence[Row]", rows)


def _pieces(store: Records, segment: Segment, version: int) -> Iterator[Sequence[Row]]:
    """The rows of a segment that follow a version. Raises ``DamagedEntry`` where one is missing."""
    while rows := _read(store, segment, version, CHUNK):
        for row in rows:
            version += 1
            if row.originator_version != version:
                raise damaged(segment.stream, version, "it is missing")
        yield rows
        if len(rows) < CHUNK:
            break
    if segment.last is not None and version < segment.last:
        raise damaged(segment.stream, version + 1, "it is missing")


def _newest_in(store: Records, segment: Segment, topic: str) -> Row | None:
    """The newest row of a topic within a segment."""
    row = store.rows.newest(segment.stream, topic)
    if row is None or segment.last is None or row.originator_version <= segment.last:
        return row
    of_topic = (
        row for rows in _pieces(store, segment, segment.first - 1) for row in rows if row.topic == topic
    )
    return max(of_topic, default=None, key=lambda row: row.originator_version)


def _stands(store: Records, stand: Stand) -> bool:
    """Whether a row is there as it was."""
    rows = _read(store, Segment(stand.stream, last=stand.version), stand.version - 1, 1)
    return bool(rows) and sum_in(rows[0].state) == stand.sum


# --- folding -----------------------------------------------------------------------------------


def _caught_up(store: Records, stream: str, known: Place) -> Place | None:
    """A place after what is new; nothing where what it stands on is not there any more."""
    for forebear in known.forebears:
        if not _stands(store, forebear):
            return None
    first = known.forebears[0].version + 1 if known.forebears else 1
    return _read_on(store, known, Segment(stream, first))


def _opened(store: Records, stream: str, upto: int | None = None) -> Place:
    """A stream from its newest snapshot or its beginning on."""
    segments = lineage(store.rows, stream, upto)
    begun, place = _from_snapshot(store, segments)
    for at in range(begun, len(segments)):
        if at > begun:
            stand = Stand(segments[at - 1].stream, place.version, place.sum)
            place = place._replace(forebears=(stand, *place.forebears))
        read = _read_on(store, place, segments[at])
        if read is None:  # scrubbed since the snapshot was found to hold
            return _opened(store, stream, upto)
        place = read
    return place


def _from_snapshot(store: Records, segments: Sequence[Segment]) -> tuple[int, Place]:
    """The newest snapshot that holds, and the segment it lies in; else the beginning."""
    for at in range(len(segments) - 1, -1, -1):
        row = store.rows.snapshot_newest(segments[at].stream, segments[at].last)
        snapshot = unpack(row) if row else None
        if snapshot is None:
            continue
        stand, *forebears = snapshot.stands
        read_in = [(segment.stream, segment.last) for segment in reversed(segments[:at])]
        if read_in == [(stand.stream, stand.version) for stand in forebears] and all(
            _stands(store, stand) for stand in snapshot.stands
        ):
            return at, Place(stand.version, stand.sum, snapshot.state, tuple(forebears), stand.version)
    return 0, Place()


def _read_on(store: Records, place: Place, segment: Segment) -> Place | None:
    """A place after what a segment has beyond it; nothing where the row it stands on is another now."""
    own = place.version >= segment.first
    pieces = _pieces(store, segment, place.version - own)
    state, version, digest = place.state, place.version, place.sum
    if own:
        try:
            piece = next(pieces, ())
        except DamagedEntry:
            return None  # and is found again, if it still is one, when all is read
        if not piece or sum_in(piece[0].state) != digest:
            return None
        pieces = chain((piece[1:],), pieces)
    for rows in pieces:
        for row in rows:
            entry = store.codec.entry(row)
            state = evolve(state, entry)
            version, digest = entry.originator_version, entry.sum
    return Place(version, digest, state, place.forebears, place.kept) if version > place.version else place


def with_snapshot(store: Records, stream: str, place: Place) -> Place:
    """A place with a snapshot of it, if it is time for one; else as it was."""
    return _snapshot(store, stream, place) if place.version - place.kept >= EVERY else place


def _snapshot(store: Records, stream: str, place: Place) -> Place:
    """Keep a snapshot. What hinders it (a full disk, a lock) hinders nobody, and is tried later again."""
    with suppress(Exception):
        row = pack((Stand(stream, place.version, place.sum), *place.forebears), place.state)
        newest = store.rows.snapshot_newest(stream)
        if newest is not None and newest.originator_version != place.kept:
            store.rows.snapshots_delete((stream,))  # it was of no use to whoever opened the book
        store.rows.snapshot_put(row)
    return place._replace(kept=place.version)
