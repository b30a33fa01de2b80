"""Rows read and folded: from what stands in the store to a place in a stream.

Theory. A long stream is read in pieces, a fork in segments of several streams, and each piece is of
another moment: between two of them somebody may scrub, forget or begin anew what is read. So each
piece has to follow the one before, by the same chain that ``fsck`` looks at: its first row's
``prev`` is the ``sum`` of the last row folded. Where it is not, all is read again. A chain that is
torn in the store itself is so again, in the same place, and then read over: reading is lenient, and
to say that a book is damaged is ``fsck``'s work. What cannot be read over (a row that is missing or
unreadable) is told likewise only once it was met twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import NamedTuple, cast

from loopbook.book.lineage import Segment, lineage
from loopbook.book.snapshots import EVERY, Snapshot, pack, unpack
from loopbook.encoding import damaged
from loopbook.entry import Entry
from loopbook.errors import ChangedMeanwhile, DamagedEntry, StoreError
from loopbook.projections import EMPTY, BookState, evolve, fold
from loopbook.sealing import prev_in, sum_in
from loopbook.store import IntegrityError, Records, Row, Stand

#: Rows read at once: what bounds memory while a long stream is read.
CHUNK = 5_000


class Place(NamedTuple):
    """A stream at a version: what an append is conditional on.

    ``sum`` is that of the newest row ("" where that row is damaged and shows none), ``forebears``
    the rows that a fork stands on, its parent's first. ``kept`` is the version at which there is a
    snapshot (0: none).
    """

    version: int = 0
    sum: str = ""
    state: BookState = EMPTY
    forebears: tuple[Stand, ...] = ()
    kept: int = 0


class _Torn(Exception):
    """Raised where two pieces do not follow each other; its arguments say which."""


def following(place: Place, entry: Entry) -> Place:
    """The place after one more entry. Raises ``DamagedEntry`` where one is missing between."""
    if entry.originator_version != place.version + 1:
        raise damaged(entry.originator_id, place.version + 1, "it is missing")
    state = evolve(place.state, entry)
    return Place(entry.originator_version, entry.sum, state, place.forebears, place.kept)


# --- rows --------------------------------------------------------------------------------------


def sum_of(row: Row) -> str:
    """The ``sum`` that a row carries; "" for a damaged row without one."""
    return sum_in(row.state)


def pieces(
    store: Records, segment: Segment, version: int, limit: int | None = None
) -> Iterator[Sequence[Row]]:
    """The rows of a segment that follow a version, at most so many.

    Raises ``DamagedEntry`` where one is missing.
    """
    left = CHUNK if limit is None else limit
    while rows := _read(store, segment, version, min(CHUNK, left)):
        for row in rows:
            version += 1
            if row.originator_version != version:
                raise damaged(segment.stream, version, "it is missing")
        yield rows
        left -= 0 if limit is None else len(rows)
        if not left:
            return
        if len(rows) < CHUNK:
            break
    if segment.last is not None and version < segment.last:
        raise damaged(segment.stream, version + 1, "it is missing")


def read_through(
    store: Records, stream: str, after: int, limit: int | None = None, known: str = ""
) -> Iterator[Row]:
    """The rows of a book that follow a version, each piece of them chained to the one before.

    ``known`` is the ``sum`` that was read at that version. Raises ``ChangedMeanwhile``, and ``DamagedEntry``
    where a row is missing.
    """
    segments = lineage(store.rows, stream)
    last = Stand(_where(segments, after) or stream, after, known) if known else None
    left, ended = limit, False
    for segment in segments:
        if left == 0:
            return
        if segment.last is not None and segment.last <= after:
            continue
        try:
            for rows in pieces(store, segment, max(after, segment.first - 1), left):
                if last and prev_in(rows[0].state) != last.sum and not _stands(store, last):
                    raise ChangedMeanwhile(stream, last.version)
                yield from rows
                last = Stand(segment.stream, rows[-1].originator_version, sum_of(rows[-1]))
                left, ended = None if left is None else left - len(rows), len(rows) < CHUNK
        except DamagedEntry:
            if (last and not _stands(store, last)) or lineage(store.rows, stream) != segments:
                raise ChangedMeanwhile(stream, last.version if last else after) from None
            raise
        if last and last.version < segment.first:  # where a row was a moment ago
            raise ChangedMeanwhile(stream, last.version)
    # After a full piece, or none, it is not known whether it ends there or was cut off.
    if last and left != 0 and not ended and not _stands(store, last):
        raise ChangedMeanwhile(stream, last.version)


def sum_at(store: Records, stream: str, version: int) -> str:
    """The ``sum`` of a book's row at a version; "" where there is none, or it shows none."""
    where = _where(lineage(store.rows, stream), version)
    rows = _read(store, Segment(where, last=version), version - 1, 1) if where else ()
    return sum_of(rows[0]) if rows else ""


def _where(segments: Sequence[Segment], version: int) -> str | None:
    """The stream in which a version of a book stands."""
    found = (segment.stream for segment in reversed(segments) if segment.first <= version)
    return next(found, None)


def newest_in(store: Records, segment: Segment, topic: str) -> Row | None:
    """The newest row of a topic within a segment."""
    row = store.rows.newest(segment.stream, topic)
    if row is None or segment.last is None or row.originator_version <= segment.last:
        return row
    of_topic = (
        row for rows in pieces(store, segment, segment.first - 1) for row in rows if row.topic == topic
    )
    return max(of_topic, default=None, key=lambda row: row.originator_version)


def _read(store: Records, segment: Segment, after: int, limit: int) -> Sequence[Row]:
    rows = store.rows.select_events(segment.stream, gt=after or None, lte=segment.last, limit=limit)
    return cast("Sequence[Row]", rows)


def _stands(store: Records, stand: Stand) -> bool:
    """Whether a row is there as it was."""
    rows = _read(store, Segment(stand.stream, last=stand.version), stand.version - 1, 1)
    return bool(rows) and sum_of(rows[0]) == stand.sum


# --- folding -----------------------------------------------------------------------------------


def caught_up(store: Records, stream: str, known: Place) -> Place | None:
    """A place after what is new; nothing where what it stands on is not there any more."""
    if not known.sum or not all(_stands(store, forebear) for forebear in known.forebears):
        return None
    first = known.forebears[0].version + 1 if known.forebears else 1
    try:
        return _read_on(store, known, Segment(stream, first))
    except (DamagedEntry, _Torn):
        return None  # and is found again, if it still is so, when all is read


def opened(store: Records, stream: str, upto: int | None = None) -> Place:
    """A stream from its newest snapshot or its beginning on, to version ``upto`` (``None``: all of it).

    A stream that is not there is at version 0. Raises ``DamagedEntry``.
    """
    met: set[object] = set()
    while True:
        try:
            return _folded(store, lineage(store.rows, stream, upto), met)
        except _Torn as torn:
            met.add(torn.args)
        except DamagedEntry as wrong:
            if str(wrong) in met:
                raise
            met.add(str(wrong))


def _folded(store: Records, segments: Sequence[Segment], met: set[object]) -> Place:
    begun, place = _from_snapshot(store, segments)
    for at in range(begun, len(segments)):
        if at > begun:
            stand = Stand(segments[at - 1].stream, place.version, place.sum)
            place = place._replace(forebears=(stand, *place.forebears))
        place = _read_on(store, place, segments[at], met)
        if place.version < segments[at].first:  # where a row was a moment ago
            raise _Torn(*segments[at])
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
            stand.sum and _stands(store, stand) for stand in snapshot.stands
        ):
            return at, Place(stand.version, stand.sum, snapshot.state, tuple(forebears), stand.version)
    return 0, Place()


def _read_on(store: Records, place: Place, segment: Segment, met: Collection[object] = ()) -> Place:
    """A place after what a segment has beyond it. Raises ``_Torn``, save for what was met so before."""
    own = place.version >= segment.first
    unread = pieces(store, segment, place.version - own)
    if own:
        piece = next(unread, ())
        if not piece or sum_of(piece[0]) != place.sum:
            raise _Torn(segment.stream, place.version, place.sum)
        unread = chain((piece[1:],), unread)
    state, version, digest = place.state, place.version, place.sum
    for rows in filter(None, unread):
        torn = segment.stream, version, digest, prev_in(rows[0].state)
        if version and torn[3] != digest and torn not in met:
            raise _Torn(*torn)
        state = fold(map(store.codec.entry, rows), state)
        version, digest = rows[-1].originator_version, sum_of(rows[-1])
    return Place(version, digest, state, place.forebears, place.kept) if version > place.version else place


def with_snapshot(store: Records, stream: str, place: Place) -> Place:
    """A place with a snapshot of it, if it is time for one; else as it was."""
    return keep_snapshot(store, stream, place) if place.version - place.kept >= EVERY else place


def keep_snapshot(store: Records, stream: str, place: Place) -> Place:
    """Keep a snapshot. What hinders it hinders nobody, and it is tried later again.

    A full disk, a lock; or that the rows it stands on are not there any more as they were read.
    """
    stands = (Stand(stream, place.version, place.sum), *place.forebears)
    with suppress(StoreError, IntegrityError):
        if (row := _packed(stands, place.state)) is not None:
            store.rows.snapshot_put(row, stands, list(_useless(store, stream, place)))
    return place._replace(kept=place.version)


def _packed(stands: tuple[Stand, ...], state: BookState) -> Row | None:
    try:
        return pack(stands, state)
    except ValueError:  # a state that JSON cannot hold
        return None


def _useless(store: Records, stream: str, place: Place) -> Iterator[int]:
    """The versions of the newest snapshots of a stream, down to one that somebody can begin with.

    They would hide it from whoever opens the book.
    """
    row = store.rows.snapshot_newest(stream)
    while row is not None and row.originator_version != place.kept:
        if _of_use(store, unpack(row), place):
            return
        yield row.originator_version
        row = store.rows.snapshot_newest(stream, row.originator_version - 1)


def _of_use(store: Records, snapshot: Snapshot | None, place: Place) -> bool:
    return (
        snapshot is not None
        and snapshot.stands[1:] == place.forebears
        and all(stand.sum and _stands(store, stand) for stand in snapshot.stands)
    )
