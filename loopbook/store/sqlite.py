"""Books in a SQLite file: the library's recorder with the care that many processes need.

What is set, and why: WAL, so that readers and the one writer do not wait for each other.
``synchronous=NORMAL``, since with WAL a crash of the process loses nothing and only power loss may
take the last saves (``FULL`` where that matters; always without WAL). ``BEGIN IMMEDIATE``, so that
a writer waits at the start and never finds halfway that it cannot go on. A lock of our own among
the threads of a process, since SQLite's is not fair.

The connections are kept here rather than in the library's pool: it costs more than the insert,
and a connection that cannot be made leaves its writer lock held.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Collection, Sequence
from pathlib import Path
from threading import Lock
from typing import cast
from uuid import UUID

from eventsourcing.persistence import ApplicationRecorder, IntegrityError, StoredEvent
from eventsourcing.sqlite import (
    SQLiteApplicationRecorder,
    SQLiteConnection,
    SQLiteConnectionPool,
    SQLiteDatastore,
    SQLiteFactory,
)
from eventsourcing.utils import Environment

from loopbook.entry import damaged
from loopbook.errors import StoreUnavailable
from loopbook.store.files import connect, prepare, told
from loopbook.store.records import Row

#: Connections that are kept open while nobody uses them.
IDLE = 4
#: Streams asked about in one statement: SQLite takes at least 999 parameters.
ASKED = 500


class Connections(SQLiteConnectionPool):
    """The library's pool with our settings, and a shorter way to a connection for our recorder."""

    def __init__(self, path: Path, busy_seconds: float, synchronous: str) -> None:
        super().__init__(db_name=str(path), pool_timeout=busy_seconds + 5)
        self.path, self.busy_seconds, self.synchronous = path, busy_seconds, synchronous
        self.writer = Lock()
        self._idle: deque[sqlite3.Connection] = deque()

    def _create_connection(self) -> SQLiteConnection:
        connection = self._connect()
        connection.row_factory = sqlite3.Row
        return SQLiteConnection(connection, max_age=self.max_age)

    def _connect(self) -> sqlite3.Connection:
        return connect(self.path, self.busy_seconds, self.synchronous)

    def lend(self) -> sqlite3.Connection:
        """A connection that nobody else uses; give it back, or close it after an error."""
        if self.closed:
            raise StoreUnavailable(f"{self.path} is closed; nothing was written; open the store again")
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()

    def take_back(self, connection: sqlite3.Connection) -> None:
        """Keep a lent connection for the next one who asks."""
        if self.closed or len(self._idle) >= IDLE:
            connection.close()
        else:
            self._idle.append(connection)

    def close(self) -> None:
        """Close what is not lent; a lent one is closed when it comes back."""
        super().close()
        while self._idle:
            self._idle.pop().close()


class SQLiteRecorder(SQLiteApplicationRecorder):
    """The library's table and statements; rows go in and out as plain tuples, and errors are ours."""

    def __init__(self, datastore: SQLiteDatastore, connections: Connections) -> None:
        super().__init__(datastore)
        self.connections = connections

    def insert_events(self, stored_events: Sequence[StoredEvent], **_: object) -> Sequence[int] | None:
        """Store all rows or none; the library's ``IntegrityError`` where a version is taken."""
        pool = self.connections
        if not pool.writer.acquire(timeout=pool.busy_seconds + 5):
            raise StoreUnavailable(
                f"{pool.path}: another thread has been writing for {pool.busy_seconds + 5:g} s;"
                " nothing was written; try again"
            )
        try:
            self._insert(cast("Sequence[Row]", stored_events))
        finally:
            pool.writer.release()
        return None

    def _insert(self, rows: Sequence[Row]) -> None:
        connection = self.connections.lend()
        kept = False
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(self.insert_events_statement, rows)
            connection.execute("COMMIT")
            kept = True
        except sqlite3.IntegrityError as wrong:
            connection.execute("ROLLBACK")
            kept = True
            raise IntegrityError(str(wrong)) from None
        except sqlite3.Error as wrong:
            raise told(wrong, self.connections.path) from wrong
        finally:
            if kept:
                self.connections.take_back(connection)
            else:
                connection.close()  # and so rolls back what an error or an interrupt left open

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
        asked, found = list(streams), set[str]()
        for start in range(0, len(asked), ASKED):
            part = asked[start : start + ASKED]
            marks = ",".join("?" * len(part))
            statement = (
                f"SELECT originator_id, originator_version, '', '' FROM {self.events_table_name} "
                f"WHERE originator_version=1 AND originator_id IN ({marks})"
            )
            found.update(row.originator_id for row in self._select(statement, part))
        return found

    def newest(self, stream: str, topic: str) -> Row | None:
        """The newest row of a topic in a stream."""
        statement = f"{self.select_events_statement}AND topic=? ORDER BY originator_version DESC LIMIT 1"
        return next(iter(self._select(statement, (stream, topic))), None)

    def _select(self, statement: str, parameters: Sequence[object]) -> list[Row]:
        connection = self.connections.lend()
        try:
            rows = [Row._make(row) for row in connection.execute(statement, parameters)]
        except sqlite3.Error as wrong:
            try:
                raise self._undecodable(connection, statement, parameters) or told(
                    wrong, self.connections.path
                )
            finally:
                connection.close()
        self.connections.take_back(connection)
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


class Factory(SQLiteFactory):
    """What the library makes a SQLite store with: our connections, our recorder, our way to open."""

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self.datastore.pool.close()  # it has opened nothing yet
        self.connections = Connections(
            Path(env["SQLITE_DBNAME"]), float(env["BUSY_SECONDS"]), env["SYNCHRONOUS"]
        )
        self.datastore.pool = self.connections

    def application_recorder(self) -> ApplicationRecorder:
        """A recorder on a file that is surely ours and has its table."""
        recorder = SQLiteRecorder(self.datastore, self.connections)
        prepare(self.connections.path, self.connections.busy_seconds, recorder.create_table_statements)
        return recorder
