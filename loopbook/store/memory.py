"""A store that is gone with the process: the library's plain objects, safe across threads."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Condition
from typing import cast
from uuid import UUID

from eventsourcing.persistence import ApplicationRecorder, StoredEvent
from eventsourcing.popo import POPOApplicationRecorder, POPOFactory

from loopbook.sealing import sum_in
from loopbook.store.contract import SCHEMA, Facts, Row, Size, Stand, Stored, Waiter
from loopbook.store.footing import Footing, footing, unfounded
from loopbook.store.forking import GATE
from loopbook.store.refusals import closed


class MemoryRecorder(POPOApplicationRecorder):
    """The library's recorder, reading from a version on without passing over all rows before it."""

    def __init__(self) -> None:
        super().__init__()
        self._versions: defaultdict[str, list[int]] = defaultdict(list)  # of each stream, sorted
        self._snapshots: defaultdict[str, dict[int, Row]] = defaultdict(dict)
        self.committed = Condition(self._database_lock)
        self.commits = 0
        self.closed = False
        GATE.register(self)

    @contextmanager
    def _used(self) -> Iterator[None]:
        """Nobody else is within, and the store is open."""
        with self._database_lock:
            if self.closed:
                raise closed("memory:")
            yield

    def close(self) -> None:
        """Let nobody read or write any more."""
        with self._database_lock:
            self.closed = True
            self.committed.notify_all()

    def before_fork(self) -> None:
        """Let nobody change it while it is copied."""
        self._database_lock.acquire()

    def after_fork(self) -> None:
        """Go on, each with his own."""
        self._database_lock.release()

    def insert_events(self, stored_events: Sequence[StoredEvent], **_: object) -> Sequence[int] | None:
        """Store all rows or none; the library's ``IntegrityError`` where a version is taken or gone."""
        rows = cast("Sequence[Row]", stored_events)
        needed = footing(rows)  # which may build a model, and that waits for others: not while these wait
        with self._used():
            self._stand(needed)
            self._put(rows)
            self._tell()
        return None

    def _stand(self, needed: Footing) -> None:
        """Refuse what does not stand on what is there."""
        for stand in needed.stands:
            place = self._stored_events_index.get(stand.stream, {}).get(stand.version)
            if place is None or sum_in(self._stored_events[place].state) != stand.sum:
                raise unfounded(stand)
        for begun in needed.begun:
            if self._versions.get(begun.stream):
                raise unfounded(begun)

    def _put(self, rows: Sequence[Row]) -> None:
        """Store all rows or none, whatever they stand on."""
        self._insert_events(cast("Sequence[StoredEvent]", rows))
        for stream, version, _topic, _state in rows:
            insort(self._versions[stream], version)

    def _tell(self) -> None:
        self.commits += 1
        self.committed.notify_all()

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        """The rows of a stream, oldest first unless ``desc``."""
        with self._used():
            versions = self._versions.get(str(originator_id), [])
            first = 0 if gt is None else bisect_right(versions, gt)
            last = len(versions) if lte is None else bisect_right(versions, lte)
            picked = range(first, last)
            places = self._stored_events_index.get(str(originator_id), {})
            return [
                self._stored_events[places[versions[at]]] for at in (picked[::-1] if desc else picked)[:limit]
            ]

    def taken(self, streams: Collection[str]) -> set[str]:
        """Which of these streams have a first row."""
        with self._used():
            return {stream for stream in streams if 1 in self._stored_events_index.get(stream, {})}

    def newest(self, stream: str, topic: str) -> Row | None:
        """The newest row of a topic in a stream."""
        rows = cast("Sequence[Row]", self.select_events(stream, desc=True))
        return next((row for row in rows if row.topic == topic), None)

    def streams(self, prefix: str = "", after: str = "", limit: int = 1_000) -> Sequence[str]:
        """The names of streams that begin with ``prefix`` and follow ``after``, sorted."""
        with self._used():
            return sorted(
                stream for stream in self._versions if stream > after and stream.startswith(prefix)
            )[:limit]

    def sizes(self, streams: Collection[str]) -> Mapping[str, Size]:
        """How large these streams are; one that is not there is left out."""
        with self._used():
            known = [stream for stream in streams if stream in self._versions]
            return {
                stream: Size(len(rows), sum(len(row.state) for row in rows))
                for stream in known
                for rows in (self.select_events(stream),)
            }

    def delete(self, streams: Collection[str]) -> None:
        """Remove all rows of these streams, their snapshots too."""
        gone = set(streams)
        with self._used():
            self._hold([row for row in self._rows() if row.originator_id not in gone])
            self._without_snapshots(gone)
            self._tell()

    def _rows(self) -> list[Row]:
        return cast("list[Row]", self._stored_events)

    def _hold(self, rows: Sequence[Row]) -> None:
        """Have these rows and no others."""
        self._stored_events.clear()
        self._stored_events_index.clear()
        self._versions.clear()
        self._put(rows)

    def load(self, rows: Iterable[Row]) -> None:
        """Store all rows or none."""
        self.insert_events(cast("list[StoredEvent]", list(rows)))

    def scan(self, stream: str | None = None) -> Iterator[Stored]:
        """Every row of the store, or of a stream, as of one moment: snapshots first, then entries."""
        with self._used():
            snapshots = [row for kept in self._snapshots.values() for row in kept.values()]
            rows = [*self._rows()]
        for snapshot, table in ((True, snapshots), (False, rows)):
            for row in sorted(table, key=lambda row: row[:2]):
                if stream is None or row.originator_id == stream:
                    yield Stored(snapshot, row)

    def replace(self, rows: Sequence[Row], added: Sequence[Row] = (), gone: Collection[str] = ()) -> None:
        """Put other topics and states where rows stand, remove streams, add rows; all at once or nothing."""
        needed = footing(added)
        with self._used():
            before = [*self._rows()]
            try:
                for row in rows:
                    self._replace(row)
                self._stand(needed)
                self._put(added)
            except BaseException:
                self._hold(before)
                raise
            self.delete({*gone})
            self._without_snapshots({row.originator_id for row in (*rows, *added)})

    def _replace(self, row: Row) -> None:
        place = self._stored_events_index.get(row.originator_id, {}).get(row.originator_version)
        if place is None:
            raise unfounded(Stand(row.originator_id, row.originator_version, ""))
        self._rows()[place] = row

    def vacuum(self) -> None:
        """Snapshots go; what was removed is gone."""
        with self._used():
            self._snapshots.clear()

    def snapshot_put(self, row: Row, stands: Sequence[Stand], useless: Collection[int] = ()) -> None:
        """Keep a snapshot, in place of one of its stream and version, and of the ``useless`` versions."""
        with self._used():
            self._stand(Footing(tuple(stands)))
            kept = self._snapshots[row.originator_id]
            for version in useless:
                kept.pop(version, None)
            kept[row.originator_version] = row

    def snapshot_newest(self, stream: str, lte: int | None = None) -> Row | None:
        """The newest snapshot of a stream, at version ``lte`` or before."""
        with self._used():
            kept = self._snapshots.get(stream, {})
            version = max((at for at in kept if lte is None or at <= lte), default=None)
            return None if version is None else kept[version]

    def _without_snapshots(self, streams: Collection[str]) -> None:
        for stream in streams:
            self._snapshots.pop(stream, None)

    def upgrade(self) -> None:
        """It is never older."""

    def facts(self) -> Facts:
        """What the store says of itself."""
        with self._used():
            size = sum(len(row.state) for row in self._stored_events)
            return Facts(SCHEMA, len(self._versions), size)

    def waiter(self) -> Waiter:
        """A waiter for what is committed from now on."""
        with self._used():
            return _Waiter(self)


class _Waiter:
    """Sleeps on the recorder's condition."""

    def __init__(self, recorder: MemoryRecorder) -> None:
        self._recorder = recorder
        self._seen = recorder.commits

    def wait(self, timeout: float) -> bool:
        """Whether anything was committed since the last ``True``."""
        recorder = self._recorder
        with recorder.committed:
            woken = recorder.committed.wait_for(lambda: recorder.commits != self._seen, timeout)
            self._seen = recorder.commits
        return woken

    def close(self) -> None:
        """Nothing is held."""


class Factory(POPOFactory):
    """What the library makes a memory store with."""

    def application_recorder(self) -> ApplicationRecorder:
        """Ours."""
        self._recorder = MemoryRecorder()
        return self._recorder

    def close(self) -> None:
        """Close what was made."""
        self._recorder.close()
        super().close()
