"""Connections to a SQLite file: kept while nobody uses them, and one that looks for commits.

They are kept here rather than in the library's pool: that costs more than the insert, and a
connection that cannot be made leaves its writer lock held.
"""

from __future__ import annotations

import sqlite3
import time
from collections import deque
from pathlib import Path
from threading import Lock

from eventsourcing.sqlite import SQLiteConnection, SQLiteConnectionPool

from loopbook.errors import StoreUnavailable
from loopbook.store.files import connect, told

#: Connections that are kept open while nobody uses them.
IDLE = 4
#: Seconds between two looks at whether anything was committed; a look takes microseconds.
LOOK = 0.01


class Connections(SQLiteConnectionPool):
    """The library's pool with our settings, and a shorter way to a connection for our recorder."""

    def __init__(self, path: Path, busy_seconds: float, synchronous: str) -> None:
        super().__init__(db_name=str(path), pool_timeout=busy_seconds + 5)
        self.path, self.busy_seconds, self.synchronous = path, busy_seconds, synchronous
        self.writer = Lock()
        self._idle: deque[sqlite3.Connection] = deque()

    def _create_connection(self) -> SQLiteConnection:
        connection = self.connect()
        connection.row_factory = sqlite3.Row
        return SQLiteConnection(connection, max_age=self.max_age)

    def connect(self) -> sqlite3.Connection:
        """A new connection, the caller's own."""
        return connect(self.path, self.busy_seconds, self.synchronous)

    def lend(self) -> sqlite3.Connection:
        """A connection that nobody else uses; give it back, or close it after an error."""
        if self.closed:
            raise StoreUnavailable(f"{self.path} is closed; nothing was written; open the store again")
        try:
            return self._idle.pop()
        except IndexError:
            return self.connect()

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


class DataVersion:
    """Looks at ``data_version``, which changes for a connection when any other one commits."""

    def __init__(self, connections: Connections) -> None:
        self._path = connections.path
        self._connection = connections.connect()
        self._seen = self._look()

    def _look(self) -> object:
        try:
            return self._connection.execute("PRAGMA data_version").fetchone()[0]
        except sqlite3.Error as wrong:
            raise told(wrong, self._path) from wrong

    def wait(self, timeout: float) -> bool:
        """Whether anything was committed since the last ``True``."""
        until = time.monotonic() + timeout
        while (now := self._look()) == self._seen:
            left = until - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(LOOK, left))
        self._seen = now
        return True

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
