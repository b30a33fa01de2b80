"""Books in a SQLite file: the library's recorder with the care that many processes need.

What is set, and why: WAL, so that readers and the one writer do not wait for each other.
``synchronous=NORMAL``, since with WAL a crash of the process loses nothing and only power loss may
take the last saves (``FULL`` where that matters; always without WAL). ``BEGIN IMMEDIATE``, so that
a writer waits at the start and never finds halfway that it cannot go on. A lock of our own among
the threads of a process, since SQLite's is not fair.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import cast
from uuid import UUID

from eventsourcing.persistence import IntegrityError, StoredEvent
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore

from loopbook.encoding import damaged
from loopbook.errors import StoreUnavailable
from loopbook.sealing import sum_in
from loopbook.store.connections import Connections, DataVersion
from loopbook.store.contract import SCHEMA, Row, Stand, Waiter
from loopbook.store.files import prepare, told
from loopbook.store.footing import Footing, footing, unfounded
from loopbook.store.refusals import swallowed, without_snapshots

#: Streams asked about in one statement: SQLite takes at least 999 parameters.
ASKED = 500
#: Where snapshots are kept: the library's shape.
SNAPSHOTS = "stored_snapshots"
#: What says that a version is taken; whatever else is violated is no matter of ours.
_TAKEN = {sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE}
#: What of a state tells its ``sum``.
_END = "coalesce(CAST(substr(state, -74) AS BLOB), x'')"


class SQLiteBooks(SQLiteApplicationRecorder):
    """The library's table and statements; rows go in and out as plain tuples, and errors are ours."""

    def __init__(self, datastore: SQLiteDatastore, connections: Connections) -> None:
        super().__init__(datastore)
        self.connections = connections
        where = f"FROM {self.events_table_name} WHERE originator_id=? AND"
        self._sum_at = f"SELECT {_END} {where} originator_version=?"
        self._beside = f"SELECT 1 {where} (originator_version<? OR originator_version>?) LIMIT 1"
        #: Whether there was no table of snapshots when it was looked at last.
        self._older = False

    def construct_create_table_statements(self) -> list[str]:
        """The library's table, and one like it for snapshots."""
        snapshots = (
            f"CREATE TABLE IF NOT EXISTS {SNAPSHOTS} (originator_id TEXT, originator_version INTEGER,"
            " topic TEXT, state BLOB, PRIMARY KEY (originator_id, originator_version)) WITHOUT ROWID"
        )
        return [*super().construct_create_table_statements(), snapshots]

    def open(self) -> None:
        """Find the store, or make it."""
        self._prepare(upgrade=False)

    def upgrade(self) -> None:
        """Bring an older store to this schema."""
        self._prepare(upgrade=True)

    def _prepare(self, *, upgrade: bool) -> None:
        pool = self.connections
        found = prepare(pool.path, pool.busy_seconds, self.create_table_statements, upgrade=upgrade)
        self._older = found < SCHEMA

    def _snapshots(self, connection: sqlite3.Connection) -> tuple[str, ...]:
        """The table of snapshots, if there is one by now: somebody else may upgrade the store."""
        if self._older:
            there = connection.execute("SELECT 1 FROM sqlite_master WHERE name=?", (SNAPSHOTS,)).fetchone()
            self._older = there is None
        return () if self._older else (SNAPSHOTS,)

    def insert_events(self, stored_events: Sequence[StoredEvent], **_: object) -> Sequence[int] | None:
        """Store all rows or none; the library's ``IntegrityError`` where a version is taken or gone."""
        rows = cast("Sequence[Row]", stored_events)
        needed = footing(rows)
        if self._older and needed.forks:
            self.upgrade()

        def work(connection: sqlite3.Connection) -> None:
            self._stand(connection, needed)
            self._add(connection, rows)

        self._write(work)
        return None

    def _add(self, connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
        """Add all rows or none."""
        if rows and connection.executemany(self.insert_events_statement, rows).rowcount != len(rows):
            raise swallowed(str(self.connections.path))

    def _stand(self, connection: sqlite3.Connection, needed: Footing) -> None:
        """Refuse what does not stand on what is there."""
        for stream, version, digest in needed.stands:
            found = connection.execute(self._sum_at, (stream, version)).fetchone()
            if found is None or sum_in(found[0]) != digest:
                raise unfounded(Stand(stream, version, digest))
        for begun in needed.begun:
            if connection.execute(self._beside, begun).fetchone() is not None:
                raise unfounded(begun)

    def _write(self, work: Callable[[sqlite3.Connection], object], *, waits: bool = True) -> None:
        """Do some work as one transaction, one thread after the other."""
        pool = self.connections
        seconds = pool.busy_seconds + 5 if waits else 0
        if not pool.writer.acquire(timeout=seconds):
            raise StoreUnavailable(
                f"{pool.path}: another thread has been writing for {seconds:g} s;"
                " nothing was written; try again"
            )
        try:
            self._transact(work, waits)
        finally:
            pool.writer.release()

    def _begin(self, connection: sqlite3.Connection, waits: bool) -> None:
        if waits:
            connection.execute("BEGIN IMMEDIATE")
            return
        connection.execute("PRAGMA busy_timeout=0")
        try:
            connection.execute("BEGIN IMMEDIATE")
        finally:
            connection.execute(f"PRAGMA busy_timeout={int(self.connections.busy_seconds * 1000)}")

    def _transact(self, work: Callable[[sqlite3.Connection], object], waits: bool) -> None:
        connection = self.connections.lend()
        kept = False
        try:
            self._begin(connection, waits)
            work(connection)
            connection.execute("COMMIT")
            kept = True
        except (sqlite3.IntegrityError, IntegrityError) as wrong:
            connection.execute("ROLLBACK")
            kept = True
            if isinstance(wrong, sqlite3.Error) and wrong.sqlite_errorcode not in _TAKEN:
                raise swallowed(str(self.connections.path)) from wrong
            raise IntegrityError(str(wrong)) from None
        except sqlite3.Error as wrong:
            raise told(wrong, self.connections.path) from wrong
        finally:
            # Closing rolls back what an error or an interrupt left open.
            self.connections.take_back(connection, sound=kept)

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        """The rows of a stream, oldest first unless ``desc``; one statement needs no BEGIN."""
        statement, parameters = self.select_events_statement, [str(originator_id)]
        bounds: list[int] = []
        if gt is not None:
            statement += "AND originator_version>? "
            bounds.append(gt)
        if lte is not None:
            statement += "AND originator_version<=? "
            bounds.append(lte)
        statement += f"ORDER BY originator_version {'DESC' if desc else 'ASC'} "
        if limit is not None:
            statement += "LIMIT ?"
            bounds.append(limit)
        return cast("Sequence[StoredEvent]", self._select(statement, (*parameters, *bounds)))

    def taken(self, streams: Collection[str]) -> set[str]:
        """Which of these streams have a first row."""
        what = f"SELECT originator_id FROM {self.events_table_name} WHERE originator_version=1 AND"
        return {cast("str", stream) for (stream,) in self._of(what, streams)}

    def _of(self, what: str, streams: Collection[str], then: str = "") -> list[tuple[object, ...]]:
        """The answers of a query about streams, asked in portions."""
        asked, found = list(streams), list[tuple[object, ...]]()
        for start in range(0, len(asked), ASKED):
            part = asked[start : start + ASKED]
            found += self._ask(f"{what} originator_id IN ({','.join('?' * len(part))}) {then}", part)
        return found

    def newest(self, stream: str, topic: str) -> Row | None:
        """The newest row of a topic in a stream."""
        statement = f"{self.select_events_statement}AND topic=? ORDER BY originator_version DESC LIMIT 1"
        return next(iter(self._select(statement, (stream, topic))), None)

    def snapshot_put(self, row: Row, stands: Sequence[Stand], useless: Collection[int] = ()) -> None:
        """Keep a snapshot, in place of one of its stream and version, and of the ``useless`` versions."""
        one = f"DELETE FROM {SNAPSHOTS} WHERE originator_id=? AND originator_version=?"

        def work(connection: sqlite3.Connection) -> None:
            if not self._snapshots(connection):
                raise without_snapshots(str(self.connections.path))
            self._stand(connection, Footing(tuple(stands)))
            connection.executemany(one, [(row.originator_id, version) for version in useless])
            connection.execute(f"INSERT OR REPLACE INTO {SNAPSHOTS} VALUES (?,?,?,?)", row)

        self._write(work, waits=False)

    def snapshot_newest(self, stream: str, lte: int | None = None) -> Row | None:
        """The newest snapshot of a stream, at version ``lte`` or before."""
        if self._older:
            return None
        until = "" if lte is None else "AND originator_version<=?"
        newest_first = "ORDER BY originator_version DESC LIMIT 1"
        statement = f"SELECT * FROM {SNAPSHOTS} WHERE originator_id=? {until} {newest_first}"
        return next(iter(self._select(statement, (stream,) if lte is None else (stream, lte))), None)

    def waiter(self) -> Waiter:
        """A waiter for what is committed from now on."""
        return DataVersion(self.connections)

    def _ask(
        self, statement: str, parameters: Sequence[object] | Mapping[str, object]
    ) -> list[tuple[object, ...]]:
        connection = self.connections.lend()
        sound = False
        try:
            answers = connection.execute(statement, parameters).fetchall()
            sound = True
        except sqlite3.Error as wrong:
            raise told(wrong, self.connections.path) from wrong
        finally:
            self.connections.take_back(connection, sound=sound)
        return answers

    def _select(self, statement: str, parameters: Sequence[object]) -> list[Row]:
        connection = self.connections.lend()
        sound = False
        try:
            rows = [Row._make(row) for row in connection.execute(statement, parameters)]
            sound = True
        except sqlite3.Error as wrong:
            unreadable = self._undecodable(connection, statement, parameters)
            raise unreadable or told(wrong, self.connections.path) from wrong
        finally:
            self.connections.take_back(connection, sound=sound)
        return rows

    def _undecodable(
        self, connection: sqlite3.Connection, statement: str, parameters: Sequence[object]
    ) -> Exception | None:
        """The row whose text is no UTF-8, if that is what went wrong: the driver does not say which."""
        connection.text_factory = bytes
        try:
            for stream, version, topic, _ in connection.execute(statement, parameters):
                try:
                    (stream + topic).decode()
                except UnicodeDecodeError as wrong:
                    return damaged(str(parameters[0]), version, wrong)
        except sqlite3.Error:
            pass  # something else is wrong, and the caller has its name
        return None
